"""Rows of products and convolutions with weights of int8. The references multiply whole numbers of Python's size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.table import Case, Literal, Reject

from actorflow.graph.ops.quantize.int8 import int8_conv2d, int8_matmul

WEIGHTS = np.array([[127, -127, 3], [-60, 0, 1], [25, 90, -128], [1, 2, 3]], np.int8)
SCALES, BIAS = np.float32([0.01, 0.02, 0.5]), np.float32([0.0, -1.0, 2.0])
FILTERS = (np.arange(3 * 2 * 2 * 3).reshape(3, 2, 2, 3) * 37 % 255 - 127).astype(np.int8)
NONE = np.zeros(3, np.float32)


def whole(x: Any, limit: float, signed: bool) -> tuple[Any, Any]:
    """Each row in steps, and its step."""
    x32 = x.astype(np.float32)
    found, sizes = np.zeros(x.shape, np.int64), np.zeros(x.shape[0])
    least, most = (-128, 127) if signed else (0, 255)
    for row, values in enumerate(x32):
        top = np.float32(limit) if limit else np.float32(max([abs(v) if signed else v for v in values.flat] + [0.0]))
        sizes[row] = top / np.float32(most)
        if top:
            steps = [round(float(v * (np.float32(most) / top))) for v in values.reshape(-1)]
            found[row] = np.reshape([min(max(s, least), most) for s in steps], values.shape)
    return found, sizes


def ends(sums: Any, sizes: Any, scales: Any, bias: Any, activation: str) -> Any:
    y = sums * sizes.reshape(-1, *[1] * (sums.ndim - 1)) * scales + bias
    return np.minimum(np.maximum(y, 0), 6 if activation == "Relu6" else np.inf) if activation else y


def product(limit: float = 0.0, signed: bool = True, activation: str = "") -> Callable[..., Any]:
    def reference(a: Any, w: Any, scales: Any, bias: Any) -> Any:
        steps, sizes = whole(a, limit, signed)
        sums = np.array(
            [[sum(p * q for p, q in zip(row, column)) for column in w.T.astype(int)] for row in steps.tolist()]
        )
        return ends(sums.reshape(len(a), w.shape[1]), sizes, scales, bias, activation)

    return reference


def conv(limit: float = 0.0, signed: bool = True, activation: str = "") -> Callable[..., Any]:
    def reference(x: Any, w: Any, scales: Any, bias: Any) -> Any:
        steps, sizes = whole(x, limit, signed)
        (h, b, _, o), (n, height, width, _) = w.shape, x.shape
        padded = np.pad(steps, [(0, 0), ((h - 1) // 2, h // 2), ((b - 1) // 2, b // 2), (0, 0)])
        sums = np.zeros((n, height, width, o), np.int64)
        for i in range(h):
            for j in range(b):
                sums += padded[:, i : i + height, j : j + width] @ w[i, j].astype(np.int64)
        return ends(sums, sizes, scales, bias, activation)

    return reference


def product_row(literal: Literal, note: str, rejects: Any = (), **attrs: Any) -> Case:
    return Case(
        "Int8MatMul",
        lambda *given: int8_matmul(*given, **attrs),
        product(**attrs),
        [
            ((0, 4), WEIGHTS, SCALES, BIAS),
            ((1, 4), WEIGHTS, SCALES, NONE),
            (np.zeros((2, 4), np.float32), WEIGHTS, SCALES, BIAS),
            ((5, 4), WEIGHTS, SCALES, BIAS),
        ],
        literal,
        rejects=rejects,
        dtypes="float32",
        gradient=None,
        note=note,
    )


def conv_row(literal: Literal, note: str, rejects: Any = (), **attrs: Any) -> Case:
    return Case(
        "Int8Conv2D",
        lambda *given: int8_conv2d(*given, strides=[1, 1, 1, 1], padding="SAME", **attrs),
        conv(**attrs),
        [((2, 5, 4, 2), FILTERS, SCALES, BIAS), ((1, 3, 3, 2), FILTERS, SCALES, NONE)],
        literal,
        rejects=rejects,
        dtypes="float32",
        gradient=None,
        note=note,
    )


A = [[1.0, -2.0, 0.5, 0.0]]
RIGHT = (A, WEIGHTS, SCALES, BIAS)
ONE = (np.ones((1, 1, 1, 2), np.float32), WEIGHTS[:2].reshape(1, 1, 2, 3), SCALES, BIAS)


def refused_conv(**attrs: Any) -> Callable[..., Any]:
    return lambda *given: int8_conv2d(*given, **{"strides": [1, 1, 1, 1], "padding": "SAME", **attrs})


CASES = [
    product_row(
        Literal(RIGHT, [[2.605984, -2.6529134, -29.740157]]),
        "measured",
        [
            Reject(ValueError, (A, WEIGHTS[:3], SCALES, BIAS)),
            Reject(ValueError, (A, WEIGHTS, SCALES[:2], BIAS)),
            Reject(ValueError, RIGHT, lambda *given: int8_matmul(*given, activation="Tanh")),
            Reject(ValueError, RIGHT, lambda *given: int8_matmul(*given, limit=-1.0)),
        ],
    ),
    product_row(
        Literal(([[1.0, 0.5, 0.25, 3.0]], WEIGHTS, SCALES, BIAS), [[1.056549, 0.0, 0.0]]),
        "limit, never negative",
        limit=2.0,
        signed=False,
        activation="Relu6",
    ),
    product_row(Literal(RIGHT, [[2.605984, 0.0, 0.0]]), "limit, Relu", limit=2.0, activation="Relu"),
    conv_row(
        Literal(ONE, [[[[0.67, -3.54, 4.0]]]]),
        "measured",
        [
            Reject(ValueError, (ONE[0], FILTERS[..., :1, :], SCALES, BIAS[:2])),
            Reject(ValueError, ONE, refused_conv(activation="Elu")),
            Reject(ValueError, ONE, refused_conv(limit=float("inf"))),
        ],
    ),
    conv_row(Literal(ONE, [[[[0.67, 0.0, 4.0]]]]), "never negative", signed=False, activation="Relu"),
    conv_row(Literal(ONE, [[[[0.67, -3.54, 4.0]]]]), "limit", limit=1.0),
]
