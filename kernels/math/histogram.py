"""Kernels of counts and histograms."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError


@kernel("Bincount")
def bincount(xp: Any, arr: Any, size: Any, weights: Any) -> Any:
    length = int(size)
    if length < 0:
        raise InvalidArgumentError(f"The length of the counts is zero or more, but is {length}.")
    if weights.size and weights.shape != arr.shape:
        raise InvalidArgumentError(f"There are weights of shape {weights.shape} for values of shape {arr.shape}.")
    flat, counted = arr.reshape(-1), weights.reshape(-1)
    if flat.size and flat.min() < 0:
        raise InvalidArgumentError(f"Counted values are zero or more, but one is {int(flat.min())}.")
    if flat.size and flat.max() >= length:
        kept = flat < length
        flat, counted = flat[kept], counted[kept] if weights.size else counted
    if not weights.size:
        return xp.bincount(flat, minlength=length).astype(weights.dtype)
    counts = xp.zeros(length, weights.dtype)
    xp.add.at(counts, flat, counted)
    return counts


@kernel("HistogramFixedWidth")
def histogram_fixed_width(xp: Any, values: Any, value_range: Any, nbins: Any, *, dtype: DType) -> Any:
    count = int(nbins)
    if count < 1:
        raise InvalidArgumentError(f"A histogram needs one bin or more, not {count}.")
    if value_range.shape != (2,):
        raise InvalidArgumentError(f"The range is a vector of two numbers, but its shape is {value_range.shape}.")
    low, high = value_range.tolist()
    if not low < high:
        raise InvalidArgumentError(f"The range has to go up, but it goes from {low} to {high}.")
    flat = values.reshape(-1)
    if (flat != flat).any():
        raise InvalidArgumentError("A value is NaN, which is in no bin.")
    inside = xp.clip(flat.astype(xp.float64), low, high) - low
    bins = xp.minimum((inside / ((high - low) / count)).astype(xp.int64), count - 1)
    return xp.bincount(bins, minlength=count).astype(dtype.numpy_dtype)
