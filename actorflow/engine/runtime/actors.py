"""The actors: each node of a device in a step is a task that fires when its channels have filled (paper section 3.1).

An `ExecutorState` is what changes while a plan runs: copies of its counts and slots, which are the channels. Iterations of
loops are such states too, which come and go with their frames. A node whose count is zero fires in the way that its plan has
chosen (`PlanNode.fire`). It fires as a task of the dispatcher, as a task of the event loop, in a continuation, or as a move of
tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter_ns
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import numpy as np

from actorflow.base.process.interpreter import EAGERLY, TASKS_START_EAGERLY
from actorflow.engine.device.base import as_asynchronous
from actorflow.engine.runtime.chain import Chain
from actorflow.engine.runtime.diagnostics import faults
from actorflow.engine.runtime.diagnostics.costs import INLINE_LIMIT_NS, Cost
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.engine.runtime.frames import Frame, carry_out, forward
from actorflow.engine.runtime.plan import MergeEdge, Plan, PlanNode
from actorflow.engine.runtime.threads import run_on_thread, unlocked
from actorflow.engine.runtime.tokens import DEAD, EMPTY
from actorflow.graph.node import TensorId

if TYPE_CHECKING:
    from actorflow.engine.runtime.step import Step


_KNOWN = 4
"""The number of measurements that tell a kernel's cost; before, each run is measured."""


_EagerTask: Callable[..., asyncio.Task[None]] = partial(asyncio.Task, **EAGERLY)


