"""`Timeline`: the trace of a step as the text that chrome://tracing reads."""

from __future__ import annotations

import json
from typing import Any


class Timeline:
    """The nodes that ran in a step (`tensorflow.python.client.timeline.Timeline`)."""

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        """
        Args:
            step_stats: the `step_stats` of a `tf.RunMetadata` that a traced run has filled.
            graph: without effect.
        """
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON: a process for each device, a thread for each lane, a bar for each node.

        Args:
            show_dataflow, show_memory, op_time: without effect.
        """
        events: list[dict[str, Any]] = []
        for process, device in enumerate(self._step_stats.dev_stats):
            events.append(
                {"name": "process_name", "ph": "M", "pid": process, "args": {"name": f"{device.device} Compute"}}
            )
            for node in device.node_stats:
                kind = node.timeline_label.partition(" = ")[2].partition("(")[0] or node.node_name
                events.append(
                    {
                        "name": kind,
                        "cat": "Op",
                        "ph": "X",
                        "pid": process,
                        "tid": node.thread_id,
                        "ts": node.all_start_micros,
                        "dur": max(node.all_end_rel_micros, 1),
                        "args": {"name": node.node_name, "op": kind},
                    }
                )
        return json.dumps({"traceEvents": events}, indent=4)
