"""Kernels of ops that make a tensor larger around itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Gpu
from actorflow.graph.ops.array.pad_tile import check_mirror

from ..strings.objects import moving_kernel


def _checked(x: Any, paddings: Any) -> list[tuple[int, int]]:
    """The widths before and after each dimension. Raises ValueError for invalid paddings."""
    if paddings.shape != (x.ndim, 2):
        raise ValueError(f"Paddings of shape {paddings.shape} don't fit a tensor of shape {x.shape}.")
    if (paddings < 0).any():
        raise ValueError(f"Paddings must be non-negative, but {paddings.tolist()} was given.")
    return [(before, after) for before, after in paddings.tolist()]


def _framed(xp: Any, x: Any, paddings: Any, value: Any, out: Any) -> Any:
    widths = _checked(x, paddings)
    if out is None:
        out = xp.empty([before + size + after for size, (before, after) in zip(x.shape, widths)], x.dtype)
    out[...] = value
    inside = [slice(before, before + size) for size, (before, _) in zip(x.shape, widths)]
    out[(..., *inside)] = x  # without the dots, numpy puts an array of rank 0 itself into an array of objects
    return out


@moving_kernel("Pad", gpu=Gpu(host=(1,)))
def pad(xp: Any, x: Any, paddings: Any, *, out: Any = None) -> Any:
    return _framed(xp, x, paddings, b"" if x.dtype == object else 0, out)


@moving_kernel("PadV2", gpu=Gpu(host=(1,)))
def pad_v2(xp: Any, x: Any, paddings: Any, constant: Any, *, out: Any = None) -> Any:
    return _framed(xp, x, paddings, constant, out)


@moving_kernel("MirrorPad")
def mirror_pad(xp: Any, x: Any, paddings: Any, *, mode: str) -> Any:
    _checked(x, paddings)
    check_mirror(x.shape, paddings, mode)
    edge = int(mode == "REFLECT")
    result = x
    for axis, (before, after) in enumerate(paddings.tolist()):
        size = x.shape[axis]
        places = np.arange(-before, size + after)
        places = np.where(places < 0, -places - 1 + edge, places)
        places = np.where(places >= size, 2 * size - 1 - edge - places, places)
        result = result.take(xp.asarray(places), axis)
    return result if x.ndim else result.copy()


@kernel("MirrorPadGrad")
def mirror_pad_grad(xp: Any, dy: Any, paddings: Any, *, mode: str) -> Any:
    edge = int(mode == "REFLECT")
    frames = _checked(dy, paddings)
    for size, (before, after) in zip(dy.shape, frames):
        if size < before + after:
            raise ValueError(f"A dimension of {size} is too small for paddings {before} and {after}.")
    whole = dy.shape
    result = None  # later on the part of `dy` within the frames, to which the frames are added; the first axis with one copies
    for axis, (before, after) in enumerate(frames):
        if not before and not after:
            continue
        padded = (dy if result is None else result).swapaxes(0, axis)
        size = whole[axis] - before - after
        inside = [slice(None)] * dy.ndim
        inside[axis] = slice(before, before + size)
        result = dy[tuple(inside)].copy() if result is None else result[tuple(inside)]
        inner = result.swapaxes(0, axis)
        inner[edge : edge + before] += padded[:before][::-1]
        inner[size - edge - after : size - edge] += padded[before + size :][::-1]
    return dy.copy() if result is None else result


@moving_kernel("Tile", gpu=Gpu(host=(1,)))
def tile(xp: Any, x: Any, multiples: Any, *, out: Any = None) -> Any:
    times = multiples.tolist()
    if multiples.shape != (x.ndim,) or any(t < 0 for t in times):
        raise ValueError(f"The multiples {times} don't fit a tensor of shape {x.shape}.")
    if out is None:
        out = xp.empty([t * size for t, size in zip(times, x.shape)], x.dtype)
    # Each dimension as (copies, size): x is broadcast over the copies.
    pairs = [part for t, size in zip(times, x.shape) for part in (t, size)]
    xp.copyto(out.reshape(pairs), x.reshape([part for size in x.shape for part in (1, size)]))
    return out
