"""Arguments of layers by name: `inputs=` of each function, and initializers, regularizers, constraints and activations as text.

The numbers are TensorFlow 1.15's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af

IMAGES: dict[int, list[int]] = {1: [2, 8, 3], 2: [2, 8, 8, 3], 3: [2, 8, 8, 8, 3]}
FUNCTIONS: dict[str, dict[str, Any]] = {
    "dense": {"units": 2},
    "flatten": {},
    "dropout": {"rate": 0.0},
    "batch_normalization": {},
    **{f"conv{n}d": {"filters": 2, "kernel_size": 3} for n in (1, 2, 3)},
    **{f"conv{n}d_transpose": {"filters": 2, "kernel_size": 3} for n in (2, 3)},
    **{f"separable_conv{n}d": {"filters": 2, "kernel_size": 3} for n in (1, 2)},
    **{f"{kind}_pooling{n}d": {"pool_size": 2, "strides": 2} for kind in ("max", "average") for n in (1, 2, 3)},
}
KERNEL = [[3.0, -1.0], [4.0, 2.0]]


def rank(function: str) -> int:
    return next((n for n in IMAGES if f"{n}d" in function), 2)


def test_the_table_has_each_function() -> None:
    assert set(FUNCTIONS) == {name for name in af.layers.__all__ if name[0].islower()}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_inputs_may_be_a_keyword(function: str, graph: af.Graph) -> None:
    make, arguments, images = getattr(af.layers, function), FUNCTIONS[function], af.ones(IMAGES[rank(function)])
    by_place = make(images, *arguments.values(), name="a")
    by_name = make(**arguments, name="b", inputs=images)
    assert by_name.shape == by_place.shape
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        assert session.run(by_name).shape == session.run(by_place).shape


def values(tensors: Any) -> Any:
    with af.blocking.Session(graph=af.get_default_graph()) as session:
        session.run(af.global_variables_initializer())
        return session.run(tensors)


@pytest.mark.parametrize(
    ("name", "lowest", "highest"),
    [
        ("zeros", 0, 0),
        ("Ones", 1, 1),
        ({"class_name": "Constant", "config": {"value": 3.0}}, 3, 3),
        ("random_uniform", -0.05, 0.05),
        ("uniform", -0.05, 0.05),
        ("TruncatedNormal", -0.1, 0.1),
        ("glorot_uniform", -((6 / 100) ** 0.5), (6 / 100) ** 0.5),
        ("GlorotNormal", -0.33, 0.33),
        ("he_uniform", -((6 / 50) ** 0.5), (6 / 50) ** 0.5),
        ("lecun_uniform", -((3 / 50) ** 0.5), (3 / 50) ** 0.5),
        ("he_normal", -0.5, 0.5),
        ("lecun_normal", -0.4, 0.4),
        ("VarianceScaling", -0.4, 0.4),
        ("orthogonal", -1, 1),
        ("random_normal", -0.3, 0.3),
    ],
)
def test_initializers_have_names(name: Any, lowest: float, highest: float, graph: af.Graph) -> None:
    af.layers.dense(af.ones([2, 50]), 50, kernel_initializer=name, bias_initializer=name if name == "zeros" else "ones")
    kernel, bias = values(af.global_variables())
    assert lowest <= kernel.min() and kernel.max() <= highest
    assert (kernel.std() > 0) == (lowest < highest)
    assert set(bias) == ({0.0} if name == "zeros" else {1.0})


@pytest.mark.parametrize(
    ("name", "loss"), [("l1", 0.1), ("l2", 0.3), ("l1_l2", 0.4), ({"class_name": "L1L2", "config": {"l1": 0.1}}, 1.0)]
)
def test_regularizers_have_names(name: Any, loss: float, graph: af.Graph) -> None:
    af.layers.dense(af.ones([2, 2]), 2, kernel_initializer=af.constant_initializer(KERNEL), kernel_regularizer=name)
    np.testing.assert_allclose(values(af.losses.get_regularization_losses()), [loss], rtol=1e-6)


def test_the_activity_regularizer_has_a_name(graph: af.Graph) -> None:
    layer = af.layers.Dense(1, kernel_initializer="ones", activity_regularizer="l2")
    layer(af.constant([[1.0], [2.0]]))
    np.testing.assert_allclose(values(layer.losses), [0.01 * 5 / 2], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("max_norm", [[1.2, -0.8944272], [1.6, 1.7888544]]),
        ("MaxNorm", [[1.2, -0.8944272], [1.6, 1.7888544]]),
        ("non_neg", [[3.0, 0.0], [4.0, 2.0]]),
        ("unit_norm", [[0.6, -0.4472136], [0.8, 0.8944272]]),
        ("min_max_norm", [[0.6, -0.4472136], [0.8, 0.8944272]]),
        ({"class_name": "MinMaxNorm", "config": {"rate": 0.5, "max_value": 3}}, [[2.4, -1.0], [3.2, 2.0]]),
        ({"class_name": "MaxNorm", "config": {"axis": 1}}, [[1.8973665, -0.6324555], [1.7888544, 0.8944272]]),
    ],
)
def test_constraints_have_names(name: Any, kept: Any, graph: af.Graph) -> None:
    layer = af.layers.Dense(
        2, use_bias=False, kernel_initializer=af.constant_initializer(KERNEL), kernel_constraint=name
    )
    step = af.train.GradientDescentOptimizer(0.0).minimize(af.reduce_sum(layer(af.ones([1, 2]))))
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(layer.kernel), kept, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("linear", [-1.0, 2.0]),
        ("relu", [0.0, 2.0]),
        ("hard_sigmoid", [0.3, 0.9]),
        ("exponential", [0.3678794, 7.389056]),
        ("tanh", [-0.7615942, 0.9640276]),
        ("sigmoid", [0.2689414, 0.8807970]),
        ("elu", [-0.6321206, 2.0]),
        ("selu", [-1.1113307, 2.1014020]),
        ("softplus", [0.3132617, 2.1269280]),
        ("softsign", [-0.5, 0.6666667]),
    ],
)
def test_activations_have_names(name: str, at: Any, graph: af.Graph) -> None:
    y = af.layers.dense(af.constant([[-1.0], [2.0]]), 1, activation=name, kernel_initializer="ones")
    np.testing.assert_allclose(values(y)[:, 0], at, rtol=1e-5)


@pytest.mark.parametrize("argument", ["initializer", "regularizer", "constraint"])
def test_a_name_that_there_is_not_is_refused(argument: str, graph: af.Graph) -> None:
    with pytest.raises(ValueError, match=f"Unknown {argument}: foo"):
        af.layers.dense(af.ones([2, 2]), 2, **{f"kernel_{argument}": "foo"})
