"""`Simulator`: the simulated execution of a placement, event by event, and again from where a change begins to matter.

A device's thread takes the ready node with the longest way to the end, as the runtime does if costs were measured
(`actorflow.engine.placement.ranking`). An event loop runs short kernels, and the two ends of a transfer, in the order in which
they come, and those that come at one time by the same rank. A tensor goes once to each device that wants it; tensors on one
link follow each other. A step begins on the first device, and ends when that device has what no node uses, to give it to the
client. So another device costs two messages at least.

Threads and event loops of a host share its cores: work that needs a core begins when a core is free. A kernel that only
waits, as for a disk, holds its thread and no core. A hop from the loop to a thread at rest and a hop back take the time
that runs have shown (`Workload.hop`).

`Simulator.rerun` simulates a changed placement from the last snapshot before the first event that the change can touch. It
gives up as soon as the step can't end by a limit any more. So a search can try thousands of placements. Its results are
those of a whole simulation, to the bit.

`fast_simulator` is for thousands of steps: it gives a simulator in C if a plug-in of `actorflow.simulators` brings it, which is
some twenty times as fast and gives the same to the bit. The simulator here is the reference, and needs no compiler.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base.registry import plugins
from actorflow.engine.placement.simulation.timeline import StepTimeline
from actorflow.engine.placement.simulation.workload import DeviceSet, Workload
from actorflow.graph.analysis.cooperative import yield_interpreter

_SNAPSHOTS = 16
_PAUSE = 63
_END, _HOME, _ARRIVAL, _READY, _DISPATCH = range(5)
"""The kinds of events, in the order in which simultaneous events are taken. A node that ends makes others ready, once the
event loop has its results (`_HOME`). All of these are in line before a thread takes the first of them."""


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """All that a simulation still has to know before the events of `time`."""

    time: float
    events: list[tuple[float, int, float, int, int]]
    waits: list[int]
    ready: list[float]
    free: list[float]
    lines: list[list[tuple[float, int]]]
    last: list[int]
    seconds: float
    final: int


class Simulator:
    """Runs `work` on placements, which say the device of each group; `group` says the group of each node."""

    def __init__(self, work: Workload, machine: DeviceSet, group: Sequence[int]) -> None:
        self.work = work
        self.machine = machine
        self.group = group
        self.rank = ranks(work, machine)
        self._least = [seconds / max(machine.speed) for seconds in work.seconds]
        for i in reversed(work.order):
            self._least[i] += max((self._least[user] for user in work.users[i]), default=0.0)
        self._waits = [len(edges) for edges in work.inputs]
        outputs: list[dict[tuple[bool, int], tuple[float, list[int]]]] = [{} for _ in work.names]
        for i, edges in enumerate(work.inputs):
            for source, nbytes, is_data, port in edges:
                outputs[source].setdefault((is_data, port), (nbytes, []))[1].append(i)
        self._outputs = [[(nbytes, tuple(users)) for nbytes, users in by_size.values()] for by_size in outputs]
        self.members: list[list[int]] = [[] for _ in range(max(group, default=-1) + 1)]
        for i, g in enumerate(group):
            self.members[g].append(i)
        self._links = [[(link.latency, 1.0 / link.bandwidth, link.overhead) for link in row] for row in machine.links]
        self._hop = work.hop or [0.0] * len(work.names)
        self._busy = [s - idle for s, idle in zip(work.seconds, work.idle)] if work.idle else work.seconds
        first = machine.queues + len(machine.names) ** 2
        self._cores: list[range] = []
        """The places of each host's cores behind those of queues and links."""
        for count in machine.cores:
            self._cores.append(range(first, first + count))
            first += count
        self._places = first
        self._every = max(2 * len(work.names) // _SNAPSHOTS, 64)
        """The number of events between two snapshots."""

    @property
    def bound(self) -> float:
        """Seconds that no placement goes below: the longest way without transfers, and what the threads together take."""
        work, machine = self.work, self.machine
        fastest = max(machine.speed)
        heavy = sum(s for s in work.seconds if machine.queue(0, s / fastest) < len(machine.names))
        limit = max(max(self._least, default=0.0), heavy / sum(machine.speed))
        if all(machine.cores[host] for host in machine.host):
            cores = sum(machine.cores[host] for host in set(machine.host))
            limit = max(limit, sum(self._busy) / fastest / cores)
        return limit

    def run(self, at: Sequence[int], *, keep: bool = True) -> StepTimeline:
        """The step with group g on device `at[g]`. Without `keep` there are no snapshots for `rerun`."""
        timeline = self._simulated(list(at), None, (), math.inf, keep)
        assert timeline is not None
        return timeline

    def rerun(self, base: StepTimeline, changes: Mapping[int, int], limit: float = math.inf) -> StepTimeline | None:
        """The step of `base` with the groups in `changes` on other devices; None if the step takes `limit` seconds or more."""
        at = list(base.at)
        first = math.inf
        inputs, ended, fed = self.work.inputs, base.ended, self.work.fed
        for g, device in changes.items():
            at[g] = device
            for i in self.members[g]:
                edges = inputs[i]
                first = min(first, min([-1.0 if fed[e.source] else ended[e.source] for e in edges], default=-1.0))
        usable = [snapshot for snapshot in base.snapshots if snapshot.time <= first]
        return self._simulated(at, base if usable else None, usable, limit)

    def _simulated(
        self, at: list[int], base: StepTimeline | None, snapshots: Sequence[Any], limit: float, keep: bool = True
    ) -> StepTimeline | None:
        """A whole simulation, or a simulation that goes on from the last of the snapshots of `base`."""
        work, machine, group, rank, least = self.work, self.machine, self.group, self.rank, self._least
        seconds_of, fed, outputs, links = work.seconds, work.fed, self._outputs, self._links
        speed, loop, threads, threaded = machine.speed, machine.loop, len(machine.names), machine.threaded
        push, pop, wires = heapq.heappush, heapq.heappop, machine.queues
        hop_of, end = self._hop, machine.end
        busy_of, cores = self._busy, [self._cores[host] for host in machine.host]
        where = [at[g] for g in group]
        if base is None:
            count = len(where)
            waits, ready = self._waits.copy(), [0.0] * count
            begun, ended = [0.0] * count, [0.0] * count
            cause, before = [-1] * count, [-1] * count
            free = [0.0] * self._places  # the links are behind the queues, and the cores behind these
            lines: list[list[tuple[float, int]]] = [[] for _ in range(threads)]
            last = [-1] * len(free)
            events = self._first_events(where, waits, ready, cause)
            seconds, final = 0.0, -1
        else:
            begun, ended = list(base.begun), list(base.ended)
            cause, before = list(base.cause), list(base.before)
            from_ = snapshots[-1]
            waits, ready, free, last = from_.waits.copy(), from_.ready.copy(), from_.free.copy(), from_.last.copy()
            lines, events = [line.copy() for line in from_.lines], from_.events.copy()
            seconds, final = from_.seconds, from_.final
        kept = list(snapshots)
        taken, due = 0, self._every if keep else math.inf
        now = -1.0
        while events:
            if taken >= due and events[0][0] > now:
                due = taken + self._every
                kept.append(
                    _Snapshot(
                        events[0][0],
                        events.copy(),
                        waits.copy(),
                        ready.copy(),
                        free.copy(),
                        [line.copy() for line in lines],
                        last.copy(),
                        seconds,
                        final,
                    )
                )
            now, kind, _, i, q = pop(events)
            taken += 1
            if not taken & _PAUSE:
                yield_interpreter()
            if kind == _READY:
                device = where[i]
                took = seconds_of[i] / speed[device]
                if took >= threaded[device]:
                    push(lines[device], (-rank[i], i))
                    if free[device] <= now:
                        push(events, (now, _DISPATCH, 0.0, -1, device))
                    continue
                q = loop[device]
                start = free[q] if took and free[q] > now else now
                before[i] = last[q] if start > now else -1
                if took and cores[q]:
                    core = _core(cores[q], free, start)
                    if free[core] > start:
                        start, before[i] = free[core], last[core]
                    free[core], last[core] = start + took, i
                if start + least[i] >= limit:
                    return None
                begun[i] = start
                if took:
                    free[q] = start + took
                    last[q] = i
                    push(events, (start + took, _END, -rank[i], i, -1))
                    continue
                q = -1
            elif kind == _DISPATCH:
                line = lines[q]
                if free[q] > now or not line:
                    continue
                i = pop(line)[1]
                start = now
                before[i] = last[q] if now > ready[i] else -1
                if now == ready[i]:  # the thread was at rest
                    start += hop_of[i]
                if cores[q] and busy_of[i]:
                    core = _core(cores[q], free, start)
                    if free[core] > start:
                        start, before[i] = free[core], last[core]
                    free[core], last[core] = start + busy_of[i] / speed[q], i
                if start + least[i] >= limit:
                    return None
                begun[i] = start
                last[q] = i
                free[q] = ends = start + seconds_of[i] / speed[q]
                push(events, (ends, _END, -rank[i], i, q))
                continue
            elif kind == _ARRIVAL:
                port, device = divmod(q, threads)
                there = self._looped(free, last, loop[device], now, links[where[i]][device][2], i)
                if port == len(outputs[i]):  # the client's
                    if there + end[0] > seconds:
                        seconds, final = there + end[0], i
                    continue
                for user in outputs[i][port][1]:
                    if where[user] == device:
                        if there > ready[user] or cause[user] < 0:
                            ready[user], cause[user] = max(there, ready[user]), i
                        waits[user] -= 1
                        if not waits[user]:
                            push(events, (ready[user], _READY, -rank[user], user, -1))
                continue
            device = where[i]
            if kind != _HOME:  # an _END, or what takes no time
                ended[i] = now
                if q >= 0:
                    if lines[q]:
                        push(events, (now, _DISPATCH, 0.0, -1, q))
                    if hop_of[i]:
                        push(events, (now + hop_of[i], _HOME, -rank[i], i, -1))
                        continue
            mine = outputs[i]
            if not mine:
                if device and work.output[i]:
                    _, per_byte, overhead = links[device][0]
                    sent = self._looped(free, last, loop[device], now, overhead, i)
                    sent = self._taken(free, last, wires + device * threads, sent, work.output[i] * per_byte, i)
                    push(events, (max(sent, sent + end[device] - end[0]), _ARRIVAL, -rank[i], i, 0))
                elif now + end[device] > seconds:
                    seconds, final = now + end[device], i
                continue
            if fed[i]:
                continue
            for port, (nbytes, users) in enumerate(mine):
                abroad: list[int] | None = None
                for user in users:
                    there_ = where[user]
                    if there_ == device:
                        if now > ready[user] or cause[user] < 0:
                            ready[user], cause[user] = max(now, ready[user]), i
                        waits[user] -= 1
                        if not waits[user]:
                            push(events, (ready[user], _READY, -rank[user], user, -1))
                    elif abroad is None:
                        abroad = [there_]
                    elif there_ not in abroad:
                        abroad.append(there_)
                if abroad is not None:
                    for there_ in abroad:
                        latency, per_byte, overhead = links[device][there_]
                        sent = self._looped(free, last, loop[device], now, overhead, i)
                        sent = self._taken(free, last, wires + device * threads + there_, sent, nbytes * per_byte, i)
                        push(events, (sent + latency, _ARRIVAL, -rank[i], i, port * threads + there_))
        if seconds >= limit:
            return None
        return StepTimeline(seconds, at, begun, ended, ready, cause, before, final, kept)

    def _first_events(
        self, where: Sequence[int], waits: list[int], ready: list[float], cause: list[int]
    ) -> list[tuple[float, int, float, int, int]]:
        """The events of nodes that wait for nothing, or for feeds, which the client brings to each device."""
        work, links, rank, begin = self.work, self._links[0], self.rank, self.machine.begin
        events = []
        for i, edges in enumerate(work.inputs):
            latency, per_byte = begin[where[i]], links[where[i]][1]
            if not edges:
                ready[i] = latency + work.fed[i] * per_byte
            for edge in edges:
                if work.fed[edge.source]:
                    ready[i] = max(ready[i], latency + work.fed[edge.source] * per_byte)
                    cause[i] = edge.source
                    waits[i] -= 1
            if not waits[i]:
                events.append((ready[i], _READY, -rank[i], i, -1))
        heapq.heapify(events)
        return events

    def _looped(self, free: list[float], last: list[int], queue: int, now: float, seconds: float, node: int) -> float:
        """Takes time of an event loop, and of a core, for one end of a transfer; returns the end of it."""
        if not seconds:
            return now
        start = max(free[queue], now)
        if cores := self._cores[self.machine.host[queue]]:
            core = _core(cores, free, start)
            start = max(free[core], start)
            free[core], last[core] = start + seconds, node
        free[queue], last[queue] = start + seconds, node
        return start + seconds

    @staticmethod
    def _taken(free: list[float], last: list[int], queue: int, now: float, seconds: float, node: int) -> float:
        """Takes time of a link for a transfer of what `node` gives; returns the end of it."""
        if not seconds:
            return now
        end = max(free[queue], now) + seconds
        free[queue], last[queue] = end, node
        return end


def fast_simulator(work: Workload, machine: DeviceSet, group: Sequence[int]) -> Simulator:
    """A simulator for thousands of steps: a plug-in's simulator if a plug-in makes it, else `Simulator` itself."""
    for make in plugins.load_all("simulators").values():
        simulator: Simulator | None = make(work, machine, group)
        if simulator is not None:
            return simulator
    return Simulator(work, machine, group)


def _core(cores: range, free: Sequence[float], start: float) -> int:
    """The core that is free at `start` for the shortest time, or else the first core to be free."""
    earliest, when = cores[0], free[cores[0]]
    for core in cores[1:]:
        other = free[core]
        if (when < other <= start) if when <= start else other < when:
            earliest, when = core, other
    return earliest


def ranks(work: Workload, machine: DeviceSet) -> list[float]:
    """For each node the length of the longest way to the end, on devices and links of mean speed."""
    latency, per_byte = machine.mean_link()
    slowness = sum(1.0 / speed for speed in machine.speed) / len(machine.speed)
    rank = [seconds * slowness for seconds in work.seconds]
    rest = [0.0] * len(rank)
    for i in reversed(work.order):
        rank[i] += rest[i]
        for source, nbytes, _, _ in work.inputs[i]:
            way = rank[i] + latency + nbytes * per_byte
            if way > rest[source]:
                rest[source] = way
    return rank
