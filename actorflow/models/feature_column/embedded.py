"""Categories as numbers: one-hot, and as rows of a learned table (`tf.feature_column.embedding_column`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import float32
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.one_hot import one_hot
from actorflow.graph.ops.array.scatter import scatter_nd
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.nn.embedding import safe_embedding_lookup_sparse
from actorflow.graph.ops.sparse.shape import sparse_slice
from actorflow.graph.ops.sparse.tensor import sparse_merge, sparse_tensor_to_dense
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.initializers import TruncatedNormal
from actorflow.graph.variables.scope import get_variable
from actorflow.models.feature_column.categorical import WeightedColumn
from actorflow.models.feature_column.column import BatchFeatures, CategoricalColumn, DenseColumn, Weights, as_scope
from actorflow.models.train.saving.checkpoint_init import init_from_checkpoint
from actorflow.public import public


@dataclass(frozen=True, slots=True)
class IndicatorColumn(DenseColumn):
    """How often each category is there, or the sum of its weights."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (1, self.categorical_column.num_buckets)

    def dense_tensor(self, features: BatchFeatures, weights: Weights) -> Tensor:
        own_ids, size = features.ids(self.categorical_column), self.categorical_column.num_buckets
        if own_ids.weight_tensor is not None:
            merged = sparse_merge(own_ids.id_tensor, own_ids.weight_tensor, size)
            merged = sparse_slice(merged, [0, 0], merged.dense_shape)  # leaves out -1, which stands for nothing
            return scatter_nd(merged.indices, merged.values, merged.dense_shape)
        ids = sparse_tensor_to_dense(own_ids.id_tensor, default_value=-1)
        return reduce_sum(one_hot(ids, size, 1.0, 0.0), [-2])


@public("af.feature_column")
def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """How often each category is there in an example (`tf.feature_column.indicator_column`).

    Raises ValueError for what is not a categorical column.

    Example:
        >>> color = af.feature_column.categorical_column_with_identity("color", num_buckets=3)
        >>> layer = af.feature_column.input_layer({"color": [[0], [2]]}, [af.feature_column.indicator_column(color)])
        >>> await session.run(layer)
        [[1. 0. 0.]
         [0. 0. 1.]]
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            f"Unsupported input type. Input must be a CategoricalColumn. Given: {categorical_column!r:.80}"
        )
    return IndicatorColumn(categorical_column)


@dataclass(frozen=True, slots=True)
class EmbeddingColumn(DenseColumn):
    """The rows of a learned table for the categories, combined. With `shared` the table belongs to all columns of that name."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    shared: str | None = None

    @property
    def shared_embedding_collection_name(self) -> str | None:
        """The name of the table that columns share."""
        return self.shared

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_{'embedding' if self.shared is None else 'shared_embedding'}"

    @property
    def scope_name(self) -> str:
        return as_scope(self.name) if self.shared is None else self.shared

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    def dense_tensor(self, features: BatchFeatures, weights: Weights) -> Tensor:
        ids = features.ids(self.categorical_column)
        table = self._table(weights)
        return safe_embedding_lookup_sparse(
            table,
            ids.id_tensor,
            ids.weight_tensor,
            combiner=self.combiner,
            max_norm=self.max_norm,
            name=f"{self.name}_weights",
        )

    def _table(self, weights: Weights) -> Any:
        shape = [self.categorical_column.num_buckets, self.dimension]
        graph = get_default_graph()
        tables = [] if self.shared is None else graph.get_collection(self.shared)
        if tables:
            if len(tables) > 1:
                raise ValueError(
                    f"Collection {self.shared} can only contain one variable. Choose a unique name for it."
                )
            if list(tables[0].static_shape) != shape:
                raise ValueError(
                    f"Shared embedding collection {self.shared} contains variable {tables[0].name} of unexpected shape "
                    f"{tables[0].shape}. Expected shape is {tuple(shape)}. Choose a unique name for this collection."
                )
            return tables[0]
        table = get_variable(
            "embedding_weights",
            shape,
            float32,
            self.initializer,
            trainable=self.trainable and weights.trainable,
            collections=list(weights.collections) or None,
        )
        if self.shared is not None:
            graph.add_to_collection(self.shared, table)
        if self.ckpt_to_load_from is not None and self.tensor_name_in_ckpt is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        return table


