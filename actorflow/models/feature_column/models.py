"""Columns in a model: as the inputs of a network, as a linear model, and as the features that examples are parsed into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.math.arithmetic import add_n
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.nn.activation import bias_add
from actorflow.graph.ops.nn.embedding import safe_embedding_lookup_sparse
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.collections import GraphKeys, get_collection
from actorflow.graph.variables.initializers import Zeros
from actorflow.graph.variables.scope import get_variable, variable_scope
from actorflow.graph.variables.store import get_variable_scope
from actorflow.models.feature_column.column import (
    BatchFeatures,
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Weights,
    checked_columns,
    in_rows,
)
from actorflow.models.feature_column.numeric import elements
from actorflow.public import public


@public("af.feature_column")
def input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Tensor] | None = None,
) -> Tensor:
    """The inputs of a network: what columns make of features, side by side (`tf.feature_column.input_layer`).

    Example:
        >>> price = af.feature_column.numeric_column("price")
        >>> color = af.feature_column.categorical_column_with_vocabulary_list("color", ["red", "green", "blue"])
        >>> columns = [price, af.feature_column.indicator_column(color)]
        >>> inputs = af.feature_column.input_layer({"price": [[1.0], [2.0]], "color": [["red"], ["blue"]]}, columns)
        >>> await session.run(af.tables_initializer())
        >>> await session.run(inputs)
        [[1. 0. 0. 1.]
         [0. 0. 1. 2.]]

    Args:
        features: tensors by name, each with the batch as its first dimension.
        feature_columns: dense columns; they are taken in the order of their names.
        weight_collections: further collections that list the variables; GLOBAL_VARIABLES and MODEL_VARIABLES do anyway.
        trainable: whether optimizers change the variables.
        cols_to_vars: a dict that gets the variables of each column.
        cols_to_output_tensors: a dict that gets the tensor of each column.

    Returns:
        A float32 tensor of shape [batch, numbers].

    Raises:
        ValueError: a column is not dense, two have one name, a feature is missing or of another type, or the sizes of batches
            differ.
    """
    columns = checked_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a DenseColumn. You can wrap a categorical column with an embedding_column or "
                f"indicator_column. Given: {column}"
            )
        if (steps := steps_of(column)) is not None:
            raise ValueError(
                f"In column {column.name}: categorical_column must not be of type SequenceCategoricalColumn. Suggested fix A: If "
                "you wish to use input_layer, use a non-sequence categorical_column_with_*. Suggested fix B: If you wish to "
                f"create sequence input, use sequence_input_layer instead of input_layer. Given (type {type(steps)}): {steps}"
            )
    lookup, outputs = BatchFeatures(features), []
    weights = Weights(trainable, collections_of(weight_collections))
    with variable_scope(None, "input_layer"):
        for column in columns:
            assert isinstance(column, DenseColumn)
            with variable_scope(None, column.scope_name):
                outputs.append(_flat(column, lookup, weights))
                if cols_to_vars is not None:
                    cols_to_vars[column] = get_collection(GraphKeys.GLOBAL_VARIABLES, get_variable_scope().name)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = outputs[-1]
        check_batches(outputs, columns)
        return concat(outputs, 1)


@public("af.feature_column")
def linear_model(
    features: Mapping[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """A weighted sum of what columns make of features, and a bias; all start at 0 (`tf.feature_column.linear_model`).

    Example:
        >>> price = af.feature_column.numeric_column("price")
        >>> parts = {}
        >>> output = af.feature_column.linear_model({"price": [[1.0], [2.0]]}, [price], cols_to_vars=parts)
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(af.assign(parts[price][0], [[10.0]]))
        [[10.]]
        >>> await session.run(output)
        [[10.]
         [20.]]

    Args:
        features: tensors by name, each with the batch as its first dimension.
        feature_columns: dense and categorical columns; they are taken in the order of their names.
        units: how many sums there are.
        sparse_combiner: how the weights of several categories of an example are combined: "sum", "mean" or "sqrtn".
        weight_collections: further collections that list the variables; GLOBAL_VARIABLES and MODEL_VARIABLES do anyway.
        trainable: whether optimizers change the variables.
        cols_to_vars: a dict that gets the variables of each column, and under "bias" the bias.

    Returns:
        A float32 tensor of shape [batch, units].

    Raises:
        ValueError: two columns have one name, a feature is missing or of another type, or the sizes of batches differ.
    """
    columns = checked_columns(feature_columns)
    lookup, sums = BatchFeatures(features), []
    collections = list(collections_of(weight_collections))
    with variable_scope(None, "linear_model"):
        for column in columns:
            with variable_scope(None, column.scope_name):
                size = column.num_buckets if isinstance(column, CategoricalColumn) else elements(column.variable_shape)  # type: ignore[attr-defined]
                table = get_variable(
                    "weights", [size, units], initializer=Zeros(), trainable=trainable, collections=collections
                )
                sums.append(_weighted(column, lookup, table, sparse_combiner, Weights(trainable, tuple(collections))))
                if cols_to_vars is not None:
                    cols_to_vars[column] = get_collection(GraphKeys.GLOBAL_VARIABLES, get_variable_scope().name)
        check_batches(sums, columns)
        bias = get_variable("bias_weights", [units], initializer=Zeros(), trainable=trainable, collections=collections)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return bias_add(add_n(sums, name="weighted_sum_no_bias"), bias, name="weighted_sum")


@public("af.feature_column")
def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """The features that columns take, for `af.parse_example` (`tf.feature_column.make_parse_example_spec`).

    Raises ValueError where something is not a column, or two columns take one feature in different ways.

    Example:
        >>> price = af.feature_column.numeric_column("price")
        >>> af.feature_column.make_parse_example_spec([price])
        {'price': FixedLenFeature(shape=(1,), dtype=actorflow.float32, default_value=None)}
    """
    spec: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be FeatureColumn instances. Given: {column!r:.80}")
        for key, feature in column.parse_example_spec.items():
            if spec.setdefault(key, feature) != feature:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {feature} and {spec[key]}"
                )
    return spec


def steps_of(column: FeatureColumn) -> CategoricalColumn | None:
    """The sequences of categories that a dense column takes, or None."""
    inner = getattr(column, "categorical_column", None) if isinstance(column, DenseColumn) else None
    return inner if isinstance(inner, CategoricalColumn) and inner.in_steps else None


def collections_of(names: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*(names or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]))


def _flat(column: DenseColumn, features: BatchFeatures, weights: Weights) -> Tensor:
    """The tensor of a column with one dimension beside the batch."""
    tensor = column.dense_tensor(features, weights)
    batch = None if not tensor.static_shape else tensor.static_shape[0]
    width = elements(column.variable_shape)
    flat = reshape(tensor, [shape_of(tensor)[0], width])
    flat.set_shape([batch, width])
    return flat


def _weighted(column: FeatureColumn, features: BatchFeatures, table: Any, combiner: str, weights: Weights) -> Tensor:
    """The weighted sum of one column."""
    if isinstance(column, CategoricalColumn):
        ids = features.ids(column)
        each = None if ids.weight_tensor is None else in_rows(ids.weight_tensor)
        weighted = safe_embedding_lookup_sparse(table, in_rows(ids.id_tensor), each, combiner, name="weighted_sum")
        weighted.set_shape([None, table.static_shape[1]])
        return weighted
    assert isinstance(column, DenseColumn)
    return matmul(_flat(column, features, weights), table, name="weighted_sum")


def check_batches(tensors: Sequence[Tensor], columns: Sequence[FeatureColumn]) -> None:
    """Raises ValueError if two columns have batches of known, different sizes."""
    sizes = [(t.static_shape[0], c.name) for t, c in zip(tensors, columns) if t.static_shape and t.static_shape[0]]
    for size, name in sizes[1:]:
        if size != sizes[0][0]:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({sizes[0][1]}, {name}): ({sizes[0][0]}, {size})"
            )
