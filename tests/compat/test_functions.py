"""`tf.function` in programs of TensorFlow 1: numbers of Python stay numbers, and parameters have TensorFlow's names."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_a_number_takes_the_type_of_the_tensor_beside_it(dtype: str) -> None:
    @tf.function
    def scaled(x: Any, k: Any = 2) -> Any:
        assert isinstance(k, int)
        return x * k + 1

    x = np.array([1, 2], dtype)
    with tf.eager():
        for made, factor in (
            (scaled(tf.constant(x)), 2),
            (scaled(tf.constant(x), 3), 3),
            (scaled(tf.constant(x), k=4), 4),
        ):
            np.testing.assert_array_equal(made.numpy(), x * factor + 1)


def test_a_number_may_be_an_axis_or_a_partial_argument() -> None:
    def total(x: Any, axis: Any, keep: bool = False) -> Any:
        return tf.reduce_sum(x, list(range(x.shape.ndims))[axis], keepdims=keep)

    with tf.eager():
        x = tf.ones([2, 3])
        assert tf.function(total)(x, 0).numpy().tolist() == [2, 2, 2]
        assert tf.function(functools.partial(total, axis=1, keep=True))(x).numpy().tolist() == [[3], [3]]


def test_parameters_have_tensorflows_names() -> None:
    options: Any = {"experimental_autograph_options": None, "experimental_compile": False}
    function = tf.function(lambda x: x + 1, autograph=False, experimental_relax_shapes=True, **options)
    with tf.eager():
        assert function(tf.constant(1)).numpy() == 2


def test_numbers_are_tensors_where_that_is_asked() -> None:
    seen = []

    @tf.function(numbers_are_tensors=True)
    def doubled(x: Any) -> Any:
        seen.append(x)
        return x * 2

    with tf.eager():
        assert [doubled(n).numpy() for n in (1, 2, 3)] == [2, 4, 6]
    assert len(seen) == 1
