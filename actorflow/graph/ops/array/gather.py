"""Ops that pick elements by their indices, and put them back: gather, scatter, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import INDEX, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge, normalize_axis, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import broadcast_to, expand_dims, rank, reshape, shape, size, squeeze, transpose
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import at_least_rank, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- gather


def _gathered(c: Inference) -> Shape:
    params, indices = at_least_rank(c, 0, 1), c.shapes[1]
    return None if params is None or indices is None else (*indices, *params[1:])


def _gathered_along(c: Inference) -> Shape:
    params, indices, axis = c.shapes[0], c.shapes[1], c.value(2)
    batch: int = c.attrs["batch_dims"]
    at_least_rank(c, 0, 1)
    if params is None or indices is None:
        return None
    if not -len(indices) <= batch <= len(indices):
        raise ValueError(f"gather: batch_dims={batch} are too many for indices of shape {show(indices)}.")
    batch = batch + len(indices) if batch < 0 else batch
    if axis is None:
        return (None,) * (len(params) - 1 + len(indices) - batch)
    if not -len(params) <= axis < len(params):
        least = int(axis) + 1 if axis >= 0 else -int(axis)
        raise ValueError(
            f"Shape must be at least rank {least} but is rank {len(params)}: Expected axis in the range "
            f"[{-len(params)}, {len(params)}), but got {int(axis)}"
        )
    at = normalize_axis(int(axis), len(params))
    if at < batch:
        raise ValueError(f"gather: axis {at} is one of the {batch} batch dimensions.")
    shared: Any = merge(params[:batch], indices[:batch])
    return (*shared, *params[batch:at], *indices[batch:], *params[at + 1 :])


@op("Gather", shape=_gathered, types={"indices": INDEX})
def gather_op(params: TensorLike, indices: TensorLike, *, name: str | None = None) -> Tensor:
    """The rows of `params` that `indices` name. See `gather`."""


@op("GatherV2", shape=_gathered_along, types={"indices": INDEX, "axis": INDEX})
def gather_v2_op(
    params: TensorLike, indices: TensorLike, axis: TensorLike, *, batch_dims: int = 0, name: str | None = None
) -> Tensor:
    """The slices of `params` along `axis` that `indices` name. See `gather`."""


@gather_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [_gathered_rows(node, dy), None]


def _gathered_rows(node: Operation, dy: Tensor) -> Any:
    """The gradient of rows that were picked: as rows, so that a large table need not be touched whole."""
    from actorflow.graph.ops.indexed_slices import IndexedSlices

    params, indices = node.inputs[:2]
    full = shape(params)
    count, static_shape = size(indices), params.static_shape
    if static_shape is not None and None not in static_shape[1:]:
        values = reshape(dy, [count, *static_shape[1:]])
    else:
        values = reshape(dy, concat([reshape(count, [1]), full[1:]], 0))
    return IndexedSlices(values, reshape(indices, [-1]), full)


@gather_v2_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """Along another axis than the first: that axis is brought to the front, and equal indices are added up."""
    from actorflow.graph.ops.math.cumulative import range_
    from actorflow.graph.ops.math.segment import unsorted_segment_sum

    params, indices, axis = node.inputs
    at = known_value(axis)
    if node.get_attr("batch_dims"):
        return [gradient_in_batches(params, indices, axis, node.get_attr("batch_dims"), dy), None, None]
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


@public("af")
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """The slices of `params` along `axis` that `indices` name (`tf.gather`).

    Example:
        >>> af.gather([10, 20, 30], [2, 0, 2])
        [30 10 30]
        >>> af.gather([[1, 2, 3], [4, 5, 6]], [2, 0], axis=1)
        [[3 1]
         [6 4]]

    Args:
        params: of shape (before, n, after), where n is the size of `axis`.
        indices: int32 or int64, each in [0, n).
        validate_indices: taken, and not used: indices are always checked.
        axis: `batch_dims` by default.
        batch_dims: how many leading dimensions are common to `params` and `indices`; each of their entries is gathered
            from by itself. A negative number counts from the rank of `indices`.

    Returns:
        A tensor of shape (before, the shape of indices without the batch dimensions, after). Its gradient along axis 0
        is an `IndexedSlices`.

    Raises:
        ValueError: the axis is a batch dimension, or those differ. InvalidArgumentError where only the run knows.
        InvalidArgumentError: an index outside [0, n), in the run.
    """
    if (
        batch_dims < 0
        and (static_shape := convert_to_tensor(indices).static_shape)
        and -batch_dims <= len(static_shape)
    ):
        batch_dims += len(static_shape)
    along = batch_dims if axis is None else axis
    if isinstance(along, int) and along == 0 and batch_dims == 0:
        return gather_op(params, indices, name=name or "GatherV2")
    return gather_v2_op(params, indices, along, batch_dims=batch_dims, name=name)


def _gathered_points(c: Inference) -> Shape:
    params, indices = at_least_rank(c, 0, 1), at_least_rank(c, 1, 1)
    if params is None or indices is None or indices[-1] is None:
        return None
    if indices[-1] > len(params):
        raise ValueError(f"Indices of {indices[-1]} numbers are too many for {show(params)}.")
    return (*indices[:-1], *params[indices[-1] :])


@op("GatherNd", shape=_gathered_points, types={"indices": INDEX})
def gather_nd_op(params: TensorLike, indices: TensorLike, *, name: str | None = None) -> Tensor:
    """The elements or slices of `params` at points. See `gather_nd`."""


@public("af", "tf.manip")
def gather_nd(params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """The elements or slices of `params` at points: `indices[..., :]` indexes its first dimensions (`tf.gather_nd`).

    Example:
        >>> af.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]])
        [2 3]
        >>> af.gather_nd([[1, 2], [3, 4]], [[1]])
        [[3 4]]

    Args:
        params: a tensor of rank 1 or more, of any type.
        indices: [..., d], int32 or int64: each point names an element, or a slice where d is less than the rank.
        batch_dims: how many leading dimensions are common to both; points index the dimensions after them.

    Returns:
        A tensor of the shape of `indices` without its last dimension, and then of the dimensions of `params` that a
        point leaves open.

    Raises:
        ValueError: the batch dimensions are not less than the rank of `indices`, which then has to be known.
        InvalidArgumentError: a point is outside, in the run.
    """
    if not batch_dims:
        return gather_nd_op(params, indices, name=name)

    with composite(name, "GatherNd", params, indices) as scope:
        source = convert_to_tensor(params)
        points = points_in_batches(source, convert_to_tensor(indices), batch_dims)
        return gather_nd_op(source, points, name=scope)


@gather_nd_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    params, indices = node.inputs
    if indices.static_shape is not None and len(indices.static_shape) == 2 and indices.static_shape[-1] == 1:
        from actorflow.graph.ops.indexed_slices import IndexedSlices

        return [IndexedSlices(dy, squeeze(indices, -1), shape(params)), None]
    from actorflow.graph.ops.array.scatter import scatter_nd

    return [scatter_nd(indices, dy, shape(params, out_type=indices.dtype)), None]


def _unraveled(c: Inference) -> Shape:
    indices, dims = c.shapes[0], require_rank(c, 1, 1)
    if indices is None:
        return None
    if len(indices) > 1:
        raise ValueError(f"unravel_index takes a scalar or a vector of indices, not {show(indices)}.")
    return (None if dims is None else dims[0], *indices)


@public("af")
@op("UnravelIndex", shape=_unraveled, dtypes=INDEX, gradient=None, prefer=int32)
def unravel_index(indices: TensorLike, dims: TensorLike, *, name: str | None = None) -> Tensor:
    """The point in a tensor of the sizes `dims` that each number of an element in row-major order names, one column an
    index (`tf.unravel_index`).

    `indices` is a scalar or a vector, of the type of the vector `dims`. Raises InvalidArgumentError in the run for an
    index that is negative (where TensorFlow makes up a point) or outside.

    Example:
        >>> af.unravel_index([0, 5], [2, 3])
        [[0 1]
         [0 2]]
    """


@public("af")
def boolean_mask(tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None) -> Tensor:
    """The elements or slices of `tensor` for which `mask` is true (`tf.boolean_mask`).

    Example:
        >>> af.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True])
        [[1 2]
         [5 6]]

    Args:
        tensor: a tensor of any type, of the rank of the mask or more.
        mask: a bool tensor of rank 1 or more, of the shape of `tensor` from dimension `axis` (0) on.
        axis: the first dimension that the mask chooses from; 0 by default.

    Returns:
        `tensor` with a single dimension in place of those of the mask, as long as the mask has true elements.

    Raises:
        ValueError: the mask is a scalar, its rank is not known, or the shapes differ.
    """
    from actorflow.graph.ops.math.logic import where

    with composite(name, "boolean_mask", tensor, mask):
        source, chosen = convert_to_tensor(tensor), convert_to_tensor(mask)
        over = chosen.static_shape
        if over is None:
            raise ValueError("Number of mask dimensions must be specified: boolean_mask needs a mask of known rank.")
        if over == ():
            raise ValueError("boolean_mask needs a mask of rank 1 or more, not a scalar.")
        first = axis or 0
        if source.static_shape is not None:
            first = normalize_axis(first, len(source.static_shape))
            masked = source.static_shape[first : first + len(over)]
            if not compatible(masked, over):
                raise ValueError(f"Shapes {show(masked)} and {show(over)} are incompatible: the mask has the second.")
        full = shape(source)
        flat = reshape(source, concat([full[:first], [-1], full[first + len(over) :]], 0))
        static_shape = gather(flat, squeeze(where(reshape(chosen, [-1])), [1]), axis=first)
        if source.static_shape is not None:
            static_shape.set_shape((*source.static_shape[:first], None, *source.static_shape[first + len(over) :]))
        return static_shape


# ---- Gathering from each entry of leading dimensions by itself: what `gather` and `gather_nd` do with `batch_dims`.


@public("af")
def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """`params[..., indices[..., i]]`, all dimensions of `indices` but the last being common to both (`tf.batch_gather`).

    Raises ValueError where the rank of `indices` is not known or is 0, or the leading dimensions differ;
    InvalidArgumentError in the run, also for an index outside.

    Example:
        >>> af.batch_gather([[1, 2, 3], [4, 5, 6]], [[2, 0], [1, 1]])
        [[3 1]
         [5 5]]
    """
    places = convert_to_tensor(indices)
    if not places.static_shape:
        raise ValueError(f"batch_gather needs indices of a known rank of 1 or more; {places.name} is none.")
    return gather(params, places, batch_dims=len(places.static_shape) - 1, name=name)


def gradient_in_batches(params: Tensor, indices: Tensor, axis: Tensor, batch_dims: int, dy: Tensor) -> Tensor:
    """The gradient of `params`: equal indices of one batch are added up.

    `dy` is seen as (batches, before, places, after). The rows of all batches are numbered on, so that one sum over
    segments serves them all.
    """
    from actorflow.graph.ops.math.cast import cast
    from actorflow.graph.ops.math.cumulative import range_
    from actorflow.graph.ops.math.reduction import reduce_prod
    from actorflow.graph.ops.math.segment import unsorted_segment_sum

    if batch_dims < 0:
        if indices.static_shape is None:
            raise ValueError("The gradient of gather with negative batch_dims needs indices of a known rank.")
        batch_dims += len(indices.static_shape)
    full, at = shape(params), (axis + rank(params)) % rank(params)
    count, size = reduce_prod(full[:batch_dims]), full[at]
    before, after = reduce_prod(full[batch_dims:at]), reduce_prod(full[at + 1 :])
    places = reduce_prod(shape(indices)[batch_dims:])
    rows = transpose(reshape(dy, [count, before, places, after]), [0, 2, 1, 3])
    starts = cast(range_(count) * size, indices.dtype)
    numbers = reshape(indices, [count, places]) + expand_dims(starts, 1)
    summed = unsorted_segment_sum(reshape(rows, [count * places, before, after]), reshape(numbers, [-1]), count * size)
    return reshape(transpose(reshape(summed, [count, size, before, after]), [0, 2, 1, 3]), full)


def points_in_batches(params: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    """`indices` with the position in each batch dimension before its own numbers."""
    from actorflow.graph.ops.math.cast import cast
    from actorflow.graph.ops.math.cumulative import range_

    rows = indices.static_shape
    if rows is None:
        raise ValueError("gather_nd with batch_dims needs indices of a known rank.")
    batch = batch_dims + len(rows) if batch_dims < 0 else batch_dims
    if not 0 <= batch < len(rows):
        raise ValueError(f"gather_nd: batch_dims={batch_dims} does not fit indices of rank {len(rows)}.")
    outer: Any = concat([shape(indices)[:-1], [1]], 0)
    sizes, columns = shape(params), []
    for i in range(batch):
        along = reshape(cast(range_(sizes[i]), indices.dtype), [-1 if j == i else 1 for j in range(len(rows))])
        columns.append(broadcast_to(along, outer))
    return concat([*columns, indices], -1)
