"""The steps that tasks remember, for the page: a list of them, and the timeline of a step."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from actorflow.engine.runtime.diagnostics.recorder import TRACED
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.timeline.critical import critical_path
from actorflow.engine.runtime.timeline.tracks import timeline_of

SECONDS = 30.0
"""How far back the page looks."""
MOST_STEPS = 200
MOST_SLICES = 3000


def steps_of(trace: Trace) -> list[dict[str, Any]]:
    """The steps of a trace, in JSON's types: the traced steps first, which can be opened, and the newest first among equals."""
    rows_of: defaultdict[str, dict[str, Any]] = defaultdict(lambda: {"tasks": 0, "error": "", "traced": False})
    for span in trace.spans:
        if span.category != "step":
            continue
        number = span.name.removeprefix("step ").partition(":")[0]
        row = rows_of[number]
        row["number"] = number
        row["begun"] = min(row.get("begun", span.begun), span.begun)
        row["ended"] = max(row.get("ended", span.ended), span.ended)
        row["tasks"] += 1
        row["traced"] = row["traced"] or span.about == TRACED
        row["error"] = row["error"] or ("" if span.about == TRACED else span.about)
    rows = sorted(rows_of.values(), key=lambda row: (not row["traced"], -row["ended"]))[:MOST_STEPS]
    return [{**row, "begun": str(row["begun"]), "ended": str(row["ended"]), "seconds": _seconds(row)} for row in rows]


def _seconds(row: dict[str, Any]) -> float:
    return float(row["ended"] - row["begun"]) / 1e9


def busy(trace: Trace) -> dict[str, float]:
    """How long the kernels of a traced step take on each device, in seconds: the cost of the placement in force."""
    spent: defaultdict[str, float] = defaultdict(float)
    for event in trace.events:
        spent[event.device] += event.running / 1e9
    traced = {span.name for span in trace.spans if span.about == TRACED}
    return {device: seconds / max(1, len(traced)) for device, seconds in sorted(spent.items())}


def picture_of(trace: Trace) -> dict[str, Any]:
    """The timeline of a trace, in JSON's types; times are microseconds from its first time.

    Of very many slices the longest are shown, and `left_out` counts the others.
    """
    timeline = timeline_of(trace)
    shown = sorted(timeline.slices, key=lambda bar: bar.begun - bar.ended)[:MOST_SLICES]
    lanes = {lane.number: at for at, lane in enumerate(lane for lane in timeline.lanes if lane.kind == "slices")}
    names = {process.number: process.name for process in timeline.processes}
    shares: Counter[str] = Counter()
    for part in critical_path(trace):
        shares[part.kind] += part.nanoseconds
    return {
        "lanes": [[names[lane.process], lane.name] for lane in timeline.lanes if lane.kind == "slices"],
        "slices": [
            [lanes[bar.lane], bar.name, bar.category, bar.begun / 1000, bar.ended / 1000, dict(bar.args)]
            for bar in sorted(shown, key=lambda bar: bar.begun)
        ],
        "path": {kind: nanoseconds / 1e9 for kind, nanoseconds in shares.most_common()},
        "left_out": len(timeline.slices) - len(shown),
        "end": max((bar.ended for bar in timeline.slices), default=0) / 1000,
    }


def seconds_of_nodes(trace: Trace) -> dict[str, float]:
    """The mean time of each node's kernel in the traced steps; the members of a region share its time."""
    spent: defaultdict[str, float] = defaultdict(float)
    runs: Counter[str] = Counter()
    for event in trace.events:
        names = event.members or (event.node,)
        for name in names:
            spent[name] += event.running / len(names) / 1e9
            runs[name] += 1
    return {name: seconds / runs[name] for name, seconds in spent.items()}
