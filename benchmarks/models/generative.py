"""Models that learn to make their input: autoencoder, variational autoencoder, and a pair of adversaries."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import Model, Parts, model


def autoencoder(m: Model, batch: int) -> Parts:
    """784-128-32-128-784, the mean square of the difference."""
    lib = m.lib
    x = value = lib.placeholder(lib.float32, [batch, 784])
    for inputs, units in ((784, 128), (128, 32), (32, 128)):
        value = m.dense(value, inputs, units, lib.nn.relu)
    loss = lib.reduce_mean(lib.square(m.dense(value, 128, 784) - x))
    return (x,), (m.floats(batch, 784),), loss, lib.train.AdamOptimizer(0.001).minimize(loss)


def vae(m: Model, batch: int) -> Parts:
    """A variational autoencoder of 784 pixels and 16 hidden numbers. The noise is fed, so both sides get the same."""
    lib = m.lib
    x, noise = lib.placeholder(lib.float32, [batch, 784]), lib.placeholder(lib.float32, [batch, 16])
    hidden = m.dense(x, 784, 128, lib.nn.relu)
    mean, log_variance = m.dense(hidden, 128, 16), 0.1 * m.dense(hidden, 128, 16)
    sample = mean + noise * lib.exp(0.5 * log_variance)
    logits = m.dense(m.dense(sample, 16, 128, lib.nn.relu), 128, 784)
    pixels = lib.nn.sigmoid_cross_entropy_with_logits(labels=lib.sigmoid(x), logits=logits)
    divergence = -0.5 * lib.reduce_sum(1.0 + log_variance - lib.square(mean) - lib.exp(log_variance), 1)
    loss = lib.reduce_mean(lib.reduce_sum(pixels, 1) + divergence)
    return (x, noise), (m.floats(batch, 784), m.floats(batch, 16)), loss, lib.train.AdamOptimizer(1e-4).minimize(loss)


def gan(m: Model, batch: int) -> Parts:
    """One step of each adversary over 64 pixels, the discriminator first."""
    lib = m.lib
    real, noise = lib.placeholder(lib.float32, [batch, 64]), lib.placeholder(lib.float32, [batch, 16])
    made = [m.weights(16, 64), m.full(0.0, 64), m.weights(64, 64), m.full(0.0, 64)]
    judged = [m.weights(64, 64), m.full(0.0, 64), m.weights(64, 1), m.full(0.0, 1)]

    def two(x: Any, weights: list[Any]) -> Any:
        hidden = lib.nn.leaky_relu(lib.nn.bias_add(lib.matmul(x, weights[0]), weights[1]))
        return lib.nn.bias_add(lib.matmul(hidden, weights[2]), weights[3])

    def crossed(logits: Any, label: float) -> Any:
        labels = lib.fill([batch, 1], label)
        return lib.reduce_mean(lib.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))

    fake = lib.tanh(two(noise, made))
    told = two(fake, judged)
    judge_loss = crossed(two(real, judged), 1.0) + crossed(told, 0.0)
    judge = lib.train.GradientDescentOptimizer(0.01).minimize(judge_loss, var_list=judged)
    with lib.control_dependencies([judge]):
        loss = crossed(two(lib.tanh(two(noise, made)), judged), 1.0)
    train = lib.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=made)
    return (real, noise), (m.floats(batch, 64), m.floats(batch, 16)), judge_loss, train


TRAINING = (
    Case("autoencoder", "autoencoder 784-128-32 by Adam, batch 64", model(autoencoder, batch=64)),
    Case("vae", "variational autoencoder by Adam, batch 64", model(vae, batch=64)),
    Case("gan", "a step of both adversaries, batch 64", model(gan, batch=64)),
)
INFERENCE = ()