class ExecutorState:
    """The propagation state of one device in one step, or of one iteration of a loop there: what each node still waits
    for, and what fills its slots."""

    __slots__ = (
        "chosen",
        "dead",
        "dead_inputs",
        "dispatcher",
        "done",
        "frame",
        "frames",
        "launched",
        "nodes",
        "number",
        "outstanding",
        "pending",
        "plan",
        "slots",
        "step",
        "threaded",
    )

    def __init__(
        self, step: Step, plan: Plan, dispatcher: Dispatcher, frame: Frame | None = None, number: int = 0
    ) -> None:
        self.step = step
        self.plan = plan
        self.dispatcher = dispatcher
        self.nodes = plan.nodes
        self.pending = plan.pending.copy()
        self.slots = plan.slots.copy()
        self.dead: set[int] = set()
        self.done = False
        self.launched = 0
        self.threaded = 0
        self.frame = frame
        """The run of a loop of which this is an iteration; None outside of loops."""
        self.number = number
        self.outstanding = 0
        """How many tasks and inner loops of this iteration go on."""
        if plan.controlled:
            self.frames: dict[str, Frame] = {}
            self.chosen: dict[str, bool] = {}
            """The predicate of each Switch."""
            self.dead_inputs: dict[int, int] = {}
            """How many inputs of each Merge were dead."""

    def iteration(self, frame: Frame, number: int) -> ExecutorState:
        """An iteration of a loop that runs inside this executor."""
        return ExecutorState(self.step, frame.plan, self.dispatcher, frame, number)

    @property
    def tag(self) -> bytes:
        """The mark that tells this iteration from others of the step: the numbers of the iterations around it and its own, of
        eight bytes each, outer iterations first. Empty outside of loops. Which loops these are, an edge's key says."""
        if self.frame is None:
            return b""
        return self.frame.parent.tag + self.number.to_bytes(8, "little")

    def start(self, feeds: Mapping[TensorId, Any]) -> None:
        """Fires the nodes that wait for nothing, and delivers what is fed."""
        for index in self.plan.roots:
            self.fire(index)
        self.feed(feeds)

    def feed(self, feeds: Mapping[TensorId, Any]) -> None:
        """Delivers what is fed."""
        launching = as_asynchronous(self.plan.device)
        for tensor_id, value in feeds.items():
            used = self.plan.feeds.get(tensor_id)
            if used:
                edges, merges = used
                if launching is not None:
                    try:
                        value = launching.bring(value)
                    except Exception as error:
                        self.step.stop(error)
                        return
                self.deliver(edges, value)
                for edge in merges:
                    self.merge(edge, value)

    def fire(self, index: int) -> None:
        """Starts a node whose pending count is zero, in the way that its plan has chosen."""
        node = self.nodes[index]
        self.step.live += 1
        if self.frame is not None:
            self.outstanding += 1
        if self.dead and index in self.dead:
            node.fire_dead(self, node)
        else:
            node.fire(self, node)

    def take(self, node: PlanNode) -> list[Any]:
        """The inputs of a node, out of their channels."""
        inputs = self.slots[node.places]
        self.slots[node.places] = node.blank
        return inputs

    def deliver(self, edges: Sequence[tuple[int, int]], value: Any) -> None:
        """Fills the channels of one output, and fires whom that completes."""
        slots, pending = self.slots, self.pending
        for slot, consumer in edges:
            slots[slot] = value
            if value is DEAD:
                self.dead.add(consumer)
            count = pending[consumer] = pending[consumer] - 1
            if not count:
                self.fire(consumer)

    def merge(self, edge: MergeEdge, token: Any) -> None:
        """Brings a token to a Merge: the first live token is enough, and dead tokens count when all are dead."""
        if token is DEAD:
            dead = self.dead_inputs[edge.consumer] = self.dead_inputs.get(edge.consumer, 0) + 1
            if dead != edge.fatal:
                return
        elif self.slots[edge.slot] is not EMPTY:
            return
        self.slots[edge.slot] = token
        self.slots[edge.slot + 1] = np.int32(edge.position)
        count = self.pending[edge.consumer] = self.pending[edge.consumer] - 1
        if not count:
            self.fire(edge.consumer)

    def propagate(self, node: PlanNode, result: Any) -> None:
        """Sends a node's outputs on, and tells those that only wait for it."""
        edges = node.edges
        if len(edges) == 1:
            self.deliver(edges[0], result)
        elif result is DEAD:
            for some in edges:
                self.deliver(some, DEAD)
        elif edges:
            if type(result) not in (tuple, list) or len(result) != len(edges):
                raise faults.wrong_outputs(node, result)
            for some, value in zip(edges, result):
                self.deliver(some, value)
        if node.merges:
            several = len(edges) > 1
            for edge in node.merges:
                self.merge(edge, result[edge.output] if several and result is not DEAD else result)
        if node.controls:
            pending = self.pending
            for consumer in node.controls:
                if result is DEAD:
                    self.dead.add(consumer)
                count = pending[consumer] = pending[consumer] - 1
                if not count:
                    self.fire(consumer)

    def finish(self, node: PlanNode, result: Any) -> None:
        """Counts a kernel that has run, and sends on what it gave, unless the step has stopped meanwhile."""
        self.launched += 1
        if self.step.stopped:
            return
        if type(result) is Chain:
            result.hand_over()
        else:
            self.propagate(node, result)
        if self.frame is not None:
            self.frame.left(self)

    def clear(self) -> None:
        """Lets go of all values."""
        self.slots.clear()
        if self.plan.controlled:
            for frame in self.frames.values():
                frame.clear()


# ---- The ways in which a node fires: `PlanNode.fire` names the node's way


def fire_task(executor: ExecutorState, node: PlanNode) -> None:
    """A task that the dispatcher runs."""
    if TASKS_START_EAGERLY:
        executor.dispatcher.begin_soon(partial(_start_task, executor, node))
    else:
        asyncio.Task(run_node(executor, node), loop=executor.dispatcher, context=executor.step.context)  # type: ignore[arg-type]


def _start_task(executor: ExecutorState, node: PlanNode) -> None:
    step = executor.step
    task = _EagerTask(run_node(executor, node), loop=step.loop, context=step.context)
    if not task.done():  # no one but the step knows it, so that none cancels it
        asyncio._unregister_task(task)


