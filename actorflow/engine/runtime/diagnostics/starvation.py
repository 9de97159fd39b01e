"""The starvation report: which nodes of a step wait, for which channel or resource, and who should fill it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from actorflow.base.dtypes import resource
from actorflow.base.registry import roles
from actorflow.engine.runtime.diagnostics.waits import StepReport, WaitingNode
from actorflow.engine.runtime.plan import SINK
from actorflow.engine.runtime.tokens import EMPTY
from actorflow.errors import StarvationError, with_topic

if TYPE_CHECKING:
    from actorflow.engine.runtime.actors import ExecutorState
    from actorflow.engine.runtime.plan import PlanNode
    from actorflow.engine.runtime.step import Step


_MOST = 12


_LOCALHOST = "/job:localhost/"


def look(step: Step) -> StepReport:
    """The things that a step waits for now."""
    waiting = [node for executor in step.executors for node in _waiting(executor)]
    unfinished = frozenset(name for executor in step.executors for name in _unfinished(executor))
    return StepReport(step.id, tuple(waiting[:_MOST]), max(0, len(waiting) - _MOST), unfinished, step.idle)


def report(step: Step) -> str:
    """One line a waiting node, in at most a screenful; what waits for others that wait comes last."""
    state = look(step)
    shown = [node.line for node in state.waiting]
    if state.more:
        shown.append(f"... and {state.more} more")
    return "\n".join(shown)


def left_behind(step: Step) -> list[str]:
    """One line for each node of a finished step whose kernel goes on."""
    return [
        f"{_named(executor, node)} goes on, and its result will be dropped" for executor, node in step.left_behind()
    ]


def error(step: Step) -> StarvationError:
    """The error of a step in which nothing runs, is ready or may still come."""
    waiting = [node.line for executor in step.executors for node in _waiting(executor)]
    return StarvationError(
        f"Step {step.id} can't go on: nothing of it runs or is ready, and {len(waiting)} nodes still wait.",
        details=waiting,
        hint=with_topic("Each line names the channel that is empty and the node that should fill it.", "step-starves"),
    )


def _named(executor: ExecutorState, plan_node: PlanNode) -> str:
    """A node with its op, the user's line, and in a cluster its task."""
    node, device = plan_node.node, executor.plan.device.name
    task = "" if device.startswith(_LOCALHOST) else f", {device.rpartition('/device:')[0].replace('/replica:0', '')}"
    return f"{node.name} ({node.op}, {node.where}{task})"


def _busy(executor: ExecutorState) -> list[tuple[PlanNode, WaitingNode]]:
    """The nodes whose kernels have begun and not ended."""
    pairs = []
    for plan_node, wait in executor.step.asynchronous_nodes(executor):
        node = plan_node.node
        if wait is not None:
            line = f"{_named(executor, plan_node)} {wait.what}"
            pairs.append((plan_node, WaitingNode(node.name, line, wait.resource, wait.users)))
            continue
        what = "waits in its asynchronous kernel"
        if node.role is roles.RECV:
            what = f"waits for {node.attrs['key'].rpartition(';')[2]} from {node.attrs['send_device']}"
        pairs.append((plan_node, WaitingNode(node.name, f"{_named(executor, plan_node)} {what}")))
    pairs.sort(key=lambda pair: pair[0].index)
    for owner, plan_node in executor.step.on_threads.values():
        if owner is executor:
            line = f"{_named(executor, plan_node)} runs on the thread of {executor.plan.device.name}"
            pairs.append((plan_node, WaitingNode(plan_node.node.name, line)))
    for owner, plan_node in executor.step.looping.values():
        if owner is executor:
            node = plan_node.node
            line = f"{node.name.removesuffix('/loop')} ({node.where}) goes through its iterations"
            pairs.append((plan_node, WaitingNode(node.name, line)))
    return pairs


def _waiting(executor: ExecutorState) -> list[WaitingNode]:
    busy = _busy(executor)
    running = {plan_node.index for plan_node, _ in busy}
    nodes = [node for _, node in busy]
    later: list[WaitingNode] = []
    by_name = {node.node.name: node.index for node in executor.nodes}
    for plan_node in executor.nodes[1:]:
        if executor.pending[plan_node.index] <= 0:
            continue
        node = plan_node.node
        slots = executor.slots[plan_node.places]
        empty = [tensor_id for tensor_id, value in zip(node.inputs, slots) if value is EMPTY]
        if executor.frame is not None and len(empty) == len(slots):
            continue  # the iteration has not come to it
        causes = []
        for tensor_id in empty:
            if tensor_id in executor.plan.feeds:
                causes.append(f"a feed of {tensor_id}")
            else:
                causes.append(f"input {tensor_id}")
        for control in node.controls:
            source = by_name.get(control)  # none for a constant, which no one waits for
            if source is not None and (executor.pending[source] > 0 or source in running):
                causes.append(f"control input ^{control}")
        line = f"{_named(executor, plan_node)} waits for {', '.join(causes) or 'a token that nobody sends'}"
        sources = [by_name[e.node] for e in empty if e not in executor.plan.feeds and e.node in by_name]
        hopeless = all(executor.pending[s] <= 0 for s in sources)
        (nodes if hopeless else later).append(WaitingNode(node.name, line))
    for frame, number, iteration in _iterations(executor):
        for inner in _waiting(iteration):
            nodes.append(replace(inner, line=f"iteration {number} of {frame}: {inner.line}"))
    if executor.frame is None and executor.pending[SINK] > 0 and not nodes and not later:
        nodes.append(WaitingNode("", "the fetches wait for tokens that nobody sends"))
    return nodes + later


def _unfinished(executor: ExecutorState) -> list[str]:
    """The nodes with a resource among their inputs that have not run yet."""
    busy = {plan_node.index for plan_node, _ in _busy(executor)}
    handles = {
        (node.node.name, port)
        for node in executor.nodes
        for port, dtype in enumerate(node.node.dtypes)
        if dtype is resource
    }
    names = [
        member.name
        for node in executor.nodes[1:]
        if executor.pending[node.index] > 0 or node.index in busy
        for member in node.members
        if any(tuple(tensor_id) in handles for tensor_id in member.inputs)
    ]
    for _, _, iteration in _iterations(executor):
        names += _unfinished(iteration)
    return names


def _iterations(executor: ExecutorState) -> list[tuple[str, int, ExecutorState]]:
    """The iterations of loops that go on inside: the loop's name, the iteration's number, and its executor state."""
    if not executor.plan.controlled:
        return []
    return [
        (frame.name.removesuffix("/frame"), number, iteration)
        for frame in executor.frames.values()
        for number, iteration in frame.iterations.items()
    ]
