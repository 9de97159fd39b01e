"""Rows of the weighted losses, each with the weights and reductions that it takes, and TensorFlow's values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.nn.rows_losses import cross_entropy, logistic, of_class
from graph.ops.table import Case, Literal, Reject, each

from actorflow import losses
from actorflow.errors import InvalidArgumentError
from actorflow.graph.losses import weighted as broadcasting
from actorflow.losses import Reduction

LABELS = [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
PREDICTIONS = [[0.5, 0.25, 0.125], [0.75, 0.5, 2.0]]
SHARES = [[0.5, 0.25, 0.125], [0.75, 0.5, 0.875]]
BY_ROW = [[1.0], [0.5]]
BY_ELEMENT = [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]
# Computed in float32, so that differences at float64 say nothing, and 16 bits are as exact.
FLOAT = "float32"


def weighted(values: Any, weights: Any, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Any:
    """`compute_weighted_loss` by direct sums."""
    spread = np.broadcast_to(weights, values.shape)
    pairs = list(zip(values.reshape(-1).tolist(), spread.reshape(-1).tolist()))
    if reduction == Reduction.NONE:
        return values * spread
    total = math.fsum(v * w for v, w in pairs)
    count = {
        Reduction.SUM: 1,
        Reduction.MEAN: math.fsum(w for _, w in pairs),
        Reduction.SUM_OVER_BATCH_SIZE: len(pairs),
        Reduction.SUM_BY_NONZERO_WEIGHTS: sum(w != 0 for _, w in pairs),
    }[reduction]
    return np.array(total / count if count else 0.0)


def reference(one: Callable[[float, float], float]) -> Callable[..., Any]:
    def compute(labels: Any, predictions: Any, weights: Any) -> Any:
        return weighted(each(one)(labels, predictions).astype(np.float64), weights)

    return compute


def row(
    build: Callable[..., Any],
    compute: Callable[..., Any],
    literals: list[float],
    *,
    predictions: Any = PREDICTIONS,
    domain: Any = ((0.0, 1.0), (-2.0, 2.0), (0.5, 2.0)),
    note: str = "",
    **more: Any,
) -> Case:
    """A loss of labels, predictions and weights, and TensorFlow's values with none, rows', elements' and no weights."""
    answers = [
        Literal((LABELS, predictions, w), v) for w, v in zip([1.0, BY_ROW, BY_ELEMENT, 0.0], literals, strict=True)
    ]
    return Case(
        "",
        build,
        compute,
        [((2, 3), (2, 3), (2, 3)), ((2, 3), (2, 3), (2, 1)), ((4,), (4,), ()), ((2, 1, 2), (2, 1, 2), (1, 1, 2))],
        answers[0],
        special=answers[1:],
        rejects=[
            Reject(EITHER, ([1.0, 2.0], [1.0, 2.0], [1.0, 2.0, 3.0])),
            Reject(EITHER, (LABELS, PREDICTIONS, [1.0, 2.0, 3.0])),
            Reject(ValueError, ([1.0, 2.0], [[1.0, 2.0]], 1.0)),
        ],
        dtypes=FLOAT,
        domain=domain,
        gradient=None,
        note=note or build.__name__,
        loose=4,
        **more,
    )


def huber(error: float, delta: float) -> float:
    return error**2 / 2 if error <= delta else delta * error - delta**2 / 2


def pairwise(labels: Any, predictions: Any, weights: Any) -> Any:
    """By the differences of each pair of elements within an example."""
    total = 0.0
    for example, weight in zip((predictions - labels).reshape(len(labels), -1).tolist(), weights, strict=True):
        pairs = [(a - b) ** 2 for i, a in enumerate(example) for j, b in enumerate(example) if i != j]
        total += weight * (math.fsum(pairs) / len(pairs) if pairs else 0.0)
    return np.array(total)


