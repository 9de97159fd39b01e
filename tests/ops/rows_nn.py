"""Rows of activations, biases, the softmax and losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from ops.rows_array import EITHER, i32, i64, n32
from ops.table import NUMBERS, REALS, UNARY, Case, Literal, Reject, each

from actorflow import nn
from actorflow.errors import InvalidArgumentError
from actorflow.ops import nn as ops

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


def gradient_of(name: str, build: Any, function: Callable[[float, float], float], literal: list[float], **more: Any) -> Case:
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
    activation("Relu ReluGrad", nn.relu, lambda x: max(x, 0), [0, 0, 0, 0, 0, 0.5, 6, 7, 1000, INF, NAN], [0, 0, 1, 1], dtypes=REALS),
    gradient_of("Relu", ops.relu_grad, lambda dy, x: dy if x > 0 else 0, [0, 0, 2, 2], dtypes=REALS),
    activation("Relu6 Relu6Grad", nn.relu6, lambda x: min(max(x, 0), 6), [0, 0, 0, 0, 0, 0.5, 6, 6, 6, 6, NAN], [0, 0, 1, 0], dtypes=REALS),
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
        [0.64676857, 1.7580993, 1.050701, 1.050701],
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
        rejects=[Reject(EITHER, (1.0,)), Reject(TypeError, (i32([1]),)), Reject(EITHER, (np.zeros((1, 2)),), build=lambda x: build(x, 2))],
        domain=(-5.0, 5.0),
    )


THIRD, LOG_3 = 1 / 3, math.log(3)
SOFTMAX = [
    softmax_row("Softmax", nn.softmax, soft, [[0.09003057, 0.24472848, 0.66524094]], [[1, 0, 0], [THIRD] * 3]),
    softmax_row("Softmax", nn.softmax, soft, [[1, 1, 1]], None, axis=0),
    softmax_row("Softmax", nn.softmax, soft, [[0.09003057, 0.24472848, 0.66524094]], None, axis=1),
    softmax_row("LogSoftmax", nn.log_softmax, log_soft, [[-2.407606, -1.407606, -0.407606]], [[0, -1000, -2000], [-LOG_3] * 3]),
    softmax_row("LogSoftmax", nn.log_softmax, log_soft, [[0, 0, 0]], None, axis=0),
]

# ---- losses


def cross_entropy(labels: Any, logits: Any) -> Any:
    flat = zip(logits.reshape(-1, logits.shape[-1]).tolist(), labels.reshape(-1, logits.shape[-1]).tolist())
    return np.array([-sum(t * s for t, s in zip(target, log_soft(row))) for row, target in flat]).reshape(logits.shape[:-1])


def of_class(labels: Any, logits: Any) -> Any:
    flat = zip(logits.reshape(-1, logits.shape[-1]).tolist(), labels.reshape(-1).tolist())
    return np.array([-log_soft(row)[label] for row, label in flat]).reshape(labels.shape)


def logistic(labels: Any, logits: Any, weight: float = 1.0) -> Any:
    def one(z: float, x: float) -> float:
        return weight * z * math.log1p(math.exp(-x)) + (1 - z) * math.log1p(math.exp(x))

    return each(one)(labels, logits)


def dense(labels: Any, logits: Any) -> Any:
    return nn.softmax_cross_entropy_with_logits_v2(labels, logits)


def sparse(labels: Any, logits: Any) -> Any:
    return nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def sigmoid(labels: Any, logits: Any) -> Any:
    return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


LOGITS = [[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0], [-5.0, 5.0, 0.0]]
LABELS = [[0.0, 0.0, 1.0], [0.2, 0.3, 0.5], [1.0, 1.0, 1.0]]
LOSSES = [
    Case(
        "SoftmaxCrossEntropyWithLogits",
        dense,
        cross_entropy,
        [((3, 4), (3, 4)), ((2, 3, 2), (2, 3, 2)), ((4,), (4,)), ((0, 3), (0, 3))],
        Literal((LABELS, LOGITS), [0.407606, 1300.0, 15.020229]),
        domain=((0.0, 1.0), (-4.0, 4.0)),
        # The derivative is that for labels that add up to 1.
        gradient=None,
        slopes=[
            Literal(
                ([LABELS[0]], [LOGITS[0]]),
                ([[2.407606, 1.407606, 0.407606]], [[0.09003057, 0.24472848, -0.33475906]]),
            )
        ],
        rejects=[
            Reject(EITHER, ([[1.0, 0.0]], [[1.0, 0.0, 0.0]])),
            Reject(EITHER, (LABELS[:2], LOGITS)),
            Reject(TypeError, (i32([1, 0]), i32([1, 0]))),
            Reject(ValueError, (1.0, 1.0)),
        ],
        loose=2,
    ),
    Case(
        "SoftmaxCrossEntropyWithLogits",
        lambda scores, logits: dense(nn.softmax(scores), logits),
        lambda scores, logits: cross_entropy(rows(soft)(scores), logits),
        [((3, 4), (3, 4)), ((2, 3, 2), (2, 3, 2)), ((4,), (4,)), ((1, 3), (2, 3))],
        Literal(([[0.0, 0.0]], [[1.0, 3.0]]), [1.126928]),
        note="of distributions",
        loose=2,
    ),
    Case(
        "SoftmaxCrossEntropyWithLogits StopGradient",
        lambda x: nn.softmax_cross_entropy_with_logits(labels=[[0.25], [0.25], [0.5]], logits=x, dim=0),
        lambda x: np.array([[-sum(t * s for t, s in zip((0.25, 0.25, 0.5), log_soft(v.tolist())))] for v in x.T])[:, 0],
        [((3, 1),)],
        Literal(([[1.0], [2.0], [3.0]],), [1.157606]),
        note="along dimension 0",
        rejects=[
            Reject(ValueError, ([[1.0]],), build=lambda x: nn.softmax_cross_entropy_with_logits(x, x)),
            Reject(ValueError, ([[1.0]],), build=lambda x: nn.softmax_cross_entropy_with_logits(logits=x)),
            Reject(ValueError, ([[1.0]],), build=lambda x: nn.softmax_cross_entropy_with_logits(labels=x, logits=x, dim=2)),
        ],
        loose=2,
    ),
    Case(
        "SparseSoftmaxCrossEntropyWithLogits",
        sparse,
        of_class,
        [(i32(0, 3, 1), (3, 4)), (i64([0, 1], [1, 1]), (2, 2, 2)), (n32(2), (3,)), (np.zeros(0, np.int32), (0, 3))],
        Literal((i32(2, 1, 0), LOGITS), [0.407606, 1000.0, 10.006761]),
        domain=(-4.0, 4.0),
        slopes=[Literal((i32(2), [LOGITS[0]]), (None, [[0.09003057, 0.24472848, -0.33475906]]))],
        rejects=[
            Reject(InvalidArgumentError, (i32(0, 3, 1), LOGITS)),
            Reject(InvalidArgumentError, (i32(0, -1, 1), LOGITS)),
            Reject(EITHER, (i32(0, 1), LOGITS)),
            Reject(ValueError, (i32([0], [1], [2]), LOGITS)),
            Reject(TypeError, ([0.0, 1.0, 2.0], LOGITS)),
            Reject(ValueError, (i32(0, 1, 2), LOGITS), build=nn.sparse_softmax_cross_entropy_with_logits),
        ],
        loose=2,
    ),
    Case(
        "Select Log1p",
        sigmoid,
        logistic,
        [((2, 3), (2, 3)), ((), ())],
        Literal(([0.0, 1.0, 0.3, 1.0, 0.5], [1000.0, 1000.0, -1000.0, -1000.0, 0.0]), [1000, 0, 300, 1000, 0.6931472]),
        note="sigmoid cross entropy",
        domain=((0.0, 1.0), (-4.0, 4.0)),
        slopes=[Literal(([1.0, 0.25], [0.0, 0.0]), ([-0.0, -0.0], [-0.5, 0.25]))],
        rejects=[Reject(ValueError, ([1.0, 0.0], [[1.0, 0.0]])), Reject(ValueError, ([1.0],), build=lambda x: nn.sigmoid_cross_entropy_with_logits(x))],
    ),
    Case(
        "Relu Log1p",
        lambda labels, logits: nn.weighted_cross_entropy_with_logits(labels, logits, 2.5),
        lambda labels, logits: logistic(labels, logits, 2.5),
        [((2, 3), (2, 3))],
        Literal(([0.0, 1.0, 0.5, 1.0], [1000.0, 1000.0, 0.0, -1000.0]), [1000, 0, 1.2130076, 2500]),
        note="weighted cross entropy",
        domain=((0.0, 1.0), (-4.0, 4.0)),
        loose=2,
    ),
]

# ---- parts of layers


def normalized(x: Any) -> Any:
    return np.array([[v / math.sqrt(max(math.fsum(w * w for w in row), 1e-12)) for v in row] for row in x.tolist()])


def moments(x: Any) -> tuple[Any, Any]:
    columns = [x[:, k].tolist() for k in range(x.shape[1])]
    means = [math.fsum(c) / len(c) for c in columns]
    return np.array(means), np.array([math.fsum((v - m) ** 2 for v in c) / len(c) for c, m in zip(columns, means)])


def batch_normalized(x: Any, mean: Any, variance: Any, offset: Any, scale: Any) -> Any:
    return each(lambda v, m, s, o, k: k * (v - m) / math.sqrt(s + 0.001) + o)(x, mean, variance, offset, scale)


TABLE = np.arange(6, dtype=np.float32).reshape(3, 2)
IDS = i32([0, 3], [4, 1])
LAYERS = [
    Case(
        "Rsqrt Maximum",
        lambda x: nn.l2_normalize(x, 1),
        normalized,
        [((2, 3),), ((3, 1),)],
        Literal(([[3.0, 4.0], [0.0, 0.0]],), [[0.6, 0.8], [0, 0]]),
        note="l2 normalize",
        loose=2,
    ),
    Case(
        "Mean SquaredDifference",
        lambda x: nn.moments(x, [0]),
        moments,
        [((4, 3),)],
        Literal(([[1.0, 2.0], [3.0, 6.0]],), ([2, 4], [1, 4])),
        note="moments",
        dtypes=WIDE,
        special=[Literal((np.float16([[1, 2], [3, 6]]),), (np.float16([2, 4]), np.float16([1, 4])))],
        loose=2,
    ),
    Case(
        "Rsqrt Mul",
        lambda *inputs: nn.batch_normalization(*inputs, 0.001),
        batch_normalized,
        [((3, 2), (2,), (2,), (2,), (2,))],
        Literal(([[1.0], [2.0]], [1.5], [0.249], [10.0], [2.0]), [[8], [12]]),
        note="batch normalization",
        domain=((-2.0, 2.0), (-1.0, 1.0), (0.5, 2.0), (-1.0, 1.0), (-1.0, 1.0)),
        loose=4,
    ),
    Case(
        "MatMul BiasAdd",
        nn.xw_plus_b,
        lambda x, w, b: np.array([[sum(x[i, k] * w[k, j] for k in range(w.shape[0])) + b[j] for j in range(w.shape[1])] for i in range(x.shape[0])]),
        [((2, 3), (3, 2), (2,))],
        Literal(([[1.0, 2.0]], [[3.0], [4.0]], [5.0]), [[16]]),
        note="xw_plus_b",
        dtypes=WIDE,
    ),
    *(
        Case(
            "DynamicStitch Gather",
            lambda first, second, s=strategy: nn.embedding_lookup([first, second], IDS, s),
            lambda first, second, o=order: np.array([[[first, second][t][r] for t, r in row] for row in o]),
            [((3, 2), (2, 2))],
            literal,
            note=f"embedding by {strategy}",
        )
        for strategy, order, literal in (
            ("mod", [[(0, 0), (1, 1)], [(0, 2), (1, 0)]], Literal((TABLE, TABLE[:2] + 10), np.float32([[[0, 1], [12, 13]], [[4, 5], [10, 11]]]))),
            ("div", [[(0, 0), (1, 0)], [(1, 1), (0, 1)]], Literal((TABLE, TABLE[:2] + 10), np.float32([[[0, 1], [10, 11]], [[12, 13], [2, 3]]]))),
        )
    ),
    Case(
        "Gather",
        lambda table: nn.embedding_lookup(table, [2, 0], max_norm=2.0),
        lambda table: np.array([table[i] * min(1.0, 2 / math.sqrt((table[i] ** 2).sum())) for i in (2, 0)]),
        [((3, 2),)],
        Literal(([[1.0, 0.0], [0.0, 0.0], [3.0, 4.0]],), [[1.2, 1.6], [1, 0]]),
        note="embedding within a norm",
        rejects=[
            Reject(ValueError, ([[1.0]],), build=lambda t: nn.embedding_lookup([], [0])),
            Reject(ValueError, ([[1.0]],), build=lambda t: nn.embedding_lookup(t, [0], "none")),
            Reject(InvalidArgumentError, ([[1.0]],)),
        ],
        dtypes=WIDE,
        domain=(0.5, 4.0),
    ),
]

CASES = [*ACTIVATIONS, *BIASES, *SOFTMAX, *LOSSES, *LAYERS]
