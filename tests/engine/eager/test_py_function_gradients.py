"""Gradients of `py_function` in graphs: those of the ops that the function called in the step, each call with its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf


def _huber(x: Any) -> Any:
    return x * x / 2 if abs(x) <= 1 else abs(x) - 0.5


def _counted(x: Any) -> Any:
    for _ in range(3):
        x = x * x
    return x


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "product": (lambda x: x * x, lambda x: 2 * x),
    "a branch of Python": (_huber, lambda x: float(np.clip(x, -1, 1))),
    "a loop of Python": (_counted, lambda x: 8 * x**7),
    "a function of an op": (tf.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "of numpy alone": (lambda x: np.float32(x.numpy() * 2), lambda x: 0.0),
    "no ops": (lambda x: x, lambda x: 1.0),
    "a constant": (lambda x: tf.constant(2.0), lambda x: 0.0),
}
PLACES: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "alone": lambda function, x: tf.py_function(function, [x], tf.float32),
    "in a branch": lambda function, x: tf.cond(x > -9.0, lambda: tf.py_function(function, [x], tf.float32), lambda: x),
    "in a loop": lambda function, x: tf.while_loop(
        lambda i, y: i < 1,
        lambda i, y: (i + 1, tf.reshape(tf.py_function(function, [y], tf.float32), [])),
        [0, x],
    )[1],
    "in a function": lambda function, x: af.function(lambda x: tf.py_function(function, [x], tf.float32))(x),
    "mapped": lambda function, x: tf.map_fn(
        lambda x: tf.reshape(tf.py_function(function, [x], tf.float32), []), tf.reshape(x, [1])
    )[0],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_those_of_the_ops(graph: af.Graph, function: str, place: str) -> None:
    call, slope = FUNCTIONS[function]
    x = tf.placeholder(tf.float32, [])
    gradient = tf.gradients(PLACES[place](call, x), x)[0]
    with tf.Session(graph=graph) as session:
        for value in (0.5, 2.0, -3.0):
            assert session.run(gradient, {x: value}) == pytest.approx(slope(value), rel=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_gradients_have_the_types_of_the_inputs(graph: af.Graph, dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = tf.cast(tf.constant([3.0, 4.0]), dtype)
    gradient = tf.gradients(tf.py_function(lambda x: x * 2, [x], dtype), x, grad_ys=[tf.ones_like(x)])[0]
    assert (gradient.dtype, gradient.shape.as_list()) == (tf.as_dtype(dtype), [2])
    with tf.Session(graph=graph) as session:
        assert session.run(tf.cast(gradient, tf.float32)).tolist() == [2, 2]


def test_inputs_and_results_of_several_kinds(graph: af.Graph) -> None:
    x, n, text = tf.constant([1.0, 2.0]), tf.constant(3), tf.constant("a")

    def function(x: Any, n: Any, text: Any) -> Any:
        return [x * tf.cast(n, tf.float32), n + 1, tf.strings.join([text, "b"]), tf.reduce_sum(x)]

    results = tf.py_function(function, [x, n, text], [tf.float32, tf.int32, tf.string, tf.float32])
    gradients = tf.gradients([results[0], results[3]], [x, n, text])
    assert gradients[1:] == [None, None]
    with tf.Session(graph=graph) as session:
        assert session.run(gradients[0]).tolist() == [4.0, 4.0]
        assert session.run(tf.gradients(results[3], x)[0]).tolist() == [1.0, 1.0]
        assert session.run(tf.gradients(results[0], x, grad_ys=[tf.constant([1.0, 5.0])])[0]).tolist() == [3.0, 15.0]
        assert session.run(results[1:3]) == [4, b"ab"]


def test_a_step_calls_the_function_once(graph: af.Graph) -> None:
    factors: list[Any] = []

    def function(x: Any) -> Any:
        factors.append(np.float32(len(factors) + 1))
        return x * factors[-1]

    x = tf.placeholder(tf.float32, [])
    y = tf.py_function(function, [x], tf.float32)
    gradient = tf.gradients(y, x)[0]
    with tf.Session(graph=graph) as session:
        assert [session.run([y, gradient], {x: 3.0}) for _ in range(3)] == [[3, 1], [6, 2], [9, 3]]
        assert session.run(gradient, {x: 3.0}) == 4


def test_a_variable_is_trained_through_it(graph: af.Graph) -> None:
    v = tf.Variable([1.0, 2.0])
    train = tf.train.GradientDescentOptimizer(0.1).minimize(
        tf.py_function(lambda v: tf.reduce_sum(v * v), [v], tf.float32)
    )
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        session.run(train)
        np.testing.assert_allclose(session.run(v), [0.8, 1.6], rtol=1e-6)


def test_it_gives_no_results_or_as_many_as_it_states(graph: af.Graph) -> None:
    x = tf.constant(3.0)
    nothing = tf.py_function(lambda x: None, [x], [])
    listed = tf.py_function(lambda x: x * 2, [x], [tf.float32])
    with tf.Session(graph=graph) as session:
        assert session.run(nothing) is None
        assert session.run(listed) == [6.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="returned 1 values, but Tout states 2"):
            session.run(tf.py_function(lambda x: [x], [x], [tf.float32] * 2))


def test_an_error_of_the_gradient_names_the_function(graph: af.Graph) -> None:
    @tf.custom_gradient
    def broken(x: Any) -> Any:
        def gradient(dy: Any) -> Any:
            raise ValueError("no slope")

        return x, gradient

    x = tf.constant(3.0)
    with tf.Session(graph=graph) as session, pytest.raises(tf.errors.InvalidArgumentError, match="no slope") as raised:
        session.run(tf.gradients(tf.py_function(broken, [x], tf.float32), x))
    assert "(its gradient)" in str(raised.value)


def test_functions_of_arrays_have_no_gradient(graph: af.Graph) -> None:
    x = tf.constant(3.0)
    for function in (tf.py_func, tf.numpy_function):
        assert tf.gradients(function(lambda x: x, [x], tf.float32), x) == [None]
