"""The tokens of one device in one step: what each node waits for, and the tasks of nodes that fire (paper section 3.1).

An `ExecutorState` is what changes while a plan runs: copies of its counts and slots. Iterations of loops are such states
too, which come and go with their frames.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import anyio
import numpy as np

from actorflow.device.base import as_asynchronous
from actorflow.graph.node import TensorId
from actorflow.runtime.chain import Chain
from actorflow.runtime.codegen.coalesced_loop import run_loop
from actorflow.runtime.diagnostics import faults
from actorflow.runtime.diagnostics.costs import INLINE_LIMIT_NS, Cost
from actorflow.runtime.dispatcher import Dispatcher
from actorflow.runtime.frames import Frame, run_primitive
from actorflow.runtime.plan import SINK, MergeEdge, Plan, PlanNode
from actorflow.runtime.threads import run_on_thread, unlocked
from actorflow.runtime.tokens import DEAD, EMPTY

if TYPE_CHECKING:
    from actorflow.runtime.step import Step


_KNOWN = 4
"""The number of measurements that tell a kernel's cost; before, each run is one."""


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
        """An iteration of a loop that runs inside this one."""
        return ExecutorState(self.step, frame.plan, self.dispatcher, frame, number)

    @property
    def tag(self) -> bytes:
        """The mark that tells this iteration from others of the step: the numbers of the iterations around it and its own, of
        eight bytes each, outer ones first. Empty outside of loops. Which loops these are, an edge's key says."""
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
        """Starts the task of a node whose pending count is zero."""
        step = self.step
        if index == SINK:
            self.done = True
            return
        step.live += 1
        node = self.nodes[index]
        if self.frame is not None:
            self.outstanding += 1
        if node.primitive is not None:
            dispatcher = self.dispatcher
            dispatcher.queue.append((step.context, partial(run_primitive, self, node)))
            if not dispatcher.pumping and not dispatcher.turn_is_open:
                dispatcher.open_turn()
        elif node.asynchronous and (node.fires_dead or index not in self.dead):
            if node.takes_done:
                start_continuing(self, node)
            else:
                step.start_asynchronous(self, node)
        else:
            asyncio.Task(run_node(self, node), loop=self.dispatcher, context=step.context)  # type: ignore[arg-type]

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
        """Brings a token to a Merge: the first live one is enough, and dead ones count when all are."""
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
        elif edges:
            values = node.dead_outputs if result is DEAD else result
            if type(values) not in (tuple, list) or len(values) != len(edges):
                raise faults.wrong_outputs(node, values)
            for some, value in zip(edges, values):
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

    def clear(self) -> None:
        """Lets go of all values."""
        self.slots.clear()
        if self.plan.controlled:
            for frame in self.frames.values():
                frame.clear()


async def run_node(executor: ExecutorState, node: PlanNode) -> None:
    """The task of a node: takes its inputs out of their channels, runs the kernel, and sends the outputs on."""
    step = executor.step
    slots = executor.slots
    inputs: Any = slots[node.begin : node.end]
    slots[node.begin : node.end] = node.blank
    if node.touches_state and unlocked.writing:
        try:
            await unlocked.wait(step, node, inputs)
        except BaseException as error:
            step.fail(executor, node, error)
    if not step.stopped:
        try:
            cost = node.cost
            if node.is_plain and cost.samples >= _KNOWN and cost.nanoseconds <= INLINE_LIMIT_NS and not executor.dead:
                if step.timed:
                    result = _timed(executor, node, inputs, cost)
                else:
                    result = node.launch(*inputs) if node.region is None else node.region(inputs)
                executor.launched += 1
            elif executor.dead and node.index in executor.dead and not node.fires_dead:
                result = DEAD
            else:
                cost = node.cost if node.costs is None else node.costs.of(inputs)
                if node.takes_step:
                    begun = perf_counter_ns()
                    if node.index in executor.dead and node.node.op == "_Send":
                        inputs = [DEAD]
                    if node.region is not None:
                        result = await run_loop(executor, node, inputs)
                    elif node.takes_tag:
                        result = node.launch(*inputs, step=step, iteration_tag=executor.tag)
                    else:
                        result = node.launch(*inputs, step=step)
                    if step.trace is not None:
                        step.trace.add(executor, node, begun, perf_counter_ns())
                elif cost.nanoseconds > INLINE_LIMIT_NS:
                    result = await run_on_thread(executor, node, inputs, cost)
                elif step.timed or cost.samples < _KNOWN:
                    result = _timed(executor, node, inputs, cost)
                else:
                    result = node.launch(*inputs) if node.region is None else node.region(inputs)
                executor.launched += 1
            inputs = None
            if not step.stopped:
                if type(result) is Chain:
                    result.hand_over()
                else:
                    executor.propagate(node, result)
                if executor.frame is not None:
                    executor.frame.left(executor)
        except BaseException as error:
            faults.remember_inputs(error, inputs)
            step.fail(executor, node, error)
    step.task_done()


