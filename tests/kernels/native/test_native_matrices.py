"""Linear algebra of small matrices in C against LAPACK: all sides, both types, transposes, and what is left to the reference."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.kernels.linalg import decompose, functions, matrix, solve
from actorflow.kernels.native.batches import linalg
from actorflow.kernels.native.library import loaded

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

SIDES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64)
BATCHES: tuple[tuple[int, ...], ...] = ((), (1,), (5,), (2, 3))
CLOSE = {"f4": 3e-3, "f8": 1e-9}


def definite(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> Any:
    x = rng.normal(size=(*batch, side, side))
    return (x @ x.swapaxes(-1, -2) / side + np.eye(side)).astype(dtype)


def regular(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> Any:
    return (rng.normal(size=(*batch, side, side)) / side**0.5 + 2 * np.eye(side)).astype(dtype)


def close(result: Any, reference: Any, dtype: str) -> None:
    result, reference = np.asarray(result), np.asarray(reference)
    assert (result.dtype, result.shape) == (np.dtype(dtype), reference.shape)
    np.testing.assert_allclose(
        result, reference, rtol=CLOSE[dtype], atol=CLOSE[dtype] * max(1, np.abs(reference).max())
    )


Compare = Callable[[np.random.Generator, tuple[int, ...], int, str], None]


def _cholesky(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> None:
    x = definite(rng, batch, side, dtype)
    x = np.tril(x) + np.triu(np.full_like(x, np.nan), 1)  # the upper triangle is not read
    close(
        linalg.cholesky(np, x),
        matrix.cholesky(np, np.nan_to_num(x) + np.tril(np.nan_to_num(x), -1).swapaxes(-1, -2)),
        dtype,
    )


def _triangular(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> None:
    x = regular(rng, batch, side, dtype)
    for columns in (1, 3, 70):
        right = rng.normal(size=(*batch, side, columns)).astype(dtype)
        for lower in (True, False):
            for adjoint in (True, False):
                options = {"lower": lower, "adjoint": adjoint}
                other = np.triu(np.full_like(x, np.nan), 1) if lower else np.tril(np.full_like(x, np.nan), -1)
                reference = solve.matrix_triangular_solve(np, x, right, **options)
                if np.abs(reference).max() > 1e3:
                    continue
                close(linalg.matrix_triangular_solve(np, x + other, right, **options), reference, dtype)


def _solve(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> None:
    x = regular(rng, batch, side, dtype)[..., rng.permutation(side), :]
    for columns in (1, 5, 64, 65):
        right = rng.normal(size=(*batch, side, columns)).astype(dtype)
        for adjoint in (True, False):
            reference = matrix.matrix_solve(np, x, right, adjoint=adjoint)
            close(linalg.matrix_solve(np, x, right, adjoint=adjoint), reference, dtype)


def _inverse(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> None:
    x = regular(rng, batch, side, dtype)[..., rng.permutation(side), :]
    for adjoint in (True, False):
        close(linalg.matrix_inverse(np, x, adjoint=adjoint), matrix.matrix_inverse(np, x, adjoint=adjoint), dtype)


def _determinant(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> None:
    x = (regular(rng, batch, side, dtype) / 2)[..., rng.permutation(side), :]
    close(linalg.matrix_determinant(np, x), matrix.matrix_determinant(np, x), dtype)
    for result, reference in zip(linalg.log_matrix_determinant(np, x), functions.log_matrix_determinant(np, x)):
        close(result, reference, dtype)


def _qr(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> None:
    for columns in {1, side, min(64, side + 3), max(1, side - 2)}:
        x = rng.normal(size=(*batch, side, columns)).astype(dtype)
        for full in (True, False):
            result, reference = linalg.qr(np, x, full_matrices=full), decompose.qr(np, x, full_matrices=full)
            for part, other in zip(result, reference):
                close(part, other, dtype)


def _eigh(rng: np.random.Generator, batch: tuple[int, ...], side: int, dtype: str) -> None:
    x = definite(rng, batch, side, dtype) - np.eye(side, dtype=dtype)
    values, vectors = linalg.self_adjoint_eig(np, np.tril(x) + np.triu(np.full_like(x, np.nan), 1), compute_v=True)
    close(values, decompose.self_adjoint_eig(np, x, compute_v=False)[0], dtype)
    close(linalg.self_adjoint_eig(np, x, compute_v=False)[0], values, dtype)
    close((vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2), x, dtype)
    close(vectors.swapaxes(-1, -2) @ vectors, np.broadcast_to(np.eye(side, dtype=dtype), x.shape), dtype)


@pytest.mark.parametrize("compare", [_cholesky, _triangular, _solve, _inverse, _determinant, _qr, _eigh])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_are_lapacks_for_all_sides_and_batches(compare: Compare, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for side in SIDES:
        for batch in BATCHES:
            compare(rng, batch, side, dtype)


CALLS: dict[str, tuple[Any, ...]] = {
    "cholesky": (),
    "triangular": ("right", True, False),
    "solve": ("right", False),
    "determinant": (False,),
    "qr": (False,),
    "eigh": (True,),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_result_does_not_depend_on_threads(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, right = definite(rng, (50,), 17, "f4"), rng.normal(size=(50, 17, 3)).astype("f4")
    arguments = [right if argument == "right" else argument for argument in CALLS[name]]
    alone, shared = (loaded().call(name, threads, x, *arguments) for threads in (1, 3))
    for a, b in zip(
        alone if isinstance(alone, tuple) else (alone,), shared if isinstance(shared, tuple) else (shared,)
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda x: x[:0],
        lambda x: x[:, :0, :0],
        lambda x: x[0, 0],
        lambda x: x.astype("i4"),
        lambda x: x.astype("c8"),
        lambda x: x.swapaxes(-1, -2),
        lambda x: np.full_like(x, np.nan),
        lambda x: np.full_like(x, np.inf),
        lambda x: np.zeros((2, 65, 65), x.dtype),
        lambda x: None,
    ],
    ids=["no matrix", "no rows", "vector", "integers", "complex", "transposed", "nan", "inf", "large", "nothing"],
)
def test_what_the_library_does_not_know_is_left_to_the_reference(name: str, spoil: Any) -> None:
    x, right = (
        np.tile(np.arange(9, dtype="f4").reshape(3, 3) + 9 * np.eye(3, dtype="f4"), (2, 1, 1)),
        np.ones((2, 3, 1), "f4"),
    )
    arguments = [right if argument == "right" else argument for argument in CALLS[name]]
    assert loaded().call(name, 1, spoil(x), *arguments) is NotImplemented


@pytest.mark.parametrize("name", ["cholesky", "triangular", "solve", "inverse", "determinant"])
def test_singular_matrices_among_others_are_errors_as_by_the_reference(name: str) -> None:
    x, right = np.tile(np.eye(4, dtype="f4"), (6, 1, 1)), np.ones((6, 4, 1), "f4")
    x[3, 2, 2] = 0
    calls: dict[str, Callable[[], Any]] = {
        "cholesky": lambda: linalg.cholesky(np, x),
        "triangular": lambda: linalg.matrix_triangular_solve(np, x, right, lower=True, adjoint=False),
        "solve": lambda: linalg.matrix_solve(np, x, right, adjoint=False),
        "inverse": lambda: linalg.matrix_inverse(np, x, adjoint=False),
        "determinant": lambda: linalg.matrix_determinant(np, x),
    }
    if name == "determinant":
        assert calls[name]().tolist() == [1, 1, 1, 0, 1, 1]
        return
    with pytest.raises(af.errors.InvalidArgumentError, match=r"not invertible|not successful"):
        calls[name]()


def test_nan_stays_in_its_matrix(seed: int) -> None:
    x = definite(np.random.default_rng(seed), (4,), 5, "f4")
    x[2, 1, 1] = np.nan
    with np.errstate(all="ignore"):
        determinants = linalg.matrix_determinant(np, x)
    assert np.isnan(determinants).tolist() == [False, False, True, False]


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_determinants_at_the_ends_of_the_range_are_the_references(scale: float) -> None:
    x = np.tile(np.eye(12) * scale, (2, 1, 1))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(linalg.matrix_determinant(np, x), matrix.matrix_determinant(np, x))
    result, reference = linalg.log_matrix_determinant(np, x), functions.log_matrix_determinant(np, x)
    np.testing.assert_allclose(result, reference)


def test_triangles_without_a_batch_take_the_batch_of_right_hand_sides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, right = regular(rng, (), 4, "f8"), rng.normal(size=(3, 4, 2))
    result = linalg.matrix_triangular_solve(np, x, right, lower=False, adjoint=True)
    close(result, solve.matrix_triangular_solve(np, x, right, lower=False, adjoint=True), "f8")


def test_views_are_read_in_order(seed: int) -> None:
    x = regular(np.random.default_rng(seed), (6,), 5, "f4")
    for view in (x[::2], x.swapaxes(1, 2), x[:, ::-1], x[:, 1:4, 1:4]):
        close(linalg.matrix_inverse(np, view, adjoint=False), np.linalg.inv(view), "f4")


def test_calls_keep_no_references() -> None:
    x, right = np.tile(np.eye(3, dtype="f4"), (2, 1, 1)), np.ones((2, 3, 1), "f4")
    bad = np.zeros((2, 3, 3), "f4")
    before = [sys.getrefcount(array) for array in (x, right, bad)]
    for _ in range(50):
        for name, options in CALLS.items():
            arguments = [right if argument == "right" else argument for argument in options]
            loaded().call(name, 1, x, *arguments)
            loaded().call(name, 1, bad, *arguments)
    assert [sys.getrefcount(array) for array in (x, right, bad)] == before
