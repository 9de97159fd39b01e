"""Links: what it takes to get a tensor from one device to another, as placement expects it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from actorflow.engine.placement.feasible import Candidate
from actorflow.graph.device_spec import DeviceSpec


@dataclass(frozen=True, slots=True)
class LinkCost:
    """One direction between two devices: `latency` in seconds, `bandwidth` in bytes a second. Each end's event loop works for
    `overhead` seconds on a tensor."""

    latency: float
    bandwidth: float = math.inf
    overhead: float = 0.0

    def seconds(self, nbytes: float) -> float:
        """Until `nbytes` have arrived."""
        return self.latency + nbytes / self.bandwidth


SAME_DEVICE = LinkCost(0.0)


@dataclass(frozen=True, slots=True)
class LinkCosts:
    """The links that a cluster has, by how far its devices are apart.

    process: in one process and one kind of memory. Values are handed over; the latency is that of a Send and a Recv, and of
        what the optimizing passes lose where a graph is cut.
    memory: in one process, between two types of device.
    host: between two processes of a host, over shared memory.
    network: between hosts.
    between: other links, by the full names of the sending and the receiving device.
    steps: the seconds of a step that does nothing, by the device on which it does that, from the client's call to its return.
    """

    process: LinkCost = LinkCost(50e-6, overhead=5e-6)
    memory: LinkCost = LinkCost(60e-6, 8e9, 5e-6)
    host: LinkCost = LinkCost(150e-6, 8e9, 10e-6)
    network: LinkCost = LinkCost(300e-6, 1e9, 10e-6)
    between: Mapping[tuple[str, str], LinkCost] = field(default_factory=lambda: MappingProxyType({}))
    steps: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def link(self, source: Candidate, destination: Candidate) -> LinkCost:
        """The link from one device to another. Two tasks are on one host if both devices say `host`, and say the same."""
        measured = self.between.get((source.name, destination.name))
        if measured is not None:
            return measured
        if source.name == destination.name:
            return SAME_DEVICE
        if task_of(source.spec) == task_of(destination.spec):
            return self.process if source.type == destination.type else self.memory
        host = getattr(source, "host", None)
        return self.host if host is not None and host == getattr(destination, "host", None) else self.network


DEFAULT_LINKS = LinkCosts()
_KINDS = ("process", "memory", "host", "network")


def task_of(spec: DeviceSpec) -> DeviceSpec:
    """The task in the name of a device."""
    return DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task)


def links_to_rows(links: LinkCosts) -> dict[str, Any]:
    """In JSON's types; endless bandwidth is None."""

    def row(link: LinkCost) -> list[float | None]:
        return [link.latency, None if math.isinf(link.bandwidth) else link.bandwidth, link.overhead]

    rows: dict[str, Any] = {name: row(getattr(links, name)) for name in _KINDS}
    rows["steps"] = dict(sorted(links.steps.items()))
    rows["between"] = [[source, there, row(link)] for (source, there), link in sorted(links.between.items())]
    return rows


def links_from_rows(rows: Mapping[str, Any]) -> LinkCosts:
    """The way back. Raises ValueError, KeyError, TypeError, AttributeError for other data."""

    def link(row: Any) -> LinkCost:
        latency, bandwidth, overhead = row
        return LinkCost(float(latency), math.inf if bandwidth is None else float(bandwidth), float(overhead))

    def between() -> Iterator[tuple[tuple[str, str], LinkCost]]:
        for source, there, row in rows["between"]:
            yield (str(source), str(there)), link(row)

    steps = {str(name): float(seconds) for name, seconds in rows["steps"].items()}
    return LinkCosts(**{name: link(rows[name]) for name in _KINDS}, between=dict(between()), steps=steps)
