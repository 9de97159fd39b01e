"""Programs in TensorFlow 1's names that both TensorFlow and actorflow run: each builds a graph and says what to run.

`tensorflow_graphs.py` runs them with TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

FEEDS = {"x:0": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), "y:0": np.array([0, 1, 1, 0], np.int32)}


def training(tf: Any, resource: bool) -> None:
    """Two layers, trained by Adam; a loop and a branch behind them."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    labels = tf.placeholder(tf.int32, [None], name="y")

    def layer(value: Any, sizes: tuple[int, int], name: str) -> Any:
        with tf.variable_scope(name, use_resource=resource):
            start = np.linspace(-0.5, 0.5, sizes[0] * sizes[1], dtype=np.float32).reshape(sizes)
            w = tf.get_variable("w", initializer=tf.constant(start))
            b = tf.get_variable("b", [sizes[1]], initializer=tf.zeros_initializer())
        return tf.matmul(value, w) + b

    hidden = tf.nn.relu(layer(x, (3, 5), "first"))
    logits = layer(tf.concat([hidden, tf.split(hidden, 5, axis=1)[0]], 1), (6, 2), "second")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses, name="loss")
    with tf.variable_scope("", use_resource=resource):
        step = tf.train.get_or_create_global_step()
        tf.train.AdamOptimizer(0.1).minimize(loss, step, name="train")
    _, total = tf.while_loop(
        lambda i, s: i < 4, lambda i, s: (i + 1, s * 2.0 + loss), [tf.constant(0), tf.constant(1.0)]
    )
    tf.identity(total, name="looped")
    tf.identity(tf.cond(loss > 0.3, lambda: loss * 10.0, lambda: loss), name="chosen")
    tf.group(tf.global_variables_initializer(), name="start")


def momentum(tf: Any, resource: bool) -> None:
    """A regression by momentum with decay, and an average of what it learns."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    labels = tf.placeholder(tf.int32, [None], name="y")
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", [3, 1], initializer=tf.ones_initializer())
        rows = tf.get_variable("rows", initializer=tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2)))
        step = tf.train.get_or_create_global_step()
    embedded = tf.reduce_sum(tf.gather(rows, labels), axis=1)
    loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, w), [1]) - embedded), name="loss")
    rate = tf.train.exponential_decay(0.05, step, 2, 0.9)
    train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, step)
    average = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([train]):
        averaged = average.apply([w])
    tf.group(averaged, name="train")
    tf.identity(tf.reduce_sum(average.average(w)), name="looped")
    tf.identity(tf.norm(w), name="chosen")
    tf.group(tf.global_variables_initializer(), name="start")


PROGRAMS: dict[str, Callable[[Any, bool], None]] = {"training": training, "momentum": momentum}
FETCHES = ["loss:0", "looped:0", "chosen:0"]
STEPS = 3


def answers(session: Any) -> list[list[float]]:
    """The values of `FETCHES` before each of some steps, after the variables are initialised."""
    session.run("start")
    found = []
    for _ in range(STEPS):
        found.append([float(value) for value in session.run(FETCHES, FEEDS)])
        session.run("train", FEEDS)
    return found
