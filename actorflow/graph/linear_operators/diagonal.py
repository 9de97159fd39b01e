"""`LinearOperatorDiag`: a matrix that is zero beside its diagonal."""

from __future__ import annotations

from actorflow.base.shapes import Shape
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.linear_operators.operator import LinearOperator
from actorflow.graph.linear_operators.shapes import joined, sizes
from actorflow.graph.ops.array.shape import expand_dims
from actorflow.graph.ops.flow.asserts import assert_equal, assert_less, assert_positive
from actorflow.graph.ops.linalg.diagonal import matrix_diag, matrix_diag_part, matrix_set_diag
from actorflow.graph.ops.linalg.functions import adjoint as adjoint_of
from actorflow.graph.ops.math.cast import conj, imag, real
from actorflow.graph.ops.math.elementwise import abs as magnitude
from actorflow.graph.ops.math.elementwise import log, sqrt
from actorflow.graph.ops.math.reduction import reduce_prod, reduce_sum
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af.linalg")
class LinearOperatorDiag(LinearOperator):
    """A batch of diagonal matrices (`tf.linalg.LinearOperatorDiag`).

    Example:
        >>> af.linalg.LinearOperatorDiag([1.0, 2.0]).to_dense()
        [[1. 0.]
         [0. 2.]]

    Args:
        diag: the diagonals, [..., rows].
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: a real diagonal is said to be not self-adjoint.
    """

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = convert_to_tensor(diag)
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square, diagonal operators currently supported.")
        hints = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(self._diag.dtype, [self._diag], *hints, name=name)

    @property
    def diag(self) -> Tensor:
        """The diagonals."""
        return self._diag

    def _shape(self) -> Shape:
        static_shape = self._diag.static_shape
        return None if static_shape is None else (*static_shape, static_shape[-1])

    def _shape_tensor(self) -> Tensor:
        size = sizes(self._diag)
        return joined(size, size[-1:])

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        diag = conj(self._diag) if adjoint else self._diag
        return expand_dims(diag, -1) * (adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        diag = conj(self._diag) if adjoint else self._diag
        return (adjoint_of(rhs) if adjoint_arg else rhs) / expand_dims(diag, -1)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(magnitude(self._diag)), -1)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        with self._scope(name):
            value = self._argument(x, "x")
            return matrix_set_diag(value, matrix_diag_part(value) + self._diag)

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorDiag(conj(self._diag), self.is_non_singular, None, self.is_positive_definite)

    def _inverse(self) -> LinearOperator:
        return LinearOperatorDiag(1 / self._diag, True, self.is_self_adjoint, self.is_positive_definite)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorDiag(sqrt(self._diag), True, True, True)

    def _assert_non_singular(self) -> Operation:
        sizes_of = magnitude(self._diag)
        zero = sizes_of * 0
        return assert_less(zero, sizes_of, message="Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        return assert_positive(
            real(self._diag), message="Operator is not positive definite: the diagonal has a real part <= 0."
        )

    def _assert_self_adjoint(self) -> Operation:
        part = imag(self._diag) if self.dtype.is_complex else self._diag * 0
        return assert_equal(part, part * 0, message="This diagonal operator contained non-zero imaginary values.")
