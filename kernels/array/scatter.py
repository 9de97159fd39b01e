"""Kernels that copy a tensor and change some of its elements or slices."""

from __future__ import annotations

import math
from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.graph.ops.array.scatter import check_updates

from ..strings.objects import moving_kernel
from .gather import accumulate, row_numbers


def _copied(xp: Any, tensor: Any, indices: Any, updates: Any, out: Any) -> tuple[Any, Any, Any]:
    """The copy, its slices as rows of a matrix, and the number of the row for each point."""
    depth = indices.shape[-1] if indices.ndim else len(tensor.shape) + 1
    if not tensor.size or depth > tensor.ndim or updates.shape != indices.shape[:-1] + tensor.shape[depth:]:
        check_updates(updates.shape, indices.shape, tensor.shape)
    if out is None:
        out = xp.empty(tensor.shape, tensor.dtype)
    out[...] = tensor
    outer = tensor.shape[:depth]
    numbers = row_numbers(indices, outer)
    return out, out.reshape(math.prod(outer), math.prod(tensor.shape[depth:])), numbers


@moving_kernel("TensorScatterUpdate")
def update(xp: Any, tensor: Any, indices: Any, updates: Any, *, out: Any = None) -> Any:
    out, rows, numbers = _copied(xp, tensor, indices, updates, out)
    # Of equal indices the last assignment stays.
    rows[numbers] = updates.reshape(len(numbers), rows.shape[1])
    return out


def _combined(xp: Any, ufunc: Any, tensor: Any, indices: Any, updates: Any, out: Any) -> Any:
    out, rows, numbers = _copied(xp, tensor, indices, updates, out)
    if out.size and numbers.size:
        accumulate(xp, ufunc, rows, numbers, updates)
    return out


@kernel("TensorScatterAdd")
def add(xp: Any, tensor: Any, indices: Any, updates: Any, *, out: Any = None) -> Any:
    return _combined(xp, xp.add, tensor, indices, updates, out)


@kernel("TensorScatterSub")
def subtract(xp: Any, tensor: Any, indices: Any, updates: Any, *, out: Any = None) -> Any:
    return _combined(xp, xp.subtract, tensor, indices, updates, out)


def _ignoring_nan(xp: Any, updates: Any, neutral: float) -> Any:
    """An update that is NaN changes nothing, but a NaN in the tensor stays, as both compare as false."""
    unequal = updates != updates
    return xp.where(unequal, updates.dtype.type(neutral), updates) if unequal.any() else updates


@kernel("TensorScatterMin")
def minimum(xp: Any, tensor: Any, indices: Any, updates: Any, *, out: Any = None) -> Any:
    return _combined(xp, xp.minimum, tensor, indices, _ignoring_nan(xp, updates, math.inf), out)


@kernel("TensorScatterMax")
def maximum(xp: Any, tensor: Any, indices: Any, updates: Any, *, out: Any = None) -> Any:
    return _combined(xp, xp.maximum, tensor, indices, _ignoring_nan(xp, updates, -math.inf), out)
