"""Lookup tables in functions of datasets: those of the graph or the program around, as they are when an element is looked up."""

from __future__ import annotations

from typing import Any

import pytest

import actorflow as af
import actorflow.compat.v1 as tf

Dataset = af.data.Dataset


WORDS = ["b", "c", "z", "a"] * 3


def table() -> Any:
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b", "c"], [0, 1, 2]), -1)


def test_a_table_of_the_graph(graph: af.Graph) -> None:
    words = table()
    iterator = Dataset.from_tensor_slices(WORDS).map(words.lookup).batch(12).make_initializable_iterator()
    batch = iterator.get_next()
    for _ in range(2):  # each session has a table of its own
        with tf.Session(graph=graph) as session:
            session.run(iterator.initializer)
            with pytest.raises(af.errors.FailedPreconditionError):
                session.run(batch)
            session.run([tf.tables_initializer(), iterator.initializer])
            assert session.run(batch).tolist() == [1, 2, -1, 0] * 3


def test_a_one_shot_iterator_takes_none(graph: af.Graph) -> None:
    with pytest.raises(ValueError, match="stateful"):
        Dataset.from_tensor_slices(WORDS).map(table().lookup).make_one_shot_iterator()


def test_a_table_of_an_eager_program() -> None:
    with af.eager():
        numbers = Dataset.from_tensor_slices(WORDS).map(table().lookup)
        assert [int(x) for x in numbers] == [1, 2, -1, 0] * 3
        assert [x.numpy().tolist() for x in numbers.batch(4)] == [[1, 2, -1, 0]] * 3
        known = table()
        kept = Dataset.from_tensor_slices(WORDS).filter(lambda word: af.greater(known.lookup(word), 0))
        assert [x.numpy() for x in kept.take(2)] == [b"b", b"c"]


def test_changes_of_a_table_are_seen() -> None:
    with af.eager():
        counts = af.lookup.MutableHashTable(af.string, af.int64, -1)
        found = iter(Dataset.from_tensors("word").repeat().map(counts.lookup))
        assert int(next(found)) == -1
        counts.insert(af.constant(["word"]), af.constant([7], af.int64))
        assert int(next(found)) == 7


def test_a_lookup_is_row_wise(graph: af.Graph) -> None:
    dataset = Dataset.from_tensor_slices(WORDS).map(table().lookup)
    assert dataset.node.function.of_rows() is not None
