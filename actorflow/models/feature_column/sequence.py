"""Columns of sequences, and the inputs of a recurrent network that they make (`tf.feature_column.sequence_*`).

An example has a sequence in a feature: a row of a sparse tensor, one category or one group of numbers for each of its steps. The
columns of categories are those of `categorical.py`, which a `SequenceColumn` keeps in steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32, int64, string
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.pad_tile import tile
from actorflow.graph.ops.array.shape import expand_dims, reshape
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.flow.asserts import assert_equal
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.io.parsing import VarLenFeature
from actorflow.graph.ops.math.arithmetic import floordiv, maximum
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.segment import unsorted_segment_max
from actorflow.graph.ops.sparse.shape import sparse_reshape
from actorflow.graph.ops.sparse.tensor import sparse_tensor_to_dense
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.scope import variable_scope
from actorflow.models.feature_column import categorical
from actorflow.models.feature_column.column import (
    BatchFeatures,
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Ids,
    Weights,
    checked_columns,
    key_is_string,
)
from actorflow.models.feature_column.models import check_batches, collections_of, steps_of
from actorflow.models.feature_column.numeric import elements
from actorflow.public import public


@dataclass(frozen=True, slots=True)
class SequenceColumn(CategoricalColumn):
    """The categories of another column, each a step of its example's sequence."""

    in_steps: ClassVar[bool] = True
    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def find_ids(self, features: BatchFeatures) -> Ids:
        ids = features.ids(self.categorical_column)
        weights = ids.weight_tensor
        return Ids(_in_steps(ids.id_tensor), None if weights is None else _in_steps(weights))


def _in_steps(ids: SparseTensor) -> SparseTensor:
    """[examples, steps, categories of a step], so that what is combined are those of one step."""
    return sparse_reshape(ids, concat([ids.dense_shape[:2], constant([-1], int64)], 0))


@public("af.feature_column")
def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceColumn:
    """Sequences of integers that are categories themselves (`tf.feature_column.sequence_categorical_column_with_identity`).

    Example:
        >>> seen = af.feature_column.sequence_categorical_column_with_identity("seen", num_buckets=2)
        >>> columns = [af.feature_column.indicator_column(seen)]
        >>> layer, lengths = af.feature_column.sequence_input_layer({"seen": [[1, 0], [1, -1]]}, columns)
        >>> await session.run(layer)
        [[[0. 1.]
          [1. 0.]]
         [[0. 1.]
          [0. 0.]]]
        >>> await session.run(lengths)
        [2 1]

    Args:
        key, num_buckets, default_value: see `categorical_column_with_identity`.
    """
    return SequenceColumn(categorical.categorical_column_with_identity(key, num_buckets, default_value))


@public("af.feature_column")
def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = string
) -> SequenceColumn:
    """Sequences of strings or integers, divided by a hash (`tf.feature_column.sequence_categorical_column_with_hash_bucket`).

    Example:
        >>> words = af.feature_column.sequence_categorical_column_with_hash_bucket("words", 100)
        >>> columns = [af.feature_column.embedding_column(words, dimension=8)]
        >>> layer, _ = af.feature_column.sequence_input_layer({"words": af.placeholder(af.string, [None, 20])}, columns)
        >>> layer.shape
        TensorShape([None, None, 8])

    Args:
        key, hash_bucket_size, dtype: see `categorical_column_with_hash_bucket`.
    """
    return SequenceColumn(categorical.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


@public("af.feature_column")
def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceColumn:
    """Sequences of words of a list (`tf.feature_column.sequence_categorical_column_with_vocabulary_list`).

    Example:
        >>> color = af.feature_column.sequence_categorical_column_with_vocabulary_list("color", ["red", "green"])
        >>> columns = [af.feature_column.indicator_column(color)]
        >>> layer, lengths = af.feature_column.sequence_input_layer({"color": [["green", "red"]]}, columns)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(layer)
        [[[0. 1.]
          [1. 0.]]]

    Args:
        key, vocabulary_list, dtype, default_value, num_oov_buckets: see `categorical_column_with_vocabulary_list`.
    """
    return SequenceColumn(
        categorical.categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets)
    )


