"""Variables move between servers while steps go on: from any fault the training goes on with the same bits, and no write is lost.

A chief trains, and beside its steps it lets servers give all that they have, or share it evenly. Half of the seeds keep copies
beside each step as well.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.cluster.wire.failures import first_of
from actorflow.errors import OpError
from actorflow.supervisor import StateMoved
from actorflow.testing import World, simulate
from simulation.checks import check_documented
from simulation.history import LEDGER, History, recorded
from simulation.phases import MOVE, PHASES
from simulation.recovery import Watched, supervised
from simulation.run import Run, Tally
from simulation.training import same_bits

STEPS = 120
REPLICAS = 2
SERVERS = ("/job:ps/task:0", "/job:ps/task:1")
_SIZES = (7, 5, 600)
_SAVE_STEPS = 5
_SHORTEST, _LONGEST = 0.02, 0.3
_LEAST_MOVES = 3


class Model:
    """Variables of several sizes with slots and noise, on whatever servers, and a ledger that each step adds one to."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph, af.device("/job:ps"):
            step = af.train.get_or_create_global_step()
            self.x = af.placeholder(af.float32, [None, 3])
            noise = af.random_uniform([], -0.1, 0.1, seed=3)
            weights = [af.Variable(np.ones((3, size), np.float32), name=f"w{size}") for size in _SIZES]
            ledger = af.Variable(np.int64(0), name=LEDGER)

            def tower(x: af.Tensor) -> af.Operation:
                loss = af.add_n([af.reduce_mean(af.square(af.sin(x) @ w - noise)) for w in weights])
                return af.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=step)

            trained = af.train.Replicas(REPLICAS, seed=2).build(tower, self.x)
            with af.control_dependencies([trained]):
                counted = ledger.assign(ledger.read_value() + 1)
                self.train = [step.read_value(), counted, *(w.read_value()[:, :4] for w in weights)]


class Moving:
    """See the module."""

    name = "variables that move"
    cluster: Mapping[str, Sequence[str]] = {"ps": ["ps0", "ps1"], "worker": ["w0"]}
    clients: Sequence[str] = ("chief",)
    aims: Sequence[str] = (MOVE, *PHASES, MOVE, MOVE)

    def prepare(self) -> None:
        undisturbed()

    async def main(self, run: Run) -> None:
        history = History(run.world)
        run.tasks.on_begin = history.begins
        with recorded(history):
            run.world.spawn("chief", chief, run, STEPS)
            await run.until_done()
        history.check()


async def chief(run: Run, steps: int) -> None:
    """Trains and moves, from the last checkpoint on, and compares each step with that of the undisturbed run."""
    known = undisturbed() if run.chaos is not None else {}

    async def train(supervisor: Watched, model: Model) -> None:
        async for attempt in supervisor.steps(until=steps):
            async with attempt as step:
                if run.chaos is not None and run.is_enough and run.book.get(MOVE, 0) >= _LEAST_MOVES:
                    break
                rows = np.random.default_rng(step).normal(size=(9, 3)).astype(np.float32)
                values = await supervisor.step(model.train, {model.x: rows})
                if run.chaos is None:
                    run.book[step] = values
                    continue
                for number, (value, expected) in enumerate(zip(values, known[step], strict=True)):
                    assert same_bits(value, expected), f"after step {step} value {number} is {value}, not {expected}"
                await run.pause()

    async def both(supervisor: Watched, model: Model) -> None:
        try:
            async with anyio.create_task_group() as group:
                if run.chaos is not None:
                    group.start_soon(moves, run, supervisor)
                await train(supervisor, model)
                group.cancel_scope.cancel()
        except BaseExceptionGroup as errors:
            raise first_of(errors) from None

    options = {"save_steps": _SAVE_STEPS, "replicas": REPLICAS, "copies": run.world.seed // 8 % 2}
    await supervised(run, Model, both, fresh=True, **options)
    run.done = True


async def moves(run: Run, supervisor: Watched) -> None:
    """Lets variables move, again and again, whether or not a step is under way. After a loss there may be nothing to move."""
    draw = random.Random(f"{run.world.seed}/moves/{run.world.now}")
    while True:
        await anyio.sleep(run.spread(draw.uniform(_SHORTEST, _LONGEST)))
        leaving = [draw.choice(SERVERS)] if draw.random() < 0.7 else []
        try:
            with run.phases.during(MOVE):
                await run.in_time(supervisor.level(leaving, [] if leaving else ["ps"]))
        except OpError as error:
            check_documented(error)
        run.book[MOVE] = sum(isinstance(event, StateMoved) for event in supervisor.history)


@functools.cache
def undisturbed() -> dict[int, Any]:
    """The values after each step of a run in which nothing moves."""

    async def main(world: World) -> dict[int, Any]:
        run = Run(world, Moving(), faults=False)
        await world.spawn("chief", chief, run, STEPS)
        return run.book

    hosts = [*Moving.cluster["ps"], *Moving.cluster["worker"], *Moving.clients]
    return simulate(main, seed=0, hosts=hosts, trace=Tally())
