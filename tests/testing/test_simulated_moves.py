"""Servers join, leave and crash in a simulated cluster while variables move: no bit changes, and no write is lost or doubled."""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import Any

import anyio
import numpy as np
import pytest
from simulation.history import LEDGER, History, recorded

import actorflow as af
from actorflow.cluster.client.membership import query_view, reserve
from actorflow.cluster.config.spec import parse_task
from actorflow.cluster.server import Server
from actorflow.errors import OpError
from actorflow.supervisor import RestartPolicy, Restored, StateMoved
from actorflow.testing import Faults, World, simulate

CLUSTER = {"ps": ["ps0:1"], "worker": ["w0:1"]}
FOUNDERS = {"ps0": ("ps", 0), "w0": ("worker", 0)}
JOINERS = {"p1": "ps", "p2": "ps", "j0": "worker"}
STEPS, REPLICAS, SECONDS = 40, 4, 14.0
FAULTS = Faults(crashes=0.03, freezes=0.03, partitions=0.03, resets=0.05, hosts=("ps0", *JOINERS), until=SECONDS)
FOLDER = "/models"


class Model:
    """Variables of several sizes on whatever servers are there, noise of the servers, and a ledger that each step adds one to."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph, af.device("/job:ps"):
            step = af.train.get_or_create_global_step()
            self.x = af.placeholder(af.float32, [None, 3])
            noise = af.random_uniform([], -0.1, 0.1, seed=3)
            sizes = (7, 5, 4)
            weights = [af.Variable(np.ones((3, size), np.float32), name=f"w{size}") for size in sizes]
            ledger = af.Variable(np.int64(0), name=LEDGER)

            def tower(x: af.Tensor) -> af.Operation:
                loss = af.add_n([af.reduce_mean(af.square(af.sin(x) @ w - noise)) for w in weights])
                return af.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=step)

            trained = af.train.Replicas(REPLICAS, seed=2).build(tower, self.x)
            with af.control_dependencies([trained]):
                self.train = ledger.assign(ledger.read_value() + 1)
            self.values = af.global_variables()


async def founder(job: str, index: int, history: History) -> None:
    server = Server(CLUSTER, job, index, file_roots=[FOLDER])
    history.begins(server)  # before it answers
    async with server:
        await server.join()


async def joiner(world: World, name: str, seed: int, history: History, ends: Counter[str]) -> None:
    """Joins and leaves, again and again; at the end it has left, for a training waits for a member that is away."""
    draw, job = random.Random(f"{seed} {name} {world.now}"), JOINERS[name]
    while True:
        try:
            if world.now > SECONDS and f"tcp://{name}:1" not in (await query_view("tcp://w0:1")).members.values():
                return
            task, view = await reserve("tcp://w0:1", None, job, None, f"{name}:1")
            server = Server(view, *parse_task(task), file_roots=[FOLDER])
            history.begins(server)
            async with server:
                await anyio.sleep(draw.uniform(0.5, 4.0))
                while True:
                    try:
                        await server.membership.leave(task)
                        break
                    except OpError as error:
                        ends[type(error).__name__] += 1
                        await anyio.sleep(draw.uniform(0.3, 1.0))
                ends[f"{job} has left"] += 1
                await server.drain(1.0)
        except OpError as error:
            ends[type(error).__name__] += 1
            await anyio.sleep(draw.uniform(0.1, 1.0))


async def chief(results: dict[str, Any], copies: int) -> None:
    model = Model()
    async with af.Supervisor(
        "tcp://w0:1",
        model.graph,
        checkpoint_dir=FOLDER,
        save_steps=5,
        seed=1,
        replicas=REPLICAS,
        copies=copies,
        restarts=RestartPolicy(most=1000, longest_seconds=0.5),
        session_options={"connect_timeout": 5.0},
    ) as supervisor:
        async for attempt in supervisor.steps(until=STEPS):
            async with attempt as step:
                rows = np.random.default_rng(step).normal(size=(9, 3)).astype(np.float32)
                value = await supervisor.run(model.train, {model.x: rows})
                assert value == step + 1, f"the ledger is {value} behind step {step}"
                await anyio.sleep(0.3)
        results["bits"] = [value.tobytes() for value in await supervisor.run(model.values)]
        results["events"] = Counter(type(event) for event in supervisor.history)
        results["from copies"] = sum(isinstance(e, Restored) and e.from_copies for e in supervisor.history)


async def main(world: World, seed: int, joiners: tuple[str, ...], copies: int, results: dict[str, Any]) -> None:
    history = results["history"] = History(world)
    results["ends"] = Counter()
    world.share_files(*FOUNDERS, *JOINERS, "chief")
    with recorded(history):
        for name, place in FOUNDERS.items():
            world.spawn(name, founder, *place, history)
        for name in joiners:
            world.spawn(name, joiner, world, name, seed, history, results["ends"])
        await world.spawn("chief", chief, results, copies)
    history.check()


def run(seed: int, joiners: tuple[str, ...] = (*JOINERS,), faults: Faults | None = FAULTS) -> dict[str, Any]:
    results: dict[str, Any] = {}
    hosts = [*FOUNDERS, *JOINERS, "chief"]
    work = lambda world: main(world, seed, joiners, seed % 2, results)  # noqa: E731
    simulate(work, seed=seed, hosts=hosts, faults=faults, limit=1000)
    return results


@pytest.fixture(scope="module")
def undisturbed() -> list[bytes]:
    bits: list[bytes] = run(0, (), None)["bits"]
    return bits


def test_servers_that_join_and_leave_get_and_give_variables(undisturbed: list[bytes]) -> None:
    results = run(0, faults=None)
    assert results["bits"] == undisturbed
    assert results["events"][StateMoved] >= 2 and results["ends"]["ps has left"] >= 1, results
    assert sum(row.is_update for row in results["history"].writes) >= STEPS


@pytest.mark.parametrize("seed", range(3))
def test_no_bit_changes_and_no_update_is_lost_under_faults(seed: int, undisturbed: list[bytes]) -> None:
    results = run(seed)
    assert results["bits"] == undisturbed, f"seed {seed}: {results['events']}"


if __name__ == "__main__":
    expected = run(0, (), None)["bits"]
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            told = run(number)
        except BaseException as error:
            print(number, "FAILED", type(error).__name__, str(error)[:300], flush=True)
            continue
        same = told["bits"] == expected
        kinds = {kind.__name__: count for kind, count in told["events"].items()}
        print(number, "ok" if same else "OTHER BITS", told["from copies"], kinds, dict(told["ends"]), flush=True)
