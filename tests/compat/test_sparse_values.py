"""Sparse tensors in programs: products in a process that has used none before, and `SparseTensorValue` in their place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf

DENSE = np.ones((2, 3), np.float32)
SCORES = np.array([[0.1, 0.9, 0.3, 0.2], [0.7, 0.1, 0.2, 0.6]], np.float32)


def value(kind: str) -> tf.SparseTensorValue:
    elements: dict[str, Any] = {
        "f": np.array([1.0, 2.0], np.float32),
        "i": np.array([1, 2], np.int64),
        "s": np.array([b"a", b"b"], object),
    }
    return tf.SparseTensorValue(np.array([[0, 0], [1, 1]]), elements[kind], np.array([2, 3]))


def tensor(kind: str) -> tf.SparseTensor:
    return tf.SparseTensor(*value(kind))


def table() -> Any:
    keys = tf.lookup.KeyValueTensorInitializer(tf.constant(["a"]), tf.constant([1], tf.int64))
    return tf.lookup.StaticHashTable(keys, -1)


def indicated(sparse: Any) -> Any:
    column = tf.feature_column.categorical_column_with_vocabulary_list("a", ["a", "b"])
    return tf.feature_column.input_layer({"a": sparse}, [tf.feature_column.indicator_column(column)])


TAKERS: dict[str, Callable[[Callable[[str], Any]], Any]] = {
    "add": lambda s: tf.sparse_add(s("f"), DENSE),
    "concat": lambda s: tf.sparse_concat(0, [s("f"), s("f")]),
    "fill_empty_rows": lambda s: tf.sparse_fill_empty_rows(s("f"), 0.0)[0],
    "maximum": lambda s: tf.sparse_maximum(s("f"), s("f")),
    "merge": lambda s: tf.sparse_merge(s("i"), s("f"), 5),
    "reduce_sum": lambda s: tf.sparse_reduce_sum(s("f")),
    "reorder": lambda s: tf.sparse_reorder(s("f")),
    "reset_shape": lambda s: tf.sparse_reset_shape(s("f")),
    "reshape": lambda s: tf.sparse_reshape(s("f"), [3, 2]),
    "retain": lambda s: tf.sparse_retain(s("f"), [True, False]),
    "slice": lambda s: tf.sparse_slice(s("f"), [0, 0], [1, 2]),
    "softmax": lambda s: tf.sparse_softmax(s("f")),
    "split": lambda s: tf.sparse_split(sp_input=s("f"), num_split=2, axis=0),
    "matmul": lambda s: tf.sparse_tensor_dense_matmul(s("f"), DENSE.T),
    "to_dense": lambda s: tf.sparse_tensor_to_dense(s("f")),
    "to_indicator": lambda s: tf.sparse_to_indicator(s("i"), 5),
    "transpose": lambda s: tf.sparse_transpose(s("f")),
    "serialize": lambda s: tf.serialize_many_sparse(s("f")),
    "embedding": lambda s: tf.nn.embedding_lookup_sparse(DENSE.T, s("i"), s("f")),
    "edit_distance": lambda s: tf.edit_distance(s("i"), s("i")),
    "set_size": lambda s: tf.sets.set_size(s("i")),
    "set_intersection": lambda s: tf.sets.set_intersection(s("i"), s("i")),
    "set_union": lambda s: tf.sets.set_union(s("i"), s("i")),
    "set_difference": lambda s: tf.sets.set_difference(s("i"), s("i")),
    "lookup": lambda s: table().lookup(s("s")),
    "input_layer": lambda s: indicated(s("s")),
    "recall_at_k": lambda s: tf.metrics.recall_at_k(s("i"), SCORES, 2)[1],
    "precision_at_k": lambda s: tf.metrics.precision_at_k(s("i"), SCORES, 2)[1],
    "sparse_precision_at_k": lambda s: tf.metrics.sparse_precision_at_k(s("i"), SCORES, 2)[1],
    "average_precision_at_k": lambda s: tf.metrics.average_precision_at_k(s("i"), SCORES, 2)[1],
    "recall_at_top_k": lambda s: tf.metrics.recall_at_top_k(s("i"), np.array([[1, 2], [0, 3]]), 2)[1],
    "precision_at_top_k": lambda s: tf.metrics.precision_at_top_k(s("i"), np.array([[1, 2], [0, 3]]), 2)[1],
    "convert": lambda s: tf.convert_to_tensor_or_sparse_tensor(s("f"), tf.float32),
    "dataset": lambda s: tf.data.Dataset.from_tensors(s("f")).make_one_shot_iterator().get_next(),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_a_value_stands_for_a_sparse_tensor(taker: str) -> None:
    results = []
    for kind in (tensor, value):
        with tf.Graph().as_default(), tf.Session() as session:
            made = TAKERS[taker](kind)
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
            results.append(tf.nest.flatten(session.run(made)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("expression", ["s * d", "d * s", "s * 2.0", "2.0 * s", "s / d", "s / 2.0"])
def test_a_product_is_the_first_use_of_sparse_ops(expression: str) -> None:
    program = (
        "import actorflow.compat.v1 as tf\n"
        "s, d = tf.sparse_placeholder(tf.float32, [2, 2]), tf.constant([[2.0, 2.0], [2.0, 2.0]])\n"
        f"y = {expression}\n"
        "with tf.Session() as session:\n"
        "    print(session.run(y.values, {s: ([[0, 0], [1, 1]], [2.0, 4.0], [2, 2])}).tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == ("[1.0, 2.0]" if "/" in expression else "[4.0, 8.0]"), done.stderr


@pytest.mark.parametrize("shape", [lambda: tf.constant([3, 4], tf.int64), lambda: tf.shape(tf.zeros([3, 4]))])
def test_a_placeholder_takes_its_shape_from_a_tensor(shape: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.sparse_placeholder(tf.float32, shape=shape())
        assert x.shape.as_list() == [3, 4]
        y = tf.sparse_tensor_dense_matmul(x, tf.ones([4, 2]))
        assert session.run(y, {x: ([[0, 1]], [2.0], [3, 4])}).tolist() == [[2, 2], [0, 0], [0, 0]]


def test_a_placeholder_of_a_shape_that_a_run_knows() -> None:
    x = tf.sparse_placeholder(tf.float32, shape=tf.placeholder(tf.int64, [2]))
    assert x.shape.as_list() == [None, None]