def fire_on_loop(executor: ExecutorState, node: PlanNode) -> None:
    """A task of the event loop, for an asynchronous kernel: it waits there and holds no thread."""
    step = executor.step
    if not node.is_threaded:
        step.waiting += 1
    # a context of its own, because it pumps at its end, and the nodes that run then enter the step's
    context = step.context.copy()
    work = run_on_loop(executor, node, executor.take(node))
    step.add_task(step.loop.create_task(work, name=node.node.name, context=context), executor, node)


def fire_continuation(executor: ExecutorState, node: PlanNode) -> None:
    """A call of a kernel that calls back: it has neither a thread nor a task while it waits."""
    launch_continuing(executor, node, partial(executor.dispatcher.call_soon, context=executor.step.context))


def fire_primitive(executor: ExecutorState, node: PlanNode) -> None:
    """A move of tokens in the ready queue, without a task."""
    _queue(executor, partial(carry_out, executor, node, node.launch))


def forward_dead(executor: ExecutorState, node: PlanNode) -> None:
    """The way of most dead nodes: nothing runs, and DEAD goes on to all consumers."""
    _queue(executor, partial(carry_out, executor, node, forward))


def fire_sink(executor: ExecutorState, node: PlanNode) -> None:
    """The fetches are there: the sink has neither a kernel nor a turn."""
    executor.done = True
    executor.step.live -= 1


def _queue(executor: ExecutorState, turn: Callable[[], None]) -> None:
    dispatcher = executor.dispatcher
    dispatcher.queue.append((executor.step.context, turn))
    if not dispatcher.pumping and not dispatcher.turn_is_open:
        dispatcher.open_turn()


# ---- What their tasks do


async def run_node(executor: ExecutorState, node: PlanNode) -> None:
    """The task of a node: takes its inputs out of their channels, launches the kernel, and sends the outputs on."""
    step, slots = executor.step, executor.slots
    inputs: Any = slots[node.places]  # `take`, in place: small nodes are many
    slots[node.places] = node.blank
    try:
        if node.touches_state and unlocked.writing:
            await unlocked.wait(step, node, inputs)
        if not step.stopped:
            result = node.run(executor, node, inputs)
            if type(result) is CoroutineType:
                result = await result
            inputs = None  # a consumer may take memory as soon as it fires
            executor.finish(node, result)
    except BaseException as error:
        faults.remember_inputs(error, inputs)
        step.fail(executor, node, error)
    step.task_done()


async def run_on_loop(executor: ExecutorState, node: PlanNode, inputs: list[Any]) -> None:
    """The task of a node with an asynchronous kernel."""
    step = executor.step
    begun = perf_counter_ns()
    try:
        try:
            result = None if step.stopped else await node.run(executor, node, inputs)
        finally:
            if not node.is_threaded:
                step.active_again()
        inputs = []
        if step.trace is not None and not step.stopped:
            step.trace.add(executor, node, begun, perf_counter_ns())
        executor.finish(node, result)
    except BaseException as error:
        faults.remember_inputs(error, inputs)
        step.fail(executor, node, error)
    if step.stopped:
        step.leave_behind(executor, node)
    step.task_done()
    executor.dispatcher.pump()


def launch_continuing(executor: ExecutorState, node: PlanNode, go_on: Callable[[Callable[[], None]], object]) -> None:
    """Launches a kernel that calls a continuation. `go_on` gets the rest of its actor, for a later turn: the kernel may call back
    before it returns."""
    step = executor.step
    inputs = executor.take(node)
    step.waiting += 1
    key = (id(executor), node.index)
    step.continuing[key] = (executor, node)
    begun = perf_counter_ns()

    def done(result: Any, error: BaseException | None) -> None:
        del step.continuing[key]
        step.active_again()
        go_on(partial(_continue, executor, node, result, error, begun))

    try:
        node.launch(executor, *inputs, done=done)
    except BaseException as error:
        done(None, error)


