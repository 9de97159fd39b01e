"""The graph's knowledge of the sizes in a vector: `reshape(x, [shape(x)[0], 10])` keeps the 10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.base.registry import opdef
from actorflow.base.shapes import Shape
from actorflow.graph.constant_value import constant_value, shape_value
from actorflow.graph.ops.array.shape import shape_op


@pytest.fixture(autouse=True)
def graph() -> Any:
    with af.Graph().as_default() as made:
        yield made


def known(tensor: af.Tensor) -> Any:
    return constant_value(tensor.graph.nodes, tensor.tensor_id)


def partly(tensor: af.Tensor) -> Shape:
    return shape_value(tensor.graph.nodes, tensor.tensor_id)


def source(shape: Shape = (None, 6), dtype: Any = af.float32) -> af.Tensor:
    return af.placeholder(dtype, shape)


# ---- whole values


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: shape_op(x), [2, 3]),
        (lambda x: af.cast(shape_op(x), af.int64), [2, 3]),
        (lambda x: af.concat([shape_op(x), [7]], 0), [2, 3, 7]),
        (lambda x: af.stack([shape_op(x)[1], 4]), [3, 4]),
        (lambda x: af.stack([shape_op(x), [5, 6]], axis=1), [[2, 5], [3, 6]]),
        (lambda x: af.gather(shape_op(x), [1, 1]), [3, 3]),
        (lambda x: shape_op(x)[::-1], [3, 2]),
        (lambda x: af.range_(2, 8, 3), [2, 5]),
        (lambda x: af.cast(af.range_(0.0, 1.0, 0.5), af.int32), [0, 0]),
        (lambda x: af.reshape(shape_op(x), [2, 1]), [[2], [3]]),
        (lambda x: af.expand_dims(shape_op(x)[0], 0), [2]),
        (lambda x: af.squeeze(af.expand_dims(shape_op(x)[0], 0)), 2),
        (lambda x: af.identity(af.size(x)), 6),
        (lambda x: af.concat([["a"], [b"b"]], 0)[1], b"b"),
    ],
)
def test_constant_values(build: Callable[[af.Tensor], af.Tensor], expected: Any) -> None:
    tensor = build(source((2, 3)))
    value = known(tensor)
    assert value is not None and value.dtype == tensor.dtype.numpy_dtype
    assert value.tolist() == expected
    assert value.shape == tensor.static_shape


def test_a_value_that_a_run_decides_is_not_known() -> None:
    x, n = source((None, 6)), source((), af.int32)
    for tensor in (n, shape_op(x), af.stack([n, 1]), af.range_(n), shape_op(x)[0], af.size(x)):
        assert known(tensor) is None


def test_a_size_that_is_known_is_a_constant_though_others_are_not() -> None:
    assert known(shape_op(source((None, 6)))[1]) == 6
    assert known(af.gather(shape_op(source((None, 6))), 1)) == 6
    assert known(af.gather(shape_op(source((None, 6))), 0)) is None


# ---- vectors that are known in part


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x, n: shape_op(x), (None, 6)),
        (lambda x, n: af.cast(shape_op(x), af.int64), (None, 6)),
        (lambda x, n: af.stack([shape_op(x)[0], 10]), (None, 10)),
        (lambda x, n: af.stack([n, -1]), (None, -1)),
        (lambda x, n: af.concat([shape_op(x), [2]], 0), (None, 6, 2)),
        (lambda x, n: af.concat([shape_op(x)[1:], af.reshape(n, [1])], 0), (6, None)),
        (lambda x, n: af.concat([source((2,), af.int32), [4]], 0), (None, None, 4)),
        (lambda x, n: af.gather(shape_op(x), [1, 0]), (6, None)),
        (lambda x, n: shape_op(x)[::-1], (6, None)),
        (lambda x, n: af.expand_dims(n, 0), (None,)),
        (lambda x, n: source((3,), af.int64), (None, None, None)),
        (lambda x, n: source((None,), af.int32), None),
        (lambda x, n: source(None, af.int32), None),
        (lambda x, n: n, None),
        (lambda x, n: af.constant([1.0, 2.0]), None),
        (lambda x, n: shape_op(source(None)), None),
    ],
)
def test_partial_values(build: Callable[[af.Tensor, af.Tensor], af.Tensor], expected: Shape) -> None:
    assert partly(build(source(), source((), af.int32))) == expected


# ---- the shapes that follow


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x, n: af.reshape(x, [af.shape(x)[0], 10]), (None, 10)),
        (lambda x, n: af.reshape(x, [n, 10, -1]), (None, 10, None)),
        (lambda x, n: af.reshape(af.ones([4, 6]), [n, 8]), (3, 8)),
        (lambda x, n: af.reshape(af.ones([4, 6]), [n, 0]), (None, 0)),
        (lambda x, n: af.reshape(x, af.shape(x)), (None, 6)),
        (lambda x, n: af.fill([n, 3], 1.0), (None, 3)),
        (lambda x, n: af.zeros([af.shape(x)[0], 3]), (None, 3)),
        (lambda x, n: af.ones(af.shape(x)), (None, 6)),
        (lambda x, n: af.broadcast_to(1.0, af.shape(x)), (None, 6)),
        (lambda x, n: af.tile(x, [n, 2]), (None, 12)),
        (lambda x, n: af.tile(x, [2, n]), (None, None)),
        (lambda x, n: af.slice_(x, [0, n], [n, 2]), (None, 2)),
        (lambda x, n: af.slice_(x, [n, 2], [1, -1]), (1, 4)),
        (lambda x, n: x[:n, :2], (None, 2)),
        (lambda x, n: x[:, n:], (None, None)),
        (lambda x, n: x[n:, 1:3], (None, 2)),
        (lambda x, n: af.random_uniform([n, 3]), (None, 3)),
        (lambda x, n: af.random_normal(af.shape(x)), (None, 6)),
        (lambda x, n: af.truncated_normal([n, 2]), (None, 2)),
        (lambda x, n: af.scatter_nd([[0]], [1], [af.shape(x)[1]]), (6,)),
    ],
)
def test_inferred_shapes(build: Callable[[af.Tensor, af.Tensor], af.Tensor], expected: Shape) -> None:
    assert build(source(), source((), af.int32)).static_shape == expected


@pytest.mark.parametrize(
    "build",
    [
        lambda x, n: af.reshape(af.ones([4, 6]), [n, 5]),
        lambda x, n: af.reshape(x, [n, -2]),
        lambda x, n: af.fill([n, -1], 1.0),
        lambda x, n: af.tile(x, [n, -1]),
        lambda x, n: af.slice_(x, [n, 5], [1, 2]),
        lambda x, n: af.random_uniform(n),
    ],
)
def test_what_is_known_in_part_is_checked_as_the_graph_is_built(
    build: Callable[[af.Tensor, af.Tensor], af.Tensor],
) -> None:
    with pytest.raises(ValueError):
        build(source(), source((), af.int32))


# ---- the values that a run gives are those that were inferred


async def test_a_reshape_by_its_own_shape_runs(graph: af.Graph) -> None:
    x = source((None, 2, 5))
    y = af.reshape(x, [af.shape(x)[0], 10])
    z = af.tile(y, [af.shape(x)[0], 1]) + af.zeros([af.shape(y)[0] * af.shape(x)[0], 10])
    async with af.Session(graph=graph) as session:
        for count in (3, 1, 0):
            value = np.arange(10.0 * count, dtype=np.float32).reshape(count, 2, 5)
            flat, tiled = await session.run([y, z], {x: value})
            assert flat.tolist() == value.reshape(count, 10).tolist()
            assert tiled.tolist() == value.reshape(count, 10).tolist() * count


def test_the_default_of_a_rule_s_context_is_the_whole_value_or_the_length() -> None:
    values: dict[int, Any] = {0: np.array([3, -1], np.int32), 1: None, 2: None, 3: np.int32(3).reshape(())}
    context = opdef.Inference(
        opdef.lookup("Reshape"), {}, [af.int32] * 4, [(2,), (3,), None, ()], lambda index: values[index]
    )
    assert [context.shape_value(i) for i in range(4)] == [(3, -1), (None, None, None), None, None]


# ---- what a run decides, without changing the shape


def _number() -> af.Tensor:
    return af.placeholder(af.float32)


def _length() -> af.Tensor:
    return af.placeholder(af.int32, [])


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: af.nn.dropout(x, keep_prob=_number()), (None, 6)),
        (lambda x: af.nn.dropout(x, rate=_number()), (None, 6)),
        (lambda x: af.nn.dropout(x, 0.5, noise_shape=af.placeholder(af.int32)), (None, 6)),
        (lambda x: af.layers.dropout(x, _number(), training=True), (None, 6)),
        (lambda x: af.layers.dropout(x, _number(), training=af.placeholder(af.bool)), (None, 6)),
        (lambda x: af.clip_by_global_norm([x], _number())[0][0], (None, 6)),
        (lambda x: af.clip_by_norm(x, _number()), (None, 6)),
        (lambda x: af.clip_by_value(x, _number(), _number()), (None, 6)),
        (lambda x: af.matmul(af.nn.dropout(x, _number()), af.ones([6, 2])), (None, 2)),
        (lambda x: af.pad(x, [[0, _length()], [1, 2]]), (None, 9)),
        (lambda x: af.pad(x, [[0, 0], [0, _length()]]), (None, None)),
        (lambda x: af.pad(x, [[0, 0], [0, _length()]], "REFLECT"), (None, None)),
        (lambda x: af.pad(af.ones([2, 3, 4]), [[0, 0], [0, _length()], [0, 1]]), (2, None, 5)),
        (lambda x: af.pad(af.ones([2, 3]), af.placeholder(af.int32)), (None, None)),
        (lambda x: af.pad(af.ones([2, 3]), af.placeholder(af.int32, [2, 2])), (None, None)),
    ],
)
def test_shapes_that_no_number_of_a_run_changes(build: Callable[[af.Tensor], af.Tensor], expected: Shape) -> None:
    assert build(source()).static_shape == expected


def test_a_cell_with_dropout_that_a_run_decides_keeps_the_size_of_its_inputs() -> None:
    chance = _number()
    cell = af.nn.rnn_cell.DropoutWrapper(af.nn.rnn_cell.GRUCell(5), chance, chance, chance)
    outputs, state = af.nn.dynamic_rnn(cell, source((None, 3, 6)), dtype=af.float32)
    assert (outputs.static_shape, state.static_shape) == ((None, 3, 5), (None, 5))


def test_a_run_pads_by_widths_that_it_decides_in_part() -> None:
    x, rows = source(), _length()
    scaled = 2 * x
    padded = af.pad(scaled, [[0, rows], [1, 2]])
    with af.blocking.Session() as session:
        for size in (1, 2, 1):
            first, second = np.ones((size, 6), np.float32), np.ones((size + 1, 6), np.float32)
            assert session.run(padded, {x: first, rows: size}).shape == (2 * size, 9)
            assert session.run(padded, {scaled: second, rows: size}).shape == (2 * size + 1, 9)
