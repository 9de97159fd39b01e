"""`LinearOperatorToeplitz`: matrices that are constant along their diagonals."""

from __future__ import annotations

from actorflow.base.shapes import Shape, broadcast_all
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.linear_operators.operator import LinearOperator, multiplied
from actorflow.graph.linear_operators.shapes import joined, sizes
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, reverse
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.linalg")
class LinearOperatorToeplitz(LinearOperator):
    """A batch of square matrices that are constant along their diagonals (`tf.linalg.LinearOperatorToeplitz`).

    Example:
        >>> af.linalg.LinearOperatorToeplitz([1.0, 2.0, 3.0], [1.0, 4.0, 5.0]).to_dense()
        [[1. 4. 5.]
         [2. 1. 4.]
         [3. 2. 1.]]

    Args:
        col: the first columns, [..., rows].
        row: the first rows, of that shape; their first numbers are those of `col`.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: it is said to be not square.
    """

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        self._col = convert_to_tensor(col)
        self._row = convert_to_tensor(row, self._col.dtype)
        hints = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(self._col.dtype, [self._col, self._row], *hints, name=name)

    @property
    def col(self) -> Tensor:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first rows."""
        return self._row

    def _shape(self) -> Shape:
        static_shape = broadcast_all([self._col.static_shape, self._row.static_shape])
        return None if static_shape is None else (*static_shape, static_shape[-1])

    def _shape_tensor(self) -> Tensor:
        size = sizes(self._col + zeros(sizes(self._row), self.dtype))
        return joined(size, size[-1:])

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return multiplied(self.to_dense(), x, adjoint, adjoint_arg)

    def _to_dense(self) -> Tensor:
        col = self._col + zeros(sizes(self._row), self.dtype)
        row = self._row + zeros(sizes(self._col), self.dtype)
        rows = sizes(col)[-1]
        diagonals = concat([reverse(col, [-1]), row[..., 1:]], -1)
        places = rows - 1 - expand_dims(range_(rows), 1) + expand_dims(range_(rows), 0)
        return gather(diagonals, places, axis=-1)

    def _trace(self) -> Tensor:
        return self.diag_part()[..., 0] * cast(self.range_dimension_tensor(), self.dtype)

    def _diag_part(self) -> Tensor:
        both = self._col + zeros(sizes(self._row), self.dtype)
        return both[..., :1] + zeros(sizes(both), self.dtype)
