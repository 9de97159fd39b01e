"""The refusal of graphs whose outputs need updates of variables, when these are to become constants."""

from __future__ import annotations

import pytest

import actorflow.compat.v1 as tf
from actorflow.errors import InvalidArgumentError


def test_updates_under_a_training_flag_are_refused_with_the_way_out() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        training = tf.placeholder_with_default(False, [], name="training")
        mean = tf.Variable(tf.zeros([2]), name="mean", trainable=False)
        tf.identity(tf.cond(training, lambda: tf.assign_sub(mean, [0.1, 0.1]), lambda: tf.identity(mean)), name="y")
        session.run(tf.global_variables_initializer())
        with pytest.raises(InvalidArgumentError, match="AssignSub") as refused:
            tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["y"])
    assert "given={training: False}" in str(refused.value)
