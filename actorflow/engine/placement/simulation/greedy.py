"""The greedy placement: a simulated execution that decides on its way where groups go (paper section 3.2.1).

Nodes are taken in the order in which they become ready, and of those that do so at one time, the node with the longest way to
the end is first. Each goes into a queue: that of its device, or for short kernels that of its process's event loop. A node
whose group has no device yet is tried on each allowed device, and takes the device on which it ends first; its whole group
stays there. `Simulator` says how long the step takes then: here shorter work may go before what came earlier, if that has to
wait.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from actorflow.engine.placement.simulation.simulator import ranks
from actorflow.engine.placement.simulation.workload import DeviceSet, Workload
from actorflow.graph.analysis.cooperative import yield_interpreter

_CHEAP = 1e-6
_MOST_GAPS = 16


@dataclass(frozen=True, slots=True)
class DeviceEstimate:
    """The simulation's estimate of one device for a group: when the group would be done, in seconds from the step's begin;
    infinite where its memory has no room."""

    device: int
    ends: float


@dataclass(frozen=True, slots=True)
class GreedySchedule:
    """seconds: from the begin of the step to its end.
    at: the device of each group.
    begun, ended: of each node, in seconds.
    tried: for each group that the simulation decided, what it compared.
    pulled: for each group that left the choice to its users, the node that took it along.
    spread: the greedy schedule's seconds, if another schedule was taken.
    expected: what the walk itself took for `seconds`."""

    seconds: float
    at: Sequence[int]
    begun: Sequence[float]
    ended: Sequence[float]
    tried: Mapping[int, tuple[DeviceEstimate, ...]]
    pulled: Mapping[int, int]
    spread: float | None = None
    expected: float = 0.0


@dataclass(frozen=True, slots=True)
class Grouping:
    """group: for each node its group. options: for each group its devices, best first. stateful: which groups hold a
    variable or a queue. used: bytes that are taken on each device before."""

    group: Sequence[int]
    options: Sequence[Sequence[int]]
    stateful: Sequence[bool]
    used: Sequence[float]


class WorkQueue:
    """A resource whose pieces of work run in sequence. While it waits for something to arrive, a shorter piece of work
    may go before."""

    __slots__ = ("end", "gaps")

    def __init__(self) -> None:
        self.end = 0.0
        self.gaps: list[tuple[float, float]] = []

    def earliest(self, ready: float, seconds: float) -> float:
        """When work that is ready at `ready` could begin."""
        for begin, end in self.gaps:
            start = begin if begin > ready else ready
            if start + seconds <= end:
                return start
        return self.end if self.end > ready else ready

    def reserve(self, start: float, seconds: float, now: float) -> None:
        """Takes a time that `earliest` gave. Nothing will be ready before `now`."""
        if start >= self.end:
            if start > self.end:
                self.gaps = [gap for gap in self.gaps if gap[1] > now][-_MOST_GAPS:]
                self.gaps.append((self.end, start))
            self.end = start + seconds
            return
        for i, (begin, end) in enumerate(self.gaps):
            if begin <= start and start + seconds <= end:
                self.gaps[i : i + 1] = [gap for gap in ((begin, start), (start + seconds, end)) if gap[1] > gap[0]]
                return


class _Simulation:
    def __init__(self, work: Workload, machine: DeviceSet, grouping: Grouping) -> None:
        self.work = work
        self.machine = machine
        self.group = grouping.group
        self.options = grouping.options
        self.stateful = grouping.stateful
        self.at = [options[0] if len(options) == 1 else -1 for options in grouping.options]
        self.used = list(grouping.used)
        self.total = [0.0] * len(self.options)
        self.held = [0.0] * len(self.options)
        for i, g in enumerate(self.group):
            self.total[g] += work.seconds[i]
            self.held[g] += work.state[i]
        for g, device in enumerate(self.at):
            if device >= 0:
                self.used[device] += self.held[g]
        self.queues = [WorkQueue() for _ in range(machine.queues)]
        self.starts = machine.begin
        self.now = 0.0
        self.committed = [0.0] * len(machine.names)
        self.received: dict[tuple[int, int, bool], float] = {}
        self.begun = [0.0] * len(work.names)
        self.ended = [0.0] * len(work.names)
        self.afloat: dict[int, list[int]] = {}
        self.tried: dict[int, tuple[DeviceEstimate, ...]] = {}
        self.pulled: dict[int, int] = {}

    def run(self) -> GreedySchedule:
        work, group, at, ended = self.work, self.group, self.at, self.ended
        rank = ranks(work, self.machine)
        waits = [len(edges) for edges in work.inputs]
        ready = [0.0] * len(waits)
        heap = [(0.0, -rank[i], i) for i, count in enumerate(waits) if not count]
        heapq.heapify(heap)
        while heap:
            yield_interpreter()
            self.now, _, i = heapq.heappop(heap)
            g = group[i]
            if at[g] < 0 and self._floats(i, g):
                self.afloat.setdefault(g, []).append(i)
                self.begun[i] = ended[i] = self.now
            else:
                if at[g] < 0:
                    self._decide(i, g)
                self._execute(i, at[g])
            for user in work.users[i]:
                waits[user] -= 1
                if ended[i] > ready[user]:
                    ready[user] = ended[i]
                if not waits[user]:
                    heapq.heappush(heap, (ready[user], -rank[user], user))
        for g in range(len(at)):
            if at[g] < 0:
                self._settle(g, self.options[g][0])
        return GreedySchedule(self._returned(), at, self.begun, ended, self.tried, self.pulled)

    def _floats(self, i: int, g: int) -> bool:
        """Whether a node leaves it to its users where its group goes: it depends on nothing but its group, and costs nothing
        or is a variable's or queue's own."""
        if self.work.seconds[i] > _CHEAP and not self.stateful[g]:
            return False
        return all(self.group[edge.source] == g for edge in self.work.inputs[i] if edge.is_data)

    def _returned(self) -> float:
        """When the client has all that no one uses: the results, and the word that all is done."""
        last = 0.0
        machine = self.machine
        sinks = [(end, i) for i, end in enumerate(self.ended) if not self.work.users[i]]
        for end, i in sorted(sinks):
            device = self.at[self.group[i]]
            if device and self.work.output[i]:
                link = machine.links[device][0]
                sent = self._reserved(machine.loop[device], end, link.overhead) + self.work.output[i] / link.bandwidth
                sent += max(0.0, machine.end[device] - machine.end[0])
                end = self._reserved(machine.loop[0], sent, link.overhead) + machine.end[0]
            else:
                end += machine.end[device]
            last = max(last, end)
        return last

    def _transfer(self, ready: float, source: int, destination: int, nbytes: float) -> float:
        """Sends a tensor, which takes time of both event loops; gives its arrival."""
        link = self.machine.links[source][destination]
        sent = self._reserved(self.machine.loop[source], ready, link.overhead)
        return self._reserved(self.machine.loop[destination], sent + link.seconds(nbytes), link.overhead)

    def _reserved(self, number: int, ready: float, seconds: float) -> float:
        """Takes time of a queue as soon as possible; gives the end of it."""
        if not seconds:
            return ready
        queue = self.queues[number]
        start = queue.earliest(ready, seconds)
        queue.reserve(start, seconds, self.now)
        return start + seconds

    def _arrival(self, i: int, device: int) -> float:
        """When all that node `i` waits for would be on `device`."""
        if not self.work.inputs[i]:
            return self.starts[device] + self.work.fed[i] / self.machine.links[0][device].bandwidth
        latest = 0.0
        for source, nbytes, is_data, _ in self.work.inputs[i]:
            g = self.group[source]
            there = self.at[g]
            when = self.ended[source]
            if there < 0:
                if not is_data:
                    continue
                there = device if device in self.options[g] else self.options[g][0]
                when = max(when, self.starts[there])
            if self.work.fed[source]:  # the client gives it to each device that wants it
                when = self.starts[device] + self.work.fed[source] / self.machine.links[0][device].bandwidth
            elif there != device:
                arrived = self.received.get((source, device, is_data))
                if arrived is None:
                    link = self.machine.links[there][device]
                    arrived = when + link.seconds(nbytes) + 2 * link.overhead
                when = arrived
            if when > latest:
                latest = when
        return latest

    def _decide(self, i: int, g: int) -> None:
        """Tries the devices of group `g`, of which node `i` is the first to run."""
        afloat = {self.group[e.source] for e in self.work.inputs[i] if e.is_data and self.at[self.group[e.source]] < 0}
        more = self.work.output[i] + sum(self.held[other] for other in afloat if other != g)
        tried: list[DeviceEstimate] = []
        best, first = -1, math.inf
        for device in self.options[g]:
            if not self._fits(device, self.held[g] + more):
                tried.append(DeviceEstimate(device, math.inf))
                continue
            speed = self.machine.speed[device]
            own = self.work.seconds[i] / speed
            queue = self.queues[self.machine.queue(device, own)]
            ends = queue.earliest(self._arrival(i, device), own) + self.total[g] / speed + self.committed[device]
            if not self.work.users[i]:
                ends += self.machine.links[device][0].seconds(self.work.output[i])
            tried.append(DeviceEstimate(device, ends))
            if ends < first - 1e-12:
                best, first = device, ends
        if best < 0:
            best = self._roomiest(g)
        self.tried[g] = tuple(tried)
        self.committed[best] += self.total[g] / self.machine.speed[best]
        self._settle(g, best)

    def _execute(self, i: int, device: int) -> None:
        for source, nbytes, is_data, _ in self.work.inputs[i]:
            g = self.group[source]
            if is_data and self.at[g] < 0:
                self._settle(g, device)
                self.pulled[g] = i
            there = self.at[g]
            if (
                there >= 0
                and there != device
                and not self.work.fed[source]
                and (source, device, is_data) not in self.received
            ):
                arrived = self._transfer(self.ended[source], there, device, nbytes)
                self.received[source, device, is_data] = arrived
        arrival = self._arrival(i, device)
        seconds = self.work.seconds[i] / self.machine.speed[device]
        if self.group[i] in self.tried:
            self.committed[device] -= seconds
        self.ended[i] = self._reserved(self.machine.queue(device, seconds), arrival, seconds)
        self.begun[i] = self.ended[i] - seconds

    def _settle(self, g: int, preferred: int) -> None:
        """Gives group `g` the device `preferred` if the group may have it and there is room, else another device."""
        if g not in self.tried:
            order = [device for device in (preferred, *self.options[g]) if device in self.options[g]]
            preferred = next((d for d in order if self._fits(d, self.held[g])), self._roomiest(g))
        self.at[g] = preferred
        self.used[preferred] += self.held[g]
        for i in self.afloat.pop(g, ()):
            self.ended[i] = max(self.ended[i], self.starts[preferred])

    def _fits(self, device: int, nbytes: float) -> bool:
        budget = self.machine.budget[device]
        return budget is None or not nbytes or self.used[device] + nbytes <= budget

    def _roomiest(self, g: int) -> int:
        """The first of the devices with the most room left; what is too large for each of them fails when it runs."""
        budget = self.machine.budget

        def room(device: int) -> float:
            bytes_in_all = budget[device]
            return math.inf if bytes_in_all is None else bytes_in_all - self.used[device]

        return max(self.options[g], key=room)


def greedy(work: Workload, machine: DeviceSet, grouping: Grouping) -> GreedySchedule:
    """Runs `work`, and decides on its way where groups with several devices go. `seconds` is its own expectation."""
    return _Simulation(work, machine, grouping).run()
