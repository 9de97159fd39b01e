"""The starvation report: which nodes of a step wait, for which channel or resource, and who should fill it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from actorflow.dtypes import resource
from actorflow.errors import StarvationError
from actorflow.reports import StepReport, WaitingNode
from actorflow.runtime.plan import SINK
from actorflow.runtime.tokens import EMPTY

if TYPE_CHECKING:
    from actorflow.runtime.executor import ExecutorState
    from actorflow.runtime.plan import PlanNode
    from actorflow.runtime.step import Step


_MOST = 12


_LOCALHOST = "/job:localhost/"


def look(step: Step) -> StepReport:
    """What a step waits for now."""
    waiting = [node for part in step.parts for node in _waiting(part)]
    unfinished = frozenset(name for part in step.parts for name in _unfinished(part))
    return StepReport(step.id, tuple(waiting[:_MOST]), max(0, len(waiting) - _MOST), unfinished, step.idle)


def report(step: Step) -> str:
    """One line a waiting node, in at most a screenful; what waits for others that wait comes last."""
    found = look(step)
    shown = [node.line for node in found.waiting]
    if found.more:
        shown.append(f"... and {found.more} more")
    return "\n".join(shown)


def left_behind(step: Step) -> list[str]:
    """One line for each node of a finished step whose kernel goes on."""
    return [f"{_named(part, node)} goes on, and its result will be dropped" for part, node in step.left_behind()]


def error(step: Step) -> StarvationError:
    """The error of a step in which nothing runs, is ready or may still come."""
    waiting = [node.line for part in step.parts for node in _waiting(part)]
    return StarvationError(
        f"Step {step.id} can't go on: nothing of it runs or is ready, and {len(waiting)} nodes still wait.",
        details=waiting,
        hint="Each line names the channel that is empty and the node that should fill it.",
    )


def _named(part: ExecutorState, plan_node: PlanNode) -> str:
    """A node with its op, the user's line, and in a cluster its task."""
    node, device = plan_node.node, part.plan.device.name
    task = "" if device.startswith(_LOCALHOST) else f", {device.rpartition('/device:')[0].replace('/replica:0', '')}"
    return f"{node.name} ({node.op}, {node.where}{task})"


def _busy(part: ExecutorState) -> list[tuple[PlanNode, WaitingNode]]:
    """The nodes whose kernels have begun and not ended."""
    found = []
    for plan_node, wait in part.step.asynchronous_nodes(part):
        node = plan_node.node
        if wait is not None:
            line = f"{_named(part, plan_node)} {wait.what}"
            found.append((plan_node, WaitingNode(node.name, line, wait.resource, wait.users)))
            continue
        what = "waits in its asynchronous kernel"
        if node.op == "_Recv":
            what = f"waits for {node.attrs['key'].rpartition(';')[2]} from {node.attrs['send_device']}"
        found.append((plan_node, WaitingNode(node.name, f"{_named(part, plan_node)} {what}")))
    found.sort(key=lambda pair: pair[0].index)
    for owner, plan_node in part.step.on_threads.values():
        if owner is part:
            line = f"{_named(part, plan_node)} runs on the thread of {part.plan.device.name}"
            found.append((plan_node, WaitingNode(plan_node.node.name, line)))
    for owner, plan_node in part.step.looping.values():
        if owner is part:
            node = plan_node.node
            line = f"{node.name.removesuffix('/loop')} ({node.where}) goes through its iterations"
            found.append((plan_node, WaitingNode(node.name, line)))
    return found


def _waiting(part: ExecutorState) -> list[WaitingNode]:
    busy = _busy(part)
    running = {plan_node.index for plan_node, _ in busy}
    nodes = [node for _, node in busy]
    later: list[WaitingNode] = []
    by_name = {node.node.name: node.index for node in part.nodes}
    for plan_node in part.nodes[1:]:
        if part.pending[plan_node.index] <= 0:
            continue
        node = plan_node.node
        slots = part.slots[plan_node.begin : plan_node.end]
        empty = [endpoint for endpoint, value in zip(node.inputs, slots) if value is EMPTY]
        if part.loop is not None and len(empty) == len(slots):
            continue  # the iteration has not come to it
        causes = []
        for endpoint in empty:
            if endpoint in part.plan.feeds:
                causes.append(f"a feed of {endpoint}")
            else:
                causes.append(f"input {endpoint}")
        for control in node.controls:
            source = by_name.get(control)  # none for a constant, which nobody waits for
            if source is not None and (part.pending[source] > 0 or source in running):
                causes.append(f"control input ^{control}")
        line = f"{_named(part, plan_node)} waits for {', '.join(causes) or 'a token that nobody sends'}"
        sources = [by_name[e.node] for e in empty if e not in part.plan.feeds and e.node in by_name]
        hopeless = all(part.pending[s] <= 0 for s in sources)
        (nodes if hopeless else later).append(WaitingNode(node.name, line))
    for frame, number, iteration in _iterations(part):
        for inner in _waiting(iteration):
            nodes.append(replace(inner, line=f"iteration {number} of {frame}: {inner.line}"))
    if part.loop is None and part.pending[SINK] > 0 and not nodes and not later:
        nodes.append(WaitingNode("", "the fetches wait for tokens that nobody sends"))
    return nodes + later


def _unfinished(part: ExecutorState) -> list[str]:
    """The nodes with a resource among their inputs that have not run yet."""
    busy = {plan_node.index for plan_node, _ in _busy(part)}
    handles = {
        (node.node.name, port)
        for node in part.nodes
        for port, dtype in enumerate(node.node.dtypes)
        if dtype is resource
    }
    found = [
        member.name
        for node in part.nodes[1:]
        if part.pending[node.index] > 0 or node.index in busy
        for member in node.members
        if any(tuple(endpoint) in handles for endpoint in member.inputs)
    ]
    for _, _, iteration in _iterations(part):
        found += _unfinished(iteration)
    return found


def _iterations(part: ExecutorState) -> list[tuple[str, int, ExecutorState]]:
    """The iterations of loops that go on inside: the loop's name, the iteration's number, and its part."""
    if not part.plan.controlled:
        return []
    return [
        (frame.name.removesuffix("/frame"), number, iteration)
        for frame in part.frames.values()
        for number, iteration in frame.iterations.items()
    ]
