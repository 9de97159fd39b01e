"""Columns of categories: by identity, by hash, by a vocabulary, with weights (`tf.feature_column.categorical_column_with_*`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32, int64, string
from actorflow.graph.ops.array.constant import constant, ones_like
from actorflow.graph.ops.flow.asserts import assert_greater_equal, assert_less
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.io.parsing import VarLenFeature
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import greater_equal, less, logical_or, where
from actorflow.graph.ops.strings.elementwise import as_string
from actorflow.graph.ops.strings.hash import string_to_hash_bucket_fast
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.models.feature_column.column import (
    BatchFeatures,
    CategoricalColumn,
    Ids,
    as_sparse,
    key_is_string,
    string_or_int,
)
from actorflow.models.lookup.vocabulary import index_table_from_file, index_table_from_tensor
from actorflow.public import public


class KeyedColumn(CategoricalColumn):
    """A column of one feature, which its name is."""

    __slots__ = ()
    key: str
    dtype: DType

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    def _values(self, features: BatchFeatures) -> SparseTensor:
        """The feature. Raises ValueError for a feature of another kind than the column."""
        tensor = as_sparse(features.raw(self.key))
        string_or_int(tensor.dtype, self.key)
        if tensor.dtype.is_integer != self.dtype.is_integer:
            raise ValueError(
                f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, column dtype: {self.dtype}, tensor "
                f"dtype: {tensor.dtype}"
            )
        return tensor


@dataclass(frozen=True, slots=True)
class IdentityColumn(KeyedColumn):
    """Integers that are the categories themselves."""

    key: str
    buckets: int
    default_value: int | None
    dtype: DType = int64

    @property
    def num_buckets(self) -> int:
        return self.buckets

    def find_ids(self, features: BatchFeatures) -> Ids:
        tensor = as_sparse(features.raw(self.key))
        if not tensor.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {tensor.dtype}")
        values = cast(tensor.values, int64)
        zero, most = constant(0, int64), constant(self.num_buckets, int64)
        if self.default_value is None:
            few = assert_less(
                values, most, message=f"Bucket index for {self.key} must be less than {self.num_buckets}."
            )
            some = assert_greater_equal(values, zero, message=f"Bucket index for {self.key} must not be negative.")
            with values.graph.control_dependencies([few, some]):
                values = identity(values)
        else:
            outside = logical_or(less(values, zero), greater_equal(values, most))
            values = where(outside, ones_like(values) * self.default_value, values)
        return Ids(SparseTensor(tensor.indices, values, tensor.dense_shape))


@public("af.feature_column")
def categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> IdentityColumn:
    """Integers below `num_buckets`, which are categories themselves (`tf.feature_column.categorical_column_with_identity`).

    Example:
        >>> stars = af.feature_column.categorical_column_with_identity("stars", num_buckets=3)
        >>> layer = af.feature_column.input_layer({"stars": [[0], [2]]}, [af.feature_column.indicator_column(stars)])
        >>> await session.run(layer)
        [[1. 0. 0.]
         [0. 0. 1.]]

    Args:
        key: the name of the feature; -1 in a tensor that is not sparse stands for nothing.
        num_buckets: how many categories there are.
        default_value: the category of what is outside; an InvalidArgumentError in the run unless given.

    Raises:
        ValueError: the key is not a string, there are no buckets, or the default is outside.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return IdentityColumn(key_is_string(key), num_buckets, default_value)


@dataclass(frozen=True, slots=True)
class HashedColumn(KeyedColumn):
    """Strings or integers, divided into categories by a hash."""

    key: str
    hash_bucket_size: int
    dtype: DType

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def find_ids(self, features: BatchFeatures) -> Ids:
        tensor = self._values(features)
        texts = tensor.values if self.dtype is string else as_string(tensor.values)
        hashed = string_to_hash_bucket_fast(texts, num_buckets=self.num_buckets, name="lookup")
        return Ids(SparseTensor(tensor.indices, hashed, tensor.dense_shape))


