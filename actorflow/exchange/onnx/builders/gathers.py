"""Elements by their places: gathers, scatters, one-hot vectors, sequences turned round."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.exchange.onnx.builders.common import (
    counted_axis,
    moved,
    number,
    positive,
    rank_of,
    size_of,
    vector,
    with_rank,
)
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of, ints


def counted(indices: Any, size: Any) -> Any:
    """Indices of which a negative one counts from the end."""
    if isinstance(indices, np.ndarray) and (indices >= 0).all():
        return indices
    size = (
        np.asarray(size, dtype_of(indices).numpy_dtype) if isinstance(size, int) else af.cast(size, dtype_of(indices))
    )
    return af.where_v2(indices < 0, indices + size, indices)


@onnx_op("Gather")
def gather(node: OnnxNode, x: Any, indices: Any) -> Any:
    axis = counted_axis(node.attr("axis", 0), x)
    return af.gather(x, counted(indices, size_of(x, axis)), axis=axis)


def places_along(indices: Any, axis: int) -> Any:
    """[..., rank]: the place of each element of `indices`, which itself gives the position along `axis`."""
    rank = rank_of(indices)
    grids = []
    for at in range(rank):
        if at == axis:
            grids.append(af.cast(indices, af.int64))
        else:
            line = af.reshape(af.range_(af.cast(size_of(indices, at), af.int64)), [-1, *[1] * (rank - 1 - at)])
            grids.append(af.broadcast_to(line, af.shape(indices)))
    return af.stack(grids, axis=-1)


@onnx_op("GatherElements")
def gather_elements(node: OnnxNode, x: Any, indices: Any) -> Any:
    axis = counted_axis(node.attr("axis", 0), x)
    return af.gather_nd(x, places_along(counted(indices, size_of(x, axis)), axis))


@onnx_op("GatherND")
def gather_nd(node: OnnxNode, x: Any, indices: Any) -> Any:
    batch = node.attr("batch_dims", 0)
    sizes = af.cast(af.shape(x), dtype_of(indices))[batch : batch + size_of(indices, -1)]
    return af.gather_nd(x, af.where_v2(indices < 0, indices + sizes, indices), batch_dims=batch)


_SCATTERS = {
    "none": af.tensor_scatter_update,
    "add": af.tensor_scatter_add,
    "max": af.tensor_scatter_nd_max,
    "min": af.tensor_scatter_nd_min,
}


def scattered(x: Any, places: Any, updates: Any, how: str) -> Any:
    """`x` with `updates` at `places`, set or combined with what is there."""
    if how == "mul":
        return x * _product_of(x, places, updates)
    return _SCATTERS[how](x, places, updates)


def _product_of(x: Any, places: Any, updates: Any) -> Any:
    """The product of the updates of each element, 1 without updates."""
    sizes = af.shape(x, out_type=af.int64)
    width = size_of(places, -1)
    strides = af.cumprod(af.concat([sizes[:width][1:], [np.int64(1)]], 0)[-width:], reverse=True)
    flat = af.reshape(af.reduce_sum(af.cast(places, af.int64) * strides, -1), [-1])
    rows = af.reshape(updates, af.concat([[np.int64(-1)], sizes[width:]], 0))
    count = af.reduce_prod(sizes[:width])
    return af.reshape(af.unsorted_segment_prod(rows, flat, count), sizes)


@onnx_op("ScatterElements")
def scatter_elements(node: OnnxNode, x: Any, indices: Any, updates: Any) -> Any:
    axis = counted_axis(node.attr("axis", 0), x)
    places = places_along(counted(indices, size_of(x, axis)), axis)
    return scattered(x, places, updates, node.attr("reduction", "none"))


@onnx_op("ScatterND")
def scatter_nd(node: OnnxNode, x: Any, indices: Any, updates: Any) -> Any:
    sizes = af.cast(af.shape(x), dtype_of(indices))[: size_of(indices, -1)]
    return scattered(x, af.where_v2(indices < 0, indices + sizes, indices), updates, node.attr("reduction", "none"))


@onnx_op("OneHot", enlarging=True)
def one_hot(node: OnnxNode, indices: Any, depth: Any, values: Any) -> Any:
    """A depth beyond int32, or a depth that only a run knows, is compared with all places: the op of one-hot vectors takes
    int32."""
    axis = _last(node.attr("axis", -1), rank_of(indices))
    off, on = af.unstack(values, num=2) if isinstance(values, af.Tensor) else (values[0], values[1])
    count = ints(depth)
    size: Any = af.cast(af.reshape(depth, []), af.int64) if count is None else np.int64(count[0])
    whole = af.cast(indices, af.int64)
    whole = af.where_v2(whole < 0, whole + size, whole)
    if count is not None and count[0] <= np.iinfo(np.int32).max:
        return af.one_hot(whole, np.int32(count[0]), on, off, axis=axis, dtype=dtype_of(values))
    places = with_rank(af.range_(size), rank_of(indices) + 1, axis)
    return af.where_v2(af.equal(af.expand_dims(whole, axis), places), on, off)


def _last(axis: int, rank: int) -> int:
    return axis if axis >= 0 else axis + rank + 1


@onnx_op("NonZero")
def non_zero(node: OnnxNode, x: Any) -> Any:
    return af.transpose(af.where(_truth(x)))


def _truth(x: Any) -> Any:
    return x if dtype_of(x).is_bool else af.not_equal(x, number(0, x))


@onnx_op("Compress")
def compress(node: OnnxNode, x: Any, condition: Any) -> Any:
    axis = node.attr("axis")
    kept = af.reshape(af.where(condition), [-1])
    if axis is None:
        return af.gather(af.reshape(x, [-1]), kept)
    return af.gather(x, kept, axis=counted_axis(axis, x))


@onnx_op("ReverseSequence")
def reverse_sequence(node: OnnxNode, x: Any, lengths: Any) -> Any:
    return af.reverse_sequence(x, lengths, seq_axis=node.attr("time_axis", 0), batch_axis=node.attr("batch_axis", 1))


@onnx_op("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature(node: OnnxNode, x: Any, indices: Any) -> Any:
    gathered = af.gather(x, af.reshape(indices, [-1]), axis=rank_of(x) - 1)
    return af.reshape(gathered, [1, -1]) if rank_of(x) == 1 else gathered


@onnx_op("TensorScatter")
def tensor_scatter(node: OnnxNode, cache: Any, update: Any, indices: Any = None) -> Any:
    """Rows of a cache of keys or values: each entry of the batch has its first place."""
    rank = rank_of(cache)
    axis = positive(node.attr("axis", -2), rank)
    past, new = moved(cache, axis, 1), moved(update, axis, 1)
    batch, length, room = size_of(new, 0), size_of(new, 1), size_of(past, 1)
    first = af.zeros(vector([batch]), af.int64) if indices is None else af.cast(indices, af.int64)
    places = af.expand_dims(first, 1) + af.range_(af.cast(length, af.int64))
    if node.attr("mode", "linear") == "circular":
        places = af.floormod(places, af.cast(room, af.int64))
    entries = af.broadcast_to(af.expand_dims(af.range_(af.cast(batch, af.int64)), 1), af.shape(places))
    return moved(af.tensor_scatter_update(past, af.stack([entries, places], -1), new), 1, axis)
