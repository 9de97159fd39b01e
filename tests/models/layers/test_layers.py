"""Layers: variables in scopes of their own, losses and updates in collections, and updates that training does not forget."""

from __future__ import annotations

import inspect
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.models.layers import functions


def names(variables: list[Any]) -> list[str]:
    return [variable.op.name for variable in variables]


@pytest.mark.parametrize("name", list(functions.__annotations__))
def test_type_checkers_know_the_arguments_that_a_function_has(name: str) -> None:
    told = list(inspect.signature(vars(functions)[functions.__annotations__[name]].__call__).parameters.values())[1:]
    has = list(inspect.signature(getattr(af.layers, name)).parameters.values())
    assert [(each.name, each.kind, each.default) for each in told] == [
        (each.name, each.kind, each.default) for each in has
    ]
    assert [each.annotation for each in told][1:] == [each.annotation for each in has][1:]


# ---- objects


def test_f114_an_object_makes_its_variables_once(graph: af.Graph) -> None:
    layer = af.layers.Dense(3, activation=af.nn.relu)
    assert not layer.built and layer.weights == [] and layer.name == "dense"
    with pytest.raises(ValueError, match="first call"):
        _ = layer.scope_name
    layer(af.ones([2, 4]))
    layer.apply(af.zeros([5, 4]))
    assert names(layer.weights) == names(af.global_variables()) == ["dense/kernel", "dense/bias"]
    assert (layer.scope_name, layer.dtype, layer.graph) == ("dense", af.float32, graph)
    assert layer.count_params() == 15
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4, found 5"):
        layer(af.ones([2, 5]))


def test_a_layer_belongs_to_one_graph(graph: af.Graph) -> None:
    layer = af.layers.Dense(3)
    layer(af.ones([2, 4]))
    with (
        af.Graph().as_default(),
        pytest.raises(ValueError, match="the variables of the layer 'dense' are in another"),
    ):
        layer(af.ones([2, 4]))


def test_weights_that_are_not_trained(graph: af.Graph) -> None:
    frozen, norm = af.layers.Dense(2, trainable=False), af.layers.BatchNormalization()
    norm(frozen(af.ones([2, 4])), training=True)
    assert names(af.trainable_variables()) == ["batch_normalization/gamma", "batch_normalization/beta"]
    assert names(norm.non_trainable_weights) == [
        "batch_normalization/moving_mean",
        "batch_normalization/moving_variance",
    ]
    assert frozen.trainable_weights == [] and len(norm.updates) == 2
    norm.trainable = False
    assert norm.updates == [] and names(norm.trainable_variables) == []


