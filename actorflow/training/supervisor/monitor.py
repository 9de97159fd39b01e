"""`Monitor`: a link to each task of the cluster. It gathers the evidence that `liveness` judges, and the reports of deaths."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.cluster.processes.local_process import LocalProcess
from actorflow.cluster.wire.links import Links, TaskLink
from actorflow.cluster.wire.messages import Request, Status
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import FailedPreconditionError, OpError, UnavailableError
from actorflow.training.supervisor.events import DeathReport
from actorflow.training.supervisor.liveness import Connected, Ended, Life, Polled, Rules, Seen, State, observe
from actorflow.training.supervisor.slow_tasks import TaskWaits

_LOG = get_logger("supervisor")
_POLL_SECONDS = 1.0
_REACH_SECONDS = 10.0
_SHORTEST_PAUSE = 0.05
_EXIT_SECONDS = 0.3
"""How long a process is waited for whose connection has ended: its exit status says more."""
_REPORT_SECONDS = 4.0


@dataclass(slots=True)
class _Watched:
    """A task, and what the last look at it found."""

    address: str
    life: Life
    link: TaskLink | None = None
    process: LocalProcess | None = None
    resident_bytes: int | None = None
    tensor_bytes: int | None = None
    last_node: str | None = None
    leaving: bool = False
    report: DeathReport | None = None
    waits: TaskWaits | None = None
    again: anyio.Event | None = None
    """Set when the task was started again; until then no one answers there who should be listened to."""


class Monitor:
    """Watches tasks until it is closed.

    Args:
        tasks: their addresses.
        links: of the supervisor itself, apart from those of its session.
        key: the public key that they must prove to have.
        needed: those without which there are no steps, all unless given. Others may be there or not.
        process: finds the process of a task that this program has started; None for others.
        restarts: this program starts lost tasks again, and says so by `started_again`. Otherwise whoever answers at
            the task's address is taken for it.
        on_change: called with a task and its former and present life, when its state changes.
        on_epoch: called with a task and its epoch, each second.
        epoch: gives the present epoch, for reports.
    """

    def __init__(
        self,
        tasks: Mapping[str, str],
        links: Links,
        key: str | None,
        *,
        needed: Collection[str] | None = None,
        process: Callable[[str], LocalProcess | None],
        restarts: bool,
        on_change: Callable[[str, Life, Life], object],
        on_epoch: Callable[[str, int], object],
        epoch: Callable[[], int],
        rules: Rules,
    ) -> None:
        now = _now()
        self._tasks = {task: _Watched(address, Life(since=now)) for task, address in tasks.items()}
        self._links, self._key = links, key
        self._needed = list(tasks if needed is None else needed)
        self._process, self._restarts = process, restarts
        self._on_change, self._on_epoch, self._epoch = on_change, on_epoch, epoch
        self._rules = rules
        self._changed = anyio.Event()
        self._root = BackgroundTasks()
        self._following: dict[str, asyncio.Task[Any] | None] = {}
        self._refused: Exception | None = None

    def start(self) -> None:
        """Begins to watch."""
        for task in self._tasks:
            self._following[task] = self._root.start(self._follow(task))
        self._root.start(self._look())

    def add(self, task: str, address: str, *, needed: bool = True) -> None:
        """Watches one more task, and says whether it is needed from now on."""
        self._tasks[task] = _Watched(address, Life(since=_now()))
        if needed:
            self.require(task)
        self._following[task] = self._root.start(self._follow(task))

    def require(self, task: str) -> None:
        """Makes a watched task a needed task."""
        if task not in self._needed:
            self._needed.append(task)

    def address(self, task: str) -> str:
        """The address at which a task is watched."""
        return self._tasks[task].address

    def watch(self, task: str) -> object | None:
        """The present watch of a task: another object after the task was dropped and added again; None for a task
        that is not watched."""
        return self._tasks.get(task)

    def drop(self, task: str) -> None:
        """Watches a task no more: it is about to leave the cluster."""
        watched = self._tasks.pop(task)
        if task in self._needed:
            self._needed.remove(task)
        following = self._following.pop(task)
        if following is not None:
            following.cancel()
        if watched.link is not None:
            watched.link.close("it is watched no more")
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def close(self) -> None:
        """Ends the watch, and all links."""
        await self._root.close()
        with anyio.CancelScope(shield=True):
            await self._links.aclose()

    @property
    def lives(self) -> dict[str, Life]:
        """The state of each task."""
        return {task: watched.life for task, watched in self._tasks.items()}

    @property
    def missing(self) -> list[str]:
        """The needed tasks that are not up."""
        return [task for task in self._needed if not self._tasks[task].life.is_up]

    def counts(self, task: str) -> bool:
        """Whether a task has to answer: it is up, or needed."""
        return task in self._needed or self._tasks[task].life.is_up

    @property
    def leaving(self) -> list[str]:
        """The tasks that want to leave the cluster, as soon as their variables are elsewhere."""
        return [task for task, watched in self._tasks.items() if watched.leaving]

    @property
    def waits(self) -> dict[str, TaskWaits]:
        """The waits of each task for tokens of its peers so far."""
        watched = {task: watched.waits for task, watched in self._tasks.items() if watched.life.is_up}
        return {task: waits for task, waits in watched.items() if waits is not None}

    def report(self, task: str) -> DeathReport | None:
        """How the task was lost last."""
        return self._tasks[task].report

    def incarnation(self, task: str) -> int | None:
        """The incarnation of a task that is up."""
        watched = self._tasks.get(task)
        return watched.life.incarnation if watched is not None and watched.life.is_up else None

    def started_again(self, task: str) -> None:
        """The task has another process now."""
        watched = self._tasks.get(task)
        if watched is not None and watched.again is not None:
            watched.again.set()

    async def all_up(self, seconds: float = math.inf) -> None:
        """Waits until all needed tasks are connected. Says after a while which are not.

        Raises:
            FailedPreconditionError: one refuses the connection, and will do so forever.
            UnavailableError: that takes more than `seconds`; names those that are absent.
        """
        begun = anyio.current_time()
        next_report = begun + _REPORT_SECONDS
        while missing := self.missing:
            if self._refused is not None:
                raise self._refused
            with anyio.move_on_after(max(0.0, min(next_report, begun + seconds) - anyio.current_time())) as scope:
                await self._changed.wait()
            if scope.cancelled_caught and anyio.current_time() >= begun + seconds:
                raise UnavailableError(
                    f"{', '.join(self._described(missing))} did not answer within {seconds:.3g} s.",
                    hint="Start what is missing, or compare its address with the cluster's specification. "
                    "Supervisor(start_seconds=...) waits longer.",
                )
            if scope.cancelled_caught:
                next_report += 10 * _REPORT_SECONDS
                _LOG.warning("the supervisor waits for tasks", tasks=missing)

    def _described(self, tasks: Collection[str]) -> list[str]:
        return [f"{task} at {self._tasks[task].address}" for task in tasks]

    async def next_change(self) -> None:
        """Waits until the state of a task changes."""
        await self._changed.wait()

    async def call(self, task: str, request: Request) -> Any:
        """Asks a task; it may be busy, and takes its time. Raises what `Rpc.call` raises."""
        watched = self._tasks.get(task)
        if watched is None or watched.link is None:
            raise UnavailableError(f"{task} is not connected to the supervisor.")
        return await watched.link.call(request)

    async def all_answer(self) -> None:
        """Asks all needed tasks, and returns when each has answered: nothing was lost before. For a task that does not
        answer it waits without end; that this task is lost or back, `next_change` tells."""

        async def ask(task: str) -> None:
            while task in self._tasks:  # else it has left the cluster meanwhile
                try:
                    await self.ask_status(task)
                    return
                except OpError:
                    await self.next_change()

        async with anyio.create_task_group() as group:
            for task in self._needed:
                group.start_soon(ask, task)

    async def ask_status(self, task: str) -> dict[str, Any]:
        """The status that a task reports."""
        status: dict[str, Any] = await self.call(task, Status())
        return status

    # ---- evidence

    def _see(self, task: str, seen: Seen) -> None:
        watched = self._tasks[task]
        before = watched.life
        watched.life = observe(before, seen, _now(), self._rules)
        if watched.life.state is not before.state:
            changed, self._changed = self._changed, anyio.Event()
            changed.set()
            self._on_change(task, before, watched.life)

    async def _follow(self, task: str) -> None:
        """Connects to a task, watches its connection and its process to their end, and so on."""
        watched = self._tasks[task]
        while True:
            try:
                link = await self._links.to(task, watched.address, key=self._key, timeout=_REACH_SECONDS)
            except FailedPreconditionError as error:
                named = error.message if task in error.message else f"{task} is not reached: {error.message}"
                self._refused = error.located(named)
                self._changed.set()
                _LOG.warning("a task refuses the supervisor", task=task, error=str(error))
                await anyio.sleep(_POLL_SECONDS)
                continue
            except OpError:
                await anyio.sleep(_SHORTEST_PAUSE * (1 + 5 * machine.current().random_bytes(1)[0] / 255))
                continue
            self._refused = None
            incarnation = link.identity.incarnation
            watched.link, watched.process = link, self._process(task)
            watched.resident_bytes = watched.tensor_bytes = watched.last_node = None
            watched.again = anyio.Event()
            self._see(task, Connected(incarnation))
            why, in_order = await self._until_end(task)
            watched.link = None
            watched.report = self._report(task, watched, incarnation, why, in_order)
            link.close()
            self._see(task, Ended(incarnation, watched.report.how))
            if self._restarts:
                await watched.again.wait()

    async def _until_end(self, task: str) -> tuple[str, bool]:
        """Waits until the connection or the process has ended: how the connection did, and whether in good order."""
        watched = self._tasks[task]
        over = anyio.Event()
        why: list[BaseException] = []
        link, process = watched.link, watched.process
        assert link is not None

        def ended(error: BaseException) -> None:
            why.append(error)
            over.set()

        async def exited(of: LocalProcess) -> None:
            await of.wait()
            over.set()

        link.control.on_end(ended)
        link.tokens.on_end(ended)  # if the two differ, the link that the task closes first tells that it does
        async with anyio.create_task_group() as group:
            if process is not None:
                group.start_soon(exited, process)
            group.start_soon(self._poll, task, link)
            await over.wait()
            if process is not None:
                with anyio.move_on_after(_EXIT_SECONDS):
                    await process.wait()
            group.cancel_scope.cancel()
        if any(isinstance(error, anyio.EndOfStream) for error in why):
            return "it has closed the connection", True
        return str(why[0]) or type(why[0]).__name__ if why else "its process has ended", False

    async def _poll(self, task: str, link: TaskLink) -> None:
        """Keeps what the task says of its memory."""
        watched = self._tasks[task]
        while True:
            try:
                status = await link.call(Status())
            except OpError:
                return  # the end of the link tells
            watched.resident_bytes = status.get("resident_bytes")
            watched.leaving = bool(status.get("leaving"))
            self._on_epoch(task, int(status["epoch"]))
            watched.last_node = next(iter(status["kernels"]), None)
            watched.waits = _waits(status)
            watched.tensor_bytes = sum(device["live_bytes"] for device in status["devices"])
            await anyio.sleep(_POLL_SECONDS)

    async def _look(self) -> None:
        """Looks at the beats of all tasks, again and again."""
        while True:
            await anyio.sleep(self._rules.look_seconds)
            for task, watched in list(self._tasks.items()):
                if watched.link is not None:
                    self._see(task, Polled(watched.link.control.statistics().last_heard))
                if watched.process is not None and watched.process.returncode is None:
                    watched.resident_bytes = machine.resident_bytes(watched.process.pid) or watched.resident_bytes

    def _report(self, task: str, watched: _Watched, incarnation: int, why: str, in_order: bool) -> DeathReport:
        process = watched.process
        status = None if process is None else process.returncode
        if process is None:
            how = f"{task} is lost: {why}"
        elif status is None:
            how = f"{task} (pid {process.pid}) does not answer any more, though its process is there: {why}"
        else:
            how = process.epitaph()
        return DeathReport(
            task,
            re.sub(r"\s+", " ", how),
            self._epoch(),
            incarnation,
            None if process is None else process.pid,
            status,
            watched.resident_bytes,
            watched.tensor_bytes,
            watched.last_node,
            log_lines=() if process is None else tuple(process.last_log_lines),
            in_order=in_order and (process is None or status == 0),
        )


def _now() -> float:
    """The monotonic clock by which beats are timed."""
    return machine.current().clocks()[0] / 1e9


def is_loss(before: Life, after: Life) -> bool:
    """Whether a change of a task's life is its loss."""
    return after.state is State.LOST and before.state is not State.LOST


def _waits(status: Mapping[str, Any]) -> TaskWaits:
    """The waits of a task for tokens of each peer, from its status."""
    tokens, seconds = Counter[str](), dict[str, float]()
    for link in status["links"]:
        peer = link["peer"]
        tokens[peer] += link.get("awaited_tokens", 0)
        seconds[peer] = seconds.get(peer, 0.0) + link.get("awaited_seconds", 0.0)
    return TaskWaits(status["steps"], dict(tokens), seconds)
