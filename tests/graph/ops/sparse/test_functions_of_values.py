"""Functions that are 0 at 0 take sparse tensors, and give sparse tensors of the same places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "abs": (tf.abs, np.abs),
    "negative": (tf.negative, np.negative),
    "neg": (tf.math.negative, np.negative),
    "sign": (tf.sign, np.sign),
    "square": (tf.square, np.square),
    "sqrt": (tf.sqrt, np.sqrt),
    "erf": (tf.math.erf, lambda x: np.array([0.8427008, 0.9953223], "f4")),
    "tanh": (tf.tanh, np.tanh),
    "cast": (lambda x: tf.cast(x, tf.int64), lambda x: x.astype("i8")),
    "to_int32": (tf.to_int32, lambda x: x.astype("i4")),
    "cast to its own type": (lambda x: tf.cast(x, tf.float32), lambda x: x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_sparse_tensor_gives_a_sparse_tensor(graph: af.Graph, name: str) -> None:
    function, expected = FUNCTIONS[name]
    values = np.array([1.0, 2.0], "f4")
    x = tf.SparseTensor([[0, 1], [1, 0]], values, [2, 2])
    result = function(x)
    assert isinstance(result, tf.SparseTensor)
    with tf.Session(graph=graph) as session:
        found = session.run(result)
    np.testing.assert_allclose(found.values, expected(values), rtol=1e-6)
    assert found.indices.tolist() == [[0, 1], [1, 0]] and found.dense_shape.tolist() == [2, 2]
    assert found.values.dtype == expected(values).dtype


@pytest.mark.parametrize("name", ["exp", "cos", "log", "floor"])
def test_other_functions_refuse_it(graph: af.Graph, name: str) -> None:
    with pytest.raises(TypeError, match="is no tensor"):
        getattr(tf.math, name)(tf.SparseTensor([[0]], [1.0], [2]))


def test_gradients_pass_through(graph: af.Graph) -> None:
    values = tf.constant([1.0, 2.0])
    x = tf.square(tf.SparseTensor([[0, 1], [1, 0]], values, [2, 2]))
    gradient = tf.gradients(tf.sparse.reduce_sum(x), values)[0]
    with tf.Session(graph=graph) as session:
        assert session.run(gradient).tolist() == [2.0, 4.0]