def _continue(executor: ExecutorState, node: PlanNode, result: Any, error: BaseException | None, begun: int) -> None:
    step = executor.step
    if error is not None:
        step.fail(executor, node, error)
    elif not step.stopped:
        try:
            if step.trace is not None:
                step.trace.add(executor, node, begun, perf_counter_ns())
            executor.finish(node, result)
        except BaseException as failure:
            step.fail(executor, node, failure)
    step.task_done()


# ---- The ways in which a task runs a kernel: `PlanNode.run` is such a way, or that of a coalesced loop


def launch_by_cost(executor: ExecutorState, node: PlanNode, inputs: list[Any]) -> Any:
    """Runs a kernel here, or on the device's thread where its cost is high. Gives the result, or a coroutine that gives it."""
    cost = node.cost if node.costs is None else node.costs.of(inputs)
    if cost.nanoseconds > INLINE_LIMIT_NS:
        return run_on_thread(executor, node, inputs, cost)
    if cost.samples < _KNOWN or executor.step.timed:
        return _timed(executor, node, inputs, cost)
    return node.launch(*inputs) if node.region is None else node.region(inputs)


def move(executor: ExecutorState, node: PlanNode, inputs: list[Any]) -> Any:
    """Stands at primitives, which run nothing."""
    raise AssertionError(f"{node.node.name} moves tokens, and has no kernel")


def launch_with_step(executor: ExecutorState, node: PlanNode, inputs: list[Any]) -> Any:
    """Runs a kernel that takes the step, and never waits."""
    begun = perf_counter_ns()
    result = node.launch(executor, *inputs)
    if executor.step.trace is not None:
        executor.step.trace.add(executor, node, begun, perf_counter_ns())
    return result


async def await_kernel(executor: ExecutorState, node: PlanNode, inputs: list[Any]) -> Any:
    """Waits for a kernel that ends by itself when the step is stopped."""
    return await node.launch(executor, *inputs)


async def await_cancelling(executor: ExecutorState, node: PlanNode, inputs: list[Any]) -> Any:
    """Waits for a kernel that is cancelled when the step is stopped."""
    with anyio.CancelScope() as scope:
        forget = executor.step.on_cancel(scope.cancel)
        try:
            return await node.launch(executor, *inputs)
        finally:
            forget()


def _timed(executor: ExecutorState, node: PlanNode, inputs: list[Any], cost: Cost) -> Any:
    """Runs a kernel, and keeps what it cost. Raises InternalError if the kernel gives several values for one output."""
    begun = perf_counter_ns()
    result = node.launch(*inputs) if node.region is None else node.region(inputs)
    ended = perf_counter_ns()
    cost.add(ended - begun)
    if node.costs is not None:
        node.costs.saw(result)
    if executor.step.trace is not None:
        executor.step.trace.add(executor, node, begun, ended)
    if type(result) is tuple and len(node.edges) == 1:
        raise faults.wrong_outputs(node, result)
    return result


# ---- Kernels that are launched with their executor


Launch: TypeAlias = Callable[..., Any]


def without_step(launch: Launch) -> Launch:
    """`launch` as a kernel that is given its executor, and has no need of it."""
    return lambda executor, *inputs, **keywords: launch(*inputs, **keywords)


def with_step(launch: Launch, takes_tag: bool) -> Launch:
    """`launch` with the step of its executor, and the iteration in which it runs."""
    if takes_tag:
        return lambda executor, *inputs, **keywords: launch(
            *inputs, step=executor.step, iteration_tag=executor.tag, **keywords
        )
    return lambda executor, *inputs, **keywords: launch(*inputs, step=executor.step, **keywords)


def with_dead(launch: Launch, index: int) -> Launch:
    """`launch`, which gets one DEAD in place of its inputs where the node of this index is dead."""
    return lambda executor, *inputs, **keywords: launch(
        executor, *((DEAD,) if index in executor.dead else inputs), **keywords
    )
