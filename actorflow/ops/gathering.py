"""Ops that pick elements by their indices, and put them back: gather, scatter, masks, partition and stitch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.dtypes import INDEX, NUMERIC, int32
from actorflow.graph.convert import convert_to_tensor, symbolic_dtype
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.building import composite, known_value, or_zeros, outputs_of
from actorflow.ops.joining import concat
from actorflow.ops.shape_rules import at_least_rank, from_value
from actorflow.ops.shaping import rank, reshape, shape, size, squeeze, transpose
from actorflow.registry.op import op
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, compatible, merge, normalize_axis, show

# ---- gather


def _gathered(c: Inference) -> Shape:
    params, indices = at_least_rank(c, 0, 1), c.shapes[1]
    return None if params is None or indices is None else (*indices, *params[1:])


def _gathered_along(c: Inference) -> Shape:
    params, indices, axis = c.shapes[0], c.shapes[1], c.value(2)
    at_least_rank(c, 0, 1)
    if params is None or indices is None:
        return None
    if axis is None:
        return (None,) * (len(params) - 1 + len(indices))
    at = normalize_axis(int(axis), len(params))
    return (*params[:at], *indices, *params[at + 1 :])


@op("Gather", shape=_gathered, types={"indices": INDEX})
def gather_op(params: TensorLike, indices: TensorLike, *, name: str | None = None) -> Tensor:
    """The rows of `params` that `indices` name. See `gather`."""


@op("GatherV2", shape=_gathered_along, types={"indices": INDEX, "axis": INDEX})
def gather_v2_op(params: TensorLike, indices: TensorLike, axis: TensorLike, *, name: str | None = None) -> Tensor:
    """The slices of `params` along `axis` that `indices` name. See `gather`."""


@gather_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [_gathered_rows(node, dy), None]


def _gathered_rows(node: Operation, dy: Tensor) -> Any:
    """The gradient of rows that were picked: as rows, so that a large table need not be touched whole."""
    from actorflow.autodiff.indexed_slices import IndexedSlices

    params, indices = node.inputs[:2]
    full = shape(params)
    count, known = size(indices), params.static_shape
    if known is not None and None not in known[1:]:
        values = reshape(dy, [count, *known[1:]])
    else:
        values = reshape(dy, concat([reshape(count, [1]), full[1:]], 0))
    return IndexedSlices(values, reshape(indices, [-1]), full)


@gather_v2_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """Along another axis than the first: that axis is brought to the front, and equal indices are added up."""
    from actorflow.ops.filling import range_
    from actorflow.ops.segment import unsorted_segment_sum

    params, indices, axis = node.inputs
    at = known_value(axis)
    if at is not None and int(at) == 0:
        return [_gathered_rows(node, dy), None, None]
    if at is not None and params.static_shape is not None:
        axis = convert_to_tensor(np.int32(int(at) % len(params.static_shape)), graph=dy.graph)
    else:
        axis = (axis + rank(params)) % rank(params)
    full = shape(params)
    before, after = full[:axis], full[axis + 1 :]
    # dy is (before, indices, after): in three parts (before, n, after), then n first.
    flat = reshape(dy, concat([before, reshape(size(indices), [1]), after], 0))
    dimensions = rank(params)
    order = concat([reshape(axis, [1]), range_(axis), range_(axis + 1, dimensions)], 0)
    back = concat([range_(axis) + 1, [0], range_(axis + 1, dimensions)], 0)
    summed = unsorted_segment_sum(transpose(flat, order), reshape(indices, [-1]), full[axis])
    return [transpose(summed, back), None, None]


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike = 0,
) -> Tensor:
    """The slices of `params` along `axis` that `indices` name (`tf.gather`).

    Args:
        params: of shape (before, n, after), where n is the size of `axis`.
        indices: int32 or int64, each in [0, n).

    Returns:
        A tensor of shape (before, the shape of indices, after). Its gradient along axis 0 is an `IndexedSlices`.

    Raises:
        InvalidArgumentError: an index outside [0, n), in the run.
    """
    if isinstance(axis, int) and axis == 0:
        return gather_op(params, indices, name=name or "GatherV2")
    return gather_v2_op(params, indices, axis, name=name)


def _gathered_points(c: Inference) -> Shape:
    params, indices = at_least_rank(c, 0, 1), at_least_rank(c, 1, 1)
    if params is None or indices is None or indices[-1] is None:
        return None
    if indices[-1] > len(params):
        raise ValueError(f"Indices of {indices[-1]} numbers are too many for {show(params)}.")
    return (*indices[:-1], *params[indices[-1] :])


@op("GatherNd", shape=_gathered_points, types={"indices": INDEX})
def gather_nd(params: TensorLike, indices: TensorLike, *, name: str | None = None) -> Tensor:
    """The elements or slices of `params` at points: `indices[..., :]` indexes its first dimensions (`tf.gather_nd`).

    The shape is that of `indices` without its last dimension, and then those of `params` that a point leaves open.
    Raises InvalidArgumentError in the run for a point outside.
    """


@gather_nd.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    params, indices = node.inputs
    if indices.static_shape is not None and len(indices.static_shape) == 2 and indices.static_shape[-1] == 1:
        from actorflow.autodiff.indexed_slices import IndexedSlices

        return [IndexedSlices(dy, squeeze(indices, -1), shape(params)), None]
    return [scatter_nd(indices, dy, shape(params, out_type=indices.dtype)), None]


def _scattered(c: Inference) -> Shape:
    wanted, indices, updates = from_value(2)(c), at_least_rank(c, 0, 1), c.shapes[1]
    if wanted is not None and indices is not None and indices[-1] is not None and updates is not None:
        if indices[-1] > len(wanted):
            raise ValueError(f"Indices of {indices[-1]} numbers are too many for {show(wanted)}.")
        if not compatible(updates, (*indices[:-1], *wanted[indices[-1] :])):
            raise ValueError(
                f"Updates of shape {show(updates)} don't fit indices {show(indices)} into a result {show(wanted)}."
            )
    return wanted


@op("ScatterNd", shape=_scattered, dtypes=NUMERIC, types={"indices": INDEX, "shape": INDEX})
def scatter_nd(indices: TensorLike, updates: TensorLike, shape: TensorLike, *, name: str | None = None) -> Tensor:
    """Zeros of `shape` with `updates` added at the points `indices[..., :]` (`tf.scatter_nd`); equal points add up.

    Raises ValueError where the shapes don't fit, and InvalidArgumentError in the run for a point outside.
    """


@scatter_nd.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [None, gather_nd(dy, node.inputs[0]), None]


def boolean_mask(tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None) -> Tensor:
    """The elements or slices of `tensor` for which `mask` is true (`tf.boolean_mask`).

    Args:
        mask: a bool tensor of rank 1 or more, of the shape of `tensor` from dimension `axis` (0) on.

    Returns:
        `tensor` with the dimensions of the mask replaced by one, as long as the mask has true elements.

    Raises:
        ValueError: the mask is a scalar, its rank is not known, or the shapes differ.
    """
    from actorflow.ops.logic import where

    with composite(name, "boolean_mask", tensor, mask):
        source, chosen = convert_to_tensor(tensor), convert_to_tensor(mask)
        over = chosen.static_shape
        if over is None:
            raise ValueError("boolean_mask needs a mask of known rank.")
        if over == ():
            raise ValueError("boolean_mask needs a mask of rank 1 or more, not a scalar.")
        first = axis or 0
        if source.static_shape is not None:
            first = normalize_axis(first, len(source.static_shape))
            merge(source.static_shape[first : first + len(over)], over)
        full = shape(source)
        flat = reshape(source, concat([full[:first], [-1], full[first + len(over) :]], 0))
        found = gather(flat, squeeze(where(reshape(chosen, [-1])), [1]), axis=first)
        if source.static_shape is not None:
            found.set_shape((*source.static_shape[:first], None, *source.static_shape[first + len(over) :]))
        return found


# ---- partition and stitch


def _partitioned(c: Inference) -> list[Shape]:
    data, partitions, count = c.shapes[0], c.shapes[1], c.attrs["num_partitions"]
    if count < 1:
        raise ValueError(f"dynamic_partition makes one part or more, not {count}.")
    if data is None or partitions is None:
        return [None] * count
    if len(partitions) > len(data) or not compatible(data[: len(partitions)], partitions):
        raise ValueError(
            f"The shape of the data, {show(data)}, has to begin with that of the partitions, {show(partitions)}."
        )
    return [(None, *data[len(partitions) :])] * count


@op(
    "DynamicPartition",
    shape=_partitioned,
    types={"partitions": int32},
    result=lambda c: (c.dtypes[0],) * c.attrs["num_partitions"],
)
def dynamic_partition_op(
    data: TensorLike, partitions: TensorLike, *, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The elements of `data` in `num_partitions` parts. See `dynamic_partition`."""


