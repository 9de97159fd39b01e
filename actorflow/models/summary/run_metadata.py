"""From a `Trace` to the `RunMetadata` that TensorBoard's graph shows times of."""

from __future__ import annotations

from actorflow.engine.runtime.diagnostics.trace import Trace, TraceEvent
from actorflow.models.summary.protos import DeviceStepStats, NodeExecStats, RunMetadata


def run_metadata_of(trace: Trace) -> RunMetadata:
    """The runs of a trace's nodes, by device.

    TensorBoard counts a node as run only if it took a microsecond, so shorter nodes take 1 in that field; the nanoseconds are
    exact. Threads and the event loop are lanes of their own.
    """
    message = RunMetadata()
    message.step_stats.SetInParent()
    by_device: dict[str, list[TraceEvent]] = {}
    for event in trace.events:
        by_device.setdefault(event.device, []).append(event)
    for device, events in sorted(by_device.items()):
        stats = message.step_stats.dev_stats.add(device=device)
        for event in events:
            stats.node_stats.append(_stats(event))
        _name_lanes(stats)
    return message


def _stats(event: TraceEvent) -> NodeExecStats:
    scheduled = event.arrived or event.ready or event.begun
    ran = event.ended - event.begun
    return NodeExecStats(
        node_name=event.node,
        timeline_label=f"{event.node} = {event.op}()",
        thread_id=int(event.thread),
        scheduled_micros=scheduled // 1000,
        scheduled_nanos=scheduled,
        all_start_micros=event.begun // 1000,
        all_start_nanos=event.begun,
        op_end_rel_micros=max(1, ran // 1000),
        op_end_rel_nanos=ran,
        all_end_rel_micros=max(1, ran // 1000),
        all_end_rel_nanos=ran,
    )


def _name_lanes(stats: DeviceStepStats) -> None:
    for lane in sorted({node.thread_id for node in stats.node_stats}):
        stats.thread_names[lane] = "thread" if lane else "event loop"
