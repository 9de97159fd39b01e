"""The real servers, masters and workers in a simulated cluster, unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow.cluster.server import Server
from actorflow.errors import FailedPreconditionError, OpError
from actorflow.testing import Faults, Trace, World, simulate

CLUSTER = {"ps": ["ps0:1"], "worker": ["w0:1", "w1:1"]}
HOSTS = {"ps0": ("ps", 0), "w0": ("worker", 0), "w1": ("worker", 1)}
SECONDS = 12.0
FAULTS = Faults(crashes=0.05, freezes=0.05, partitions=0.03, resets=0.05, hosts=tuple(HOSTS), until=SECONDS)


async def serve(job: str, index: int) -> None:
    """A task of the cluster."""
    async with Server(CLUSTER, job, index) as server:
        await server.join()


async def client(world: World, ends: Counter[str]) -> None:
    """Steps over all tasks, with a variable on one of them. Every step gives the right values, or an error."""
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None])
        with af.device("/job:ps/task:0"):
            v = af.Variable(np.zeros(20_000, np.float32), name="v")
        with af.device("/job:worker/task:0"):
            added = v.assign_add(af.ones([20_000]))
        with af.device("/job:worker/task:1"):
            doubled = x * 2.0
        with af.device("/job:ps/task:0"):
            more = doubled + 1.0
        init = af.global_variables_initializer()
    ready = False
    async with af.Session("tcp://w0:1", graph=graph) as session:
        while world.now < SECONDS + 15:
            try:
                with anyio.fail_after(10):
                    if not ready:
                        await session.run(init)
                        ready = True
                    assert (await session.run(more, {x: np.arange(3)})).tolist() == [1, 3, 5]
                    value = await session.run(added)
                    assert (value == value[0]).all()
                ends["good"] += 1
            except (OpError, TimeoutError) as error:
                ends[type(error).__name__] += 1
                ready &= not isinstance(error, FailedPreconditionError)
            await anyio.sleep(0.3)
        ends["good at the end"] += (await session.run(more, {x: np.arange(3)})).tolist() == [1, 3, 5]


async def main(world: World) -> Counter[str]:
    """Three tasks and a client."""
    ends: Counter[str] = Counter()
    for name, place in HOSTS.items():
        world.spawn(name, serve, *place)
    await world.spawn("client", client, world, ends, again=False)
    return ends


def run(seed: int, faults: Faults | None = FAULTS) -> tuple[Counter[str], str]:
    """The ends of the steps, and the digest of the trace."""
    trace = Trace()
    ends = simulate(main, seed=seed, hosts=[*HOSTS, "client"], faults=faults, trace=trace, limit=1000)
    return ends, trace.digest


def test_f58_servers_run_in_a_simulated_cluster() -> None:
    ends, _ = run(1, None)
    assert ends.keys() == {"good", "good at the end"} and ends["good"] > 50


def test_f63_f65_steps_give_the_right_values_or_an_error_and_go_on_after_faults() -> None:
    ends: Counter[str] = Counter()
    for seed in range(6):
        ends.update(run(seed)[0])
    assert ends["good at the end"] == 6, ends
    assert ends["good"] > 100 and ends["UnavailableError"] > 3, ends


@pytest.mark.real_memory
def test_a_seed_gives_the_same_events_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, __file__, "3"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "20000")
    }
    assert found == {f"{run(3)[1]}\n"}


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(run(int(argument))[1])
