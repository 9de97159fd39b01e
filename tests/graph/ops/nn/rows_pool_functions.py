"""Rows of the places of maxima, and of the functions of pools."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, i64
from graph.ops.nn.rows_pool import TIED, TIED_3, TWO, WIDE, Kind, distinct, mean, shaped
from graph.ops.table import REALS, Array, Case, Literal, Reject
from graph.ops.windows import Windows, pooled

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.nn.pooling import functions as af
from actorflow.graph.ops.nn.pooling import rules as ops

# ---- places of maxima


def places(batch: bool, kind: Kind) -> Any:
    """Each window's maximum and the place of the first one, by numbering all elements."""

    def reference(x: Any) -> Any:
        numbers = np.arange(x.size).reshape(x.shape)
        if not batch:
            numbers = numbers - np.arange(len(x)).reshape(-1, 1, 1, 1) * (x.size // max(1, len(x)))
        return kind.pool(max)(x), kind.at_maxima(x, kind.pool(max)(x), numbers)

    return reference


def with_argmax(kind: Kind, **more: Any) -> Any:
    attrs = {name: kind.attrs[name] for name in ("ksize", "strides", "padding")}
    return lambda x: ops.max_pool_with_argmax_op(x, **attrs, **more)


def at_places(x: Any, dy: Any, argmax: Any) -> Any:
    dx: Array = np.zeros(x.shape, dy.dtype)
    for index in np.ndindex(*dy.shape):
        dx[index[0]].reshape(-1)[int(argmax[index])] += dy[index]
    return dx


TWO_IMAGES = np.array([1, 5, 5, 2, 9, 0, 3, 4], np.float32).reshape(2, 2, 2, 1).tolist()
MAXIMA = shaped([5, 5, 5, 2, 9, 4, 4, 4], 2, 2, 2, 1)
OVERLAPPING = Kind("", (2, 2), (1, 1), "SAME", [])
ARGMAX = [
    Case(
        "MaxPoolWithArgmax",
        with_argmax(OVERLAPPING),
        places(False, OVERLAPPING),
        [(distinct(2, 3, 2, 2),), (distinct(0, 3, 2, 2),)],
        Literal((TWO_IMAGES,), (MAXIMA, np.reshape(i64(1, 1, 2, 3, 0, 3, 3, 3), (2, 2, 2, 1)))),
        dtypes=REALS,
        gradient=1,
        slopes=[Literal((TWO_IMAGES,), shaped([0, 2, 1, 1, 1, 0, 0, 3], 2, 2, 2, 1))],
        rejects=[Reject(EITHER, ([[1.0]],))],
    ),
    Case(
        "MaxPoolWithArgmax",
        with_argmax(OVERLAPPING, Targmax="int32", include_batch_in_index=True),
        places(True, OVERLAPPING),
        [(distinct(2, 3, 2, 2),)],
        Literal((TWO_IMAGES,), (MAXIMA, np.reshape(i32(1, 1, 2, 3, 4, 7, 7, 7), (2, 2, 2, 1)))),
        dtypes=WIDE,
        gradient=1,
        note="of the batch",
    ),
    Case(
        "MaxPoolGradWithArgmax",
        lambda x, dy, argmax: ops.max_pool_grad_with_argmax(
            x, dy, argmax, ksize=(1, 2, 1, 1), strides=(1, 1, 1, 1), padding="VALID"
        ),
        at_places,
        [
            ((1, 2, 2, 1), (1, 1, 2, 1), np.reshape(i64(3, 3), (1, 1, 2, 1))),
            ((2, 3, 1, 1), (2, 2, 1, 1), np.reshape(i32(2, 1, 0, 0), (2, 2, 1, 1))),
        ],
        Literal(
            ([[[[1.0], [2.0]], [[4.0], [5.0]]]], [[[[1.0], [2.0]]]], np.reshape(i64(1, 1), (1, 1, 2, 1))),
            shaped([0, 3, 0, 0], 1, 2, 2, 1),
        ),
        dtypes=REALS,
        gradient=0,
        rejects=[
            Reject(
                InvalidArgumentError,
                ([[[[1.0], [2.0]], [[4.0], [5.0]]]], [[[[1.0], [2.0]]]], np.reshape(i64(1, 9), (1, 1, 2, 1))),
            ),
            Reject(EITHER, ([[[[1.0], [2.0]], [[4.0], [5.0]]]], [[[[1.0]]]], np.reshape(i64(1, 1), (1, 1, 2, 1)))),
        ],
    ),
]


# ---- functions


def ranked(rank: int, x: Any) -> Any:
    x.set_shape([None] * rank)
    return x


def by_windows(window: Any, strides: Any, padding: str, best: Any, dilations: Any = None) -> Any:
    def reference(x: Any) -> Any:
        spread = dilations or (1,) * len(window)
        return pooled(x, Windows(x.shape[1:-1], window, strides, spread, padding), best)

    return reference


def both(one: Any, two: Any) -> Any:
    return lambda x: (one(x), two(x))


CASES = [
    *ARGMAX,
    Case(
        "",
        lambda x: [
            af.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
            af.max_pool2d(x, 2, 2, "SAME"),
            af.max_pool(None, [1, 1, 1, 2], [1, 1, 1, 2], "VALID", input=x),
        ],
        lambda x: (
            by_windows((2, 2), (1, 1), "SAME", max)(x),
            by_windows((2, 2), (2, 2), "SAME", max)(x),
            np.maximum(x[..., ::2], x[..., 1::2]),
        ),
        [(distinct(2, 3, 2, 4),)],
        Literal(
            (shaped(range(8), 1, 1, 2, 4),),
            (
                shaped([4, 5, 6, 7, 4, 5, 6, 7], 1, 1, 2, 4),
                shaped([4, 5, 6, 7], 1, 1, 1, 4),
                shaped([1, 3, 5, 7], 1, 1, 2, 2),
            ),
        ),
        dtypes="int32 float64 float32",
        note="max_pool",
        rejects=[
            Reject(ValueError, (TIED,), lambda x: af.max_pool(x, 2, 1, "SAME", input=x)),
            Reject(ValueError, (TIED,), lambda x: af.max_pool(x, [1, 2, 2], 1, "SAME")),
        ],
    ),
    Case(
        "",
        lambda x: af.max_pool(x, 2, 1, "SAME"),
        None,
        [((1, 2, 2, 1),)],
        Literal((TIED,), shaped([5, 5, 5, 5], 1, 2, 2, 1)),
        slopes=[Literal((shaped([1] * 6, 1, 2, 3, 1),), shaped([1] * 6, 1, 2, 3, 1))],
        dtypes=WIDE,
        gradient=None,
        note="max_pool of equal elements",
    ),
    Case(
        "",
        lambda x: af.max_pool3d(x, 2, 2, "SAME"),
        None,
        [((1, 2, 2, 2, 1),)],
        Literal((TIED_3,), [[[[[5.0]]]]]),
        slopes=[Literal((TIED_3,), shaped([0, 1, 1, 1, 1, 0, 0, 0], 1, 2, 2, 2, 1))],
        dtypes=WIDE,
        gradient=None,
        note="max_pool3d of equal elements",
    ),
    Case(
        "",
        lambda x: [af.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), af.avg_pool2d(x, 2, 1, "VALID")],
        both(by_windows((2, 2), (2, 2), "SAME", mean), by_windows((2, 2), (1, 1), "VALID", mean)),
        [((1, 3, 4, 2),)],
        Literal((shaped(range(1, 5), 1, 2, 2, 1),), ([[[[2.5]]]], [[[[2.5]]]])),
        dtypes=WIDE,
        note="avg_pool",
        rejects=[Reject(ValueError, (TIED,), lambda x: af.avg_pool(None, 2, 1, "SAME"))],
    ),
    Case(
        "",
        lambda x: [af.max_pool1d(x, 2, 2, "SAME"), af.avg_pool1d(x, 2, 2, "SAME")],
        both(by_windows((2,), (2,), "SAME", max), by_windows((2,), (2,), "SAME", mean)),
        [(distinct(2, 5, 2),)],
        Literal((shaped([1, 4, 7], 1, 3, 1),), (shaped([4, 7], 1, 2, 1), shaped([2.5, 7], 1, 2, 1))),
        dtypes=WIDE,
        note="pools of one dimension",
        rejects=[Reject(ValueError, ([[[1.0]]],), lambda x: af.max_pool1d(x, 1, 1, "SAME", "NHWC"))],
    ),
    Case(
        "",
        lambda x: [af.max_pool3d(x, 2, 1, "SAME"), af.avg_pool3d(x, 2, 1, "SAME")],
        both(by_windows((2,) * 3, (1,) * 3, "SAME", max), by_windows((2,) * 3, (1,) * 3, "SAME", mean)),
        [(distinct(1, 2, 3, 2, 2),)],
        Literal(
            (shaped(range(1, 9), 1, 2, 2, 2, 1),),
            (shaped([8] * 8, 1, 2, 2, 2, 1), shaped([4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8], 1, 2, 2, 2, 1)),
        ),
        dtypes=WIDE,
        note="pools of three dimensions",
    ),
    Case(
        "",
        lambda x: [
            *af.max_pool_with_argmax(x, 2, 2, "SAME"),
            af.max_pool_with_argmax(x, 2, 2, "SAME", Targmax="int32")[1],
        ],
        lambda x: (*places(False, TWO[0])(x), places(False, TWO[0])(x)[1]),
        [(distinct(2, 3, 3, 1),)],
        Literal(
            (shaped(range(1, 10), 1, 3, 3, 1),),
            (
                shaped([5, 6, 8, 9], 1, 2, 2, 1),
                np.reshape(i64(4, 5, 7, 8), (1, 2, 2, 1)),
                np.reshape(i32(4, 5, 7, 8), (1, 2, 2, 1)),
            ),
        ),
        dtypes=WIDE,
        gradient=1,
        note="max_pool_with_argmax",
        rejects=[Reject(ValueError, (TIED,), lambda x: af.max_pool_with_argmax(x, 2, 2, "SAME", "NCHW"))],
    ),
    Case(
        "",
        lambda x: [
            af.pool(ranked(4, x), [2, 2], "MAX", "VALID", dilation_rate=[1, 2]),
            af.pool(ranked(4, x), [2, 2], "AVG", "VALID", dilation_rate=[1, 2]),
        ],
        both(by_windows((2, 2), (1, 1), "VALID", max, (1, 2)), by_windows((2, 2), (1, 1), "VALID", mean, (1, 2))),
        [(distinct(1, 3, 4, 2),)],
        Literal((shaped(range(1, 10), 1, 3, 3, 1),), (shaped([6, 9], 1, 2, 1, 1), shaped([3.5, 6.5], 1, 2, 1, 1))),
        dtypes=WIDE,
        static=False,
        note="pool with dilations",
        rejects=[
            Reject(ValueError, (TIED,), lambda x: af.pool(x, [2, 2], "MIN", "SAME")),
            Reject(ValueError, (TIED,), lambda x: af.pool(x, [2, 2], "MAX", "SAME", [2, 2])),
            Reject(ValueError, (TIED,), lambda x: af.pool(x, [2, 2], "MAX", "VALID", [2, 2], [2, 2])),
            Reject(ValueError, (TIED,), lambda x: af.pool(x, [2], "MAX", "SAME")),
            Reject(ValueError, ([[1.0]],), lambda x: af.pool(x, [2], "MAX", "SAME")),
        ],
    ),
    Case(
        "",
        lambda x: [
            af.pool(ranked(3, x), [2], "MAX", "SAME", strides=[2]),
            af.pool(ranked(3, x), [2], "AVG", "SAME", strides=[2], data_format="NWC"),
        ],
        both(by_windows((2,), (2,), "SAME", max), by_windows((2,), (2,), "SAME", mean)),
        [(distinct(1, 5, 2),)],
        Literal((shaped([1, 4, 7], 1, 3, 1),), (shaped([4, 7], 1, 2, 1), shaped([2.5, 7], 1, 2, 1))),
        dtypes=WIDE,
        note="pool",
    ),
]
