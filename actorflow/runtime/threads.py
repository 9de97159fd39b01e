"""Heavy kernels on the device's compute thread, and the order of those that write variables there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from actorflow import machine
from actorflow.runtime import faults
from actorflow.runtime.costs import Cost
from actorflow.runtime.plan import PlanNode

if TYPE_CHECKING:
    from actorflow.runtime.part import Part
    from actorflow.runtime.step import Step


class Writing:
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

    async def wait(self, step: Step) -> None:
        """Returns when the kernel has ended, or when `step` is stopped."""
        over: asyncio.Future[None] = asyncio.Future(loop=step.dispatcher)  # type: ignore[arg-type]

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


class _Unlocked:
    """Which variables a kernel on a thread touches right now.

    On the loop's thread each kernel runs to its end, so updates there are atomic by themselves. A kernel on another thread
    locks the variables that it touches; nodes that touch one of them meanwhile wait. `writing` holds these kernels: while
    it is empty, which is nearly always, nobody has to look further.
    """

    def __init__(self) -> None:
        self.writing: set[Writing] = set()

    async def wait(self, step: Step, node: PlanNode, inputs: list[Any]) -> None:
        """Returns when no variable that `node` touches is being written on a thread, or when `step` is stopped."""
        while not step.stopped:
            busy = next((w for s in states(node, inputs) if (w := s.writer) is not None), None)
            if busy is None:
                return
            await busy.wait(step)


unlocked = _Unlocked()


def states(node: PlanNode, inputs: list[Any]) -> list[Any]:
    """The variables that a node touches: those whose references enter it, and those of a region's own handles."""
    found = [value for value in inputs if hasattr(value, "writer")]
    if node.region is not None:
        found.extend(node.region.states())
    return found


def _call_soon(step: Step, callback: Callable[[], None]) -> None:
    """Calls `callback` on the step's loop, from any thread."""

    def call() -> None:
        callback()
        step.dispatcher.pump()

    try:
        step.loop.call_soon_threadsafe(call)
    except RuntimeError:
        pass  # the loop is closed: nobody waits any more


async def run_on_thread(part: Part, node: PlanNode, inputs: list[Any], cost: Cost) -> Any:
    """Runs a node's kernel on its device's thread. Raises what the kernel raises. What has to wait for the thread and is
    not begun when the step stops never begins."""
    step = part.step
    device = part.plan.device
    future: asyncio.Future[Any] = asyncio.Future(loop=part.dispatcher)  # type: ignore[arg-type]
    context = step.context.copy()
    result: Any = None
    failure: BaseException | None = None
    begun = ended = 0

    def work() -> None:
        nonlocal result, failure, begun, ended
        begun = perf_counter_ns()
        try:
            if step.stopped:
                pass
            elif node.region is None:
                result = context.run(node.launch, *inputs)
            else:
                result = context.run(node.region, inputs)
        except BaseException as error:
            failure = error
            faults.remember_inputs(error, inputs)
        ended = perf_counter_ns()
        inputs.clear()  # the loop may be at the variable's update before this thread gets to run again
        if writing is not None:
            writing.end()

    def complete() -> None:
        if not step.stopped:
            cost.add(ended - begun)
            if node.costs is not None:
                node.costs.saw(result)
            if step.trace is not None:
                step.trace.add(part, node, begun, ended, thread=True)
        future.set_result(None)

    touched = states(node, inputs) if node.touches_state else None
    writing = Writing(touched) if touched else None
    part.threaded += 1
    step.on_threads[id(future)] = (part, node)
    if machine.current().is_real:
        device.submit(work, lambda: _call_soon(step, complete))
    else:
        work()
        complete()
    await future
    del step.on_threads[id(future)]
    if failure is not None:
        try:
            raise failure
        finally:
            failure = None  # its traceback holds this frame, and so all inputs
    given, result = result, None  # the thread may still hold `work`, and with it this frame's variables
    return given
