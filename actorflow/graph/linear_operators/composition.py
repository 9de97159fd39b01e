"""`LinearOperatorComposition`: a product of operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add, mul

from actorflow.base.shapes import Shape, broadcast_all
from actorflow.graph.linear_operators.operator import LinearOperator
from actorflow.graph.linear_operators.shapes import every, joined
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.linalg.functions import adjoint as adjoint_of
from actorflow.graph.ops.static import broadcast_dynamic_shape
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public


@public("af.linalg")
class LinearOperatorComposition(LinearOperator):
    """The product of operators, the last of which is applied first (`tf.linalg.LinearOperatorComposition`).

    Example:
        >>> tril = af.linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [3.0, 4.0]])
        >>> af.linalg.LinearOperatorComposition([tril, af.linalg.LinearOperatorDiag([2.0, 1.0])]).to_dense()
        [[2. 0.]
         [6. 4.]]

    Args:
        operators: a list of operators of one type, whose sizes fit.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: there are no operators, or their sizes do not fit.
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
        for left, right in zip(self._operators, self._operators[1:]):
            (_, columns), (rows, _) = inner(left), inner(right)
            if columns is not None and rows is not None and columns != rows:
                raise ValueError(
                    f"Dimensions {columns} and {rows} of the operators {left!r} and {right!r} are not compatible."
                )
        if is_non_singular is None:
            is_non_singular = every(operator.is_non_singular for operator in self._operators)
        parents = [tensor for operator in self._operators for tensor in operator.graph_parents]
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        name = name or "_o_".join(operator.name for operator in self._operators)
        super().__init__(self._operators[0].dtype, parents, *hints, name=name)

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return list(self._operators)

    def _shape(self) -> Shape:
        batch = joint_batch(self._operators)
        return None if batch is None else (*batch, inner(self._operators[0])[0], inner(self._operators[-1])[1])

    def _shape_tensor(self) -> Tensor:
        first, last = self._operators[0].shape_tensor(), self._operators[-1].shape_tensor()
        return joined(joint_batch_tensor(self._operators), first[-2:-1], last[-1:])

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        for operator in self._operators if adjoint else reversed(self._operators):
            x, adjoint_arg = operator.matmul(x, adjoint, adjoint_arg), False
        return x

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if any(operator.is_square is False for operator in self._operators):
            return super()._solve(rhs, adjoint, adjoint_arg)  # the product is square though its factors are not
        for operator in reversed(self._operators) if adjoint else self._operators:
            rhs, adjoint_arg = operator.solve(rhs, adjoint, adjoint_arg), False
        return rhs

    def _determinant(self) -> Tensor:
        if any(operator.is_square is False for operator in self._operators):
            return super()._determinant()
        return reduce(mul, [operator.determinant() for operator in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        if any(operator.is_square is False for operator in self._operators):
            return super()._log_abs_determinant()
        return reduce(add, [operator.log_abs_determinant() for operator in self._operators])

    def _adjoint(self) -> LinearOperator:
        factors = [operator.adjoint() for operator in reversed(self._operators)]
        return LinearOperatorComposition(factors, self.is_non_singular, None, self.is_positive_definite, self.is_square)

    def _inverse(self) -> LinearOperator:
        if any(operator.is_square is False for operator in self._operators):
            return super()._inverse()
        return LinearOperatorComposition([operator.inverse() for operator in reversed(self._operators)], True)

    def _to_dense(self) -> Tensor:
        return reduce(lambda x, operator: operator.matmul(x), self._operators[-2::-1], self._operators[-1].to_dense())

    def _assert_non_singular(self) -> Operation:
        if any(operator.is_square is False for operator in self._operators):
            return super()._assert_non_singular()
        return group(*[operator.assert_non_singular() for operator in self._operators])


def checked(operators: Sequence[LinearOperator]) -> list[LinearOperator]:
    """The operators as a list. Raises ValueError for an empty list, and TypeError if their types differ."""
    listed = list(operators)
    if not listed:
        raise ValueError("Expected a non-empty list of operators.")
    types = {operator.dtype for operator in listed}
    if len(types) > 1:
        raise TypeError(f"Expected all operators to have the same dtype. Found {', '.join(sorted(map(str, types)))}.")
    return listed


def inner(operator: LinearOperator) -> tuple[int | None, int | None]:
    """The static numbers of rows and of columns."""
    static_shape = operator._shape()
    return (None, None) if static_shape is None else (static_shape[-2], static_shape[-1])


def joint_batch(operators: Sequence[LinearOperator]) -> Shape:
    """The static shape of the batch of several operators."""
    shapes = [operator._shape() for operator in operators]
    return broadcast_all([None if shape is None else shape[:-2] for shape in shapes])


def joint_batch_tensor(operators: Sequence[LinearOperator]) -> Tensor:
    """The shape of the batch of several operators."""
    return reduce(broadcast_dynamic_shape, [operator.batch_shape_tensor() for operator in operators])


def transposed_if(x: Tensor, adjoint_arg: bool) -> Tensor:
    """The conjugate transpose of `x`, or `x`."""
    return adjoint_of(x) if adjoint_arg else x
