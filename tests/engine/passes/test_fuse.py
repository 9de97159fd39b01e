"""The pass that fuses products with what comes after them: from the canonical text of a graph to another, and in runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.registry import kernel, plugins
from actorflow.blocking import Session
from actorflow.engine.passes.fold import fold
from actorflow.engine.passes.fusion.fuse import fuse
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.ops.nn.activation import relu_grad
from actorflow.graph.ops.nn.fused import sgd_matmul
from actorflow.graph.ops.nn.pooling.rules import max_pool_grad
from actorflow.graph.variables.variable import Variable


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    made = af.Graph()
    with made.as_default():
        yield made


def fused(graph: af.Graph, fetches: Sequence[Any], feeds: Sequence[af.Tensor] = ()) -> str:
    """The canonical text of what a run of `fetches` needs, fused; constants left out."""
    found = [graph.as_graph_element(f) for f in fetches]
    part = prune(
        Subgraph(
            graph.nodes,
            {t.tensor_id: (t.dtype, t.static_shape) for t in feeds},
            tuple(f.tensor_id for f in found if isinstance(f, af.Tensor)),
            tuple(f.name for f in found if not isinstance(f, af.Tensor)),
        )
    )
    return "\n".join(str(n) for n in fuse(part).nodes.values() if n.op not in ("Const", "VariableV2", "ReadVariableOp"))


def layer(dtype: Any = af.float32, columns: int | None = 4) -> tuple[af.Tensor, af.Tensor, af.Tensor]:
    """A placeholder, and constants for weights and bias."""
    x = af.placeholder(dtype, [None, 3], name="x")
    return x, af.zeros([3, 4], dtype, name="w"), af.zeros([4], dtype, name="b")


@pytest.mark.parametrize("activation", ["relu", "relu6", "elu", "tanh", "sigmoid"])
@pytest.mark.parametrize("dtype", [af.float32, af.float64])
def test_a_product_takes_bias_and_activation_in(graph: af.Graph, activation: str, dtype: Any) -> None:
    x, w, b = layer(dtype)
    y = getattr(af.nn, activation)(af.nn.bias_add(af.matmul(x, w, name="xw"), b, name="sum"), name="y")
    assert fused(graph, [y], [x]) == "y = _FusedMatMul(x, w, b)"


def test_an_addition_of_a_vector_is_a_bias_on_either_side(graph: af.Graph) -> None:
    x, w, b = layer()
    for number, y in enumerate([af.matmul(x, w) + b, b + af.matmul(x, w)]):
        out = af.nn.relu(y, name=f"y{number}")
        assert fused(graph, [out], [x]) == f"y{number} = _FusedMatMul(x, w, b)"


def test_no_other_addition_is_a_bias(graph: af.Graph) -> None:
    """A vector that would stretch the product, one of unknown size, a matrix, a scalar, another product."""
    x, w, b = layer()
    thin = af.placeholder(af.float32, [None, 1], name="thin")
    column = af.zeros([3, 1])
    unknown, matrix = af.placeholder(af.float32, [None]), af.zeros([1, 4])
    feeds = [x, thin, unknown]
    for y in (
        af.matmul(x, column) + b,
        af.matmul(x, w) + unknown,
        af.matmul(x, w) + matrix,
        af.matmul(x, w) + 1.0,
        af.matmul(x, w) + af.matmul(x, w),
    ):
        assert "_Fused" not in fused(graph, [y], feeds)


def test_a_product_takes_what_it_is_added_to(graph: af.Graph) -> None:
    a, b = af.placeholder(af.float32, [2, 3], name="a"), af.placeholder(af.float32, [3, 4], name="b")
    c, one = af.placeholder(af.float32, [2, 4], name="c"), af.placeholder(af.float32, [1, 4], name="one")
    for number, y in enumerate([af.matmul(a, b) + c, c + af.matmul(a, b)]):
        out = af.identity(y, name=f"y{number}")
        assert "_AddMatMul(c, a, b)" in fused(graph, [out], [a, b, c])
    product = af.matmul(a, b, name="product")
    assert "_AddMatMul" not in fused(graph, [product + c, product], [a, b, c])
    assert "_AddMatMul" not in fused(graph, [af.matmul(a, b) + one], [a, b, one])


def test_a_biased_product_takes_what_it_is_added_to_and_then_an_activation(graph: af.Graph) -> None:
    a, c = af.placeholder(af.float32, [2, 3], name="a"), af.placeholder(af.float32, [2, 4], name="c")
    w, b = af.zeros([3, 4], name="w"), af.zeros([4], name="b")
    biased = af.nn.bias_add(af.matmul(a, w), b)
    for number, total in enumerate([biased + c, c + af.nn.bias_add(af.matmul(a, w), b)]):
        out = af.nn.relu(total, name=f"y{number}")
        assert fused(graph, [out], [a, c]) == f"y{number} = _AddFusedMatMul(c, a, w, b)"
    assert "_AddFused" not in fused(graph, [af.nn.relu(biased) + c], [a, c])
    assert "_AddFused" not in fused(graph, [biased + c, biased], [a, c])
    x, short = (af.placeholder(af.float32, [2, 8, 8, 3], name=name) for name in ("x", "short"))
    convolved = af.nn.bias_add(af.nn.conv2d(x, af.zeros([3, 3, 3, 3], name="f"), 1, "SAME"), af.zeros([3], name="o"))
    assert fused(graph, [af.nn.relu(short + convolved, name="z")], [x, short]) == "z = _AddFusedConv2D(short, x, f, o)"


def test_pools_and_convolutions_take_the_pads_before_them_in(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None, 8, 8, 3], name="x")
    around = [[0, 0], [1, 2], [1, 1], [0, 0]]
    lowest, zeros = af.pad(x, around, constant_values=-np.inf, name="lowest"), af.pad(x, around, name="zeros")
    filters = af.zeros([3, 3, 3, 3], name="f")
    pooled = af.nn.max_pool2d(lowest, 3, 2, "VALID", name="y")
    assert fused(graph, [pooled], [x]) == "y = _PaddedMaxPool(x)"
    for number, convolved in enumerate(
        [
            af.nn.conv2d(zeros, filters, 2, "VALID"),
            af.nn.conv2d(zeros, filters, 2, [[0, 0], [1, 0], [0, 0], [0, 0]]),
            af.nn.depthwise_conv2d(zeros, filters, [1, 1, 1, 1], "VALID"),
        ]
    ):
        assert "pad" not in fused(graph, [af.identity(convolved, name=f"c{number}")], [x]).lower().replace(
            "padding", ""
        )
    with Session(graph=graph) as session:
        value = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
        wide = np.pad(value, around, constant_values=-np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), axis=(1, 2))[:, ::2, ::2]
        np.testing.assert_array_equal(session.run(pooled, {x: value}), windows.max((-2, -1)))


def test_pads_stay_where_they_are_more_than_those_of_a_window(graph: af.Graph) -> None:
    """Zeros before a pool, minus infinity before a convolution, pads as wide as the window, or around channels, or fed."""
    x = af.placeholder(af.float32, [None, 8, 8, 3], name="x")
    widths = af.constant([[0, 0], [1, 1], [1, 1], [0, 0]], name="widths")
    feeds, lowest = [x], -np.inf
    wide, deep = [[0, 0], [3, 0], [0, 0], [0, 0]], [[0, 0], [1, 0], [0, 0], [0, 1]]
    for y in (
        af.nn.max_pool2d(af.pad(x, widths), 3, 2, "VALID"),
        af.nn.max_pool2d(af.pad(x, widths, constant_values=lowest), 3, 2, "SAME"),
        af.nn.max_pool2d(af.pad(x, wide, constant_values=lowest), 3, 2, "VALID"),
        af.nn.max_pool2d(af.pad(x, deep, constant_values=lowest), 3, 2, "VALID"),
        af.nn.conv2d(af.pad(x, widths, constant_values=lowest), af.zeros([3, 3, 3, 3]), 1, "VALID"),
        af.nn.conv2d(af.pad(x, widths), af.zeros([3, 3, 3, 3]), 1, "SAME"),
    ):
        assert "Pad" in fused(graph, [y], feeds).replace("_PaddedMaxPool", "")
    pooled = af.nn.max_pool2d(af.pad(x, widths, constant_values=lowest), 3, 2, "VALID")
    assert "_PaddedMaxPool" not in fused(graph, [pooled], [x, widths])


def test_pads_stay_on_a_device_without_a_kernel_for_both(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a GPU, which has memory of its own."""
    monkeypatch.setitem(kernel._OWN_MEMORY, "APART", frozenset())
    x = af.placeholder(af.float32, [None, 8, 8, 3], name="x")
    for device, op in (("APART", "MaxPool"), ("CPU", "_PaddedMaxPool")):
        with af.device(f"/device:{device}:0"):
            padded = af.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=-np.inf)
            pooled = af.nn.max_pool2d(padded, 3, 2, "VALID", name=device)
        assert f"{device} = {op}(" in fused(graph, [pooled], [x])


