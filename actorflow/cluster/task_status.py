"""The rows of `Server.status`: devices, links, queues and iterators of a task, in JSON's types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from actorflow.cluster.wire.links import TaskLink
from actorflow.engine.device.base import Device
from actorflow.engine.runtime.state.resources import ResourceManager

MOST_TOLD = 50
"""The most steps in flight whose waits `Server.status` reports."""


def device_status(device: Device) -> dict[str, Any]:
    """The state of a device, in JSON's types."""
    statistics = device.statistics()
    return {
        "name": device.name,
        "type": device.type,
        "live_bytes": statistics.memory.live_bytes,
        "peak_bytes": statistics.memory.peak_bytes,
        "budget_bytes": statistics.memory.budget,
        "kernels_inline": statistics.inline,
        "kernels_threaded": statistics.threaded,
        "swapped_out_bytes": statistics.swapped_out,
        "swapped_in_bytes": statistics.swapped_in,
    }


def link_status(link: TaskLink, direction: str) -> dict[str, Any]:
    """The state of a link, in JSON's types."""
    statistics = link.tokens.statistics()
    return {
        "peer": link.task,
        "direction": direction,
        "transport": statistics.transport,
        "bytes_sent": statistics.bytes_sent,
        "bytes_received": statistics.bytes_received,
        "queued": statistics.queued_tensors + statistics.queued_messages,
        "credit_bytes": statistics.credit,
        "waits": statistics.waits,
        "wait_seconds": statistics.wait_seconds,
        "awaited_tokens": sum(count.waits for count in statistics.received.values()),
        "awaited_seconds": sum(count.wait_seconds for count in statistics.received.values()),
        "dropped": statistics.dropped_old + statistics.dropped_twice,
        "round_trip": link.control.statistics().round_trip,
    }


def queue_rows(resources: Mapping[str, ResourceManager]) -> list[dict[str, Any]]:
    """The queues of the task, in JSON's types: how many elements each holds, and who waits there."""
    rows = []
    for device, manager in resources.items():
        for container, kind, name, resource in manager.held():
            counts = getattr(resource, "statistics", None)
            if counts is not None and hasattr(resource, "spec"):
                figures = asdict(counts())
                capacity = getattr(resource.spec, "capacity", -1)
                rows.append(
                    {"name": name, "kind": kind, "container": container, "device": device, "capacity": capacity}
                    | figures
                )
    return rows


def dataset_rows(resources: Mapping[str, ResourceManager]) -> list[dict[str, Any]]:
    """The iterators of the task, in JSON's types: the work of each stage, and how long steps wait for elements."""
    rows = []
    for device, manager in resources.items():
        for container, _, name, resource in manager.held():
            counts = getattr(resource, "statistics", None)
            describe = None if counts is None or hasattr(resource, "spec") else getattr(counts(), "told", None)
            if describe is not None:
                rows.append({"name": name, "container": container, "device": device} | describe())
    return rows
