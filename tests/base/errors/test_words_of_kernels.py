"""The words of mistakes that TensorFlow's own tests of kernels look for: of examples, points, segments, sparse tensors, tables,
queues, and names.

Each row raises its class in TensorFlow 1.15 too, with a text in which the pattern is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import actorflow.compat.v1 as tf

InvalidArgumentError = tf.errors.InvalidArgumentError


class Row(NamedTuple):
    """A mistake, and what is said of it."""

    error: type[Exception]
    words: str
    mistake: Callable[[], Any]


def ran(*tensors: Any) -> None:
    """Runs tensors."""
    with tf.Session() as session:
        session.run(list(tensors))


def fed(build: Callable[..., Any], *arrays: Any) -> None:
    """Runs what `build` makes of placeholders without shapes, which are fed."""
    places = [tf.placeholder(np.asarray(array).dtype) for array in arrays]
    result = build(*places)
    with tf.Session() as session:
        session.run(result, dict(zip(places, arrays)))


def example(**numbers: list[float]) -> bytes:
    """A message with lists of floats."""
    message = tf.train.Example()
    for key, values in numbers.items():
        message.features.feature[key].float_list.value.extend(values)
    return message.SerializeToString()


def parsed(feature: Any, named: str = "in1") -> None:
    """Parses two examples; the `a` of the second example is longer."""
    ran(
        tf.parse_example([example(a=[1.0]), example(a=[1.0, 2.0, 3.0])], {"a": feature}, example_names=["in0", named])[
            "a"
        ]
    )


def steps(feature: Any, key: str = "a") -> None:
    """Parses a sequence of three steps of one float."""
    message = tf.train.SequenceExample()
    for number in (1.0, 2.0, 3.0):
        message.feature_lists.feature_list["a"].feature.add().float_list.value.append(number)
    features = {key: feature}
    ran(tf.parse_single_sequence_example(message.SerializeToString(), None, features, example_name="in1")[1][key])


def sparse(indices: Any, values: Any, shape: Any) -> Any:
    return tf.SparseTensor(indices, tf.constant(values, tf.float32), shape)


def bool_keys() -> Any:
    return tf.contrib.lookup.IdTableWithHashBuckets(None, 1, key_dtype=tf.bool)


def f(*shape: int) -> Any:
    return np.ones(shape, np.float32)


_OUTER = r"The outer 1 dimensions of indices\.shape=\[3,1\] must match the outer 1 dimensions of updates\.shape=\[2\]"
_INNER = r"The inner 1 dimensions of (input|output)\.shape=\[4,2\] must match the inner 1 dimensions of updates\.shape=\[3,5\]"
_POINTS = np.zeros((3, 1), np.int32)
_SORTED = "possibly because 'segment_ids' input is not sorted"

ROWS = [
    # examples
    Row(InvalidArgumentError, r"Name: in1, Feature: b \(data type: float\) is required but could not be found", lambda: ran(
        tf.parse_example([example()], {"b": tf.FixedLenFeature([1], tf.float32)}, example_names=["in1"])["b"])),
    Row(InvalidArgumentError, r"Name: in1, Key: a, Index: 1\.  Number of float values != expected\.  values size: 3 but output "
        r"shape: \[1\]", lambda: parsed(tf.FixedLenFeature([1], tf.float32))),
    Row(InvalidArgumentError, r"Key: a, Index: 0\.  Number of float values is not a multiple of stride length", lambda: parsed(
        tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True))),
    Row(InvalidArgumentError, r"Data types don't match\. Expected type: int64  Feature is: float_list", lambda: parsed(
        tf.FixedLenFeature([1], tf.int64))),
    Row(ValueError, "Missing shape for feature a", lambda: parsed(tf.FixedLenFeature(None, tf.float32))),
    Row(InvalidArgumentError, r"Name: in1, Feature list: a, Index: 0\.  Data types don't match\. Expected type: int64", lambda:
        steps(tf.FixedLenSequenceFeature([], tf.int64))),
    Row(InvalidArgumentError, r"Name: in1, Key: a, Index: 0\.  Number of float values != expected", lambda: steps(
        tf.FixedLenSequenceFeature([2], tf.float32))),
    Row(InvalidArgumentError, r"Name: in1, Feature list 'b' is required but could not be found", lambda: steps(
        tf.FixedLenSequenceFeature([], tf.float32), "b")),
    Row(InvalidArgumentError, "Could not parse `serialized` as TensorProto: 'bogus'", lambda: ran(
        tf.parse_tensor("bogus", tf.float32))),
    Row(InvalidArgumentError, r"Expected `serialized` to be a scalar, got shape: \[1\]", lambda: fed(
        lambda x: tf.parse_tensor(x, tf.float32), np.array([b"bogus"], object))),
    Row(InvalidArgumentError, "Could not parse state for IdentityReader 'reader'", lambda: ran(
        tf.IdentityReader(name="reader").restore_state("bogus"))),
    # points
    Row(ValueError, _OUTER, lambda: tf.scatter_nd(_POINTS, f(2), [4])),
    Row(ValueError, _OUTER, lambda: tf.tensor_scatter_update(f(4), _POINTS, f(2))),
    Row(ValueError, _OUTER, lambda: tf.scatter_nd_update(tf.Variable(f(4)), _POINTS, f(2))),
    Row(ValueError, _INNER, lambda: tf.scatter_nd(_POINTS, f(3, 5), [4, 2])),
    Row(ValueError, _INNER, lambda: tf.tensor_scatter_add(f(4, 2), _POINTS, f(3, 5))),
    Row(ValueError, _INNER, lambda: tf.scatter_nd_add(tf.Variable(f(4, 2)), _POINTS, f(3, 5))),
    Row(InvalidArgumentError, _OUTER, lambda: fed(lambda u: tf.scatter_nd(_POINTS, u, [4]), f(2))),
    Row(ValueError, "Indices and updates specified for empty output", lambda: tf.scatter_nd(_POINTS, f(3), [0])),
    Row(InvalidArgumentError, "Indices and updates specified for empty output", lambda: fed(
        lambda u: tf.scatter_nd(_POINTS, u, [0]), f(3))),
    Row(InvalidArgumentError, "Requested more than 0 entries, but params is empty", lambda: fed(
        lambda i: tf.gather_nd(f(0), i), _POINTS)),
    Row(ValueError, "Shape must be at least rank 2 but is rank 1", lambda: tf.gather([0, 1, 2], 0, axis=1)),
    Row(ValueError, "Shape must be at least rank 2 but is rank 1", lambda: tf.gather([0, 1, 2], 0, axis=-2)),
    Row(InvalidArgumentError, r"Expected axis in the range \[-1, 1\), but got -2", lambda: fed(
        lambda x: tf.gather(x, 0, axis=-2), f(3))),
    # segments
    Row(InvalidArgumentError, rf"Segment id -1 out of range \[0, 2\), {_SORTED}", lambda: ran(tf.segment_sum(f(2), [-1, 1]))),
    Row(InvalidArgumentError, rf"Segment id 1 out of range \[0, 1\), {_SORTED}", lambda: ran(tf.segment_max(f(3), [0, 1, 0]))),
    Row(InvalidArgumentError, "segment ids must be >= 0", lambda: ran(tf.segment_mean(f(2), [0, -1]))),
    Row(InvalidArgumentError, "segment ids are not increasing", lambda: ran(tf.segment_min(f(4), [0, 1, 0, 1]))),
    Row(InvalidArgumentError, rf"Segment id 1 out of range \[0, 1\), {_SORTED}", lambda: ran(
        tf.segment_sum(f(100), [0] * 98 + [1, 0]))),
    Row(InvalidArgumentError, rf"Segment id 1 out of range \[0, 1\), {_SORTED}", lambda: ran(
        tf.sparse_segment_sum(f(3), [0, 1, 2], [0, 1, 0]))),
    Row(InvalidArgumentError, r"indices\[1\] == 3 out of range \[0, 3\)", lambda: ran(
        tf.sparse_segment_sum(f(3), [0, 3], [0, 1]))),
    Row(InvalidArgumentError, r"segment_ids\[0,1\] = 2 is out of range \[0, 2\)", lambda: ran(
        tf.unsorted_segment_sum(f(1, 2), [[0, 2]], 2))),
    # sparse tensors
    Row(InvalidArgumentError, r"k .10. from index.0,1. out of bounds .>=2.", lambda: ran(
        tf.sparse_tensor_dense_matmul(sparse([[1, 10]], [1.0], [3, 2]), f(2, 2)))),
    Row(InvalidArgumentError, r"m .10. from index.0,1. out of bounds .>=2.", lambda: ran(
        tf.sparse_tensor_dense_matmul(sparse([[1, 10]], [1.0], [3, 2]), f(3, 2), adjoint_a=True))),
    Row(InvalidArgumentError, "invalid index", lambda: ran(tf.sparse_add(sparse([[3]], [1.0], [2]), f(2)))),
    Row(ValueError, "At most one dimension can", lambda: tf.sparse_reshape(sparse([[0]], [1.0], [4]), [-1, -1])),
    Row(InvalidArgumentError, "Could not parse serialized proto", lambda: ran(
        tf.deserialize_many_sparse([["a", "b", "c"]], tf.float32))),
    # others
    Row(ValueError, "Cannot infer num", lambda: tf.split(f(4), tf.placeholder(tf.int32))),
    Row(ValueError, "must be at most rank 1", lambda: tf.reduce_sum(tf.placeholder(tf.float32), [[1], [2]])),
    Row(ValueError, "'axis' must be None, an integer, or a tuple of 2 unique integers", lambda: tf.norm(f(2, 2), axis=[1, 1])),
    Row(ValueError, "'axis' must be None, an integer, or a tuple of 2 unique integers", lambda: tf.norm(f(2, 2), axis=[])),
    Row(InvalidArgumentError, "labels must be 1-D", lambda: fed(
        lambda labels: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=[[7.0]]), np.int32(0))),
    Row(TypeError, "Invalid key_dtype, expected integer or string", bool_keys),
    Row(ValueError, r"vocab_size must be greater than 0, got 0\. vocabulary_file: .*words", lambda:
        tf.contrib.lookup.index_table_from_file("words", vocab_size=0)),
    Row(ValueError, "vocabulary_list must be specified", lambda: tf.contrib.lookup.index_table_from_tensor(None)),
    Row(ValueError, "must have names", lambda: tf.FIFOQueue(2, tf.float32).enqueue({"a": 1.0})),
    Row(ValueError, "match names of Queue", lambda: tf.FIFOQueue(2, tf.float32, names=["b"]).enqueue({"a": 1.0})),
    Row(TypeError, "not iterable", lambda: list(tf.Variable(f(2)))),
    Row(ValueError, "name cannot be None", lambda: tf.make_template(None, lambda: 1)),
    Row(ValueError, "'_' is not a valid scope name", lambda: tf.name_scope("_").__enter__()),
    Row(ValueError, "callable", lambda: tf.Variable(1.0, constraint=0)),
    Row(TypeError, "auxiliary_name_scope", lambda: tf.variable_scope("s", auxiliary_name_scope="no").__enter__()),
    Row(ValueError, "Shape .* must have rank at least 1", lambda: tf.spectral.rfft(1.0)),
    Row(ValueError, "weights can not be broadcast to values", lambda: tf.losses.absolute_difference(f(3), f(3), f(2))),
]  # fmt: skip


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{n}-{row.words:.40}") for n, row in enumerate(ROWS)])
def test_the_words_of_a_mistake(row: Row) -> None:
    with tf.Graph().as_default(), pytest.raises(row.error, match=row.words):
        row.mistake()