ELEMENTS = [
    row(
        losses.absolute_difference,
        reference(lambda t, x: abs(x - t)),
        [0.5208333, 0.375, 0.6666667, 0],
        slopes=[
            Literal(
                (LABELS[:1], PREDICTIONS[:1], 2.0), ([[-2 / 3, 2 / 3, -2 / 3]], [[2 / 3, -2 / 3, 2 / 3]], 0.4583333)
            )
        ],
    ),
    row(
        losses.mean_squared_error,
        reference(lambda t, x: (x - t) ** 2),
        [0.35677084, 0.24739583, 0.53125, 0],
    ),
    row(
        losses.hinge_loss,
        reference(lambda t, x: max(0.0, 1 - (2 * t - 1) * x)),
        [0.8541667, 0.7083333, 1, 0],
    ),
    row(
        losses.huber_loss,
        reference(lambda t, x: huber(abs(x - t), 1.0)),
        [0.17838542, 0.123697914, 0.265625, 0],
    ),
    row(
        losses.log_loss,
        reference(lambda t, x: -t * math.log(x + 1e-7) - (1 - t) * math.log(1 - x + 1e-7)),
        [0.5545554, 0.46169207, 0.5956293, 0],
        predictions=SHARES,
        domain=((0.0, 1.0), (0.1, 0.9), (0.5, 2.0)),
    ),
    row(
        losses.sigmoid_cross_entropy,
        lambda t, x, w: weighted(logistic(t, x).astype(np.float64), w),
        [0.63258195, 0.50859225, 0.73935515, 0],
    ),
]

REDUCED = [
    Case(
        "",
        lambda x, w, r=reduction: losses.compute_weighted_loss(x, w, reduction=r),
        lambda x, w, r=reduction: weighted(x, w, r),
        [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((), ()), ((0, 2), (0, 2)), ((3,), (3,))],
        Literal(([[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.0], [2.0, 1.0]]), answer),
        rejects=[
            Reject(ValueError, ([1.0], 1.0), build=lambda x, w: losses.compute_weighted_loss(x, w, reduction="all"))
        ],
        special=[Literal(([1.0, 2.0], [0.0, 0.0]), [0, 0] if reduction == Reduction.NONE else 0)],
        domain=(0.5, 2.0),
        dtypes=FLOAT,
        gradient=None,
        note=f"compute weighted loss {reduction}",
        loose=4,
    )
    for reduction, answer in (
        (Reduction.NONE, [[0.5, 0], [6, 4]]),
        (Reduction.SUM, 10.5),
        (Reduction.MEAN, 3.0),
        (Reduction.SUM_OVER_BATCH_SIZE, 2.625),
        (Reduction.SUM_BY_NONZERO_WEIGHTS, 3.5),
    )
]

