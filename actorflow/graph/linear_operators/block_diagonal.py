"""`LinearOperatorBlockDiag`: operators along the diagonal of a matrix that is zero elsewhere."""

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
from actorflow.graph.linear_operators.shapes import every, in_one_batch, joined
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.array.join import concat, split
from actorflow.graph.ops.array.shape import broadcast_to
from actorflow.graph.ops.flow.control import group
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public


@public("af.linalg")
class LinearOperatorBlockDiag(LinearOperator):
    """Square operators along the diagonal of a matrix (`tf.linalg.LinearOperatorBlockDiag`).

    Example:
        >>> blocks = [af.linalg.LinearOperatorDiag([1.0]), af.linalg.LinearOperatorFullMatrix([[2.0, 3.0], [4.0, 5.0]])]
        >>> af.linalg.LinearOperatorBlockDiag(blocks).to_dense()
        [[1. 0. 0.]
         [0. 2. 3.]
         [0. 4. 5.]]

    Args:
        operators: a list of square operators of one type.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: there are no operators, or an operator is not square.
        TypeError: their types differ.
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._operators = checked(operators)
        if is_square is False or any(operator.is_square is False for operator in self._operators):
            raise ValueError("Can only represent a block diagonal of square matrices.")
        if is_non_singular is None:
            is_non_singular = every(operator.is_non_singular for operator in self._operators)
        if is_self_adjoint is None:
            is_self_adjoint = every(operator.is_self_adjoint for operator in self._operators)
        if is_positive_definite is None:
            is_positive_definite = every(operator.is_positive_definite for operator in self._operators)
        parents = [tensor for operator in self._operators for tensor in operator.graph_parents]
        hints = is_non_singular, is_self_adjoint, is_positive_definite, True
        name = name or "_ds_".join(operator.name for operator in self._operators)
        super().__init__(self._operators[0].dtype, parents, *hints, name=name)

    @property
    def operators(self) -> list[LinearOperator]:
        """The blocks."""
        return list(self._operators)

    def _shape(self) -> Shape:
        batch, rows = joint_batch(self._operators), [inner(operator)[0] for operator in self._operators]
        total = None if None in rows else sum(rows)  # type: ignore[arg-type]
        return None if batch is None else (*batch, total, total)

    def _shape_tensor(self) -> Tensor:
        total = reduce(add, self._rows())
        return joined(joint_batch_tensor(self._operators), [total], [total])

    def _rows(self) -> list[Any]:
        return [operator.range_dimension_tensor() for operator in self._operators]

    def _by_blocks(self, x: Tensor, part_of: Callable[[LinearOperator, Tensor], Tensor]) -> Tensor:
        parts = split(x, joined(*([rows] for rows in self._rows())), axis=-2, num=len(self._operators))
        products = [part_of(operator, part) for operator, part in zip(self._operators, parts)]
        return concat(_with_one_batch(products), -2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_blocks(transposed_if(x, adjoint_arg), lambda operator, part: operator.matmul(part, adjoint))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_blocks(transposed_if(rhs, adjoint_arg), lambda operator, part: operator.solve(part, adjoint))

    def _diag_part(self) -> Tensor:
        batch = joint_batch_tensor(self._operators)
        parts = [operator.diag_part() for operator in self._operators]
        return concat([broadcast_to(part, joined(batch, [rows])) for part, rows in zip(parts, self._rows())], -1)

    def _trace(self) -> Tensor:
        return reduce(add, [operator.trace() for operator in self._operators])

    def _determinant(self) -> Tensor:
        return reduce(mul, [operator.determinant() for operator in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        return reduce(add, [operator.log_abs_determinant() for operator in self._operators])

    def _to_dense(self) -> Tensor:
        batch, total = joint_batch_tensor(self._operators), self.range_dimension_tensor()
        rows: list[Tensor] = []
        before: Any = 0
        for operator, size in zip(self._operators, self._rows()):
            block = broadcast_to(operator.to_dense(), joined(batch, [size], [size]))
            left = zeros(joined(batch, [size], [before]), self.dtype)
            right = zeros(joined(batch, [size], [total - before - size]), self.dtype)
            rows.append(concat([left, block, right], -1))
            before = before + size
        dense = concat(rows, -2)
        dense.set_shape(self._shape())
        return dense

    def _adjoint(self) -> LinearOperator:
        hints = self.is_non_singular, None, self.is_positive_definite
        return LinearOperatorBlockDiag([operator.adjoint() for operator in self._operators], *hints)

    def _inverse(self) -> LinearOperator:
        hints = True, self.is_self_adjoint, self.is_positive_definite
        return LinearOperatorBlockDiag([operator.inverse() for operator in self._operators], *hints)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorBlockDiag([operator.cholesky() for operator in self._operators], True)

    def _assert_non_singular(self) -> Operation:
        return group(*[operator.assert_non_singular() for operator in self._operators])

    def _assert_self_adjoint(self) -> Operation:
        return group(*[operator.assert_self_adjoint() for operator in self._operators])

    def _assert_positive_definite(self) -> Operation:
        return group(*[operator.assert_positive_definite() for operator in self._operators])


def _with_one_batch(parts: Sequence[Tensor]) -> list[Tensor]:
    return list(parts) if len(parts) == 1 else in_one_batch(*parts)
