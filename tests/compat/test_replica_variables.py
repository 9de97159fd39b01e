"""Variables that replicas of `tf.distribute` share: averages, metrics and weights. All values are TensorFlow 1.15.5's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf


def states(build: Callable[[Any], Any], steps: int = 2) -> tuple[dict[str, list[float]], list[Any]]:
    """The variables after some steps of two replicas, whose inputs are ones and fours, and what the replicas gave at last."""
    with tf.Graph().as_default():
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        with strategy.scope():

            def step() -> Any:
                number = tf.distribute.get_replica_context().replica_id_in_sync_group
                return build(tf.ones([4, 2]) * (tf.cast(number, tf.float32) * 3 + 1))

            results = strategy.experimental_local_results(strategy.experimental_run_v2(step))
            with tf.Session() as session:
                session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
                for _ in range(steps):
                    values = session.run(results)
                variables = [*tf.global_variables(), *tf.local_variables()]
                return {v.op.name: np.ravel(session.run(v)).tolist() for v in variables}, values


def updated(y: Any) -> Any:
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return tf.identity(y)


def normalized(x: Any, **named: Any) -> Any:
    return updated(tf.layers.batch_normalization(x, momentum=0.5, name="bn", reuse=tf.AUTO_REUSE, **named))


def of_contrib(x: Any) -> Any:
    return updated(
        tf.contrib.layers.batch_norm(x, decay=0.5, is_training=True, scale=True, scope="bn", reuse=tf.AUTO_REUSE)
    )


def in_renorm(x: Any) -> Any:
    return normalized(x, training=True, renorm=True)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: normalized(x, training=True),
        lambda x: normalized(x, training=tf.placeholder_with_default(True, [])),
        lambda x: normalized(tf.reshape(x, [1, 2, 2, 2]), training=True, fused=True),
        of_contrib,
    ],
)
def test_moving_averages_move_towards_the_mean_of_the_replicas(build: Callable[[Any], Any]) -> None:
    kept, _ = states(build)
    assert kept.pop("bn/gamma", [1.0, 1.0]) == [1.0, 1.0]
    assert kept == {"bn/beta": [0, 0], "bn/moving_mean": [1.875, 1.875], "bn/moving_variance": [0.25, 0.25]}


def test_the_moving_deviation_of_a_renormalization_is_that_of_the_mean() -> None:
    kept, _ = states(in_renorm)
    for name, value in {"moving_mean": 1.875, "moving_variance": 0.07392103, "renorm_mean": 0.04975}.items():
        np.testing.assert_allclose(kept[f"bn/{name}"], [value, value], rtol=1e-6)


def test_each_replica_adds_to_a_sum_among_the_updates() -> None:
    def build(x: Any) -> Any:
        total = tf.get_variable(
            "c",
            [],
            initializer=tf.zeros_initializer(),
            aggregation=tf.VariableAggregation.SUM,
            synchronization=tf.VariableSynchronization.ON_READ,
            trainable=False,
        )
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, total.assign_add(tf.reduce_mean(x)))
        return updated(x)

    assert states(build)[0] == {"c": [10.0]}


def high(x: Any) -> Any:
    return tf.cast(x > 2, tf.float32)


@pytest.mark.parametrize(
    ("metric", "variables", "value"),
    [
        (tf.metrics.mean, ["mean/total", "mean/count"], 2.5),
        (lambda x: tf.metrics.accuracy(tf.ones_like(x), high(x)), ["accuracy/total", "accuracy/count"], 0.5),
        (
            lambda x: tf.metrics.auc(tf.cast(high(x) * [1.0, 0.0], tf.bool), high(x) * 0.5 + 0.1),
            [f"auc/{name}" for name in ("true_positives", "false_negatives", "true_negatives", "false_positives")],
            0.83333337,
        ),
        (
            lambda x: tf.metrics.precision(tf.ones_like(x) * [1.0, 0.0], high(x)),
            ["precision/true_positives/count", "precision/false_positives/count"],
            0.5,
        ),
        (
            lambda x: tf.metrics.root_mean_squared_error(tf.zeros_like(x), x),
            ["root_mean_squared_error/total", "root_mean_squared_error/count"],
            2.9154758,
        ),
        (
            lambda x: tf.metrics.mean_iou(tf.cast(high(x) * [1.0, 0.0], tf.int32), tf.cast(high(x), tf.int32), 2),
            ["mean_iou/total_confusion_matrix"],
            0.58333337,
        ),
        (tf.metrics.mean_tensor, ["mean/total_tensor", "mean/count_tensor"], 2.5),
        (lambda x: tf.metrics.true_positives(tf.ones_like(x), high(x)), ["true_positives/count"], 16.0),
    ],
)
def test_a_metric_counts_all_replicas(metric: Callable[[Any], Any], variables: list[str], value: float) -> None:
    def build(x: Any) -> Any:
        total, update = metric(x)
        values.append(total)
        return update

    with tf.Graph().as_default():
        values: list[Any] = []
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        results = strategy.experimental_local_results(
            strategy.experimental_run_v2(lambda: build(tf.ones([4, 2]) * replica_input()))
        )
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            for _ in range(2):
                session.run(results)
            for total in session.run(values):
                np.testing.assert_allclose(total, np.full_like(total, value), rtol=1e-6)
        assert [variable.op.name for variable in tf.local_variables()] == variables


def replica_input() -> Any:
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32) * 3 + 1


def trained(loss: Any, optimizer: Any) -> Any:
    with tf.control_dependencies([optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())]):
        return tf.identity(loss)


def test_variables_by_their_class_are_shared_by_their_names() -> None:
    def build(x: Any) -> Any:
        v, w = tf.Variable(1.0, name="w"), tf.Variable(2.0, name="w")
        return trained(tf.reduce_mean(x) * v * w, tf.train.GradientDescentOptimizer(0.01))

    kept, _ = states(build)
    assert list(kept) == ["w", "w_1", "global_step"]
    np.testing.assert_allclose([*kept["w"], *kept["w_1"], *kept["global_step"]], [0.8025, 1.905, 2], rtol=1e-6)


def test_variables_of_a_scope_of_names_have_slots() -> None:
    def build(x: Any) -> Any:
        variables = []
        for _ in range(2):
            with tf.name_scope("a"):
                variables.append(tf.Variable(1.0))
        return trained(tf.reduce_mean(x) * variables[0] * variables[1], tf.train.AdamOptimizer(0.01))

    kept, _ = states(build)
    for name in ("a/Variable", "a_1/Variable"):
        np.testing.assert_allclose(kept[name], [0.98000276], rtol=1e-6)
        np.testing.assert_allclose(kept[f"{name}/Adam"], [0.94500017], rtol=1e-6)


def test_a_variable_that_the_first_replica_does_not_make_is_refused() -> None:
    def build(x: Any) -> Any:
        first = tf.distribute.get_replica_context()._number == 0
        return x if first else x + tf.Variable(1.0, name="late")

    with pytest.raises(tf.errors.InvalidArgumentError, match="makes a variable late in the scope"):
        states(build)
