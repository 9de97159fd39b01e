"""Checkpoints only: variables of many types on two servers get the values of one generation after the other, are saved, and
restored whenever something is lost and now and then besides. A restore gives one generation, in all bits, on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import actorflow as af
from simulation.recovery import Watched, supervised
from simulation.run import Run

_KINDS = (np.float32, np.int8, np.bool_, np.complex64, np.uint16, np.str_)
_SIZE = 600
_RESTORE_EVERY = 7


def values_of(generation: int) -> list[Any]:
    """The values of the variables in a generation."""
    base = (np.arange(_SIZE) * 7 + generation * 13) % 101
    return [
        np.array([b"%d" % n for n in base[:20]], object) if kind is np.str_ else base.astype(kind) for kind in _KINDS
    ]


class Model:
    """A variable of each type, alternately on either server, and the generation on each."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            self.feeds, updates, reads = [], [], []
            for number, value in enumerate(values_of(0)):
                with af.device(f"/job:ps/task:{number % 2}"):
                    variable = af.Variable(value, name=f"v{number}", dtype=af.string if value.dtype == object else None)
                    fed = af.placeholder(variable.dtype, value.shape)
                    self.feeds.append(fed)
                    updates.append(variable.assign(fed))
                    reads.append(variable.read_value())
            with af.device("/job:ps/task:0"):
                step = af.train.get_or_create_global_step()
                updates.append(step.assign_add(1))
                self.now = step.read_value()
            self.update = af.group(*updates)
            self.reads = [self.now, *reads]


class Checkpoints:
    """See the module."""

    name = "checkpoints"
    cluster: Mapping[str, Sequence[str]] = {"ps": ["ps0", "ps1"], "worker": ["w0"]}
    clients: Sequence[str] = ("chief",)
    aims: Sequence[str] = ("commit", "restore", "commit", "restore", "handshake", "RunStep", "drain")

    def prepare(self) -> None:
        """Nothing is shared."""

    async def main(self, run: Run) -> None:
        run.world.spawn("chief", chief, run)
        await run.until_done()


async def chief(run: Run) -> None:
    """Makes generations, saves each, and looks at what is there."""

    async def train(supervisor: Watched, model: Model) -> None:
        rounds = 0
        async for attempt in supervisor.steps():
            async with attempt as step:
                rounds += 1
                check(await supervisor.step(model.reads), step)
                if run.is_enough:
                    break
                await supervisor.step(model.update, dict(zip(model.feeds, values_of(step + 1))))
                if rounds % _RESTORE_EVERY == 0:
                    supervisor.take_back()
                await run.pause()

    await supervised(run, Model, train, save_steps=1)
    run.done = True


def check(found: Sequence[Any], step: int) -> None:
    """Whether all variables are of one generation."""
    assert int(found[0]) == step
    for number, (value, expected) in enumerate(zip(found[1:], values_of(step))):
        assert value.dtype == expected.dtype and np.array_equal(value, expected), (
            f"v{number} is not of generation {step}"
        )
