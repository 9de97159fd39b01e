"""Rows put together, chosen, and computed with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import actorflow as af
from actorflow.compat.ragged.tensor import RaggedTensor


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of `op` for the values of ragged tensors, in their rows. The run checks that their rows are the same.

    Args:
        op: a function that keeps the first dimension.
        args, kwargs: its arguments, of which some are ragged, or lists of such.
    """
    rows: list[RaggedTensor] = []

    def flat(value: Any) -> Any:
        if isinstance(value, RaggedTensor):
            rows.append(value)
            return value.flat_values
        return [flat(each) for each in value] if isinstance(value, list) else value

    plain, named = [flat(arg) for arg in args], {key: flat(value) for key, value in kwargs.items()}
    if not rows:
        return op(*args, **kwargs)
    if len({each.ragged_rank for each in rows}) > 1:
        raise ValueError("The ragged tensors have several numbers of levels.")
    checks = [
        af.assert_equal(mine, theirs, message="Inputs must have identical ragged splits")
        for other in rows[1:]
        for mine, theirs in zip(rows[0].nested_row_splits, other.nested_row_splits)
        if mine is not theirs
    ]
    with af.control_dependencies(checks):
        return rows[0].with_flat_values(op(*plain, **named))


def stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """Tensors of several lengths, or ragged tensors, as the rows of a ragged tensor.

    Args:
        values: tensors of one rank, or ragged tensors of a single level.
        axis: 0: each is a row.
        name: a scope.

    Raises:
        ValueError: another axis, or nothing to stack.
    """
    values = values if isinstance(values, (list, tuple)) else [values]
    if axis != 0 or not values:
        raise ValueError(f"tf.ragged.stack takes at least a value, and axis=0, not {axis}.")
    with af.name_scope(name, "RaggedStack"):
        rows = [each if isinstance(each, RaggedTensor) else af.convert_to_tensor(each) for each in values]
        if not any(isinstance(each, RaggedTensor) for each in rows):
            lengths = af.stack([af.shape(each, out_type=af.int64)[0] for each in rows])
            return RaggedTensor.from_row_lengths(af.concat(rows, 0), lengths, validate=False)
        ragged = [each if isinstance(each, RaggedTensor) else RaggedTensor.from_tensor(each) for each in rows]
        counts = af.stack([each.nrows(af.int64) for each in ragged])
        inner = RaggedTensor.from_row_lengths(
            af.concat([each.values for each in ragged], 0),
            af.concat([af.cast(each.row_lengths(), af.int64) for each in ragged], 0),
            validate=False,
        )
        return RaggedTensor.from_row_lengths(inner, counts, validate=False)


def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> Any:
    """The values of each part as a row.

    Args:
        data: a tensor.
        partitions: the number of the part of each value, a vector.
        num_partitions: how many parts there are.
        name: a scope.
    """
    with af.name_scope(name, "SegmentStack"):
        data, parts = af.convert_to_tensor(data), af.convert_to_tensor(partitions)
        order = af.argsort(parts, stable=True)
        return RaggedTensor.from_value_rowids(
            af.gather(data, order), af.cast(af.gather(parts, order), af.int64), af.cast(num_partitions, af.int64)
        )


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The values whose mask is true, in their rows.

    Args:
        data: a tensor or a ragged tensor.
        mask: as `data`, or of fewer dimensions; ragged where `data` is.
        name: a scope.
    """
    with af.name_scope(name, "RaggedMask"):
        if isinstance(data, RaggedTensor) and not isinstance(mask, RaggedTensor):
            return _of_rows(data, af.convert_to_tensor(mask, af.bool))
        if not isinstance(mask, RaggedTensor):
            mask = af.convert_to_tensor(mask, af.bool)
            data = af.convert_to_tensor(data)
            if len(mask.static_shape or ()) <= 1:
                return af.boolean_mask(data, mask)
            lengths = af.reduce_sum(af.cast(mask, af.int64), -1)
            kept = RaggedTensor.from_row_lengths(af.boolean_mask(data, mask), af.reshape(lengths, [-1]), validate=False)
            return kept if len(mask.static_shape or ()) == 2 else _nested_in(kept, mask)
        inner = data.values if isinstance(data, RaggedTensor) else RaggedTensor.from_tensor(data).values
        if mask.ragged_rank > 1:
            return mask.with_values(boolean_mask(inner, mask.values))
        return _masked(inner, mask)


def _of_rows(data: RaggedTensor, mask: Any) -> Any:
    lengths = af.boolean_mask(data.row_lengths(), mask)
    kept = boolean_mask(data.values, af.gather(mask, data.value_rowids()))
    return RaggedTensor.from_row_lengths(kept, lengths, validate=False)


def _nested_in(rows: RaggedTensor, mask: Any) -> RaggedTensor:
    for size in reversed(mask.static_shape[1:-1]):
        count = af.size(rows.row_splits, out_type=af.int64) - 1
        rows = RaggedTensor.from_row_splits(rows, af.range_(0, count + 1, af.cast(size, af.int64)), validate=False)
    return rows


def _masked(values: Any, mask: RaggedTensor) -> Any:
    kept = af.cast(mask.flat_values, af.int64)
    ends = af.concat([af.zeros([1], af.int64), af.cumsum(kept)], 0)
    return RaggedTensor.from_row_splits(
        boolean_mask(values, mask.flat_values),
        af.cast(af.gather(ends, mask.row_splits), mask.row_splits.dtype),
        validate=False,
    )
