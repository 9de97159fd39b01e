"""A TensorFlow 1 script runs with one changed import."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

import actorflow
import actorflow.compat.v1 as tf
from actorflow.blocking import Session as BlockingSession
from actorflow.compat.v1 import index


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """The default graph of the script."""
    with tf.Graph().as_default() as made:
        yield made


def test_a_linear_model_is_trained_as_in_tensorflow_1() -> None:
    tf.disable_v2_behavior()
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    y = tf.placeholder(tf.float32, shape=(None, 1), name="y")
    w = tf.Variable(tf.zeros([1, 1]), name="w")
    b = tf.Variable(0.0, name="b")
    predicted = tf.matmul(x, w) + b
    loss = tf.reduce_mean(tf.square(predicted - y))
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    points = np.linspace(-1, 1, 16, dtype=np.float32).reshape(-1, 1)
    feed = {x: points, y: 2 * points + 1}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(loss, feed_dict=feed)
        for _ in range(200):
            _, value = sess.run([train_op, loss], feed)
        assert value < 1e-4 < before
        np.testing.assert_allclose(w.eval(), [[2.0]], atol=0.02)
        np.testing.assert_allclose(b.eval(session=sess), 1.0, atol=0.02)
        np.testing.assert_allclose(predicted.eval(feed_dict={x: [[1.0]]}), [[3.0]], atol=0.05)
        np.testing.assert_allclose(sess.run("x:0", {"x:0": [[5.0]]}), [[5.0]])


def test_f59_operations_run_in_the_default_session() -> None:
    v = tf.Variable(1.0)
    update = v.assign_add(2.0)
    with tf.Session():
        tf.global_variables_initializer().run()
        update.op.run()
        assert v.eval() == 3.0


def test_f59_the_innermost_session_is_the_default_one() -> None:
    assert tf.get_default_session() is None
    with tf.Session() as outer:
        assert tf.get_default_session() is outer
        with tf.Session() as inner:
            assert tf.get_default_session() is inner
        with outer.as_default() as same:
            assert tf.get_default_session() is same is outer
        assert tf.get_default_session() is outer
    assert tf.get_default_session() is None


def test_f59_as_default_does_not_close_the_session() -> None:
    c = tf.constant(4.0)
    sess = tf.Session()
    with sess.as_default():
        assert c.eval() == 4.0
    assert sess.run(c) == 4.0
    sess.close()


def test_f59_a_session_is_closed_at_the_end_of_its_block() -> None:
    c = tf.constant(4.0)
    with tf.Session() as sess:
        pass
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        sess.run(c)


def test_f59_a_block_that_raises_leaves_no_default_session() -> None:
    with pytest.raises(ZeroDivisionError), tf.Session():
        raise ZeroDivisionError
    assert tf.get_default_session() is None


def test_f59_an_entered_session_makes_its_graph_the_default_one(graph: tf.Graph) -> None:
    other = tf.Graph()
    with tf.Session(graph=other) as sess:
        assert tf.get_default_graph() is other is sess.graph
        assert tf.constant(2.0).eval() == 2.0
    assert tf.get_default_graph() is graph


def test_f59_an_interactive_session_is_the_default_one_until_it_closes() -> None:
    sess = tf.InteractiveSession()
    try:
        assert tf.get_default_session() is sess
        assert (tf.constant(2.0) * 3.0).eval() == 6.0
    finally:
        sess.close()
    assert tf.get_default_session() is None
    sess.close()  # a second call does nothing
    assert tf.get_default_session() is None


def test_f59_interactive_sessions_close_in_any_order() -> None:
    copy_context().run(_interactive_sessions)


def _interactive_sessions() -> None:
    graph = tf.Graph()
    first = tf.InteractiveSession()
    second = tf.InteractiveSession(graph=graph)
    assert tf.get_default_session() is second and tf.get_default_graph() is graph
    first.close()
    assert tf.get_default_session() is second
    thread = threading.Thread(target=second.close)  # as in another cell
    thread.start()
    thread.join()
    second.close()
    assert tf.get_default_session() is None
    third = tf.InteractiveSession()
    fourth = tf.InteractiveSession()
    fourth.close()
    assert tf.get_default_session() is third
    third.close()


def test_f59_eval_without_a_session_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"eval\(\) needs a blocking session: pass session="):
        tf.constant(1.0).eval()


def test_f59_a_session_is_a_blocking_one_and_takes_its_options() -> None:
    assert issubclass(tf.Session, BlockingSession)
    with tf.Session("", None, None, devices={"CPU": 2}) as sess:
        assert [d.name.rpartition("/")[2] for d in sess.list_devices()] == ["device:CPU:0", "device:CPU:1"]


def test_a_run_with_a_trace_level_fills_its_metadata() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        c = tf.negative(tf.placeholder(tf.float32, [], name="x"), name="c")
        metadata = tf.RunMetadata()
        sess.run(c, {"x:0": 1.0}, run_metadata=metadata)
        assert not metadata.HasField("step_stats")
        sess.run(c, {"x:0": 1.0}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    assert "c" in [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]


def test_f59_options_that_would_be_ignored_are_refused() -> None:
    c = tf.constant(1.0)
    nothing: Any = object()
    with tf.Session() as sess:
        with pytest.raises(TypeError, match="takes RunOptions"):
            sess.run(c, None, options=nothing)
    with pytest.raises(TypeError, match="takes a ConfigProto"):
        tf.Session(config={"device_count": 2})  # type: ignore[arg-type]
    with pytest.raises(tf.errors.InvalidArgumentError, match="nowhere"):
        tf.Session("grpc://nowhere")


def test_f25_callables_and_partial_runs_take_tensorflows_arguments() -> None:
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    total, twice = a + b, 2.0 * a
    with tf.Session() as sess:
        assert sess.make_callable(total, feed_list=[a, b])(1.0, 2.0) == 3.0
        handle = sess.partial_run_setup([twice, total], [a, b])
        assert sess.partial_run(handle, twice, feed_dict={a: 4.0}) == 8.0
        assert sess.partial_run(handle, total, {b: 1.0}) == 5.0


def test_a_name_that_is_missing_is_named() -> None:
    with pytest.raises(AttributeError, match=r"tf\.no_such_function is not in actorflow\.compat\.v1"):
        _ = tf.no_such_function
    assert not hasattr(tf, "no_such_function")
    assert not hasattr(tf, "__no_such_dunder__")


@pytest.mark.parametrize("name", actorflow.__all__)
def test_every_public_name_is_reachable(name: str) -> None:
    found = getattr(tf, name)
    if name in ("Session", "function"):  # of compat's own, with TensorFlow's arguments
        assert found.__module__.startswith("actorflow.compat.")
    elif f"tf.{name}" in index.NAMES or name == "nest":  # a module of its own, with TensorFlow's names of parameters
        assert set(found.__all__) >= set(getattr(getattr(actorflow, name), "__all__", ()))
    else:
        assert found is getattr(actorflow, name)


def test_names_that_would_hide_builtins_have_tensorflows_spelling() -> None:
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(tf.range(3)), [0, 1, 2])
        np.testing.assert_array_equal(sess.run(tf.slice([1, 2, 3], [1], [2])), [2, 3])
        assert sess.run(tf.tuple([tf.constant(1), tf.constant(2)])) == [1, 2]
