"""Rows of activations, biases and the softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.table import NUMBERS, REALS, UNARY, Case, Literal, Reject, each

from actorflow import nn
from actorflow.graph.ops.nn import activation as ops

INF, NAN = math.inf, math.nan
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
WIDE = "float32 float64"

# ---- activations

POINTS = [-INF, -1000.0, -1.0, -0.0, 0.0, 0.5, 6.0, 7.0, 1000.0, INF, NAN]
NOT_NUMBERS = [Reject(TypeError, ([1j],), dtype="complex64"), Reject(TypeError, ([True],), dtype="bool")]


def activation(
    name: str, build: Any, function: Callable[[float], float], literal: list[float], slopes: list[float], **more: Any
) -> Case:
    """An activation, TensorFlow's values at `POINTS`, and its slopes at -1, 0, 0.5 and 7."""
    return Case(
        name,
        build,
        each(function),
        UNARY,
        Literal((POINTS,), literal),
        slopes=[Literal(([-1.0, 0.0, 0.5, 7.0],), slopes)],
        rejects=NOT_NUMBERS,
        domain=(-8.0, 8.0),
        **more,
    )


def gradient_of(
    name: str, build: Any, function: Callable[[float, float], float], literal: list[float], **more: Any
) -> Case:
    """The gradient of an activation, and TensorFlow's values for gradients of 2 at -1, 0, 0.5 and 7."""
    return Case(
        f"{name}Grad",
        build,
        each(function),
        [((), ()), ((2, 3), (2, 3)), ((0, 3), (0, 3))],
        Literal(([2.0] * 4, [-1.0, 0.0, 0.5, 7.0]), literal),
        domain=(-8.0, 8.0),
        **more,
    )


ACTIVATIONS = [
    activation(
        "Relu ReluGrad",
        nn.relu,
        lambda x: max(x, 0),
        [0, 0, 0, 0, 0, 0.5, 6, 7, 1000, INF, NAN],
        [0, 0, 1, 1],
        dtypes=REALS,
    ),
    gradient_of("Relu", ops.relu_grad, lambda dy, x: dy if x > 0 else 0, [0, 0, 2, 2], dtypes=REALS),
    activation(
        "Relu6 Relu6Grad",
        nn.relu6,
        lambda x: min(max(x, 0), 6),
        [0, 0, 0, 0, 0, 0.5, 6, 6, 6, 6, NAN],
        [0, 0, 1, 0],
        dtypes=REALS,
    ),
    gradient_of("Relu6", ops.relu6_grad, lambda dy, x: dy if 0 < x < 6 else 0, [0, 0, 2, 0], dtypes=REALS),
    activation(
        "LeakyRelu LeakyReluGrad",
        nn.leaky_relu,
        lambda x: x if x > 0 else x / 5,
        [-INF, -200, -0.2, -0.0, 0, 0.5, 6, 7, 1000, INF, NAN],
        [0.2, 0.2, 1, 1],
        special=[Literal((i32(-5, 5),), np.float32([-1, 5]))],
    ),
    gradient_of(
        "LeakyRelu",
        lambda dy, x: ops.leaky_relu_grad(dy, x, alpha=0.5),
        lambda dy, x: dy if x > 0 else dy / 2,
        [1, 1, 2, 2],
    ),
    activation(
        "Elu EluGrad",
        nn.elu,
        lambda x: x if x > 0 else math.exp(x) - 1,
        [-1, -1, -0.6321206, -0.0, 0, 0.5, 6, 7, 1000, INF, NAN],
        [0.36787945, 1, 1, 1],
    ),
    gradient_of("Elu", ops.elu_grad, lambda dy, y: dy * (y + 1) if y < 0 else dy, [0, 2, 2, 2]),
    activation(
        "Selu SeluGrad",
        nn.selu,
        lambda x: SCALE * (x if x > 0 else ALPHA * (math.exp(x) - 1)),
        [-1.7580993, -1.7580993, -1.1113307, -0.0, 0, 0.52535051, 6.3042059, 7.3549069, 1050.701, INF, NAN],
        [0.64676857, 1.050701, 1.050701, 1.050701],
    ),
    gradient_of(
        "Selu",
        ops.selu_grad,
        lambda dy, y: dy * (y + SCALE * ALPHA if y < 0 else SCALE),
        [1.5161986, 2.101402, 2.101402, 2.101402],
    ),
    activation(
        "Softplus",
        nn.softplus,
        lambda x: math.log(math.exp(x) + 1),
        [0, 0, 0.3132617, 0.6931472, 0.6931472, 0.974077, 6.0024757, 7.0009117, 1000, INF, NAN],
        [0.26894143, 0.5, 0.62245935, 0.99908894],
    ),
    activation(
        "Softsign SoftsignGrad",
        nn.softsign,
        lambda x: x / (1 + abs(x)),
        [NAN, -0.999001, -0.5, -0.0, 0, 0.33333334, 0.85714287, 0.875, 0.999001, NAN, NAN],
        [0.25, 1, 0.44444445, 0.015625],
    ),
    gradient_of("Softsign", ops.softsign_grad, lambda dy, x: dy / (1 + abs(x)) ** 2, [0.5, 2, 0.8888889, 0.03125]),
]