@dynamic_partition_op.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    """The positions are parted in the same way, which says where each gradient belongs."""
    from actorflow.ops.filling import range_

    data, partitions = node.inputs
    count = node.get_attr("num_partitions")
    positions = reshape(range_(size(partitions)), shape(partitions))
    came_from = dynamic_partition(positions, partitions, count)
    joined = dynamic_stitch(came_from, or_zeros(dys, node.outputs))
    return [reshape(joined, shape(data)), None]


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """`num_partitions` tensors: part i has the elements of `data` whose entry in `partitions` is i (`tf.dynamic_partition`).

    Raises ValueError where the shape of `data` does not begin with that of `partitions`, and InvalidArgumentError in the
    run for an entry outside [0, num_partitions).
    """
    return outputs_of(dynamic_partition_op(data, partitions, num_partitions=num_partitions, name=name))


def _stitched_type(c: Inference) -> Any:
    count = len(c.dtypes) // 2
    indices, data = c.dtypes[:count], c.dtypes[count:]
    if len(c.dtypes) % 2 or not data:
        raise TypeError(
            f"dynamic_stitch takes one tensor or more, each with its indices, but got {len(c.dtypes)} inputs."
        )
    if any(d is not int32 for d in indices) or any(d is not data[0] for d in data):
        raise TypeError("dynamic_stitch takes indices of type int32, and data of one type.")
    return data[0]


