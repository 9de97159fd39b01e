"""`RecoveryManager`: from a loss to the next epoch: abort, fence, restart, restore, and go on (paper section 3.3).

An epoch ends with a loss. The manager gives the next epoch: it is written down first, and then told to all tasks that
are there. Each stops the steps of the former epoch, replies when nothing of them runs any more, and refuses what still
comes from it. So when the restore begins, no update of an aborted step can follow. Until it is over, tasks take steps
of this supervisor's session only.
"""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.spec import canonical
from actorflow.cluster.membership.view import View
from actorflow.cluster.processes.local import LocalCluster
from actorflow.cluster.wire.links import patient_sleep
from actorflow.cluster.wire.messages import Leave, SetEpoch
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)
from actorflow.training.supervisor.events import (
    DeathReport,
    Events,
    LoopStalled,
    TaskRestarted,
    WaitsForTasks,
    WorkerEnded,
    WorkerLost,
)
from actorflow.training.supervisor.liveness import Life, State
from actorflow.training.supervisor.monitor import Monitor, is_loss
from actorflow.training.supervisor.recovery.epochs import EpochStore
from actorflow.training.supervisor.recovery.members import Members
from actorflow.training.supervisor.recovery.restarts import Restarts

_LOG = get_logger("supervisor")
_TRANSIENT = (UnavailableError, AbortedError, DeadlineExceededError)
_RESTORE = "the restore"
STEPS = "the steps"
_LOOK_SECONDS = 0.2
_LONGEST_PAUSE = 5.0
_REPORT_SECONDS = 4.0
_VIEW_SECONDS = 2.0
"""A task that is up tells its view at once; if it does not, training begins with the tasks that are known."""
_SILENT_SECONDS = 10.0
"""A process of ours that is up, and could not be reached for so long, stands still."""


