"""`LinearOperatorLowRankUpdate`: an operator plus a product of narrow matrices."""

from __future__ import annotations

from actorflow.base.shapes import Shape, broadcast_all
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.linear_operators.composition import transposed_if
from actorflow.graph.linear_operators.diagonal import LinearOperatorDiag
from actorflow.graph.linear_operators.identity import LinearOperatorIdentity
from actorflow.graph.linear_operators.operator import LinearOperator, multiplied
from actorflow.graph.linear_operators.shapes import in_one_batch, joined, sizes
from actorflow.graph.ops.linalg.matrix import matrix_determinant, matrix_solve
from actorflow.graph.ops.math.elementwise import abs as magnitude
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.static import broadcast_dynamic_shape
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.linalg")
class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D V^H, solved over a matrix of the size of D (`tf.linalg.LinearOperatorLowRankUpdate`).

    Example:
        >>> base = af.linalg.LinearOperatorDiag([1.0, 2.0], is_non_singular=True)
        >>> af.linalg.LinearOperatorLowRankUpdate(base, [[1.0], [1.0]]).to_dense()
        [[2. 1.]
         [1. 3.]]

    Args:
        base_operator: L, an operator [..., rows, columns].
        u: [..., rows, k].
        diag_update: the diagonal of D, [..., k], all 1 unless given.
        v: [..., columns, k], as `u` unless given.
        is_diag_update_positive: whether D is positive.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: hints contradict each other, or shapes do not fit.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        self._base, self._u = base_operator, convert_to_tensor(u, base_operator.dtype)
        self._v = self._u if v is None else convert_to_tensor(v, base_operator.dtype)
        self._diag_update = None if diag_update is None else convert_to_tensor(diag_update, base_operator.dtype)
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive.  However, user set is_diag_update_positive=False."
                )
            is_diag_update_positive = True
        self._positive = is_diag_update_positive
        if v is None:  # U D U^H
            real_update = diag_update is None or not base_operator.dtype.is_complex
            if is_self_adjoint is None and base_operator.is_self_adjoint and real_update:
                is_self_adjoint = True
            if is_positive_definite is None and base_operator.is_positive_definite and is_diag_update_positive:
                is_positive_definite = True
        ranks = [x.static_shape for x in (self._u, self._v) if x.static_shape is not None]
        if len({shape[-1] for shape in ranks if shape[-1] is not None}) > 1:
            raise ValueError(f"The last dimensions of u and v differ: {self._u.shape} and {self._v.shape}.")
        parents = [*base_operator.graph_parents, self._u, *([] if v is None else [self._v])]
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(base_operator.dtype, parents, *hints, name=name)

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base

    @property
    def u(self) -> Tensor:
        """U."""
        return self._u

    @property
    def v(self) -> Tensor:
        """V."""
        return self._v

    @property
    def diag_update(self) -> Tensor | None:
        """The diagonal of D, None where D is the identity."""
        return self._diag_update

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether D is positive."""
        return self._positive

    @property
    def diag_operator(self) -> LinearOperator:
        """D."""
        if self._diag_update is None:
            return LinearOperatorIdentity(sizes(self._u)[-1], dtype=self.dtype)
        return LinearOperatorDiag(self._diag_update, is_positive_definite=self._positive)

    def _shape(self) -> Shape:
        static_shape = self._base._shape()
        shapes = [self._u.static_shape, self._v.static_shape]
        if static_shape is None or None in shapes:
            return None
        batch = broadcast_all([static_shape[:-2], *[shape[:-2] for shape in shapes if shape is not None]])
        return None if batch is None else (*batch, *static_shape[-2:])

    def _shape_tensor(self) -> Tensor:
        size = self._base.shape_tensor()
        batch = broadcast_dynamic_shape(size[:-2], sizes(self._u)[:-2])
        return joined(broadcast_dynamic_shape(batch, sizes(self._v)[:-2]), size[-2:])

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        value = transposed_if(x, adjoint_arg)
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        narrow = self.diag_operator.matmul(multiplied(right, value, True, False), adjoint)
        plain: Tensor = self._base.matmul(value, adjoint)
        return plain + multiplied(left, narrow, False, False)

    def _capacitance(self, adjoint: bool = False) -> Tensor:
        """D^-1 + V^H L^-1 U, a matrix of the size of D."""
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        inner = multiplied(right, self._base.solve(left, adjoint), True, False)
        diagonal = self.diag_operator.inverse()
        return (diagonal.adjoint() if adjoint else diagonal).add_to_tensor(inner)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        plain: Tensor = self._base.solve(transposed_if(rhs, adjoint_arg), adjoint)
        matrix, narrow = in_one_batch(self._capacitance(adjoint), multiplied(right, plain, True, False))
        correction = multiplied(left, matrix_solve(matrix, narrow), False, False)
        change: Tensor = self._base.solve(correction, adjoint)
        return plain - change

    def _determinant(self) -> Tensor:
        return self._base.determinant() * self.diag_operator.determinant() * matrix_determinant(self._capacitance())

    def _log_abs_determinant(self) -> Tensor:
        inner = log(magnitude(matrix_determinant(self._capacitance())))
        return self._base.log_abs_determinant() + self.diag_operator.log_abs_determinant() + inner
