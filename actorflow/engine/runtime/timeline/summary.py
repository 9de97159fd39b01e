"""A trace in some lines of text."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from actorflow.engine.runtime.timeline.critical import critical_path

if TYPE_CHECKING:
    from actorflow.engine.runtime.diagnostics.trace import Trace

_MOST = 8
_WORDS = {
    "run": "kernels ran",
    "queue": "ready nodes waited for their turn",
    "dispatch": "tokens went from node to node",
    "transfer": "tensors were on their way",
    "client": "the client, before the first node and after the last",
}


def summary(trace: Trace) -> str:
    """How long the last run took, what for, and which nodes took the most time."""
    path = critical_path(trace)
    if not path:
        return "The trace is empty."
    whole = path[-1].ended - path[0].begun
    events, crossings = trace.events, trace._crossings()
    nodes = sum(len(event.members) or 1 for event in events)
    tasks = len({event.device.rpartition("/device:")[0] for event in events})
    size = f"{nodes} nodes in {len(events)} events on {tasks} task{'s' * (tasks != 1)}"
    lines = [f"{_time(whole)} for {size}, {len(crossings)} transfers"]
    shares: Counter[str] = Counter()
    for part in path:
        shares[part.kind] += part.nanoseconds
    lines.append("critical path:")
    lines += [f"  {_time(took):>10} {took / whole:6.1%}  {_WORDS[kind]}" for kind, took in shares.most_common()]
    lines.append("longest stretches of it:")
    for part in sorted(path, key=lambda part: -part.nanoseconds)[:_MOST]:
        lines.append(f"  {_time(part.nanoseconds):>10}  {part.kind} {part.name} {part.device}".rstrip())
    spent: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    carried = {id(recv) for _, _, recv in crossings}
    for event in events:
        if id(event) not in carried:
            spent[event.node, event.op].append(event.running)
    lines.append("nodes that ran the longest:")
    for (node, op), took in sorted(spent.items(), key=lambda item: -sum(item[1]))[:_MOST]:
        times = f" ({len(took)} times)" if len(took) > 1 else ""
        lines.append(f"  {_time(sum(took)):>10}  {node} ({op}){times}")
    if trace.clock_error:
        lines.append(f"Times of other hosts may be wrong by {_time(trace.clock_error)}.")
    return "\n".join(lines)


def _time(nanoseconds: int) -> str:
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds} ns"
