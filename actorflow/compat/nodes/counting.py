"""Nodes that count integers by rows: of matrices, of ragged and of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow as af
from actorflow.compat.nodes.ragged import row_ids
from actorflow.graph.graphdef.rewrites.attributes import Attributes
from actorflow.graph.tensor import Tensor


def _counts(a: Attributes, rows: Tensor, ids: Tensor, values: Tensor, size: Tensor, weights: Tensor) -> Tensor:
    """`[rows, size]`: how often each integer comes in each row, or the sum of its weights; larger integers are left out."""
    size, values, ids = (af.cast(tensor, af.int64) for tensor in (size, values, ids))
    with af.control_dependencies([af.assert_non_negative(values, message="Counted integers are zero or more.")]):
        inside = values < size
    places = af.boolean_mask(ids * size + values, inside)
    is_weighted = weights.static_shape != (0,) and not a("binary_output", False)
    each = af.boolean_mask(af.reshape(weights, [-1]), inside) if is_weighted else af.ones_like(places, weights.dtype)
    flat = af.unsorted_segment_sum(each, places, af.cast(rows, af.int64) * size)
    if a("binary_output", False):
        flat = af.cast(flat > 0, weights.dtype)
    return af.reshape(flat, af.stack([af.cast(rows, af.int64), size]))


def _dense(a: Attributes, t: Sequence[Any]) -> Any:
    values, size, weights = t
    rank = None if values.static_shape is None else len(values.static_shape)
    if rank is None or rank > 2:
        raise a.refuse("counts in a tensor of an unknown rank")
    shape = af.shape(values, out_type=af.int64)
    flat = af.reshape(values, [-1])
    if rank < 2:
        return _counts(a, af.constant(1), af.zeros_like(flat), flat, size, weights)[0]
    ids = af.range_(af.size(flat, out_type=af.int64)) // af.maximum(shape[1], 1)
    return _counts(a, shape[0], ids, flat, size, weights)


def _ragged(a: Attributes, t: Sequence[Any]) -> Any:
    splits, values, size, weights = t
    return _counts(a, af.size(splits) - 1, row_ids(splits), values, size, weights)


def _sparse(a: Attributes, t: Sequence[Any]) -> Any:
    indices, values, shape, size, weights = t
    rank = None if shape.static_shape is None else shape.static_shape[0]
    if rank not in (1, 2):
        raise a.refuse("counts in a tensor of an unknown rank")
    if rank == 1:
        return _counts(a, af.constant(1), af.zeros_like(values), values, size, weights)[0]
    return _counts(a, shape[0], indices[:, 0], values, size, weights)


FORMS = {"DenseBincount": _dense, "RaggedBincount": _ragged, "SparseBincount": _sparse}
"""For each op how it is built."""
