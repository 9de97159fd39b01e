"""Operators over a matrix that is there: a full matrix, or a lower triangle."""

from __future__ import annotations

from typing import Any

from actorflow.base.shapes import Shape, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.linear_operators.operator import LinearOperator, multiplied
from actorflow.graph.linear_operators.shapes import in_one_batch, sizes
from actorflow.graph.ops.flow.asserts import assert_less
from actorflow.graph.ops.linalg.diagonal import matrix_band_part, matrix_diag_part
from actorflow.graph.ops.linalg.functions import adjoint as adjoint_of
from actorflow.graph.ops.linalg.matrix import cholesky, matrix_determinant
from actorflow.graph.ops.linalg.solve import cholesky_solve, matrix_triangular_solve
from actorflow.graph.ops.math.elementwise import abs as magnitude
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.math.reduction import reduce_prod, reduce_sum
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


class _Matrix(LinearOperator):
    """An operator over a tensor [..., rows, columns]."""

    def _set_matrix(self, matrix: Any, what: str) -> Tensor:
        self._matrix = convert_to_tensor(matrix)
        static_shape = self._matrix.static_shape
        if static_shape is not None and len(static_shape) < 2:
            raise ValueError(f"{what} must have at least 2 dimensions, but it has the shape {show(static_shape)}.")
        return self._matrix

    def _shape(self) -> Shape:
        return self._matrix.static_shape

    def _shape_tensor(self) -> Tensor:
        return sizes(self._matrix)

    def _to_dense(self) -> Tensor:
        return self._matrix

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return multiplied(self.to_dense(), x, adjoint, adjoint_arg)


@public("af.linalg")
class LinearOperatorFullMatrix(_Matrix):
    """A batch of matrices as they are (`tf.linalg.LinearOperatorFullMatrix`).

    Example:
        >>> af.linalg.LinearOperatorFullMatrix([[0.0, 1.0], [2.0, 0.0]]).solvevec([3.0, 4.0])
        [2. 3.]

    Args:
        matrix: the matrices, [..., rows, columns].
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.
    """

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        tensor = self._set_matrix(matrix, "matrix")
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(tensor.dtype, [tensor], *hints, name=name)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if not (self.is_self_adjoint and self.is_positive_definite):
            return super()._solve(rhs, adjoint, adjoint_arg)
        factor, right = in_one_batch(cholesky(self._matrix), adjoint_of(rhs) if adjoint_arg else rhs)
        return cholesky_solve(factor, right)

    def _determinant(self) -> Tensor:
        return matrix_determinant(self._matrix)


@public("af.linalg")
class LinearOperatorLowerTriangular(_Matrix):
    """A batch of lower triangles; what is above their diagonals is not looked at (`tf.linalg.LinearOperatorLowerTriangular`).

    Example:
        >>> af.linalg.LinearOperatorLowerTriangular([[1.0, 9.0], [3.0, 4.0]]).to_dense()
        [[1. 0.]
         [3. 4.]]

    Args:
        tril: the matrices, [..., rows, rows].
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: it is said to be not square.
    """

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        tensor = self._set_matrix(tril, "tril")
        hints = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(tensor.dtype, [tensor], *hints, name=name)

    def _to_dense(self) -> Tensor:
        return matrix_band_part(self._matrix, -1, 0)

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self._matrix)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        tril, right = in_one_batch(self._matrix, adjoint_of(rhs) if adjoint_arg else rhs)
        return matrix_triangular_solve(tril, right, lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(self.diag_part(), -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(magnitude(self.diag_part())), -1)

    def _assert_non_singular(self) -> Operation:
        size = magnitude(self.diag_part())
        return assert_less(size * 0, size, message="Singular operator:  Diagonal contained zero values.")
