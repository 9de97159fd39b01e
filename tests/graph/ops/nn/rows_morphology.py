"""Rows of grey-scale dilation and erosion."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER
from graph.ops.table import FLOATS, INTS, Case, Literal, Reject
from graph.ops.windows import Windows

from actorflow import nn
from actorflow.graph.ops.nn.conv import morphology

X = np.array([0.1, 0.5, -1, 0.3, 0.2, 2, 0, 4, 1], np.float32).reshape(1, 3, 3, 1)
W = np.array([0.4, 0.3, 0.1, 0], np.float32).reshape(2, 2, 1)
SLOPES = np.ones((1, 3, 3, 1), np.float32)
LOW = float(np.finfo(np.float32).min)
NAN, INF = float("nan"), float("inf")


def shaped(*values: float, sizes: tuple[int, ...]) -> Any:
    return np.reshape(values, sizes).tolist()


class Moves:
    """Attributes of a dilation, for the op and for the references."""

    def __init__(self, padding: str, stride: tuple[int, int] = (1, 1), rate: tuple[int, int] = (1, 1)) -> None:
        self.padding, self.stride, self.rate = padding, stride, rate
        self.attrs: dict[str, Any] = {"strides": (1, *stride, 1), "rates": (1, *rate, 1), "padding": padding}

    def _windows(self, x: Any, w: Any) -> Windows:
        return Windows(x.shape[1:3], w.shape[:2], self.stride, self.rate, self.padding)

    def dilated(self, x: Any, w: Any) -> Any:
        windows = self._windows(x, w)
        y = np.zeros((len(x), *windows.places, x.shape[3]), x.dtype)
        for place, pairs in windows:
            for n, c in np.ndindex(len(x), x.shape[3]):
                y[(n, *place, c)] = max(x[(n, *at, c)] + w[(*k, c)] for k, at in pairs)
        return y

    def eroded(self, x: Any, w: Any) -> Any:
        return -self.dilated(-x, w[::-1, ::-1])

    def to_both(self, x: Any, w: Any, dy: Any) -> Any:
        windows = self._windows(x, w)
        dx, dw = np.zeros_like(x), np.zeros_like(w)
        for place, pairs in windows:
            for n, c in np.ndindex(len(x), x.shape[3]):
                k, at = max(pairs, key=lambda pair: x[(n, *pair[1], c)] + w[(*pair[0], c)])
                dx[(n, *at, c)] += dy[(n, *place, c)]
                dw[(*k, c)] += dy[(n, *place, c)]
        return dx, dw

    def output(self, images: tuple[int, ...], window: tuple[int, ...]) -> tuple[int, ...]:
        return (images[0], *self._windows(np.zeros(images), np.zeros(window)).places, images[3])


SAME, VALID = Moves("SAME"), Moves("VALID")
STRIDED, SPREAD, BOTH = Moves("SAME", (2, 2)), Moves("SAME", rate=(2, 2)), Moves("VALID", (1, 2), (2, 3))
IMAGES, WINDOW = (2, 5, 6, 3), (3, 2, 3)


def far(*shape: int, step: float = 0.25) -> Any:
    """An entry of numbers so far from each other, and from each other's sums with the filter's, that none changes places."""
    return lambda rng, dtype: np.asarray(rng.permutation(int(np.prod(shape))).reshape(shape) * step, dtype.numpy_dtype)


def refused(x: Any, w: Any, **changed: Any) -> Reject:
    return Reject(EITHER, (x, w), lambda *given: morphology.dilation2d_op(*given, **{**SAME.attrs, **changed}))


CASES = [
    Case(
        "Dilation2D",
        lambda x, w: morphology.dilation2d_op(x, w, **SAME.attrs),
        SAME.dilated,
        [(far(2, 3, 4, 2), far(2, 2, 2, step=0.03125)), (far(1, 2, 2, 1, step=1), far(1, 1, 1))],
        Literal((X, W), shaped(0.8, 2, 2.1, 4, 4.1, 2.4, 4.3, 4.4, 1.4, sizes=(1, 3, 3, 1))),
        special=[
            Literal(([[[[NAN], [-INF], [INF]]]], [[[0.0]]]), [[[[LOW], [LOW], [INF]]]]),
            Literal((np.int32([[[[1], [2]]]]), np.int32([[[3]]])), np.int32([[[[4], [5]]]])),
        ],
        slopes=[
            Literal(
                (X.tolist(), W.tolist()),
                (shaped(0, 1, 0, 0, 0, 3, 0, 4, 1, sizes=X.shape), shaped(3, 2, 2, 2, sizes=W.shape)),
            ),
            # Of several largest sums the first has the gradient, and so it is where none is larger than the lowest number.
            Literal(
                (np.ones((1, 2, 2, 1)).tolist(), (0 * W).tolist()),
                (shaped(1, 1, 1, 1, sizes=(1, 2, 2, 1)), shaped(4, 0, 0, 0, sizes=W.shape)),
            ),
            Literal(([[[[NAN], [-INF]]]], [[[0.0]]]), (shaped(1, 1, sizes=(1, 1, 2, 1)), shaped(2, sizes=(1, 1, 1)))),
        ],
        rejects=[
            refused(X.tolist(), np.zeros((2, 2, 2)).tolist()),
            refused(X.tolist(), np.zeros((4, 1, 1)).tolist(), padding="VALID"),
            refused(X[0].tolist(), W.tolist()),
            refused(X.tolist(), X.tolist()),
            *(
                Reject(ValueError, (X, W), lambda *given, a=a: morphology.dilation2d_op(*given, **{**SAME.attrs, **a}))
                for a in (
                    {"strides": (1, 0, 1, 1)},
                    {"strides": (2, 1, 1, 1)},
                    {"strides": (1, 1, 1, 2)},
                    {"rates": (1, 1)},
                    {"rates": (1, 1, 1, 2)},
                    {"padding": "EXPLICIT"},
                )
            ),
            Reject(ValueError, (X, W), lambda x, w: nn.dilation2d(x, w)),
            Reject(ValueError, (X, W), lambda x, w: nn.dilation2d(x, w, [1] * 4, None, "SAME")),
        ],
        dtypes=f"{FLOATS} {INTS}",
        gradient=1,
    ),
    *(
        Case(
            "Dilation2D",
            lambda x, w, moves=moves: morphology.dilation2d_op(x, w, **moves.attrs),
            moves.dilated,
            [(far(*IMAGES), far(*WINDOW, step=2**-8))],
            Literal((X, W), shaped(*answer, sizes=moves.output(X.shape, W.shape))),
            dtypes="float32 float64",
            gradient=1,
            note=note,
        )
        for note, moves, answer in (
            ("valid", VALID, [0.8, 2, 4, 4.1]),
            ("strided", STRIDED, [0.8, 2.1, 4.3, 1.4]),
            ("spread", SPREAD, [0.2, 2, 0.3, 4, 1, 4.1, 0.5, 2.3, 0.6]),
            ("valid spread", Moves("VALID", rate=(2, 2)), [1.0]),
        )
    ),
    *(
        Case(
            op,
            lambda x, w, dy, build=build, moves=moves: build(x, w, dy, **moves.attrs),
            lambda x, w, dy, number=number, moves=moves: moves.to_both(x, w, dy)[number],
            [(far(*IMAGES), far(*WINDOW, step=2**-8), moves.output(IMAGES, WINDOW))],
            Literal((X, W, SLOPES), shaped(*answer, sizes=(X.shape, W.shape)[number]))
            if moves is SAME
            else Literal(
                (X[:, :1, :1], W[:1, :1], SLOPES[:, :1, :1]), shaped(1, sizes=((1, 1, 1, 1), (1, 1, 1))[number])
            ),
            rejects=[Reject(EITHER, (X.tolist(), W.tolist(), X[:, :2].tolist()))],
            dtypes="float32 float64 int32",
            gradient=None,
            note=note,
        )
        for op, build, number, answer in (
            ("Dilation2DBackpropInput", morphology.dilation2d_backprop_input, 0, [0, 1, 0, 0, 0, 3, 0, 4, 1]),
            ("Dilation2DBackpropFilter", morphology.dilation2d_backprop_filter, 1, [3, 2, 2, 2]),
        )
        for note, moves in (("", SAME), ("both", BOTH))
    ),
    *(
        Case(
            "",
            lambda x, w, moves=moves: nn.erosion2d(x, w, **moves.attrs),
            moves.eroded,
            [(far(2, 4, 4, 2), far(2, 3, 2, step=2**-8))],
            Literal((X, W), shaped(*answer, sizes=moves.output(X.shape, W.shape))),
            dtypes="float32 float64",
            gradient=1,
            note=f"erosion2d {note}",
        )
        for note, moves, answer in (
            ("same", SAME, [-0.2, -1.1, -1, -0.3, 0.2, 0.7, 0, 0.9, 1]),
            ("strided", STRIDED, [-0.2, -1, 0, 1]),
            ("spread", SPREAD, [-0.2, 0, -0.1, 0.4, -1.1, 0.5, 0.1, 0.3, 0.2]),
        )
    ),
]
