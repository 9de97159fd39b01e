"""`CostModel`: learned costs place a graph that has never run, say how sure they are, and are kept in a file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import servers

import actorflow as af
from actorflow import errors
from actorflow.engine.placement.cost_model import node_cost
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts
from actorflow.graph.analysis.subgraph import Subgraph

HERE = "/job:worker/replica:0/task:0/device:CPU:0"


def products(*sizes: int) -> af.Graph:
    """A product of square matrices of each size."""
    made = af.Graph()
    with made.as_default():
        for size in sizes:
            x = af.placeholder(af.float32, [size, size], name=f"x{size}")
            af.matmul(x, x, name=f"product{size}")
    return made


def measured(graph: af.Graph, factor: float, power: float = 1.0) -> list[NodeMeasurement]:
    """As if each node of the op took `factor` times its estimate to the power."""
    whole = Subgraph(graph.nodes)
    named = [node for node in graph.nodes.values() if node.name.startswith("product")]
    return [NodeMeasurement((n.name,), HERE, factor * node_cost(n, whole) ** power, 20, ()) for n in named]


def error(model: af.CostModel, graph: af.Graph, name: str, truth: float) -> float:
    """By what factor an estimate is wrong."""
    return math.exp(abs(math.log(model.estimate(graph.nodes[name], graph).seconds / truth)))


def test_f42_a_node_that_was_seen_costs_what_was_measured() -> None:
    graph = products(64, 128)
    model = af.CostModel()
    assert model.learn(measured(graph, 3.0), graph) == 2
    found = model.estimate(graph.nodes["product64"], graph)
    assert found.seen and found.measurements == 2
    assert found.seconds == pytest.approx(3e-9 * node_cost(graph.nodes["product64"], Subgraph(graph.nodes)))


def test_f42_other_sizes_follow_the_line_of_the_op() -> None:
    """A cost that grows faster than the estimate is learned from twelve sizes, and holds for one between and one beyond."""
    graph, other = products(*range(32, 416, 32)), products(200, 500)
    model = af.CostModel()
    model.learn(measured(graph, 0.02, power=1.3), graph)
    whole = Subgraph(other.nodes)
    for name in ("product200", "product500"):
        cost = node_cost(other.nodes[name], whole)
        truth = 0.02e-9 * cost**1.3
        assert error(model, other, name, truth) < 1.25 < error(af.CostModel(), other, name, truth)
        assert not model.estimate(other.nodes[name], other).seen


def test_f42_an_op_that_was_never_seen_has_what_is_common_to_all() -> None:
    graph = products(*range(32, 416, 32))
    with graph.as_default():
        x = af.placeholder(af.float32, [500, 500])
        af.exp(x, name="new")
    model = af.CostModel()
    model.learn(measured(graph, 10.0), graph)
    static = 1e-9 * node_cost(graph.nodes["new"], Subgraph(graph.nodes))
    found = model.estimate(graph.nodes["new"], graph)
    assert static < found.seconds < 10 * static, "one op says something of all, and not all"
    assert found.measurements == 0 and found.factor > model.estimate(graph.nodes["product32"], graph).factor
    assert af.CostModel().estimate(graph.nodes["new"], graph).seconds == pytest.approx(static)


def test_f42_it_is_surer_the_more_it_has_seen() -> None:
    other = products(200)
    factors = []
    for count in (1, 4, 12):
        graph = products(*range(32, 32 + 32 * count, 32))
        model = af.CostModel()
        model.learn(measured(graph, 2.0), graph)
        factors.append(model.estimate(other.nodes["product200"], other).factor)
    assert factors == sorted(factors, reverse=True) and factors[-1] < 2


def test_f42_a_model_is_kept_in_a_file(tmp_path: Path) -> None:
    graph = products(64, 128)
    model = af.CostModel()
    model.learn(measured(graph, 3.0), graph)
    model.links = LinkCosts(host=LinkCost(1e-4, 2e9, 1e-5), between={("a", "b"): LinkCost(5e-4)}, steps={"a": 3e-4})
    model.save(tmp_path / "costs")
    again = af.CostModel.load(tmp_path / "costs")
    assert again.links == model.links and again.predicted(graph) == model.predicted(graph)
    assert [path.name for path in tmp_path.iterdir()] == ["costs"]
    for content in (
        "no JSON",
        "{}",
        json.dumps({"format": "other"}),
        json.dumps({"format": "actorflow costs 1", "points": 3}),
    ):
        (tmp_path / "bad").write_text(content)
        with pytest.raises(errors.InvalidArgumentError, match="no learned costs"):
            af.CostModel.load(tmp_path / "bad")


BATCH = np.ones([96, 96], np.float32)


def branches() -> tuple[Any, Any]:
    """Two branches that nothing but costs tells apart."""
    x = af.placeholder(af.float32, [96, 96], name="x")
    one = two = x
    for k in range(4):
        one, two = af.matmul(one, x, name=f"one{k}"), af.matmul(two, x, transpose_b=True, name=f"two{k}")
    return x, af.reduce_sum(one) + af.reduce_sum(two)


async def test_f42_a_graph_that_never_ran_is_placed_by_learned_costs(graph: af.Graph) -> None:
    """The first plan has each branch of costly products on a device of its own; static estimates keep them together."""
    x, total = branches()
    model = af.CostModel()
    model.learn([NodeMeasurement((n,), HERE, 2e7, 20, ()) for n in graph.nodes if n[:3] in ("one", "two")], graph)
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        await session.run(total, {x: BATCH})
        assert len({session.placement(f"{branch}{k}") for branch in ("one", "two") for k in range(4)}) == 1
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        await session.replan(costs=model)
        await session.run(total, {x: BATCH})
        homes = [{session.placement(f"{branch}{k}") for k in range(4)} for branch in ("one", "two")]
        assert [len(home) for home in homes] == [1, 1] and homes[0] != homes[1]
        for _ in range(40):
            await session.run(total, {x: BATCH})
        await session.replan()
        await session.run(total, {x: BATCH})
        assert session.placement("one0") == session.placement("two0"), "what runs have shown goes before"


async def test_f42_learned_costs_and_measured_links_reach_a_master(graph: af.Graph) -> None:
    x, total = branches()
    model = af.CostModel()
    model.learn([NodeMeasurement((n,), HERE, 2e7, 20, ()) for n in graph.nodes if n[:3] in ("one", "two")], graph)
    async with servers({"worker": 2}) as found:
        model.links = await af.measure_links(found[0].target, rounds=3)
        assert len(model.links.between) == 2
        here, there = model.links.steps.values()
        assert 0 < here and 0 < there
        for link in (model.links.host, *model.links.between.values()):
            assert link.latency > 0 and link.bandwidth > 1e6 and link.overhead >= 0
        async with af.Session(found[0].target, graph) as session:
            await session.replan(costs=model)
            await session.run(total, {x: BATCH})
            assert session.placement("one0") != session.placement("two0")
            study = await session.study_placement()
            assert study.problem.machine.links[0][1] == model.links.host


def test_f42_a_blocking_session_takes_learned_costs(graph: af.Graph) -> None:
    x, total = branches()
    with af.blocking.Session(graph=graph) as session:
        session.replan(costs=af.CostModel())
        assert session.run(total, {x: BATCH}) > 0
