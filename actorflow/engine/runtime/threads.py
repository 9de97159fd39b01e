"""Heavy kernels on the device's compute thread: their order, what it goes on with (`chain`), and those that write variables.

Steps take the thread in turns, in the order in which their kernels became ready. A step gives its turn to the kernel with the
highest rank, that is the longest way to the end of the step by measured costs (`Subgraph.ranks`), as the simulation of
placements does. Without ranks the kernel that came first is next.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import threading
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from actorflow.base.process import forks, machine
from actorflow.engine.device.base import Device
from actorflow.engine.runtime.chain import Chain, fits, may_lead
from actorflow.engine.runtime.diagnostics import faults
from actorflow.engine.runtime.diagnostics.costs import Cost
from actorflow.engine.runtime.event_loops.polling import at_work
from actorflow.engine.runtime.plan import PlanNode

if TYPE_CHECKING:
    from actorflow.engine.runtime.actors import ExecutorState
    from actorflow.engine.runtime.step import Step


class WriteInProgress:
    """A kernel on a thread that touches variables, and the nodes that wait for its end, on whatever event loops."""

    def __init__(self, touched: list[Any]) -> None:
        self._touched = touched
        self._lock = threading.Lock()
        self._over = False
        self._waiting: list[Callable[[], None]] = []
        for state in touched:
            state.writer = self
        unlocked.writing.add(self)

    def end(self) -> None:
        """Lets others have the variables. Called on the kernel's thread, because the loop may be gone by then."""
        for state in self._touched:
            if state.writer is self:
                state.writer = None
        unlocked.writing.discard(self)
        with self._lock:
            self._over = True
        for wake in self._waiting:
            wake()

    def when_over(self, callback: Callable[[], None]) -> None:
        """Calls `callback` when the kernel has ended, on its thread, or now if it has already."""
        with self._lock:
            if not self._over:
                self._waiting.append(callback)
                return
        callback()

    def forked(self) -> None:
        """In a child that was forked there are neither the kernel's thread nor those who wait for it."""
        self._lock = threading.Lock()
        self._over = True
        self._waiting = []
        for state in self._touched:
            if state.writer is self:
                state.writer = None

    async def wait(self, step: Step) -> None:
        """Returns when the kernel has ended, or when `step` is stopped."""
        over: asyncio.Future[None] = step.dispatcher.future(step.loop)

        def wake() -> None:
            if not over.done():
                over.set_result(None)

        def wake_from_thread() -> None:
            _call_soon(step, wake)

        with self._lock:
            if self._over:
                return
            self._waiting.append(wake_from_thread)
        forget = step.on_cancel(wake)
        await over
        forget()


class _ActiveWrites:
    """Which variables a kernel on a thread touches right now.

    On the loop's thread each kernel runs to its end, so updates there are atomic by themselves. A kernel on another thread
    locks the variables that it touches; nodes that touch such a variable meanwhile wait. `writing` holds these kernels:
    while it is empty, which is nearly always, no further look is needed.
    """

    def __init__(self) -> None:
        self.writing: set[WriteInProgress] = set()
        forks.register(self)

    def forked(self) -> None:
        """In a child that was forked no thread writes."""
        for write in self.writing:
            write.forked()
        self.writing.clear()
        at_work.clear()

    async def wait(self, step: Step, node: PlanNode, inputs: list[Any]) -> None:
        """Returns when no variable that `node` touches is being written on a thread, or when `step` is stopped."""
        while not step.stopped:
            busy = next((w for s in states(node, inputs) if (w := s.writer) is not None), None)
            if busy is None:
                return
            await busy.wait(step)


unlocked = _ActiveWrites()


def states(node: PlanNode, inputs: list[Any]) -> list[Any]:
    """The variables that a node touches: those whose references enter it, and those of a region's own handles."""
    variables = [value for value in inputs if hasattr(value, "writer")]
    if node.region is not None:
        variables.extend(node.region.states())
    return variables