def _check(dimension: Any, initializer: Any, ckpt: Any, tensor: Any, what: str) -> Callable[..., Any]:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt is None) != (tensor is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified. Embedding of column_name: {what}")
    initial: Callable[..., Any] = initializer or TruncatedNormal(0.0, 1 / math.sqrt(dimension))
    return initial


@public("af.feature_column")
def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """A learned row of numbers for each category (`tf.feature_column.embedding_column`).

    Example:
        >>> word = af.feature_column.categorical_column_with_hash_bucket("word", 100)
        >>> column = af.feature_column.embedding_column(word, dimension=8)
        >>> af.feature_column.input_layer({"word": af.placeholder(af.string, [None])}, [column]).shape
        TensorShape([None, 8])

    Args:
        categorical_column: the categories.
        dimension: the length of a row.
        combiner: how several rows of an example are combined: "mean", "sqrtn" or "sum". An example without categories has zeros.
        initializer: `f(shape, dtype)`; truncated normal of deviation 1 / √dimension unless given.
        ckpt_to_load_from, tensor_name_in_ckpt: a checkpoint, and the name in it of the table to begin with.
        max_norm: longer rows are scaled down to it.
        trainable: whether optimizers change the table.
        use_safe_embedding_lookup: accepted for compatibility; examples may always be without categories.

    Raises:
        ValueError: the dimension is not positive, only one of the checkpoint's arguments is given, or `initializer` is not a
            function.
    """
    name = getattr(categorical_column, "name", "")
    chosen = _check(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, name)
    return EmbeddingColumn(
        categorical_column, dimension, combiner, chosen, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable
    )


@public("af.feature_column")
def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[EmbeddingColumn]:
    """Embeddings of several columns that share one table (`tf.feature_column.shared_embedding_columns`).

    Example:
        >>> seen = af.feature_column.categorical_column_with_identity("seen", num_buckets=100)
        >>> bought = af.feature_column.categorical_column_with_identity("bought", num_buckets=100)
        >>> columns = af.feature_column.shared_embedding_columns([seen, bought], dimension=8)
        >>> features = {"seen": af.placeholder(af.int64, [None, 1]), "bought": af.placeholder(af.int64, [None, 1])}
        >>> layer = af.feature_column.input_layer(features, columns)
        >>> layer.shape, [v.shape.as_list() for v in af.trainable_variables()]
        (TensorShape([None, 16]), [[100, 8]])

    Args:
        categorical_columns: columns of one kind with equally many categories, with weights or without.
        dimension, combiner, initializer: as for `embedding_column`.
        shared_embedding_collection_name: the name of the table's variable scope, and of a collection that lists it; made of the
            columns' names unless given.
        ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, use_safe_embedding_lookup: as for `embedding_column`.

    Returns:
        A column for each, in their order.

    Raises:
        ValueError: as `embedding_column`, or the columns differ in kind or number of categories.
    """
    chosen = _check(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, "")
    ordered = sorted(categorical_columns, key=lambda column: column.name)
    first = ordered[0]
    if not isinstance(first, CategoricalColumn):
        raise ValueError(f"All categorical_columns must be subclasses of CategoricalColumn. Given: {first!r:.80}")
    for column in ordered[1:]:
        if type(_unweighted(column)) is not type(_unweighted(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                f"weighted_categorical_column of the same type. Given column: {first} does not match given column: {column}"
            )
        if column.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given column: "
                f"{first} with buckets: {first.num_buckets} does not match column: {column} with buckets: {column.num_buckets}"
            )
    shared = shared_embedding_collection_name or "_".join(c.name for c in ordered) + "_shared_embedding"
    return [
        EmbeddingColumn(
            column, dimension, combiner, chosen, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, shared
        )
        for column in categorical_columns
    ]


def _unweighted(column: CategoricalColumn) -> CategoricalColumn:
    return _unweighted(column.categorical_column) if isinstance(column, WeightedColumn) else column
