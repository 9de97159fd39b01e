"""`IndexedSlices`: a gradient that is zero except in some rows, such as that of a gather from a large table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorflow.base.dtypes import INDEX, DType, DTypeLike, int32, int64
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, TensorShape, show
from actorflow.errors import describe
from actorflow.graph.constant_value import constant_value
from actorflow.graph.convert import convert_to_tensor, graph_of, register_tensor_conversion_function
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.segment import unsorted_segment_sum
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af")
class IndexedSlicesValue(NamedTuple):
    """The arrays of an `IndexedSlices`, as a run gives them.

    Example:
        >>> table = af.Variable([[1.0], [2.0], [3.0]])
        >>> (slope,) = af.gradients(af.reduce_sum(af.gather(table, [2, 0]) * 5.0), [table])
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(slope)
        IndexedSlicesValue(values=[[5.]
                                   [5.]], indices=[2 0], dense_shape=[3 1])

    Args:
        values: the rows, `[n, d1, d2, ...]`.
        indices: the places of the rows, `[n]`.
        dense_shape: the whole shape, `[d0, d1, d2, ...]`, or None if unknown.
    """

    values: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    dense_shape: np.ndarray[Any, Any] | None


@public("af")
class IndexedSlices:
    """The rows `values[i]` at `indices[i]` of a tensor that is zero elsewhere (`tf.IndexedSlices`).

    An op that wants a tensor gets the dense tensor. An optimizer applies the rows alone.

    Example:
        >>> rows = af.IndexedSlices([[1.0, 2.0]], [1], dense_shape=[3, 2])
        >>> af.convert_to_tensor(rows)
        [[0. 0.]
         [1. 2.]
         [0. 0.]]

    Args:
        values: shape `[n, d1, d2, ...]`.
        indices: `[n]`, int32 or int64; an index that occurs several times stands for the sum of its rows.
        dense_shape: the vector `[d0, d1, d2, ...]`, or None if unknown.

    Raises:
        TypeError: indices or a shape that are no integers.
    """

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, values: TensorLike, indices: TensorLike, dense_shape: TensorLike | None = None) -> None:
        graph = graph_of([values, indices, dense_shape])
        self.values = convert_to_tensor(values, name="values", graph=graph)
        self.indices = _integers(indices, "indices", graph)
        self.dense_shape = None if dense_shape is None else _integers(dense_shape, "dense_shape", graph)

    def _nest_parts(self) -> tuple[Sequence[Tensor], Callable[[Sequence[Tensor]], IndexedSlices]]:
        """See `actorflow.nest`."""
        shape = [] if self.dense_shape is None else [self.dense_shape]
        return [self.values, self.indices, *shape], lambda parts: IndexedSlices(*parts)

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def op(self) -> Operation:
        return self.values.op

    @property
    def graph(self) -> Graph:
        return self.values.graph

    @property
    def device(self) -> str:
        return self.values.device

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def static_shape(self) -> Shape:
        """The known part of the dense tensor's shape, as a plain tuple."""
        if self.dense_shape is not None:
            sizes = constant_value(self.graph.nodes, self.dense_shape.tensor_id)
            if sizes is not None:
                return tuple(int(size) for size in sizes)
        rows = self.values.static_shape
        return None if rows is None else (None, *rows[1:])

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.static_shape)

    def get_shape(self) -> TensorShape:
        """The static shape of the whole, as `shape` gives it.

        Example:
            >>> af.IndexedSlices([[1.0, 2.0]], [1], dense_shape=[3, 2]).get_shape()
            TensorShape([3, 2])
        """
        return self.shape

    def __tensor_components__(self) -> list[Tensor]:
        return [self.values, self.indices, *([] if self.dense_shape is None else [self.dense_shape])]

    def __from_components__(self, values: Any, indices: Any, dense_shape: Any = None) -> IndexedSlicesValue:
        return IndexedSlicesValue(values, indices, dense_shape)

    def __to_components__(self, value: Any) -> Sequence[Any]:
        return tuple(value)[: 2 if self.dense_shape is None else 3]

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __repr__(self) -> str:
        return f"<actorflow.IndexedSlices of {self.values!r} at {self.indices.name} in {show(self.static_shape)}>"


def _integers(value: TensorLike, name: str, graph: Graph) -> Tensor:
    tensor = convert_to_tensor(value, name=name, preferred_dtype=int32, graph=graph)
    if tensor.dtype.base_dtype not in INDEX:
        raise TypeError(
            describe(
                f"The {name} of IndexedSlices are int32 or int64, but they were given as {tensor.dtype.name}.",
                where=user_line(),
                hint=f"Convert them: af.cast({name}, af.int64).",
            )
        )
    return tensor


def add_slices(parts: Sequence[IndexedSlices]) -> IndexedSlices:
    """The sum of several slices: their rows and indices joined in order."""
    indices = [part.indices for part in parts]
    if len({index.dtype for index in indices}) > 1:
        indices = [cast(index, int64) for index in indices]
    dense_shape = next((part.dense_shape for part in parts if part.dense_shape is not None), None)
    return IndexedSlices(concat([part.values for part in parts], 0), concat(indices, 0), dense_shape)


def _dense(slices: IndexedSlices, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """The tensor that `slices` stands for. Raises ValueError where its shape is not known."""
    if slices.dense_shape is None:
        raise ValueError(
            describe(
                f"The slices {slices.name} can't become a tensor, because they know no dense_shape.",
                where=user_line(),
                hint="Give one: af.IndexedSlices(values, indices, dense_shape).",
            )
        )
    with slices.graph.as_default():
        dense = unsorted_segment_sum(slices.values, slices.indices, slices.dense_shape[0], name=name)
    dense.set_shape(slices.static_shape)
    return dense


register_tensor_conversion_function(IndexedSlices, _dense)