@public("af.feature_column")
def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: DTypeLike = string) -> HashedColumn:
    """Strings or integers, which a hash divides into categories (`tf.feature_column.categorical_column_with_hash_bucket`).

    Example:
        >>> word = af.feature_column.categorical_column_with_hash_bucket("word", 4)
        >>> layer = af.feature_column.input_layer({"word": ["a", "b", "a"]}, [af.feature_column.indicator_column(word)])
        >>> await session.run(layer)
        [[0. 0. 0. 1.]
         [0. 0. 1. 0.]
         [0. 0. 0. 1.]]

    Args:
        key: the name of the feature; "" (-1) in a tensor that is not sparse stands for nothing.
        hash_bucket_size: how many categories there are.
        dtype: of the feature, string or integer.

    Raises:
        ValueError: the key is not a string, there are no buckets, or another type.
    """
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    kind = as_dtype(dtype)
    string_or_int(kind, key)
    return HashedColumn(key_is_string(key), int(hash_bucket_size), kind)


@dataclass(frozen=True, slots=True)
class VocabularyColumn(KeyedColumn):
    """Strings or integers, whose categories are their places in a list or a file; then come buckets for others."""

    key: str
    vocabulary: tuple[Any, ...] | str
    size: int
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        return self.size + self.num_oov_buckets

    @property
    def vocabulary_file(self) -> str | None:
        """The file of the categories; None if they are in a list."""
        return self.vocabulary if isinstance(self.vocabulary, str) else None

    @property
    def vocabulary_list(self) -> tuple[Any, ...] | None:
        """The categories; None if they are in a file."""
        return None if isinstance(self.vocabulary, str) else self.vocabulary

    @property
    def vocabulary_size(self) -> int:
        """How many categories there are, without the buckets for others."""
        return self.size

    def find_ids(self, features: BatchFeatures) -> Ids:
        tensor = self._values(features)
        kind = int64 if tensor.dtype.is_integer else self.dtype
        if tensor.dtype.is_integer:
            tensor = SparseTensor(tensor.indices, cast(tensor.values, int64), tensor.dense_shape)
        name, oov, default = f"{self.key}_lookup", self.num_oov_buckets, self.default_value
        if isinstance(self.vocabulary, str):
            table: Any = index_table_from_file(self.vocabulary, oov, self.size, default, key_dtype=kind, name=name)
        else:
            words = np.array(self.vocabulary, dtype=None if kind.is_integer else object)
            table = index_table_from_tensor(constant(words, kind), oov, default, dtype=kind, name=name)
        return Ids(table.lookup(tensor))


