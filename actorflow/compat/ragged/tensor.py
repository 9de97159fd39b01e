"""`RaggedTensor`: rows of several lengths, as the values of all rows and the places at which rows begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.compat.nodes.ragged import dense, row_ids, sparse
from actorflow.compat.ragged.rows import Rows
from actorflow.compat.ragged.values import RaggedParts, nested_value
from actorflow.graph.overloads import OPERATORS
from actorflow.public import public


@public("tf")
class RaggedTensor(RaggedParts, Rows):
    """Rows of several lengths (`tf.RaggedTensor`). `session.run` gives a `RaggedTensorValue`.

    Its factories make it, such as `from_row_lengths`. Operators and `tf.ragged.map_flat_values` compute with its values; other
    functions take `to_tensor()` or `flat_values`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> rows = tf.RaggedTensor.from_row_lengths([1, 2, 3, 4], [3, 0, 1])
        >>> (rows * 10).to_tensor()
        [[10 20 30]
         [ 0  0  0]
         [40  0  0]]

    Args:
        values: a tensor, or a ragged tensor for rows of rows.
        row_splits: the place of each row's first value, and the end of the last.
        cached_row_lengths, cached_value_rowids, cached_nrows: accepted for compatibility.
        internal: whether a factory calls.

    Raises:
        ValueError: no factory calls.
    """

    def __init__(
        self,
        values: Any,
        row_splits: Any,
        cached_row_lengths: Any = None,
        cached_value_rowids: Any = None,
        cached_nrows: Any = None,
        internal: bool = False,
    ) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
                "RaggedTensor.from_row_lengths())"
            )
        self._values, self._row_splits = values, row_splits

    # ---- parts

    @property
    def graph(self) -> Any:
        """The graph of the values."""
        return self.flat_values.graph

    @property
    def shape(self) -> Any:
        """The static shape, with None for a dimension of several lengths."""
        splits = self._row_splits.static_shape
        rows = None if splits is None or splits[0] is None else splits[0] - 1
        inner = self._values.shape
        return af.TensorShape(None) if inner.ndims is None else af.TensorShape([rows, None, *inner.as_list()[1:]])

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """The number of rows.

        Args:
            out_type: int32 or int64; that of the splits unless given.
            name: a scope.
        """
        with af.name_scope(name, "RaggedNRows"):
            kind = self._row_splits.dtype if out_type is None else out_type
            return af.shape(self._row_splits, out_type=kind)[0] - 1

    def row_starts(self, name: str | None = None) -> Any:
        """The place of each row's first value."""
        return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """The end of each row."""
        return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of rows, for an inner dimension as a ragged tensor.

        Args:
            axis: the dimension.
            name: a scope.

        Raises:
            ValueError: a dimension of one length.
        """
        if axis == 1:
            return self._row_splits[1:] - self._row_splits[:-1]
        if not 1 < axis <= self.ragged_rank:
            raise ValueError(f"axis is from 1 to {self.ragged_rank}, the levels of rows, but it is {axis}.")
        return self.with_values(self._values.row_lengths(axis - 1))

    def value_rowids(self, name: str | None = None) -> Any:
        """The number of the row of each value."""
        return af.cast(row_ids(self._row_splits), self._row_splits.dtype)

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """The lengths of all levels, the outermost first."""
        return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Any, ...]:
        """The numbers of rows of all levels, the outermost first."""
        return tuple(af.cast(row_ids(splits), splits.dtype) for splits in self.nested_row_splits)

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Any:
        """The smallest shape of a tensor that holds all rows.

        Args:
            axis: a dimension, or several; all unless given.
            name: a scope.
            out_type: int32 or int64; that of the splits unless given.
        """
        with af.name_scope(name, "RaggedBoundingBox"):
            kind = self._row_splits.dtype if out_type is None else out_type
            longest = [af.maximum(af.reduce_max(lengths), 0) for lengths in self.nested_row_lengths()]
            outer = af.stack([af.cast(each, kind) for each in (self.nrows(), *longest)])
            whole = af.concat([outer, af.shape(self.flat_values, out_type=kind)[1:]], 0)
            return whole if axis is None else af.gather(whole, axis)

    def consumers(self) -> list[Any]:
        """The operations that take the values or the splits."""
        return [op for part in (self.flat_values, *self.nested_row_splits) for op in part.consumers()]

    # ---- other forms

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows, of other values."""
        return RaggedTensor(new_values, self._row_splits, internal=True)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of all levels, of other values."""
        inner = self._values.with_flat_values(new_values) if isinstance(self._values, RaggedTensor) else new_values
        return self.with_values(inner)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same rows, with splits of int32 or int64."""
        inner = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor(inner, af.cast(self._row_splits, dtype), internal=True)

    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Any:
        """A tensor as long as the longest rows.

        Args:
            default_value: the value of places that no row has; zero or an empty text unless given.
            name: a scope.
        """
        with af.name_scope(name, "RaggedToTensor"):
            flat = self.flat_values
            if default_value is None:
                default_value = "" if flat.dtype == af.string else 0
            default = af.convert_to_tensor(default_value, flat.dtype)
            return dense([af.cast(splits, af.int64) for splits in self.nested_row_splits], flat, default)

    def to_sparse(self, name: str | None = None) -> Any:
        """A sparse tensor with a value for each value."""
        with af.name_scope(name, "RaggedToSparse"):
            parts = sparse([af.cast(splits, af.int64) for splits in self.nested_row_splits], self.flat_values)
            return af.SparseTensor(*parts)

    def to_list(self) -> list[Any]:
        """The rows as lists. Raises ValueError in a graph."""
        if not af.executing_eagerly():
            raise ValueError(
                "to_list() is there in eager mode. In a graph run the ragged tensor, and call to_list() of its value."
            )
        rows: list[Any] = nested_value([part.numpy() for part in (self.flat_values, *self.nested_row_splits)]).to_list()
        return rows

    def __getitem__(self, key: Any) -> Any:
        """A row, or some rows by a slice without a step."""
        if isinstance(key, slice):
            if key.step not in (None, 1):
                raise ValueError("Rows of a ragged tensor are sliced without a step.")
            starts, limits = self.row_starts()[key], self.row_limits()[key]
            first = af.concat([starts, self._row_splits[-1:]], 0)[0]
            splits = af.concat([[first], limits], 0)
            return RaggedTensor(self._values[first : splits[-1]], splits - first, internal=True)
        if isinstance(key, tuple):
            if len(key) > 2 or not key or isinstance(key[0], slice):
                raise ValueError("A ragged tensor takes a row, or a row and a place within it: x[i], x[i, j].")
            row = self[key[0]]
            return row if len(key) == 1 else row[key[1]]
        return self._values[self._row_splits[:-1][key] : self._row_splits[1:][key]]

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values!r}, row_splits={self._row_splits!r})"

    def __tensor_components__(self) -> tuple[Any, ...]:
        """The flat values and the splits of all levels, which a run fetches and feeds."""
        return (self.flat_values, *self.nested_row_splits)

    def __from_components__(self, *parts: Any) -> Any:
        """The value of fetched parts."""
        return nested_value(parts)

    def __to_components__(self, value: Any) -> tuple[Any, ...]:
        """The parts of a fed value."""
        return (value.flat_values, *value.nested_row_splits)

    def _nest_parts(self) -> tuple[Sequence[Any], Callable[[Sequence[Any]], Any]]:
        """See `actorflow.nest`."""
        return [self.flat_values, *self.nested_row_splits], _nested


def _nested(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return nested_value(parts)
    values, *splits = parts
    for level in reversed(splits):
        values = RaggedTensor(values, level, internal=True)
    return values


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: RaggedTensor, *others: Any) -> Any:
        from actorflow.compat.ragged.combining import map_flat_values

        return map_flat_values(lambda first, *rest: getattr(af.convert_to_tensor(first), name)(*rest), self, *others)

    apply.__name__ = name
    return apply


for _name in OPERATORS:
    if _name not in ("__getitem__", "__eq__", "__ne__", "__iter__", "__bool__", "__len__"):
        setattr(RaggedTensor, _name, _operator(_name))
