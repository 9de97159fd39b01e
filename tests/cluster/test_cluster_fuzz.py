"""Random graphs and programs whose nodes are placed at random on three tasks: the same bits as in one process, whatever carries
the tensors, and nothing left of any step, also of those that were cancelled.

`ACTORFLOW_CLUSTER_FUZZ` multiplies how many graphs a run takes (1), `ACTORFLOW_TEST_SEED` is the first one's seed; a failure
names the seed of its graph, the transport and the target.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
import pytest
from channels import start_zmq_collector, until
from clusters import servers
from patience import PATIENCE
from random_graphs import RandomGraph, Request, random_graph
from random_programs import Built, random_program
from test_fuzz import differences, is_pure, same

import actorflow as af
from actorflow.cluster.client.inquiries import query_status, reset
from actorflow.cluster.processes.local import LocalCluster
from actorflow.cluster.server import Server
from actorflow.graph.codec import decode_nodes, encode_nodes

pytestmark = pytest.mark.timeout(120)
TIMES = int(os.environ.get("ACTORFLOW_CLUSTER_FUZZ", "1"))
FIRST = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0)
JOBS = {"ps": 1, "worker": 2}
TASKS = ("/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1")
DEVICES = len(TASKS)
COUNTS = {"local": 16, "zmq": 6, "shm": 6}
PROGRAMS = {"local": 8, "zmq": 3, "shm": 3}


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


def over_tasks(graph: af.Graph, seed: int) -> af.Graph:
    """The same graph, where the nodes of each CPU are those of a task; which of a task is drawn."""
    order = random.Random(seed).sample(TASKS, DEVICES)
    moved = {f"/device:CPU:{number}": task for number, task in enumerate(order)}
    nodes = decode_nodes(graph.to_bytes())
    made = af.Graph()
    made.extend_from_bytes(encode_nodes([replace(node, device=moved.get(node.device, node.device)) for node in nodes]))
    return made


async def check_nothing_is_left(cluster: Sequence[Server]) -> None:
    """No step, no token, no half of a meeting: on no task, over no channel."""
    for server in cluster:
        assert not server.worker.steps.running and server.worker.pending() == "no step is in flight"
        assert not server.worker._rendezvous and not server.worker._aborted
        for endpoint in (server.links.endpoints.control, server.links.endpoints.data):
            for channel in endpoint.channels if endpoint is not None else ():
                await until(lambda channel=channel: not channel.statistics().queued_tensors)
                held = channel.core.inbox.held  # type: ignore[attr-defined]
                assert not held, f"{held} tokens wait at {server.task} on its channel to {channel.peer.identity.task}"


# ---- graphs without control flow


async def alone(made: RandomGraph) -> list[list[Any]]:
    """The results of a session in this process for each request, and at the end the variables."""
    results = []
    async with af.Session(graph=made.graph) as session:
        await session.run(made.initializer)
        for request in [*made.requests, Request(list(made.variables), {})]:
            results.append(await session.run(request.fetches, request.feeds, timeout=PATIENCE))
    return results


async def check_graph(seed: int, target: str) -> None:
    """A graph on one process and on three tasks; pure requests are also run three times at once, and cancelled."""
    made = random_graph(seed, devices=DEVICES)
    want = await alone(random_graph(seed))
    made.graph = over_tasks(made.graph, seed)
    draw = random.Random(seed)
    got = []
    async with af.Session(
        target, made.graph, options=af.PlanOptions(coalesce=draw.random() < 0.7, optimize=draw.random() < 0.7)
    ) as session:
        await session.run(made.initializer)
        for request in [*made.requests, Request(list(made.variables), {})]:
            copies = 3 if is_pure(made.graph, request) else 1
            if copies == 3:
                await session.warmup(request.fetches, request.feeds)
                with anyio.move_on_after(draw.uniform(0, 0.01)):
                    await session.run(request.fetches, request.feeds, timeout=PATIENCE)
            runs = [session.run(request.fetches, request.feeds, timeout=PATIENCE) for _ in range(copies)]
            first, *others = await asyncio.gather(*runs)
            for other in others:
                assert all(map(same, first, other)), "a step changed the result of another"
            got.append(first)
        assert session.statistics().inflight == 0
    if found := differences(want, got, made):
        raise AssertionError("\n".join(found[:5]))


# ---- programs with control flow


def derived(seed: int, devices: int) -> tuple[Built, list[Any]]:
    """A program as a graph, and what is fetched: its results, and of every second one its gradients."""
    program = random_program(seed)
    built = Built(program, known_shapes=seed % 3 > 0, devices=devices)
    fetches = list(built.results)
    if seed % 2:
        with built.graph.as_default():
            floats = [t for t, kind in zip(built.results, program.result_kinds, strict=True) if kind != "i"]
            xs = [t for t in built.inputs if t.dtype is af.float64]
            total = af.add_n([af.reduce_mean(t) for t in floats])
            fetches += [gradient for gradient in af.gradients(total, xs) if gradient is not None]
    return built, [tensor.name for tensor in fetches]


async def check_program(seed: int, target: str) -> None:
    """A program on one process and on three tasks, with what it counted; and cancelled runs of it."""
    program = random_program(seed)
    here, fetches = derived(seed, 1)
    there, _ = derived(seed, DEVICES)
    graph = over_tasks(there.graph, seed)
    draw = random.Random(seed)
    coalesce = draw.random() < 0.7
    ticks = here.ticks.value().name
    async with (
        af.Session(graph=here.graph, options=af.PlanOptions(coalesce=coalesce)) as one,
        af.Session(target, graph) as session,
    ):
        await one.run(here.initializer)
        await session.run(there.initializer.name)
        for number in range(2):
            feeds = {tensor.name: value for tensor, value in zip(here.inputs, program.inputs(number))}
            want = await one.run(fetches, feeds, timeout=PATIENCE)
            got = await session.run(fetches, feeds, timeout=PATIENCE)
            for name, x, y in zip(fetches, want, got, strict=True):
                assert same(x, y), f"run {number}: {name} should be\n{x}\nbut is\n{y}"
            assert await session.run(ticks) == await one.run(ticks), f"side effects of run {number}"
        for _ in range(2):
            with anyio.move_on_after(draw.uniform(0, 0.02)):
                await session.run(fetches, feeds)
        if not program.counts:
            got = await session.run(fetches, feeds, timeout=PATIENCE)
            assert all(map(same, want, got)), "a cancelled run changed a later one"


# ---- where they run


async def check_all(seeds: Iterable[int], check: Any, cluster: Sequence[Server], transport: str) -> None:
    for seed in seeds:
        target = cluster[seed % len(cluster)].target
        try:
            await check(seed, target)
            await check_nothing_is_left(cluster)
            await reset(target, [])
        except Exception as error:
            raise AssertionError(f"seed {seed} over {transport}, target {TASKS[seed % DEVICES]}: {error!r}") from error


@pytest.mark.parametrize("transport", COUNTS)
async def test_f40_f48_f51_f53_random_graphs_over_three_tasks_have_the_bits_of_one(transport: str) -> None:
    async with servers(JOBS, transport) as cluster:
        await check_all(range(FIRST, FIRST + COUNTS[transport] * TIMES), check_graph, cluster, transport)


@pytest.mark.parametrize("transport", PROGRAMS)
async def test_f77_f80_f81_random_programs_over_three_tasks_have_the_bits_of_one(transport: str) -> None:
    async with servers(JOBS, transport) as cluster:
        await check_all(range(FIRST, FIRST + PROGRAMS[transport] * TIMES), check_program, cluster, transport)


@asynccontextmanager
async def processes() -> AsyncIterator[LocalCluster]:
    """Three processes, which know the test's own op."""
    async with LocalCluster(JOBS, imports=["random_graphs"]) as cluster:
        yield cluster


async def test_f53_random_graphs_and_programs_over_three_processes() -> None:
    context: AbstractAsyncContextManager[LocalCluster] = processes()
    async with context as cluster:
        for seed in range(FIRST, FIRST + 4 * TIMES):
            task = TASKS[seed % DEVICES]
            target = cluster.target_of(task)
            try:
                await (check_graph if seed % 2 else check_program)(seed, target)
                for other in TASKS:
                    status = await query_status(cluster.target_of(other))
                    assert status["steps_in_flight"] == 0, f"{other} still runs something"
                await reset(target, [])
            except Exception as error:
                raise AssertionError(f"seed {seed}, target {task}: {error!r}") from error


def test_the_placement_uses_all_tasks() -> None:
    for seed in range(3):
        nodes = over_tasks(random_graph(seed, devices=DEVICES).graph, seed).nodes.values()
        assert {node.device for node in nodes} >= set(TASKS)
        assert np.mean([node.device in TASKS for node in nodes]) > 0.4
