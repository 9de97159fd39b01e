"""`SparseTensor`: a tensor of which only some elements are stored, as three tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, int64
from actorflow.base.shapes import Shape, TensorShape, compatible, show
from actorflow.graph import overloads
from actorflow.graph.constant_value import constant_value
from actorflow.graph.convert import convert_to_tensor, graph_of, register_tensor_conversion_function
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af")
class SparseTensorValue(NamedTuple):
    """The arrays of a `SparseTensor`, as a run gives and takes them (`tf.SparseTensorValue`).

    Example:
        >>> x = af.sparse_placeholder(af.float32, [2, 3])
        >>> fed = af.SparseTensorValue([[0, 1], [1, 2]], [7.0, 8.0], [2, 3])
        >>> await session.run(af.sparse_reduce_sum(x, 1), {x: fed})
        [7. 8.]

    Args:
        indices: int64 `[n, rank]`, where the elements are.
        values: the elements, `[n]`.
        dense_shape: int64 `[rank]`, the whole shape.
    """

    indices: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    dense_shape: np.ndarray[Any, Any]


@public("af", "af.sparse")
class SparseTensor:
    """The tensor of shape `dense_shape` with `values[i]` at `indices[i]`, and zero elsewhere (`tf.SparseTensor`).

    A run fetches it as a `SparseTensorValue`. Its feed is a `SparseTensorValue` or a tuple of three arrays. `*` and `/` with
    a dense tensor or a number give a sparse tensor.

    Example:
        >>> x = af.SparseTensor(indices=[[0, 1], [1, 2]], values=[7.0, 8.0], dense_shape=[2, 3])
        >>> af.sparse_tensor_to_dense(x)
        [[0. 7. 0.]
         [0. 0. 8.]]
        >>> af.sparse_reduce_sum(x * 10.0)
        150.0

    Args:
        indices: int64, of shape [n, r]: the position of each element, one row each. Most ops want the rows in order
            (`af.sparse_reorder`).
        values: the elements, of shape [n] and any type.
        dense_shape: int64, of shape [r]: the shape of the whole.

    Raises:
        ValueError: the three shapes can't be of one sparse tensor.
        TypeError: indices or a shape of another type than int64.
    """

    __slots__ = ("_known", "dense_shape", "indices", "values")
    __array_ufunc__ = None  # numpy leaves `array * sparse` alone

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike) -> None:
        graph = graph_of([indices, values, dense_shape])
        with graph.as_default(), graph.name_scope("SparseTensor"):
            self.indices = convert_to_tensor(indices, int64, "indices")
            self.values = convert_to_tensor(values, None, "values")
            self.dense_shape = convert_to_tensor(dense_shape, int64, "dense_shape")
        self._known: Shape = None
        i, v, d = (t.static_shape for t in (self.indices, self.values, self.dense_shape))
        counts = (None if i is None or len(i) != 2 else i[0],), (None if d is None or len(d) != 1 else d[0],)
        fits = compatible(i, (None, None)) and compatible(v, (None,)) and compatible(d, (None,))
        if not fits or not compatible(v, counts[0]) or i is not None and not compatible(i[1:], counts[1]):
            raise ValueError(
                f"A sparse tensor of n elements and rank r has indices [n, r], values [n] and a dense_shape [r], but "
                f"these have the shapes {show(i)}, {show(v)} and {show(d)}."
            )

    @classmethod
    def from_value(cls, value: Any) -> SparseTensor:
        """`value`, a sparse tensor or its arrays, as a sparse tensor. Raises TypeError for anything else.

        Example:
            >>> af.SparseTensor.from_value(af.SparseTensorValue([[0, 1]], [7.0], [2, 3])).values
            [7.]
        """
        if isinstance(value, SparseTensor):
            return value
        if isinstance(value, SparseTensorValue):
            return cls(*value)
        raise TypeError(f"A SparseTensor or SparseTensorValue is needed, but a {type(value).__name__} was given.")

    def _nest_parts(self) -> tuple[Sequence[Tensor], Callable[[Sequence[Tensor]], SparseTensor]]:
        """See `actorflow.nest`."""
        return [self.indices, self.values, self.dense_shape], lambda parts: SparseTensor(*parts)

    @property
    def graph(self) -> Graph:
        return self.values.graph

    @property
    def op(self) -> Operation:
        return self.values.op

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def static_shape(self) -> Shape:
        """The known part of `dense_shape`, as a plain tuple."""
        sizes = constant_value(self.graph.nodes, self.dense_shape.tensor_id)
        if sizes is not None:
            return tuple(int(size) for size in sizes)
        if self._known is not None:
            return self._known
        for of, at in ((self.indices, 1), (self.dense_shape, 0)):
            shape = of.static_shape
            if shape is not None and (rank := shape[at]) is not None:
                return (None,) * rank
        return None

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.static_shape)

    def get_shape(self) -> TensorShape:
        """The static shape of the whole, as `shape` gives it.

        Example:
            >>> af.SparseTensor(indices=[[0, 1]], values=[7.0], dense_shape=[2, 3]).get_shape()
            TensorShape([2, 3])
        """
        return self.shape

    def consumers(self) -> list[Operation]:
        """The operations that take one of its three tensors.

        Example:
            >>> with af.Graph().as_default():
            ...     x = af.sparse_placeholder(af.float32, [2, 3])
            ...     y = af.sparse_reduce_sum(x, name="y")
            >>> [op.name for op in x.consumers()]
            ['y']
        """
        parts = (self.indices, self.values, self.dense_shape)
        return list(dict.fromkeys(user for part in parts for user in part.consumers()))

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """`session.run(self, feed_dict)`; see `Tensor.eval`."""
        parts = [part.eval(feed_dict, session) for part in (self.indices, self.values, self.dense_shape)]
        return SparseTensorValue(*parts)

    def __tensor_components__(self) -> list[Tensor]:
        return [self.indices, self.values, self.dense_shape]

    def __from_components__(self, indices: Any, values: Any, dense_shape: Any) -> SparseTensorValue:
        return SparseTensorValue(indices, values, dense_shape)

    def __to_components__(self, value: Any) -> Sequence[Any]:
        return tuple(value)

    def with_values(self, values: TensorLike) -> SparseTensor:
        """A sparse tensor with other values at the same places.

        Example:
            >>> x = af.SparseTensor([[0, 1]], [7.0], [2, 3])
            >>> af.sparse_tensor_to_dense(x.with_values(x.values * 2.0))
            [[ 0. 14.  0.]
             [ 0.  0.  0.]]
        """
        return SparseTensor(self.indices, values, self.dense_shape)

    def __mul__(self, other: Any) -> SparseTensor:
        return overloads._functions["sparse_multiply"](self, other)  # type: ignore[no-any-return]

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return overloads._functions["sparse_divide"](self, other)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<actorflow.SparseTensor of {self.values!r} at {self.indices.name} in {show(self.static_shape)}>"


@public("tf")
def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | SparseTensor:
    """A sparse tensor of a `SparseTensor` or a `SparseTensorValue`, and a tensor of anything else.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.convert_to_tensor_or_sparse_tensor(tf.SparseTensorValue([[0, 1]], [7.0], [2, 3])).shape
        TensorShape([Dimension(2), Dimension(3)])

    Raises:
        TypeError, ValueError: as `convert_to_tensor`; or a sparse tensor has another type than `dtype`.
    """
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        return convert_to_tensor(value, dtype, name)
    sparse = SparseTensor.from_value(value)
    if dtype is not None and sparse.dtype.base_dtype is not as_dtype(dtype).base_dtype:
        raise TypeError(f"{sparse.name} has type {sparse.dtype}, but {as_dtype(dtype)} is needed.")
    return sparse


def _refuse(value: SparseTensor, dtype: Any = None, name: str | None = None) -> NoReturn:
    raise TypeError(
        f"The sparse tensor {value.name} is no tensor. Say af.sparse_tensor_to_dense(x) where a dense one is wanted, or use "
        f"an op of af.sparse."
    )


register_tensor_conversion_function(SparseTensor, _refuse)
