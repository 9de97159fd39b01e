"""`Model`: a graph that grows by layers, whose weights are drawn by numpy, and the step that trains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.harness.definitions import Build, Work

SEED = 7
BATCHES = 4
STEPS = 4
"""The number of steps after which both sides compare their losses."""


class Model:
    """Layers over one library. `lib` is `actorflow` or `tensorflow.compat.v1`."""

    def __init__(self, lib: Any, training: bool = True) -> None:
        import numpy as np

        self.lib = lib
        self.np = np
        self.training = training
        self.rng = np.random.default_rng(SEED)
        self.data = np.random.default_rng(SEED + 1)

    def weights(self, *shape: int, scale: float | None = None) -> Any:
        """A variable of normal numbers, by default with the deviation of He's rule."""
        deviation = scale if scale is not None else (2.0 / self.np.prod(shape[:-1])) ** 0.5
        return self.lib.Variable(self.rng.normal(0, deviation, shape).astype(self.np.float32))

    def full(self, value: float, *shape: int) -> Any:
        """A variable of equal numbers."""
        return self.lib.Variable(self.np.full(shape, value, self.np.float32))

    def dense(self, x: Any, inputs: int, units: int, activation: Callable[[Any], Any] | None = None) -> Any:
        """x · W + b and its activation."""
        value = self.lib.nn.bias_add(self.lib.matmul(x, self.weights(inputs, units)), self.full(0.0, units))
        return value if activation is None else activation(value)

    def conv(self, x: Any, inputs: int, outputs: int, size: int = 3, stride: int = 1) -> Any:
        """A convolution without bias."""
        kernel = self.weights(size, size, inputs, outputs)
        return self.lib.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME")

    def norm(self, x: Any, channels: int) -> Any:
        """Batch normalization by the batch's own moments, or by stored ones in an inference."""
        scale, offset = self.full(1.0, channels), self.full(0.0, channels)
        if self.training:
            return self.lib.nn.fused_batch_norm(x, scale, offset, is_training=True)[0]
        mean, variance = self.full(0.1, channels), self.full(0.9, channels)
        return self.lib.nn.fused_batch_norm(x, scale, offset, mean=mean, variance=variance, is_training=False)[0]

    def layer_norm(self, x: Any, width: int) -> Any:
        """Normalization of the last dimension, written out."""
        lib = self.lib
        mean, variance = lib.nn.moments(x, [-1], keep_dims=True)
        return (x - mean) * lib.rsqrt(variance + 1e-5) * self.full(1.0, width) + self.full(0.0, width)

    def floats(self, *shape: int) -> list[Any]:
        """Batches of normal numbers."""
        return [self.data.normal(size=shape).astype(self.np.float32) for _ in range(BATCHES)]

    def ints(self, high: int, *shape: int) -> list[Any]:
        """Batches of whole numbers below `high`."""
        return [self.data.integers(0, high, size=shape).astype(self.np.int32) for _ in range(BATCHES)]

    def classified(self, logits: Any, labels: Any) -> Any:
        """The mean cross entropy of `labels`."""
        losses = self.lib.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return self.lib.reduce_mean(losses)

    def descent(self, loss: Any, rate: float = 0.01) -> Any:
        """A step of gradient descent."""
        return self.lib.train.GradientDescentOptimizer(rate).minimize(loss)


Parts = tuple[Sequence[Any], Sequence[Sequence[Any]], Any, Any]
"""Placeholders, their batches one list each, the loss or result, and the training op or None."""


def model(make: Callable[..., Parts], training: bool = True, **options: Any) -> Build:
    """The benchmark of `make(model, **options)`, which adds nodes to the default graph."""

    def build(lib: Any) -> Work:
        graph = lib.Graph()
        with graph.as_default():
            made = Model(lib, training)
            placeholders, columns, result, train = make(made, **options)
            batches = list(zip(*columns, strict=True)) if columns else [()]
            init = lib.group(lib.global_variables_initializer(), lib.tables_initializer())
            fetches = result if train is None else [result, train]
            answer = None if train is None else result
            return Work(graph, fetches, tuple(placeholders), batches, init, answer, steps=STEPS if train else 1)

    return build
