"""`LinearOperatorHouseholder`: the reflection at a plane."""

from __future__ import annotations

from actorflow.base.shapes import Shape
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.linear_operators.composition import transposed_if
from actorflow.graph.linear_operators.operator import LinearOperator, multiplied
from actorflow.graph.linear_operators.shapes import certain, joined, sizes
from actorflow.graph.ops.array.constant import ones, zeros
from actorflow.graph.ops.array.shape import expand_dims
from actorflow.graph.ops.flow.control import no_op
from actorflow.graph.ops.linalg.functions import adjoint as adjoint_of
from actorflow.graph.ops.math.cast import cast, conj, real
from actorflow.graph.ops.math.elementwise import sqrt
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af.linalg")
class LinearOperatorHouseholder(LinearOperator):
    """Reflections 1 - 2 v v^H of unit vectors v (`tf.linalg.LinearOperatorHouseholder`).

    Example:
        >>> af.linalg.LinearOperatorHouseholder([1.0, 0.0]).matvec([3.0, 4.0])
        [-3.  4.]

    Args:
        reflection_axis: vectors [..., rows] of any length but 0.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: a hint is not that of a reflection.
    """

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        certain("is_self_adjoint", is_self_adjoint, True, "a Householder operator is always self adjoint")
        certain(
            "is_positive_definite",
            is_positive_definite,
            False,
            "a Householder operator is always non-positive definite",
        )
        certain("is_square", is_square, True, "a Householder operator is always square")
        certain("is_non_singular", is_non_singular, True, "a Householder operator is always non-singular")
        self._axis = convert_to_tensor(reflection_axis)
        super().__init__(self._axis.dtype, [self._axis], True, True, False, True, name)

    @property
    def reflection_axis(self) -> Tensor:
        """The vectors that are turned round."""
        return self._axis

    def _shape(self) -> Shape:
        static_shape = self._axis.static_shape
        return None if static_shape is None else (*static_shape, static_shape[-1])

    def _shape_tensor(self) -> Tensor:
        size = sizes(self._axis)
        return joined(size, size[-1:])

    def _unit(self) -> Tensor:
        """The vectors of length 1, as columns."""
        length = sqrt(reduce_sum(real(self._axis * conj(self._axis)), -1, keepdims=True))
        return expand_dims(self._axis / cast(length, self.dtype), -1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        value, unit = transposed_if(x, adjoint_arg), self._unit()
        return value - 2 * unit * multiplied(adjoint_of(unit), value, False, False)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _trace(self) -> Tensor:
        return cast(sizes(self._axis)[-1], self.dtype) - 2 * ones(self.batch_shape_tensor(), self.dtype)

    def _determinant(self) -> Tensor:
        return -ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), real(ones([], self.dtype)).dtype)

    def _diag_part(self) -> Tensor:
        unit = self._unit()[..., 0]
        return 1 - 2 * unit * conj(unit)

    def _inverse(self) -> LinearOperator:
        return self

    def _assert_non_singular(self) -> Operation:
        return no_op()

    def _assert_self_adjoint(self) -> Operation:
        return no_op()
