"""A node of a loop or branch may wait for a node from around it: that runs once, and before. TensorFlow does the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import actorflow as af
import actorflow.compat.v1 as tf

BODIES: dict[str, Callable[[Any], Any]] = {
    "a constant": lambda i: tf.constant(5),
    "a sum": lambda i: i + 5,
    "zeros": lambda i: tf.zeros([], tf.int32) + 5,
    "an identity": lambda i: tf.identity(5),
    "what was": lambda i: tf.identity(i) + 5,
}
WAITED: dict[str, Callable[[Any], Any]] = {
    "an update": lambda v: v.assign_add(1.0),
    "its operation": lambda v: v.assign_add(1.0).op,
    "an operation without a result": lambda v: v.assign_add(1.0, read_value=False),
    "a group": lambda v: tf.group(v.assign_add(1.0)),
}


def _after(update: Any, body: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def waiting(i: Any) -> Any:
        with tf.control_dependencies([update]):
            return body(i)

    return waiting


def _loop(function: Callable[[Any], Any], start: Any = 0) -> Any:
    return tf.while_loop(lambda i: i < 5, function, [start])


PLACES: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "loop": lambda function: _loop(function),
    "loop in a loop": lambda function: _loop(lambda i: _loop(function, i)),
    "branch in a loop": lambda function: _loop(lambda i: tf.cond(i < 9, lambda: function(i), lambda: i + 1)),
    "loop in a branch": lambda function: tf.cond(
        tf.placeholder_with_default(True, []), lambda: _loop(function), lambda: tf.constant(0)
    ),
    "branch": lambda function: tf.cond(
        tf.placeholder_with_default(True, []), lambda: function(tf.constant(0)), lambda: tf.constant(0)
    ),
    "map_fn": lambda function: tf.reduce_max(tf.map_fn(function, tf.constant([0, 0, 0]))),
    "foldl": lambda function: tf.foldl(lambda i, _: function(i * 0), tf.constant([0, 0, 0])),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("waited", WAITED)
def test_it_runs_once(graph: af.Graph, waited: str, body: str, place: str) -> None:
    v = tf.Variable(0.0)
    result = PLACES[place](_after(WAITED[waited](v), BODIES[body]))
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        for count in (1.0, 2.0):
            assert session.run(result) == 5
            assert session.run(v) == count


def test_it_runs_before(graph: af.Graph) -> None:
    v = tf.Variable(0.0)
    update = v.assign(7.0)

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([update]):
            return i + 1, total + v.read_value()

    total = tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])[1]
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        assert session.run(total) == 21.0


def test_gradients_go_through_such_a_loop(graph: af.Graph) -> None:
    v, x = tf.Variable(0.0), tf.constant(3.0)
    update = v.assign_add(1.0)

    def body(i: Any, y: Any) -> Any:
        with tf.control_dependencies([update]):
            return i + 1, y * x

    gradient = tf.gradients(tf.while_loop(lambda i, _: i < 2, body, [0, x])[1], x)[0]
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        assert session.run(gradient) == 27.0
        assert session.run(v) == 1.0
