"""A timeline as JSON, for Chrome's viewer (the "Trace Event Format")."""

from __future__ import annotations

import json
from typing import Any

from actorflow.engine.runtime.timeline.tracks import TraceTimeline


def to_chrome(timeline: TraceTimeline) -> str:
    """The text of a `.json` file. Its times are microseconds with three digits after the point, so none is lost."""
    rows: list[dict[str, Any]] = []
    for rank, process in enumerate(timeline.processes):
        rows.append(_about("process_name", process.number, 0, name=process.name))
        rows.append(_about("process_sort_index", process.number, 0, sort_index=rank))
    lanes = {lane.number: lane for lane in timeline.lanes}
    for lane in timeline.lanes:
        if lane.kind == "slices":
            rows.append(_about("thread_name", lane.process, lane.number, name=lane.name))
            rows.append(_about("thread_sort_index", lane.process, lane.number, sort_index=lane.number))
    for piece in timeline.slices:
        where = {"pid": lanes[piece.lane].process, "tid": piece.lane}
        row = {"ph": "X", "name": piece.name, "cat": piece.category, "ts": piece.begun / 1000, **where}
        rows.append({**row, "dur": (piece.ended - piece.begun) / 1000, "args": dict(piece.args)})
        for flow, phase in ((piece.begins, "s"), (piece.ends, "f")):
            if flow:
                bound = {"bp": "e"} if phase == "f" else {}
                row = {
                    "ph": phase,
                    "id": flow,
                    "name": "transfer",
                    "cat": "transfer",
                    "ts": piece.begun / 1000,
                    **where,
                }
                rows.append({**row, **bound})
    for number, time, value in timeline.points:
        lane = lanes[number]
        row = {"ph": "C", "name": lane.name, "pid": lane.process, "tid": 0, "ts": time / 1000}
        rows.append({**row, "args": {"nodes": value}})
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ns"}, allow_nan=False)


def _about(what: str, process: int, lane: int, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": lane, "args": args}
