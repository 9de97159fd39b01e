"""Kernels of reductions over groups of picked rows."""

from __future__ import annotations

from typing import Any

from actorflow.base.registry.kernel import kernel

from ..array.gather import accumulate
from ..math.segment import check_order


@kernel("SparseSegmentSum", "SparseSegmentSumWithNumSegments")
def sparse_segment_sum(xp: Any, data: Any, indices: Any, ids: Any, count: Any = None) -> Any:
    return _sums(xp, data, indices, ids, count)[0]


@kernel("SparseSegmentMean", "SparseSegmentMeanWithNumSegments")
def sparse_segment_mean(xp: Any, data: Any, indices: Any, ids: Any, count: Any = None) -> Any:
    total, lengths = _sums(xp, data, indices, ids, count)
    return (total / lengths.astype(total.dtype)).astype(data.dtype)


@kernel("SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments")
def sparse_segment_sqrt_n(xp: Any, data: Any, indices: Any, ids: Any, count: Any = None) -> Any:
    total, lengths = _sums(xp, data, indices, ids, count)
    return (total / xp.sqrt(lengths.astype(total.dtype))).astype(data.dtype)


def _sums(xp: Any, data: Any, indices: Any, ids: Any, count: Any) -> tuple[Any, Any]:
    """The sum of each segment, and how many rows it has (1 for none) in a column."""
    if data.ndim == 0 or indices.ndim != 1 or ids.shape != indices.shape:
        raise ValueError(
            f"Rows of shape {data.shape} are picked by a vector of indices (the shape is {indices.shape}), each of which "
            f"has one segment id (the shape is {ids.shape})."
        )
    outside = (indices < 0) | (indices >= data.shape[0])
    if outside.any():
        at = int(outside.argmax())
        raise ValueError(f"indices[{at}] == {int(indices[at])} out of range [0, {data.shape[0]})")
    check_order(ids)
    least = int(ids[-1]) + 1 if ids.size else 0
    length = least if count is None else int(count)
    if length < least:
        raise ValueError(f"segment ids must be < num_segments, but {least - 1} is not below {length}.")
    total = xp.zeros((length, *data.shape[1:]), data.dtype)
    if total.size and ids.size:
        accumulate(xp, xp.add, total.reshape(length, -1), ids, data[indices].reshape(ids.size, -1))
    lengths = xp.maximum(xp.bincount(ids, minlength=length), 1)
    return total, lengths.reshape((length,) + (1,) * (data.ndim - 1))
