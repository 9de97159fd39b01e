"""Kernels of ops that put tensors together and take them apart. The parts are views, but for the columns of small matrices."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import ELEMENTWISE, Gpu
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.array.join import resolve_sizes

from ..strings.objects import moving_kernel
from .shape import axis_in

_FEW = 16
"""Tensors that are put together singly."""
_COPIED = 4096
"""Elements of a matrix whose columns are copied."""


@moving_kernel("ConcatV2", gpu=Gpu(host=(-1,), follows=True))
def concat(xp: Any, values: Any, axis: Any, *, out: Any = None) -> Any:
    if xp is np and out is None and not values[0].flags.c_contiguous:
        # numpy keeps the order of the elements of what it joins, in which others then read slowly.
        at = axis_in(int(axis), values[0].ndim)
        shape = list(values[0].shape)
        shape[at] = sum([value.shape[at] for value in values])
        out = np.empty(shape, values[0].dtype)
    return xp.concatenate(values, int(axis), out)


@moving_kernel("Split", gpu=Gpu(host=(1,), follows=True, recorded=True))
def split(xp: Any, value: Any, axis: Any, *, num_split: int) -> Any:
    whole = value.shape[axis_in(int(axis), value.ndim)]
    if whole % num_split:
        raise ValueError(
            f"Number of ways to split should evenly divide the split dimension, but got {num_split} for a size of {whole}."
        )
    return parts(value, int(axis), [whole // num_split] * num_split)


@moving_kernel("SplitV", gpu=Gpu(host=(1, 2), follows=True, recorded=True))
def split_v(xp: Any, value: Any, sizes: Any, axis: Any, *, num_split: int) -> Any:
    cuts = cuts_of(value.shape, sizes, axis, num_split)
    return value[cuts[0]] if len(cuts) == 1 else tuple([value[cut] for cut in cuts])


def cuts_of(shape: Any, sizes: Any, axis: Any, num_split: int) -> tuple[tuple[slice, ...], ...]:
    """The indices of the pieces of a tensor that have these sizes along `axis`.

    Raises:
        ValueError: there is no such axis, or the sizes don't fit it.
    """
    if sizes.size != num_split:
        raise ValueError(f"{num_split} parts need as many sizes, but {sizes.tolist()} was given.")
    at = axis_in(int(axis), len(shape))
    return _cuts(at, len(shape), _resolved(tuple(sizes.tolist()), shape[at]))


@functools.lru_cache(maxsize=1024)
def _resolved(sizes: tuple[int, ...], whole: int) -> tuple[int | None, ...]:
    return tuple(resolve_sizes(np.array(sizes), whole))


def parts(value: Any, axis: int, sizes: Any) -> Any:
    """Consecutive pieces along `axis`: a tuple, or the one piece itself."""
    cuts = _cuts(axis, value.ndim, tuple(sizes))
    return value[cuts[0]] if len(cuts) == 1 else tuple([value[cut] for cut in cuts])


@functools.lru_cache(maxsize=1024)
def _cuts(axis: int, rank: int, sizes: tuple[int, ...]) -> tuple[tuple[slice, ...], ...]:
    """The indices of pieces of these sizes along `axis`."""
    before = (slice(None),) * axis_in(axis, rank)
    ends = list(itertools.accumulate(sizes))
    return tuple([(*before, slice(end - size, end)) for size, end in zip(sizes, ends)])


@moving_kernel("Pack", gpu=Gpu(follows=True))
def pack(xp: Any, values: Any, *, axis: int, out: Any = None) -> Any:
    if out is None and values[0].ndim == 0 and values[0].dtype != object:
        return xp.array(values, values[0].dtype)
    shape = values[0].shape
    if xp is not np or len(values) > _FEW or values[0].dtype == object or any(value.shape != shape for value in values):
        return xp.stack(values, axis, out)
    # numpy's function takes longer to look at its arguments than to copy a few small arrays.
    at = axis_in(axis, len(shape) + 1)
    if out is None:
        out = np.empty((*shape[:at], len(values), *shape[at:]), values[0].dtype)
    before = (slice(None),) * at
    for number, value in enumerate(values):
        out[(*before, number)] = value
    return out


@moving_kernel("Unpack", gpu=ELEMENTWISE)
def unpack(xp: Any, value: Any, *, num: int, axis: int) -> Any:
    before = (slice(None),) * axis_in(axis, value.ndim)
    if value.shape[len(before)] != num:
        raise ValueError(f"Dimension {axis} of {value.shape} is to be unstacked into {num} parts.")
    if num == 1:
        return value[(*before, 0)]
    if xp is np and value.ndim == 2 and len(before) == 1 and value.size <= _COPIED:
        return tuple(value.T.copy())  # what is in order is computed faster than columns, and by kernels in C
    return tuple([value[(*before, i)] for i in range(num)])


@kernel("ShapeN")
def shape_n(xp: Any, inputs: Any, *, out_type: DType) -> Any:
    return tuple(np.array(np.shape(x), out_type.numpy_dtype) for x in inputs)


@kernel("ConcatOffset")
def concat_offset(xp: Any, concat_dim: Any, shapes: Any) -> Any:
    sizes = [np.asarray(s) for s in shapes]
    axis = axis_in(int(concat_dim), len(sizes[0]))
    if any(len(s) != len(sizes[0]) or (np.delete(s, axis) != np.delete(sizes[0], axis)).any() for s in sizes):
        raise InvalidArgumentError(f"Tensors of the shapes {[s.tolist() for s in sizes]} can't be joined along {axis}.")
    starts = itertools.accumulate([int(s[axis]) for s in sizes[:-1]], initial=0)
    offsets = []
    for start, size in zip(starts, sizes, strict=True):
        offset = np.zeros_like(size)
        offset[axis] = start
        offsets.append(offset)
    return tuple(offsets)
