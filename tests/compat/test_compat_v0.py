"""Programs in the style of TensorFlow's first releases."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import actorflow.compat.v0 as tf


def test_a_line_is_fitted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = np.linspace(0, 1, 50).astype(np.float32)
        w = tf.Variable(tf.zeros([1]))
        b = tf.Variable(tf.zeros([1]))
        loss = tf.reduce_mean(tf.square(tf.sub(tf.add(tf.mul(w, x), b), 0.1 * x + 0.3)))
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        session.run(tf.initialize_all_variables())
        for _ in range(200):
            session.run(train)
        np.testing.assert_allclose([session.run(w)[0], session.run(b)[0]], [0.1, 0.3], atol=1e-3)
        assert tf.all_variables() == [w, b]


def test_a_classifier_with_positional_cross_entropy() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder("float", [None, 2])
        y = tf.placeholder("float", [None, 2])
        logits = tf.matmul(x, tf.Variable(tf.zeros([2, 2])))
        loss = tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(logits, y), reduction_indices=0)
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        session.run(tf.initialize_all_variables())
        feed = {x: np.eye(2), y: np.eye(2)}
        first = session.run(loss, feed_dict=feed)
        for _ in range(20):
            session.run(train, feed_dict=feed)
        assert session.run(loss, feed_dict=feed) < first / 4


def test_parts_and_joins_have_their_axis_first() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        left, right = tf.split(1, 2, tf.constant([[1, 2, 3, 4]]))
        joined = tf.concat(0, [left, right])
        rows = tf.unpack(tf.pack([tf.neg(joined), joined]))
        chosen = tf.select(tf.greater(joined, 2), rows[1], rows[0])
        assert session.run(chosen).tolist() == [[-1, -2], [3, 4]]


def test_a_type_checker_is_told_the_names_that_there_are() -> None:
    for module in (tf, tf.nn):
        stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
        listed = next(ast.literal_eval(n.value) for n in stub.body if isinstance(n, ast.Assign))
        assert all(hasattr(module, name) for name in listed) and set(listed) >= {
            n for n in dir(module) if n[0].islower()
        } - {"annotations"}


def test_summaries_have_the_tags_that_they_are_given(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        tf.scalar_summary("loss here", 1.0)
        tf.scalar_summary(["a", "b"], [2.0, 3.0])
        tf.histogram_summary("h", [1.0, 2.0], name="histogram")
        tf.image_summary("i", np.zeros((1, 2, 2, 1), np.uint8), max_images=1)
        tf.audio_summary("s", np.zeros((1, 4), np.float32), 8000.0, 1, collections=["apart"])
        merged = tf.merge_all_summaries()
        with tf.Session() as session:
            writer = tf.train.SummaryWriter(str(tmp_path), graph)
            writer.add_summary(session.run(merged), 1)
            writer.close()
    (file,) = tmp_path.iterdir()
    values = [value for event in tf.train.summary_iterator(str(file)) for value in event.summary.value]
    assert [value.tag for value in values] == ["loss here", "a", "b", "h", "i/image"]
    assert graph.get_operation_by_name("histogram").type == "HistogramSummary"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = tf.no_such_name
