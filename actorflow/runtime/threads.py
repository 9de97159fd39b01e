"""Heavy kernels on the device's compute thread, and the order of those that write variables there."""

from __future__ import annotations

import asyncio
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from actorflow.runtime.costs import Cost
from actorflow.runtime.plan import PlanNode

if TYPE_CHECKING:
    from actorflow.runtime.step import Part


class _Unlocked:
    """Which variables a kernel on a thread writes right now.

    On the loop's thread each kernel runs to its end, so updates there are atomic by themselves. A kernel on another thread
    locks the variables that it touches; nodes that touch one of them meanwhile wait. `writers` counts these kernels: while
    it is zero, which is nearly always, nobody has to look further.
    """

    def __init__(self) -> None:
        self.writers = 0

    async def wait(self, node: PlanNode, inputs: list[Any]) -> None:
        """Returns when no variable that `node` touches is being written on a thread."""
        while True:
            busy = next((s.writer for s in states(node, inputs) if s.writer is not None), None)
            if busy is None:
                return
            await busy  # completes without a result; several may wait for it


unlocked = _Unlocked()


def states(node: PlanNode, inputs: list[Any]) -> list[Any]:
    """The variables that a node touches: those whose references enter it, and those of a region's own handles."""
    found = [value for value in inputs if hasattr(value, "writer")]
    if node.region is not None:
        found.extend(node.region.states())
    return found


async def run_on_thread(part: Part, node: PlanNode, inputs: list[Any], cost: Cost) -> Any:
    """Runs a node's kernel on its device's thread. Raises what the kernel raises."""
    step = part.step
    device = part.plan.device
    future: asyncio.Future[Any] = asyncio.Future(loop=part.dispatcher)  # type: ignore[arg-type]
    context = step.context.copy()
    loop = step.loop
    result: Any = None
    failure: BaseException | None = None
    begun = ended = 0

    def work() -> None:
        nonlocal result, failure, begun, ended
        begun = perf_counter_ns()
        try:
            if node.region is None:
                result = context.run(node.launch, *inputs)
            else:
                result = context.run(node.region, inputs)
        except BaseException as error:
            failure = error
        ended = perf_counter_ns()
        inputs.clear()  # the loop may be at the variable's update before this thread gets to run again

    def done() -> None:
        try:
            loop.call_soon_threadsafe(complete)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def complete() -> None:
        for state in locked:
            state.writer = None
        unlocked.writers -= bool(locked)
        cost.add(ended - begun)
        if step.trace is not None:
            step.trace.add(node.node, device.name, begun, ended, thread=True)
        future.set_result(None)
        part.dispatcher.pump()

    locked = states(node, inputs) if node.touches_state else []
    for state in locked:
        state.writer = future
    unlocked.writers += bool(locked)
    step.threaded += 1
    part.threaded += 1
    device.submit(work, done)
    await future
    step.threaded -= 1
    if failure is not None:
        raise failure
    return result
