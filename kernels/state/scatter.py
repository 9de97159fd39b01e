"""Kernels that change some rows of a variable, count it up, or read it if it has a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import InvalidArgumentError, OutOfRangeError

Change: TypeAlias = Callable[[Any, VariableState, Any, Any], None]


def flat_rows(xp: Any, buffer: Any, indices: Any, values: Any) -> tuple[Any, Any]:
    """The indices as a vector, and one row of `values` for each; a single number stands for all.

    Raises:
        InvalidArgumentError: an index is outside the variable, or the rows have another shape than its rows.
    """
    if buffer.ndim == 0:
        raise InvalidArgumentError("A scalar variable has no rows that indices could name.")
    indices, values = xp.asarray(indices), xp.asarray(values)
    if values.ndim and values.shape != indices.shape + buffer.shape[1:]:
        raise InvalidArgumentError(
            f"Rows of a variable of shape {buffer.shape} at indices of shape {indices.shape} have the shape "
            f"{indices.shape + buffer.shape[1:]}, but the values have {values.shape}."
        )
    flat = indices.reshape(-1)
    # A negative index would count from the end here, which is an error in TensorFlow.
    outside = (flat < 0) | (flat >= buffer.shape[0])
    if outside.any():
        at = int(outside.argmax())
        raise InvalidArgumentError(f"indices[{at}] = {int(flat[at])} is not in [0, {buffer.shape[0]}).")
    rows = (flat.size, *buffer.shape[1:])
    return flat, values.reshape(rows) if values.ndim else xp.broadcast_to(values, rows)


def sum_duplicates(xp: Any, indices: Any, rows: Any) -> tuple[Any, Any]:
    """Each index once, with the sum of its rows."""
    order = xp.argsort(indices, kind="stable")
    ordered = indices[order]
    starts = xp.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    if starts.size + 1 >= indices.size:
        return indices, rows
    starts = xp.concatenate([xp.zeros(1, starts.dtype), starts])
    return ordered[starts], xp.add.reduceat(rows[order], starts, axis=0)


def update(op: str) -> Callable[[Change], Change]:
    """Registers a function that changes rows or elements of a variable: as the kernel of `Resource{op}`, and, with the value that
    the variable has then, as that of `op`."""

    def decorate(change: Change) -> Change:
        kernel(f"Resource{op}")(change)

        @kernel(op)
        def change_and_read(xp: Any, ref: VariableState, indices: Any, updates: Any) -> Any:
            change(xp, ref, indices, updates)
            return ref.read()

        return change

    return decorate


@update("ScatterUpdate")
def scatter_update(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer = ref.writable()
    at, rows = flat_rows(xp, buffer, indices, updates)
    buffer[at] = rows


@update("ScatterAdd")
def scatter_add(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer = ref.writable()
    at, rows = sum_duplicates(xp, *flat_rows(xp, buffer, indices, updates))
    buffer[at] += rows


@update("ScatterSub")
def scatter_sub(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
    buffer = ref.writable()
    at, rows = sum_duplicates(xp, *flat_rows(xp, buffer, indices, updates))
    buffer[at] -= rows


@kernel("CountUpTo")
def count_up_to(xp: Any, ref: VariableState, *, limit: int) -> Any:
    buffer = ref.writable()
    before = buffer[()]
    if before >= limit:
        raise OutOfRangeError(f"Reached limit of {limit}: the variable {ref.name!r} is not counted further.")
    buffer += 1
    return before


@kernel("ReadVariableOr")
def read_or(xp: Any, ref: VariableState, otherwise: Any) -> Any:
    return ref.read() if ref.initialized else np.asarray(otherwise)
