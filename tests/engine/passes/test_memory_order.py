"""Orders of nodes that take less memory than the ready queue's own, measured by the counters of a simulated device."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
import pytest
from engine.passes.memory_models import MLP, inline, simulated, wide
from random_graphs import later

import actorflow as af
from actorflow import blocking, errors
from actorflow.engine.passes.memory import budget as passes_memory
from actorflow.engine.passes.memory.lifetimes import Lifetimes
from actorflow.engine.passes.memory.order import best_order, greedy, order_memory
from actorflow.graph.analysis.ancestry import waits
from actorflow.graph.analysis.subgraph import Subgraph

pytestmark = pytest.mark.usefixtures(inline.__name__)
THRESHOLD = 256


def trained(model: MLP, lower: bool, coalesce: bool) -> tuple[list[bytes], int, int]:
    """The losses and weights of three steps, the most bytes that the third one took, and how many of these are variables."""
    device = simulated()
    with blocking.Session(
        graph=model.graph, devices=[device], options=af.PlanOptions(lower_peak=lower, coalesce=coalesce, jit=False)
    ) as session:
        session.run(model.initializer)
        found = [session.run([model.loss, model.train], model.feeds)[0].tobytes() for _ in range(2)]
        before = device.allocator.statistics().live_bytes
        device.allocator.reset_peak()  # type: ignore[attr-defined]
        found.append(session.run([model.loss, model.train], model.feeds)[0].tobytes())
        peak = device.allocator.statistics().peak_bytes
        return [*found, *(value.tobytes() for value in session.run(model.variables))], peak, before


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("optimizer", [af.train.GradientDescentOptimizer(0.5), af.train.AdamOptimizer(0.01)])
def test_f72_training_eight_layers_takes_less_than_in_fifo_order(optimizer: Any, coalesce: bool) -> None:
    """At least an activation less, of some ten; and the same bits."""
    model = MLP(optimizer=optimizer)
    plain, most, variables = trained(model, False, coalesce)
    ordered, less, _ = trained(model, True, coalesce)
    assert ordered == plain
    assert 10 * model.activation < most - variables
    assert less <= most - model.activation


async def _peak(graph: af.Graph, x: Any, y: Any, lower: bool, coalesce: bool) -> tuple[Any, int]:
    device = simulated()
    async with af.Session(
        graph=graph, devices=[device], options=af.PlanOptions(lower_peak=lower, coalesce=coalesce, jit=False)
    ) as session:
        value = await session.run(y, {x: np.linspace(-1, 1, 64, dtype=np.float32)})
        return value, device.allocator.statistics().peak_bytes


def test_f72_random_graphs_never_take_more_and_most_take_less(seed: int) -> None:
    ratios = []
    for number in range(seed, seed + 6):
        graph, x, y = wide(number)
        for coalesce in (True, False):
            value, plain = asyncio.run(_peak(graph, x, y, False, coalesce))
            same, lower = asyncio.run(_peak(graph, x, y, True, coalesce))
            assert same.tobytes() == value.tobytes(), f"seed {number}"
            assert lower <= plain, f"seed {number}, coalesce={coalesce}"
            ratios.append(lower / plain)
    assert np.mean(ratios) < 0.85, "on average a sixth less"


@pytest.mark.parametrize("coalesce", [True, False])
def test_f72_what_is_expected_is_what_is_measured(seed: int, coalesce: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all shapes are known and nothing runs elsewhere, the estimate is exact: of the runtime's order, and of ours."""
    expected: list[int] = []
    original = passes_memory.order_memory

    def noted(graph: Subgraph, *arguments: Any) -> Subgraph:
        for made in (graph, after := original(graph, *arguments)):
            known = Lifetimes(made, THRESHOLD)
            expected.append(known.peak(known.fifo()))
        return after

    monkeypatch.setattr(passes_memory, "order_memory", noted)
    for number in range(seed, seed + 5):
        expected.clear()
        graph, x, y = wide(number)
        _, lower = asyncio.run(_peak(graph, x, y, True, coalesce))
        _, plain = asyncio.run(_peak(graph, x, y, False, coalesce))
        assert [plain, lower] == expected, f"seed {number}"


def test_f72_a_short_budget_is_enough_for_lowering_the_peak() -> None:
    """No one asks for it: the device's budget is between both peaks, and so the order changes."""
    model = MLP(optimizer=af.train.AdamOptimizer(0.01))
    _, most, _ = trained(model, False, True)
    budget, fetches = most - model.activation, [model.loss, model.train]
    for save, fails in ((True, False), (False, True)):
        device = simulated(budget)
        device.swaps = False
        with blocking.Session(
            graph=model.graph, devices=[device], options=af.PlanOptions(save_memory=save, jit=False)
        ) as session:
            session.run(model.initializer)
            if fails:
                with pytest.raises(errors.ResourceExhaustedError):
                    session.run(fetches, model.feeds)
            else:
                session.run(fetches, model.feeds)
                assert device.allocator.statistics().peak_bytes <= budget


def subgraph_of(graph: af.Graph, x: Any, y: Any) -> Subgraph:
    """All nodes of a graph, with `x` fed and `y` fetched."""
    nodes = {n.name: n for n in graph.nodes.values() if n.op != "Placeholder"}
    return Subgraph(nodes, {x.tensor_id: (x.dtype, x.static_shape)}, (y.tensor_id,))


def test_f72_orders_are_complete_and_the_same_each_time(seed: int) -> None:
    for number in range(seed, seed + 10):
        made = subgraph_of(*wide(number))
        known = Lifetimes(made, THRESHOLD)
        for order in (known.fifo(), greedy(known, "frees"), greedy(known, "young")):
            assert sorted(order) == list(range(len(known.nodes)))
            place = {known.nodes[at].name: i for i, at in enumerate(order)}
            assert all(
                place[need] < place[node.name]
                for node in known.nodes
                for need in made.predecessors(node)
                if need in place
            )
        assert best_order(known, known.fifo()) == best_order(Lifetimes(made, THRESHOLD), known.fifo())
        assert str(order_memory(made, THRESHOLD)) == str(order_memory(made, THRESHOLD))


def test_f72_nothing_waits_for_what_it_does_not_wait_for_anyway(seed: int) -> None:
    """Some tensors come later than others, and no one knows when: of the edges that are added none leads from what waits for
    them to what does not."""
    rng = random.Random(seed)
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [64])
        sums = []
        for number in range(12):
            start = later(x, turns=1) if rng.random() < 0.5 else x
            long = af.tile(start * (1.0 + number), [rng.randint(2, 9)])
            sums.append(af.reduce_sum(af.tanh(long)) + af.reduce_sum(long))
        y = af.add_n(sums)
    before = subgraph_of(graph, x, y)
    after = order_memory(before, THRESHOLD)
    tokens = waits(before)
    added = [
        (control, node.name)
        for node in after.nodes.values()
        for control in node.controls
        if control not in before.nodes[node.name].controls
    ]
    assert len(added) > 6
    assert all(tokens[first] & ~tokens[second] == 0 for first, second in added)


def test_f72_small_tensors_cost_nothing_and_change_nothing() -> None:
    graph, x, y = wide(3)
    made = subgraph_of(graph, x, y)
    assert order_memory(made, 1 << 20) is made
