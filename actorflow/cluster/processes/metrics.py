"""The status of tasks as OpenMetrics, with names, units and explanations.

Units are base units; labels are bounded: none holds a node or a step.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
Samples: TypeAlias = "Iterable[tuple[Mapping[str, Any], float | int | None]]"


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: `name` ends in the unit, if there is any; the samples of a counter get `_total`, those of an info `_info`."""

    name: str
    kind: Literal["counter", "gauge", "info"]
    unit: str
    help: str
    samples: Callable[[Mapping[str, Any]], Samples]


def _one(field: str) -> Callable[[Mapping[str, Any]], Samples]:
    return lambda status: [({}, status.get(field))]


def _each(rows: str, labels: tuple[str, ...], field: str) -> Callable[[Mapping[str, Any]], Samples]:
    return lambda status: [
        ({label: row.get(label, "") for label in labels}, row.get(field)) for row in status.get(rows, ())
    ]


_ABOUT = ("version", "python", "address", "incarnation")
_DEVICE, _QUEUE, _LINK = ("name", "type"), ("name", "device", "container"), ("peer", "direction", "transport")
_B, _S = "bytes", "seconds"

FAMILIES: tuple[Family, ...] = (
    Family(
        "actorflow_task",
        "info",
        "",
        "The release, the address and the incarnation of a task.",
        lambda status: [({key: status.get(key, "") for key in _ABOUT}, 1)],
    ),
    Family(
        "actorflow_task_state",
        "gauge",
        "",
        "1 for the state that a task is in: joining, live, draining or lost.",
        lambda status: [
            ({"state": state}, int(status.get("state") == state)) for state in ("joining", "live", "draining", "lost")
        ],
    ),
    Family("actorflow_task_epoch", "gauge", "", "The epoch of the cluster that a task is in.", _one("epoch")),
    Family(
        "actorflow_cluster_view",
        "gauge",
        "",
        "The number of the view of the cluster that a task has; it grows with each task that joins or leaves.",
        _one("view"),
    ),
    Family(
        "actorflow_cluster_members",
        "gauge",
        "",
        "The members of the cluster that a task knows, by job.",
        lambda status: [
            ({"job": job}, count)
            for job, count in Counter(
                str(task).split("/")[1].removeprefix("job:") for task in status.get("tasks", ())
            ).items()
        ],
    ),
    Family(
        "actorflow_task_leaving",
        "gauge",
        "",
        "1 while a task is about to leave the cluster, and its variables move to others.",
        lambda status: [({}, int(bool(status["leaving"])))] if "leaving" in status else [],
    ),
    Family(
        "actorflow_variables_moved",
        "counter",
        "",
        "Variables that have moved from a task to others.",
        _one("moved_variables"),
    ),
    Family("actorflow_task_uptime_seconds", "gauge", _S, "For how long a task has run.", _one("uptime")),
    Family("actorflow_process_resident_bytes", "gauge", _B, "The memory of a task's process.", _one("resident_bytes")),
    Family(
        "actorflow_loop_delay_seconds",
        "gauge",
        _S,
        "How late the event loop has come to a timer at most, within ten seconds.",
        _one("loop_delay"),
    ),
    Family("actorflow_sessions", "gauge", "", "Sessions whose master a task is.", _one("sessions")),
    Family("actorflow_steps", "counter", "", "Steps, or parts of them, that a task has begun.", _one("steps")),
    Family("actorflow_steps_failed", "counter", "", "Steps that ended with an error.", _one("steps_failed")),
    Family("actorflow_steps_cancelled", "counter", "", "Steps whose caller was cancelled.", _one("steps_cancelled")),
    Family(
        "actorflow_steps_abandoned",
        "counter",
        "",
        "Steps that ended while a kernel of theirs went on.",
        _one("steps_abandoned"),
    ),
    Family("actorflow_steps_in_flight", "gauge", "", "Steps that are under way.", _one("steps_in_flight")),
    Family("actorflow_nodes_executed", "counter", "", "Nodes of graphs that have run.", _one("nodes")),
    Family(
        "actorflow_device_live_bytes",
        "gauge",
        _B,
        "The memory that tensors of a device hold.",
        _each("devices", _DEVICE, "live_bytes"),
    ),
    Family(
        "actorflow_device_peak_bytes",
        "gauge",
        _B,
        "The most that they have held.",
        _each("devices", _DEVICE, "peak_bytes"),
    ),
    Family(
        "actorflow_device_budget_bytes",
        "gauge",
        _B,
        "The most that they may hold, where that is bounded.",
        _each("devices", _DEVICE, "budget_bytes"),
    ),
    Family(
        "actorflow_device_kernels_inline",
        "counter",
        "",
        "Kernels that ran on the event loop.",
        _each("devices", _DEVICE, "kernels_inline"),
    ),
    Family(
        "actorflow_device_kernels_threaded",
        "counter",
        "",
        "Kernels that ran on the device's thread.",
        _each("devices", _DEVICE, "kernels_threaded"),
    ),
    Family(
        "actorflow_device_swapped_out_bytes",
        "counter",
        _B,
        "What went from a device to the host for a while.",
        _each("devices", _DEVICE, "swapped_out_bytes"),
    ),
    Family(
        "actorflow_device_swapped_in_bytes",
        "counter",
        _B,
        "What came back.",
        _each("devices", _DEVICE, "swapped_in_bytes"),
    ),
    Family("actorflow_queue_size", "gauge", "", "Elements in a queue.", _each("queues", _QUEUE, "size")),
    Family(
        "actorflow_queue_capacity",
        "gauge",
        "",
        "The most elements that a queue takes; -1 where it takes any number.",
        _each("queues", _QUEUE, "capacity"),
    ),
    Family(
        "actorflow_queue_waiting_to_put",
        "gauge",
        "",
        "Operations that wait for room in a queue.",
        _each("queues", _QUEUE, "waiting_to_put"),
    ),
    Family(
        "actorflow_queue_waiting_to_take",
        "gauge",
        "",
        "Operations that wait for an element of a queue.",
        _each("queues", _QUEUE, "waiting_to_take"),
    ),
    Family(
        "actorflow_link_sent_bytes",
        "counter",
        _B,
        "What a task has sent over a link.",
        _each("links", _LINK, "bytes_sent"),
    ),
    Family(
        "actorflow_link_received_bytes",
        "counter",
        _B,
        "What has come over a link.",
        _each("links", _LINK, "bytes_received"),
    ),
    Family(
        "actorflow_link_queued",
        "gauge",
        "",
        "Tensors and messages that wait to be sent.",
        _each("links", _LINK, "queued"),
    ),
    Family(
        "actorflow_link_credit_bytes", "gauge", _B, "What the peer takes yet.", _each("links", _LINK, "credit_bytes")
    ),
    Family(
        "actorflow_link_waits", "counter", "", "Receives that had to wait for a tensor.", _each("links", _LINK, "waits")
    ),
    Family(
        "actorflow_link_wait_seconds",
        "counter",
        _S,
        "For how long receives have waited.",
        _each("links", _LINK, "wait_seconds"),
    ),
    Family(
        "actorflow_link_dropped",
        "counter",
        "",
        "Tensors that came for steps that were over, or came twice.",
        _each("links", _LINK, "dropped"),
    ),
    Family(
        "actorflow_link_round_trip_seconds",
        "gauge",
        _S,
        "How long a beat takes to the peer and back.",
        _each("links", _LINK, "round_trip"),
    ),
)


def render(tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """The metrics of tasks, by name, as text.

    Args:
        tasks: what each task says of itself (`Server.status`); a lost task has the state `lost` alone.
    """
    lines = []
    for family in FAMILIES:
        lines += [f"# TYPE {family.name} {family.kind}"]
        lines += [f"# UNIT {family.name} {family.unit}"] if family.unit else []
        lines += [f"# HELP {family.name} {family.help}"]
        suffix = {"counter": "_total", "info": "_info", "gauge": ""}[family.kind]
        for task, status in tasks.items():
            if status.get("state") == "lost" and family.name != "actorflow_task_state":
                continue
            seen = set()
            for labels, value in family.samples(status):
                shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in {"task": task, **labels}.items())
                if value is not None and shown not in seen:
                    seen.add(shown)
                    lines.append(f"{family.name}{suffix}{{{shown}}} {_number(value)}")
    return "\n".join([*lines, "# EOF", ""])


def _escaped(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))
    return repr(value) if math.isfinite(value) else {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
