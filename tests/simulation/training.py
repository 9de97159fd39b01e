"""Synchronous training on a parameter server and two workers: from any fault it goes on with the same bits."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.testing import World, simulate
from simulation.phases import PHASES
from simulation.recovery import Watched, supervised
from simulation.run import Run, Tally

WORKERS = 2
STEPS = 120
SIZE = 64
_BULK_SIZE = 6_000
_SAVE_STEPS = 5


class Model:
    """Each worker computes a gradient; the server adds both, and counts in a ledger for each worker whose it has added."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            with af.device("/job:ps/task:0"):
                self.step = af.train.get_or_create_global_step()
                weights = af.Variable(np.linspace(-1, 1, SIZE, dtype=np.float32), name="weights")
                table = af.Variable(np.zeros(_BULK_SIZE, np.float32), name="table")
                ledgers = [af.Variable(np.int64(0), name=f"ledger_{k}") for k in range(WORKERS)]
                now, read = af.cast(self.step.read_value(), af.float32), weights.read_value()
                rows = table.read_value()
            gradients, changes = [], []
            for k in range(WORKERS):
                with af.device(f"/job:worker/task:{k}"):
                    noise = af.random_uniform([SIZE], -0.1, 0.1, seed=k + 1)  # its counter is in the checkpoint as well
                    gradients.append(af.sin(read * (k + 1.5) + now) + read + noise)
                    changes.append(af.reduce_mean(rows) + af.fill([_BULK_SIZE], float(k + 1)))
            with af.device("/job:ps/task:0"):
                updates = [weights.assign_sub((gradients[0] + gradients[1]) * 0.01)]
                updates.append(table.assign_add((changes[0] + changes[1]) * 1e-4))
                for gradient, ledger in zip(gradients, ledgers):
                    with af.control_dependencies([gradient]):
                        updates.append(ledger.assign_add(np.int64(1)))
                with af.control_dependencies(updates):
                    counted = self.step.assign_add(1)
                with af.control_dependencies([counted]):
                    self.train = [self.step.read_value(), weights.read_value(), table.read_value()[:4]]
                    self.train += [ledger.read_value() for ledger in ledgers]


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values are equal to the last bit."""
    return bool(np.asarray(a).tobytes() == np.asarray(b).tobytes())


class Training:
    """See the module."""

    name = "synchronous training"
    cluster: Mapping[str, Sequence[str]] = {"ps": ["ps0"], "worker": ["w0", "w1"]}
    clients: Sequence[str] = ("chief",)
    aims: Sequence[str] = PHASES

    def prepare(self) -> None:
        undisturbed()

    async def main(self, run: Run) -> None:
        run.world.spawn("chief", chief, run, STEPS)
        await run.until_done()


async def chief(run: Run, steps: int) -> None:
    """Trains, from the last checkpoint on, and compares each step with that of the undisturbed run."""
    known = undisturbed() if run.chaos is not None else {}

    async def train(supervisor: Watched, model: Model) -> None:
        async for attempt in supervisor.steps(until=steps):
            async with attempt as step:
                if run.chaos is not None and run.is_enough:
                    break
                values = await supervisor.step(model.train)
                if run.chaos is None:
                    run.book[step] = values
                    continue
                for what, value, expected in zip(
                    ("step", "weights", "table", "ledger 0", "ledger 1"), values, known[step]
                ):
                    assert same_bits(value, expected), f"after step {step} the {what} is {value}, not {expected}"
                assert values[3] == values[4] == step + 1, f"{values[3:]} updates were counted in {step + 1} steps"
                await run.pause()

    await supervised(run, Model, train, save_steps=_SAVE_STEPS)
    run.done = True


@functools.cache
def undisturbed() -> dict[int, Any]:
    """The values after each step of a run that nothing befalls."""

    async def main(world: World) -> dict[int, Any]:
        run = Run(world, Training(), faults=False)
        await world.spawn("chief", chief, run, STEPS)
        return run.book

    hosts = [*Training.cluster["ps"], *Training.cluster["worker"], *Training.clients]
    return simulate(main, seed=0, hosts=hosts, trace=Tally())
