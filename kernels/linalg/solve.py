"""Kernels of systems of linear equations."""

from __future__ import annotations

from functools import partial
from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

from . import lapack
from .matrix import check_square, explained


def _adjoint(xp: Any, x: Any) -> Any:
    return xp.conjugate(xp.swapaxes(x, -1, -2))


@kernel("MatrixTriangularSolve")
def matrix_triangular_solve(xp: Any, matrix: Any, right: Any, *, lower: bool, adjoint: bool) -> Any:
    check_square(matrix)
    if right.ndim < 2 or right.shape[-2] != matrix.shape[-1]:
        raise InvalidArgumentError(f"Matrices {matrix.shape} and right-hand sides {right.shape} don't fit together.")
    if not xp.diagonal(matrix, axis1=-2, axis2=-1).all():
        raise InvalidArgumentError("Input matrix is not invertible.")
    if right.ndim == matrix.ndim and right.shape[:-2] == matrix.shape[:-2] and lapack.takes(xp, matrix, right):
        return lapack.each(partial(lapack.solve_triangular, lower=lower, adjoint=adjoint), matrix, right)
    triangle = xp.tril(matrix) if lower else xp.triu(matrix)
    return _substituted(xp, _adjoint(xp, triangle) if adjoint else triangle, right, lower != adjoint)


def _substituted(xp: Any, triangle: Any, right: Any, lower: bool) -> Any:
    """X with triangle · X = right. For an upper triangle LAPACK's general solver exchanges no rows and has nothing to
    eliminate, so that it only substitutes. A lower triangle is an upper triangle seen from the other end."""
    if lower:
        return _substituted(xp, triangle[..., ::-1, ::-1], right[..., ::-1, :], False)[..., ::-1, :]
    return xp.linalg.solve(triangle, right)


@kernel("MatrixSolveLs")
def matrix_solve_ls(xp: Any, matrix: Any, right: Any, regularizer: Any, *, fast: bool) -> Any:
    if matrix.ndim < 2 or right.ndim != matrix.ndim or right.shape[:-1] != matrix.shape[:-1]:
        raise InvalidArgumentError(f"Matrices {matrix.shape} and right-hand sides {right.shape} don't fit together.")
    if not fast:
        with explained(xp, "The matrix could not be decomposed. The input might not be valid."):
            return xp.matmul(xp.linalg.pinv(matrix), right)
    if regularizer < 0:
        raise InvalidArgumentError(f"The l2_regularizer is zero or more, but is {float(regularizer)}.")
    turned = _adjoint(xp, matrix)
    tall = matrix.shape[-2] >= matrix.shape[-1]
    gram = xp.matmul(turned, matrix) if tall else xp.matmul(matrix, turned)
    gram = gram + regularizer.astype(matrix.dtype) * xp.eye(gram.shape[-1], dtype=matrix.dtype)
    with explained(
        xp, "Input matrix was rank deficient or ill-conditioned: try fast=False, or a larger l2_regularizer."
    ):
        factor = xp.linalg.cholesky(gram)
    half = _substituted(xp, factor, xp.matmul(turned, right) if tall else right, True)
    whole = _substituted(xp, _adjoint(xp, factor), half, False)
    return whole if tall else xp.matmul(turned, whole)
