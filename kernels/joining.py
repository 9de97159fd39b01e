"""Kernels of ops that put tensors together and take them apart. The parts are views."""

from __future__ import annotations

from typing import Any

from actorflow.ops.joining import resolve_sizes

from .shaping import axis_in
from .strings import moving_kernel


@moving_kernel("ConcatV2")
def concat(xp: Any, values: Any, axis: Any, *, out: Any = None) -> Any:
    return xp.concatenate(values, int(axis), out)


@moving_kernel("Split")
def split(xp: Any, value: Any, axis: Any, *, num_split: int) -> Any:
    whole = value.shape[axis_in(int(axis), value.ndim)]
    if whole % num_split:
        raise ValueError(f"A dimension of {whole} can't be split into {num_split} equal parts.")
    return parts(value, int(axis), [whole // num_split] * num_split)


@moving_kernel("SplitV")
def split_v(xp: Any, value: Any, sizes: Any, axis: Any, *, num_split: int) -> Any:
    if sizes.size != num_split:
        raise ValueError(f"{num_split} parts need as many sizes, but {sizes.tolist()} was given.")
    return parts(value, int(axis), resolve_sizes(sizes, value.shape[axis_in(int(axis), value.ndim)]))


def parts(value: Any, axis: int, sizes: Any) -> Any:
    """Consecutive pieces along `axis`: a tuple, or the one piece itself."""
    before = (slice(None),) * axis_in(axis, value.ndim)
    found, first = [], 0
    for size in sizes:
        found.append(value[(*before, slice(first, first + size))])
        first += size
    return found[0] if len(found) == 1 else tuple(found)


@moving_kernel("Pack")
def pack(xp: Any, values: Any, *, axis: int, out: Any = None) -> Any:
    if out is None and values[0].ndim == 0 and values[0].dtype != object:
        return xp.array(values, values[0].dtype)
    return xp.stack(values, axis, out)


@moving_kernel("Unpack")
def unpack(xp: Any, value: Any, *, num: int, axis: int) -> Any:
    before = (slice(None),) * axis_in(axis, value.ndim)
    if value.shape[len(before)] != num:
        raise ValueError(f"Dimension {axis} of {value.shape} is to be unstacked into {num} parts.")
    return value[(*before, 0)] if num == 1 else tuple([value[(*before, i)] for i in range(num)])
