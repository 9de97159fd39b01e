"""A training with logical workers in a simulated cluster: tasks join, leave and crash, networks break, and no bit changes."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow.cluster.client.membership import query_view, reserve
from actorflow.cluster.config.spec import parse_task
from actorflow.cluster.server import Server
from actorflow.errors import OpError
from actorflow.supervisor import ReplicasMapped, RestartPolicy, WorkerLost
from actorflow.testing import Faults, World, simulate

CLUSTER = {"ps": ["ps0:1"], "worker": ["w0:1"]}
FOUNDERS = {"ps0": ("ps", 0), "w0": ("worker", 0)}
JOINERS = ("j0", "j1", "j2")
STEPS, REPLICAS, SECONDS = 40, 8, 14.0
FAULTS = Faults(crashes=0.04, freezes=0.03, partitions=0.03, resets=0.05, hosts=("ps0", *JOINERS), until=SECONDS)
FOLDER = "/models"


class Model:
    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph, af.device("/job:ps"):
            step = af.train.get_or_create_global_step()
            self.x = af.placeholder(af.float32, [None, 3])

            def tower(x: af.Tensor) -> af.Operation:
                weights = af.get_variable("weights", [3], initializer=af.ones_initializer())
                noise = af.random_normal([3], stddev=0.1)
                loss = af.reduce_mean(af.square(af.sin(x) @ af.reshape(weights + noise, [3, 1]) - 1.0))
                optimizer = af.train.MomentumOptimizer(0.05, 0.9)
                return optimizer.minimize(loss, global_step=step)

            self.train = af.train.Replicas(REPLICAS, seed=2).build(tower, self.x)
            self.values = af.global_variables()


async def founder(job: str, index: int) -> None:
    async with Server(CLUSTER, job, index, file_roots=[FOLDER]) as server:
        await server.join()


async def joiner(world: World, name: str, seed: int) -> None:
    """Joins and leaves, again and again; at the end it has left, for a training waits for a member that is away."""
    draw = random.Random(f"{seed} {name} {world.now}")
    while True:
        try:
            if world.now > SECONDS and f"tcp://{name}:1" not in (await query_view("tcp://w0:1")).members.values():
                return
            task, view = await reserve("tcp://w0:1", None, "worker", None, f"{name}:1")
            async with Server(view, *parse_task(task), file_roots=[FOLDER]) as server:
                await anyio.sleep(draw.uniform(0.3, 3.0))
                await server.membership.leave(task)
                await server.drain(1.0)
        except OpError:
            await anyio.sleep(draw.uniform(0.1, 1.0))


async def chief(results: dict[str, Any]) -> None:
    model = Model()
    policy = RestartPolicy(most=1000, longest_seconds=0.5)
    async with af.Supervisor(
        "tcp://w0:1",
        model.graph,
        checkpoint_dir=FOLDER,
        save_steps=5,
        seed=1,
        replicas=REPLICAS,
        restarts=policy,
        session_options={"connect_timeout": 5.0},
    ) as supervisor:
        async for attempt in supervisor.steps(until=STEPS):
            async with attempt as step:
                rows = np.random.default_rng(step).normal(size=(19, 3)).astype(np.float32)
                await supervisor.run(model.train, {model.x: rows})
                await anyio.sleep(0.3)
        results["bits"] = [value.tobytes() for value in await supervisor.run(model.values)]
        results["events"] = Counter(type(event) for event in supervisor.history)


async def main(world: World, seed: int, joiners: tuple[str, ...], results: dict[str, Any]) -> None:
    world.share_files(*FOUNDERS, *JOINERS, "chief")
    for name, place in FOUNDERS.items():
        world.spawn(name, founder, *place)
    for name in joiners:
        world.spawn(name, joiner, world, name, seed)
    await world.spawn("chief", chief, results)


def run(seed: int, joiners: tuple[str, ...] = JOINERS, faults: Faults | None = FAULTS) -> dict[str, Any]:
    results: dict[str, Any] = {}
    hosts = [*FOUNDERS, *JOINERS, "chief"]
    simulate(lambda world: main(world, seed, joiners, results), seed=seed, hosts=hosts, faults=faults, limit=1000)
    return results


@pytest.fixture(scope="module")
def undisturbed() -> list[bytes]:
    bits: list[bytes] = run(0, (), None)["bits"]
    return bits


def test_tasks_that_join_and_leave_by_themselves_get_their_shares(undisturbed: list[bytes]) -> None:
    results = run(1, faults=None)
    assert results["bits"] == undisturbed
    assert results["events"][ReplicasMapped] >= 6 and not results["events"][WorkerLost], results["events"]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 28, 39, 117])
def test_no_bit_changes_under_faults(seed: int, undisturbed: list[bytes]) -> None:
    results = run(seed)
    assert results["bits"] == undisturbed, f"seed {seed}: {results['events']}"
    assert results["events"][ReplicasMapped] >= 3, f"seed {seed}: {results['events']}"