def _call_soon(step: Step, callback: Callable[[], None]) -> None:
    """Calls `callback` on the step's loop, from any thread."""

    def call() -> None:
        callback()
        step.dispatcher.pump()

    try:
        step.loop.call_soon_threadsafe(call)
    except RuntimeError:
        pass  # the loop is closed: no one waits any more


_in_line: weakref.WeakKeyDictionary[Device, set[int]] = weakref.WeakKeyDictionary()
"""The work that was given to each device's thread and has not begun there."""

_write_locks: weakref.WeakKeyDictionary[Device, Any] = weakref.WeakKeyDictionary()
"""Held by the thread of a device while a kernel writes to variables: a fork waits, or the child would have values that are partly
new."""

_numbers = itertools.count()


class _Turn:
    """A place in the line of a device's thread. It belongs to a step: which of its kernels takes the place is decided when the
    thread comes to it. `waiting` is a heap of those: negative rank, number, work."""

    __slots__ = ("_waiting", "_work")

    def __init__(self, waiting: list[tuple[float, int, _ThreadWork]]) -> None:
        self._waiting = waiting
        self._work: _ThreadWork | None = None

    def run(self) -> None:
        self._work = heapq.heappop(self._waiting)[2]
        self._work.run()

    def done(self) -> None:
        work, self._work = self._work, None  # the device may hold the turn until it has other work
        assert work is not None
        work.tell()


