"""Kernels that multiply, divide or bound rows of a variable, and those that change elements or slices of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import InvalidArgumentError
from actorflow.graph.constant_value import python_index
from actorflow.graph.ops.array.scatter import check_updates

from .scatter import flat_rows, update


def _opened(xp: Any, ref: VariableState, indices: Any, updates: Any) -> tuple[Any, Any, Any]:
    buffer = ref.writable()
    return buffer, *flat_rows(xp, buffer, indices, updates)


@update("ScatterMul")
def scatter_mul(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer, at, rows = _opened(xp, ref, indices, updates)
    xp.multiply.at(buffer, at, rows)


@update("ScatterDiv")
def scatter_div(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer, at, rows = _opened(xp, ref, indices, updates)
    if buffer.dtype.kind not in "iu":
        xp.divide.at(buffer, at, rows)
        return
    if not rows.all():
        raise InvalidArgumentError("An integer is divided by zero.")
    for index, row in zip(at.tolist(), rows):
        buffer[index] = _truncated(xp, buffer[index], row)


def _truncated(xp: Any, x: Any, y: Any) -> Any:
    """x / y, rounded towards zero."""
    quotient = x // y
    return quotient + ((x % y != 0) & ((x < 0) != (y < 0))).astype(quotient.dtype)


@update("ScatterMin")
def scatter_min(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer, at, rows = _opened(xp, ref, indices, updates)
    xp.minimum.at(buffer, at, rows)


@update("ScatterMax")
def scatter_max(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer, at, rows = _opened(xp, ref, indices, updates)
    xp.maximum.at(buffer, at, rows)


# ---- elements and slices by full indices


def _places(xp: Any, ref: VariableState, indices: Any, updates: Any) -> tuple[Any, Any, Any]:
    """The buffer as [places, elements of each], the number of each update's place, and the updates as rows.

    Raises InvalidArgumentError where an index is outside, or the shapes don't fit."""
    buffer = ref.writable()
    depth = indices.shape[-1] if indices.ndim else 0
    if not 0 < depth <= buffer.ndim:
        raise InvalidArgumentError(
            f"Indices of shape {indices.shape} have {depth} numbers each; a variable of shape {buffer.shape} takes 1 to "
            f"{buffer.ndim}."
        )
    if updates.shape != indices.shape[:-1] + buffer.shape[depth:]:
        try:
            check_updates(updates.shape, indices.shape, buffer.shape, "input")
        except ValueError as error:
            raise InvalidArgumentError(str(error)) from None
    flat = indices.reshape(-1, depth)
    limits = xp.asarray(buffer.shape[:depth], flat.dtype)
    outside = ((flat < 0) | (flat >= limits)).any(axis=1)
    if outside.any():
        at = int(outside.argmax())
        raise InvalidArgumentError(f"indices[{at}] = {flat[at].tolist()} does not index into shape {buffer.shape}.")
    numbers = xp.ravel_multi_index(tuple(flat.T), buffer.shape[:depth]) if len(flat) else xp.zeros(0, np.intp)
    places = buffer.reshape(int(np.prod(buffer.shape[:depth])), -1) if buffer.size else buffer.reshape(0, 1)
    return places, numbers, updates.reshape(len(flat), -1) if updates.size else updates.reshape(0, 1)


@update("ScatterNdUpdate")
def scatter_nd_update(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer, at, rows = _places(xp, ref, indices, updates)
    if rows.size:
        buffer[at] = rows


@update("ScatterNdAdd")
def scatter_nd_add(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer, at, rows = _places(xp, ref, indices, updates)
    if rows.size:
        xp.add.at(buffer, at, rows)


@update("ScatterNdSub")
def scatter_nd_sub(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer, at, rows = _places(xp, ref, indices, updates)
    if rows.size:
        xp.subtract.at(buffer, at, rows)


# ---- a slice


@kernel("ResourceStridedSliceAssign")
def strided_slice_assign(
    xp: Any,
    ref: VariableState,
    begin: Any,
    end: Any,
    strides: Any,
    value: Any,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> None:
    buffer = ref.writable()
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    index = python_index(begin, end, strides, masks)
    try:
        shape = np.shape(buffer[index])
    except IndexError as error:
        raise InvalidArgumentError(f"Slice index out of bounds: {error}") from None
    try:
        fitting = np.broadcast_to(value, shape)
    except ValueError:
        raise InvalidArgumentError(
            f"The slice has shape {shape}, to which a value of shape {np.shape(value)} does not broadcast."
        ) from None
    buffer[index] = fitting


@kernel("StridedSliceAssign")
def strided_slice_assign_and_read(
    xp: Any,
    ref: VariableState,
    begin: Any,
    end: Any,
    strides: Any,
    value: Any,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    strided_slice_assign(
        xp,
        ref,
        begin,
        end,
        strides,
        value,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )
    return ref.read()
