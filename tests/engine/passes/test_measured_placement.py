"""Placement by what runs have shown: measured times come from the workers to the master, which places new plans by them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import msgpack
import numpy as np
import pytest
from clusters import servers
from engine.placement.held_ops import LENGTHS, hold, pieces

import actorflow as af
from actorflow import errors
from actorflow.cluster.server import Server
from actorflow.cluster.wire.messages import Costs, Measured, Replan
from actorflow.engine.placement.cost_model import node_cost
from actorflow.engine.placement.measuring import NodeMeasurement, decode_observed, encode_observed, measurements
from actorflow.graph.analysis.subgraph import Subgraph


@pytest.fixture
async def cluster() -> AsyncIterator[list[Server]]:
    async with servers({"worker": 2}) as found:
        yield found


# ---- in a cluster


async def test_f43_the_second_plan_goes_by_measured_times(cluster: list[Server], graph: af.Graph) -> None:
    x, total = pieces()
    batch = np.ones(4, np.float32)
    async with af.Session(cluster[0].target, graph) as session:
        for _ in range(5):
            assert (await session.run(total, {x: batch})).tolist() == [4] * 4
        found = measurements(await session.measured(), graph.nodes)
        for name, seconds in LENGTHS.items():
            assert seconds <= found.seconds[name] < seconds + 0.05
            assert found.devices[name] == session.placement(name)
        await session.replan()
        for _ in range(2):
            assert (await session.run(total, {x: batch})).tolist() == [4] * 4
        homes = {name: session.placement(name) for name in LENGTHS}
        assert [name for name in homes if homes[name] == homes["long"]] == ["long"], homes
        assert "done" in await session.explain_placement("long")


async def test_f43_what_has_state_stays_and_takes_along_what_must_be_with_it(
    cluster: list[Server], graph: af.Graph
) -> None:
    v = af.Variable(np.ones(4, np.float32), name="v")
    noise = af.random_uniform([4], name="noise")
    queue = af.FIFOQueue(2, [af.float32], [()], name="queue")
    slow = hold(v + noise, seconds=0.005, name="slow")
    other = hold(af.placeholder(af.float32, [4], name="x"), seconds=0.005, name="other")
    update = v.assign_add(slow + other)
    async with af.Session(cluster[1].target, graph) as session:
        await session.run([v.initializer, queue.enqueue(1.0)])
        before = await session.run(update, {"x:0": np.zeros(4, np.float32)})
        stateful = [
            n for n in graph.nodes if graph.nodes[n].op in ("VariableV2", "VarHandleOp", "FIFOQueueV2", "FIFOQueue")
        ]
        stateful += [n for n in graph.nodes if "RandomUniform" in graph.nodes[n].op]
        assert len(stateful) >= 3
        homes = {name: session.placement(name) for name in stateful}
        await session.replan()
        after = await session.run(update, {"x:0": np.zeros(4, np.float32)})
        assert {name: session.placement(name) for name in stateful} == homes
        assert session.placement(update) == session.placement("v")
        assert (after > before).all() and await session.run(queue.dequeue()) == 1.0


async def test_f43_callables_follow_a_new_plan_and_steps_in_flight_end_with_theirs(
    cluster: list[Server], graph: af.Graph
) -> None:
    x, total = pieces()
    batch = np.ones(4, np.float32)
    async with af.Session(cluster[0].target, graph) as session:
        call = await session.make_callable(total, [x])
        results: list[Any] = []

        async def run() -> None:
            results.append(await call(batch))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(run)
            await anyio.lowlevel.checkpoint()
            await session.replan()
        await run()
        assert len(results) == 4 and all(result.tolist() == [4] * 4 for result in results)
        assert session.statistics().plans == 2


async def test_f43_a_session_in_one_process_is_planned_anew_too(graph: af.Graph) -> None:
    x, total = pieces()
    batch = np.ones(4, np.float32)
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        for _ in range(5):
            await session.run(total, {x: batch})
        await session.replan()
        assert (await session.run(total, {x: batch})).tolist() == [4] * 4
        homes = {name: session.placement(name) for name in LENGTHS}
        assert [name for name in homes if homes[name] == homes["long"]] == ["long"], homes
        assert session.statistics().plans == 2


async def test_f62_what_was_measured_is_told_to_its_owner_only(cluster: list[Server], graph: af.Graph) -> None:
    async with af.Session(cluster[0].target, graph) as session:
        link = await session._engine.connected()  # type: ignore[attr-defined]

        for request in (Measured(12345), Replan(12345)):
            with pytest.raises(errors.FailedPreconditionError, match="no session 12345"):
                await link.call(request)
        assert decode_observed(msgpack.unpackb(await link.call(Costs(12345)))) == []


# ---- from what was observed to what placement takes


def test_f43_merged_nodes_share_their_time_as_was_expected(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [100, 100], name="x")
    product = af.matmul(x, x, name="product")
    total = af.add(product, 1.0, name="total")
    found = measurements([NodeMeasurement(("product", "total"), "/cpu", 3e6, 5)], graph.nodes)
    whole = Subgraph(graph.nodes)
    costs = {node.name: node_cost(node, whole) for node in (graph.nodes["product"], graph.nodes["total"])}
    for name, cost in costs.items():
        assert found.seconds[name] == pytest.approx(3e-3 * cost / sum(costs.values()))
    assert total.op.name in found.devices


def test_f43_what_was_timed_most_often_counts(graph: af.Graph) -> None:
    af.placeholder(af.float32, [], name="x")
    rows = [
        NodeMeasurement(("x",), "/a", 5e6, 9),
        NodeMeasurement(("x",), "/b", 1e6, 2),
        NodeMeasurement(("gone",), "/a", 1.0, 99),
    ]
    for some in (rows, rows[::-1]):
        found = measurements(some, graph.nodes)
        assert dict(found.seconds) == {"x": 5e-3} and dict(found.devices) == {"x": "/a"}


async def test_f43_sizes_that_the_graph_does_not_tell_are_measured(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None], name="x")
    y = hold(x, seconds=0.001, name="y")
    async with af.Session(graph=graph) as session:
        for _ in range(3):
            await session.run(y, {x: np.ones(500, np.float32)})
        rows = await session.measured()
    assert decode_observed(encode_observed(rows)) == rows
    assert measurements(rows, graph.nodes).bytes["y"] == [2000]
