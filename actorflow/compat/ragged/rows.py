"""`Rows`: the factories of ragged tensors, by splits, lengths, places and numbers of rows, and of other tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af


class Rows:
    """The factories of `RaggedTensor`."""

    def __init__(self, values: Any, row_splits: Any, *, internal: bool = False) -> None:
        raise NotImplementedError

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """The number of rows; see `RaggedTensor`."""
        raise NotImplementedError

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True) -> Any:
        """Rows by the place of each row's first value, and the end of the last.

        Args:
            values: a tensor, or a ragged tensor.
            row_splits: a vector of int32 or int64.
            name: a scope.
            validate: whether the run checks the splits.
        """
        with af.name_scope(name, "RaggedFromRowSplits", [row_splits]):
            values = values if isinstance(values, Rows) else af.convert_to_tensor(values)
            splits = _splits(row_splits)
            if splits.static_shape is not None and len(splits.static_shape) != 1:
                raise ValueError(f"row_splits has to be a vector, and not of shape {splits.shape}.")
            if validate:
                begins = af.assert_equal(splits[:1], af.zeros_like(splits[:1]), message="Splits do not begin with 0.")
                grows = af.assert_less_equal(splits[:-1], splits[1:], message="Splits do not grow.")
                with af.control_dependencies([begins, grows]):
                    splits = af.identity(splits)
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True) -> Any:
        """Rows by their lengths.

        Args:
            values: a tensor, or a ragged tensor.
            row_lengths: a vector.
            name: a scope.
            validate: whether the run checks the lengths.
        """
        lengths = _splits(row_lengths)
        return cls.from_row_splits(
            values, af.concat([af.zeros([1], lengths.dtype), af.cumsum(lengths)], 0), name, validate
        )

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True) -> Any:
        """Rows by the place of each row's first value.

        Args:
            values: a tensor, or a ragged tensor.
            row_starts: a vector.
            name: a scope.
            validate: whether the run checks the places.
        """
        starts = _splits(row_starts)
        return cls.from_row_splits(values, af.concat([starts, [_count(values, starts.dtype)]], 0), name, validate)

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True) -> Any:
        """Rows by the end of each row.

        Args:
            values: a tensor, or a ragged tensor.
            row_limits: a vector.
            name: a scope.
            validate: whether the run checks the ends.
        """
        limits = _splits(row_limits)
        return cls.from_row_splits(values, af.concat([af.zeros([1], limits.dtype), limits], 0), name, validate)

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows by the number of the row of each value, which grows.

        Args:
            values: a tensor, or a ragged tensor.
            value_rowids: a vector.
            nrows: the number of rows; that of the last value's row, and one more, unless given.
            name: a scope.
            validate: whether the run checks the numbers.
        """
        from actorflow.compat.ragged.factories import segment_ids_to_row_splits

        return cls.from_row_splits(values, segment_ids_to_row_splits(value_rowids, nrows), name, validate)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Sequence[Any], name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows of rows, by the splits of all levels, the outermost first.

        Args:
            flat_values: a tensor.
            nested_row_splits: a list.
            name: a scope.
            validate: whether the run checks the splits.
        """
        for splits in reversed(nested_row_splits):
            flat_values = cls.from_row_splits(flat_values, splits, name, validate)
        return flat_values

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Sequence[Any], name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows of rows, by the lengths of all levels, the outermost first.

        Args:
            flat_values: a tensor.
            nested_row_lengths: a list.
            name: a scope.
            validate: whether the run checks the lengths.
        """
        for lengths in reversed(nested_row_lengths):
            flat_values = cls.from_row_lengths(flat_values, lengths, name, validate)
        return flat_values

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Rows of rows, by the numbers of rows of all levels, the outermost first.

        Args:
            flat_values: a tensor.
            nested_value_rowids: a list.
            nested_nrows: the number of rows of each level.
            name: a scope.
            validate: whether the run checks the numbers.
        """
        counts = nested_nrows or [None] * len(nested_value_rowids)
        for ids, count in zip(reversed(nested_value_rowids), reversed(counts)):
            flat_values = cls.from_value_rowids(flat_values, ids, count, name, validate)
        return flat_values

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = af.int64,
    ) -> Any:
        """The rows of a tensor, whole, or without what pads them.

        Args:
            tensor: of two dimensions at least.
            lengths: the length of each row.
            padding: a value; rows end where only such values follow.
            ragged_rank: must be 1.
            name: a scope.
            row_splits_dtype: int32 or int64.

        Raises:
            ValueError: `lengths` and `padding` are given, or `ragged_rank` is not 1.
        """
        if ragged_rank != 1 or (lengths is not None and padding is not None):
            raise ValueError("from_tensor() takes ragged_rank=1, and lengths or padding, but not both.")
        with af.name_scope(name, "RaggedFromTensor", [tensor]):
            tensor = af.convert_to_tensor(tensor)
            size = af.shape(tensor, out_type=af.int64)[1]
            if padding is not None:
                differs = af.not_equal(tensor, af.cast(padding, tensor.dtype) if tensor.dtype != af.string else padding)
                if tensor.static_shape is not None and len(tensor.static_shape) > 2:
                    differs = af.reduce_any(differs, list(np.arange(2, len(tensor.static_shape))))
                lengths = af.reduce_max(af.cast(differs, af.int64) * af.range_(1, size + 1), 1)
            if lengths is None:
                lengths = af.fill(af.shape(tensor)[:1], size)
            lengths = af.minimum(af.cast(lengths, af.int64), size)
            kept = af.sequence_mask(lengths, size)
            return cls.from_row_lengths(
                af.boolean_mask(tensor, kept), af.cast(lengths, row_splits_dtype), validate=False
            )

    @classmethod
    def from_sparse(cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = af.int64) -> Any:
        """The values of a sparse matrix, row by row; those of a row begin at its first column and have no gaps.

        Args:
            st_input: a sparse tensor of two dimensions.
            name: a scope.
            row_splits_dtype: int32 or int64.
        """
        with af.name_scope(name, "RaggedFromSparse", [st_input]):
            rows, columns = st_input.indices[:, 0], st_input.indices[:, 1]
            whole = cls.from_value_rowids(st_input.values, rows, st_input.dense_shape[0], validate=False)
            within = af.range_(af.size(rows, out_type=af.int64)) - af.gather(whole.row_splits, rows)
            with af.control_dependencies(
                [af.assert_equal(within, columns, message="SparseTensor is not right-ragged")]
            ):
                return cls(af.identity(st_input.values), af.cast(whole.row_splits, row_splits_dtype), internal=True)


def _splits(places: Any) -> Any:
    tensor = af.convert_to_tensor(places, preferred_dtype=af.int64)
    if tensor.dtype not in (af.int32, af.int64):
        raise ValueError(f"Places of rows are int32 or int64, not {tensor.dtype}.")
    return tensor


def _count(values: Any, kind: Any) -> Any:
    return values.nrows(kind) if isinstance(values, Rows) else af.shape(af.convert_to_tensor(values), out_type=kind)[0]
