"""Kernels of inverses, determinants and Cholesky factors, which LAPACK computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

from ..math.matmul import _turned
from . import lapack

# ---- what LAPACK computes


@contextmanager
def explained(xp: Any, message: str) -> Iterator[None]:
    try:
        yield
    except xp.linalg.LinAlgError:
        raise InvalidArgumentError(message) from None


def check_square(x: Any) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f"The matrices have to be square, but the shape is {x.shape}.")


@kernel("MatrixInverse")
def matrix_inverse(xp: Any, x: Any, *, adjoint: bool) -> Any:
    check_square(x)
    with explained(xp, "Input is not invertible."):
        x = xp.conjugate(_turned(xp, x, True)) if adjoint else x
        return lapack.each(lapack.inverse, x) if lapack.takes(xp, x) else xp.linalg.inv(x)


@kernel("MatrixDeterminant")
def matrix_determinant(xp: Any, x: Any) -> Any:
    check_square(x)
    return xp.linalg.det(x)


@kernel("MatrixSolve")
def matrix_solve(xp: Any, matrix: Any, right: Any, *, adjoint: bool) -> Any:
    check_square(matrix)
    if right.ndim != matrix.ndim or right.shape[:-1] != matrix.shape[:-1]:
        raise InvalidArgumentError(f"Matrices {matrix.shape} and right-hand sides {right.shape} don't fit together.")
    with explained(xp, "Input matrix is not invertible."):
        matrix = xp.conjugate(_turned(xp, matrix, True)) if adjoint else matrix
        return (
            lapack.each(lapack.solve, matrix, right)
            if lapack.takes(xp, matrix, right)
            else xp.linalg.solve(matrix, right)
        )


@kernel("Cholesky")
def cholesky(xp: Any, x: Any) -> Any:
    check_square(x)
    with explained(xp, "Cholesky decomposition was not successful. The input might not be valid."):
        return lapack.each(lapack.cholesky, x) if lapack.takes(xp, x) else xp.linalg.cholesky(x)