@public("af.feature_column")
def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = string,
) -> SequenceColumn:
    """Sequences of words of a file (`tf.feature_column.sequence_categorical_column_with_vocabulary_file`).

    Example:
        >>> with open("colors.txt", "w") as file:
        ...     print("red", "green", sep="\\n", file=file)
        >>> color = af.feature_column.sequence_categorical_column_with_vocabulary_file("color", "colors.txt")
        >>> color.num_buckets
        2

    Args:
        key, vocabulary_file, vocabulary_size: see `categorical_column_with_vocabulary_file`.
        num_oov_buckets, default_value, dtype: see `categorical_column_with_vocabulary_file`.
    """
    return SequenceColumn(
        categorical.categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


@dataclass(frozen=True, slots=True)
class SequenceNumericColumn(FeatureColumn):
    """Sequences of numbers, of one shape for each step, as float32."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return self.shape

    def sequences(self, features: BatchFeatures) -> tuple[Tensor, Tensor]:
        """The numbers, [examples, steps, *shape], and the lengths of the sequences."""
        tensor = features.raw(self.key)
        if not isinstance(tensor, SparseTensor):
            raise TypeError(
                f"sequence_column: {self.key} takes a SparseTensor, as parse_example gives it, not {tensor!r:.80}."
            )
        normalized = tensor if self.normalizer_fn is None else self.normalizer_fn(tensor)
        dense = sparse_tensor_to_dense(normalized, constant(self.default_value, normalized.dtype))
        steps = reshape(dense, concat([shape_of(dense)[:1], constant([-1, *self.shape])], 0))
        group = elements(self.shape) if normalized.static_shape is None or len(normalized.static_shape) == 2 else 1
        return cast(steps, float32), _lengths(normalized, group)


@public("af.feature_column")
def sequence_numeric_column(
    key: str,
    shape: int | Sequence[int] = (1,),
    default_value: float = 0.0,
    dtype: DTypeLike = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Sequences of numbers (`tf.feature_column.sequence_numeric_column`).

    Example:
        >>> heat = af.feature_column.sequence_numeric_column("heat")
        >>> rows = af.SparseTensor([[0, 0], [0, 1], [1, 0]], [20.0, 21.0, 5.0], [2, 2])
        >>> layer, lengths = af.feature_column.sequence_input_layer({"heat": rows}, [heat])
        >>> await session.run(layer[:, :, 0])
        [[20. 21.]
         [ 5.  0.]]
        >>> await session.run(lengths)
        [2 1]

    Args:
        key: the name of the feature, a sparse tensor of rank 2, or of rank 3 with the numbers of a step in the last dimension.
        shape: of the numbers of one step.
        default_value: stands where a sequence has ended.
        dtype: of the feature.
        normalizer_fn: a function of the sparse tensor.

    Raises:
        ValueError: a size is not positive, or the type is no number.
        TypeError: the key is not a string, or `normalizer_fn` is not a function.
    """
    sizes = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(size) for size in shape)
    if any(size < 1 for size in sizes):
        raise ValueError(f"shape dimensions must be greater than 0, shape: {shape}, key: {key}")
    kind = as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {kind}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn!r:.60}")
    return SequenceNumericColumn(key_is_string(key), sizes, default_value, kind, normalizer_fn)


