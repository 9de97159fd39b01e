"""Nodes of ragged tensors: rows of several lengths, as the values of all rows and the places where rows begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow as af
from actorflow.graph.graphdef.rewrites.attributes import Attributes
from actorflow.graph.tensor import Tensor


def row_ids(splits: Tensor) -> Tensor:
    """The number of the row of each value, int64, from the splits: the beginnings of all rows and the end of the last."""
    starts = af.cast(splits, af.int64)
    count = starts[-1]
    marks = af.scatter_nd(starts[1:-1, None], af.ones_like(starts[1:-1]), af.reshape(count + 1, [1]))
    return af.cumsum(marks)[:count]


def _splits(ids: Tensor, rows: Tensor) -> Tensor:
    """The splits of rows, their beginnings and the last end, from the number of the row of each value."""
    lengths = af.unsorted_segment_sum(af.ones_like(ids), ids, rows)
    return af.concat([af.zeros([1], af.int64), af.cumsum(lengths)], 0)


def _levels(a: Attributes, t: Sequence[Any]) -> Any:
    """The number of rows, and for each level its splits and the number of the row of each value."""
    partitions = [af.cast(tensor, af.int64) for tensor in t]
    kinds = [kind.decode() if isinstance(kind, bytes) else str(kind) for kind in a("row_partition_types")]
    levels: list[tuple[Tensor, Tensor]] = []
    rows = partitions[0] if kinds[0] == "FIRST_DIM_SIZE" else af.size(partitions[0], out_type=af.int64) - 1
    count = rows
    for kind, partition in zip(kinds, partitions):
        if kind == "FIRST_DIM_SIZE":
            continue
        if kind == "ROW_SPLITS":
            splits, ids = partition, row_ids(partition)
        elif kind == "VALUE_ROWIDS":
            splits, ids = _splits(partition, count), partition
        else:
            raise a.refuse(f"has rows by {kind}")
        levels.append((splits, ids))
        count = af.size(ids, out_type=af.int64)
    return rows, levels


def _places(levels: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """For each dimension the place of each value."""
    splits, ids = levels[0]
    places = [ids, af.range_(af.size(ids, out_type=af.int64)) - af.gather(splits, ids)]
    for splits, ids in levels[1:]:
        within = af.range_(af.size(ids, out_type=af.int64)) - af.gather(splits, ids)
        places = [*(af.gather(place, ids) for place in places), within]
    return places


def _longest(splits: Tensor) -> Tensor:
    return af.reduce_max(af.concat([[af.constant(0, af.int64)], splits[1:] - splits[:-1]], 0))


def _to_tensor(a: Attributes, t: Sequence[Any]) -> Any:
    """`RaggedTensorToTensor`: for each place of the result a table has the number of a value, or the number of the default."""
    shape, values, default = t[:3]
    rows, levels = _levels(a, t[3:])
    return _padded(shape, rows, levels, values, default)


def dense(nested: Sequence[Tensor], values: Tensor, default: Tensor) -> Tensor:
    """A tensor as long as the longest rows, whose other places have the default.

    Args:
        nested: the splits of all levels, the outermost first, int64.
        values: the values below all levels.
        default: a value.
    """
    rows = af.size(nested[0], out_type=af.int64) - 1
    return _padded(af.constant(-1), rows, [(splits, row_ids(splits)) for splits in nested], values, default)


def _padded(
    shape: Tensor, rows: Tensor, levels: Sequence[tuple[Tensor, Tensor]], values: Tensor, default: Tensor
) -> Tensor:
    sizes = af.stack([rows, *(_longest(splits) for splits, _ in levels)])
    dims = len(levels) + 1
    shape = af.cast(shape, af.int64)
    if shape.static_shape is None or shape.static_shape:
        sizes = af.where_v2(shape[:dims] >= 0, shape[:dims], sizes)
    places = af.stack(_places(levels), 1)
    fits = af.reduce_all(places < sizes, 1)
    count = af.size(places[:, 0], out_type=af.int64)
    numbers = af.boolean_mask(af.range_(count) - count, fits)
    table = af.scatter_nd(af.boolean_mask(places, fits), numbers, sizes) + count
    inner = af.shape(values)[1:]
    rest = af.broadcast_to(default, inner) if default.dtype.kind != "S" else _filled(default, inner)
    return af.gather(af.concat([values, rest[None]], 0), table)


def _filled(text: Tensor, shape: Tensor) -> Tensor:
    return af.reshape(af.tile(af.reshape(text, [-1]), [af.reduce_prod(shape)]), shape)


def _to_sparse(a: Attributes, t: Sequence[Any]) -> Any:
    *nested, values = t
    if values.static_shape is None:
        raise a.refuse("has values of an unknown rank")
    return sparse([af.cast(splits, af.int64) for splits in nested], values)


def sparse(nested: Sequence[Tensor], values: Tensor) -> list[Tensor]:
    """The places, the values and the shape of a sparse tensor with a value for each value.

    Args:
        nested: the splits of all levels, the outermost first, int64.
        values: the values below all levels, of a known rank.
    """
    levels = [(splits, row_ids(splits)) for splits in nested]
    rows = af.size(levels[0][0], out_type=af.int64) - 1
    sizes = [rows, *(_longest(splits) for splits, _ in levels)]
    places = af.stack(_places(levels), 1)
    inner = af.shape(values, out_type=af.int64)[1:]
    if len(values.static_shape or ()) > 1:
        each = af.reduce_prod(inner)
        within = af.transpose(af.unravel_index(af.range_(each), inner))
        count = af.size(places[:, 0])
        outer = af.reshape(af.tile(places[:, None], [1, af.cast(each, af.int32), 1]), [-1, len(levels) + 1])
        places = af.concat([outer, af.tile(within, [count, 1])], 1)
    return [places, af.reshape(values, [-1]), af.concat([af.stack(sizes), inner], 0)]


def _range(a: Attributes, t: Sequence[Any]) -> Any:
    splits, values = ranges(*t)
    return [af.cast(splits, a("Tsplits", af.int64)), values]


def ranges(starts: Tensor, limits: Tensor, deltas: Tensor) -> tuple[Tensor, Tensor]:
    """The splits, int64, and the values of a row of numbers for each start.

    Args:
        starts, limits, deltas: of one type; each a vector, or a scalar for all rows.
    """
    zeros = af.zeros_like(starts + limits + deltas)
    starts, limits, deltas = starts + zeros, limits + zeros, deltas + zeros
    with af.control_dependencies([af.assert_none_equal(deltas, af.zeros_like(deltas), message="A delta is not zero.")]):
        starts, limits, deltas = (af.reshape(tensor, [-1]) for tensor in (starts, limits, deltas))
    steps = af.cast(af.ceil(af.cast(limits - starts, af.float64) / af.cast(deltas, af.float64)), af.int64)
    ends = af.cumsum(af.maximum(steps, 0))
    splits = af.concat([af.zeros([1], af.int64), ends], 0)
    ids = row_ids(splits)
    within = af.range_(af.size(ids, out_type=af.int64)) - af.gather(splits, ids)
    values = af.gather(starts, ids) + af.cast(within, starts.dtype) * af.gather(deltas, ids)
    return splits, values


def _gather(a: Attributes, t: Sequence[Any]) -> Any:
    """`RaggedGather`: the chosen rows, level by level; the values of a level are the rows of the next."""
    *nested, values, chosen = t
    if chosen.static_shape is None or len(chosen.static_shape) != 1:
        raise a.refuse("chooses rows by indices that are no vector")
    kept: list[Tensor] = []
    chosen = af.cast(chosen, af.int64)
    for splits in nested:
        starts, ends = af.gather(splits[:-1], chosen), af.gather(splits[1:], chosen)
        begins = af.concat([af.zeros([1], splits.dtype), af.cumsum(ends - starts)], 0)
        ids = row_ids(begins)
        within = af.range_(af.size(ids, out_type=af.int64)) - af.cast(af.gather(begins, ids), af.int64)
        chosen = af.cast(af.gather(starts, ids), af.int64) + within
        kept.append(begins)
    return [*kept, af.gather(values, chosen)]


FORMS = {
    "RaggedGather": _gather,
    "RaggedRange": _range,
    "RaggedTensorToSparse": _to_sparse,
    "RaggedTensorToTensor": _to_tensor,
}
"""For each op how it is built."""
