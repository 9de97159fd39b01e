"""A supervised training whose cluster grows and shrinks ends with the bits of one in a single process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors

REPLICAS = 8
SIZE = 16


class Model:
    """Eight logical workers, on whatever workers there are: the random numbers and the data of each are functions of its number
    and of the step, and gradients are added in the order of the numbers."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            with af.device("/job:ps/task:0"):
                step = af.train.get_or_create_global_step()
                weights = af.Variable(np.linspace(-1, 1, SIZE, dtype=np.float32), name="weights")
                slot = af.Variable(np.zeros(SIZE, np.float32), name="slot")
                now, read = step.read_value(), weights.read_value()
            gradients = []
            for replica in range(REPLICAS):
                with af.device("/job:worker"):
                    seed = af.stack([af.constant(replica, af.int64), now])
                    noise = af.stateless_random_uniform([SIZE], seed, -0.1, 0.1)
                    rows = af.cast(af.range_(SIZE), af.float32) * (replica + 1.0) + af.cast(now, af.float32)
                    gradients.append(af.sin(read * rows) + read + noise)
            with af.device("/job:ps/task:0"):
                momentum = slot.assign(slot.read_value() * 0.9 + af.add_n(gradients))
                with af.control_dependencies([weights.assign_sub(momentum * 0.01)]):
                    self.train = step.assign_add(1)
            self.values = [weights, slot, step]


async def trained(
    folder: Path, workers: int, changes: dict[int, int], kills: dict[int, str] | None = None, steps: int = 24
) -> list[bytes]:
    """The values after some steps. `changes` says to how many workers the cluster changes behind a step."""
    model = Model()
    taken: list[int] = []
    async with af.LocalCluster({"ps": 1, "worker": workers}, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=folder, save_steps=5, seed=1) as supervisor:
            async for attempt in supervisor.steps(until=steps):
                async with attempt as step:
                    if kills and step in kills:
                        await cluster.kill(kills.pop(step))
                    await supervisor.run(model.train)
                    taken.append(step)
                if changes.get(step) is not None:
                    await supervisor.scale(worker=changes.pop(step))
                    assert int(await supervisor.run(model.values[-1])) == step + 1, "no step is lost"
            values: list[Any] = await supervisor.run(model.values)
    assert set(taken) == set(range(steps)) and (kills is not None or len(taken) == steps), taken
    return [np.asarray(value).tobytes() for value in values]


@pytest.mark.parametrize("workers", [3, 8])
async def test_any_number_of_workers_gives_the_bits_of_one(workers: int, tmp_path: Path) -> None:
    assert await trained(tmp_path / "some", workers, {}) == await trained(tmp_path / "one", 1, {})


async def test_a_training_that_changes_its_workers_and_loses_some_ends_with_the_bits_of_one(tmp_path: Path) -> None:
    changes = {4: 3, 10: 5, 17: 8}
    kills = {7: "/job:worker/task:1", 13: "/job:ps/task:0", 20: "/job:worker/task:7"}
    assert await trained(tmp_path / "some", 8, changes, kills) == await trained(tmp_path / "one", 1, {})
    assert not changes and not kills


async def test_what_cannot_be_is_refused_and_training_goes_on(tmp_path: Path) -> None:
    model = Model()
    async with af.LocalCluster({"ps": 1, "worker": 2}, transport="local", limits={"worker": (1, 2)}) as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path) as supervisor:
            await supervisor.run(model.train)
            for jobs, error in [
                ({"worker": 3}, errors.ResourceExhaustedError),
                ({"worker": 0}, errors.FailedPreconditionError),
                ({"ps": 0}, errors.FailedPreconditionError),
            ]:
                with pytest.raises(error):
                    await supervisor.scale(**jobs)
                await supervisor.run(model.train)
            async for attempt in supervisor.steps(until=5):
                async with attempt:
                    with pytest.raises(errors.FailedPreconditionError, match="within an attempt"):
                        await supervisor.scale(worker=1)
                    await supervisor.run(model.train)
    with af.Graph().as_default() as graph:
        af.train.get_or_create_global_step()
    async with af.Supervisor("", graph) as supervisor:
        with pytest.raises(errors.FailedPreconditionError, match="Only the chief of a LocalCluster"):
            await supervisor.scale(worker=1)
