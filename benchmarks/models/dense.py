"""Models of products alone: logistic regression, MLPs, a policy and its gradient."""

from __future__ import annotations

import itertools

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import Model, Parts, model


def mlp(m: Model, sizes: tuple[int, ...], batch: int, optimizer: str = "descent") -> Parts:
    """A classifier with `sizes` units."""
    lib = m.lib
    x, labels = lib.placeholder(lib.float32, [batch, sizes[0]]), lib.placeholder(lib.int32, [batch])
    value = x
    for inputs, units in itertools.pairwise(sizes[:-1]):
        value = m.dense(value, inputs, units, lib.nn.relu)
    logits = m.dense(value, sizes[-2], sizes[-1])
    if not m.training:
        return (x,), (m.floats(batch, sizes[0]),), lib.nn.softmax(logits), None
    loss = m.classified(logits, labels)
    train = lib.train.AdamOptimizer(0.001).minimize(loss) if optimizer == "adam" else m.descent(loss)
    return (x, labels), (m.floats(batch, sizes[0]), m.ints(sizes[-1], batch)), loss, train


def policy_gradient(m: Model, batch: int) -> Parts:
    """REINFORCE for a game of 4 numbers and 2 actions, with an entropy term and clipped gradients."""
    lib = m.lib
    states, actions = lib.placeholder(lib.float32, [batch, 4]), lib.placeholder(lib.int32, [batch])
    returns = lib.placeholder(lib.float32, [batch])
    logits = m.dense(m.dense(states, 4, 64, lib.tanh), 64, 2)
    chosen = lib.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
    entropy = -lib.reduce_sum(lib.nn.softmax(logits) * lib.nn.log_softmax(logits), 1)
    loss = lib.reduce_mean(chosen * returns - 0.01 * entropy)
    optimizer = lib.train.AdamOptimizer(0.01)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, _ = lib.clip_by_global_norm(list(gradients), 0.5)
    train = optimizer.apply_gradients(list(zip(clipped, variables)))
    return (states, actions, returns), (m.floats(batch, 4), m.ints(2, batch), m.floats(batch)), loss, train


_DEEP = (32, *(16 for _ in range(100)), 10)

TRAINING = (
    Case("logistic", "logistic regression 784-10, batch 64", model(mlp, sizes=(784, 10), batch=64)),
    Case(
        "mlp_adam",
        "MLP 256-256-256-10 by Adam, batch 64",
        model(mlp, sizes=(256,) * 3 + (10,), batch=64, optimizer="adam"),
    ),
    Case("mlp_single", "MLP 64-64-10, batch 1", model(mlp, sizes=(64, 64, 10), batch=1)),
    Case("deep_mlp", "MLP of 100 layers of 16 units, batch 32", model(mlp, sizes=_DEEP, batch=32)),
    Case("policy_gradient", "policy gradient of 4-64-2, batch 256", model(policy_gradient, batch=256)),
)
INFERENCE = (
    Case("policy", "policy 4-64-64-2, batch 1", model(mlp, training=False, sizes=(4, 64, 64, 2), batch=1)),
    Case("mlp", "MLP 784-512-512-10, batch 1", model(mlp, training=False, sizes=(784, 512, 512, 10), batch=1)),
    Case(
        "deep_mlp_inference", "MLP of 100 layers of 16 units, batch 1", model(mlp, training=False, sizes=_DEEP, batch=1)
    ),
)
