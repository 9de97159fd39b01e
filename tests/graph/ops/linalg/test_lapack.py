"""Kernels that compute by scipy's LAPACK give what they give by numpy, and refuse what they refuse by numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import blocking, errors
from actorflow.kernels.linalg import lapack

SHAPES = [(1, 1), (5, 5), (70, 70), (2, 65, 65), (2, 1, 64, 64)]


def values(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    found = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return (found + 3 * np.sqrt(shape[-1]) * np.eye(shape[-1])).astype(dtype)


def positive(x: Any) -> Any:
    return x @ x.conj().swapaxes(-1, -2)


def triangular(lower: bool, adjoint: bool, columns: int = 3) -> Callable[[Any], Any]:
    return lambda x: af.matrix_triangular_solve(x, x[..., :columns], lower=lower, adjoint=adjoint)


def projected(x: Any) -> list[Any]:
    """The parts of a decomposition that do not depend on signs: the values, and the product of the factors."""
    s, u, v = af.svd(x)
    return [s, af.matmul(u * af.cast(s, x.dtype)[..., None, :], v, adjoint_b=True)]


def spectrum(x: Any) -> list[Any]:
    e, v = af.self_adjoint_eig(x)
    return [e, af.matmul(v * e[..., None, :], v, adjoint_b=True), af.self_adjoint_eigvals(x)]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "cholesky": af.cholesky,
    "inverse": af.matrix_inverse,
    "inverse of the adjoint": lambda x: af.matrix_inverse(x, adjoint=True),
    "solve": lambda x: af.matrix_solve(x, x[..., :3]),
    "solve with the adjoint": lambda x: af.matrix_solve(x, x[..., :3], adjoint=True),
    "lower": triangular(True, False),
    "upper": triangular(False, False),
    "lower, adjoint": triangular(True, True),
    "upper, adjoint": triangular(False, True),
    "lower, one column": triangular(True, False, 1),
    "upper, one column": triangular(False, False, 1),
    "lower, adjoint, one column": triangular(True, True, 1),
    "svd": projected,
    "singular values": lambda x: af.svd(x, compute_uv=False),
    "qr": lambda x: af.matmul(*af.qr(x)),
    "eigenvalues": spectrum,
}


def run(function: Callable[[Any], Any], x: Any) -> list[Any]:
    with af.Graph().as_default(), blocking.Session() as session:
        found = session.run(function(af.constant(x)))
        return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_values_are_those_of_numpy(
    name: str, dtype: str, shape: tuple[int, ...], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = values(shape, dtype, seed)
    if name in ("cholesky", "eigenvalues"):
        x = positive(x)
    assert lapack.takes(np, x)
    found = run(FUNCTIONS[name], x)
    monkeypatch.setattr(lapack, "_library", lambda: None)
    for ours, numpys in zip(found, run(FUNCTIONS[name], x), strict=True):
        assert ours.dtype == numpys.dtype and ours.shape == numpys.shape
        scale = np.abs(numpys).max()
        np.testing.assert_allclose(ours, numpys, atol=scale * (1e-4 if dtype in ("f4", "c8") else 1e-10), rtol=0)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (70, 90), (90, 70)], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_factors_of_matrices_of_any_shape(dtype: str, shape: tuple[int, int], full: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)).astype(dtype)
    q, r = lapack.qr(x, full)
    like = np.linalg.qr(x, mode="complete" if full else "reduced")
    assert [(a.shape, a.dtype) for a in (q, r)] == [(a.shape, a.dtype) for a in like]
    tolerance = 1e-4 if dtype in ("f4", "c8") else 1e-10
    np.testing.assert_allclose(q @ r, x, atol=tolerance, rtol=0)
    np.testing.assert_allclose(q.conj().T @ q, np.eye(q.shape[1]), atol=tolerance, rtol=0)
    assert not np.tril(r, -1).any()


def test_results_lie_in_memory_as_other_kernels_want_them(seed: int) -> None:
    x = positive(values((9, 9), "f4", seed))
    for function in (lapack.cholesky, lapack.inverse, lambda x: lapack.solve(x, x)):
        assert function(x).flags.c_contiguous


@pytest.mark.parametrize("library", ["scipy", "numpy"])
@pytest.mark.parametrize(
    "function, text",
    [
        (af.matrix_inverse, "not invertible"),
        (lambda x: af.matrix_solve(x, x), "not invertible"),
        (af.cholesky, "not successful"),
        (lambda x: af.matrix_triangular_solve(x, x), "not invertible"),
    ],
    ids=["inverse", "solve", "cholesky", "triangular"],
)
def test_singular_matrices_are_refused(
    function: Callable[[Any], Any], text: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library == "numpy":
        monkeypatch.setattr(lapack, "_library", lambda: None)
    with pytest.raises(errors.InvalidArgumentError, match=text):
        run(function, np.zeros((4, 4), np.float32))


def test_empty_and_wide_matrices(seed: int) -> None:
    wide = np.random.default_rng(seed).normal(size=(5, 70))
    s, u, v = run(lambda x: list(af.svd(x, full_matrices=True)), wide)
    assert (s.shape, u.shape, v.shape) == ((5,), (5, 5), (70, 70))
    np.testing.assert_allclose((u * s) @ v[:, :5].T, wide, atol=1e-10)
    q, r = run(lambda x: list(af.qr(x, full_matrices=True)), wide.T)
    assert q.shape == (70, 70) and r.shape == (70, 5)
    assert run(af.cholesky, np.zeros((0, 0), np.float32))[0].shape == (0, 0)
