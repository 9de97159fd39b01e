"""`RaggedTensorValue`: a ragged tensor as a session gives it, and as it is fed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class RaggedParts:
    """The parts of a `RaggedTensor` and of a `RaggedTensorValue`."""

    _values: Any
    _row_splits: Any

    @property
    def values(self) -> Any:
        """The values of all rows: a tensor or an array, or ragged values for rows of rows."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """The place of each row's first value, and the end of the last."""
        return self._row_splits

    @property
    def flat_values(self) -> Any:
        """The values below all levels of rows."""
        return self._values.flat_values if isinstance(self._values, RaggedParts) else self._values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of all levels, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedParts) else ()
        return (self._row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of levels."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.flat_values.dtype


class RaggedTensorValue(RaggedParts):
    """Rows of several lengths, as arrays (`tf.ragged.RaggedTensorValue`).

    Args:
        values: an array, or a `RaggedTensorValue` for rows of rows.
        row_splits: the place of each row's first value, and the end of the last: a vector of int32 or int64.

    Raises:
        ValueError: the splits are no such vector.
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        splits = np.asarray(row_splits)
        if splits.dtype not in (np.int32, np.int64) or splits.ndim != 1:
            raise ValueError(f"row_splits is a vector of int32 or int64, not {splits.dtype} of shape {splits.shape}.")
        self._values = values if isinstance(values, RaggedTensorValue) else np.asarray(values)
        self._row_splits = splits

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, with None for a dimension of several lengths."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """The rows as lists."""
        inner = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [inner[begin:end] for begin, end in zip(self._row_splits[:-1], self._row_splits[1:])]

    def _nest_parts(self) -> tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]:
        """See `actorflow.nest`."""
        return [self.flat_values, *self.nested_row_splits], nested_value

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

    __str__ = __repr__


def nested_value(parts: Sequence[Any]) -> Any:
    """The value of flat values and the splits of all levels."""
    values, *splits = parts
    for level in reversed(splits):
        values = RaggedTensorValue(values, level)
    return values
