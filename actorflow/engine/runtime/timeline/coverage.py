"""`explained`: how much of a run's time the spans and events of its trace account for, and where the rest is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from actorflow.base.registry import roles
from actorflow.base.registry.opdef import ROLES
from actorflow.engine.runtime.timeline.critical import last_run

if TYPE_CHECKING:
    from actorflow.engine.runtime.diagnostics.trace import Trace

_AROUND = ("Session.run", "step", "serve")
"""Spans that only hold others: they tell nothing by themselves."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The time of a run, by what it went to.

    Work that overlaps counts once, for the kind that stands first in `seconds`.

    seconds: for each kind of work. `run` is kernels, `queue` ready nodes that waited for their turn, `dispatch` tokens from
        node to node. `transfer` is tensors between devices, and `rpc` requests and replies between tasks. `client` and
        `runtime` are what happens before the first node and after the last.
    gaps: the stretches of which nothing is known, [begin, end] in nanoseconds of the monotonic clock, the longest first.
    share: the explained part of the run's time, from 0 to 1.
    """

    seconds: dict[str, float]
    gaps: list[tuple[int, int]]
    share: float


def explained(trace: Trace) -> Explained:
    """How much of the last run's time the trace accounts for."""
    run = last_run(trace)
    if run is None:
        return Explained({}, [], 0.0)
    covered: list[tuple[int, int]] = []
    seconds: Counter[str] = Counter()
    for kind in ("run", "transfer", "queue", "dispatch", "rpc", "client", "runtime"):
        before = sum(end - begin for begin, end in covered)
        more = [(max(begin, run.begun), min(end, run.ended)) for begin, end in _stretches(trace, kind)]
        covered = _union([*covered, *(stretch for stretch in more if stretch[0] < stretch[1])])
        seconds[kind] = sum(end - begin for begin, end in covered) - before
    times = [run.begun, *(time for stretch in covered for time in stretch), run.ended]
    gaps = sorted(((a, b) for a, b in zip(times[::2], times[1::2]) if a < b), key=lambda gap: gap[0] - gap[1])
    whole = max(1, run.ended - run.begun)
    return Explained({k: n / 1e9 for k, n in seconds.items() if n}, gaps, sum(seconds.values()) / whole)


def _stretches(trace: Trace, kind: str) -> Iterator[tuple[int, int]]:
    if kind == "run":
        yield from ((e.begun, e.ended) for e in trace.events if not (e.key and ROLES[e.op] is roles.RECV))
    elif kind == "transfer":
        yield from ((send.ended, recv.ended) for _, send, recv in trace._crossings())
    elif kind == "queue":
        yield from ((e.ready, e.begun) for e in trace.events if e.ready and not (e.key and ROLES[e.op] is roles.RECV))
    elif kind == "dispatch":
        yield from _dispatches(trace)
    elif kind == "rpc":
        yield from _requests(trace)
    yield from ((s.begun, s.ended) for s in trace.spans if s.category == kind and not _is_around(s.name))


def _is_around(name: str) -> bool:
    return name in _AROUND or name.startswith("ask ")


def _dispatches(trace: Trace) -> Iterator[tuple[int, int]]:
    """From a node's end to the readiness of the next node on its device, which the end has brought about."""
    by_device: dict[str, list[tuple[int, int]]] = {}
    for event in trace.events:
        by_device.setdefault(event.device, []).append((event.ended, 0))
        if event.arrived:
            by_device[event.device].append((event.ready, 1))
    for times in by_device.values():
        last = None
        for time, is_ready in sorted(times):
            if is_ready and last is not None:
                yield last, time
            elif not is_ready:
                last = time


def _requests(trace: Trace) -> Iterator[tuple[int, int]]:
    """The way of each request to a task, and of its reply."""
    served: dict[str, list[tuple[int, int]]] = {}
    for span in trace.spans:
        if span.name == "serve":
            served.setdefault(span.task.lstrip("/").replace("/replica:0", ""), []).append((span.begun, span.ended))
    for span in trace.spans:
        if span.name.startswith("ask "):
            for begun, ended in served.get(span.name.removeprefix("ask ").replace("/replica:0", ""), ()):
                if span.begun <= begun and ended <= span.ended:
                    yield span.begun, begun
                    yield ended, span.ended


def _union(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The stretches without overlaps, in order."""
    union: list[tuple[int, int]] = []
    for begin, end in sorted(stretches):
        if union and begin <= union[-1][1]:
            union[-1] = union[-1][0], max(union[-1][1], end)
        else:
            union.append((begin, end))
    return union