def _stitched(c: Inference) -> Shape:
    count = len(c.shapes) // 2
    element: Shape = None
    largest: int | None = -1
    for i in range(count):
        indices, data = c.shapes[i], c.shapes[count + i]
        if indices is not None and data is not None:
            if not compatible(data[: len(indices)], indices) or len(data) < len(indices):
                raise ValueError(
                    f"The shape of data {i}, {show(data)}, has to begin with that of its indices, {show(indices)}."
                )
            element = merge(element, data[len(indices) :])
        value = c.value(i)
        if value is None or largest is None:
            largest = None
        elif value.size:
            largest = max(largest, int(value.max()))
    return None if element is None else (None if largest is None else largest + 1, *element)


@op("DynamicStitch", shape=_stitched, result=_stitched_type)
def dynamic_stitch_op(inputs: Sequence[Any], *, name: str | None = None) -> Tensor:
    """One tensor of several: `inputs` are the tensors of indices, then as many of data. See `dynamic_stitch`."""


@dynamic_stitch_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    count = len(node.inputs) // 2
    return [None] * count + [gather(dy, indices) for indices in node.inputs[:count]]


def dynamic_stitch(indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Puts the elements of the tensors `data` where `indices` say: result[indices[m][i]] = data[m][i] (`tf.dynamic_stitch`).

    Where an index comes twice, the later one wins. The result has as many rows as the largest index plus one.

    Raises:
        ValueError: there are not as many tensors of indices, or a shape does not begin with that of its indices.
        InvalidArgumentError: a negative index, in the run.
    """
    if len(indices) != len(data):
        raise ValueError(f"dynamic_stitch: {len(indices)} tensors of indices for {len(data)} of data.")
    with composite(name, "DynamicStitch", *indices, *data) as scope:
        places = [convert_to_tensor(i, int32) for i in indices]
        kind = next((d for v in data if (d := symbolic_dtype(v)) is not None), None)
        parts = [convert_to_tensor(d, kind) for d in data]
        return dynamic_stitch_op([*places, *parts], name=scope)