# ---- biases


def biased(x: Any, bias: Any) -> Any:
    return np.array([value + bias[index[-1]] for index, value in np.ndenumerate(x)]).reshape(x.shape)


BAD_BIASES = [
    Reject(EITHER, ([[1.0, 2.0]], [1.0])),
    Reject(EITHER, ([1.0, 2.0], [1.0, 2.0])),
    Reject(EITHER, ([[1.0]], [[1.0]])),
]
BIASES = [
    Case(
        "BiasAdd BiasAddGrad",
        nn.bias_add,
        biased,
        [((2, 3), (3,)), ((2, 2, 3), (3,)), ((0, 3), (3,))],
        Literal(([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0]), [[11, 22], [13, 24]]),
        dtypes=NUMBERS,
        rejects=[*BAD_BIASES, Reject(ValueError, ([[1.0]], [1.0]), build=lambda x, b: nn.bias_add(x, b, "CHW"))],
    ),
    Case(
        "BiasAdd BiasAddGrad",
        lambda x, bias: nn.bias_add(x, bias, "NCHW"),
        lambda x, bias: np.moveaxis(biased(np.moveaxis(x, 1, -1), bias), -1, 1),
        [((2, 3, 2, 2), (3,)), ((1, 2, 3), (2,)), ((2, 3), (3,))],
        Literal(([[[[1.0, 2.0]], [[3.0, 4.0]]]], [10.0, 20.0]), [[[[11, 12]], [[23, 24]]]]),
        note="channels first",
        dtypes=NUMBERS,
        rejects=[Reject(EITHER, (np.zeros((1, 2, 3)), np.zeros(3)))],
    ),
    Case(
        "BiasAddGrad BiasAdd",
        ops.bias_add_grad,
        lambda dy: np.array([sum(dy.reshape(-1, dy.shape[-1])[:, k].tolist()) for k in range(dy.shape[-1])]),
        [((2, 3),), ((2, 2, 3),), ((0, 3),)],
        Literal(([[1.0, 2.0], [3.0, 4.0]],), [4, 6]),
        dtypes=NUMBERS,
        rejects=[Reject(EITHER, ([1.0],))],
    ),
    Case(
        "L2Loss",
        nn.l2_loss,
        lambda x: np.array(sum(v * v for v in x.reshape(-1).tolist()) / 2),
        UNARY,
        Literal(([[1.0, -2.0], [3.0, 4.0]],), 15.0),
        rejects=[Reject(TypeError, (i32(1),))],
        loose=4,
    ),
]

# ---- softmax


def rows(function: Callable[[list[float]], list[float]], axis: int = -1) -> Callable[..., Any]:
    return lambda x: np.apply_along_axis(lambda v: np.array(function(v.tolist())), axis, x) if x.size else x


def soft(values: list[float]) -> list[float]:
    return [1 / math.fsum(math.exp(w - v) for w in values) for v in values]


def log_soft(values: list[float]) -> list[float]:
    return [-math.log(math.fsum(math.exp(w - v) for w in values)) for v in values]


def softmax_row(name: str, build: Any, function: Any, literal: Any, huge: Any, axis: int | None = None) -> Case:
    return Case(
        name,
        build if axis is None else lambda x: build(x, axis),
        rows(function, -1 if axis is None else axis),
        [((3, 4),), ((2, 3, 2),), ((2, 0, 3),), *([((5,),), ((2, 0),)] if axis is None else [])],
        Literal(([[1.0, 2.0, 3.0]],), literal),
        note="" if axis is None else f"axis {axis}",
        special=[Literal(([[1000.0, 0.0, -1000.0], [-1000.0, -1000.0, -1000.0]],), huge)] if axis is None else (),
        rejects=[
            Reject(EITHER, (1.0,)),
            Reject(TypeError, (i32([1]),)),
            Reject(EITHER, (np.zeros((1, 2)),), build=lambda x: build(x, 2)),
        ],
        domain=(-5.0, 5.0),
    )


THIRD, LOG_3 = 1 / 3, math.log(3)
SOFTMAX = [
    softmax_row("Softmax", nn.softmax, soft, [[0.09003057, 0.24472848, 0.66524094]], [[1, 0, 0], [THIRD] * 3]),
    softmax_row("Softmax", nn.softmax, soft, [[1, 1, 1]], None, axis=0),
    softmax_row("Softmax", nn.softmax, soft, [[0.09003057, 0.24472848, 0.66524094]], None, axis=1),
    softmax_row(
        "LogSoftmax", nn.log_softmax, log_soft, [[-2.407606, -1.407606, -0.407606]], [[0, -1000, -2000], [-LOG_3] * 3]
    ),
    softmax_row("LogSoftmax", nn.log_softmax, log_soft, [[0, 0, 0]], None, axis=0),
]

CASES = [*ACTIVATIONS, *BIASES, *SOFTMAX]