def test_a_convolution_of_each_channel_takes_bias_and_activation_in(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None, 8, 8, 3], name="x")
    w, b = af.zeros([3, 3, 3, 1], name="w"), af.zeros([3], name="b")
    convolved = af.nn.depthwise_conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME")
    y = af.nn.relu6(af.nn.bias_add(convolved, b), name="y")
    assert fused(graph, [y], [x]) == "y = _FusedDepthwiseConv2d(x, w, b)"


def test_a_gradient_is_masked_before_it_is_spread_over_a_pool(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2, 6, 6, 3], name="x")
    active = af.nn.relu(x, name="active")
    pooled = af.nn.max_pool(active, 3, 2, "SAME", name="pooled")
    dx = af.gradients(af.square(pooled), [x])[0]
    lines = fused(graph, [dx], [x]).splitlines()
    assert sum("= ReluGrad(" in line and ", pooled)" in line for line in lines) == 1
    assert "= MaxPoolGrad(active, pooled, " in lines[-1]
    other = af.nn.max_pool(active, 2, 2, "SAME", name="other")
    spread = max_pool_grad(active, other, other, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
    assert "= ReluGrad(" in fused(graph, [relu_grad(spread, active)], [x]).splitlines()[-1]


def test_masked_before_or_after_the_gradient_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORFLOW_KERNELS", "numpy")
    given = np.round(np.random.default_rng(0).normal(size=(2, 7, 7, 3)), 1).astype(np.float32)

    def make() -> tuple[Any, dict[Any, Any]]:
        x = af.placeholder(af.float32, given.shape)
        y = af.nn.max_pool(af.nn.relu(x), 3, 2, "SAME")
        return [af.gradients(y * y - y, [x])[0] + 0.0], {x: given}

    both_ways(make)


def test_a_convolution_takes_bias_and_activation_in(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None, 8, 8, 3], name="x")
    w, b = af.zeros([3, 3, 3, 4], name="w"), af.zeros([4], name="b")
    y = af.nn.relu(af.nn.bias_add(af.nn.conv2d(x, w, strides=2, padding="VALID"), b), name="y")
    assert fused(graph, [y], [x]) == "y = _FusedConv2D(x, w, b)"
    first = af.nn.conv2d(af.transpose(x, [0, 3, 1, 2], name="t"), w, 1, "SAME", data_format="NCHW", name="c")
    z = af.nn.bias_add(first, b, data_format="NCHW", name="z")
    assert "_Fused" not in fused(graph, [z], [x])


