"""One step: a run from its feeds to its last task.

A step owns its tasks. `live` counts them; when it falls to zero the step is finished, or stopped, or waits for a partial
feed, or starves. Stopping never cancels a task: tasks that start later see `stopped`, and asynchronous kernels are woken
through the callbacks that they registered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from functools import partial
from typing import Any, Protocol

from actorflow.base.process import lanes
from actorflow.base.process.interpreter import TASKS_START_EAGERLY
from actorflow.base.registry import roles
from actorflow.base.reports.logs import get_logger
from actorflow.engine.device.base import as_asynchronous
from actorflow.engine.runtime.actors import ExecutorState
from actorflow.engine.runtime.diagnostics import faults, starvation
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.diagnostics.traced_executor import TracedExecutorState
from actorflow.engine.runtime.diagnostics.waits import Reason, Wait
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.engine.runtime.plan import Plan, PlanNode
from actorflow.engine.runtime.visible_actors import Turns
from actorflow.engine.transport.rendezvous import Rendezvous
from actorflow.errors import OpError
from actorflow.graph.node import TensorId

_TIMED_EVERY = 16


class StepAccounting(Protocol):
    """An account of the steps that run and those that only wait."""

    def begin_waiting(self) -> OpError | None:
        """A step only waits from now on. The result is the error that it has to end with, where too many wait."""

    def end_waiting(self) -> None:
        """A step that only waited goes on, or is over."""


def _nothing() -> None:
    """Wakes a wait that the end of a step cancels anyway."""


class Step:
    """One run from its feeds to its last task. The session makes it, starts it and waits for `finished`."""

    __slots__ = (
        "_abandoning",
        "_accounting",
        "_blocked",
        "_cancel",
        "_cancels",
        "_ends",
        "_grace",
        "_idle_since",
        "_lacks_feeds",
        "_left_behind",
        "_reasons",
        "_settled",
        "_tasks",
        "_waiters",
        "abandoned",
        "begun",
        "context",
        "continuing",
        "dispatcher",
        "error",
        "executors",
        "expected_feeds",
        "finished",
        "id",
        "in_line",
        "listeners",
        "live",
        "loop",
        "looping",
        "on_threads",
        "ready",
        "rendezvous",
        "stopped",
        "timed",
        "trace",
        "waiting",
    )  # a dict of attributes is slower to make, by far so when they are more than 30

    def __init__(
        self,
        step_id: int,
        plans: Sequence[Plan],
        dispatcher: Dispatcher,
        loop: asyncio.AbstractEventLoop,
        context: Context,
        rendezvous: Rendezvous,
        *,
        trace: Trace | None = None,
        expected_feeds: int = 0,
        grace: float = 1.0,
        accounting: StepAccounting | None = None,
        begun: float = 0.0,
    ) -> None:
        self.id = step_id
        self.loop = loop
        self.context = context
        self.trace = trace
        self.timed = trace is not None or step_id % _TIMED_EVERY == 0
        self.live = 0
        self.waiting = 0
        """How many of the live tasks wait in asynchronous kernels; those on threads are at work."""
        self.expected_feeds = expected_feeds
        self.stopped = False
        self.finished = False
        self.abandoned = False
        self.error: BaseException | None = None
        self.rendezvous = rendezvous
        if plans and plans[0].seen and not TASKS_START_EAGERLY:
            dispatcher = Turns(dispatcher, loop)
        kind = TracedExecutorState if trace is not None and trace.follows_tokens else ExecutorState
        self.executors = [kind(self, plan, dispatcher) for plan in plans]
        self.dispatcher = dispatcher
        self.begun = begun
        """When it began, by the event loop's clock."""
        self._settled: list[ExecutorState] = []
        self._blocked = False
        self._lacks_feeds = False
        self._idle_since = 0.0
        self._accounting = accounting
        self._grace = grace
        self._abandoning: asyncio.TimerHandle | None = None
        self._cancel: dict[int, Callable[[], None]] = {}
        self._cancels = 0
        self._reasons: dict[int, tuple[asyncio.Task[Any] | None, Reason]] = {}
        """The reasons that kernels give for waiting, with their tasks."""
        self._ends: list[Callable[[], object]] = []
        self.ready: dict[tuple[int, int], tuple[ExecutorState, PlanNode]] = {}
        """The nodes whose tasks are to be seen and wait for their first turn, by executor and index."""
        self.on_threads: dict[int, tuple[ExecutorState, PlanNode]] = {}
        """The nodes whose kernels run on devices' threads, or wait for them."""
        self.in_line: dict[str, list[Any]] = {}
        """The kernels that wait for the thread of each device; see `actorflow.engine.runtime.threads`."""
        self.looping: dict[int, tuple[ExecutorState, PlanNode]] = {}
        """The coalesced loops that are under way."""
        self.continuing: dict[tuple[int, int], tuple[ExecutorState, PlanNode]] = {}
        """The nodes whose kernels have to call their continuation yet, by executor and index."""
        self._tasks: dict[asyncio.Task[None], tuple[ExecutorState, PlanNode]] = {}
        self._left_behind: list[tuple[ExecutorState, PlanNode, Callable[[], bool]]] = []
        """The nodes whose kernels have ended, but not what they called on threads."""
        self._waiters: list[asyncio.Future[None]] = []
        self.listeners: list[Callable[[], None]] = []
        """Called whenever the step has gone quiet (partial runs look for their fetches then)."""

    @property
    def age(self) -> int:
        """Nanoseconds since it began."""
        return round((self.loop.time() - self.begun) * 1e9)

    def start(self, feeds: Mapping[TensorId, Any]) -> None:
        """Fires the first nodes."""
        self.live += 1  # holds the step open until all executors have started
        for executor in self.executors:
            executor.start(feeds)
        self.task_done()

    def feed(self, feeds: Mapping[TensorId, Any]) -> None:
        """Delivers feeds of a partial run."""
        self._unblock()
        self._lacks_feeds = False
        self.expected_feeds -= len(feeds)
        self.live += 1
        for executor in self.executors:
            executor.feed(feeds)
        self.task_done()

    def add_task(self, task: asyncio.Task[None], executor: ExecutorState, node: PlanNode) -> None:
        """Keeps the task of an asynchronous kernel until it has ended."""
        self._tasks[task] = (executor, node)
        task.add_done_callback(self._tasks.pop)

    def asynchronous_nodes(self, executor: ExecutorState) -> list[tuple[PlanNode, Wait | None]]:
        """The nodes of `executor` that wait in asynchronous kernels, and for what, as far as these tell."""
        reasons = dict(self._reasons.values())  # of a kernel that waits within a wait, the inner wait
        pairs = [(node, reasons.get(task)) for task, (owner, node) in self._tasks.items() if owner is executor]
        waits = [(node, None if reason is None else reason()) for node, reason in pairs]
        return [*waits, *((node, None) for owner, node in self.continuing.values() if owner is executor)]

    def kernel_tasks(self) -> list[tuple[asyncio.Task[None], tuple[ExecutorState, PlanNode]]]:
        """The tasks of asynchronous kernels, and whose they are."""
        return list(self._tasks.items())

    @property
    def idle(self) -> float | None:
        """For how many seconds only asynchronous kernels have been left, which wait; None while something runs, such as
        a thread that reads a file for such a kernel. A task's share of a partial run, which has no account here, is
        idle too while it waits for feeds: others may wait for something else."""
        if not (self._blocked or self._lacks_feeds and self._accounting is None):
            return None
        inner = dict(self._reasons.values())  # of a kernel that waits within a wait
        if any(reason().is_at_work for reason in inner.values()):
            return None
        return self.loop.time() - self._idle_since

    def holders(self) -> set[object] | None:
        """The steps that have to let go of something before this one goes on; None where something else may wake it."""
        waits = [reason() for _, reason in self._reasons.values()]
        if not self._blocked or not self.rendezvous.is_local or len(waits) < self.live:
            return None
        if not all(wait.holders for wait in waits):
            return None
        return {holder for wait in waits for holder in wait.holders}

    def active_again(self) -> None:
        """An asynchronous kernel has ended."""
        self.waiting -= 1
        self._unblock()

    def _unblock(self) -> None:
        if self._blocked:
            self._blocked = False
            if self._accounting is not None:
                self._accounting.end_waiting()

    @contextmanager
    def waits(self) -> Iterator[None]:
        """While a kernel that is registered as threaded waits for something else than its thread."""
        self.waiting += 1
        if self.live <= self.waiting:
            self.went_idle()
        try:
            yield
        finally:
            self.active_again()

    def on_cancel(self, callback: Callable[[], None], reason: Reason | None = None) -> Callable[[], None]:
        """Calls `callback` when the step is stopped (at once if it is already); the result takes it back. Until then `reason`
        tells what the kernel of this task waits for."""
        if self.stopped:
            callback()
            return lambda: None
        self._cancels += 1
        key = self._cancels
        self._cancel[key] = callback
        if reason is None:
            return lambda: self._cancel.pop(key, None) and None
        self._reasons[key] = asyncio.current_task(), reason

        def forget() -> None:
            self._cancel.pop(key, None)
            self._reasons.pop(key, None)

        return forget

    @contextmanager
    def waits_for(self, reason: Reason | str) -> Iterator[None]:
        """A block in which the kernel of this task waits, and reports say for what."""
        forget = self.on_cancel(_nothing, reason if callable(reason) else partial(Wait, reason))
        try:
            yield
        finally:
            forget()

    def on_end(self, callback: Callable[[], object]) -> None:
        """Calls `callback` when the step has ended, in whatever way (at once if it has already)."""
        if self.finished:
            callback()
        else:
            self._ends.append(callback)

    def fail(self, executor: ExecutorState, node: PlanNode, error: BaseException) -> None:
        """A kernel raised: the first error of a step is the step's, and stops it."""
        if not self.stopped:
            if self.trace is not None:
                self.trace.add_failed(executor, node)
            ordinary = isinstance(error, (Exception, asyncio.CancelledError))
            self.stop(faults.located(error, node, executor.plan.device, executor.plan.explain) if ordinary else error)

    def stop(self, error: BaseException) -> None:
        """Stops the step with `error`: nothing new fires, and what waits is woken. Tasks end by themselves; what has not
        ended after the grace is left behind."""
        if self.stopped or self.finished:
            return
        self.stopped = True
        self.error = error
        callbacks, self._cancel = list(self._cancel.values()), {}
        for callback in callbacks:
            callback()
        self.rendezvous.abort(error)
        if self.live == 0:
            self._finish()
        else:
            self._abandoning = self.loop.call_later(self._grace, self.abandon)

    def task_done(self) -> None:
        """One of the live tasks has ended; what it gave is delivered, or its error is told. The step goes quiet where no other
        is at work."""
        live = self.live = self.live - 1
        if live <= self.waiting:
            self.went_idle()

    def went_idle(self) -> None:
        """Nothing of the step runs or is ready: it is finished, or waits, or starves."""
        if self.live > 0:
            if self._starves():
                self.stop(starvation.error(self))
            elif not self._blocked and not self.stopped:
                self._block()
        elif self.finished:
            return
        elif self.stopped or all(executor.done for executor in self.executors):
            if self.stopped or not self._settles():
                self._finish()
        elif self.expected_feeds <= 0:
            self.stopped = True
            self.error = starvation.error(self)
            self._finish()
        else:
            self._lacks_feeds = True
            self._idle_since = self.loop.time()
        for listener in self.listeners:
            listener()

    def _block(self, again: bool = False) -> None:
        """Only asynchronous kernels are left, which wait: others may run meanwhile, unless too many wait. A kernel whose task has
        not begun may have nothing to wait for, so a refusal comes a turn of the loop later."""
        refused = None if self._accounting is None else self._accounting.begin_waiting()
        if refused is None:
            self._blocked = True
            self._idle_since = self.loop.time()
        elif again:
            self.stop(refused.located(details=self.pending().splitlines()))
        else:
            self.loop.call_soon(self._block_again)

    def _block_again(self) -> None:
        if 0 < self.live <= self.waiting and not self._blocked and not self.stopped:
            self._block(again=True)

    def _starves(self) -> bool:
        """Whether only Recvs of this process's own tokens are left, which no one will send any more."""
        left = len(self.continuing)
        idle = self.live == left and not self.stopped and self.expected_feeds <= 0
        return idle and self.rendezvous.is_local and all(n.node.role is roles.RECV for _, n in self.continuing.values())

    def _settles(self) -> bool:
        """Has devices that only launched their kernels say when these have run; false without such a device, or if all
        have. Until then the step is not done, so that their errors are its own."""
        for executor in self.executors:
            device = as_asynchronous(executor.plan.device)
            if device is None or not executor.launched or executor in self._settled:
                continue
            self._settled.append(executor)
            self.live += 1
            device.settle(self._has_settled)
        return self.live > 0

    def _has_settled(self, error: BaseException | None) -> None:
        self.live -= 1
        if error is not None:
            self.stop(error)
        if not self.live and not self.finished:
            self.went_idle()

    def _finish(self) -> None:
        self.finished = True
        if self._abandoning is not None:
            self._abandoning.cancel()
        self._unblock()
        for executor in self.executors:
            executor.plan.device.count(executor.launched - executor.threaded, executor.threaded)
        ends, self._ends = self._ends, []
        for callback in ends:
            callback()
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def release(self) -> BaseException | None:
        """Lets go of the values of a finished step, of its executors, and of its error, which this returns. Steps, executors and
        the frames of an error refer to each other: they would live until the garbage collector comes by. It would come by often,
        and now and then look at all objects of the process, which holds the event loop up for tens of milliseconds."""
        for executor in self.executors:
            executor.clear()
        if not self.abandoned:
            self.executors = []
        error, self.error = self.error, None
        if error is not None:
            del self.rendezvous  # it keeps the error that it was aborted with
        return error

    async def wait(self) -> None:
        """Returns when the step is finished. Cancelling the caller leaves the step as it is."""
        while not self.finished:
            waiter: asyncio.Future[None] = self.loop.create_future()
            self._waiters.append(waiter)
            await waiter

    def abandon(self) -> None:
        """Gives up waiting for kernels that can't be stopped; their outputs will be dropped."""
        if not self.finished:
            self.abandoned = True
            left = [node.node.name for _, node in self.left_behind()]
            get_logger("runtime").warning("kernels_left_behind", step=self.id, nodes=left, grace=self._grace)
            self._finish()

    def leave_behind(self, executor: ExecutorState, node: PlanNode) -> None:
        """The kernel of a node has ended because the step is stopped. The call that it made on a thread may go on."""
        goes_on = lanes.goes_on()
        if goes_on is not None:
            self.abandoned = True
            self._left_behind.append((executor, node, goes_on))

    def left_behind(self) -> list[tuple[ExecutorState, PlanNode]]:
        """The nodes of a finished step whose kernels, or what these called on threads, still go on."""
        tasks = (whose for task, whose in self._tasks.items() if not task.done())
        kernels = (*self.on_threads.values(), *tasks, *self.continuing.values())
        return [*kernels, *((executor, node) for executor, node, goes_on in self._left_behind if goes_on())]

    def pending(self) -> str:
        """A report of the nodes that wait, the channels that are empty, and who should fill them."""
        return starvation.report(self)
