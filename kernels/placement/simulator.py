"""Simulated steps of placements in C: the simulator of the core, with its loop over events compiled."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.placement.simulation.timeline import StepTimeline
from actorflow.engine.placement.simulation.workload import DeviceSet, Workload

from ..native.library import loaded


class NativeSnapshot(NamedTuple):
    """The state of a simulation before the events of `time`, as `kernels/native/src/simulate.c` has written it."""

    time: float
    state: bytes


class NativeSimulator(Simulator):
    """`Simulator`, whose results it gives to the bit, without the interpreter and beside other threads."""

    def __init__(self, work: Workload, machine: DeviceSet, group: Sequence[int]) -> None:
        super().__init__(work, machine, group)
        self._simulate = loaded().simulate
        devices = range(len(machine.names))
        ports = [port for row in self._outputs for port in row]
        cores = [self._cores[host] for host in machine.host]
        pairs = [self._links[a][b] for a in devices for b in devices]
        doubles: list[Sequence[float]] = [
            work.seconds,
            self._busy,
            self._hop,
            self.rank,
            self._least,
            work.fed,
            work.output,
        ]
        doubles += [machine.speed, machine.threaded, machine.begin, machine.end]
        doubles += [[pair[k] for pair in pairs] for k in range(3)]
        doubles.append([nbytes for nbytes, _ in ports])
        numbers: list[Iterable[int]] = [group, self._waits]
        numbers += [_firsts(self._outputs), _firsts(work.inputs), _firsts([users for _, users in ports])]
        numbers.append(chain.from_iterable(users for _, users in ports))
        numbers.append(edge.source for edges in work.inputs for edge in edges)
        numbers += [machine.loop, [some.start for some in cores], [len(some) for some in cores]]
        self._model = (*[array("d", column) for column in doubles], *[array("i", column) for column in numbers])

    def _simulated(
        self, at: list[int], base: StepTimeline | None, snapshots: Sequence[Any], limit: float, keep: bool = True
    ) -> StepTimeline | None:
        count = len(self.work.names)
        ready = array("d", bytes(8 * count))
        if base is None:
            begun, ended = (array("d", bytes(8 * count)) for _ in range(2))
            cause, before = (array("i", bytes(4 * count)) for _ in range(2))
        else:
            begun, ended = (array("d", column) for column in (base.begun, base.ended))
            cause, before = (array("i", column) for column in (base.cause, base.before))
        times = begun, ended, ready, cause, before
        state = None if base is None else snapshots[-1].state
        reply = self._simulate(self._model, array("i", at), times, state, limit, self._every if keep else 0)
        if reply is None:
            return None
        seconds, final, kept = reply
        snapshots = [*snapshots, *(NativeSnapshot(*row) for row in kept)]
        return StepTimeline(seconds, at, begun, ended, ready, cause, before, final, snapshots)


def native_simulator(work: Workload, machine: DeviceSet, group: Sequence[int]) -> Simulator | None:
    """A simulator in C; None where the library is not there."""
    return None if loaded() is None else NativeSimulator(work, machine, group)


def _firsts(some: Iterable[Sequence[Any]]) -> Iterable[int]:
    """The place at which each of `some` begins if they follow each other, and the end of the last."""
    return accumulate((len(row) for row in some), initial=0)
