"""`LinearOperatorKronecker`: the Kronecker product of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, mul
from typing import Any

from actorflow.base.shapes import Shape
from actorflow.graph.linear_operators.composition import (
    checked,
    inner,
    joint_batch,
    joint_batch_tensor,
    transposed_if,
)
from actorflow.graph.linear_operators.operator import LinearOperator
from actorflow.graph.linear_operators.shapes import every, joined, sizes
from actorflow.graph.ops.array.shape import expand_dims, reshape
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.linalg.matrix import matrix_transpose
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public


@public("af.linalg")
class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators, each applied on its own (`tf.linalg.LinearOperatorKronecker`).

    Example:
        >>> factors = [af.linalg.LinearOperatorDiag([1.0, 2.0]), af.linalg.LinearOperatorFullMatrix([[3.0, 4.0]])]
        >>> af.linalg.LinearOperatorKronecker(factors).to_dense()
        [[3. 4. 0. 0.]
         [0. 0. 6. 8.]]

    Args:
        operators: a list of operators of one type.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: there are no operators.
        TypeError: their types differ.
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = checked(operators)
        if is_non_singular is None:
            is_non_singular = every(operator.is_non_singular for operator in self._operators)
        if is_self_adjoint is None:
            is_self_adjoint = every(operator.is_self_adjoint for operator in self._operators)
        if is_positive_definite is None and is_self_adjoint:
            is_positive_definite = every(operator.is_positive_definite for operator in self._operators)
        parents = [tensor for operator in self._operators for tensor in operator.graph_parents]
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        name = name or "_x_".join(operator.name for operator in self._operators)
        super().__init__(self._operators[0].dtype, parents, *hints, name=name)

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return list(self._operators)

    def _shape(self) -> Shape:
        batch, sizes_of_factors = joint_batch(self._operators), [inner(operator) for operator in self._operators]
        total = [None if None in numbers else reduce(mul, numbers) for numbers in zip(*sizes_of_factors)]
        return None if batch is None else (*batch, total[0], total[1])

    def _shape_tensor(self) -> Tensor:
        both = [operator.shape_tensor()[-2:] for operator in self._operators]
        return joined(joint_batch_tensor(self._operators), reduce(mul, both))

    def _by_factors(
        self, x: Tensor, taken: Callable[[LinearOperator], Any], apply: Callable[[LinearOperator, Tensor], Tensor]
    ) -> Tensor:
        """`x`, [..., n1 · n2 · ..., k], with each factor applied to its own dimension. Each takes the first one away and leaves
        its own behind the others."""
        columns = sizes(x)[-1]
        for operator in self._operators:
            batch = sizes(x)[:-2]
            rest = apply(operator, reshape(x, joined(batch, [taken(operator)], [-1])))
            x = matrix_transpose(rest)  # [..., the rest, rows of this factor]
        batch = sizes(x)[:-2]
        return matrix_transpose(reshape(x, joined(batch, [columns], [-1])))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_factors(
            transposed_if(x, adjoint_arg),
            lambda operator: operator.range_dimension_tensor() if adjoint else operator.domain_dimension_tensor(),
            lambda operator, part: operator.matmul(part, adjoint),
        )

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_factors(
            transposed_if(rhs, adjoint_arg),
            lambda operator: operator.range_dimension_tensor(),
            lambda operator, part: operator.solve(part, adjoint),
        )

    def _powers(self) -> list[Tensor]:
        """How often each factor's determinant counts: the rows of all the others."""
        total = self.range_dimension_tensor()
        return [total // operator.range_dimension_tensor() for operator in self._operators]

    def _determinant(self) -> Tensor:
        parts = [operator.determinant() for operator in self._operators]
        return reduce(mul, [part ** cast(power, self.dtype) for part, power in zip(parts, self._powers())])

    def _log_abs_determinant(self) -> Tensor:
        parts = [operator.log_abs_determinant() for operator in self._operators]
        return reduce(add, [part * cast(power, part.dtype) for part, power in zip(parts, self._powers())])

    def _trace(self) -> Tensor:
        if any(operator.is_square is not True for operator in self._operators):
            return super()._trace()
        return reduce(mul, [operator.trace() for operator in self._operators])

    def _diag_part(self) -> Tensor:
        if any(operator.is_square is not True for operator in self._operators):
            return super()._diag_part()
        diagonal = self._operators[0].diag_part()
        for operator in self._operators[1:]:
            both = expand_dims(diagonal, -1) * expand_dims(operator.diag_part(), -2)
            diagonal = reshape(both, joined(sizes(both)[:-2], [-1]))
        return diagonal

    def _to_dense(self) -> Tensor:
        dense = self._operators[0].to_dense()
        for operator in self._operators[1:]:
            other = operator.to_dense()
            both = expand_dims(expand_dims(dense, -1), -3) * expand_dims(expand_dims(other, -2), -4)
            dense = reshape(both, joined(sizes(both)[:-4], sizes(dense)[-2:] * sizes(other)[-2:]))
        dense.set_shape(self._shape())
        return dense

    def _adjoint(self) -> LinearOperator:
        return LinearOperatorKronecker([operator.adjoint() for operator in self._operators], self.is_non_singular)

    def _inverse(self) -> LinearOperator:
        if any(operator.is_square is False for operator in self._operators):
            return super()._inverse()
        return LinearOperatorKronecker([operator.inverse() for operator in self._operators], True, self.is_self_adjoint)

    def _cholesky(self) -> LinearOperator:
        if not all(operator.is_positive_definite and operator.is_self_adjoint for operator in self._operators):
            return super()._cholesky()
        return LinearOperatorKronecker([operator.cholesky() for operator in self._operators], True)

    def _assert_non_singular(self) -> Operation:
        if any(operator.is_square is False for operator in self._operators):
            return super()._assert_non_singular()
        return group(*[operator.assert_non_singular() for operator in self._operators])
