"""Kernels of searches in sorted rows."""

from __future__ import annotations

from typing import Any

from actorflow.dtypes import DType
from actorflow.registry.kernel import kernel


def _search(xp: Any, rows: Any, values: Any, side: str, out_type: DType) -> Any:
    if rows.ndim != 2 or values.ndim != 2 or len(rows) != len(values):
        raise ValueError(f"searchsorted: the rows {rows.shape} don't fit the values {values.shape}.")
    found = xp.empty(values.shape, out_type.as_numpy_dtype)
    for place, row, wanted in zip(found, rows, values):
        place[...] = xp.searchsorted(row, wanted, side)
    if side == "left" and values.dtype.kind in "fV":
        found[values != values] = 0  # nothing is less than a NaN, which numpy puts behind all
    return found


@kernel("LowerBound")
def lower_bound(xp: Any, rows: Any, values: Any, *, out_type: DType) -> Any:
    return _search(xp, rows, values, "left", out_type)


@kernel("UpperBound")
def upper_bound(xp: Any, rows: Any, values: Any, *, out_type: DType) -> Any:
    return _search(xp, rows, values, "right", out_type)
