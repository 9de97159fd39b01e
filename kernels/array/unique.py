"""Kernels of distinct elements and differences of lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel

# ---- sets


def _distinct(x: Any, out_idx: DType) -> tuple[Any, Any, Any]:
    """The distinct elements in the order in which they first appear, for each element which it is, and the counts."""
    if x.ndim != 1:
        raise ValueError(f"unique takes a vector, but the shape is {x.shape}.")
    values, first, which, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    kind = out_idx.numpy_dtype
    return values[order], rank[which].astype(kind), counts[order].astype(kind)


@kernel("Unique")
def unique(xp: Any, x: Any, *, out_idx: DType) -> Any:
    return _distinct(x, out_idx)[:2]


@kernel("UniqueWithCounts")
def unique_with_counts(xp: Any, x: Any, *, out_idx: DType) -> Any:
    return _distinct(x, out_idx)


@kernel("ListDiff")
def list_diff(xp: Any, x: Any, y: Any, *, out_idx: DType) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"setdiff1d takes vectors, but the shapes are {x.shape} and {y.shape}.")
    places = np.flatnonzero(~np.isin(x, y))
    return x[places], places.astype(out_idx.numpy_dtype)
