"""Graphs that TensorFlow is to open: what is written in another way than the graph has it, and is read back as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf


def one_shot() -> dict[str, Any]:
    data = tf.data.Dataset.from_tensor_slices(np.arange(4)).map(lambda n: n * 2).batch(2)
    return {"element": tf.data.make_one_shot_iterator(data).get_next()}


def initializable() -> dict[str, Any]:
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(np.array(["a", "b"])))
    tf.identity(iterator.get_next(), name="element")
    tf.group(iterator.initializer, name="begin")
    return {}


def single_element() -> dict[str, Any]:
    return {"element": tf.data.experimental.get_single_element(tf.data.Dataset.from_tensors(np.arange(3)))}


def by_priority() -> dict[str, Any]:
    queue = tf.PriorityQueue(5, [tf.string, tf.int32], [[], [2]], name="queue")
    queue.enqueue_many([tf.constant([2, 1], tf.int64), ["b", "a"], [[1, 2], [3, 4]]], name="begin")
    return dict(zip(("number", "element", "pair"), queue.dequeue()))


def boxes() -> dict[str, Any]:
    return {"element": tf.image.draw_bounding_boxes(tf.zeros([1, 3, 3, 3]), [[[0.0, 0.0, 1.0, 1.0]]])}


PROGRAMS = {f.__name__: f for f in (one_shot, initializable, single_element, by_priority, boxes)}


def answers(graph: af.Graph) -> Any:
    with tf.Session(graph=graph) as session:
        if "begin" in graph.nodes:
            session.run("begin")
        return session.run([f"{name}:0" for name in ("element", "number", "pair") if name in graph.nodes])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_written_is_read_as_it_was(name: str) -> None:
    with tf.Graph().as_default() as graph:
        for key, tensor in PROGRAMS[name]().items():
            tf.identity(tensor, name=key)
    with tf.Graph().as_default() as copy:
        tf.import_graph_def(graph.as_graph_def().SerializeToString(), name="")
    for value, found in zip(answers(graph), answers(copy), strict=True):
        np.testing.assert_array_equal(value, found)


def test_a_dataset_is_a_placeholder_where_an_iterator_begins() -> None:
    with tf.Graph().as_default() as graph:
        tf.data.make_initializable_iterator(tf.data.Dataset.range(3), shared_name="shared")
        tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    nodes = {node.name: node for node in graph.as_graph_def().node}
    (begin,) = (node for node in nodes.values() if node.op == "MakeIterator")
    dataset, iterator = (nodes[name] for name in begin.input if not name.startswith("^"))
    assert (dataset.op, dataset.attr["dtype"].type) == ("Placeholder", tf.variant.as_datatype_enum)
    assert (iterator.op, iterator.attr["shared_name"].s) == ("IteratorV2", b"shared")
    assert "OneShotIterator" not in {node.op for node in nodes.values()}


def test_a_priority_is_no_type_of_a_queue() -> None:
    with tf.Graph().as_default() as graph:
        by_priority()
    (queue,) = (node for node in graph.as_graph_def().node if node.op == "PriorityQueueV2")
    types = [tf.string.as_datatype_enum, tf.int32.as_datatype_enum]
    assert list(queue.attr["component_types"].list.type) == types
    assert len(queue.attr["shapes"].list.shape) == 2


def test_an_update_waits_for_the_reads_of_a_step() -> None:
    """The gradient of `w` needs no value of it, but that of `v` does: TensorFlow might update `w` first."""
    with tf.Graph().as_default() as graph:
        v, w = (tf.get_variable(name, initializer=2.0) for name in "vw")
        tf.train.GradientDescentOptimizer(0.1).minimize(v * w)
        tf.assign_add(w, 1.0)
    nodes = {node.name: node for node in graph.as_graph_def().node}
    for node in nodes.values():
        variable = node.input[0] if node.input else ""
        if node.op in ("ResourceApplyGradientDescent", "AssignAddVariableOp"):
            assert f"^{variable}/read" in node.input, node.name
        if node.op == "AssignVariableOp":  # the first value: there is nothing to read before it
            assert not any(text.startswith("^") for text in node.input), node.name
