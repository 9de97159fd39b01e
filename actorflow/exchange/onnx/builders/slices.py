"""Parts of tensors and what is put around them: slices, splits, padding, dimensions of one element.

Bounds, widths and axes may be inputs, which only a run knows. Then they are vectors of int64 with an entry for each dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import counted_axis, number, positive, rank_of, size_of, sizes_of, vector
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import ints, shape_of


def _tensor(x: Any) -> Any:
    return af.constant(x) if isinstance(x, np.ndarray) else x


def _counted(axes: Any, rank: Any) -> Any:
    """Axes that a run knows, counted from the first dimension."""
    return af.floormod(af.cast(axes, af.int64), np.asarray(rank, np.int64))


def _for_all(default: Any, axes: Any, values: Any, rank: int) -> Any:
    """A vector with an entry for each dimension: `values` at `axes`, else `default`. Axes of None are all dimensions."""
    wide = af.cast(values, af.int64)
    if axes is None:
        return wide
    places = ints(axes)
    if places is None:
        return af.tensor_scatter_update(default, af.expand_dims(_counted(axes, rank), 1), wide)
    order = [positive(axis, rank) for axis in places]
    if order == list(range(rank)):
        return wide
    return vector([wide[order.index(axis)] if axis in order else default[axis] for axis in range(rank)])


def _length(values: Any) -> int | None:
    dims = shape_of(values)
    return dims[0] if dims else None


@onnx_op("Slice")
def slice_(node: OnnxNode, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    rank = rank_of(x)
    places = ints(axes) if axes is not None else None
    if axes is None:
        count = _length(starts) if _length(starts) is not None else _length(ends)
        places = list(range(rank if count is None else count))
    strides = [1] * len(places or ()) if steps is None else ints(steps)
    if places is None or strides is None:
        return _sliced(x, starts, ends, axes, steps, places)
    first, last = ints(starts), ints(ends)
    index: list[Any] = [slice(None)] * rank
    for at, (axis, stride) in enumerate(zip(places, strides)):
        if stride == 0:
            raise InvalidArgumentError("A step of Slice is 0.")
        index[positive(axis, rank)] = slice(
            starts[at] if first is None else first[at],
            af.cast(ends[at], af.int64) if last is None else _end(last[at], stride),
            stride,
        )
    return _tensor(x)[tuple(index)]


def _end(value: int, stride: int) -> int | None:
    """The end of a slice. Those far outside stand for all that is left."""
    far = 2**62
    return None if value >= far and stride > 0 or value <= -far and stride < 0 else value


def _sliced(x: Any, starts: Any, ends: Any, axes: Any, steps: Any, places: list[int] | None) -> Any:
    """A slice of which only a run knows the axes or steps. A backward one ends before the first element at an end of -1, which
    stands for the last element in the op of slices."""
    rank, sizes = rank_of(x), sizes_of(x)
    step = _for_all(np.ones(rank, np.int64), axes, steps if steps is not None else af.ones_like(starts), rank)
    backward = step < np.int64(0)
    start = _for_all(af.where_v2(backward, sizes - 1, np.int64(0)), axes, starts, rank)
    end = _for_all(af.where_v2(backward, np.int64(-1), sizes) + np.int64(0), axes, ends, rank)
    named = _for_all(np.zeros(rank, np.int64), axes, af.ones_like(starts), rank) > np.int64(0)
    start = af.where_v2(start < 0, start + sizes, start)
    end = af.where_v2(af.logical_and(end < 0, named), end + sizes, end)
    start = af.minimum(af.maximum(start, np.int64(0)), af.where_v2(backward, sizes - 1, sizes))
    end = af.minimum(af.maximum(end, af.where_v2(backward, np.int64(-1), np.int64(0))), sizes)
    part = af.strided_slice(x, start, af.where_v2(end < 0, end - sizes, end), step)
    own = shape_of(x)
    if places is not None and own is not None:
        cut = {positive(axis, rank) for axis in places}
        return af.ensure_shape(part, [None if at in cut else size for at, size in enumerate(own)])
    return af.ensure_shape(part, [None] * rank)


@onnx_op("Split")
def split(node: OnnxNode, x: Any, sizes: Any = None) -> Any:
    axis = counted_axis(node.attr("axis", 0), x)
    count = node.attr("num_outputs", len(node.outputs))
    if sizes is not None:
        pieces = ints(sizes)
        return af.split(x, sizes if pieces is None else pieces, axis=axis, num=count if pieces is None else None)
    whole = size_of(x, axis)
    if isinstance(whole, int):
        each = -(-whole // count)
        return af.split(x, [min(each, max(whole - each * at, 0)) for at in range(count)], axis=axis)
    if "num_outputs" not in node.attrs:
        return af.split(x, count, axis=axis)
    most = (whole + np.int64(count - 1)) // np.int64(count)
    left = af.maximum(whole - most * np.arange(count), np.int64(0))
    return af.split(x, af.minimum(most, left), axis=axis, num=count)


@onnx_op("Pad", enlarging=True)
def pad(node: OnnxNode, x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
    rank = rank_of(x)
    mode = node.attr("mode", "constant")
    fill = number(0, x) if value is None else af.reshape(value, [])
    widths, places = ints(pads), None if axes is None else ints(axes)
    if widths is None or (axes is not None and places is None):
        pairs = af.reshape(af.cast(pads, af.int64), [2, -1])
        before, after = (_for_all(np.zeros(rank, np.int64), axes, pairs[side], rank) for side in range(2))
        return _padded_in_run(x, before, after, mode, fill)
    order = list(range(rank)) if places is None else [positive(axis, rank) for axis in places]
    each = [(0, 0)] * rank
    for at, axis in enumerate(order):
        each[axis] = (widths[at], widths[at + len(order)])
    if any(width < 0 for pair in each for width in pair):
        cut = tuple(slice(max(-a, 0), min(b, 0) or None) for a, b in each)
        x = _tensor(x)[cut]
        each = [(max(a, 0), max(b, 0)) for a, b in each]
    if mode == "constant":
        return af.pad(x, np.array(each, np.int64).reshape(-1, 2), constant_values=fill)
    for axis, (before, after) in enumerate(each):
        if before or after:
            x = _around(x, axis, before, after, mode)
    return x


def _padded_in_run(x: Any, before: Any, after: Any, mode: str, fill: Any) -> Any:
    """Widths below zero cut first, as where the graph knows them."""
    zero = np.int64(0)
    start, gone = af.maximum(-before, zero), af.maximum(-after, zero)
    x = af.slice_(x, start, sizes_of(x) - start - gone)
    before, after = af.maximum(before, zero), af.maximum(after, zero)
    if mode == "constant":
        return af.pad(x, af.stack([before, after], 1), constant_values=fill)
    for axis in range(rank_of(x)):
        x = _around(x, axis, before[axis], after[axis], mode)
    return x


def _around(x: Any, axis: int, before: Any, after: Any, mode: str) -> Any:
    size = size_of(x, axis)
    if isinstance(size, int):
        size = np.int64(size)
    places = af.range_(-(before + np.int64(0)), size + after)
    return af.gather(x, _inside(places, size, mode), axis=axis)


def _inside(places: Any, size: Any, mode: str) -> Any:
    """The elements that stand at places outside of a dimension."""
    if mode == "wrap":
        return af.floormod(places, size)
    if mode == "edge":
        return af.minimum(af.maximum(places, np.int64(0)), size - np.int64(1))
    period = af.maximum(np.int64(2) * (size - np.int64(1)), np.int64(1))
    folded = af.floormod(places, period)
    return af.minimum(folded, period - folded)


@onnx_op("CenterCropPad", enlarging=True)
def center_crop_pad(node: OnnxNode, x: Any, sizes: Any) -> Any:
    rank = rank_of(x)
    own, axes = sizes_of(x), node.attr("axes", list(range(rank)))
    target = _for_all(own, np.asarray(axes, np.int64), sizes, rank)
    source = _tensor(x)
    cut, missing = af.maximum(own - target, np.int64(0)), af.maximum(target - own, np.int64(0))
    inner = af.slice_(source, cut // np.int64(2), af.minimum(own, target))
    before = missing // np.int64(2)
    return af.pad(inner, af.stack([before, missing - before], 1), constant_values=number(0, x))


@onnx_op("Squeeze")
def squeeze(node: OnnxNode, x: Any, axes: Any = None) -> Any:
    places = None if axes is None else ints(axes)
    if axes is None or places is not None:
        return af.squeeze(x, places) if places is None or places else af.identity(x)
    rank = rank_of(x)
    gone = _for_all(np.zeros(rank, np.int64), axes, af.ones_like(axes), rank)
    left = af.reshape(af.where(af.equal(gone, np.int64(0))), [-1])
    squeezed = af.reshape(x, af.gather(sizes_of(x), left))
    count = _length(axes)
    return squeezed if count is None else af.ensure_shape(squeezed, [None] * (rank - count))


@onnx_op("Unsqueeze")
def unsqueeze(node: OnnxNode, x: Any, axes: Any) -> Any:
    places = ints(axes)
    if places is not None:
        rank = rank_of(x) + len(places)
        for axis in sorted(positive(place, rank) for place in places):
            x = af.expand_dims(x, axis)
        return x
    flat = af.reshape(axes, [-1])
    whole = np.int64(rank_of(x)) + af.size(flat, out_type=af.int64)
    places_ = af.floormod(af.cast(flat, af.int64), whole)
    new = af.scatter_nd(af.expand_dims(places_, 1), af.ones_like(places_), af.reshape(whole, [1]))
    own = af.cumsum(np.int64(1) - new, exclusive=True)
    source = af.concat([sizes_of(x), [np.int64(1)]], 0)
    expanded = af.reshape(x, af.where_v2(new > np.int64(0), np.int64(1), af.gather(source, own)))
    count = 1 if shape_of(axes) == () else _length(axes)
    return expanded if count is None else af.ensure_shape(expanded, [None] * (rank_of(x) + count))
