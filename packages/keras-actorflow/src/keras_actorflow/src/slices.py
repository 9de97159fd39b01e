"""Parts of tensors: read, and written into a new tensor."""

from __future__ import annotations

from typing import Any

import actorflow as af
from keras_actorflow.src import core
from keras_actorflow.src.sizes import sizes_of, vector


def scatter(indices: Any, values: Any, shape: Any) -> Any:
    """Zeros of a shape with values added at indices."""
    values = core.convert_to_tensor(values)
    return af.scatter_nd(core.convert_to_tensor(indices, "int32"), values, vector(shape))


def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: str | None = None) -> Any:
    """A copy of a tensor with updates at indices."""
    inputs = core.convert_to_tensor(inputs)
    indices = core.convert_to_tensor(indices, "int32")
    updates = core.convert_to_tensor(updates, inputs.dtype)
    if reduction is None:
        return af.tensor_scatter_nd_update(inputs, indices, updates)
    if reduction == "add":
        return af.tensor_scatter_nd_add(inputs, indices, updates)
    if reduction == "max":
        return af.tensor_scatter_nd_max(inputs, indices, updates)
    if reduction == "min":
        return af.tensor_scatter_nd_min(inputs, indices, updates)
    if reduction == "mul":
        return _multiplied(inputs, indices, updates)
    raise ValueError(f"Unsupported reduction: {reduction}")


def _multiplied(inputs: Any, indices: Any, updates: Any) -> Any:
    """Products of all updates of a place: places are numbered, and the updates of each number are one segment."""
    depth = int(indices.shape[-1])
    sizes = sizes_of(inputs)
    places = af.zeros(vector(sizes_of(indices)[:-1]), "int32")
    count = 1
    for axis in range(depth):
        place = indices[..., axis]
        places = places * sizes[axis] + af.where_v2(place < 0, place + sizes[axis], place)
        count *= sizes[axis]
    rows = af.reshape(updates, [-1, *sizes[depth:]])
    factors = af.unsorted_segment_prod(rows, af.reshape(places, [-1]), count)
    return inputs * af.reshape(factors, sizes)


def slice(inputs: Any, start_indices: Any, shape: Any) -> Any:
    """The part of a tensor that begins at some indices and has a shape."""
    inputs = core.convert_to_tensor(inputs)
    if (
        isinstance(shape, (list, tuple))
        and isinstance(start_indices, (list, tuple))
        and len(start_indices) != len(shape)
    ):
        raise ValueError(
            "Length of `start_indices` must match length of `shape`. "
            f"Received: start_indices={start_indices}, shape={shape}"
        )
    return af.slice_(inputs, vector(start_indices), vector(shape))


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    """A copy of a tensor whose part from some indices on has other values."""
    inputs = core.convert_to_tensor(inputs)
    updates = core.convert_to_tensor(updates, inputs.dtype)
    axes = [af.range_(size) for size in sizes_of(updates)]
    if not axes:
        return updates
    starts = vector(start_indices)
    grid = af.stack(af.meshgrid(*axes, indexing="ij"), axis=-1) + starts
    return af.tensor_scatter_nd_update(inputs, grid, updates)


def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[Any]:
    """The parts of a tensor along an axis."""
    return list(af.unstack(core.convert_to_tensor(x), num, axis))
