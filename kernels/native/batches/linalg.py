"""Linear algebra of batches of small matrices: factors, solutions, determinants, inverses, eigenvalues.

Results may differ from LAPACK's in the last bits, and vectors of eigenvalues in their signs. A matrix that has no such factor, or
numbers that do not stay finite, leave the call to the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel

from ...linalg import decompose, functions, matrix, solve
from ..library import function

SIDE_MOST = 64
"""The largest side of a matrix. `src/linalg.c` has the same number; blocks of LAPACK are quicker beyond."""


def small(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether the first input holds matrices that are small in both dimensions."""
    return len(shapes[0]) >= 2 and 0 < shapes[0][-2] <= SIDE_MOST and 0 < shapes[0][-1] <= SIDE_MOST


_OPTIONS: dict[str, Any] = {
    "device": "CPU",
    "library": "native",
    "dtypes": frozenset((dtypes.float32, dtypes.float64)),
    "can": small,
}
_cholesky, _triangular, _solve, _determinant, _qr, _eigh = (
    function(name) for name in ("cholesky", "triangular", "solve", "determinant", "qr", "eigh")
)


def _in_order(x: Any) -> Any:
    """`x` itself, or a copy in C's order of a view such as a transposed batch."""
    return x if x.flags.c_contiguous else np.ascontiguousarray(x)


@kernel("Cholesky", **_OPTIONS)
def cholesky(xp: Any, x: Any) -> Any:
    factors = _cholesky(_in_order(x))
    return matrix.cholesky(xp, x) if factors is None else factors


@kernel("MatrixTriangularSolve", **_OPTIONS)
def matrix_triangular_solve(xp: Any, x: Any, right: Any, *, lower: bool, adjoint: bool) -> Any:
    triangles, rights = x, right
    if min(x.ndim, right.ndim) >= 2 and x.shape[:-2] != right.shape[:-2]:
        try:
            batch = np.broadcast_shapes(x.shape[:-2], right.shape[:-2])
        except ValueError:
            batch = ()
        if batch:
            triangles = np.broadcast_to(x, batch + x.shape[-2:])
            rights = np.broadcast_to(right, batch + right.shape[-2:])
    solutions = _triangular(_in_order(triangles), _in_order(rights), lower, adjoint)
    return solve.matrix_triangular_solve(xp, x, right, lower=lower, adjoint=adjoint) if solutions is None else solutions


@kernel("MatrixSolve", **_OPTIONS)
def matrix_solve(xp: Any, x: Any, right: Any, *, adjoint: bool) -> Any:
    solutions = _solve(_in_order(x), _in_order(right), adjoint)
    return matrix.matrix_solve(xp, x, right, adjoint=adjoint) if solutions is None else solutions


@kernel("MatrixInverse", **_OPTIONS)
def matrix_inverse(xp: Any, x: Any, *, adjoint: bool) -> Any:
    inverses = _solve(_in_order(x), None, adjoint)
    return matrix.matrix_inverse(xp, x, adjoint=adjoint) if inverses is None else inverses


@kernel("MatrixDeterminant", **_OPTIONS)
def matrix_determinant(xp: Any, x: Any) -> Any:
    determinants = _determinant(_in_order(x), False)
    return matrix.matrix_determinant(xp, x) if determinants is None else determinants


@kernel("LogMatrixDeterminant", **_OPTIONS)
def log_matrix_determinant(xp: Any, x: Any) -> Any:
    parts = _determinant(_in_order(x), True)
    return functions.log_matrix_determinant(xp, x) if parts is None else parts


@kernel("Qr", **_OPTIONS)
def qr(xp: Any, x: Any, *, full_matrices: bool) -> Any:
    factors = _qr(_in_order(x), full_matrices)
    return decompose.qr(xp, x, full_matrices=full_matrices) if factors is None else factors


@kernel("SelfAdjointEigV2", **_OPTIONS)
def self_adjoint_eig(xp: Any, x: Any, *, compute_v: bool) -> Any:
    parts = _eigh(_in_order(x), compute_v)
    if parts is None:
        return decompose.self_adjoint_eig(xp, x, compute_v=compute_v)
    return parts if compute_v else (parts, np.empty(0, x.dtype))
