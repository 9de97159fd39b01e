"""Two devices' threads begin the nodes of random graphs in the order that the simulation predicts.

Real kernels on real threads, with the time of the simulation: each kernel lasts until the one of all that are running which ends
first in the simulation is the next to end. So a busy machine changes no order, and only what the runtime decides is seen.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
from engine.placement.workloads import Record, posed, step
from patience import PATIENCE

import actorflow as af
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.placement.simulation.timeline import StepTimeline
from actorflow.engine.runtime.threads import _in_line
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike

GRAPHS = 200
BATCH = np.ones(4, np.float32)
DEVICES = [f"/job:localhost/replica:0/task:0/device:CPU:{d}" for d in range(2)]
MOMENT = 1e-9
"""The way from a thread to the loop: a thread goes on with what is in line before the loop has its result."""


class Conductor:
    """Ends kernels one by one, and knows which have begun."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ends = [threading.Event() for _ in range(16)]

    def play(self, number: int) -> None:
        self.begun.append(number)
        assert self.ends[number].wait(60)

    def stop(self) -> None:
        for end in self.ends:
            end.set()


conductor = Conductor()


@af.op("TestConducted", shape=unchanged, gradient=None, work=lambda c: 1e8)
def conducted(x: TensorLike, *, number: int, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """`x` itself, when the conductor ends it. Its work says that it is not for the event loop."""


@af.kernel("TestConducted")
def _conducted(xp: Any, x: Any, *, number: int) -> Any:
    conductor.play(number)
    return x + 0


@dataclass(frozen=True)
class Piece:
    """A random graph: the seconds, needs, device and rank of each node, and the step that is predicted of it."""

    seconds: list[float]
    needs: list[list[int]]
    at: list[int]
    ranks: list[float]
    predicted: StepTimeline = field(repr=False)

    @classmethod
    def drawn(cls, rng: random.Random) -> Piece:
        count = rng.randint(6, 12)
        seconds = [rng.uniform(1e-3, 20e-3) for _ in range(count)]
        needs = [sorted(rng.sample(range(i), min(i, rng.choice((0, 1, 1, 2))))) for i in range(count)]
        at = [rng.randrange(2) for _ in range(count)]
        work = replace(step(seconds, [(n, i) for i, some in enumerate(needs) for n in some]), hop=[MOMENT] * count)
        problem = posed(work, [Record(0), Record(1)], LinkCosts(host=LinkCost(0.0)))
        simulator = Simulator(problem.work, problem.machine, range(count))
        return cls(seconds, needs, at, simulator.rank, simulator.run(at, keep=False))

    @property
    def is_decided(self) -> bool:
        """Whether ranks decide all. No two nodes come at once to a thread at rest, which would run what the loop hands on first;
        and none that is more urgent comes by the end of a kernel just as the thread takes what was in line."""
        line = self.predicted
        for i, start in enumerate(line.begun):
            for j, ready in enumerate(line.ready):
                if self.at[i] == self.at[j] and 0 < ready - start < 2 * MOMENT and self.ranks[j] > self.ranks[i]:
                    return False
        came = Counter((self.at[i], ready) for i, ready in enumerate(line.ready))
        return all(n == 1 or self._runs(d, when) for (d, when), n in came.items())

    def _runs(self, device: int, when: float) -> bool:
        line = self.predicted
        return any(d == device and line.begun[i] < when < line.ended[i] for i, d in enumerate(self.at))

    @property
    def choices(self) -> int:
        """How often a thread takes one of several nodes that are in line."""
        return sum(max(self.before(start)[1]) > 1 for start in self.predicted.begun)

    def before(self, when: float) -> tuple[set[int], list[int]]:
        """The nodes that have begun before a moment, and how many nodes are in line for each thread then."""
        line = self.predicted
        begun = {i for i, start in enumerate(line.begun) if start < when}
        waiting = [i for i, ready in enumerate(line.ready) if ready < when and i not in begun]
        return begun, [sum(self.at[i] == d for i in waiting) for d in range(2)]


async def conduct(piece: Piece) -> None:
    """Ends the kernels as predicted, each when all has begun and is in line that is predicted for that time."""
    line = piece.predicted
    with anyio.fail_after(PATIENCE):
        for number in sorted(range(len(piece.at)), key=lambda i: line.ended[i]):
            begun, waiting = piece.before(line.ended[number])
            while set(conductor.begun) != begun or in_line() != waiting:
                assert set(conductor.begun) <= begun, f"{conductor.begun} ran, and {sorted(begun)} were to run"
                await anyio.lowlevel.checkpoint()
            conductor.ends[number].set()


def in_line() -> list[int]:
    found = dict.fromkeys(DEVICES, 0)
    for device, waiting in list(_in_line.items()):
        if device.name in found:
            found[device.name] += len(waiting)
    return list(found.values())


async def test_f43_two_threads_run_200_random_graphs_in_the_predicted_order(seed: int) -> None:
    global conductor
    rng = random.Random(seed)
    pieces: list[Piece] = []
    while len(pieces) < GRAPHS:
        piece = Piece.drawn(rng)
        if piece.is_decided and piece.choices:
            pieces.append(piece)
    graph, ends, found = af.Graph(), list[list[Tensor]](), list[NodeMeasurement]()
    with graph.as_default():
        x = af.placeholder(af.float32, [4], name="x")
        for g, piece in enumerate(pieces):
            made: list[Tensor] = []
            for i, some in enumerate(piece.needs):
                with af.device(DEVICES[piece.at[i]]), af.control_dependencies([made[n] for n in some]):
                    made.append(conducted(x, number=i, name=f"g{g}n{i}"))
            ends.append(made)
            found += [
                NodeMeasurement((f"g{g}n{i}",), DEVICES[d], s * 1e9, 50, ())
                for i, (d, s) in enumerate(zip(piece.at, piece.seconds))
            ]
    costs = af.CostModel()
    costs.links = LinkCosts(process=LinkCost(0.0))

    async def observed() -> list[NodeMeasurement]:
        return found

    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        session._engine.observed = observed  # type: ignore[method-assign]
        await session.replan(costs=costs)
        for g, piece in enumerate(pieces):
            conductor = Conductor()
            try:
                async with anyio.create_task_group() as group:
                    # traced, so that no thread goes on with the next node by itself
                    fetches = [made.op for made in ends[g]]
                    group.start_soon(partial(session.run, fetches, {x: BATCH}, trace=af.Trace()))
                    await conduct(piece)
            finally:
                conductor.stop()
