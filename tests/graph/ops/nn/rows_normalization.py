"""Rows of normalization across channels and over batches, and of moments in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER
from graph.ops.table import FLOATS, Array, Case, Literal, Reject

from actorflow.graph.ops.nn import moments as am
from actorflow.graph.ops.nn import normalization as af

WIDE = "float32 float64"
THREE = [[[[1.0, 2.0, 3.0]]]]
NORMED = [[[[0.390794962644577, 0.4204482138156891, 0.6619501113891602]]]]
LRN: dict[str, Any] = {"depth_radius": 1, "bias": 1.0, "alpha": 0.5, "beta": 0.75}


def shaped(values: Any, *shape: int) -> Any:
    return np.reshape(values, shape).tolist()


def norms(x: Any, radius: int, bias: float, alpha: float) -> Any:
    found: Array = np.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        c = index[-1]
        near = range(max(0, c - radius), min(x.shape[-1], c + radius + 1))
        found[index] = bias + alpha * sum(x[(*index[:-1], k)] ** 2 for k in near)
    return found


def lrn(x: Any) -> Any:
    return x / norms(x, 1, 1.0, 0.5) ** 0.75


def lrn_grad(dy: Any, x: Any) -> Any:
    """By the Jacobian, element by element."""
    norm, y = norms(x, 1, 1.0, 0.5), lrn(x)
    dx: Array = np.zeros(x.shape)
    for index in np.ndindex(*x.shape):
        *place, c = index
        for k in range(x.shape[-1]):
            at = (*place, k)
            if k == c:
                dx[index] += dy[at] * norm[at] ** -0.75
            if abs(k - c) <= 1:
                dx[index] -= dy[at] * y[at] / norm[at] * 2 * 0.5 * 0.75 * x[index]
    return dx


# ---- over batches

IMAGES = shaped([1, 2, 3, 5], 2, 1, 2, 1)
TRAINED = shaped([-1.3663778, -0.01416194, 1.338054, 4.0424857], 2, 1, 2, 1)
NONE: Array = np.zeros(0, np.float32)


def flat(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])


def normalized(
    x: Any, scale: Any, offset: Any, mean: Any, variance: Any, training: bool = True, epsilon: float = 1e-4
) -> Any:
    rows = flat(x)
    if training:
        mean = np.array([sum(column) / len(column) for column in rows.T])
        variance = np.array([sum((v - m) ** 2 for v in column) / len(column) for column, m in zip(rows.T, mean)])
    y = np.array([(row - mean) / np.sqrt(variance + epsilon) * scale + offset for row in rows]).reshape(x.shape)
    unbiased = variance * len(rows) / (len(rows) - 1) if training else variance
    return y, mean, unbiased, mean, variance, 0.0


def first(x: Any, *more: Any) -> Any:
    y, *others = normalized(np.moveaxis(x, 1, -1), *more)
    return np.moveaxis(y, -1, 1), *others


def normalized_grad(dy: Any, x: Any, scale: Any, training: bool = True, epsilon: float = 1e-4) -> Any:
    """By the Jacobian of each channel."""
    rows, slopes = flat(x), flat(dy)
    count = len(rows)
    dx: Array = np.zeros(rows.shape)
    dscale: Array = np.zeros(len(scale))
    for c in range(len(scale)):
        mean, variance = (rows[:, c].mean(), rows[:, c].var()) if training else (1.0, 4.0)
        root = np.sqrt(variance + epsilon)
        centred = (rows[:, c] - mean) / root
        dscale[c] = sum(slopes[:, c] * centred)
        for i in range(count):
            for j in range(count):
                moved = (1.0 / count + centred[i] * centred[j] / count) if training else 0.0
                dx[i, c] += slopes[j, c] * scale[c] / root * (float(i == j) - moved)
    return dx.reshape(x.shape), dscale, slopes.sum(0), np.zeros(0), np.zeros(0)


def grad_of_batch(dy: Any, x: Any, scale: Any, **attrs: Any) -> Any:
    """The op on the moments that the forward op gives."""
    none = scale[:0]
    _, _, _, mean, variance, rest = af.fused_batch_norm_op(x, scale, scale, none, none, **attrs)
    return af.fused_batch_norm_grad(dy, x, scale, mean, variance, rest, **attrs)


def vectors(scale: Any) -> Any:
    return scale * 0 + 1, scale * 0 + 4


def inferred_grad(dy: Any, x: Any, scale: Any) -> Any:
    return af.fused_batch_norm_grad(dy, x, scale, *vectors(scale), 0 * scale[0], is_training=False)


def parameters(count: int, value: float) -> Any:
    """An entry of numbers around `value`, of a type that parameters have."""

    def entry(rng: np.random.Generator, dtype: Any) -> Any:
        return (value + rng.uniform(-0.5, 0.5, count)).astype(np.float64 if dtype.name == "float64" else np.float32)

    return entry


def empty(rng: np.random.Generator, dtype: Any) -> Any:
    return np.zeros(0, np.float64 if dtype.name == "float64" else np.float32)


ONE: Array = np.array([1.0], np.float32)
TWO: Array = np.array([2.0], np.float32)
SECOND = shaped([1, 0, 2, -1], 2, 1, 2, 1)
CHANNELS: Array = np.ones(2, np.float32)
BATCH = [
    Case(
        "FusedBatchNormV3",
        af.fused_batch_norm_op,
        normalized,
        [((2, 2, 3, 2), parameters(2, 1.0), parameters(2, 0.0), empty, empty)],
        Literal((IMAGES, TWO, ONE, NONE, NONE), (TRAINED, [2.75], [2.9166667], [2.75], [2.1875], 0.0)),
        special=[Literal(([[[[1.0]]]], TWO, ONE, NONE, NONE), ([[[[1.0]]]], [1.0], [0.0], [1.0], [0.0], 0.0))],
        dtypes=FLOATS,
        gradient=None,
        loose=4,
        rejects=[
            Reject(EITHER, (np.ones((1, 1, 1, 2), np.float32), ONE, ONE, NONE, NONE)),
            Reject(EITHER, (np.ones((1, 1, 1), np.float32), ONE, ONE, NONE, NONE)),
            Reject(EITHER, (np.ones((1, 1, 1, 1), np.float32), ONE, CHANNELS, NONE, NONE)),
            Reject(TypeError, (np.ones((1, 1, 1, 1), np.float32), np.ones(1, np.int32), ONE, NONE, NONE)),
            Reject(
                ValueError,
                (np.ones((1, 1, 1, 1), np.float32), ONE, ONE, NONE, NONE),
                lambda *given: af.fused_batch_norm_op(*given, data_format="NWC"),
            ),
        ],
    ),
    Case(
        "FusedBatchNormV3",
        lambda *given: af.fused_batch_norm_op(*given, data_format="NCHW"),
        first,
        [((2, 2, 2, 3), parameters(2, 1.0), parameters(2, 0.0), empty, empty)],
        Literal(
            (shaped([1, 2, 3, 5], 2, 1, 1, 2), TWO, ONE, NONE, NONE),
            (shaped(TRAINED, 2, 1, 1, 2), [2.75], [2.9166667], [2.75], [2.1875], 0.0),
        ),
        dtypes=WIDE,
        gradient=None,
        loose=4,
        note="channels first",
    ),
    Case(
        "FusedBatchNormV3",
        lambda *given: af.fused_batch_norm_op(*given, is_training=False),
        lambda *given: normalized(*given, training=False),
        [((2, 2, 3, 2), parameters(2, 1.0), parameters(2, 0.0), parameters(2, 0.0), parameters(2, 2.0))],
        Literal(
            (IMAGES, TWO, ONE, ONE, 4 * ONE),
            (shaped([1, 1.9999875, 2.999975, 4.99995], 2, 1, 2, 1), [1.0], [4.0], [1.0], [4.0], 0.0),
        ),
        dtypes=FLOATS,
        gradient=None,
        loose=4,
        note="inference",
        rejects=[Reject(EITHER, (IMAGES, TWO, ONE, ONE, NONE))],
    ),
    *[
        Case(
            "",
            lambda x, scale, offset, data_format=data_format: af.fused_batch_norm(
                x, scale, offset, data_format=data_format
            )[0],
            None,
            [((2, 2, 3, 2) if data_format == "NHWC" else (2, 2, 2, 3), parameters(2, 1.0), parameters(2, 0.0))],
            Literal(
                (shaped([1, 2, 3, 5], *shape), TWO, ONE),
                shaped([-1.3658912, -0.01395345, 1.3379844, 4.0418606], *shape),
            ),
            dtypes=WIDE,
            loose=4,
            note=f"fused_batch_norm {data_format}",
            rejects=[
                Reject(
                    ValueError, (IMAGES, TWO, ONE), lambda x, s, o: af.fused_batch_norm(x, s, o, is_training=False)[0]
                )
            ],
        )
        for data_format, shape in (("NHWC", (2, 1, 2, 1)), ("NCHW", (2, 1, 1, 2)))
    ],
    Case(
        "",
        lambda x, scale, offset, mean, variance: af.fused_batch_norm(
            x, scale, offset, mean, variance, is_training=False
        )[0],
        lambda *given: normalized(*given, training=False, epsilon=1e-3)[0],
        [((1, 2, 3, 2), parameters(2, 1.0), parameters(2, 0.0), parameters(2, 0.0), parameters(2, 2.0))],
        Literal((IMAGES, TWO, ONE, ONE, 4 * ONE), shaped([1, 1.999875, 2.99975, 4.9995], 2, 1, 2, 1)),
        dtypes=WIDE,
        gradient=None,
        loose=4,
        note="fused_batch_norm of inference",
    ),
    Case(
        "FusedBatchNormGradV3",
        grad_of_batch,
        normalized_grad,
        [((2, 2, 2, 2), (2, 2, 2, 2), parameters(2, 1.0))],
        Literal(
            (SECOND, IMAGES, TWO),
            (shaped([-0.27039987, -1.0817541, 2.1635392, -0.81138515], 2, 1, 2, 1), [-2.3663778], [2.0], [], []),
        ),
        dtypes=WIDE,
        gradient=1,
        loose=8,
        rejects=[Reject(EITHER, (shaped([1.0], 1, 1, 1, 1), IMAGES, TWO))],
    ),
    Case(
        "FusedBatchNormGradV3",
        inferred_grad,
        lambda dy, x, scale: normalized_grad(dy, x, scale, training=False),
        [((2, 2, 2, 2), (2, 2, 2, 2), parameters(2, 1.0))],
        Literal(
            (SECOND, IMAGES, TWO), (shaped([0.9999875, 0, 1.999975, -0.9999875], 2, 1, 2, 1), [0.0], [2.0], [], [])
        ),
        dtypes=FLOATS,
        gradient=1,
        loose=8,
        note="inference",
    ),
]

# ---- moments

PAIRS = [[1.0, 2.0], [3.0, 5.0]]


def statistics(x: Any, shift: Any) -> Any:
    return (
        float(len(x)),
        np.array([sum(v - shift for v in column) for column in x.T]),
        np.array([sum((v - shift) ** 2 for v in column) for column in x.T]),
        shift,
    )


def weighted(x: Any, w: Any) -> Any:
    total = np.array([sum(w[i, 0] for i in range(len(x))) for _ in x.T])
    mean = np.array([sum(w[i, 0] * x[i, j] for i in range(len(x))) for j in range(x.shape[1])]) / total
    spread = [sum(w[i, 0] * (x[i, j] - mean[j]) ** 2 for i in range(len(x))) for j in range(x.shape[1])]
    return mean, np.array(spread) / total


def global_norm(x: Any, m: Any, v: Any, beta: Any, gamma: Any, scaled: bool) -> Any:
    return (x - m) / (v + 0.1) ** 0.5 * (gamma if scaled else 1) + beta


MOMENTS = [
    Case(
        "",
        lambda x, shift: am.sufficient_statistics(x, [0], shift),
        statistics,
        [((3, 2), ())],
        Literal((PAIRS, 1.0), (2.0, [2.0, 5.0], [4.0, 17.0], 1.0)),
        dtypes=WIDE,
        note="sufficient_statistics",
    ),
    Case(
        "",
        lambda x: am.sufficient_statistics(x, [0], keepdims=True)[:3],
        lambda x: tuple(np.reshape(v, (1, -1)) if np.ndim(v) else v for v in statistics(x, 0.0)[:3]),
        [((3, 2),)],
        Literal((PAIRS,), (2.0, [[4.0, 7.0]], [[10.0, 29.0]])),
        dtypes=WIDE,
        note="sufficient_statistics without a shift",
    ),
    Case(
        "",
        lambda count, sums, squares: [
            *am.normalize_moments(count, sums, squares, None),
            *am.normalize_moments(count, sums, squares, 1.0),
        ],
        lambda count, sums, squares: (
            sums / count,
            squares / count - (sums / count) ** 2,
            sums / count + 1,
            squares / count - (sums / count) ** 2,
        ),
        [((), (3,), (3,))],
        Literal((2.0, [4.0, 7.0], [10.0, 27.0]), ([2.0, 3.5], [1.0, 1.25], [3.0, 4.5], [1.0, 1.25])),
        dtypes=WIDE,
        domain=(1.0, 3.0),
        note="normalize_moments",
    ),
    Case(
        "",
        lambda x, w: am.weighted_moments(x, [0], w),
        weighted,
        [((3, 2), (3, 1))],
        Literal((PAIRS, [[1.0], [3.0]]), ([2.5, 4.25], [0.75, 1.6875])),
        dtypes="float16 float32 float64",
        domain=((-2.0, 2.0), (0.5, 2.0)),
        note="weighted_moments",
        rejects=[Reject(ValueError, (PAIRS, [[1.0], [2.0], [3.0]]))],
    ),
    Case(
        "",
        lambda x, w: am.weighted_moments(x, [1], w, keepdims=True),
        lambda x, w: tuple(np.reshape(v, (-1, 1)) for v in (x.mean(1), x.var(1))),
        [((3, 2), (3, 1))],
        Literal((PAIRS, [[1.0], [3.0]]), ([[1.5], [4.0]], [[0.25], [1.0]])),
        dtypes=WIDE,
        domain=((-2.0, 2.0), (0.5, 2.0)),
        note="weighted_moments keeping dimensions",
    ),
    *[
        Case(
            "",
            lambda *given, scaled=scaled: am.batch_norm_with_global_normalization(*given, 0.1, scaled),
            lambda *given, scaled=scaled: global_norm(*given, scaled),
            [((1, 2, 2, 2), (2,), (2,), (2,), (2,))],
            Literal((shaped([1, 2, 4, 5], 1, 2, 2, 1), [1.0], [3.9], [0.5], [2.0]), shaped(answer, 1, 2, 2, 1)),
            dtypes=WIDE,
            domain=((-2.0, 2.0), (-1.0, 1.0), (0.5, 2.0), (-1.0, 1.0), (0.5, 2.0)),
            note=f"batch_norm_with_global_normalization {'scaled' * scaled}",
            rejects=[Reject(ValueError, (PAIRS,), lambda x: am.batch_norm_with_global_normalization(x))],
        )
        for scaled, answer in ((True, [0.5, 1.5, 3.5, 4.5]), (False, [0.5, 1, 2, 2.5]))
    ],
]

CASES = [
    Case(
        "LRN",
        lambda x: af.local_response_normalization(x, **LRN),
        lrn,
        [((2, 2, 1, 4),), ((1, 1, 1, 1),), ((0, 1, 1, 3),)],
        Literal((THREE,), NORMED),
        dtypes=FLOATS,
        gradient=1,
        loose=4,
        rejects=[Reject(EITHER, ([[1.0]],)), Reject(TypeError, (np.ones((1, 1, 1, 1), np.int32),))],
    ),
    Case(
        "LRNGrad",
        lambda dy, x: af.lrn_grad(dy, x, af.local_response_normalization(x, **LRN), **LRN),
        lrn_grad,
        [((2, 2, 1, 4), (2, 2, 1, 4))],
        Literal(([[[[1.0, 0.0, 2.0]]]], THREE), [[[[0.307053, -0.432264, 0.04413]]]]),
        dtypes=WIDE,
        gradient=None,
        loose=4,
        rejects=[Reject(EITHER, ([[[[1.0]]]], THREE))],
    ),
    Case(
        "",
        af.local_response_normalization,
        lambda x: x / norms(x, 5, 1.0, 1.0) ** 0.5,
        [((1, 2, 1, 8),)],
        Literal((shaped([1, 2, 3], 1, 1, 3, 1),), shaped([0.707107, 0.894427, 0.948683], 1, 1, 3, 1)),
        dtypes=WIDE,
        gradient=1,
        note="local_response_normalization",
    ),
    *BATCH,
    *MOMENTS,
]
