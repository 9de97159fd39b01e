"""Rows of the ops that the pass `fuse` makes. The literals are TensorFlow's answers to the chains that they stand for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from graph.ops.nn.rows_normalization import (
    IMAGES,
    NONE,
    ONE,
    SECOND,
    TRAINED,
    TWO,
    empty,
    normalized,
    normalized_grad,
    parameters,
    shaped,
)
from graph.ops.table import UNARY, Case, Literal, Reject
from graph.ops.windows import Windows, convolved

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.nn import fused

NAN, INF = float("nan"), float("inf")
EITHER = (ValueError, InvalidArgumentError)
A, B, BIAS = [[0.1, -0.2], [0.3, 0.4]], [[5.0, -6.0], [7.0, 8.0]], [0.1, -2.0]
ANSWERS: dict[str, tuple[Callable[[float], float], Any]] = {
    "": (lambda x: x, [[-0.8, -4.2], [4.4, -0.6]]),
    "Relu": (lambda x: max(x, 0.0), [[0.0, 0.0], [4.4, 0.0]]),
    "Relu6": (lambda x: min(max(x, 0.0), 6.0), [[0.0, 0.0], [4.4, 0.0]]),
    "Elu": (
        lambda x: x if x > 0 else math.expm1(x),
        [[-0.5506710410118103, -0.9850044250488281], [4.4, -0.4511883854866028]],
    ),
    "Tanh": (math.tanh, [[-0.6640368103981018, -0.999550461769104], [0.9996985197067261, -0.5370495915412903]]),
    "Sigmoid": (
        lambda x: 1 / (1 + math.exp(-x)),
        [[0.31002554297447205, 0.014774034730911067], [0.9878715872764587, 0.3543436825275421]],
    ),
}


def _itself(x: float) -> float:
    return x


def after(function: Callable[[float], float], y: Any) -> Any:
    return np.vectorize(function, otypes=[float])(y) if y.size else y


def products() -> list[Case]:
    rows = []
    for number, (activation, (function, answer)) in enumerate(ANSWERS.items()):
        first, second = bool(number & 1), bool(number & 2)

        def build(a: Any, b: Any, bias: Any, name: str = activation, x: bool = first, y: bool = second) -> Any:
            return fused.fused_matmul(a, b, bias, transpose_a=x, transpose_b=y, activation=name, name="fused")

        def reference(a: Any, b: Any, bias: Any, f: Any = function, x: bool = first, y: bool = second) -> Any:
            return after(f, np.einsum("ij,jk->ik", a.T if x else a, b.T if y else b) + bias)

        def side(shape: tuple[int, int], transpose: bool) -> tuple[int, int]:
            return shape[::-1] if transpose else shape

        given = (np.transpose(A).tolist() if first else A, np.transpose(B).tolist() if second else B)
        rows.append(
            Case(
                "_FusedMatMul",
                build,
                reference,
                [
                    (side((m, k), first), side((k, n), second), (n,))
                    for m, k, n in ((2, 3, 4), (1, 1, 1), (5, 2, 3), (0, 2, 3), (2, 3, 0))
                ],
                Literal((*given, BIAS), answer),
                special=[
                    Literal(
                        ([[1.0, -2.0], [3.0, 4.0]], [[NAN, 1.0], [1.0, INF]], [1.0, -20.0]), [[NAN, 0.0], [NAN, INF]]
                    )
                ]
                if activation == "Relu" and not first and not second
                else [],
                dtypes="float32 float64",
                gradient=None,
                loose=2,
                note=activation,
                rejects=[
                    Reject(EITHER, (A, [[1.0, 2.0]] if not second else [[1.0], [2.0]], BIAS)),
                    Reject(EITHER, (*given, [1.0, 2.0, 3.0])),
                    Reject(EITHER, (*given, [[1.0, 2.0]])),
                    Reject(EITHER, ([1.0, 2.0], B, BIAS)),
                    Reject(
                        ValueError,
                        (*given, BIAS),
                        lambda a, b, c: fused.fused_matmul(a, b, c, activation="Exp", name="fused"),
                    ),
                ],
            )
        )
    return rows


def sums() -> list[Case]:
    rows = []
    for first, second, note in ((False, False, ""), (True, False, "turned first"), (False, True, "turned second")):

        def build(c: Any, a: Any, b: Any, x: bool = first, y: bool = second) -> Any:
            return fused.add_matmul(c, a, b, transpose_a=x, transpose_b=y, name="fused")

        def reference(c: Any, a: Any, b: Any, x: bool = first, y: bool = second) -> Any:
            return c + np.einsum("ij,jk->ik", a.T if x else a, b.T if y else b)

        def side(shape: tuple[int, int], transpose: bool) -> tuple[int, int]:
            return shape[::-1] if transpose else shape

        given = (np.transpose(A).tolist() if first else A, np.transpose(B).tolist() if second else B)
        rows.append(
            Case(
                "_AddMatMul",
                build,
                reference,
                [
                    ((m, n), side((m, k), first), side((k, n), second))
                    for m, k, n in ((2, 3, 4), (1, 1, 1), (5, 2, 3), (0, 2, 3), (2, 3, 0), (2, 0, 3))
                ],
                Literal(([[1.0, 2.0], [3.0, 4.0]], *given), [[0.1, -0.2], [7.3, 5.4]]),
                dtypes="float32 float64",
                gradient=None,
                loose=2,
                note=note,
                rejects=[
                    Reject(EITHER, (A, A, [[1.0, 2.0]] if not second else [[1.0], [2.0]])),
                    Reject(EITHER, ([[1.0, 2.0]], *given)),
                    Reject(EITHER, (A, [1.0, 2.0], B)),
                ],
            )
        )
    return rows


X: Any = np.arange(9.0).reshape(1, 3, 3, 1).tolist()
X_SMALL: Any = (np.arange(9.0).reshape(1, 3, 3, 1) / 10).tolist()
W = [[[[1.0, -1.0]], [[0.5, 0.25]]], [[[-2.0, 0.5]], [[1.0, 1.0]]]]
CONVOLVED: Any = [
    [[-1.0, -2.25], [-0.5, -1.5], [-7.5, -7.5]],
    [[0.5, 0.0], [1.0, 0.75], [-10.5, -9.0]],
    [[10.0, -12.25], [11.5, -13.0], [8.5, -16.0]],
]
SAME: dict[str, Any] = {"strides": (1, 1, 1, 1), "padding": "SAME"}
STEPPED: dict[str, Any] = {"strides": (1, 2, 1, 1), "padding": "VALID", "dilations": (1, 1, 2, 1)}


def convolutions() -> list[Case]:
    rows = []
    for activation, attrs, literal in (
        ("", SAME, Literal((X, W, [0.5, -8.0]), [CONVOLVED])),
        ("Relu", SAME, Literal((X, W, [0.5, -8.0]), np.maximum([CONVOLVED], 0).tolist())),
        ("Tanh", STEPPED, Literal((X_SMALL, W, [0.5, -0.8]), [[[[0.46211713552474976, -0.09966802597045898]]]])),
    ):
        function = ANSWERS[activation][0]

        def build(x: Any, w: Any, bias: Any, name: str = activation, attrs: dict[str, Any] = attrs) -> Any:
            return fused.fused_conv2d(x, w, bias, **attrs, activation=name, name="fused")

        def reference(x: Any, w: Any, bias: Any, f: Any = function, attrs: dict[str, Any] = attrs) -> Any:
            dilations = attrs.get("dilations", (1, 1, 1, 1))
            windows = Windows(x.shape[1:3], w.shape[:2], attrs["strides"][1:3], dilations[1:3], attrs["padding"])
            return after(f, convolved(x, w, windows) + bias)

        def build_added(
            c: Any, x: Any, w: Any, bias: Any, name: str = activation, attrs: dict[str, Any] = attrs
        ) -> Any:
            return fused.add_fused_conv2d(c, x, w, bias, **attrs, activation=name, name="fused")

        def reference_added(c: Any, *given: Any, f: Any = function, plain: Any = reference) -> Any:
            return after(f, plain(*given, f=_itself) + c)

        def build_each(x: Any, w: Any, bias: Any, name: str = activation, attrs: dict[str, Any] = attrs) -> Any:
            return fused.fused_depthwise_conv2d(x, w, bias, **attrs, activation=name, name="fused")

        def reference_each(x: Any, w: Any, bias: Any, f: Any = function, plain: Any = reference) -> Any:
            each = [plain(x[..., at : at + 1], w[:, :, at : at + 1], 0.0, f=_itself) for at in range(x.shape[3])]
            return after(f, np.concatenate(each, -1) + bias)

        shapes: list[Any] = [
            ((2, 5, 6, 3), (3, 2, 3, 4), (4,)),
            ((1, 3, 4, 1), (2, 2, 1, 2), (2,)),
            ((0, 3, 4, 1), (2, 2, 1, 2), (2,)),
        ]
        rejects = [
            Reject(EITHER, (X, W, [1.0, 2.0, 3.0])),
            Reject(EITHER, (X, W, [[1.0, 2.0]])),
            Reject(EITHER, ([[X[0]]], W, [1.0, 2.0])),
        ]
        common: dict[str, Any] = {"dtypes": "float32 float64", "gradient": None, "loose": 2, "note": activation}
        rows.append(Case("_FusedConv2D", build, reference, shapes, literal, **common, rejects=rejects))
        many = [(x, w, (w[2] * w[3],)) for x, w, _ in shapes]
        rows.append(Case("_FusedDepthwiseConv2d", build_each, reference_each, many, literal, **common, rejects=rejects))
        if attrs is SAME:
            ones = np.ones((1, 3, 3, 2)).tolist()
            rows.append(
                Case(
                    "_AddFusedConv2D",
                    build_added,
                    reference_added,
                    [((*x[:3], w[3]), x, w, bias) for x, w, bias in shapes],
                    Literal((ones, X, W, [-0.5, -9.0]), literal.output),
                    **common,
                    rejects=[
                        Reject(EITHER, ([[[[1.0, 2.0]]]], X, W, [1.0, 2.0])),
                        *(Reject(reject.error, (ones, *reject.inputs)) for reject in rejects),
                    ],
                )
            )
    return rows


def sums_with_bias() -> list[Case]:
    rows = []
    for activation in ("", "Tanh"):
        function = ANSWERS[activation][0]

        def build(c: Any, a: Any, b: Any, bias: Any, name: str = activation) -> Any:
            return fused.add_fused_matmul(c, a, b, bias, activation=name, name="fused")

        def reference(c: Any, a: Any, b: Any, bias: Any, f: Any = function) -> Any:
            return after(f, c + np.einsum("ij,jk->ik", a, b) + bias)

        rows.append(
            Case(
                "_AddFusedMatMul",
                build,
                reference,
                [((m, n), (m, k), (k, n), (n,)) for m, k, n in ((2, 3, 4), (1, 1, 1), (0, 2, 3), (2, 3, 0))],
                Literal(
                    ([[0.5, 4.0], [-4.0, 0.5]], A, B, BIAS),
                    after(function, np.array([[-0.3, -0.2], [0.4, -0.1]])).tolist(),
                ),
                dtypes="float32 float64",
                gradient=None,
                loose=4,
                note=activation,
                rejects=[
                    Reject(EITHER, (A, A, [[1.0, 2.0]], BIAS)),
                    Reject(EITHER, ([[1.0, 2.0]], A, B, BIAS)),
                    Reject(EITHER, (A, A, B, [1.0])),
                ],
            )
        )
    return rows


def _shares(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attentions() -> list[Case]:
    q, k, v = [[[1.0, 0.0]]], [[[1.0, 0.0], [0.0, 1.0]]], [[[1.0, 2.0], [3.0, 4.0]]]
    rows = []
    for note, scale, turned, biased, literal in (
        ("", 1.0, False, False, Literal((q, k, v), [[[1.53788284, 2.53788284]]])),
        ("biased", 2.0, False, True, Literal((q, k, v, [[[-1.0, 1.0]]]), [[[2.0, 3.0]]])),
        ("turned", 1.0, True, True, Literal((q, k, v, [[[0.0, -1e30]]]), [[[1.0, 2.0]]])),
    ):

        def build(q: Any, k: Any, v: Any, *bias: Any, scale: float = scale, turned: bool = turned) -> Any:
            return fused.attention(q, k, v, list(bias), scale=scale, turned=turned, name="fused")

        def reference(q: Any, k: Any, v: Any, *bias: Any, scale: float = scale, turned: bool = turned) -> Any:
            scores = np.einsum("...id,...dj->...ij" if turned else "...id,...jd->...ij", q, k) * scale
            return np.einsum("...ij,...jd->...id", _shares(sum(bias, scores)), v)

        def shapes(outer: Any, rows: int, keys: int, size: int, width: int, *bias: Any, turned: bool = turned) -> Any:
            key = (size, keys) if turned else (keys, size)
            return (*outer, rows, size), (*outer, *key), (*outer, keys, width), *bias

        bias: Any = [((7, 9),), ((2, 1, 7, 9),), ((1, 3, 1, 9),)] if biased else [(), (), ()]
        single: Any = [((2, 5, 1),), ((1, 70, 33),)] if biased else [(), ()]
        rows.append(
            Case(
                "_Attention",
                build,
                reference,
                [
                    *(shapes((2, 3), 7, 9, 4, 16, *some) for some in bias),
                    shapes((2,), 5, 3, 8, 5, *single[0]),
                    shapes((1,), 70, 33, 2, 17, *single[1]),
                    shapes((2, 1), 0, 3, 4, 2, *([(2, 1, 0, 3)] if biased else [])),
                ],
                literal,
                dtypes="float32 float64",
                gradient=None,
                loose=8,
                note=note,
                rejects=[
                    Reject(EITHER, (q, [[[1.0, 0.0, 0.0]]], v, *literal.inputs[3:])),
                    Reject(EITHER, (q, k, [v], *literal.inputs[3:])),
                    Reject(EITHER, (q[0], k[0], v[0], *literal.inputs[3:])),
                ],
            )
        )
    return rows


def normalizations() -> list[Case]:
    """Batch normalizations with an activation behind them, and their gradients: the literals are TensorFlow's answers to the ops
    without one, with the activation applied."""
    rows = []
    for activation in ("Relu", "Relu6"):
        function = ANSWERS[activation][0]

        def build(*given: Any, name: str = activation) -> Any:
            return fused.fused_batch_norm(*given, activation=name, name="fused")

        def reference(*given: Any, f: Any = function) -> Any:
            y, *moments = normalized(*given)
            return after(f, y), *moments

        def build_grad(dy: Any, x: Any, scale: Any, name: str = activation) -> Any:
            y, _, _, mean, variance, rest = fused.fused_batch_norm(
                x, scale, 0 * scale, scale[:0], scale[:0], activation=name, name="forward"
            )
            return fused.fused_batch_norm_grad(dy, x, scale, mean, variance, rest, y, activation=name, name="fused")

        def reference_grad(
            dy: Any, x: Any, scale: Any, most: float = 6.0 if activation == "Relu6" else math.inf
        ) -> Any:
            y = normalized(x, scale, 0 * scale, None, None)[0]
            return normalized_grad(dy * ((y > 0) & (y < most)), x, scale)

        rows += [
            Case(
                "_FusedBatchNorm",
                build,
                reference,
                [((2, 2, 3, 2), parameters(2, 1.0), parameters(2, 0.0), empty, empty)],
                Literal(
                    (IMAGES, TWO, ONE, NONE, NONE),
                    (np.maximum(TRAINED, 0).tolist(), [2.75], [2.9166667], [2.75], [2.1875], 0.0),
                ),
                dtypes="float32 float64",
                gradient=None,
                loose=4,
                note=activation,
                rejects=[
                    Reject(EITHER, (np.ones((1, 1, 1, 2), np.float32), ONE, ONE, NONE, NONE)),
                    Reject(
                        ValueError,
                        (np.ones((1, 1, 1, 1), np.float32), ONE, ONE, NONE, NONE),
                        lambda *given: fused.fused_batch_norm(*given, activation="Tanh", name="fused"),
                    ),
                ],
            ),
            Case(
                "_FusedBatchNormGrad",
                build_grad,
                reference_grad,
                [((2, 2, 2, 2), (2, 2, 2, 2), parameters(2, 1.0))],
                Literal(
                    (SECOND, IMAGES, TWO),
                    (shaped([-0.8113079, -0.54087704, 2.4339855, -1.0818006], 2, 1, 2, 1), [-1.1831889], [1.0], [], []),
                ),
                dtypes="float32 float64",
                gradient=None,
                loose=8,
                note=activation,
                rejects=[Reject(EITHER, (np.ones((1, 1, 1, 1), np.float32), IMAGES, TWO))],
            ),
        ]
    return rows


POINTS = [-3.0, -1.0, -0.0, 0.5, 2.0, 20.0, -20.0]
SMOOTH: dict[str, tuple[Any, Callable[[float], float], list[float]]] = {
    "_Gelu": (
        fused.gelu,
        lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
        [-0.0040496940948904, -0.158655253931457, 0.0, 0.345731230637, 1.954499736104, 20.0, 0.0],
    ),
    "_GeluTanh": (
        fused.gelu_tanh,
        lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        [-0.00363739, -0.15880801, 0.0, 0.34571401, 1.95459769, 20.0, 0.0],
    ),
    "_Swish": (
        fused.swish,
        lambda x: x / (1 + math.exp(-x)),
        [-0.14227762, -0.26894142, 0.0, 0.31122967, 1.76159416, 20.0, -4.1223073e-08],
    ),
}
"""Functions of one element, and the values of `tf.nn.gelu` and `tf.nn.silu` at `POINTS`."""


def smooth() -> list[Case]:
    return [
        Case(
            op,
            lambda x, f=build: f(x, name="fused"),
            lambda x, f=function: after(f, x),
            UNARY,
            Literal((POINTS,), answer),
            special=[Literal(([NAN, INF],), [NAN, INF])],
            dtypes="float32 float64",
            domain=(-8.0, 8.0),
            gradient=None,
            loose=8,
        )
        for op, (build, function, answer) in SMOOTH.items()
    ]


def _standard(x: Any, scale: Any, offset: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.25) * scale + offset


def _by_root(x: Any, scale: Any) -> Any:
    return x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 0.25) * scale


def standardized() -> list[Case]:
    x, scale, offset = [[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]], [1.0, 2.0, -1.0], [0.5, 0.0, 1.0]
    shapes: Any = [((2, 3, 4), (4,)), ((5, 33), (33,)), ((1, 1), (1,)), ((0, 3), (3,))]
    refused = [Reject(EITHER, (x, [1.0, 2.0], offset)), Reject(EITHER, (x, [scale], offset))]
    rows = []
    for op, build, reference, given, answer in (
        (
            "_LayerNorm",
            lambda x, scale, offset: fused.layer_norm(x, scale, offset, epsilon=0.25, name="fused"),
            _standard,
            (x, scale, offset),
            [[-0.54446393, 0.0, -0.04446393], [-0.54446393, 0.0, -0.04446393]],
        ),
        (
            "_RmsNorm",
            lambda x, scale: fused.rms_norm(x, scale, epsilon=0.25, name="fused"),
            _by_root,
            (x, scale),
            [[0.45104035, 1.8041614, -1.353121], [-1.0444659, 0.0, -1.0444659]],
        ),
    ):
        count = len(given) - 1
        rows.append(
            Case(
                op,
                build,
                reference,
                [(shape, *[vector] * count) for shape, vector in shapes],
                Literal(given, answer),
                dtypes="float32 float64",
                gradient=None,
                loose=8,
                rejects=[replace(reject, inputs=reject.inputs[: count + 1]) for reject in refused],
            )
        )
    return rows


def _normal_rows(x: Any) -> tuple[Any, Any]:
    inverse = 1 / np.sqrt(x.var(-1, keepdims=True) + 0.25)
    return (x - x.mean(-1, keepdims=True)) * inverse, inverse


def _slopes_of_rows(dy: Any, x: Any, scale: Any) -> Any:
    normal, inverse = _normal_rows(x)
    slopes = dy * scale
    slanted = normal * (slopes * normal).mean(-1, keepdims=True)
    return (slopes - slopes.mean(-1, keepdims=True) - slanted) * inverse


def _slopes_of_scale(dy: Any, x: Any) -> Any:
    return (dy * _normal_rows(x)[0]).reshape(-1, x.shape[-1]).sum(0)


def slopes_of_rows() -> list[Case]:
    x, dy, scale = [[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [1.0, 2.0, -1.0]
    shapes: Any = [
        ((2, 3, 4), (2, 3, 4), (4,)),
        ((5, 33), (5, 33), (33,)),
        ((1, 1), (1, 1), (1,)),
        ((2, 70), (2, 70), (70,)),
        ((6,), (6,), (6,)),
    ]
    return [
        Case(
            "_LayerNormGrad",
            lambda dy, x, scale: fused.layer_norm_grad(dy, x, scale, epsilon=0.25, name="fused"),
            _slopes_of_rows,
            shapes,
            Literal((dy, x, scale), _slopes_of_rows(*map(np.array, (dy, x, scale))).tolist()),
            dtypes="float32 float64",
            gradient=None,
            loose=16,
            rejects=[
                Reject(EITHER, (dy, x, [1.0, 2.0])),
                Reject(EITHER, (dy, x, [scale])),
                Reject(EITHER, (1.0, 1.0, scale)),
            ],
        ),
        Case(
            "_LayerNormScaleGrad",
            lambda dy, x: fused.layer_norm_scale_grad(dy, x, epsilon=0.25, name="fused"),
            _slopes_of_scale,
            [shape[:2] for shape in shapes],
            Literal((dy, x), [-1.0444659, 0.0, 0.0]),
            dtypes="float32 float64",
            gradient=None,
            loose=16,
            rejects=[Reject(EITHER, (dy, [[1.0, 2.0]])), Reject(EITHER, (1.0, 1.0))],
        ),
    ]


def _slopes_of_shares(dy: Any, y: Any) -> Any:
    return (dy - (dy * y).sum(-1, keepdims=True)) * y * 0.25


def slopes_of_shares() -> list[Case]:
    dy, y = [[1.0, 0.0, 2.0], [0.0, 2.0, -1.0]], [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]
    return [
        Case(
            "_SoftmaxGrad",
            lambda dy, y: fused.softmax_grad(dy, y, scale=0.25, name="fused"),
            _slopes_of_shares,
            [((2, 3, 4),) * 2, ((5, 33),) * 2, ((1, 1),) * 2, ((2, 70),) * 2, ((6,),) * 2],
            Literal((dy, y), [[0.0, -0.0625, 0.0625], [-0.046875, 0.15625, -0.109375]]),
            dtypes="float32 float64",
            gradient=None,
            loose=16,
            rejects=[Reject(EITHER, (dy, [[1.0, 2.0]])), Reject(ValueError, (1.0, 1.0))],
        )
    ]


def rotations() -> list[Case]:
    def reference(x: Any, cosines: Any, sines: Any) -> Any:
        half = x.shape[-1] // 2
        return x * cosines + np.concatenate([-x[..., half:], x[..., :half]], -1) * sines

    return [
        Case(
            "_Rotary",
            lambda x, cosines, sines: fused.rotary(x, cosines, sines, name="fused"),
            reference,
            [
                ((2, 3, 5, 8), (1, 1, 5, 8), (2, 1, 5, 8)),
                ((1, 2, 3, 34), (3, 34), (3, 34)),
                ((3, 4), (4,), (3, 1)),
                ((0, 2, 3, 4), (3, 4), (1, 1, 3, 4)),
            ],
            Literal(([[1.0, 2.0, 3.0, 4.0]], [2.0, 2.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.5]), [[-1.0, 4.0, 4.0, 1.0]]),
            dtypes="float32 float64",
            gradient=None,
            rejects=[
                Reject(EITHER, ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0])),
                Reject(InvalidArgumentError, ([1.0, 2.0], [[1.0, 1.0]], [1.0, 1.0])),
            ],
        )
    ]


def padded_pools() -> list[Case]:
    attrs: dict[str, Any] = {"ksize": (1, 3, 2, 1), "strides": (1, 2, 1, 1), "pads": (0, 0, 1, 2, 0, 1, 0, 0)}

    def reference(x: Any) -> Any:
        windows = Windows(x.shape[1:3], (3, 2), (2, 1), (1, 1), "EXPLICIT", ((1, 2), (0, 1)))
        y = np.full((len(x), *windows.places, x.shape[3]), -np.inf, x.dtype)
        for place, pairs in windows:
            for _, at in pairs:
                y[:, *place] = np.maximum(y[:, *place], x[:, *at])
        return y

    literal = Literal(([[[[1.0], [-2.0]], [[3.0], [4.0]]]],), [[[[4.0], [4.0]], [[4.0], [4.0]]]])
    return [
        Case(
            "_PaddedMaxPool",
            lambda x: fused.padded_max_pool(x, **attrs, name="fused"),
            reference,
            [((2, 5, 6, 3),), ((1, 4, 3, 17),), ((0, 4, 3, 1),)],
            literal,
            dtypes="float32 float64",
            gradient=None,
            rejects=[Reject(EITHER, ([[1.0]],)), Reject(EITHER, (np.ones((1, 2, 0, 1)).tolist(),))],
        )
    ]


CASES = [
    *rotations(),
    *padded_pools(),
    *products(),
    *sums(),
    *sums_with_bias(),
    *convolutions(),
    *normalizations(),
    *smooth(),
    *standardized(),
    *slopes_of_rows(),
    *slopes_of_shares(),
    *attentions(),
]
