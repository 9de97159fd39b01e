"""Columns of numbers: as they are, and in buckets (`tf.feature_column.numeric_column`, `bucketized_column`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32, int32, int64
from actorflow.base.shapes import num_elements, show
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.array.one_hot import one_hot
from actorflow.graph.ops.array.pad_tile import tile
from actorflow.graph.ops.array.shape import expand_dims, reshape
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.io.parsing import FixedLenFeature
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.logic import greater_equal
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor
from actorflow.models.feature_column.column import (
    BatchFeatures,
    CategoricalColumn,
    DenseColumn,
    Ids,
    Weights,
    key_is_string,
)
from actorflow.public import public


@dataclass(frozen=True, slots=True)
class NumericColumn(DenseColumn):
    """Numbers of one shape for each example, as float32."""

    key: str
    shape: tuple[int, ...]
    default_value: tuple[Any, ...] | None
    dtype: DType
    normalizer_fn: Callable[[Tensor], Tensor] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return self.shape

    def dense_tensor(self, features: BatchFeatures, weights: Weights) -> Tensor:
        return self.numbers(features)

    def numbers(self, features: BatchFeatures) -> Tensor:
        """The numbers, normalized."""

        def make() -> Tensor:
            tensor = features.raw(self.key)
            if isinstance(tensor, SparseTensor):
                raise ValueError(
                    "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. key: "
                    f"{self.key}"
                )
            converted = cast(tensor if self.normalizer_fn is None else self.normalizer_fn(tensor), float32)
            static_shape = converted.static_shape
            if static_shape is not None and num_elements(static_shape[1:]) not in (None, elements(self.shape)):
                raise ValueError(
                    f"Feature {self.key} has the shape {show(static_shape[1:])} in each example, but its numeric_column has the "
                    f"shape {show(self.shape)}."
                )
            return converted

        numbers: Tensor = features.kept(self, make)
        return numbers


@public("af.feature_column")
def numeric_column(
    key: str,
    shape: int | Sequence[int] = (1,),
    default_value: Any = None,
    dtype: DTypeLike = float32,
    normalizer_fn: Callable[[Tensor], Tensor] | None = None,
) -> NumericColumn:
    """A feature of numbers (`tf.feature_column.numeric_column`).

    Example:
        >>> price = af.feature_column.numeric_column("price", normalizer_fn=lambda x: (x - 3.0) / 4.2)
        >>> layer = af.feature_column.input_layer({"price": [[3.0], [7.2]]}, [price])
        >>> await session.run(layer)
        [[0.]
         [1.]]

    Args:
        key: the name of the feature.
        shape: its shape in one example.
        default_value: stands for it in an example that lacks it, when examples are parsed: one number, or a number for each
            element.
        dtype: integer or floating; the column gives float32.
        normalizer_fn: a function of the feature that is applied before.

    Raises:
        ValueError: the key is not a string, the shape has a size that is not positive, or a type or default that does not fit.
        TypeError: `normalizer_fn` is not a function, or the default is not a number.
    """
    sizes = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    if any(not isinstance(size, (int, np.integer)) for size in sizes):
        raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
    if any(size < 1 for size in sizes):
        raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    kind = as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {kind}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn!r:.60}")
    ints = tuple(int(size) for size in sizes)
    return NumericColumn(key_is_string(key), ints, _default(default_value, ints, kind, key), kind, normalizer_fn)


def _default(value: Any, shape: tuple[int, ...], dtype: DType, key: str) -> Any:
    """The default in the column's shape, as nested tuples."""
    if value is None:
        return None
    number = np.asarray(value)
    if number.dtype.kind not in "iufb" or dtype.is_integer and number.dtype.kind == "f":
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {value}, dtype: {dtype}, key: {key}"
        )
    if number.shape not in ((), shape):
        raise ValueError(
            f"The shape of default_value must be equal to given shape. default_value: {value}, shape: {shape}, key: {key}"
        )
    return _tuples(np.broadcast_to(number.astype(dtype.numpy_dtype), shape).tolist())


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Numbers as the buckets in which they lie: one-hot, or as categories."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        return (*self.source_column.shape, len(self.boundaries) + 1)

    @property
    def num_buckets(self) -> int:
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def dense_tensor(self, features: BatchFeatures, weights: Weights) -> Tensor:
        dense: Tensor = one_hot(cast(self._buckets(features), int64), len(self.boundaries) + 1, 1.0, 0.0)
        return dense

    def find_ids(self, features: BatchFeatures) -> Ids:
        buckets = self._buckets(features)
        batch, width = shape_of(buckets)[0], self.source_column.shape[0]
        rows = reshape(tile(expand_dims(range_(batch), 1), [1, width]), [-1])
        columns = tile(range_(width), expand_dims(batch, 0))
        values = reshape(buckets, [-1]) + (len(self.boundaries) + 1) * columns
        places = cast(stack([rows, columns], 1), int64)
        return Ids(SparseTensor(places, cast(values, int64), cast(stack([batch, constant(width)]), int64)))

    def _buckets(self, features: BatchFeatures) -> Tensor:
        """For each number, how many boundaries are not above it."""

        def make() -> Tensor:
            numbers = expand_dims(self.source_column.numbers(features), -1)
            return reduce_sum(cast(greater_equal(numbers, constant(self.boundaries, float32)), int32), -1)

        buckets: Tensor = features.kept((self, "buckets"), make)
        return buckets


@public("af.feature_column")
def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """The buckets between `boundaries` in which numbers lie (`tf.feature_column.bucketized_column`).

    Boundaries [0, 1] make the buckets (-∞, 0), [0, 1) and [1, ∞).

    Example:
        >>> price = af.feature_column.numeric_column("price")
        >>> level = af.feature_column.bucketized_column(price, boundaries=[10.0, 50.0])
        >>> layer = af.feature_column.input_layer({"price": [[3.0], [70.2]]}, [level])
        >>> await session.run(layer)
        [[1. 0. 0.]
         [0. 0. 1.]]

    Raises:
        ValueError: the source is not a numeric column of one dimension, or the boundaries are not sorted.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            f"source_column must be a column generated with numeric_column(). Given: {source_column!r:.80}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    sequence = isinstance(boundaries, (list, tuple))
    if not sequence or any(not left < right for left, right in itertools.pairwise(boundaries)):
        raise ValueError(f"boundaries must be a sorted list. Given: {boundaries!r:.80}")
    return BucketizedColumn(source_column, tuple(float(bound) for bound in boundaries))


def elements(shape: tuple[int, ...]) -> int:
    """How many numbers a dense column gives for one example."""
    return math.prod(shape)
