"""Steps of optimizers and gradients of `ai.onnx.preview.training`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import number
from actorflow.exchange.onnx.nodes import IMPURE, OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of
from actorflow.graph.convert import convert_to_tensor

_TRAINING = "ai.onnx.preview.training"


def _in_groups(node: OnnxNode, many: int, inputs: Any, step: Callable[..., Any]) -> Any:
    """The results of `step` for each tensor: the inputs are all tensors, then all gradients, and so on."""
    rate, count, *rest = inputs
    groups = len(rest) // many
    results = [step(rate, count, *rest[at::groups]) for at in range(groups)]
    return tuple(value for kind in zip(*results) for value in kind)


def _regular(node: OnnxNode, x: Any, gradient: Any, name: str = "norm_coefficient") -> Any:
    return gradient + x * number(node.attr(name, 0.0), x)


@onnx_op("Adagrad", domain=_TRAINING)
def adagrad(node: OnnxNode, *inputs: Any) -> Any:
    def step(rate: Any, count: Any, x: Any, gradient: Any, squares: Any) -> Any:
        now = rate / (number(1, rate) + af.cast(count, dtype_of(rate)) * number(node.attr("decay_factor", 0.0), rate))
        gradient = _regular(node, x, gradient)
        squares = squares + gradient * gradient
        return x - now * gradient / (af.sqrt(squares) + number(node.attr("epsilon", 1e-6), x)), squares

    return _in_groups(node, 3, inputs, step)


@onnx_op("Adam", domain=_TRAINING)
def adam(node: OnnxNode, *inputs: Any) -> Any:
    alpha, beta = node.attr("alpha", 0.9), node.attr("beta", 0.999)

    def step(rate: Any, count: Any, x: Any, gradient: Any, mean: Any, squares: Any) -> Any:
        gradient = _regular(node, x, gradient)
        mean = mean * number(alpha, x) + gradient * number(1 - alpha, x)
        squares = squares * number(beta, x) + gradient * gradient * number(1 - beta, x)
        steps = af.cast(count, af.float64)
        grown = af.sqrt(1 - af.pow(np.float64(beta), steps)) / (1 - af.pow(np.float64(alpha), steps))
        now = rate * af.cast(af.where_v2(steps > 0, grown, np.float64(1)), dtype_of(rate))
        updated = x - now * mean / (af.sqrt(squares) + number(node.attr("epsilon", 1e-6), x))
        return updated * number(1 - node.attr("norm_coefficient_post", 0.0), x), mean, squares

    return _in_groups(node, 4, inputs, step)


@onnx_op("Momentum", domain=_TRAINING)
def momentum(node: OnnxNode, *inputs: Any) -> Any:
    alpha, beta = node.required("alpha"), node.required("beta")

    def step(rate: Any, count: Any, x: Any, gradient: Any, moving: Any) -> Any:
        gradient = _regular(node, x, gradient)
        share = af.where_v2(count > 0, number(beta, x), number(1, x))
        moving = moving * number(alpha, x) + gradient * share
        ahead = gradient + moving * number(alpha, x) if node.required("mode") == "nesterov" else moving
        return x - rate * ahead, moving

    return _in_groups(node, 3, inputs, step)


IMPURE.add("Gradient")  # it depends on the nodes before it, not on its inputs


@onnx_op("Gradient", domain=_TRAINING)
def gradient(node: OnnxNode, *inputs: Any) -> Any:
    """Of the value `y` for the values `xs`, which stand in the graph before."""
    xs = [node.scope.get(name) for name in node.required("xs")]
    if not all(isinstance(x, af.Tensor) for x in xs):
        raise InvalidArgumentError(f"{node} is for a value that is a constant.")
    slopes = af.gradients(convert_to_tensor(node.scope.get(node.required("y"))), xs)
    return tuple(af.zeros_like(x) if slope is None else slope for x, slope in zip(xs, slopes))