def normal(training: bool = True) -> tuple[af.Tensor, list[af.Tensor], list[af.Tensor]]:
    """Images, what a batch normalization of them gives, and its parameters."""
    x = af.placeholder(af.float32, [2, 4, 4, 3], name="x")
    scale, offset = af.ones([3], name="s"), af.zeros([3], name="o")
    given = {} if training else {"mean": af.zeros([3], name="m"), "variance": af.ones([3], name="v")}
    return x, list(af.nn.fused_batch_norm(x, scale, offset, is_training=training, name="n", **given)), [scale, offset]


@pytest.mark.parametrize("training", [True, False])
def test_a_normalization_takes_its_activation_in(graph: af.Graph, training: bool) -> None:
    """The other outputs keep their users, and the activation's name stays."""
    x, outputs, _ = normal(training)
    y = af.nn.relu(outputs[0], name="y")
    lines = fused(graph, [y, outputs[1]], [x]).splitlines()
    assert lines[-2].startswith("n = _FusedBatchNorm(x, ") or "= _FusedBatchNorm(x, " in lines[-2]
    assert lines[-1].startswith("y = Identity(")
    z = outputs[0] * 2.0
    assert "_FusedBatchNorm" not in fused(graph, [y, z], [x]), "the normalized images have another user"


def test_the_gradients_of_a_normalization_and_its_activation_are_one(graph: af.Graph) -> None:
    x, outputs, parameters = normal()
    y = af.nn.relu6(outputs[0])
    text = fused(graph, af.gradients(af.square(y), [x, *parameters]), [x])
    assert text.count("= _FusedBatchNormGrad(") == 1 and "Relu6Grad" not in text and "= _FusedBatchNorm(" in text
    other = af.nn.relu(outputs[0])
    gradient = af.gradients(af.square(other), [x])[0]
    masked = next(n for n in graph.nodes.values() if n.op == "ReluGrad")
    assert "= _FusedBatchNormGrad(" not in fused(graph, [gradient, graph.get_tensor_by_name(f"{masked.name}:0")], [x])


