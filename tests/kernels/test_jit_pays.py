"""Which loops and updates are compiled: those that replace more than they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiled_loops import both_ways

import actorflow as af
from actorflow.graph.tensor import Tensor

pytest.importorskip("llvmlite", reason="the extra `jit` is not installed")


from actorflow.kernels.jit import updates

FEW = 2003


def numbers(elements: int) -> Any:
    return np.linspace(-4, 4, elements, dtype=np.float32)


def chain(x: Tensor, y: Tensor) -> Tensor:
    return (x * y + x) * y


PAYING: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor], int, bool], ...] = (
    ("one prepared call", lambda x, y: af.nn.relu(x), 1 << 18, False),
    ("one prepared call of several instructions", lambda x, y: af.gradients(af.nn.relu(x), x, y)[0], 1 << 18, False),
    ("several passes, few elements", chain, FEW, False),
    ("several passes, many elements", chain, 1 << 15, True),
    ("a kernel of several functions of numpy", lambda x, y: af.nn.leaky_relu(x), 1 << 12, True),
)


@pytest.mark.parametrize(("build", "elements", "pays"), [row[1:] for row in PAYING], ids=[row[0] for row in PAYING])
async def test_a_loop_is_made_where_it_replaces_more_than_it_costs(
    graph: af.Graph, build: Callable[[Tensor, Tensor], Tensor], elements: int, pays: bool
) -> None:
    x, y = af.placeholder(af.float32, [elements]), af.placeholder(af.float32, [elements])
    feeds = {x: numbers(elements), y: numbers(elements)}
    assert await both_ways(graph, [af.reduce_max(build(x, y))], feeds) == pays


@pytest.mark.parametrize(
    ("optimizer", "elements", "pays"),
    [
        (af.train.GradientDescentOptimizer, 1 << 20, False),  # two instructions: the memory decides
        (af.train.AdamOptimizer, 1 << 12, False),
        (af.train.AdamOptimizer, 1 << 15, True),
    ],
)
async def test_an_update_is_compiled_where_it_has_many_instructions_and_elements(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch, optimizer: Callable[[float], Any], elements: int, pays: bool
) -> None:
    demanded: list[Any] = []
    by_loop = updates._by_loop
    monkeypatch.setattr(updates, "_by_loop", lambda *given: demanded.append(given) or by_loop(*given))
    v, x = af.Variable(np.zeros(elements, np.float32)), af.placeholder(af.float32, [elements])
    step, init = optimizer(0.5).apply_gradients([(x, v)]), af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        await session.run(step, {x: np.ones(elements, np.float32)})
    assert bool(demanded) == pays
