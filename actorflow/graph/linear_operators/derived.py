"""Operators that are made of one other: its adjoint, and its inverse."""

from __future__ import annotations

from typing import Any

from actorflow.base.shapes import Shape
from actorflow.graph.linear_operators.operator import LinearOperator
from actorflow.graph.linear_operators.shapes import joined
from actorflow.graph.ops.linalg.functions import adjoint as adjoint_of
from actorflow.graph.ops.math.cast import conj
from actorflow.graph.tensor import Tensor
from actorflow.public import public


class _Derived(LinearOperator):
    """An operator that has the hints of another operator, unless other hints are given."""

    def _set_operator(self, operator: LinearOperator, *hints: bool | None, name: str | None, suffix: str) -> None:
        names = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
        inherited = [getattr(operator, key) if hint is None else hint for key, hint in zip(names, hints)]
        for key, hint in zip(names, hints):
            if hint is not None and getattr(operator, key) is not None and getattr(operator, key) is not hint:
                raise ValueError(f"The hint {key}={hint} is wrong: that of the operator is {getattr(operator, key)}.")
        self._operator = operator
        regular, self_adjoint, positive, square = inherited
        name = name or f"{operator.name}{suffix}"
        super().__init__(operator.dtype, operator.graph_parents, regular, self_adjoint, positive, square, name)

    @property
    def operator(self) -> LinearOperator:
        """The operator of which this is made."""
        return self._operator


@public("af.linalg")
class LinearOperatorAdjoint(_Derived):
    """The conjugate transpose of an operator (`tf.linalg.LinearOperatorAdjoint`).

    Example:
        >>> tril = af.linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [3.0, 4.0]])
        >>> af.linalg.LinearOperatorAdjoint(tril).matvec([1.0, 1.0])
        [4. 4.]

    Args:
        operator: a `LinearOperator`.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of it, as of `operator` unless given.
        name: the scope of the nodes.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        self._set_operator(operator, *hints, name=name, suffix="_adjoint")

    def _shape(self) -> Shape:
        static_shape = self._operator._shape()
        return None if static_shape is None else (*static_shape[:-2], static_shape[-1], static_shape[-2])

    def _shape_tensor(self) -> Tensor:
        size = self._operator.shape_tensor()
        return joined(size[:-2], size[-1:], size[-2:-1])

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(x, not adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(rhs, not adjoint, adjoint_arg)

    def _to_dense(self) -> Tensor:
        return adjoint_of(self._operator.to_dense())

    def _diag_part(self) -> Tensor:
        return conj(self._operator.diag_part())

    def _trace(self) -> Tensor:
        return conj(self._operator.trace())

    def _determinant(self) -> Tensor:
        return conj(self._operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator.log_abs_determinant()

    def _adjoint(self) -> LinearOperator:
        return self._operator

    def _assert_non_singular(self) -> Any:
        return self._operator.assert_non_singular()


@public("af.linalg")
class LinearOperatorInversion(_Derived):
    """The inverse of an operator, which no product computes: products solve (`tf.linalg.LinearOperatorInversion`).

    Example:
        >>> tril = af.linalg.LinearOperatorLowerTriangular([[2.0, 0.0], [2.0, 4.0]])
        >>> af.linalg.LinearOperatorInversion(tril).matvec([2.0, 2.0])
        [1. 0.]

    Args:
        operator: a `LinearOperator`.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of it, as of `operator` unless given.
        name: the scope of the nodes.

    Raises:
        ValueError: `operator` is said to be singular, or not square.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if False in (is_non_singular, operator.is_non_singular):
            raise ValueError("Inverse operators must be non-singular.")
        if False in (is_square, operator.is_square):
            raise ValueError("Inverse operators must be square.")
        self._set_operator(operator, True, is_self_adjoint, is_positive_definite, True, name=name, suffix="_inv")

    def _shape(self) -> Shape:
        return self._operator._shape()

    def _shape_tensor(self) -> Tensor:
        return self._operator.shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._solve(x, adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._operator._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return 1 / self._operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -self._operator.log_abs_determinant()

    def _inverse(self) -> LinearOperator:
        return self._operator

    def _assert_non_singular(self) -> Any:
        return self._operator.assert_non_singular()