def test_a_class_of_ones_own_takes_a_structure_and_adds_losses_and_updates(graph: af.Graph) -> None:
    class Both(af.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.scale = self.add_weight("scale", input_shape["left"][-1:], regularizer=af.nn.l2_loss)
            self.seen = self.add_weight("seen", [], initializer=af.zeros_initializer(), trainable=False)
            self.built = True

        def call(self, inputs: Any, factor: float = 1.0) -> Any:
            self.add_update(self.seen.assign_add(1.0, read_value=False))
            self.add_loss(af.reduce_sum(inputs["right"]))
            return {"sum": (inputs["left"] + inputs["right"]) * self.scale * factor}

    layer = Both(name="pair")
    made = layer({"left": af.ones([2, 3]), "right": np.ones([2, 3], np.float32)}, factor=2.0)
    assert made["sum"].shape == [2, 3]
    assert names(layer.weights) == ["pair/scale", "pair/seen"]
    assert af.get_collection(af.GraphKeys.REGULARIZATION_LOSSES) == layer.losses and len(layer.losses) == 2
    assert af.get_collection(af.GraphKeys.UPDATE_OPS) == layer.updates and len(layer.updates) == 1


def test_a_call_that_gives_nothing(graph: af.Graph) -> None:
    class Silent(af.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return None

    with pytest.raises(ValueError, match="should return a Tensor"):
        Silent()(af.ones([2]))


@pytest.mark.parametrize(
    ("spec", "shape", "text"),
    [
        ({"ndim": 2}, [1, 2, 3], "expected ndim=2, found ndim=3"),
        ({"max_ndim": 2}, [1, 2, 3], "expected max_ndim=2, found ndim=3"),
        ({"min_ndim": 2}, [3], "expected min_ndim=2, found ndim=1"),
        ({"shape": [None, 4]}, [2, 3], r"expected shape=\(\?, 4\)"),
        ({"dtype": "int32"}, [2], "expected dtype=.*int32, found dtype=.*float32"),
        ({"axes": {-1: 4}}, None, "its rank is undefined"),
    ],
)
def test_an_input_that_does_not_fit_a_spec(graph: af.Graph, spec: dict[str, Any], shape: Any, text: str) -> None:
    layer = af.layers.Layer(name="strict")
    layer.input_spec = af.layers.InputSpec(**spec)
    with pytest.raises(ValueError, match=f"Input 0 of layer strict is incompatible with the layer: {text}"):
        layer(af.placeholder(af.float32, shape))


# ---- initial values, initializers and regularizers


async def test_kernels_start_glorot_uniform_and_biases_at_zero(graph: af.Graph) -> None:
    af.layers.dense(af.ones([1, 30]), 20)
    with af.variable_scope("given", initializer=af.constant_initializer(0.5)):
        af.layers.conv1d(af.ones([1, 8, 3]), 2, 3)
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        kernel, bias, filters, other = await session.run(af.global_variables())
    bound = math.sqrt(6 / 50)
    assert 0.8 * bound < np.abs(kernel).max() <= bound and not bias.any()
    assert (filters == 0.5).all() and not other.any()


def test_reuse_adds_no_second_loss(graph: af.Graph) -> None:
    for reuse in (None, True):
        af.layers.dense(af.ones([1, 3]), 2, kernel_regularizer=af.nn.l2_loss, name="fc", reuse=reuse)
    assert len(af.losses.get_regularization_losses()) == 1


def test_a_partitioned_kernel_has_a_loss_for_each_slice(graph: af.Graph) -> None:
    with af.variable_scope("wide", partitioner=af.fixed_size_partitioner(2)):
        af.layers.dense(af.ones([1, 4]), 2, kernel_regularizer=af.nn.l2_loss, use_bias=False)
    assert names(af.global_variables()) == ["wide/dense/kernel/part_0", "wide/dense/kernel/part_1"]
    assert len(af.losses.get_regularization_losses()) == 2


@pytest.mark.parametrize("kind", ["float16", "float64"])
async def test_variables_have_the_type_of_the_inputs(graph: af.Graph, kind: str) -> None:
    x = af.ones([2, 4, 4, 2], kind)
    y = af.layers.batch_normalization(af.layers.conv2d(x, 3, 3), training=True)
    assert y.dtype == af.as_dtype(kind) and af.trainable_variables()[0].dtype == af.as_dtype(kind)
    assert af.trainable_variables()[-1].dtype == (af.float32 if kind == "float16" else af.float64)
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        assert np.isfinite(await session.run(y)).all()


# ---- channels first


@pytest.mark.parametrize(
    ("function", "rank", "given"),
    [
        ("conv1d", 1, {"filters": 2, "kernel_size": 3}),
        ("conv2d", 2, {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same"}),
        ("conv3d", 3, {"filters": 2, "kernel_size": 2}),
        ("conv2d_transpose", 2, {"filters": 2, "kernel_size": 3, "strides": 2}),
        ("conv3d_transpose", 3, {"filters": 2, "kernel_size": 2, "strides": 2, "padding": "same"}),
        ("separable_conv1d", 1, {"filters": 3, "kernel_size": 2}),
        ("separable_conv2d", 2, {"filters": 3, "kernel_size": 2, "depth_multiplier": 2}),
        ("max_pooling1d", 1, {"pool_size": 2, "strides": 2}),
        ("max_pooling2d", 2, {"pool_size": 2, "strides": 1}),
        ("max_pooling3d", 3, {"pool_size": 2, "strides": 2}),
        ("average_pooling1d", 1, {"pool_size": 2, "strides": 1, "padding": "same"}),
        ("average_pooling2d", 2, {"pool_size": 3, "strides": 2}),
        ("average_pooling3d", 3, {"pool_size": 2, "strides": 2}),
    ],
)
async def test_channels_first_give_the_same_values(
    graph: af.Graph, function: str, rank: int, given: dict[str, Any], seed: int
) -> None:
    """TensorFlow computes these on GPUs only, so the other layout is the reference."""
    x = np.random.default_rng(seed).normal(size=[2, *[5] * rank, 4]).astype(np.float32)
    call: Any = getattr(af.layers, function)
    last = call(x, name="layer", **given)
    extra = {"reuse": True} if af.global_variables() else {}
    first = call(np.moveaxis(x, -1, 1), data_format="channels_first", name="layer", **given, **extra)
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        left, right = await session.run([last, first])
    np.testing.assert_allclose(np.moveaxis(right, 1, -1), left, rtol=1e-4, atol=1e-5)
    assert first.shape == right.shape and last.shape == left.shape


# ---- updates


def network(training: Any = True) -> tuple[Any, Any]:
    x = af.placeholder(af.float32, [None, 3], name="x")
    y = af.layers.batch_normalization(af.layers.dense(x, 2), training=training, momentum=0.5)
    return x, af.reduce_mean(af.square(y - 1.0))


async def test_minimize_runs_the_updates_of_the_layers_that_the_loss_needs(graph: af.Graph) -> None:
    x, loss = network()
    elsewhere = af.placeholder(af.float32, [None, 3])
    af.layers.batch_normalization(elsewhere, training=True)  # of another network, whose input this step is not fed
    af.add_to_collection(af.GraphKeys.UPDATE_OPS, elsewhere.op)
    train = af.train.GradientDescentOptimizer(0.0).minimize(loss)
    mean = af.global_variables()[4]
    assert mean.op.name == "batch_normalization/moving_mean"
    assert graph.lint(train) == []
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        batch = np.arange(6, dtype=np.float32).reshape(2, 3)
        await session.run(loss, {x: batch})
        assert not (await session.run(mean)).any(), "the loss alone moves nothing"
        await session.run(train, {x: batch})
        kernel = await session.run(af.global_variables()[0])
        np.testing.assert_allclose(await session.run(mean), 0.5 * (batch @ kernel).mean(axis=0), rtol=1e-4)


async def test_a_training_step_that_leaves_updates_behind_is_told_of(graph: af.Graph) -> None:
    x, loss = network()
    optimizer = af.train.GradientDescentOptimizer(0.1)
    train = optimizer.apply_gradients(optimizer.compute_gradients(loss))
    (finding,) = graph.lint([loss, train])
    assert finding.kind == "forgotten updates" and "the layer batch_normalization, made at" in str(finding)
    assert finding.lines[0] is not None and Path(finding.lines[0].file).name == "test_layers.py"
    assert graph.lint(loss) == [], "nothing is trained"
    assert graph.lint([train, *af.get_collection(af.GraphKeys.UPDATE_OPS)]) == []
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        with pytest.warns(UserWarning, match="the layer batch_normalization, made at .* does not run its updates"):
            await session.run(train, {x: np.ones([2, 3])})
        with warnings.catch_warnings(record=True) as again:
            warnings.simplefilter("always")
            await session.run(train, {x: np.ones([2, 3])})
        assert not again, "each step is told of once"


def test_programs_of_tensorflow_run_the_updates_themselves() -> None:
    program = """
import actorflow.compat.v1 as tf

x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.layers.batch_normalization(x, training=True) ** 2)
bare = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    whole = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
"""
    space: dict[str, Any] = {"__name__": "program"}
    with af.Graph().as_default() as graph:
        exec(program, space)
        with space["tf"].Session() as session:
            session.run(space["tf"].global_variables_initializer())
            with pytest.warns(UserWarning, match="does not run its updates"):
                session.run(space["bare"], {space["x"]: np.ones([2, 3])})
            session.run(space["whole"], {space["x"]: np.ones([2, 3])})
        assert len(graph.lint(space["bare"])) == 1 and graph.lint(space["whole"]) == []


async def test_a_flag_that_a_run_decides(graph: af.Graph) -> None:
    flag = af.placeholder_with_default(False, [])
    x, loss = network(flag)
    train = af.train.GradientDescentOptimizer(0.0).minimize(loss)
    moving = af.global_variables()[4:]
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        start = await session.run(moving)
        await session.run(train, {x: np.arange(6).reshape(2, 3)})
        assert all(map(np.array_equal, start, await session.run(moving))), "outside of training nothing moves"
        await session.run(train, {x: np.arange(6).reshape(2, 3), flag: True})
        assert not any(map(np.array_equal, start, await session.run(moving)))


def test_a_flag_of_another_kind(graph: af.Graph) -> None:
    with pytest.raises(TypeError, match="dropout: the argument `training` is a bool or a boolean tensor"):
        af.layers.dropout(af.ones([2]), training="yes")


async def test_dropout_keeps_the_mean(graph: af.Graph, seed: int) -> None:
    y = af.layers.dropout(af.ones([100, 100]), 0.25, noise_shape=[None, 100], seed=seed, training=True)
    async with af.Session() as session:
        value = await session.run(y)
    assert set(np.unique(value.round(5))) == {0.0, np.float32(4 / 3).round(5)}
    assert 0.9 < value.mean() < 1.1


async def test_layers_learn(graph: af.Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=[64, 6, 6, 1]).astype(np.float32)
    labels = (x.mean(axis=(1, 2, 3)) > 0).astype(np.int32)
    hidden = af.layers.conv2d(x, 4, 3, activation="relu", kernel_initializer=af.glorot_uniform_initializer(seed))
    hidden = af.layers.batch_normalization(af.layers.max_pooling2d(hidden, 2, 2), training=True)
    head = af.glorot_uniform_initializer(seed + 1)
    logits = af.layers.dense(af.layers.flatten(hidden), 2, kernel_initializer=head)
    loss = af.losses.sparse_softmax_cross_entropy(labels, logits)
    train = af.train.AdamOptimizer(0.02).minimize(loss)
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        first = await session.run(loss)
        for _ in range(60):
            await session.run(train)
        assert await session.run(loss) < 0.5 * first


def test_a_function_has_the_signature_and_the_documentation_of_its_class() -> None:
    function: Any = af.layers.conv2d
    assert function.__name__ == "conv2d" and "`tf.layers.conv2d`" in function.__doc__
    assert list(function.__signature__.parameters)[:3] == ["inputs", "filters", "kernel_size"]
    with pytest.raises(TypeError, match="unit"):
        af.layers.dense(af.ones([1, 2]), unit=3)  # type: ignore[call-arg]


def test_layers_run_at_once_too() -> None:
    with af.eager():
        dense, norm = af.layers.Dense(4), af.layers.BatchNormalization(momentum=0.5)
        x = np.ones([2, 3], np.float32)
        first, second = dense(x), dense(x)
        assert len(dense.weights) == 2 and np.array_equal(first.numpy(), second.numpy())
        norm(first, training=True)
        np.testing.assert_allclose(norm.moving_mean.numpy(), 0.5 * first.numpy().mean(axis=0), rtol=1e-5)
