"""The starvation report: which nodes of a step wait, for which channel, and who should fill it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.errors import StarvationError
from actorflow.runtime.plan import SINK
from actorflow.runtime.tokens import EMPTY

if TYPE_CHECKING:
    from actorflow.runtime.part import Part
    from actorflow.runtime.step import Step

_MOST = 12


def report(step: Step) -> str:
    """One line a waiting node, in at most a screenful; what waits for others that wait comes last."""
    lines = [line for part in step.parts for line in _lines(part)]
    shown = lines[:_MOST]
    if len(lines) > _MOST:
        shown.append(f"... and {len(lines) - _MOST} more")
    return "\n".join(shown)


def error(step: Step) -> StarvationError:
    """The error of a step in which nothing runs, is ready or may still come."""
    waiting = [line for part in step.parts for line in _lines(part)]
    return StarvationError(
        f"Step {step.id} can't go on: nothing of it runs or is ready, and {len(waiting)} nodes still wait.",
        details=waiting,
        hint="Each line names the channel that is empty and the node that should fill it.",
    )


def _lines(part: Part) -> list[str]:
    running = {index for index, name in part.step.asynchronous_nodes(part)}
    lines: list[str] = []
    later: list[str] = []
    for index in sorted(running):
        node = part.nodes[index].node
        what = "waits in its asynchronous kernel"
        if node.op == "_Recv":
            what = f"waits for {node.attrs['key'].rpartition(';')[2]} from {node.attrs['send_device']}"
        lines.append(f"{node.name} ({node.op}, {node.where}) {what}")
    for owner, plan_node in part.step.on_threads.values():
        if owner is part:
            node = plan_node.node
            lines.append(f"{node.name} ({node.op}, {node.where}) runs on the thread of {part.plan.device.name}")
            running.add(plan_node.index)
    for owner, plan_node in part.step.looping.values():
        if owner is part:
            node = plan_node.node
            lines.append(f"{node.name.removesuffix('/loop')} ({node.where}) goes through its iterations")
            running.add(plan_node.index)
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
        line = f"{node.name} ({node.op}, {node.where}) waits for {', '.join(causes) or 'a token that nobody sends'}"
        sources = [by_name[e.node] for e in empty if e not in part.plan.feeds and e.node in by_name]
        hopeless = all(part.pending[s] <= 0 for s in sources)
        (lines if hopeless else later).append(line)
    if part.plan.controlled:
        for frame in part.frames.values():
            for number, iteration in frame.iterations.items():
                inner = [f"iteration {number} of {frame.name.removesuffix('/frame')}: {x}" for x in _lines(iteration)]
                lines.extend(inner)
    if part.loop is None and part.pending[SINK] > 0 and not lines and not later:
        lines.append("the fetches wait for tokens that nobody sends")
    return lines + later