OTHERS = [
    Case(
        "",
        lambda t, x, w: losses.cosine_distance(t, x, axis=1, weights=w),
        lambda t, x, w: weighted(1 - np.einsum("ij,ij->i", t, x)[:, None], w),
        [((2, 3), (2, 3), ()), ((3, 2), (3, 2), (3, 1))],
        Literal((LABELS, PREDICTIONS, 1.0), -0.5),
        special=[Literal((LABELS, PREDICTIONS, BY_ROW), -0.0625)],
        rejects=[
            Reject(ValueError, (LABELS, PREDICTIONS, 1.0), build=lambda t, x, w: losses.cosine_distance(t, x)),
            Reject(
                ValueError, (LABELS, PREDICTIONS, 1.0), build=lambda t, x, w: losses.cosine_distance(t, x, 1, dim=1)
            ),
            Reject(EITHER, (LABELS, PREDICTIONS, [[1.0, 1.0, 1.0]])),
            Reject(ValueError, (LABELS, PREDICTIONS[0], 1.0)),
        ],
        dtypes=FLOAT,
        gradient=None,
        note="cosine distance",
        loose=8,
    ),
    Case(
        "",
        lambda t, x: losses.cosine_distance(t, x, dim=0, weights=[[0.0, 1.0, 2.0]]),
        None,
        [((2, 3), (2, 3))],
        Literal((LABELS, PREDICTIONS), -0.625),
        dtypes=FLOAT,
        gradient=None,
        note="cosine distance along dimension 0",
    ),
    Case(
        "",
        lambda t, x: losses.huber_loss(t, x, delta=0.25),
        lambda t, x: weighted(each(lambda a, b: huber(abs(a - b), 0.25))(t, x).astype(np.float64), 1.0),
        [((2, 3), (2, 3))],
        Literal((LABELS, PREDICTIONS), 0.100260414),
        dtypes=FLOAT,
        gradient=None,
        note="huber loss of another width",
        loose=4,
    ),
    Case(
        "",
        losses.mean_pairwise_squared_error,
        lambda t, x: pairwise(t, x, [1.0] * len(t)),
        [((2, 3), (2, 3)), ((2, 1), (2, 1)), ((2, 2, 2), (2, 2, 2))],
        Literal((LABELS, PREDICTIONS), 1.6145834),
        rejects=[
            Reject(ValueError, ([1.0, 2.0], [[1.0, 2.0]])),
            Reject(
                EITHER, (LABELS, PREDICTIONS), build=lambda t, x: losses.mean_pairwise_squared_error(t, x, [1.0, 2.0])
            ),
        ],
        dtypes=FLOAT,
        gradient=None,
        note="mean pairwise squared error",
        loose=8,
    ),
    Case(
        "",
        losses.mean_pairwise_squared_error,
        lambda t, x, w: pairwise(t, x, w[:, 0].tolist()),
        [((2, 3), (2, 3), (2, 1))],
        Literal((LABELS, PREDICTIONS, BY_ROW), 1.21875),
        special=[Literal((LABELS, PREDICTIONS, BY_ELEMENT), 4.921875), Literal((LABELS, PREDICTIONS, 0.0), 0)],
        dtypes=FLOAT,
        domain=((-1.0, 1.0), (-1.0, 1.0), (0.5, 2.0)),
        gradient=None,
        note="mean pairwise squared error weighted",
        loose=8,
    ),
    Case(
        "",
        losses.softmax_cross_entropy,
        lambda t, x, w: weighted(cross_entropy(t, x), w),
        [((2, 3), (2, 3), (2,)), ((2, 2, 3), (2, 2, 3), ())],
        Literal((LABELS, PREDICTIONS, 1.0), 1.6131848),
        special=[
            Literal((LABELS, PREDICTIONS, [1.0, 0.5]), 1.0947509),
            Literal((LABELS, PREDICTIONS, [0.0, 2.0]), 4.1474714),
            Literal((LABELS, PREDICTIONS, 0.0), 0),
        ],
        rejects=[Reject(ValueError, (LABELS, [[1.0, 2.0]], 1.0)), Reject(EITHER, (LABELS, PREDICTIONS, BY_ROW))],
        dtypes=FLOAT,
        domain=((0.0, 1.0), (-2.0, 2.0), (0.5, 2.0)),
        gradient=None,
        note="softmax cross entropy",
        loose=8,
    ),
    Case(
        "",
        lambda t, x: [
            losses.sigmoid_cross_entropy(t, x, label_smoothing=0.1),
            losses.softmax_cross_entropy(t, x, label_smoothing=0.1),
        ],
        lambda t, x: (
            weighted(logistic(0.9 * t + 0.05, x).astype(np.float64), 1.0),
            weighted(cross_entropy(0.9 * t + 0.1 / 3, x), 1.0),
        ),
        [((2, 3), (2, 3))],
        Literal(([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], PREDICTIONS), (0.9482069, 1.3885009)),
        dtypes=FLOAT,
        domain=((0.0, 1.0), (-2.0, 2.0)),
        gradient=None,
        note="smoothed labels",
        loose=4,
    ),
    Case(
        "",
        lambda t, x, w: losses.sparse_softmax_cross_entropy(t, x, weights=w),
        lambda t, x, w: weighted(of_class(t.reshape(-1), x), w.reshape(-1) if w.size > 1 else w),
        [(i32(0, 2), (2, 3), (2,)), (i32([0], [2]), (2, 3), (2, 1)), (i32(0, 2), (2, 3), ())],
        Literal((i32(0, 2), PREDICTIONS, 1.0), 0.6572509),
        special=[
            Literal((i32([0], [2]), PREDICTIONS, BY_ROW), 0.5542839),
            Literal((i32(0, 2), PREDICTIONS, [[0.0], [2.0]]), 0.8237358),
        ],
        rejects=[Reject(InvalidArgumentError, (i32(0, 3), PREDICTIONS, 1.0))],
        dtypes=FLOAT,
        domain=((0.0, 1.0), (-2.0, 2.0), (0.5, 2.0)),
        gradient=None,
        note="sparse softmax cross entropy",
        loose=4,
    ),
    Case(
        "",
        broadcasting.broadcast_weights,
        lambda w, v: np.broadcast_to(w, v.shape),
        [((), (2, 3)), ((1, 3), (2, 3)), ((2, 3), (2, 3)), ((0, 1), (0, 3))],
        Literal(([[1.0], [2.0]], [[1.0, 1.0], [1.0, 1.0]]), [[1, 1], [2, 2]]),
        rejects=[
            Reject(EITHER, ([1.0, 2.0], [[1.0, 2.0]])),
            Reject(EITHER, ([[1.0], [2.0]], [[1.0, 1.0]])),
            Reject(EITHER, ([1.0, 2.0], 1.0)),
        ],
        note="broadcast weights",
    ),
]

CASES = [*ELEMENTS, *REDUCED, *OTHERS]
