"""When Recvs start: as late as costs no time, so that what arrives does not lie about until it is used (paper section 5.2).

A Recv waits for nothing, so all Recvs of a step would start at its beginning, and what they bring would take memory until
its users come to it. This pass estimates when each node would run (ASAP, as soon as possible) and when it has to (ALAP, as
late as the critical path allows). A control edge makes a Recv wait for a node on its own device that its users wait for
anyway. So no edge makes anything wait that did not wait before, and none can close a cycle. A change is judged by a
simulation: an edge stays if the peak memory of some device falls, that of no device rises, and the whole does not take
longer.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from actorflow.base.registry import opdef
from actorflow.engine.placement.cost_model import expected_bytes, node_cost
from actorflow.graph.analysis.cooperative import yield_interpreter, yielding
from actorflow.graph.analysis.frames import ROOT, frames, is_free
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node

SMALLEST = 64 << 10
"""Bytes of a tensor for which it is worthwhile to delay its Recv."""
MOST_RECVS = 64
"""The most Recvs that are looked at, the largest first."""
MOST_TRIALS = 24
"""The most changes that are tried singly, if all together are no gain."""
MOST_WORK = 10_000
"""The most nodes that are simulated in these trials; each takes some microseconds."""
MOST_NODES = 20_000
"""A larger graph is left as it is."""
_LATENCY = 20_000.0
_PER_BYTE = 0.1
"""Nanoseconds for a transfer and for each of its bytes, between devices of one process or of a host."""


@dataclass(frozen=True, slots=True)
class RecvSchedule:
    """When each node of a step is expected to run, in nanoseconds from the step's start, and the memory that is in use.

    Nodes are named by their device and their name there. A Recv's time is that of the transfer: it begins when the Recv
    has started and its Send is done.
    """

    begin: Mapping[tuple[str, str], float]
    end: Mapping[tuple[str, str], float]
    makespan: float
    peak: Mapping[str, int]
    """The most bytes that tensors take on each device at once."""


def schedule_recvs(parts: Mapping[str, Subgraph]) -> dict[str, Subgraph]:
    """The same parts, with control edges that let Recvs of large tensors start just before these are needed. Recvs in
    loops stay as they are, and so do parts between which little travels, and very large parts."""
    scheduled = dict(parts)
    waiting = {device: _large_recvs(part) for device, part in parts.items()}
    if not any(waiting.values()) or sum(len(part.nodes) for part in parts.values()) > MOST_NODES:
        return scheduled
    net = _Net(parts)
    accepted = _accepted(net, waiting)
    for device, part in parts.items():
        edges = {net.nodes[r].name: net.nodes[s].name for r, s in accepted.items() if net.device[r] == device}
        if edges:
            scheduled[device] = topological(
                part.with_nodes(
                    replace(n, controls=(*n.controls, edges[n.name])) if n.name in edges else n
                    for n in yielding(part.nodes.values())
                )
            )
    return scheduled


def simulate(parts: Mapping[str, Subgraph]) -> RecvSchedule:
    """A step of `parts` as the cost model expects it. A device runs one node at a time, the one first that is ready first;
    transfers go on beside that. A tensor takes memory from the beginning of what makes or receives it until the end of its
    last user, and until it has been sent; what is fetched, until the end of the step. Loops are taken to run once."""
    return _Net(parts).simulate({})


def _accepted(net: _Net, waiting: Mapping[str, Sequence[str]]) -> dict[int, int]:
    """The control edges to add, by Recv: all that look useful, or else those that prove useful in single trials."""
    best = net.simulate({})
    begins = net.asap(best)
    latest = [max(pair) for pair in zip(begins, net.alap(best.makespan))]
    delays: dict[int, int] = {}
    for by in (latest, begins):
        delays = net.delays(best, waiting, by)
        if delays and _better(net.simulate(delays), best):
            return delays
    accepted: dict[int, int] = {}
    for recv in list(delays)[: min(MOST_TRIALS, MOST_WORK // len(net.nodes))]:
        trial = net.simulate({**accepted, recv: delays[recv]})
        if _better(trial, best):
            accepted[recv] = delays[recv]
            best = trial
    return accepted


def _better(trial: RecvSchedule, best: RecvSchedule) -> bool:
    return (
        trial.makespan <= best.makespan
        and all(trial.peak[device] <= best.peak[device] for device in best.peak)
        and any(trial.peak[device] < best.peak[device] for device in best.peak)
    )


def _large_recvs(part: Subgraph) -> list[str]:
    recvs = [
        n
        for n in part.nodes.values()
        if n.op == "_Recv" and n.dtypes and not n.controls and expected_bytes(n.shapes[0], n.dtypes[0]) >= SMALLEST
    ]
    if not recvs:
        return []
    loops = frames(part)
    return [n.name for n in recvs if loops.of[n.name] == ROOT]


class _Net:
    """All parts as one graph of numbers, the nodes of each part in its order."""

    def __init__(self, parts: Mapping[str, Subgraph]) -> None:
        self.nodes: list[Node] = []
        self.device: list[str] = []
        self.needs: list[list[int]] = []
        self.cost: list[float] = []
        self.bytes: list[int] = []
        self.users: list[list[int]] = []
        self._devices = list(parts)
        self._kept: set[int] = set()
        self._roots: set[int] = set()
        index: dict[tuple[str, str], int] = {}
        sends: dict[str, int] = {}
        for device, part in parts.items():
            loops = frames(part)
            for node in yielding(part.nodes.values()):
                at = index[device, node.name] = len(self.nodes)
                self.nodes.append(node)
                self.device.append(device)
                if node.op == "_Send":
                    sends[node.attrs["key"]] = at
                if loops.of[node.name] == ROOT:
                    self._roots.add(at)
                self.bytes.append(_kept_bytes(node))
                cost = 0.0 if is_free(node) else node_cost(node, part)
                self.cost.append(_LATENCY + self.bytes[at] * _PER_BYTE if node.op == "_Recv" else cost)
            self._kept.update(index[device, e.node] for e in part.fetches if e.node in part.nodes)
        self._send_of: dict[int, int] = {}
        for at, node in yielding(enumerate(self.nodes)):
            part = parts[self.device[at]]
            needs = dict.fromkeys(index[self.device[at], name] for name in part.predecessors(node))
            if node.op == "_Recv":
                send = self._send_of[at] = sends[node.attrs["key"]]
                needs[send] = None
            self.needs.append(list(needs))
        self.users = [[] for _ in self.nodes]
        for at, needed in enumerate(self.needs):
            for need in needed:
                self.users[need].append(at)
        self._names = [(device, node.name) for device, node in zip(self.device, self.nodes)]
        self._is_view = [opdef.lookup(node.op).view for node in self.nodes]
        self._holds = self._holders()
        self._topological = self._order()
        self._waited_for: list[int] = []

    def _holders(self) -> list[list[int]]:
        """For each node, those that hold its tensors in memory: who takes them, through views too, and for what is sent
        the Recv, which copies it. (A view takes no memory, and holds what it looks at as long as it is held.)"""
        holders: list[list[int]] = [[] for _ in self.nodes]
        for at, node in enumerate(self.nodes):
            part = self.device[at]
            names = {e.node for e in node.inputs}
            for need in self.needs[at]:
                if self.device[need] == part and self.nodes[need].name in names:
                    holders[need].append(at)
        received = {send: recv for recv, send in self._send_of.items()}
        for at in range(len(self.nodes)):
            holders[at] = [received.get(user, user) for user in holders[at]]
        return holders

    def _order(self) -> list[int]:
        waiting = [len(needs) for needs in self.needs]
        order = [at for at, count in enumerate(waiting) if not count]
        for at in order:
            yield_interpreter()
            for user in self.users[at]:
                waiting[user] -= 1
                if not waiting[user]:
                    order.append(user)
        return order

    def simulate(self, delays: Mapping[int, int]) -> RecvSchedule:
        """`simulate`, with further control edges: for each Recv in `delays`, from the node there."""
        count = len(self.nodes)
        waiting = [len(needs) for needs in self.needs]
        later: dict[int, list[int]] = {}
        for recv, source in delays.items():
            waiting[recv] += 1
            later.setdefault(source, []).append(recv)
        begin = [0.0] * count
        end = [0.0] * count
        free_at = dict.fromkeys(self._devices, 0.0)
        ready = [(0.0, at) for at in range(count) if not waiting[at]]
        heapq.heapify(ready)
        while ready:
            yield_interpreter()
            time, at = heapq.heappop(ready)
            if self.nodes[at].op == "_Recv":
                begin[at] = time
            else:
                begin[at] = max(time, free_at[self.device[at]])
                free_at[self.device[at]] = begin[at] + self.cost[at]
            end[at] = begin[at] + self.cost[at]
            for user in (*self.users[at], *later.get(at, ())):
                waiting[user] -= 1
                if not waiting[user]:
                    needs = self.needs[user]
                    last = max((end[need] for need in needs), default=0.0)
                    if user in delays:
                        last = max(last, end[delays[user]])
                    heapq.heappush(ready, (last, user))
        makespan = max(end, default=0.0)
        peaks = self._peaks(begin, end, makespan)
        return RecvSchedule(dict(zip(self._names, begin)), dict(zip(self._names, end)), makespan, peaks)

    def _peaks(self, begin: Sequence[float], end: Sequence[float], makespan: float) -> dict[str, int]:
        until = list(end)
        for at in reversed(self._topological):  # a view is held before what it looks at
            for user in self._holds[at]:
                until[at] = max(until[at], until[user] if self._is_view[user] else end[user])
            if at in self._kept:
                until[at] = makespan
        changes: dict[str, list[tuple[float, int]]] = {device: [] for device in self._devices}
        for at, nbytes in enumerate(self.bytes):
            if nbytes:
                changes[self.device[at]] += [(begin[at], nbytes), (until[at], -nbytes)]
        peaks = {}
        for device, events in changes.items():
            used = peak = 0
            for _, change in sorted(events):  # at one time, what ends goes first
                used += change
                peak = max(peak, used)
            peaks[device] = peak
        return peaks

    def delays(
        self, schedule: RecvSchedule, waiting: Mapping[str, Sequence[str]], by: Sequence[float]
    ) -> dict[int, int]:
        """For each Recv that could start later, the node that it should wait for. All its users wait for that node, which
        is on its device. It is the last that is done early enough for the transfer to be over when the first user has to
        begin (`by`)."""
        self._waited_for = self._waited_for or self._surely_waited_for()
        begin, end = self._times(schedule)
        starters = self._starters(end)
        awaited = {(device, name) for device, names in waiting.items() for name in names}
        recvs = [at for at, node in enumerate(self.nodes) if (self.device[at], node.name) in awaited and self.users[at]]
        delays: dict[int, int] = {}
        for recv in sorted(recvs, key=lambda at: -self.bytes[at])[:MOST_RECVS]:
            yield_interpreter()
            users = self.users[recv]
            needed = min(by[user] for user in users)
            shared = reduce(and_, (self._waited_for[user] for user in users))
            for at in starters[self.device[recv]]:
                if end[at] <= begin[recv]:
                    break
                if shared >> at & 1 and end[at] + self.cost[recv] <= needed:
                    delays[recv] = at
                    break
        return delays

    def _starters(self, end: Sequence[float]) -> dict[str, list[int]]:
        """The nodes of each device that a Recv may wait for, those that are done last first."""
        starters: dict[str, list[int]] = {device: [] for device in self._devices}
        for at in sorted(self._roots, key=lambda at: (-end[at], -at)):
            node = self.nodes[at]
            if node.op not in ("_Recv", "_Send") and not is_free(node):
                starters[self.device[at]].append(at)
        return starters

    def asap(self, schedule: RecvSchedule) -> list[float]:
        """When each node begins in a schedule."""
        return self._times(schedule)[0]

    def _times(self, schedule: RecvSchedule) -> tuple[list[float], list[float]]:
        return list(schedule.begin.values()), list(schedule.end.values())

    def alap(self, makespan: float) -> list[float]:
        """When each node has to begin at the latest, if the whole is to take no longer than `makespan`."""
        latest = [makespan - cost for cost in self.cost]
        for at in reversed(self._topological):
            for user in self.users[at]:
                latest[at] = min(latest[at], latest[user] - self.cost[at])
        return latest

    def _surely_waited_for(self) -> list[int]:
        """For each node, all that it waits for in any case, a bit for each. A Merge waits for one of its inputs only,
        whichever that is, and an Exit for the iterations."""
        masks = [0] * len(self.nodes)
        for at in yielding(self._topological):
            if self.nodes[at].op not in ("Merge", "Exit"):
                for need in self.needs[at]:
                    masks[at] |= masks[need] | 1 << need
        return masks


def _kept_bytes(node: Node) -> int:
    """The memory that a node's outputs take: none for views, handles and constants, which are there anyway."""
    if is_free(node) or opdef.lookup(node.op).view or node.op == "ReadVariableOp":
        return 0
    return sum(expected_bytes(shape, dtype) for shape, dtype in zip(node.shapes, node.dtypes) if not dtype.is_ref)
