"""Reductions, places of extremes, sums along a dimension, softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from actorflow.exchange.onnx.builders.common import (
    counted_axis,
    in_int32,
    known,
    moved,
    number,
    positive,
    rank_of,
    widened,
)
from actorflow.exchange.onnx.builders.nn.layout import channels_first, last_place, within
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of, ints, shape_of


def _log_sum(x: Any, axis: Any, keepdims: bool) -> Any:
    return af.log(af.reduce_sum(x, axis, keepdims=keepdims))


def _log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    return widened(lambda x: af.reduce_logsumexp(x, axis, keepdims=keepdims), x)


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "Sum": af.reduce_sum,
    "Mean": af.reduce_mean,
    "Max": af.reduce_max,
    "Min": af.reduce_min,
    "Prod": af.reduce_prod,
    "L1": lambda x, axis, keepdims: af.reduce_sum(af.abs(x), axis, keepdims=keepdims),
    "L2": lambda x, axis, keepdims: _root(af.reduce_sum(x * x, axis, keepdims=keepdims)),
    "SumSquare": lambda x, axis, keepdims: af.reduce_sum(x * x, axis, keepdims=keepdims),
    "LogSum": _log_sum,
    "LogSumExp": _log_sum_exp,
}


def _root(x: Any) -> Any:
    kind = dtype_of(x)
    return af.cast(af.sqrt(af.cast(x, af.float64)), kind) if kind.is_integer else af.sqrt(x)


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def build(node: OnnxNode, x: Any, axes: Any = None) -> Any:
        keepdims = bool(node.attr("keepdims", 1))
        none_given = axes is None or (shape_of(axes) or (None,))[0] == 0
        if none_given and node.attr("noop_with_empty_axes", 0):
            axes = np.zeros(0, np.int64)  # the function of each element: the sum of one square, say
        elif none_given:
            axes = None
        elif shape_of(axes) == (None,) and not node.attr("noop_with_empty_axes", 0):  # none may be given in a run
            every = af.range_(np.int64(rank_of(x)) * af.cast(af.equal(af.size(axes), 0), af.int64))
            axes = af.concat([axes, every], 0)
        inner, listed = within(x), None if axes is None else ints(axes)
        if inner is not None and listed:  # reduced where the dimensions lie, with the transpose behind
            rank = rank_of(x)
            places = [positive(axis, rank) for axis in listed]
            if dtype_of(x).is_floating and (keepdims or sorted(places) == list(range(2, rank))):
                reduced = function(inner, sorted(last_place(place, rank) for place in places), keepdims=keepdims)
                return channels_first(reduced) if keepdims else reduced
        if dtype_of(x).is_bool:
            return af.cast(function(af.cast(x, af.uint8), axes, keepdims=keepdims), af.bool)
        return function(x, axes, keepdims=keepdims)

    return build


for _name, _function in _REDUCTIONS.items():
    onnx_op(f"Reduce{_name}")(_reduction(_function))


@onnx_op("ArgMax", "ArgMin")
def arg_extreme(node: OnnxNode, x: Any) -> Any:
    axis = counted_axis(node.attr("axis", 0), x)
    function = af.argmax if node.op == "ArgMax" else af.argmin
    if node.attr("select_last_index", 0):
        size = af.shape(x, out_type=af.int64)[axis]
        place = size - 1 - function(af.reverse(x, [axis]), axis, output_type=af.int64)
    else:
        place = function(x, axis, output_type=af.int64)
    return af.expand_dims(place, axis) if node.attr("keepdims", 1) else place


@onnx_op("CumSum", "CumProd")
def cumulative(node: OnnxNode, x: Any, axis: Any) -> Any:
    function = af.cumsum if node.op == "CumSum" else af.cumprod
    return function(
        x, af.reshape(axis, []), exclusive=bool(node.attr("exclusive", 0)), reverse=bool(node.attr("reverse", 0))
    )


@onnx_op("Softmax", "LogSoftmax", "Hardmax")
def softmax(node: OnnxNode, x: Any) -> Any:
    def along(x: Any, axis: int) -> Any:
        if node.op == "Hardmax":
            largest = af.argmax(x, axis, output_type=af.int64)
            depth = af.shape(x)[axis]
            return af.one_hot(largest, depth, axis=axis, dtype=dtype_of(x))
        return widened(lambda x: (af.nn.softmax if node.op == "Softmax" else af.nn.log_softmax)(x, axis=axis), x)

    rank = rank_of(x)
    if "flat" in node.attrs:
        axis = positive(node.attrs["flat"], rank) if rank else 0
        if axis != rank - 1:
            sizes = af.shape(x)
            rows = af.reduce_prod(sizes[:axis])
            return af.reshape(along(af.reshape(x, af.stack([rows, -1])), 1), sizes)
        return along(x, axis)
    return along(x, positive(node.attr("axis", -1), rank))


@onnx_op("TopK")
def top_k(node: OnnxNode, x: Any, k: Any) -> Any:
    rank = rank_of(x)
    axis = positive(node.attr("axis", -1), rank)
    last = moved(x, axis, rank - 1)
    count = in_int32(af.reshape(k, []))
    if node.attr("largest", 1):
        values, places = af.nn.top_k(last, count)
    else:
        order = af.argsort(last, axis=-1)
        places = af.slice_(order, [0] * rank, af.concat([af.shape(order)[:-1], af.reshape(count, [1])], 0))
        values = af.gather(last, places, batch_dims=rank - 1)
    return moved(values, rank - 1, axis), moved(af.cast(places, af.int64), rank - 1, axis)


@onnx_op("Unique")
def unique(node: OnnxNode, x: Any) -> Any:
    """By an order of all pieces: equal pieces are neighbours in it, and the first of them counts."""
    axis = node.attr("axis")
    rows = af.reshape(x, [-1, 1]) if axis is None else _rows(x, counted_axis(axis, x))
    order = _lexical_order(rows)
    placed = af.gather(rows, order)
    fresh = af.concat([[True], af.reduce_any(af.not_equal(placed[1:], placed[:-1]), -1)], 0)
    fresh = fresh[: af.shape(rows)[0]]
    number_in_order = af.cumsum(af.cast(fresh, af.int64)) - 1
    count = af.reduce_sum(af.cast(fresh, af.int64))
    group = af.scatter_nd(af.expand_dims(order, -1), number_in_order, af.shape(order, out_type=af.int64))
    first = af.unsorted_segment_min(af.cast(order, af.int64), number_in_order, count)
    counts = af.unsorted_segment_sum(af.ones_like(number_in_order), number_in_order, count)
    if not node.attr("sorted", 1):
        by_place = af.argsort(first)
        rank = af.invert_permutation(by_place)
        group = af.gather(af.cast(rank, af.int64), group)
        first, counts = af.gather(first, by_place), af.gather(counts, by_place)
    values = af.gather(af.reshape(x, [-1]), first) if axis is None else af.gather(x, first, axis=axis)
    return values, first, group, counts


def _rows(x: Any, axis: int) -> Any:
    front = moved(x, axis, 0)
    return af.reshape(front, af.stack([af.shape(front)[0], af.reduce_prod(af.shape(front)[1:])]))


def _lexical_order(rows: Any) -> Any:
    """The order of rows, which are compared from the first element on. Sorts are stable, so the last column goes first."""
    width = (shape_of(rows) or (None, None))[1]
    if width is None:
        known(af.shape(rows)[1], "The size of what Unique compares")
        raise AssertionError
    order = af.range_(af.shape(rows)[0])
    for column in reversed(range(width)):
        order = af.gather(order, af.argsort(af.gather(rows[:, column], order)))
    return order


@onnx_op("LpNormalization")
def lp_normalization(node: OnnxNode, x: Any) -> Any:
    axis, p = node.attr("axis", -1), node.attr("p", 2)
    if p == 1:
        norm = af.reduce_sum(af.abs(x), axis, keepdims=True)
    else:
        norm = af.sqrt(af.reduce_sum(x * x, axis, keepdims=True))
    zero = af.equal(norm, number(0, norm))
    return af.where_v2(zero, number(0, x), x / af.where_v2(zero, number(1, norm), norm))


@onnx_op("Det")
def determinant(node: OnnxNode, x: Any) -> Any:
    return af.matrix_determinant(x)


@onnx_op("Trilu")
def triangle(node: OnnxNode, x: Any, k: Any = None) -> Any:
    rank = rank_of(x)
    size = af.shape(x, out_type=af.int64)
    rows = af.expand_dims(af.range_(size[rank - 2]), -1)
    columns = af.range_(size[rank - 1])
    diagonal = rows + (np.int64(0) if k is None else af.reshape(k, []))
    kept = columns >= diagonal if node.attr("upper", 1) else columns <= diagonal
    return af.where_v2(kept, x, af.zeros_like(x))


@onnx_op("Range", enlarging=True)
def range_(node: OnnxNode, start: Any, limit: Any, delta: Any) -> Any:
    kind = dtype_of(start)
    first, end, step = (af.reshape(part, []) for part in (start, limit, delta))
    if kind in (af.float16, af.bfloat16, af.int16):
        wide = af.int32 if kind is af.int16 else af.float32
        return af.cast(af.range_(af.cast(first, wide), af.cast(end, wide), af.cast(step, wide)), kind)
    return af.range_(first, end, step)