class _ThreadWork:
    """A kernel for a device's thread, and the nodes that the thread runs behind it.

    result: the kernel's, without a `chain`.
    failure: what a kernel raised, that of the node `running`.
    """

    __slots__ = (
        "_asked",
        "_beside",
        "_context",
        "_cost",
        "_executor",
        "_inputs",
        "_line",
        "_node",
        "_took",
        "_writing",
        "chain",
        "done",
        "failure",
        "result",
        "running",
    )

    def __init__(
        self, executor: ExecutorState, node: PlanNode, inputs: list[Any], cost: Cost, chain: Chain | None
    ) -> None:
        self._executor, self._node, self._inputs, self._cost = executor, node, inputs, cost
        self._context = executor.step.context.copy()
        touched = states(node, inputs) if node.touches_state else None
        self._writing = WriteInProgress(touched) if touched else None
        device = executor.plan.device
        self._beside = executor.step.in_line.setdefault(device.name, [])
        self._line = _in_line.setdefault(device, set())
        self._line.add(id(self))
        self._asked = 0
        self.done: asyncio.Future[None] = executor.dispatcher.future(executor.step.loop)
        self._took: list[tuple[PlanNode, Cost, int, int, int]] = []
        self.chain = chain
        self.running = node
        self.result: Any = None
        self.failure: BaseException | None = None
        executor.step.on_threads[id(self)] = (executor, node)
        at_work.add(id(self))

    def submit(self) -> None:
        """Gives it to the device's thread; `done` tells of its end."""
        heapq.heappush(self._beside, (-self._node.rank, next(_numbers), self))
        if len(at_work) == 1:
            self._asked = perf_counter_ns()
        turn = _Turn(self._beside)
        self._executor.plan.device.submit(turn.run, turn.done)

    def tell(self) -> None:
        """Lets the loop `complete` it, from the thread."""
        _call_soon(self._executor.step, self.complete)

    def run(self) -> None:
        """All of it, on the thread."""
        try:
            self._run()
        finally:
            at_work.discard(id(self))

    def _run(self) -> None:
        self._line.discard(id(self))
        if self._writing is None:
            result = self._first()
        else:
            device = self._executor.plan.device
            with _write_locks.get(device) or _write_locks.setdefault(device, forks.new_library_lock()):
                result = self._first()
                self._writing.end()
        if (
            self.chain is not None
            and self.failure is None
            and not self._executor.step.stopped
            and fits(self._node, result)
        ):
            self.result, result = result, None  # nothing here may hold it while the others run
            self._go_on(self.chain)
        else:
            self.chain, self.result = None, result

    def _first(self) -> Any:
        """The result of the first kernel, unless its step has stopped."""
        result = None if self._executor.step.stopped else self._kernel(self._node, self._inputs, self._cost)
        self._inputs.clear()
        return result

    def _go_on(self, chain: Chain) -> None:
        """Runs what becomes ready behind the first node, whose result is in `result`."""
        node = self._node
        result, self.result = self.result, None
        if node.costs is not None:
            node.costs.saw(result)
        while True:
            chain.bring(node, result)
            result = None
            pair = chain.next(self._waits())
            if pair is None:
                return
            node, inputs = pair
            self.running = node
            self._executor.step.on_threads[id(self)] = (self._executor, node)
            result = self._kernel(node, inputs, node.cost)
            if self.failure is None and not fits(node, result):
                self.failure = faults.wrong_outputs(node, result)
            if self.failure is not None:
                return

    def _waits(self) -> float:
        """The highest rank of what waits for the thread: of this step, or infinite where another one waits for its turn."""
        if len(self._line) > len(self._beside):
            return math.inf
        return -self._beside[0][0] if self._beside else -math.inf

    def _kernel(self, node: PlanNode, inputs: list[Any], cost: Cost) -> Any:
        """The result of a kernel; what it raises becomes the `failure`."""
        begun, busy = perf_counter_ns(), machine.thread_time_ns()
        try:
            if node.region is None:
                return self._context.run(node.launch, *inputs)
            return self._context.run(node.region, inputs)
        except BaseException as error:
            self.failure = error
            faults.remember_inputs(error, inputs)
            return None
        finally:
            self._took.append((node, cost, begun, perf_counter_ns(), machine.thread_time_ns() - busy))
            inputs.clear()  # the loop may be at the variable's update before this thread gets to run again

    def complete(self) -> None:
        """Notes on the loop what the kernels took, and wakes who waits for that."""
        self._note()
        self.done.set_result(None)

    def _note(self) -> None:
        executor = self._executor
        step = executor.step
        del step.on_threads[id(self)]
        executor.threaded += max(1, len(self._took))
        executor.launched += max(0, len(self._took) - 1)  # the first kernel is counted by its task
        if step.stopped:
            return
        is_real = machine.current().is_real
        if is_real and self._took:
            self._cost.hopped(perf_counter_ns() - self._took[-1][3])
            if self._asked:  # the thread was at rest
                self._cost.hopped(self._took[0][2] - self._asked)
        for node, cost, begun, ended, busy in self._took:
            cost.add(ended - begun, busy if is_real else None)
            if node.costs is not None and self.chain is None:
                node.costs.saw(self.result)
            if step.trace is not None:
                step.trace.add(executor, node, begun, ended, thread=True)


async def run_on_thread(executor: ExecutorState, node: PlanNode, inputs: list[Any], cost: Cost) -> Any:
    """Runs a node's kernel on its device's thread. Gives its result, or a `Chain` where the thread has gone on with others.

    Raises what the kernel raises. A call that has to wait for the thread never begins if the step stops first.
    """
    step = executor.step
    is_real = machine.current().is_real
    work = _ThreadWork(executor, node, inputs, cost, Chain(executor) if is_real and may_lead(executor, node) else None)
    if is_real:
        work.submit()
    else:
        work.run()
        work.complete()
    await work.done
    failure, work.failure = work.failure, None
    if failure is not None:
        try:
            if work.running is node:
                raise failure
            step.fail(executor, work.running, failure)
        finally:
            failure = None  # its traceback holds this frame, and so all inputs
    result, work.result = work.result, None  # the thread may still hold the work
    if type(result) is tuple and len(node.edges) == 1:
        raise faults.wrong_outputs(node, result)
    return work.chain or result