@pytest.mark.parametrize("activation", ["relu", "relu6"])
@pytest.mark.parametrize("training", [True, False])
def test_normalizations_and_activations_give_the_same_as_one(
    monkeypatch: pytest.MonkeyPatch, activation: str, training: bool
) -> None:
    monkeypatch.setenv("ACTORFLOW_KERNELS", "numpy")
    given = 5 * np.random.default_rng(0).normal(size=(2, 4, 4, 3)).astype(np.float32)

    def make() -> tuple[Any, dict[Any, Any]]:
        x, outputs, parameters = normal(training)
        y = getattr(af.nn, activation)(outputs[0])
        return [y, *af.gradients(y * y - y, [x, *parameters])], {x: given}

    both_ways(make)


def test_what_others_see_stays(graph: af.Graph) -> None:
    """A value in between that is fetched, fed, used twice or waited for, and a node that is a target."""
    x, w, b = layer()
    product = af.matmul(x, w, name="xw")
    y = af.nn.bias_add(product, b, name="y")
    assert fused(graph, [y, product], [x]) == "xw = MatMul(x, w)\ny = BiasAdd(xw, b)"
    assert fused(graph, [y, product.op], [x]) == "xw = MatMul(x, w)\ny = BiasAdd(xw, b)"
    assert fused(graph, [y], [x, product]) == "y = BiasAdd(xw, b)"
    assert fused(graph, [y, af.negative(product, name="n")], [x]).startswith("xw = MatMul(x, w)\n")
    with af.control_dependencies([product]):
        waits = af.negative(x, name="waits")
    assert "_Fused" not in fused(graph, [y, waits], [x])


def test_control_inputs_of_both_are_kept(graph: af.Graph) -> None:
    x, w, b = layer()
    one, two = af.negative(x, name="one"), af.square(x, name="two")
    with af.control_dependencies([one]):
        product = af.matmul(x, w)
    with af.control_dependencies([two]):
        y = af.nn.bias_add(product, b, name="y")
    assert fused(graph, [y], [x]).endswith("y = _FusedMatMul(x, w, b, ^one, ^two)")


def test_other_types_stay(graph: af.Graph) -> None:
    x, w, b = layer(af.float16)
    assert "_Fused" not in fused(graph, [af.nn.bias_add(af.matmul(x, w), b)], [x])