class RecoveryManager:
    """Keeps a cluster alive for one chief.

    Args:
        monitor: watches the tasks; tells `changed`.
        cluster: what starts lost tasks again; None leaves that to a scheduler.
        client: gives the name by which tasks know the session that restores.
        restore: gives variables their values.
        holds_state: whether the loss of a task takes all back; else it is only started again.
        on_abort: called when a loss takes all back, with what is to be said of it.
        on_up: called when training may go on.
        on_failure: called when it can't.
        start_seconds: for how long tasks that are absent at the start are waited for. Later losses have no such end.
        members: tells who is a member of the cluster; without it the tasks are always the same.
    """

    def __init__(
        self,
        store: EpochStore,
        restarts: Restarts,
        events: Events,
        *,
        cluster: LocalCluster | None,
        client: Callable[[], str],
        restore: Callable[[], Awaitable[None]],
        holds_state: Callable[[str], bool],
        on_abort: Callable[[Exception], object],
        on_up: Callable[[], object],
        on_failure: Callable[[Exception], object],
        start_seconds: float = math.inf,
        members: Members | None = None,
    ) -> None:
        self.epoch = 0
        self.monitor: Monitor
        self._store, self._restarts, self._events = store, restarts, events
        self._cluster, self._client, self._restore = cluster, client, restore
        self._holds_state = holds_state
        self._members = members
        self._on_abort, self._on_up, self._on_failure = on_abort, on_up, on_failure
        self._start_seconds = start_seconds
        self._generation = 0
        self._work = anyio.Event()
        self._phase: anyio.CancelScope | None = None
        self._root = BackgroundTasks()
        self.nursed: set[str] = set()
        """The tasks that are being started again."""
        self._leaving: frozenset[str] = frozenset()
        """The members that are about to leave, by our wish: views that still have them are on their way."""
        self.on_task_up: Callable[[str], Coroutine[Any, Any, None]] = _nothing
        """Awaited, beside the steps, with each task that has heard of the epoch and takes everybody's steps."""
        self._told: dict[str, tuple[int, int | None]] = {}
        """The epoch that each incarnation of a task has confirmed."""

    def start(self, monitor: Monitor) -> None:
        """Begins the first epoch, and keeps the cluster from then on."""
        self.monitor = monitor
        monitor.start()
        self._root.start(self._keep())
        if self._members is not None:
            self._root.start(self._members.follow(monitor, self.follow))
        if self._cluster is not None:
            self._root.start(self._nurse_silent())
        self._work.set()

    async def close(self) -> None:
        """Leaves the cluster as it is."""
        await self._root.close()
        await self.monitor.close()

    # ---- what happens

    def changed(self, task: str, before: Life, after: Life) -> None:
        """A task's state has changed."""
        if after.state is State.BUSY:
            self._events.tell(LoopStalled, task, after.looked - after.heard)
        if not is_loss(before, after):
            if after.is_up and not before.is_up:
                if self._phase is None and self.epoch:
                    self._root.start(self._let_in())
            return
        report = self.monitor.report(task)
        assert report is not None
        if report.in_order:
            self._events.tell(WorkerEnded, task)
        else:
            self._events.tell(WorkerLost, task, report)
        self._nurse(task, report)
        if self._cluster is None and self._members is not None and self._members.lost_seconds is not None:
            watch = self.monitor.watch(task)
            self._root.start(self._spare(task, watch, report, self._members, self._members.lost_seconds))
        # In the middle of a restore it must not come back and take steps.
        if self._holds_state(task) or self._phase is not None:
            self.take_back(
                AbortedError(f"{task} is lost, and the step with it.", details=report.lines()),
            )

    async def _spare(
        self, task: str, watch: object, report: DeathReport | None, members: Members, seconds: float
    ) -> None:
        """Declares a lost task gone for good if it is not back in time and training can go on without it.

        Args:
            watch: the watch of the task: a task that joins later under the same name has another, and its own time.
            report: how it was lost; None for a task that has joined, and could not be reached since."""
        await anyio.sleep(seconds)
        pause = _LOOK_SECONDS
        while self.monitor.watch(task) is watch and not self.monitor.lives[task].is_up:
            if self.monitor.report(task) is not report:
                return  # it was back, and lost again: that loss has its own time
            if not members.can_spare(task):
                await members.next_view()  # another task may join, and then this one can be spared
                continue
            try:
                self.follow(await members.declare_lost(self.monitor, task))
                _LOG.warning("a task is declared lost: it was not back in time", task=task, seconds=seconds)
            except OpError as error:
                _LOG.info("a task can't be declared lost now", task=task, error=str(error))
                await anyio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def follow(self, view: View) -> None:
        """Takes a newer view of the cluster: tasks that have joined are watched, and waited for; tasks that have left are not."""
        if self._members is None or not self._members.take(view):
            return
        tasks = view.members
        self._members.know(self.monitor.lives)
        for task in list(self.monitor.lives):
            if tasks.get(task) != canonical(self.monitor.address(task)):
                self._dismiss(task)
        for task, address in tasks.items():
            if task not in self.monitor.lives and task not in self._leaving and self._members.takes_part(task):
                self.monitor.add(task, address, needed=self._members.is_needed(task))
                if self._cluster is None and (seconds := self._members.lost_seconds) is not None:
                    # it may have died since it has joined, and the monitor sees no loss of a task that it has never met
                    watch = self.monitor.watch(task)
                    self._root.start(self._spare(task, watch, None, self._members, max(seconds, _SILENT_SECONDS)))
        self._members.on_change(tasks)

    def _dismiss(self, task: str) -> None:
        self.monitor.drop(task)
        if self._members is not None and self._members.keeps_variables(task):
            self.take_back(AbortedError(f"{task} has left the cluster with variables."))

    def heard_epoch(self, task: str, epoch: int) -> None:
        """A task says which epoch it is in."""
        if self.epoch and epoch > self.epoch:
            self._fail(_superseded(task, self.epoch))

    def take_back(self, error: Exception) -> None:
        """Ends the epoch: all goes back to the last checkpoint. `error` says why."""
        self._generation += 1
        self._on_abort(error)
        self._work.set()
        if self._phase is not None:
            self._phase.cancel()

    async def change_tasks(self, leaving: Collection[str], change: Callable[[], Awaitable[None]]) -> None:
        """Ends the epoch, and begins the next with other tasks: `change` lets tasks join and leave the cluster, among them all of
        `leaving`. All goes back to the last checkpoint. Raises what `change` raises; training goes on all the same."""
        assert self._cluster is not None
        self._generation += 1
        self._on_abort(AbortedError("The cluster gets other tasks."))
        if self._phase is not None:
            self._phase.cancel()
        try:
            await self.let_change(leaving, change)
        finally:
            self._work.set()

    async def let_change(self, leaving: Collection[str], change: Callable[[], Awaitable[None]]) -> None:
        """`change_tasks` within the epoch: nothing goes back. A task that leaves is watched no more before it does, so that its
        end is no loss; if it is a member after all, it is watched again."""
        assert self._cluster is not None
        self._leaving = frozenset(leaving)
        for task in self._leaving & self.monitor.lives.keys():
            self.monitor.drop(task)
        try:
            await change()
        finally:
            self._leaving = frozenset()
            self.follow(self._cluster.view)
            spec = self._cluster.spec
            for task in spec.tasks:
                if task not in self.monitor.lives:
                    self.monitor.add(task, spec.address_of(task))

    def may_retry(self, what: str) -> float | None:
        """The pause before something that failed without a loss is tried again; None if it has failed too often."""
        return self._restarts.next_pause(what, anyio.current_time())

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts what goes on as long as the cluster is kept."""
        self._root.start(work)

    # ---- restarts

    def replaces_slow(self, task: str) -> bool:
        """Whether a slow task is replaced now, by the policy and its budget."""
        return self._restarts.policy.replaces_slow and self.may_retry(f"{task} is slow") is not None

    async def ask_to_leave(self, task: str) -> None:
        """Lets a task that others have started leave the cluster, once its variables are elsewhere. Raises OpError."""
        if self._members is not None and self._members.view is not None:
            await self.monitor.call(self._members.view.coordinator, Leave(task, "drained"))

    def _nurse(self, task: str, report: DeathReport | None) -> None:
        """Lets a task be started again, if that is ours, the policy wants it, and nothing does so yet. A task that was never
        met, and has no report, has failed."""
        if not self._restarts.policy.restarts(report is not None and report.in_order):
            self.monitor.started_again(task)  # by somebody else, sooner or later
            return
        if self._cluster is not None and task not in self.nursed:
            self.nursed.add(task)
            self._root.start(self._start_again(task, self._cluster))

    async def _nurse_silent(self) -> None:
        """Lets those be started again that were up before this supervisor began, and don't let it reach them."""
        await patient_sleep(_SILENT_SECONDS)
        for task, life in self.monitor.lives.items():
            if life.state is State.STARTING:
                self._nurse(task, None)

    async def _start_again(self, task: str, cluster: LocalCluster) -> None:
        """Starts a task until the monitor has reached it, as often as the budget allows."""
        begin = anyio.current_time()
        try:
            while task in self.monitor.lives:
                await cluster.kill(task)  # a task that only hangs must not come back
                pause = self._restarts.next_pause(task, anyio.current_time())
                if pause is None:
                    self._fail(self._used_up(task))
                    return
                await anyio.sleep(pause)
                if task not in self.monitor.lives or not (self._members is None or self._members.has(task)):
                    return  # it has left the cluster meanwhile
                former = self.monitor.lives[task].incarnation
                try:
                    await cluster.restart(task, epoch=self.epoch)
                except UnavailableError as error:
                    _LOG.warning("a task did not start", task=task, error=str(error))
                    continue
                self.monitor.started_again(task)
                reached = False
                with anyio.move_on_after(_SILENT_SECONDS):
                    reached = await self._is_reached(task, cluster, former)
                if reached:
                    break
        except Exception as error:
            self._fail(error)
            return
        finally:
            self.nursed.discard(task)
        self._events.tell(TaskRestarted, task, anyio.current_time() - begin)

    async def _is_reached(self, task: str, cluster: LocalCluster, former: int | None) -> bool:
        """Waits until the monitor is connected to a task that was started. False if it has died, before or since."""
        while (life := self.monitor.lives.get(task)) is not None:
            if life.is_up:
                return True
            if not cluster.runs(task) or (life.state is State.LOST and life.incarnation != former):
                return False
            with anyio.move_on_after(_LOOK_SECONDS):
                await self.monitor.next_change()
        return True

    def _used_up(self, task: str) -> Exception:
        policy = self._restarts.policy
        report = self.monitor.report(task)
        return ResourceExhaustedError(
            f"{task} was lost once more after {policy.most} restarts within {policy.window_seconds:g} s; it stays down.",
            details=[] if report is None else report.lines(),
            hint="Look for the cause in what it wrote. RestartPolicy(most=...) allows more restarts.",
        )

    def _fail(self, error: Exception) -> None:
        self._on_failure(error)
        self._root.closed = True  # nothing else is begun
        if self._phase is not None:
            self._phase.cancel()

    # ---- epochs

    async def _keep(self) -> None:
        while not self._root.closed:
            await self._work.wait()
            self._work = anyio.Event()
            view = None if self._members is None else self._members.view
            try:
                await self._begin_epoch()
            except _TRANSIENT as error:
                await self._again(error)
            except InvalidArgumentError as error:  # a node may have asked for a task that has left meanwhile
                if await self._has_other_members(view):
                    await self._again(error)
                else:
                    self._fail(error)
            except Exception as error:
                self._fail(error)

    async def _has_other_members(self, view: View | None) -> bool:
        """Whether the members are others than in a view. The master may know that a bit sooner than this program."""
        members = self._members
        if members is None or members.view is None:
            return False
        with anyio.move_on_after(_VIEW_SECONDS):
            while members.view is view:
                await members.next_view()
        return members.view is not view

    async def _begin_epoch(self) -> None:
        """One round. Returns without effect where a loss comes between: that one begins another."""
        generation = self._generation
        for task in self.monitor.lives:
            if self._cluster is not None and not self._cluster.runs(task):
                self._nurse(task, self.monitor.report(task))  # it may have died before it was reached
        for task in self.monitor.lives if self._members is not None else ():
            if self._members is not None and self._members.is_needed(task):
                self.monitor.require(task)  # the session may have come to use it
        with anyio.CancelScope() as self._phase:
            if not self.epoch:
                try:
                    await self._all_there(self._start_seconds)
                except UnavailableError as error:
                    self._fail(error)
                    return
                self.epoch = await self._former()
            while True:
                self.epoch += 1
                await self._store.write(self.epoch)
                await self._announce(self._client())
                await self._all_there()
                if self._all_told():
                    break
                # a task that came back has heard of the epoch from its peers, and may have taken steps of other clients
            await self._restore()
            self._told.clear()
            await self._announce("")
        self._phase = None
        if generation == self._generation and not self._root.closed:
            self._restarts.forget(_RESTORE)
            self._on_up()

    async def _all_there(self, seconds: float = math.inf) -> None:
        """Waits until all needed tasks are up, and each job has its least number of tasks. Says for whom it waits, and since
        when. Raises what `Monitor.all_up` raises."""
        since = machine.wall_time()
        report = self._root.start(self._report_missing(since))
        try:
            await self.monitor.all_up(seconds)
        finally:
            if report is not None:
                report.cancel()
        members = self._members
        shown: tuple[str, ...] = ()
        with anyio.move_on_after(_VIEW_SECONDS):
            while members is not None and members.view is None:
                await members.next_view()
        while members is not None and (lacking := members.lacking()):
            if lacking != shown:
                self._events.tell(WaitsForTasks, lacking, since)
                shown = lacking
            await members.next_view()
            await self.monitor.all_up()

    async def _report_missing(self, since: float) -> None:
        await anyio.sleep(_REPORT_SECONDS)
        if missing := tuple(self.monitor.missing):
            self._events.tell(WaitsForTasks, missing, since)

    async def _former(self) -> int:
        """The highest epoch that was ever given."""
        epochs = [await self._store.read()]
        for task in filter(self.monitor.counts, self.monitor.lives):
            epochs.append(int((await self.monitor.ask_status(task))["epoch"]))
        return max(epochs)

    async def _announce(self, only: str) -> None:
        """Tells the epoch to all tasks that are there and have not heard of it. They take steps of the client `only`."""

        epoch = self.epoch

        async def tell(task: str, incarnation: int) -> None:
            try:
                await self.monitor.call(task, SetEpoch(epoch, only))
                self._told[task] = epoch, incarnation
                if not only:
                    self._root.start(self.on_task_up(task))
            except ValueError:
                if epoch == self.epoch:  # else it has heard of a later epoch of ours
                    failures.append(_superseded(task, epoch))
            except _TRANSIENT as error:
                _LOG.info("a task has not heard of the epoch", task=task, epoch=epoch, error=str(error))

        failures: list[Exception] = []
        async with anyio.create_task_group() as group:
            for task in self.monitor.lives:
                incarnation = self.monitor.incarnation(task)
                if incarnation is not None and self._told.get(task) != (epoch, incarnation):
                    group.start_soon(tell, task, incarnation)
        if failures:
            raise failures[0]

    async def _let_in(self) -> None:
        """Tells a task that could not be reached when training went on that it may take everybody's steps again."""
        if self._phase is None and not self._work.is_set():  # else an epoch begins, and all are told at its end
            try:
                await self._announce("")
            except Exception as error:
                self._fail(error)

    def _all_told(self) -> bool:
        """Whether all tasks that are there have confirmed the epoch, and which client's steps they take."""
        monitor = self.monitor
        tasks = filter(monitor.counts, monitor.lives)
        return all(self._told.get(task) == (self.epoch, monitor.incarnation(task)) for task in tasks)

    async def _again(self, error: Exception) -> None:
        """The restore failed. If that was a loss the next round begins anyway, else there are some more tries."""
        pause = self.may_retry(_RESTORE)
        if pause is None:
            self._fail(error)
            return
        _LOG.warning("the restore has to be tried again", error=str(error))
        await anyio.sleep(pause)
        self._work.set()


async def _nothing(task: str) -> None:
    return None


def _superseded(task: str, epoch: int) -> Exception:
    return FailedPreconditionError(
        f"{task} is in a later epoch than {epoch}, which this supervisor has begun: another chief has taken over.",
        hint="Only one supervisor of a cluster may be the chief; the others get is_chief=False.",
    )


def chance(seed: int | None = None) -> Callable[[], float]:
    """Numbers from 0 to 1."""
    return random.Random(seed).random
