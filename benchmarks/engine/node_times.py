"""The kinds of nodes that a step's time goes to: of ours by `Trace`, of TensorFlow's by its `RunMetadata`.

Both run the step node by node and measure each kernel, so the times say which kernels are slow, not what a step costs: ours has
no regions then, and kernels of the peer may run side by side.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

RUNS = 7
"""Traced steps, of which the median counts."""
MOST = 5
"""The kinds that are told."""

Times = dict[str, tuple[float, int]]
"""By op, the largest first: the microseconds of its nodes in a step, and how many ran."""


async def ours(session: Any, fetches: Any, feeds: Mapping[Any, Any]) -> Times:
    """The times of our kernels."""
    from actorflow import Trace

    runs = []
    for _ in range(RUNS):
        trace = Trace()
        await session.run(fetches, feeds, trace=trace)
        runs.append([(event.op, event.running / 1e3) for event in trace.events])
    return by_op(runs)


def peer(tf: Any, session: Any, fetches: Any, feeds: Mapping[Any, Any]) -> Times:
    """The times of the peer's kernels."""
    runs = []
    for _ in range(RUNS):
        options, traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        session.run(fetches, feeds, options=options, run_metadata=traced)
        nodes = [node for device in traced.step_stats.dev_stats for node in device.node_stats]
        runs.append([(_op(node), (node.op_end_rel_nanos - node.op_start_rel_nanos) / 1e3) for node in nodes])
    return by_op(runs)


def _op(node: Any) -> str:
    """The op in a label such as `gradients/Relu_grad = ReluGrad(y, x)`."""
    return str(node.timeline_label.partition(" = ")[2].partition("(")[0] or node.node_name)


def by_op(runs: Sequence[Sequence[tuple[str, float]]]) -> Times:
    """The times of ops, of several runs with their nodes and microseconds."""
    sums: list[Counter[str]] = []
    for run in runs:
        sums.append(Counter())
        for op, time in run:
            sums[-1][op] += time  # type: ignore[assignment] # a Counter of floats
    counts = Counter(op for op, _ in runs[-1])
    medians = {op: statistics.median(one[op] for one in sums) for op in counts}
    return {op: (round(medians[op], 1), counts[op]) for op in sorted(medians, key=lambda op: -medians[op])}


def told(ours: Mapping[str, Sequence[float]], peer: Mapping[str, Sequence[float]]) -> str:
    """A line for the table: the kinds of nodes that take the longest on each side."""
    return f"ours {_listed(ours)}; peer {_listed(peer)}"


def _listed(times: Mapping[str, Sequence[float]]) -> str:
    whole = sum(time for time, _ in times.values())
    shown = ", ".join(f"{op} {time:.0f} ({count:.0f})" for op, (time, count) in list(times.items())[:MOST])
    return f"{whole:.0f} µs: {shown}"