def _timed(executor: ExecutorState, node: PlanNode, inputs: Any, cost: Cost) -> Any:
    """Runs a kernel, and keeps what it cost. Raises InternalError where it gives several values for one output."""
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


async def run_asynchronous(executor: ExecutorState, node: PlanNode, inputs: Any) -> None:
    """The task of a node with an asynchronous kernel: it waits on the event loop and holds no thread."""
    step = executor.step
    keywords: dict[str, Any] = {"step": step} if node.takes_step else {}
    if node.takes_tag:
        keywords["iteration_tag"] = executor.tag
    begun = perf_counter_ns()
    result: Any = None
    try:
        if step.stopped:
            pass
        elif node.aborts_itself:
            result = await node.launch(*inputs, **keywords)
        else:
            with anyio.CancelScope() as scope:
                forget = step.on_cancel(scope.cancel)
                try:
                    result = await node.launch(*inputs, **keywords)
                finally:
                    forget()
        inputs = None
        executor.launched += 1
        if step.trace is not None and not step.stopped:
            step.trace.add(executor, node, begun, perf_counter_ns())
        if not node.is_threaded:
            step.active_again()
        if not step.stopped:
            executor.propagate(node, result)
            if executor.frame is not None:
                executor.frame.left(executor)
    except BaseException as error:
        if not node.is_threaded:
            step.active_again()
        faults.remember_inputs(error, inputs)
        step.fail(executor, node, error)
    if step.stopped:
        step.leave_behind(executor, node)
    step.task_done()
    executor.dispatcher.pump()


def start_continuing(
    executor: ExecutorState, node: PlanNode, over: asyncio.Future[Callable[[], None]] | None = None
) -> None:
    """Starts a kernel that calls a continuation: it has neither a thread nor a task while it waits. With `over`, a task that
    waits for that goes on instead of the ready queue."""
    step = executor.step
    inputs = executor.slots[node.begin : node.end]
    executor.slots[node.begin : node.end] = node.blank
    if executor.dead and node.index in executor.dead and node.node.op == "_Send":
        inputs = [DEAD]
    keywords: dict[str, Any] = {"step": step} if node.takes_step else {}
    if node.takes_tag:
        keywords["iteration_tag"] = executor.tag
    step.waiting += 1
    key = (id(executor), node.index)
    step.continuing[key] = (executor, node)
    begun = perf_counter_ns()

    def done(result: Any, error: BaseException | None) -> None:
        """It may be called within the kernel, so the rest takes its turn in the ready queue."""
        del step.continuing[key]
        step.active_again()
        go_on = partial(_continue, executor, node, result, error, begun)
        if over is None:
            executor.dispatcher.call_soon(go_on, context=step.context)
        else:
            over.set_result(go_on)

    try:
        node.launch(*inputs, done=done, **keywords)
    except BaseException as error:
        done(None, error)


def _continue(executor: ExecutorState, node: PlanNode, result: Any, error: BaseException | None, begun: int) -> None:
    step = executor.step
    if error is not None:
        step.fail(executor, node, error)
    elif not step.stopped:
        try:
            executor.launched += 1
            if step.trace is not None:
                step.trace.add(executor, node, begun, perf_counter_ns())
            executor.propagate(node, result)
            if executor.frame is not None:
                executor.frame.left(executor)
        except BaseException as failure:
            step.fail(executor, node, failure)
    step.task_done()
