"""Kernels of ops that ask for a shape or change it. All but the questions give views."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import ELEMENTWISE, Gpu
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.array.shape import infer_empty

from ..strings.objects import moving_kernel


@kernel("Shape", gpu=Gpu(anywhere=True, recorded=True), packed="read")
def shape(xp: Any, x: Any, *, out_type: DType) -> Any:
    return np.array(np.shape(x), out_type.numpy_dtype)


@kernel("Size", gpu=Gpu(anywhere=True, recorded=True), packed="read")
def size(xp: Any, x: Any, *, out_type: DType) -> Any:
    return out_type.numpy_dtype.type(np.size(x))


@kernel("Rank", gpu=Gpu(anywhere=True, recorded=True), packed="read")
def rank(xp: Any, x: Any) -> Any:
    return np.int32(np.ndim(x))


@moving_kernel("Reshape", gpu=Gpu(host=(1,), follows=True, recorded=True))
def reshape(xp: Any, x: Any, shape: Any) -> Any:
    sizes = _sizes(x, shape)
    try:
        return x.reshape(sizes)
    except ValueError:
        requirement = f"requires a multiple of {-math.prod(sizes)}" if -1 in sizes else f"has {math.prod(sizes)}"
        shape_text = f"[{','.join(map(str, sizes))}]"
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {x.size} values, but the requested shape {requirement}: {shape_text}."
        ) from None


def _sizes(x: Any, vector: Any) -> list[int]:
    """The sizes in a vector, of which one may be -1."""
    if vector.ndim != 1:
        raise ValueError(f"A shape is a vector of sizes, but {vector.tolist()} was given.")
    sizes: list[int] = vector.tolist()
    if sizes and (least := min(sizes)) < 0:
        # numpy takes any negative number for the size to find, and finds none for a tensor without elements.
        if least < -1:
            raise ValueError(f"The sizes of a shape are zero or more, or -1 once, but {sizes} was given.")
        if 0 in sizes:
            sizes[sizes.index(-1)] = infer_empty(x.shape, sizes)
    return sizes


@functools.lru_cache(maxsize=1024)
def new_axis(axis: int, rank: int) -> tuple[slice | None, ...]:
    """The index that puts a dimension in at `axis`."""
    return (slice(None),) * axis_in(axis, rank + 1) + (None,)


def axis_in(axis: int, rank: int) -> int:
    """`axis` counted from the front. Raises ValueError for a dimension that does not exist."""
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
    return axis % rank


@moving_kernel("ExpandDims", gpu=Gpu(host=(1,), follows=True, recorded=True))
def expand_dims(xp: Any, x: Any, axis: Any) -> Any:
    return x[new_axis(axis.item(), x.ndim)]


@moving_kernel("Squeeze", gpu=ELEMENTWISE)
def squeeze(xp: Any, x: Any, *, axis: tuple[int, ...]) -> Any:
    return x.squeeze(axis or None)


@moving_kernel("Transpose", gpu=Gpu(host=(1,), follows=True, recorded=True))
def transpose(xp: Any, x: Any, perm: Any) -> Any:
    return x.transpose(perm.tolist())


@moving_kernel("BroadcastTo", gpu=Gpu(host=(1,), recorded=True))
def broadcast_to(xp: Any, x: Any, shape: Any) -> Any:
    return xp.broadcast_to(x, shape.tolist())


@functools.lru_cache(maxsize=1024)
def backwards(axes: tuple[int, ...], rank: int) -> tuple[slice, ...]:
    """The index that reverses `axes`."""
    chosen = {axis_in(axis, rank) for axis in axes}
    if len(chosen) != len(axes):
        raise ValueError(f"The axes {list(axes)} name a dimension twice.")
    return tuple(slice(None, None, -1) if i in chosen else slice(None) for i in range(rank))


@moving_kernel("ReverseV2", gpu=Gpu(host=(1,), follows=True, recorded=True))
def reverse(xp: Any, x: Any, axis: Any) -> Any:
    return x[backwards(tuple(axis.reshape(-1).tolist()), x.ndim)]


@kernel("BroadcastArgs", gpu=Gpu(host=(0, 1), follows=True))
def broadcast_shapes(xp: Any, left: Any, right: Any) -> Any:
    if left.ndim != 1 or right.ndim != 1:
        raise ValueError(f"Shapes are vectors, but {left.tolist()} and {right.tolist()} were given.")
    return np.array(np.broadcast_shapes(tuple(left.tolist()), tuple(right.tolist())), left.dtype)


@kernel("UnravelIndex")
def unravel_index(xp: Any, indices: Any, dims: Any) -> Any:
    if indices.ndim > 1 or dims.ndim != 1:
        raise ValueError(f"unravel_index takes a scalar or vector and a vector, not {indices.shape} and {dims.shape}.")
    whole = math.prod(dims.tolist())
    if indices.size and not (0 <= indices.min() and indices.max() < whole):
        raise ValueError(
            f"The indices {indices.tolist()} are not all in [0, {whole}), as the sizes {dims.tolist()} ask."
        )
    return xp.stack(xp.unravel_index(indices, dims.tolist())).astype(indices.dtype)


@kernel("Bitcast")
def bitcast(xp: Any, x: Any, *, type: DType) -> Any:
    target = type.numpy_dtype
    old, new = x.dtype.itemsize, target.itemsize
    if old == new:
        return x.view(target)
    if old > new:
        return xp.ascontiguousarray(x[..., None]).view(target)
    if x.shape[-1:] != (new // old,):
        raise ValueError(f"The last dimension of {x.shape} has to be {new // old}.")
    return xp.ascontiguousarray(x).view(target)[..., 0]