@public("af.feature_column")
def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
) -> tuple[Tensor, Tensor]:
    """The inputs of a recurrent network: what columns make of each step (`tf.contrib.feature_column.sequence_input_layer`).

    Example:
        >>> words = af.feature_column.sequence_categorical_column_with_identity("words", num_buckets=9)
        >>> columns = [af.feature_column.embedding_column(words, dimension=4)]
        >>> inputs, lengths = af.feature_column.sequence_input_layer({"words": [[1, 8, 3], [5, -1, -1]]}, columns)
        >>> outputs, state = af.nn.dynamic_rnn(af.nn.rnn_cell.GRUCell(16), inputs, lengths, dtype=af.float32)
        >>> outputs.shape, await session.run(lengths)
        (TensorShape([2, 3, 16]), [3 1])

    Args:
        features: tensors by name, each with the batch as its first dimension and the steps as its second.
        feature_columns: sequences of numbers, and `embedding_column`, `shared_embedding_columns` and `indicator_column` of
            sequences of categories; they are taken in the order of their names.
        weight_collections: further collections that list the variables.
        trainable: whether optimizers change the variables.

    Returns:
        A float32 tensor of shape [batch, steps, numbers], and the length of each sequence, int64 [batch].

    Raises:
        ValueError: a column is not of sequences, two have one name, or a feature is missing.
        InvalidArgumentError: the sequences of two columns differ in length, in the run.
    """
    columns = checked_columns(feature_columns)
    for column in columns:
        if not isinstance(column, SequenceNumericColumn) and steps_of(column) is None:
            raise ValueError(
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a sequence_categorical_column with an "
                f"embedding_column or indicator_column. Given (type {type(column)}): {column}"
            )
    lookup, outputs, lengths = BatchFeatures(features), [], []
    weights = Weights(trainable, collections_of(weight_collections))
    with variable_scope(None, "sequence_input_layer"):
        for column in columns:
            with variable_scope(None, column.scope_name):
                steps, length = _sequences(column, lookup, weights)
                width = elements(column.variable_shape)  # type: ignore[attr-defined]
                flat = reshape(steps, concat([shape_of(steps)[:2], constant([width])], 0))
                flat.set_shape([*(steps.static_shape or (None, None))[:2], width])
                outputs.append(flat)
                lengths.append(length)
        check_batches(outputs, columns)
        return concat(outputs, -1), _equal(lengths)


@public("af.feature_column")
def concatenate_context_input(context_input: Tensor, sequence_input: Tensor) -> Tensor:
    """The inputs of each step with what is the same in all of them (`tf.contrib.feature_column.concatenate_context_input`).

    Example:
        >>> context, steps = af.constant([[7.0], [8.0]]), af.zeros([2, 3, 2])
        >>> af.feature_column.concatenate_context_input(context, steps).shape
        TensorShape([2, 3, 3])

    Args:
        context_input: [batch, n], float32, such as `input_layer` gives it.
        sequence_input: [batch, steps, m], float32.

    Raises:
        ValueError: another rank or type.
    """
    for tensor, rank, name in ((context_input, 2, "context_input"), (sequence_input, 3, "sequence_input")):
        if tensor.static_shape is not None and len(tensor.static_shape) != rank:
            raise ValueError(f"{name} must have rank {rank}, but its shape is {tensor.shape}.")
        if tensor.dtype is not float32:
            raise ValueError(f"{name} must have dtype float32, got {tensor.dtype.name}")
    steps = shape_of(sequence_input)[1:2]
    repeated = tile(expand_dims(context_input, 1), concat([constant([1]), steps, constant([1])], 0))
    return concat([sequence_input, repeated], 2)


def _sequences(column: FeatureColumn, features: BatchFeatures, weights: Weights) -> tuple[Tensor, Tensor]:
    """The inputs that a column makes for each step, and the lengths of the sequences."""
    if isinstance(column, SequenceNumericColumn):
        return column.sequences(features)
    inner = steps_of(column)
    assert inner is not None and isinstance(column, DenseColumn)
    return column.dense_tensor(features, weights), _lengths(features.ids(inner).id_tensor)


def _lengths(steps: SparseTensor, group: int = 1) -> Tensor:
    """The lengths of sequences whose steps take `group` columns each."""
    last = maximum(unsorted_segment_max(steps.indices[:, 1] + 1, steps.indices[:, 0], steps.dense_shape[0]), 0)
    return last if group == 1 else floordiv(last + (group - 1), group)


def _equal(lengths: Sequence[Tensor]) -> Tensor:
    """The lengths of all columns, which have to be the same."""
    checks = [
        assert_equal(lengths[0], other, message="The sequences of columns differ in length.") for other in lengths[1:]
    ]
    if not checks:
        return lengths[0]
    with lengths[0].graph.control_dependencies(checks):
        return identity(lengths[0])
