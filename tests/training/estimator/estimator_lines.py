"""A linear regression for tests of Estimators, its examples, and what plain numpy makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import actorflow as af
from actorflow.estimator import ModeKeys

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2)).astype(np.float32)
Y = (X @ np.array([[2.0], [-1.0]]) + 0.5).astype(np.float32)


def line(features: Any, labels: Any, mode: str, params: Any) -> Any:
    """A linear regression whose variables begin at zero."""
    params.get("calls", []).append(mode)
    w = af.get_variable("w", [2, 1], initializer=af.zeros_initializer())
    b = af.get_variable("b", [1], initializer=af.zeros_initializer())
    y = af.matmul(features["x"], w) + b
    if mode == ModeKeys.PREDICT:
        return af.estimator.EstimatorSpec(mode, {"y": y, "x": features["x"]})
    loss = af.reduce_mean(af.square(y - labels))
    train = af.train.GradientDescentOptimizer(params["rate"]).minimize(loss, global_step=af.train.get_global_step())
    return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def batches(size: int = 10) -> Iterator[Any]:
    """The examples in order."""
    for begin in range(0, len(X), size):
        yield {"x": X[begin : begin + size]}, Y[begin : begin + size]


def quiet(**options: Any) -> af.estimator.RunConfig:
    """A configuration without summaries."""
    settings = {"save_checkpoints_steps": 5, "save_summary_steps": 0, "log_step_count_steps": None, **options}
    return af.estimator.RunConfig(**settings)


def expected(steps: int, order: Callable[[int], Any] = lambda step: list(batches())[step % 4]) -> Any:
    """The values that `steps` of plain numpy make of w and b."""
    w, b = np.zeros((2, 1)), np.zeros(1)
    for step in range(steps):
        features, labels = order(step)
        error = features["x"] @ w + b - labels
        w, b = w - 0.2 * features["x"].T @ error / len(labels), b - 0.2 * error.mean(0)
    return w, b
