"""Rows of losses, and of the parts of layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, i64, n32
from graph.ops.nn.rows_activation import log_soft, rows, soft
from graph.ops.table import Case, Literal, Reject, each

from actorflow import nn
from actorflow.errors import InvalidArgumentError

INF, NAN = math.inf, math.nan
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
WIDE = "float32 float64"

# ---- losses


def cross_entropy(labels: Any, logits: Any) -> Any:
    spread = np.broadcast_to(labels, logits.shape)
    flat = zip(logits.reshape(-1, logits.shape[-1]).tolist(), spread.reshape(-1, logits.shape[-1]).tolist())
    return np.array([-sum(t * s for t, s in zip(target, log_soft(row))) for row, target in flat]).reshape(
        logits.shape[:-1]
    )


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
            Reject(
                ValueError, ([[1.0]],), build=lambda x: nn.softmax_cross_entropy_with_logits(labels=x, logits=x, dim=2)
            ),
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
        rejects=[
            Reject(ValueError, ([1.0, 0.0], [[1.0, 0.0]])),
            Reject(ValueError, ([1.0],), build=lambda x: nn.sigmoid_cross_entropy_with_logits(x)),
        ],
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


def composed(
    ops: str, build: Any, reference: Any, inputs: tuple[Any, ...], output: Any, *shapes: Any, **more: Any
) -> Case:
    return Case(ops, build, reference, [shapes], Literal(inputs, output), note=build.__name__, **more)


def poisson(targets: Any, logs: Any, full: bool = False) -> Any:
    def one(z: float, x: float) -> float:
        stirling = z * math.log(z) - z + math.log(2 * math.pi * z) / 2 if full and z > 1 else 0.0
        return math.exp(x) - x * z + stirling

    return each(one)(targets, logs)


POISSON = [
    Case(
        "Exp Mul",
        lambda targets, logs, f=full: nn.log_poisson_loss(targets, logs, f),
        lambda targets, logs, f=full: poisson(targets, logs, f),
        [((2, 3), (2, 3)), ((), ()), ((0, 2), (0, 2))],
        Literal(([0.0, 1.0, 2.0, 5.0], [0.5, 0.0, 1.0, 2.0]), answer),
        note="full log poisson loss" if full else "log poisson loss",
        domain=((1.5, 4.0), (-2.0, 2.0)),
        rejects=[Reject(ValueError, ([1.0, 0.0], [[1.0, 0.0]]))],
        loose=4,
    )
    for full, answer in (
        (False, [1.6487212, 1, 0.71828175, -2.6109438]),
        (True, [1.6487212, 1, 1.3700882, 2.1599035]),
    )
]

SMALL = [
    composed(
        "MatMul Relu",
        nn.relu_layer,
        lambda x, w, b: np.maximum(np.einsum("ik,kj->ij", x, w) + b, 0),
        ([[1.0, 2.0]], [[3.0, -4.0], [1.0, 1.0]], [5.0, 0.0]),
        [[10, 0]],
        *((2, 3), (3, 2), (2,)),
        dtypes=WIDE,
    ),
    composed(
        "Relu ConcatV2",
        nn.crelu,
        lambda x: np.array([[max(v, 0) for v in row] + [max(-v, 0) for v in row] for row in x.tolist()]),
        ([[1.0, -2.0]],),
        [[1, 0, 0, 2]],
        (2, 3),
    ),
    composed("Sigmoid Mul", nn.swish, each(lambda x: x / (1 + math.exp(-x))), ([0.0, 2.0],), [0, 1.7615942], (2, 3)),
    composed(
        "Equal Mean",
        nn.zero_fraction,
        lambda x: np.array(np.mean([v == 0 for v in x.reshape(-1).tolist()])),
        ([[0.0, 3.0], [-0.0, NAN]],),
        np.float32(0.5),
        (2, 3),
        gradient=0,
        loose=1e3,
    ),
]

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
        "Rsqrt Maximum",
        lambda x: nn.l2_normalize(x, [1, 2], epsilon=1e-3),
        lambda x: np.array([e / math.sqrt(max(math.fsum(v * v for v in e.reshape(-1)), 1e-3)) for e in x]),
        [((2, 3, 2),)],
        Literal(
            ([[[3.0, 4.0], [0.0, 0.0]], [[0.003, 0.0], [0.0, 0.004]]],),
            [[[0.6, 0.8], [0, 0]], [[0.0948683, 0], [0, 0.1264911]]],
        ),
        note="l2 normalize over several axes",
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
        lambda x, w, b: np.array(
            [
                [sum(x[i, k] * w[k, j] for k in range(w.shape[0])) + b[j] for j in range(w.shape[1])]
                for i in range(x.shape[0])
            ]
        ),
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
            (
                "mod",
                [[(0, 0), (1, 1)], [(0, 2), (1, 0)]],
                Literal((TABLE, TABLE[:2] + 10), np.float32([[[0, 1], [12, 13]], [[4, 5], [10, 11]]])),
            ),
            (
                "div",
                [[(0, 0), (1, 0)], [(1, 1), (0, 1)]],
                Literal((TABLE, TABLE[:2] + 10), np.float32([[[0, 1], [10, 11]], [[12, 13], [2, 3]]])),
            ),
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
            Reject(ValueError, ([[1.0]],), build=lambda t: nn.embedding_lookup([t, t], [0], "none")),
            Reject(InvalidArgumentError, ([[1.0]],)),
        ],
        dtypes=WIDE,
        domain=(0.5, 4.0),
    ),
]

CASES = [*LOSSES, *POISSON, *SMALL, *LAYERS]
