"""Gathering from each entry of leading dimensions by itself: what `gather` and `gather_nd` do with `batch_dims`."""

from __future__ import annotations

from typing import Any

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.gathering import gather
from actorflow.ops.joining import concat
from actorflow.ops.shaping import broadcast_to, expand_dims, rank, reshape, shape, transpose
from actorflow.public import public


@public("af")
def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """`params[..., indices[..., i]]`, all dimensions of `indices` but the last being common to both (`tf.batch_gather`).

    Raises ValueError where the rank of `indices` is not known or is 0, or the leading dimensions differ;
    InvalidArgumentError in the run, also for an index outside.
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
    from actorflow.ops.cast import cast
    from actorflow.ops.filling import range_
    from actorflow.ops.reduction import reduce_prod
    from actorflow.ops.segment import unsorted_segment_sum

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
    from actorflow.ops.cast import cast
    from actorflow.ops.filling import range_

    known = indices.static_shape
    if known is None:
        raise ValueError("gather_nd with batch_dims needs indices of a known rank.")
    batch = batch_dims + len(known) if batch_dims < 0 else batch_dims
    if not 0 <= batch < len(known):
        raise ValueError(f"gather_nd: batch_dims={batch_dims} does not fit indices of rank {len(known)}.")
    outer: Any = concat([shape(indices)[:-1], [1]], 0)
    sizes, columns = shape(params), []
    for i in range(batch):
        along = reshape(cast(range_(sizes[i]), indices.dtype), [-1 if j == i else 1 for j in range(len(known))])
        columns.append(broadcast_to(along, outer))
    return concat([*columns, indices], -1)
