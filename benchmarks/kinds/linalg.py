"""Batches of matrices: each op at rungs of sides and batches, in both precisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model

RUNGS = ((3, 3), (1000, 4), (300, 7), (200, 16), (100, 33), (30, 64), (6, 100), (2, 200), (1, 400))
"""Batches, and sides of the matrices."""


def _cholesky(lib: Any, x: Any, right: Any) -> Any:
    return lib.cholesky(x)


def _triangular(lib: Any, x: Any, right: Any) -> Any:
    return lib.matrix_triangular_solve(x, right)


def _solve(lib: Any, x: Any, right: Any) -> Any:
    return lib.matrix_solve(x, right)


def _determinant(lib: Any, x: Any, right: Any) -> Any:
    return lib.matrix_determinant(x)


def _inverse(lib: Any, x: Any, right: Any) -> Any:
    return lib.matrix_inverse(x)


def _factors(lib: Any, x: Any, right: Any) -> Any:
    q, r = lib.qr(x)
    return lib.matmul(q, r)


def _eigenvalues(lib: Any, x: Any, right: Any) -> Any:
    values, vectors = lib.self_adjoint_eig(x)
    return lib.matmul(vectors * lib.expand_dims(values, -2), vectors, transpose_b=True)


def _values(lib: Any, x: Any, right: Any) -> Any:
    return lib.svd(x, compute_uv=False)


def _likelihood(lib: Any, x: Any, right: Any) -> Any:
    """The gradient of Gaussian likelihoods."""
    factor = lib.cholesky(x)
    half = lib.matrix_triangular_solve(factor, right)
    loss = lib.reduce_sum(lib.square(half)) + lib.reduce_sum(lib.log(lib.matrix_diag_part(factor)))
    return lib.gradients(loss, [x, right])


def _systems(lib: Any, x: Any, right: Any) -> Any:
    """The gradient of solutions and determinants."""
    loss = lib.reduce_sum(lib.square(lib.matrix_solve(x, right))) + lib.reduce_sum(lib.matrix_determinant(x))
    return lib.gradients(loss, [x, right])


OPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "cholesky": _cholesky,
    "triangular": _triangular,
    "solve": _solve,
    "determinant": _determinant,
    "inverse": _inverse,
    "qr": _factors,
    "eigh": _eigenvalues,
    "svd": _values,
    "likelihood_grad": _likelihood,
    "systems_grad": _systems,
}


def matrices(m: Model, op: str = "", batch: int = 1, side: int = 1, dtype: str = "f4") -> Parts:
    """One op of positive definite matrices, whose determinants are near 1, and of right-hand sides of three columns."""
    lib, np = m.lib, m.np
    kind = lib.float32 if dtype == "f4" else lib.float64
    x, right = lib.placeholder(kind, [batch, side, side]), lib.placeholder(kind, [batch, side, 3])
    some = [m.data.normal(size=(batch, side, side)) / side for _ in range(BATCHES)]
    values = [(one @ one.swapaxes(1, 2) * 0.5 + np.eye(side)).astype(dtype) for one in some]
    rights = [m.data.normal(size=(batch, side, 3)).astype(dtype) for _ in range(BATCHES)]
    return (x, right), (values, rights), OPS[op](lib, x, right), None


CASES = tuple(
    Case(
        f"{op}_{dtype}_{batch}x{side}",
        f"{op} of {batch} matrices {side} × {side}, {dtype}",
        model(matrices, op=op, batch=batch, side=side, dtype=dtype),
    )
    for op in OPS
    for dtype in ("f4", "f8")
    for batch, side in RUNGS
)