@public("af.feature_column")
def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyColumn:
    """Strings or integers, whose categories are their places in a list
    (`tf.feature_column.categorical_column_with_vocabulary_list`).

    Example:
        >>> color = af.feature_column.categorical_column_with_vocabulary_list("color", ["red", "green"], num_oov_buckets=1)
        >>> layer = af.feature_column.input_layer({"color": ["green", "pink"]}, [af.feature_column.indicator_column(color)])
        >>> await session.run(af.tables_initializer())
        >>> await session.run(layer)
        [[0. 1. 0.]
         [0. 0. 1.]]

    Args:
        key: the name of the feature; "" (-1) in a tensor that is not sparse stands for nothing.
        vocabulary_list: strings or integers, each once.
        dtype: of the feature; that of the list unless given.
        default_value: the category of what is not in the list; -1 leaves it out.
        num_oov_buckets: how many further categories a hash divides the others into.

    Raises:
        ValueError: the key is not a string, the list is empty or has something twice, both a default and buckets, or another
            type.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list!r:.80}, column_name: {key}")
    entries = np.array(vocabulary_list)
    listed = string if entries.dtype.kind in "SUO" else as_dtype(entries.dtype)
    _check_oov(key, default_value if default_value != -1 else None, num_oov_buckets)
    string_or_int(listed, key)
    kind = listed if dtype is None else as_dtype(dtype)
    if kind.is_integer != listed.is_integer:
        raise ValueError(f"dtype {kind} and vocabulary dtype {listed} do not match, column_name: {key}")
    string_or_int(kind, key)
    words = tuple(vocabulary_list)
    return VocabularyColumn(key_is_string(key), words, len(words), kind, default_value, num_oov_buckets)


@public("af.feature_column")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = string,
) -> VocabularyColumn:
    """Strings or integers, whose categories are the numbers of their lines in a file
    (`tf.feature_column.categorical_column_with_vocabulary_file`).

    Example:
        >>> with open("colors.txt", "w") as file:
        ...     print("red", "green", "blue", sep="\\n", file=file)
        >>> color = af.feature_column.categorical_column_with_vocabulary_file("color", "colors.txt")
        >>> layer = af.feature_column.input_layer({"color": ["blue", "red"]}, [af.feature_column.indicator_column(color)])
        >>> await session.run(af.tables_initializer())
        >>> await session.run(layer)
        [[0. 0. 1.]
         [1. 0. 0.]]

    Args:
        key: the name of the feature; "" (-1) in a tensor that is not sparse stands for nothing.
        vocabulary_file: the path of a text file with one word in each line.
        vocabulary_size: how many lines are used; all unless given. More than there are is an InvalidArgumentError in the run.
        num_oov_buckets: how many further categories a hash divides other words into.
        default_value: the category of what is not in the file; it is left out unless given.
        dtype: of the feature, string or integer.

    Raises:
        ValueError: no file, or it does not exist; the size is not positive; both a default and buckets; or another type.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not Path(vocabulary_file).is_file():
            raise ValueError(f"vocabulary_file in {key} does not exist: {vocabulary_file}")
        with open(vocabulary_file, "rb") as lines:
            vocabulary_size = sum(1 for _ in lines)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_oov(key, default_value, num_oov_buckets)
    kind = as_dtype(dtype)
    string_or_int(kind, key)
    default = -1 if default_value is None else default_value
    return VocabularyColumn(
        key_is_string(key), str(vocabulary_file), vocabulary_size, kind, default, num_oov_buckets or 0
    )


def _check_oov(key: str, default_value: int | None, num_oov_buckets: int) -> None:
    if num_oov_buckets:
        if default_value is not None:
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


@dataclass(frozen=True, slots=True)
class WeightedColumn(CategoricalColumn):
    """Categories with a weight for each, which is a feature of its own."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec = self.categorical_column.parse_example_spec
        key = self.weight_feature_key
        if key in spec:
            raise ValueError(f"Parse config {spec[key]} already exists for {key}.")
        return {**spec, key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def find_ids(self, features: BatchFeatures) -> Ids:
        weights = features.raw(self.weight_feature_key)
        if weights.dtype.base_dtype is not self.dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        sparse = as_sparse(weights, missing=0)
        if not sparse.dtype.is_floating:
            sparse = SparseTensor(sparse.indices, cast(sparse.values, float32), sparse.dense_shape)
        return Ids(features.ids(self.categorical_column).id_tensor, sparse)


@public("af.feature_column")
def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: DTypeLike = float32
) -> WeightedColumn:
    """Categories with a weight for each (`tf.feature_column.weighted_categorical_column`).

    Example:
        >>> word = af.feature_column.categorical_column_with_identity("word", 3)
        >>> weighted = af.feature_column.weighted_categorical_column(word, "count")
        >>> features = {"word": [[0, 2]], "count": [[1.0, 5.0]]}
        >>> layer = af.feature_column.input_layer(features, [af.feature_column.indicator_column(weighted)])
        >>> await session.run(layer)
        [[1. 0. 5.]]

    Args:
        categorical_column: the categories.
        weight_feature_key: the name of the feature of the weights, at the same places; 0 in a tensor that is not sparse stands
            for nothing.
        dtype: of the weights, integer or floating.

    Raises:
        ValueError: another type.
    """
    kind = None if dtype is None else as_dtype(dtype)
    if kind is None or not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedColumn(categorical_column, weight_feature_key, kind)