def test_a_step_on_two_devices_stays(graph: af.Graph) -> None:
    x, w, b = layer()
    with af.device("/device:CPU:1"):
        product = af.matmul(x, w)
    assert "_Fused" not in fused(graph, [af.nn.bias_add(product, b)], [x])


# ---- in runs


def both_ways(make: Callable[[], tuple[Any, dict[Any, Any]]], steps: int = 1) -> list[Any]:
    """The values of what `make` builds, with passes and without, which have to be the same bits."""
    found = []
    for optimize in (True, False):
        graph = af.Graph()
        with graph.as_default():
            fetches, feeds = make()
            with Session(graph=graph, options=af.PlanOptions(optimize=optimize)) as session:
                if graph.get_collection("variables"):
                    session.run(af.global_variables_initializer())
                for _ in range(steps):
                    values = session.run(fetches, feeds)
        found.append(values)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    return found[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("shape", [[None, 3], [64, 3], None])
def test_fused_and_single_nodes_give_the_same_bits(shape: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORFLOW_KERNELS", "numpy")
    rng = np.random.default_rng(seed)
    value, images = rng.standard_normal((64, 3), np.float32), rng.standard_normal((2, 9, 9, 3), np.float32)
    weights, filters = rng.standard_normal((3, 400), np.float32), rng.standard_normal((3, 3, 3, 8), np.float32)
    value[0, 0], value[1, 0], images[0, 0, 0, 0] = np.nan, np.inf, np.nan
    functions = [lambda x: x, af.nn.relu, af.nn.relu6, af.nn.elu, af.tanh, af.sigmoid]

    def make() -> tuple[Any, dict[Any, Any]]:
        x, y = af.placeholder(af.float32, shape), af.placeholder(af.float32, [None, 9, 9, 3])
        bias, other = af.constant(weights[0]), af.constant(filters[0, 0, 0])
        fetches = [f(af.nn.bias_add(af.matmul(x, weights), bias)) for f in functions]
        fetches += [f(af.nn.bias_add(af.nn.conv2d(y, filters, 1, "SAME"), other)) for f in functions]
        return fetches, {x: value, y: images}

    assert np.isnan(both_ways(make)[0][0]).all()


def test_mistakes_in_a_run_are_those_of_single_nodes(graph: af.Graph) -> None:
    x, w, b = (af.placeholder(af.float32, [None] * rank) for rank in (2, 2, 1))
    y = af.nn.relu(af.nn.bias_add(af.matmul(x, w), b), name="y")
    good: list[Any] = [np.ones((2, 3)), np.ones((3, 4)), np.ones(4)]
    with Session(graph=graph) as session:
        assert session.run(y, dict(zip((x, w, b), good))).tolist() == [[4.0] * 4] * 2
        for position, bad in ((0, np.ones((2, 2))), (1, np.ones((3, 3))), (2, np.ones(3))):
            given = [bad if i == position else value for i, value in enumerate(good)]
            with pytest.raises(errors.InvalidArgumentError) as caught:
                session.run(y, dict(zip((x, w, b), given)))
            assert caught.value.node == "y"


# ---- gradient descent


def descent(turned: bool = False) -> tuple[Any, Variable, af.Tensor]:
    """A step of gradient descent on one layer, its variable, and its placeholder."""
    x = af.placeholder(af.float32, [None, 3], name="x")
    w = af.Variable(
        np.arange(6, dtype=np.float32).reshape(2, 3) if turned else np.arange(6.0, dtype=np.float32).reshape(3, 2)
    )
    loss = af.reduce_sum(af.square(af.matmul(x, w, transpose_b=turned)))
    return af.train.GradientDescentOptimizer(0.125).minimize(loss), w, x


@pytest.mark.parametrize("turned", [False, True])
def test_a_step_of_gradient_descent_takes_its_product_in(graph: af.Graph, turned: bool) -> None:
    step, w, x = descent(turned)
    lines = fused(graph, [step], [x]).splitlines()
    assert sum("= _SgdMatMul(" in line for line in lines) == 1
    assert not any("= ApplyGradientDescent(" in line for line in lines)
    value = np.float32([[1, 2, 3], [0, -1, 1]])
    before = np.arange(6.0).reshape(2, 3).T if turned else np.arange(6.0).reshape(3, 2)
    after = before - 0.125 * value.T @ (2 * (value @ before))
    with Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        session.run(step, {x: value})
        np.testing.assert_allclose(session.run(w), after.T if turned else after, rtol=1e-6)


@pytest.mark.parametrize("rate_first", [False, True])
def test_a_scaled_gradient_that_is_subtracted_is_a_step_of_descent(graph: af.Graph, rate_first: bool) -> None:
    x = af.placeholder(af.float32, [None, 3], name="x")
    w = af.Variable(np.ones((3, 2), np.float32))
    gradient = af.gradients(af.reduce_sum(af.square(af.matmul(x, w))), [w])[0]
    scaled = 0.125 * gradient if rate_first else gradient * 0.125
    assert "= _SgdMatMul(" in fused(graph, [w.assign_sub(scaled).op], [x])
    assert "= AssignSub(" in fused(graph, [w.assign_sub(scaled)], [x]), "the new value is fetched"


def test_what_is_no_step_of_descent(graph: af.Graph) -> None:
    """A rate for each number, and a number that would be stretched."""
    w, b = af.Variable(np.ones((3, 2), np.float32)), af.Variable(np.float32(1.0))
    matrix, row = af.placeholder(af.float32, [3, 2]), af.placeholder(af.float32, [2])
    for step in (w.assign_sub(matrix * row), b.assign_sub(row[0] * row[1]), w.assign_add(0.5 * matrix)):
        assert "ApplyGradientDescent" not in fused(graph, [step.op], [matrix, row])


@pytest.mark.parametrize("output", ["nothing", "value"])
def test_scaled_steps_give_the_same_bits(output: str) -> None:
    def make() -> tuple[Any, dict[Any, Any]]:
        x = af.placeholder(af.float32, [3])
        w = af.Variable(np.float32([0.1, 0.2, 0.3]))
        step = w.assign_sub(0.3 * (x * w), read_value=output == "value")
        with af.control_dependencies([step]):
            return [w.read_value()], {x: np.float32([0.7, 0.11, -0.3])}

    both_ways(make, steps=5)


def test_training_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORFLOW_KERNELS", "numpy")

    def make() -> tuple[Any, dict[Any, Any]]:
        step, w, x = descent()
        with af.control_dependencies([step]):
            return [w.read_value()], {x: np.float32([[0.1, 0.2, 0.3], [0, -0.1, 0.1]])}

    both_ways(make, steps=5)


def test_a_gradient_that_is_fetched_stays_a_product(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None, 3], name="x")
    w = af.Variable(np.zeros((3, 2), np.float32))
    optimizer = af.train.GradientDescentOptimizer(0.5)
    pairs = optimizer.compute_gradients(af.reduce_sum(af.matmul(x, w)))
    assert "_SgdMatMul" not in fused(graph, [optimizer.apply_gradients(pairs), pairs[0][0]], [x])


async def test_snapshots_outlive_a_fused_step(graph: af.Graph) -> None:
    step, w, x = descent()
    async with af.Session(graph=graph) as session:
        await session.run(af.global_variables_initializer())
        before = await session.run(w)
        await session.run(step, {x: np.ones((1, 3))})
        assert before.tolist() == [[0, 1], [2, 3], [4, 5]]
        assert (await session.run(w)).tolist() != before.tolist()


def test_a_fused_step_refuses_what_does_not_fit(graph: af.Graph) -> None:
    w = af.Variable(np.zeros((3, 2), np.float32))
    unset = af.Variable(np.zeros((3, 2), np.float32))
    a, b = af.placeholder(af.float32), af.placeholder(af.float32)
    step, early = (
        sgd_matmul(w, 0.5, a, b, transpose_a=True, name="step"),
        sgd_matmul(unset, 0.5, a, b, transpose_a=True, name="step"),
    )
    with Session(graph=graph) as session:
        session.run(w.initializer)
        good: Any = {a: np.ones((4, 3)), b: np.ones((4, 2))}
        for feeds in ({a: np.ones(3)}, {a: np.ones((5, 3))}, {a: np.ones((4, 2))}, {b: np.ones((4, 3))}):
            with pytest.raises(errors.InvalidArgumentError):
                session.run(step, good | feeds)
        assert session.run(w).tolist() == [[0, 0]] * 3
        session.run(step, good)
        assert session.run(w).tolist() == [[-2, -2]] * 3
        with pytest.raises(errors.FailedPreconditionError):
            session.run(early, good)
    with pytest.raises(ValueError):
        sgd_matmul(w, 0.5, np.ones((4, 3), np.float32), np.ones((4, 3), np.float32), transpose_a=True, name="step")
    with pytest.raises(ValueError, match="scalar"):
        sgd_matmul(w, [0.5, 0.5], a, b, name="step")


def convolved(variance: float = 1.0, training: bool = False, weight: float = 1.0) -> tuple[af.Tensor, list[af.Tensor]]:
    """Images, and what a normalization of their convolution gives, of constants alone."""
    x = af.placeholder(af.float32, [2, 4, 4, 3], name="x")
    y = af.nn.conv2d(x, af.fill([3, 3, 3, 3], weight), [1, 1, 1, 1], "SAME", name="c")
    given = {} if training else {"mean": af.zeros([3]), "variance": af.fill([3], variance)}
    scale, offset = af.fill([3], 2.0), af.ones([3])
    return x, list(af.nn.fused_batch_norm(y, scale, offset, is_training=training, epsilon=0.0, name="n", **given))


def test_a_normalization_of_constants_goes_into_a_convolution(graph: af.Graph) -> None:
    x, outputs = convolved()
    y = af.nn.relu(outputs[0], name="y")
    name = outputs[0].op.name
    constants = {e.tensor_id: (e.dtype, e.static_shape) for e in [x]}
    part = prune(Subgraph(fold_all(graph), constants, (y.tensor_id,)))
    lines = [str(n) for n in fuse(part).nodes.values()]
    assert lines[-1] == f"y = _FusedConv2D(x, {name}/scaled_weights, {name}/shift)"
    assert len(lines) == 3, "the former weights and moments are gone"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", ["training", "a negative variance", "moments are taken", "an overflow"])
def test_other_normalizations_stay(graph: af.Graph, case: str) -> None:
    variances = {"a negative variance": -1.0, "an overflow": 1e-30}
    x, outputs = convolved(variances.get(case, 1.0), case == "training", 1e38 if case == "an overflow" else 1.0)
    fetches = [outputs[0], outputs[1]] if case == "moments are taken" else [outputs[0]]
    part = Subgraph(fold_all(graph), {x.tensor_id: (x.dtype, x.static_shape)}, tuple(f.tensor_id for f in fetches))
    assert any(n.op == "FusedBatchNormV3" for n in fuse(prune(part)).nodes.values())


def fold_all(graph: af.Graph) -> dict[str, Any]:
    """The nodes of a graph, of which those that are computed of constants are constants."""
    builder = Session(graph=graph)._inner._engine.builder  # type: ignore[attr-defined]
    return dict(fold(Subgraph(graph.nodes), builder.evaluate).nodes)


async def test_what_a_constant_waits_for_comes_before_what_it_goes_into(graph: af.Graph) -> None:
    x, c = af.placeholder(af.float32, [1, 2, 2, 1]), af.Variable(0.0)
    with af.control_dependencies([c.assign(5.0)]):
        offset = af.identity(af.constant([1.0]))
    y = af.nn.conv2d(x, af.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME")
    ones = af.ones([1])
    n = af.nn.fused_batch_norm(y, ones, offset, mean=ones, variance=ones, is_training=False)[0]
    with af.control_dependencies([n]):
        after = c.read_value()
    async with af.Session(graph=graph) as session:
        for _ in range(5):
            await session.run(c.initializer)
            assert await session.run(after, {x: np.zeros((1, 2, 2, 1))}) == 5.0
