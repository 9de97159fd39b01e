"""The device type GPU, and its kernels of ops that the CPU's kernels check by looking at values.

A GPU takes those kernels for every device whose trait `gpu` says so (`actorflow.base.registry.traits`). Kernels that look at
values can't be among them: on a GPU the host does not wait for values.

As on TensorFlow's GPUs, an index that is out of range picks zeros, a label that is out of range makes the loss NaN, and a
division of integers by zero gives zero.
"""

from __future__ import annotations

import math
from typing import Any

from actorflow.base.dtypes import FLOATING, INTEGER, STRING, bfloat16
from actorflow.base.registry.kernel import kernel, own_memory
from actorflow.base.registry.traits import ELEMENTWISE, Gpu

from ..array.shape import axis_in
from ..flow.send_recv import copying

GPU = "GPU"

own_memory(GPU, without=(*STRING, bfloat16))
copying(GPU)


@kernel("Const", device=GPU)
def const(xp: Any, *, value: Any) -> Any:
    return value  # whoever computes with it brings it


def _inside(indices: Any, size: int) -> Any:
    return (indices >= 0) & (indices < size)


def _picked(xp: Any, params: Any, indices: Any, axis: int) -> Any:
    size = params.shape[axis]
    if not size:
        return xp.zeros(params.shape[:axis] + indices.shape + params.shape[axis + 1 :], params.dtype)
    inside = _inside(indices, size)
    rows = xp.take(params, xp.where(inside, indices, 0), axis)
    after = params.ndim - axis - 1
    return xp.where(inside.reshape(indices.shape + (1,) * after), rows, params.dtype.type(0))


@kernel("Gather", device=GPU, gpu=Gpu(follows=True))
def gather(xp: Any, params: Any, indices: Any) -> Any:
    if params.ndim == 0:
        raise ValueError("gather picks from a tensor of rank 1 or more, not from a scalar.")
    return _picked(xp, params, indices, 0)


@kernel("GatherV2", device=GPU, gpu=Gpu(host=(2,), follows=True))
def gather_v2(xp: Any, params: Any, indices: Any, axis: Any, *, batch_dims: int) -> Any:
    at = axis_in(axis.item(), params.ndim)
    batch_dims += indices.ndim if batch_dims < 0 else 0
    if not batch_dims:
        return _picked(xp, params, indices, at)
    batches = params.shape[:batch_dims]
    if indices.shape[:batch_dims] != batches:
        raise ValueError(f"The batches of the shapes {params.shape} and {indices.shape} differ.")
    moved = xp.moveaxis(params, at, batch_dims)
    rest = moved.shape[batch_dims + 1 :]
    flat = moved.reshape(math.prod(batches), moved.shape[batch_dims], *rest)
    places = indices.reshape(flat.shape[0], math.prod(indices.shape[batch_dims:]))
    inside = _inside(places, flat.shape[1])
    rows = flat[xp.arange(flat.shape[0])[:, None], xp.where(inside, places, 0)]
    rows = xp.where(inside.reshape(inside.shape + (1,) * len(rest)), rows, params.dtype.type(0))
    several = indices.ndim - batch_dims
    return xp.moveaxis(
        rows.reshape(batches + indices.shape[batch_dims:] + rest),
        tuple(range(batch_dims, batch_dims + several)),
        tuple(range(at, at + several)),
    )


@kernel("OneHot", device=GPU, gpu=Gpu(host=(1,)))
def one_hot(xp: Any, indices: Any, depth: Any, on: Any, off: Any, *, axis: int) -> Any:
    if depth < 0:
        raise ValueError(f"The depth of one_hot is zero or more, but is {int(depth)}.")
    at = axis_in(axis, indices.ndim + 1)
    classes = xp.arange(int(depth)).reshape((-1,) + (1,) * (indices.ndim - at))
    return xp.where(xp.expand_dims(indices, at) == classes, on, off)


# ---- divisions of integers


def _divided(xp: Any, function: Any, x: Any, y: Any) -> Any:
    zero = y == 0
    kind = x.dtype.type
    return xp.where(zero, kind(0), function(x, xp.where(zero, kind(1), y)))


@kernel("FloorDiv", device=GPU, dtypes=FLOATING, gpu=ELEMENTWISE)
def floor_div(xp: Any, x: Any, y: Any) -> Any:
    return xp.floor(x / y)


@kernel("FloorDiv", device=GPU, dtypes=INTEGER, gpu=ELEMENTWISE)
def floor_div_integers(xp: Any, x: Any, y: Any) -> Any:
    return _divided(xp, xp.floor_divide, x, y)


@kernel("FloorMod", device=GPU, dtypes=FLOATING, gpu=ELEMENTWISE)
def floor_mod(xp: Any, x: Any, y: Any) -> Any:
    return x % y


@kernel("FloorMod", device=GPU, dtypes=INTEGER, gpu=ELEMENTWISE)
def floor_mod_integers(xp: Any, x: Any, y: Any) -> Any:
    return _divided(xp, xp.remainder, x, y)


@kernel("Pow", device=GPU, dtypes=FLOATING, gpu=ELEMENTWISE)
def power(xp: Any, x: Any, y: Any) -> Any:
    return xp.power(x, y)
