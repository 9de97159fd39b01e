"""Rows of reductions, scans and what is made of them."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from graph.ops.table import COMPLEXES, FLOATS, NUMBERS, REALS, Case, Entry, Literal, Reject, choice

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.math import argmax
from actorflow.graph.ops.math import cumulative as scan
from actorflow.graph.ops.math import reduction as af

INF, NAN = float("inf"), float("nan")
NO_AXES = np.array([], np.int32)
AXES: list[tuple[Entry, ...]] = [
    ((), NO_AXES),
    ((5,), np.array(0, np.int32)),
    ((2, 3), np.array(1, np.int64)),
    ((2, 3), np.array([0], np.int32)),
    ((2, 3), NO_AXES),
    ((2, 3, 2), np.array([0, -1], np.int32)),
    ((2, 3), np.array([1, 0], np.int64)),
]
EMPTY: list[tuple[Entry, ...]] = [((0, 3), np.array(0, np.int32)), ((2, 0), np.array([0], np.int32))]
AXIS: list[tuple[Entry, ...]] = [
    ((5,), np.array(0, np.int32)),
    ((2, 3), np.array(0, np.int64)),
    ((2, 3), np.array(-1, np.int32)),
    ((2, 3, 2), np.array(1, np.int32)),
]
BAD_AXES = [
    Reject((ValueError, InvalidArgumentError), ([[1.0, 2.0]], np.array(2, np.int32))),
    Reject((ValueError, InvalidArgumentError), ([[1.0, 2.0]], np.array([-3], np.int32))),
    Reject((ValueError, InvalidArgumentError), ([[1.0, 2.0]], np.array([0, -2], np.int32))),
    Reject(TypeError, ([[1.0, 2.0]], np.array(0.0, np.float32))),
]


def reduced(function: Callable[[list[Any]], Any], keep: bool = False) -> Callable[..., Any]:
    """A reduction by `function` of the list of the elements that share a result."""

    def reference(x: Any, axis: Any) -> Any:
        axes = {int(a) % x.ndim for a in np.atleast_1d(axis)} if x.ndim else set()
        kept = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
        result = np.empty(kept, object)
        for index in np.ndindex(*kept):
            ranges = [range(x.shape[i]) if i in axes else (at,) for i, at in enumerate(index)]
            result[index] = function([x[at].item() for at in itertools.product(*ranges)])
        return result if keep else result.reshape([s for i, s in enumerate(x.shape) if i not in axes])

    return reference


def mean(values: list[Any]) -> Any:
    if not values:
        return NAN
    return math.trunc(sum(values) / len(values)) if isinstance(values[0], int) else sum(values) / len(values)


def along(function: Callable[[list[Any]], Iterable[Any]]) -> Callable[..., Any]:
    """A function of each vector along an axis, which gives a vector or (as an index does) a number."""
    return lambda x, axis: np.apply_along_axis(lambda v: np.array(function(v.tolist()), object), int(axis), x)


def scanned(step: Callable[[Any, Any], Any], start: Any, exclusive: bool, reverse: bool) -> Callable[..., Any]:
    def one(values: list[Any]) -> list[Any]:
        turned = values[::-1] if reverse else values
        totals = list(itertools.accumulate(turned, step, initial=start))
        kept = totals[:-1] if exclusive else totals[1:]
        return kept[::-1] if reverse else kept

    return along(one)


def extreme(
    ops: str, build: Any, function: Callable[..., Any], empty: float, smallest: int, literal: list[float], slope: Any
) -> Case:
    return Case(
        ops,
        build,
        reduced(function),
        AXES,
        dtypes=REALS,
        literal=Literal(([[1.0, 5.0], [7.0, -INF]], np.array(1, np.int32)), literal),
        special=[
            Literal((np.zeros((0, 2), np.float32), np.array(0, np.int32)), [empty, empty]),
            Literal((np.zeros((0,), np.int32), np.array(0, np.int32)), np.int32(smallest)),
            Literal(([1.0, NAN, 2.0], np.array(0, np.int32)), NAN),
        ],
        slopes=[Literal(([1.0, 3.0, 3.0, 1.0], np.array(0, np.int32)), (slope, None))],
        rejects=[*BAD_AXES, Reject(TypeError, ([1j], np.array(0, np.int32)), dtype="complex64")],
    )


def truth(ops: str, build: Any, function: Callable[..., Any], literal: list[bool], empty: bool) -> Case:
    return Case(
        ops,
        build,
        reduced(function),
        AXES + EMPTY,
        dtypes="bool",
        literal=Literal(([[True, False], [False, False], [True, True]], np.array(1, np.int32)), literal),
        special=[Literal((np.zeros((0,), bool), np.array(0, np.int32)), np.bool_(empty))],
        rejects=[Reject(TypeError, ([1.0], np.array(0, np.int32)), dtype="float32")],
    )


def position(ops: str, build: Any, function: Callable[..., Any], literal: list[int]) -> Case:
    return Case(
        ops,
        build,
        along(lambda values: values.index(function(values))),
        [*AXIS, (choice(0, 1), np.array(0, np.int32))],
        dtypes=REALS,
        gradient=0,
        literal=Literal(([[1.0, 5.0, 5.0], [7.0, 1.0, 1.0]], np.array(1, np.int32)), np.array(literal, np.int64)),
        rejects=[
            Reject((ValueError, InvalidArgumentError), ([1.0], np.array(1, np.int32))),
            Reject((ValueError, InvalidArgumentError), (1.0, np.array(0, np.int32))),
            Reject((ValueError, InvalidArgumentError), (np.zeros((0, 3), np.float32), np.array(0, np.int32))),
            Reject(TypeError, ([1j], np.array(0, np.int32)), dtype="complex64"),
        ],
    )


def running(ops: str, build: Any, step: Any, start: int, exclusive: bool, reverse: bool, literal: list[float]) -> Case:
    return Case(
        ops,
        lambda x, axis: build(x, axis, exclusive, reverse),
        scanned(step, start, exclusive, reverse),
        [*AXIS, ((2, 0), np.array(1, np.int32))],
        note=("exclusive " * exclusive + "reverse " * reverse).strip(),
        dtypes=NUMBERS,
        domain=(0.5, 2.0),
        literal=Literal(([2.0, 3.0, 4.0], np.array(0, np.int32)), literal),
        rejects=[
            Reject((ValueError, InvalidArgumentError), ([1.0], np.array(1, np.int32))),
            Reject(TypeError, ([True], np.array(0, np.int32)), dtype="bool"),
        ],
    )


CASES = [
    Case(
        "Sum Unreduce",
        af.reduce_sum,
        reduced(sum),
        AXES + EMPTY,
        dtypes=NUMBERS,
        literal=Literal(([[1.0, 2.0], [3.0, 4.0]], np.array(1, np.int32)), [3.0, 7.0]),
        special=[
            Literal((np.array([127, 1], np.int8), np.array(0, np.int32)), np.int8(-128)),
            Literal(([INF, -INF], np.array(0, np.int32)), NAN),
        ],
        rejects=[*BAD_AXES, Reject(TypeError, ([True], np.array(0, np.int32)), dtype="bool")],
    ),
    Case(
        "Sum Unreduce",
        lambda x, axis: af.reduce_sum(x, axis, keepdims=True),
        reduced(sum, keep=True),
        AXES + EMPTY,
        note="keepdims",
        dtypes=NUMBERS,
        literal=Literal(([[1.0, 2.0], [3.0, 4.0]], np.array(1, np.int32)), [[3.0], [7.0]]),
    ),
    Case(
        "Sum",
        af.reduce_sum,
        lambda x: x.size and np.array(sum(x.reshape(-1).tolist())) or np.array(0),
        [((),), ((2, 3),), ((0, 3),)],
        note="of all",
        dtypes=NUMBERS,
        literal=Literal(([[1.0, 2.0], [3.0, 4.0]],), 10.0),
        rejects=[
            Reject(ValueError, ([1.0],), build=lambda x: af.reduce_sum(x, 0, reduction_indices=0)),
            Reject(ValueError, ([1.0],), build=lambda x: af.reduce_sum(x, keepdims=True, keep_dims=True)),
        ],
    ),
    Case(
        "Unreduce",
        lambda x: af.unreduce(x, [2, 3, 2], [0, -1]),
        lambda x: np.array([[[v, v] for v in x.tolist()]] * 2),
        [((3,),)],
        dtypes=NUMBERS,
        literal=Literal(([1.0, 2.0, 3.0],), [[[1, 1], [2, 2], [3, 3]]] * 2),
    ),
    Case(
        "Mean",
        af.reduce_mean,
        reduced(mean),
        AXES,
        dtypes=f"int8 int16 int32 int64 {FLOATS} {COMPLEXES}",
        literal=Literal(([[1.0, 2.0], [3.0, 5.0]], np.array(1, np.int32)), [1.5, 4.0]),
        special=[
            Literal((np.array([-1, -2, -4], np.int32), np.array(0, np.int32)), np.int32(-2)),
            Literal((np.zeros((0,), np.int32), np.array(0, np.int32)), np.int32(0)),
            Literal((np.zeros((0,), np.float32), np.array(0, np.int32)), NAN),
        ],
        rejects=BAD_AXES,
    ),
    Case(
        "Mean",
        lambda x, axis: af.reduce_mean(x, axis, keepdims=True),
        reduced(mean, keep=True),
        AXES,
        note="keepdims",
        literal=Literal(([[1.0, 2.0], [3.0, 5.0]], np.array(1, np.int32)), [[1.5], [4.0]]),
    ),
    Case(
        "Prod",
        af.reduce_prod,
        reduced(math.prod),
        AXES + EMPTY,
        dtypes=NUMBERS,
        literal=Literal(([[1.0, 2.0], [3.0, 4.0]], np.array(1, np.int32)), [2.0, 12.0]),
        slopes=[
            Literal(([2.0, 0.0, 3.0], np.array(0, np.int32)), ([0.0, 6.0, 0.0], None)),
            Literal(([0.0, 0.0, 3.0], np.array(0, np.int32)), ([0.0, 0.0, 0.0], None)),
        ],
        rejects=BAD_AXES,
        gradient=1,  # that of second order divides by the factors, as TensorFlow's does; the next row has none near 0
    ),
    Case(
        "Prod",
        lambda x, axis: af.reduce_prod(x, axis, keepdims=True),
        reduced(math.prod, keep=True),
        AXES,
        note="keepdims",
        dtypes=f"{FLOATS} {COMPLEXES}",
        domain=(0.5, 2.0),
        literal=Literal(([[1.0, 2.0], [3.0, 4.0]], np.array(0, np.int32)), [[3.0, 8.0]]),
    ),
    extreme("Max", af.reduce_max, max, -INF, -(2**31), [5.0, 7.0], [0.0, 0.5, 0.5, 0.0]),
    extreme("Min", af.reduce_min, min, INF, 2**31 - 1, [1.0, -INF], [0.5, 0.0, 0.0, 0.5]),
    Case(
        "Max Min",
        lambda x, axis: [af.reduce_max(x, axis, keepdims=True), af.reduce_min(x, axis, keepdims=True)],
        lambda x, axis: (reduced(max, keep=True)(x, axis), reduced(min, keep=True)(x, axis)),
        AXES,
        note="keepdims",
        literal=Literal(([[1.0, 2.0], [3.0, 4.0]], np.array(1, np.int32)), ([[2.0], [4.0]], [[1.0], [3.0]])),
    ),
    truth("Any", af.reduce_any, any, [True, False, True], False),
    truth("All", af.reduce_all, all, [False, False, True], True),
    position("ArgMax", argmax.argmax, max, [1, 0]),
    position("ArgMin", argmax.argmin, min, [0, 1]),
    Case(
        "ArgMax ArgMin",
        lambda x: [
            argmax.argmax(x, output_type="int32"),
            argmax.argmin(x, dimension=0, output_type="int32"),
        ],
        lambda x: (np.array(0), np.array(1)),
        [(np.array([3.0, 1.0, 2.0]),)],
        note="as int32",
        dtypes="float64",
        literal=Literal(([3.0, 5.0, 2.0],), (np.int32(1), np.int32(2)), "float32"),
    ),
    *[
        running("Cumsum", scan.cumsum, operator.add, 0, exclusive, reverse, literal)
        for exclusive, reverse, literal in [
            (False, False, [2.0, 5.0, 9.0]),
            (True, False, [0.0, 2.0, 5.0]),
            (False, True, [9.0, 7.0, 4.0]),
            (True, True, [7.0, 4.0, 0.0]),
        ]
    ],
    *[
        running("Cumprod", scan.cumprod, operator.mul, 1, exclusive, reverse, literal)
        for exclusive, reverse, literal in [
            (False, False, [2.0, 6.0, 24.0]),
            (True, False, [1.0, 2.0, 6.0]),
            (False, True, [24.0, 12.0, 4.0]),
            (True, True, [12.0, 4.0, 1.0]),
        ]
    ],
]
