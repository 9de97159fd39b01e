"""The base of feature columns: dense and categorical columns, and the features of a batch as they see them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from actorflow.base.dtypes import DType, int64
from actorflow.graph.control_flow.cond import cond
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.gather import gather_nd
from actorflow.graph.ops.array.shape import expand_dims, rank
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.flow.asserts import assert_positive
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import equal, not_equal, where
from actorflow.graph.ops.sparse.shape import sparse_reshape
from actorflow.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from actorflow.graph.tensor import Tensor


class Ids(NamedTuple):
    """The categories of each example, and their weights, if they have weights."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """How a column makes its variables: whether optimizers change them, and which collections list them."""

    trainable: bool = True
    collections: tuple[str, ...] = ()


class FeatureColumn(ABC):
    """A column: how one feature, or several, become numbers of a model. Columns are values: equal columns are computed once."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name, which orders columns and is part of the names of variables."""

    @property
    @abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """The features that it takes, for `parse_example`."""

    @property
    def scope_name(self) -> str:
        """The name of its variable scope."""
        return as_scope(self.name)


def as_scope(name: str) -> str:
    """`name` with `_` for what a scope's name can't have."""
    return re.sub(r"[^A-Za-z0-9_.\\/-]", "_", name)


class DenseColumn(FeatureColumn):
    """A column that gives a tensor of one shape for each example."""

    __slots__ = ()

    @property
    @abstractmethod
    def variable_shape(self) -> tuple[int, ...]:
        """The shape for one example."""

    @abstractmethod
    def dense_tensor(self, features: BatchFeatures, weights: Weights) -> Tensor:
        """The tensor, of shape [batch, *variable_shape]; made in the column's variable scope."""


class CategoricalColumn(FeatureColumn):
    """A column that gives the numbers of categories."""

    __slots__ = ()
    in_steps: ClassVar[bool] = False
    """Whether its ids are [examples, steps, categories of a step]."""

    @property
    @abstractmethod
    def num_buckets(self) -> int:
        """How many categories there are."""

    @abstractmethod
    def find_ids(self, features: BatchFeatures) -> Ids:
        """The categories of each example."""


class BatchFeatures:
    """The features of a batch by name, and what columns have made of them, which is made once."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._given = features
        self._made: dict[Any, Any] = {}

    def raw(self, key: str) -> Tensor | SparseTensor:
        """A feature as a tensor of rank 2 or more: one number for each example becomes a column.

        Raises ValueError if no feature has that name, or the feature has no dimension.
        """
        if key not in self._made:
            if key not in self._given:
                raise ValueError(f"Feature {key} is not in features dictionary.")
            self._made[key] = _with_columns(key, self._given[key])
        tensor: Tensor | SparseTensor = self._made[key]
        return tensor

    def ids(self, column: CategoricalColumn) -> Ids:
        """The categories that `column` finds."""
        if column not in self._made:
            self._made[column] = column.find_ids(self)
        ids: Ids = self._made[column]
        return ids

    def kept(self, key: Any, make: Any) -> Any:
        """The result of `make()`, which the first call with this key computes."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def _with_columns(key: str, value: Any) -> Tensor | SparseTensor:
    tensor = convert_to_tensor_or_sparse_tensor(value)
    static_shape = tensor.static_shape
    if static_shape is not None:
        if not static_shape:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor!r}")
        return tensor if len(static_shape) > 1 else _column(tensor)
    if isinstance(tensor, SparseTensor):
        return tensor
    check = assert_positive(rank(tensor), message=f"Feature (key: {key}) cannot have rank 0.")
    with tensor.graph.control_dependencies([check]):
        column: Tensor = cond(equal(rank(tensor), 1), lambda: expand_dims(tensor, -1), lambda: tensor)
    return column


def _column(tensor: Tensor | SparseTensor) -> Tensor | SparseTensor:
    if isinstance(tensor, SparseTensor):
        return sparse_reshape(tensor, [-1, 1])
    return expand_dims(tensor, -1)


def as_sparse(tensor: Tensor | SparseTensor, missing: Any = None) -> SparseTensor:
    """The elements that are there: all of a sparse tensor, and of another those that are not `missing`, which is "" or -1."""
    if isinstance(tensor, SparseTensor):
        return tensor
    if missing is None:
        missing = "" if tensor.dtype.kind == "S" else -1 if tensor.dtype.is_integer else 0
    there = where(not_equal(tensor, constant(missing, tensor.dtype)))
    sparse = SparseTensor(there, gather_nd(tensor, there), shape_of(tensor, out_type=int64))
    return sparse


def in_rows(ids: SparseTensor) -> SparseTensor:
    """A sparse tensor with one row for each example."""
    return sparse_reshape(ids, [cast(ids.dense_shape[0], int64), -1])


def string_or_int(dtype: DType, key: str) -> None:
    """Raises ValueError for a type that is neither strings nor integers."""
    if dtype.kind != "S" and not dtype.is_integer:
        raise ValueError(f"column_name: {key}: dtype must be string or integer. dtype: {dtype}.")


def key_is_string(key: Any) -> str:
    """`key`. Raises ValueError for a key that is not a string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key!r:.60}.")
    return key


def checked_columns(columns: Any) -> list[FeatureColumn]:
    """The columns in the order of their names.

    Raises:
        ValueError: there are none, something is not a column, or two have one name.
    """
    if isinstance(columns, Mapping):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    sequence: Sequence[Any] = [columns] if isinstance(columns, FeatureColumn) else list(columns)
    for column in sequence:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"Items of feature_columns must be a FeatureColumn. Given (type {type(column)}): {column!r:.80}."
            )
    if not sequence:
        raise ValueError("feature_columns must not be empty.")
    named: dict[str, FeatureColumn] = {}
    for column in sequence:
        if named.setdefault(column.name, column) is not column:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {named[column.name]}. Either one must be "
                "discarded, or a copy of the feature under another name be used."
            )
    return sorted(sequence, key=lambda column: column.name)
