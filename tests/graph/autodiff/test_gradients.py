"""Gradients: by finite differences on random graphs, and what the walk promises beside the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from running import Run, interpreted, start

import actorflow as af
from actorflow.graph.autodiff.gradients import AggregationMethod
from actorflow.graph.graph import Graph
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import unchanged

__all__ = ["start"]

STEP = 1e-6


# ---- chains


def _written_layer_norm(x: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
    mean, variance = af.nn.moments(x, [-1], keepdims=True)
    centred = x - mean
    return centred * af.rsqrt(variance + 1e-3) * scale + offset, centred


def _numbers(*shape: int, seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_the_gradient_of_a_layer_norm_is_that_of_its_ops(
    graph: Graph, start: Callable[[Graph], Run], seed: int
) -> None:
    """The same layer norm, once as a chain and once with an op between that keeps it from being one."""
    given, dy = _numbers(3, 4, 6, seed=seed), af.constant(_numbers(3, 4, 6, seed=seed + 1))
    x, scale, offset = af.placeholder(af.float32, [None, 4, 6]), af.constant([0.5, 1, 2, 3, -1, 0]), af.zeros([6])
    whole, _ = _written_layer_norm(x, scale, offset)
    mean, variance = af.nn.moments(x, [-1], keepdims=True)
    plain = (x - af.identity(mean)) * af.rsqrt(variance + 1e-3) * scale + offset
    xs = [x, scale, offset]
    first = af.gradients(whole, xs, dy)
    assert "Unreduce" not in {node.op for node in graph.nodes.values()}  # no gradient of a mean
    other = af.gradients(plain, xs, dy)
    assert "Unreduce" in {node.op for node in graph.nodes.values()}
    second, more = (af.gradients(af.reduce_sum(af.square(found[0])), [x, scale]) for found in (first, other))
    found = start(graph)([*first, *second, *other, *more], {x: given})
    for one, wanted in zip(found[:5], found[5:], strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-3)


def test_what_is_inside_a_layer_norm_keeps_its_derivatives(
    graph: Graph, start: Callable[[Graph], Run], seed: int
) -> None:
    """An x, a y and a constant of the derivative may be in it, and so may what another way goes out from."""
    given = _numbers(2, 6, seed=seed)
    x = af.placeholder(af.float32, [None, 6])
    y, centred = _written_layer_norm(x, af.ones([6]), af.zeros([6]))
    by_centred = af.gradients(y * 3, centred)[0]
    assert by_centred is not None
    both = af.gradients([y, centred], x, [af.ones_like(x), x])[0]
    apart = [af.gradients(one, x, seed_)[0] for one, seed_ in ((y, af.ones_like(x)), (centred, x))]
    twice = af.gradients(y * centred, x)[0]
    stopped = af.gradients(y * 3, x, stop_gradients=[centred])[0]
    found = start(graph)([both, apart[0] + apart[1], twice, stopped], {x: given})
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-4)
    wide = given.astype(np.float64)
    for i in range(6):
        step = np.zeros(6)
        step[i] = 1e-5
        ends = []
        for moved in (wide + step, wide - step):
            c = moved - moved.mean(-1, keepdims=True)
            ends.append((c * c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-3)).sum(-1))
        np.testing.assert_allclose(found[2][:, i], (ends[0] - ends[1]) / 2e-5, rtol=1e-2, atol=1e-2)


# ---- random graphs

UNARY: list[Callable[[Any], Any]] = [
    af.tanh,
    af.sigmoid,
    af.sin,
    af.square,
    af.negative,
    af.identity,
    lambda x: af.exp(0.3 * x),
    lambda x: af.log(af.square(x) + 1.5),
    lambda x: af.sqrt(af.square(x) + 0.5),
    lambda x: 1.0 / (af.square(x) + 1.0),
    lambda x: af.reduce_mean(x, axis=-1, keep_dims=True) if len(x.shape) else x,
    lambda x: af.reduce_sum(x, axis=0) if len(x.shape) else x,
    lambda x: af.reverse(x, [0]) if len(x.shape) else x,
    lambda x: af.transpose(x),
    lambda x: af.reshape(x, [-1]),
    lambda x: af.expand_dims(x, 0) if len(x.shape) < 3 else x,
    lambda x: af.tile(x, [2] * len(x.shape)) if 0 < len(x.shape) < 3 else x,
    lambda x: af.gather(x, [0, 0]) if len(x.shape) else x,
    lambda x: af.nn.softmax(x) if len(x.shape) else x,
    lambda x: af.split(af.concat([x, x * x], 0), 2)[1] if len(x.shape) else x,
    lambda x: x[:1] if len(x.shape) else x,
]
BINARY: list[Callable[[Any, Any], Any]] = [
    af.add,
    af.subtract,
    af.multiply,
    lambda x, y: x / (af.square(y) + 1.0),
    af.maximum,
    af.squared_difference,
    lambda x, y: af.where_v2(af.greater(x, y), x * y, y),
]
SHAPES: list[tuple[int, ...]] = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (1, 1), (2, 2, 3)]


def _known(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """The shape, of which some sizes may be kept from the graph."""
    return tuple(None if rng.random() < 0.3 else size for size in shape)


def _fits(x: Any, y: Any) -> bool:
    """Whether the static shapes say for sure that x and y broadcast."""
    return all(
        1 in (a, b) or a == b and a is not None
        for a, b in zip(reversed(x.shape.as_list()), reversed(y.shape.as_list()))
    )


def random_graph(seed: int) -> tuple[Graph, list[Any], Any, dict[Any, Any]]:
    """A graph of some twenty random ops: its inputs, a scalar that depends on all of them, and the feeds."""
    rng = np.random.default_rng([seed, 70])
    graph = Graph()
    feeds: dict[Any, Any] = {}
    with graph.as_default():
        for _ in range(3):
            shape = SHAPES[rng.integers(len(SHAPES))]
            feeds[af.placeholder(af.float64, _known(rng, shape))] = rng.uniform(-1.5, 1.5, shape)
        xs = list(feeds)
        tensors = list(xs)
        run = interpreted(graph)
        while len(tensors) < 20:
            x = tensors[rng.integers(len(tensors))]
            if rng.random() < 0.5:
                made = UNARY[rng.integers(len(UNARY))](x)
            else:
                y = tensors[rng.integers(len(tensors))]
                if not _fits(x, y):
                    continue
                made = BINARY[rng.integers(len(BINARY))](x, y)
            if np.size(run(made, feeds)) <= 200:
                tensors.append(made)
        # tanh bounds what twenty ops may have multiplied up, so that differences stay exact enough.
        total = af.add_n([af.reduce_mean(af.tanh(0.2 * t)) for t in tensors])
    return graph, xs, total, feeds


def directional(run: Run, value: Any, feeds: dict[Any, Any], direction: dict[Any, Any]) -> Any:
    """The derivative of a scalar along a direction, by central differences."""
    ends = [run(value, {x: v + sign * STEP * direction.get(x, 0.0) for x, v in feeds.items()}) for sign in (1, -1)]
    return (ends[0] - ends[1]) / (2 * STEP)


@pytest.mark.parametrize("seed", range(60))
def test_f70_random_graphs_to_second_order(seed: int) -> None:
    graph, xs, total, feeds = random_graph(seed)
    rng = np.random.default_rng([seed, 71])
    with graph.as_default():
        first = af.gradients(total, xs)
        present = [(x, g) for x, g in zip(xs, first) if g is not None]
        weights = {x: rng.standard_normal(feeds[x].shape) for x, _ in present}
        # A second scalar: the first derivative along fixed weights.
        slope = af.add_n([af.reduce_sum(g * af.constant(weights[x])) for x, g in present])
        second = af.gradients(slope, xs)
    run = interpreted(graph)
    for value, found in ((total, first), (slope, second)):
        values = run([af.zeros_like(x) if g is None else g for x, g in zip(xs, found)], feeds)
        for x, gradient in zip(xs, values):
            assert np.shape(gradient) == feeds[x].shape
        direction = {x: rng.standard_normal(feeds[x].shape) for x in xs}
        analytic = sum(np.vdot(v, direction[x]) for x, v in zip(xs, values))
        np.testing.assert_allclose(analytic, directional(run, value, feeds, direction), rtol=2e-5, atol=2e-6)


# ---- what is and is not differentiated


def values(graph: Graph, fetches: Any, feeds: Any = None) -> Any:
    return interpreted(graph)(fetches, feeds)


@pytest.fixture
def graph() -> Any:
    made = Graph()
    with made.as_default():
        yield made


def test_f71_unused_outputs_count_as_zero(graph: Graph) -> None:
    x = af.placeholder(af.float32, [4])
    first, _ = af.split(x, 2)
    (gradient,) = af.gradients(3.0 * first, x)
    np.testing.assert_array_equal(values(graph, gradient, {x: [1, 2, 3, 4]}), [3, 3, 0, 0])
    middle = af.unstack(x)[2]
    np.testing.assert_array_equal(values(graph, af.gradients(middle, x)[0], {x: [1, 2, 3, 4]}), [0, 0, 1, 0])


def test_unconnected_and_not_differentiable_give_none(graph: Graph) -> None:
    x, y = af.placeholder(af.float32, [3]), af.placeholder(af.float32, [3])
    count = af.placeholder(af.int32, [])
    assert af.gradients(x * 2.0, [x, y, count])[1:] == [None, None]
    assert af.gradients(af.argmax(x, 0), x) == [None]
    assert af.gradients(af.cast(x, af.int32), x) == [None]
    assert af.gradients(count * 2, count) == [None]
    assert af.gradients(af.cast(count, af.float32) * 2.0, count) == [None]
    assert af.gradients(af.stop_gradient(x), x) == [None]
    assert af.gradients([], x) == [None]


def test_y_itself_and_between(graph: Graph) -> None:
    x = af.placeholder(af.float32, [2])
    h = x * 3.0
    y = h * h
    found = af.gradients(y, [y, h, x])
    np.testing.assert_array_equal(values(graph, found, {x: [1, 2]}), [[1, 1], [6, 12], [18, 36]])


def test_several_ys_sum_and_weights(graph: Graph) -> None:
    x = af.placeholder(af.float32, [2])
    sum_, weighted = (
        af.gradients([x * 2.0, x * 3.0, x], x)[0],
        af.gradients([x * 2.0, x * 3.0], x, grad_ys=[[10.0, 20.0], None])[0],
    )
    np.testing.assert_array_equal(values(graph, [sum_, weighted], {x: [1, 2]}), [[6, 6], [23, 43]])
    assert sum_.op.type == "AddN"


def test_stop_gradients(graph: Graph) -> None:
    a = af.constant(0.0)
    b = 2.0 * a
    assert values(graph, af.gradients(a + b, [a, b])) == [3.0, 1.0]
    assert values(graph, af.gradients(a + b, [a, b], stop_gradients=[a, b])) == [1.0, 1.0]
    assert values(graph, af.gradients(a + b, [a, b], stop_gradients=b)) == [1.0, 1.0]


def test_complex_ys_need_weights(graph: Graph) -> None:
    z = af.placeholder(af.complex128, [2])
    with pytest.raises(TypeError, match=r"must set grad_ys.*ys\[1\], mul:0, of complex128(.|\n)*test_gradients"):
        af.gradients([af.real(z), z * z], z)
    (gradient,) = af.gradients(z * z, z, grad_ys=[af.ones_like(z)])
    np.testing.assert_allclose(values(graph, gradient, {z: [1 + 2j, 3]}), [2 - 4j, 6])


def test_mistakes(graph: Graph) -> None:
    x = af.placeholder(af.float32, [3])
    y = x * 2.0
    with pytest.raises(TypeError, match=r"grad_ys\[0\] has type int32, but ys\[0\], mul:0, has float32"):
        af.gradients(y, x, grad_ys=[af.constant([1, 1, 1])])
    with pytest.raises(ValueError, match=r"grad_ys\[0\] has shape \(2,\)"):
        af.gradients(y, x, grad_ys=[[1.0, 2.0]])
    with pytest.raises(ValueError, match="There are 1 ys, but 0 grad_ys"):
        af.gradients(y, x, grad_ys=[])
    with pytest.raises(TypeError, match=r"xs\[0\] is a tensor"):
        af.gradients(y, "x")
    with pytest.raises(TypeError, match=r"ys\[1\] is a tensor"):
        af.gradients([y, None], x)
    with pytest.raises(TypeError, match=r"stop_gradients\[0\] is a tensor"):
        af.gradients(y, x, stop_gradients=[3.0])
    with pytest.raises(ValueError, match="aggregation_method"):
        af.gradients(y, x, aggregation_method=9)
    with Graph().as_default():
        other = af.placeholder(af.float32, [3])
    with pytest.raises(ValueError, match="another graph"):
        af.gradients(y, other)


@pytest.mark.parametrize("value", [3.0, 3, np.float32(1), [1.0, 2.0], np.ones([2], np.float32), True])
async def test_no_y_depends_on_a_plain_value(graph: af.Graph, value: Any) -> None:
    x = af.constant(2.0)
    slope, none = af.gradients(x * x, [x, value])
    assert none is None and af.gradients(value, x) == [None]
    zero = af.gradients(x * x, [value], unconnected_gradients="zero")
    added = af.gradients([x * x, [x], 3.0], x)
    async with af.Session(graph=graph) as session:
        assert await session.run(slope) == 4.0
        assert await session.run(added) == [5.0]
        (zeros,) = await session.run(zero)
    np.testing.assert_array_equal(zeros, np.zeros_like(value))


def test_an_op_without_a_gradient_is_named(graph: Graph) -> None:
    @op("TestNotDifferentiated", shape=unchanged)
    def opaque(x: TensorLike, *, name: str | None = None) -> Tensor:  # type: ignore[name-defined]  # noqa: F821
        """An op that says nothing of its gradient."""

    try:
        x = af.placeholder(af.float32, [3])
        y = opaque(x)
        with pytest.raises(LookupError, match="No gradient is defined for operation 'TestNotDifferentiated'"):
            af.gradients(y * 2.0, x)
        assert af.gradients(y * 2.0, y)[0] is not None  # it is not on the way
    finally:
        from actorflow.base.registry import opdef

        del opdef._OPS["TestNotDifferentiated"]


def test_a_rule_that_fails_names_the_node(graph: Graph) -> None:
    @op("TestWrongRule", shape=unchanged)
    def wrong(x: TensorLike, *, name: str | None = None) -> Tensor:  # type: ignore[name-defined]  # noqa: F821
        """An op whose gradient is wrong."""

    from actorflow.base.registry import opdef

    try:
        x = af.placeholder(af.float32, [3])
        y = wrong(x)
        for rule, error, message in (
            (lambda node, dy: [dy, dy], ValueError, "gave 2 gradients, but TestWrongRule has 1 inputs"),
            (lambda node, dy: [af.cast(dy, af.float64)], TypeError, "gave a float64 for input 0"),
            (lambda node, dy: [dy[:2]], ValueError, r"gave shape \(2,\) for input 0"),
        ):
            wrong.gradient(rule)
            with pytest.raises(error, match=message):
                af.gradients(y, x)

        def broken(node: Any, dy: Any) -> Any:
            raise RuntimeError("broken")

        wrong.gradient(broken)
        with pytest.raises(RuntimeError) as caught:
            af.gradients(y, x)
        assert "while building the gradient of TestWrongRule" in caught.value.__notes__[0]
    finally:
        del opdef._OPS["TestWrongRule"]


# ---- the nodes it makes


def test_names_origins_and_scopes(graph: Graph) -> None:
    x = af.placeholder(af.float32, [3])
    with graph.name_scope("layer"):
        y = af.tanh(x, name="act")
    (gradient,) = af.gradients(y, x)
    assert gradient.op.name.startswith("gradients/layer/act_grad/")
    assert gradient.op.node.origin == "layer/act"
    (again,) = af.gradients(y, x)
    assert again.op.name.startswith("gradients_1/layer/act_grad/")
    (second,) = af.gradients(gradient, x)
    assert second is not None
    with graph.device("/device:CPU:1"):
        z = x * x
    colocated = af.gradients(z, x, colocate_gradients_with_ops=True, name="mine")[0]
    made = [n for n in graph.nodes.values() if n.name.startswith("mine/mul_grad/")]
    assert made and all(n.colocate == ("mul",) and n.device == "/device:CPU:1" for n in made)
    assert colocated is not None


def test_broadcasting_is_undone_statically_where_shapes_are_known(graph: Graph) -> None:
    def kinds(x: Any, y: Any) -> set[str]:
        before = set(graph.nodes)
        af.gradients(x + y, [x, y])
        return {n.op for name, n in graph.nodes.items() if name not in before} & {"Sum", "SumTo", "Reshape"}

    matrix, row, column = (af.placeholder(af.float32, s) for s in ([2, 3], [3], [2, 1]))
    batch, unknown = af.placeholder(af.float32, [None, 3]), af.placeholder(af.float32)
    assert kinds(matrix, matrix * 2.0) == set()
    assert kinds(matrix, row) == {"Sum"}
    assert kinds(matrix, column) == {"Sum", "Reshape"}
    assert kinds(batch, row) == {"Sum"}  # nothing else has a first dimension, so the batch was not stretched
    assert kinds(batch, af.placeholder(af.float32, [None, 3])) == {"SumTo"}  # either may have one row
    assert kinds(unknown, row) == {"SumTo"}


@pytest.mark.parametrize(
    ("left", "right"), [((2, 3), (1, 3)), ((1, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 3)), ((), (2,))]
)
@pytest.mark.parametrize("known", ["shape", "rank", "nothing"])
def test_broadcasting_is_undone(graph: Graph, left: tuple[int, ...], right: tuple[int, ...], known: str) -> None:
    def static(shape: tuple[int, ...]) -> Any:
        return {"shape": shape, "rank": (None,) * len(shape), "nothing": None}[known]

    x, y = af.placeholder(af.float32, static(left)), af.placeholder(af.float32, static(right))
    found = af.gradients(x * y, [x, y])
    for gradient, tensor in zip(found, (x, y)):
        assert gradient.shape == tensor.shape and gradient.dtype is tensor.dtype
    a, b = np.full(left, 2.0, np.float32), np.full(right, 3.0, np.float32)
    dx, dy = values(graph, found, {x: a, y: b})
    size = np.broadcast(a, b).size
    np.testing.assert_array_equal(dx, np.full(left, 3.0 * size / a.size))
    np.testing.assert_array_equal(dy, np.full(right, 2.0 * size / b.size))


def test_deep_graphs_need_no_stack(graph: Graph) -> None:
    x = y = af.placeholder(af.float32, [])
    for _ in range(3000):
        y = af.identity(y)
    assert values(graph, af.gradients(y + x, x)[0], {x: 1.0}) == 2.0


def test_a_diamond_visits_each_node_once(graph: Graph) -> None:
    x = y = af.placeholder(af.float64, [])
    for _ in range(40):
        y = y + y  # 2⁴⁰ paths
    before = len(graph)
    (gradient,) = af.gradients(y, x)
    assert len(graph) - before < 300
    assert values(graph, gradient, {x: 1.0}) == 2.0**40


def test_gates_and_aggregation(graph: Graph) -> None:
    x, w = af.placeholder(af.float32, [2]), af.placeholder(af.float32, [2])
    found = af.gradients(x * w, [x, w], gate_gradients=True, aggregation_method=AggregationMethod.EXPERIMENTAL_TREE)
    assert all(g.op.type == "Identity" and len(g.op.control_inputs) == 1 for g in found)
    np.testing.assert_array_equal(values(graph, found, {x: [1, 2], w: [3, 4]}), [[3, 4], [1, 2]])


# ---- variables and slices


def test_all_reads_of_a_variable_count(graph: Graph, start: Callable[[Graph], Run]) -> None:
    v = af.Variable([1.0, 2.0], name="v")
    with graph.control_dependencies([af.no_op()]):
        y = v * v
    y += 3.0 * v.read_value() + v
    (by_variable,), (by_handle,) = af.gradients(y, v), af.gradients(y, v.handle)
    (by_one_read,) = af.gradients(y, v.value())
    run = start(graph)
    run(v.initializer)
    np.testing.assert_array_equal(run([by_variable, by_handle, by_one_read]), [[6, 8], [6, 8], [1, 1]])


def test_a_gather_of_a_variable_gives_slices(graph: Graph, start: Callable[[Graph], Run]) -> None:
    table = af.Variable(np.arange(8.0, dtype=np.float32).reshape(4, 2))
    rows = af.gather(table, [1, 3, 1])
    more = af.gather(table, af.constant([0], af.int64))
    (one,) = af.gradients(rows, table)
    (both,) = af.gradients([rows, more], table)
    (mixed,) = af.gradients([rows, af.reduce_sum(table)], table)
    assert isinstance(one, af.IndexedSlices) and isinstance(both, af.IndexedSlices)
    assert not isinstance(mixed, af.IndexedSlices)
    assert one.shape.as_list() == [4, 2] and one.dtype is af.float32
    run = start(graph)
    run(table.initializer)
    np.testing.assert_array_equal(run(one.indices), [1, 3, 1])
    np.testing.assert_array_equal(run(both.indices), [1, 3, 1, 0])
    np.testing.assert_array_equal(run(af.convert_to_tensor(both)), [[1, 1], [2, 2], [0, 0], [1, 1]])
    np.testing.assert_array_equal(run(af.convert_to_tensor(-one)), [[0, 0], [-2, -2], [0, 0], [-1, -1]])
    np.testing.assert_array_equal(run(mixed), [[1, 1], [3, 3], [1, 1], [2, 2]])


def test_slices_second_order(graph: Graph) -> None:
    x = af.placeholder(af.float64, [3, 2])
    (first,) = af.gradients(af.reduce_sum(af.gather(x, [0, 2, 0]) ** 3), x)
    assert isinstance(first, af.IndexedSlices)
    (second,) = af.gradients(first, x)
    value = np.arange(6.0).reshape(3, 2)
    expected = 6 * value * np.array([[2.0], [0.0], [1.0]])
    np.testing.assert_allclose(values(graph, af.convert_to_tensor(second), {x: value}), expected)


def test_slices_without_a_shape_stay_slices(graph: Graph) -> None:
    slices = af.IndexedSlices(af.constant([[1.0, 2.0]]), af.constant([3]))
    assert slices.shape.as_list() == [None, 2]
    with pytest.raises(ValueError, match="they know no dense_shape"):
        af.convert_to_tensor(slices)


# ---- custom gradients


def test_f71_a_custom_gradient_overrides(graph: Graph, start: Callable[[Graph], Run]) -> None:
    @af.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = af.exp(x)
        return af.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))

    x = af.placeholder(af.float32, [])
    y = log1pexp(x)
    (gradient,) = af.gradients(y, x)
    (second,) = af.gradients(gradient, x)
    run = start(graph)
    assert run([y, gradient], {x: 100.0})[1] == 1.0  # exp(100) / (1 + exp(100)) would be NaN
    assert run(gradient, {x: 0.0}) == 0.5
    assert run(second, {x: 0.0}) == 0.25


def test_custom_gradient_of_several(graph: Graph) -> None:
    seen: list[int] = []

    @af.custom_gradient
    def swap(x: Any, y: Any, scale: float = 1.0) -> Any:
        def grad(*dys: Any) -> Any:
            seen.append(len(dys))
            return dys[0] * 10.0, None

        return [y * scale, x * scale], grad

    a, b = af.placeholder(af.float32, []), af.placeholder(af.float32, [])
    first, second = swap(a, b, scale=2.0)
    assert af.gradients(first, b) == [None]
    (gradient,) = af.gradients([first, second], a)
    assert values(graph, [first, second, gradient], {a: 1.0, b: 5.0}) == [10.0, 2.0, 10.0]
    assert seen == [2, 2]


def test_custom_gradient_with_variables(graph: Graph, start: Callable[[Graph], Run]) -> None:
    w = af.get_variable("w", initializer=3.0)

    @af.custom_gradient
    def scaled(x: Any) -> Any:
        return x * w, lambda dy, variables=None: (dy * 7.0, [dy * 11.0 for _ in variables])

    x = af.placeholder(af.float32, [])
    found = af.gradients(scaled(x), [x, w])
    run = start(graph)
    run(w.initializer)
    assert run(found, {x: 2.0}) == [7.0, 11.0]

    @af.custom_gradient
    def forgets(x: Any) -> Any:
        return x * w, lambda dy: dy

    with pytest.raises(TypeError, match=r"must accept a 'variables' keyword argument. forgets reads: w:0"):
        forgets(x)

    @af.custom_gradient
    def wrong(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match=r"returns \(ys, grad_fn\)"):
        wrong(x)


def test_a_loaded_graph_has_no_custom_gradient(graph: Graph) -> None:
    pytest.importorskip("actorflow.graph.codec")

    @af.custom_gradient
    def double(x: Any) -> Any:
        return x * 2.0, lambda dy: dy

    x = af.placeholder(af.float32, [], name="x")
    double(x)
    loaded = Graph.from_bytes(graph.to_bytes())
    twin = loaded.get_tensor_by_name("x:0")
    y = next(o for o in loaded.get_operations() if o.type == "CustomGradient").outputs[0]
    assert values(loaded, y, {twin: 4.0}) == 8.0
    with pytest.raises(LookupError, match="is not part of a stored graph"):
        af.gradients(y, twin)
