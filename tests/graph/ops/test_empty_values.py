"""Values without elements have the type that an op takes, where TensorFlow's float32 is none; shapes are int32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf

CALLS: dict[str, tuple[Callable[[], Any], Any]] = {
    "reduce_all": (lambda: tf.reduce_all([]), np.bool_(True)),
    "reduce_any": (lambda: tf.reduce_any([]), np.bool_(False)),
    "reduce_all of rows": (lambda: tf.reduce_all([[], []], 1), np.array([True, True])),
    "reduce_sum": (lambda: tf.reduce_sum([]), np.float32(0)),
    "logical_not": (lambda: tf.logical_not([]), np.zeros([0], bool)),
    "logical_and": (lambda: tf.logical_and([], []), np.zeros([0], bool)),
    "logical_or with a tensor": (lambda: tf.logical_or([], tf.constant([], tf.bool)), np.zeros([0], bool)),
    "invert": (lambda: tf.bitwise.invert([]), np.zeros([0], "i4")),
    "bitwise_and": (lambda: tf.bitwise.bitwise_and([], []), np.zeros([0], "i4")),
    "invert_permutation": (lambda: tf.invert_permutation([]), np.zeros([0], "i4")),
    "string_join": (lambda: tf.strings.join([[], []]), np.zeros([0], object)),
    "string_length": (lambda: tf.strings.length([]), np.zeros([0], "i4")),
    "add": (lambda: tf.add([], []), np.zeros([0], "f4")),
    "one_hot": (lambda: tf.one_hot([], 3), np.zeros([0, 3], "f4")),
    "TensorShape without dimensions": (lambda: tf.convert_to_tensor(tf.TensorShape([])), np.zeros([0], "i4")),
    "TensorShape": (lambda: tf.constant(tf.TensorShape([2, 3])), np.array([2, 3], "i4")),
    "TensorShape of a type": (lambda: tf.convert_to_tensor(tf.TensorShape([2]), tf.int64), np.array([2], "i8")),
    "reshape": (lambda: tf.reshape([5.0], tf.TensorShape([])), np.float32(5)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_type_is_one_that_the_op_takes(graph: af.Graph, name: str) -> None:
    made, expected = CALLS[name]
    with tf.Session(graph=graph) as session:
        value = session.run(made())
    assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(value, expected)


def test_a_shape_that_is_partly_known_is_no_value(graph: af.Graph) -> None:
    with pytest.raises(ValueError, match="partially known TensorShape"):
        tf.convert_to_tensor(tf.TensorShape([2, None]))


@pytest.mark.parametrize("kind", ["tensor", "array", "list"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_slices_have_the_type_of_the_initial_value(graph: af.Graph, kind: str, dtype: str) -> None:
    value: Any = np.arange(4).astype(dtype)
    if kind == "list":
        value, dtype = [0, 1, 2, 3], "int32"
    parts = tf.create_partitioned_variables([4], [2], tf.constant(value) if kind == "tensor" else value)
    assert [part.dtype.base_dtype for part in parts] == [tf.as_dtype(dtype)] * 2
    with tf.Session(graph=graph) as session:
        session.run(tf.global_variables_initializer())
        assert [part.tolist() for part in session.run(parts)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("queue", ["FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue"])
def test_a_queue_refuses_tensors_of_another_type_as_it_refuses_values(graph: af.Graph, queue: str) -> None:
    made = {
        "FIFOQueue": lambda: tf.FIFOQueue(10, (tf.int32, tf.float32)),
        "PaddingFIFOQueue": lambda: tf.PaddingFIFOQueue(10, (tf.int32, tf.float32), ((), ())),
        "RandomShuffleQueue": lambda: tf.RandomShuffleQueue(10, 0, (tf.int32, tf.float32)),
    }[queue]()
    for values in ((tf.placeholder(tf.int32), tf.placeholder(tf.int32)), (tf.placeholder(tf.int64), 1.0)):
        with pytest.raises(ValueError, match="Tensor conversion requested dtype"):
            made.enqueue(values)


@pytest.mark.parametrize("value", ["a", ["a", "b"]])
def test_conj_takes_numbers(graph: af.Graph, value: Any) -> None:
    with pytest.raises(TypeError, match="Expected numeric or variant tensor"):
        tf.conj(value)


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "abs": tf.abs,
    "square": tf.square,
    "exp": tf.exp,
    "product": lambda x: x * tf.constant([1 + 2j, 3 - 1j], x.dtype),
    "conj": tf.conj,
    "real": tf.real,
    "imag": tf.imag,
    "reciprocal": tf.reciprocal,
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX)
def test_slopes_of_complex_numbers_are_compared_number_by_number(graph: af.Graph, name: str, dtype: str) -> None:
    at = np.array([1 + 1j, -2 + 0.5j], dtype)
    with tf.Session(graph=graph):
        x = tf.constant(at)
        y = COMPLEX[name](x)
        computed, measured = tf.test.compute_gradient(x, [2], y, [2], x_init_value=at, delta=1e-2)
    assert computed.shape == measured.shape == (4, 4 if y.dtype.is_complex else 2)
    assert computed.dtype.kind == "f"
    np.testing.assert_allclose(computed, measured, rtol=2e-3, atol=2e-3)


def test_a_variable_loads_in_the_innermost_session(graph: af.Graph) -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.Session(graph=graph) as session:
        v.load([3.0, 4.0])
        assert session.run(v).tolist() == [3.0, 4.0]
        v.load([5.0, 6.0], session)
        assert session.run(v).tolist() == [5.0, 6.0]
