"""Sums of products become one product, and of a product only the columns are computed that somebody takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.blocking import Session
from actorflow.engine.passes.fusion.batch_products import batch_products
from actorflow.engine.runtime.tape import product_sum
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node

ROWS, INPUTS, UNITS = 32, 48, 64


def batched(graph: af.Graph, fetches: Sequence[af.Tensor], feeds: Sequence[af.Tensor] = ()) -> dict[str, list[Node]]:
    """The nodes by op, as the pass leaves them."""
    types = {t.tensor_id: (t.dtype, t.static_shape) for t in feeds}
    part = batch_products(prune(Subgraph(graph.nodes, types, tuple(t.tensor_id for t in fetches), ())))
    found: dict[str, list[Node]] = {}
    for node in part.nodes.values():
        found.setdefault(node.op, []).append(node)
    return found


def pieces(count: int = 4, rows: int = ROWS) -> tuple[list[af.Tensor], list[af.Tensor]]:
    left = [af.placeholder(af.float32, [rows + i, INPUTS]) for i in range(count)]
    return left, [af.placeholder(af.float32, [rows + i, UNITS]) for i in range(count)]


def products(left: Sequence[af.Tensor], right: Sequence[af.Tensor]) -> list[af.Tensor]:
    return [af.matmul(a, b, transpose_a=True) for a, b in zip(left, right, strict=True)]


def test_a_sum_of_products_is_a_product_of_all_rows(graph: af.Graph) -> None:
    left, right = pieces()
    total = af.add_n(products(left, right), name="total")
    found = batched(graph, [total], [*left, *right])
    (product,) = found["MatMul"]
    assert "AddN" not in found
    assert product.name == "total"
    assert [node.shapes for node in found["ConcatV2"]] == [((4 * ROWS + 6, INPUTS),), ((4 * ROWS + 6, UNITS),)]
    rng = np.random.default_rng(0)
    feeds = {t: rng.normal(size=t.static_shape).astype(np.float32) for t in (*left, *right)}
    wanted = sum(feeds[a].T.astype(float) @ feeds[b] for a, b in zip(left, right, strict=True))
    with Session(graph=graph) as session:
        np.testing.assert_allclose(session.run(total, feeds), wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("reason", ["two", "fetched", "fed", "used", "other", "many", "small", "waited for"])
def test_other_sums_stay(graph: af.Graph, reason: str) -> None:
    left, right = pieces(2 if reason == "two" else 4, {"many": 300, "small": 2}.get(reason, ROWS))
    made = products(left, right)
    if reason == "other":
        made[1] = af.identity(made[1])
    fetches = []
    if reason == "fetched":
        fetches.append(made[0])
    if reason == "used":
        fetches.append(-made[0])
    if reason == "waited for":
        with af.control_dependencies([made[0]]):
            fetches.append(-left[0])
    fetches.append(af.add_n(made))
    found = batched(graph, fetches, [*left, *right, *([made[0]] if reason == "fed" else [])])
    assert len(found["AddN"]) == 1
    assert "ConcatV2" not in found


def test_columns_that_nobody_takes_are_not_computed(graph: af.Graph) -> None:
    """The gradient of a cell's inputs is not computed where only that of its state is needed."""
    x, h = (af.placeholder(af.float32, [ROWS, size]) for size in (INPUTS, 80))
    w = af.placeholder(af.float32, [INPUTS + 80, 4 * UNITS])
    y = af.matmul(af.concat([x, h], 1), w)
    dx, dh = af.gradients(af.square(y), [x, h])
    assert "Slice" not in batched(graph, [dx, dh], [x, h, w])
    rng = np.random.default_rng(0)
    feeds = {t: rng.normal(size=t.static_shape).astype(np.float32) for t in (x, h, w)}
    for one, size in ((dx, INPUTS), (dh, 80)):
        found = batched(graph, [one + 0.0], [x, h, w])
        assert "SplitV" not in found
        assert [node.shapes for node in found["Slice"]] == [((size, 4 * UNITS),)]
        with Session(graph=graph) as session:
            value = session.run(one + 0.0, feeds)
        columns = slice(0, INPUTS) if one is dx else slice(INPUTS, None)
        joined = np.concatenate([feeds[x], feeds[h]], 1).astype(float)
        np.testing.assert_allclose(value, (2 * joined @ feeds[w] @ feeds[w].T)[:, columns], rtol=1e-4, atol=1e-2)


def test_columns_of_columns(graph: af.Graph) -> None:
    """The part that is taken is divided itself, and has several users."""
    x, y, z = (af.placeholder(af.float32, [ROWS, size]) for size in (INPUTS, 40, 40))
    w = af.placeholder(af.float32, [INPUTS + 80, 4 * UNITS])
    inner = af.concat([y, z], 1)
    dz, dinner = af.gradients(af.square(af.matmul(af.concat([x, inner], 1), w)), [z, inner])
    rng = np.random.default_rng(0)
    feeds = {t: rng.normal(size=t.static_shape).astype(np.float32) for t in (x, y, z, w)}
    with Session(graph=graph) as session:
        found = session.run([dz, dz * 2.0, af.reduce_sum(dinner, 1), dinner * 1.0], feeds)
        alone = session.run(dz * 1.0, feeds)
    joined = np.concatenate([feeds[x], feeds[y], feeds[z]], 1).astype(float)
    wanted = 2 * joined @ feeds[w] @ feeds[w].T
    for value in (found[0], found[1] / 2, found[3][:, 40:], alone):
        np.testing.assert_allclose(value, wanted[:, -40:], rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(found[2], wanted[:, -80:].sum(1), rtol=1e-3, atol=1e-1)


@pytest.mark.parametrize("kept", [1024, 70])
def test_the_products_of_a_loops_iterations_are_one(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """The gradient of weights in a loop is computed from the rows of all iterations, or of some at a time."""
    monkeypatch.setattr(product_sum, "MOST_KEPT", kept)
    calls: list[int] = []
    total = product_sum.ProductSum.total
    monkeypatch.setattr(product_sum.ProductSum, "total", lambda self: calls.append(self._rows) or total(self))
    rng = np.random.default_rng(0)
    x = af.placeholder(af.float32, [ROWS, UNITS])
    w = af.Variable(rng.normal(0, 0.1, (UNITS, UNITS)).astype(np.float32))
    steps = af.placeholder(af.int32, [])
    _, last = af.while_loop(lambda i, _: i < steps, lambda i, h: (i + 1, af.tanh(af.matmul(h, w))), (0, x))
    dw = af.gradients(af.reduce_sum(last), [w])[0]
    unrolled = x
    for _ in range(5):
        unrolled = af.tanh(af.matmul(unrolled, w))
    wanted = af.gradients(af.reduce_sum(unrolled), [w])[0]
    with Session(graph=graph) as session:
        session.run(w.initializer)
        batch: Any = rng.normal(size=(ROWS, UNITS)).astype(np.float32)
        found, expected = session.run([dw, wanted], {x: batch, steps: 5})
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        assert sum(calls) == 5 * ROWS
        assert max(calls) <= kept + ROWS
        assert not session.run(dw, {x: batch, steps: 0}).any()
