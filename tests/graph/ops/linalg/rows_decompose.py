"""Rows of matrix factorizations. Factors whose signs are free are multiplied again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.linalg.rows_matrix import NOT_SQUARE, SOLVED, A, batched, regular
from graph.ops.table import Case, Literal, Reject, draw

from actorflow.base.dtypes import DType
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.array.shape import expand_dims
from actorflow.graph.ops.linalg import decompose as factorizations
from actorflow.graph.ops.math.cast import cast, real
from actorflow.graph.ops.math.elementwise import abs as abs_
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.tensor import Tensor

REALS = "float32 float64"
TALL = [[3.0, 1.0], [4.0, 2.0], [0.0, 1.0]]
RECTANGLES = [((3, 2),), ((2, 3),), ((2, 2, 2),), ((1, 1),)]
NO_MATRIX = [Reject(EITHER, ([3.0, 1.0],)), Reject(TypeError, ([[3, 1]],), dtype="int32")]


def spread(*shape: int) -> Callable[[np.random.Generator, DType], Any]:
    """An entry that draws matrices whose singular values are far from each other and from 0."""

    def entry(rng: np.random.Generator, dtype: DType) -> Any:
        weights = np.zeros(shape[-2:])
        np.fill_diagonal(weights, 2.0 + 2 * np.arange(min(shape[-2:])))
        return (draw(rng, shape, dtype, (-0.5, 0.5)) + weights).astype(dtype.numpy_dtype)

    return entry


def gram_schmidt(x: Any) -> Any:
    """The squares of the magnitudes of R: by orthogonalizing column after column."""
    rows, columns = x.shape
    basis: list[Any] = []
    r = np.zeros((min(rows, columns), columns))
    for j in range(columns):
        rest = x[:, j]
        for i, q in enumerate(basis):
            part = np.vdot(q, rest)
            r[i, j] = abs(part) ** 2
            rest = rest - part * q
        if len(basis) < rows:
            r[len(basis), j] = np.vdot(rest, rest).real
            basis.append(rest / np.sqrt(np.vdot(rest, rest).real))
    return r


def magnitudes_of_r(x: Tensor) -> Tensor:
    size = abs_(factorizations.qr(x)[1])
    return size * size


def squared(x: Tensor) -> Tensor:
    """u·diag(s²)·vᴴ, which depends on u, s and v, but on no sign of theirs."""
    s, u, v = factorizations.svd(x)
    return matmul(u * expand_dims(cast(s * s, u.dtype), -2), v, adjoint_b=True)


def singular_sums(x: Any) -> Any:
    """Power sums of the singular values: the traces of (x·xᴴ)ᵏ."""
    gram = x @ np.conj(x).T if len(x) <= len(x.T) else np.conj(x).T @ x
    return np.array([np.trace(np.linalg.matrix_power(gram, k)).real for k in range(1, 4)])


def power_sums(values: Tensor, step: int) -> Tensor:
    from actorflow.graph.ops.array.join import stack
    from actorflow.graph.ops.math.reduction import reduce_sum

    return stack([reduce_sum(values ** float(step * k), -1) for k in range(1, 4)], -1)


def lower_to_hermitian(x: Any) -> Any:
    """The matrix that a function sees that reads the lower triangle alone."""
    return np.tril(x, -1) + np.conj(np.tril(x, -1)).T + np.diag(np.real(np.diag(x)))


def cubed(x: Tensor) -> Tensor:
    """v·diag(e³)·vᴴ."""
    e, v = factorizations.self_adjoint_eig(x)
    return matmul(v * expand_dims(e * e * e, -2), v, adjoint_b=True)


def product_of_lu(x: Tensor) -> Any:
    """L · U in the order of the input's rows."""
    from actorflow.graph.ops.array.one_hot import one_hot
    from actorflow.graph.ops.linalg.diagonal import matrix_band_part, matrix_diag_part, matrix_set_diag

    both, p = factorizations.lu(x)
    lower = matrix_set_diag(matrix_band_part(both, -1, 0), matrix_diag_part(both) * 0 + 1)
    return matmul(one_hot(p, 3, dtype=x.dtype), matmul(lower, matrix_band_part(both, 0, -1)), transpose_a=True)


def eliminated(x: Any) -> Any:
    """Gauss' elimination, row by row, with the largest pivots."""
    x = np.array(x)
    order = list(range(len(x)))
    for k in range(len(x)):
        best = max(range(k, len(x)), key=lambda i: abs(x[i, k]))
        x[[k, best]] = x[[best, k]]
        order[k], order[best] = order[best], order[k]
        for i in range(k + 1, len(x)):
            x[i, k] = x[i, k] / x[k, k]
            x[i, k + 1 :] = x[i, k + 1 :] - x[i, k] * x[k, k + 1 :]
    return x, np.array(order)


CASES = [
    # ---- QR
    Case(
        "Qr",
        lambda x: matmul(*factorizations.qr(x)),
        lambda x: x,
        [*RECTANGLES, ((0, 3),)],
        dtypes=SOLVED,
        gradient=2,
        literal=Literal((TALL,), TALL),
        rejects=NO_MATRIX,
        loose=10,
    ),
    Case(
        "Qr",
        magnitudes_of_r,
        batched(gram_schmidt),
        [(regular(3, 3),), (spread(3, 2),), (spread(2, 3),), (regular(2, 2, 2),)],
        note="squares of R",
        dtypes=SOLVED,
        literal=Literal((TALL,), [[25.0, 4.84], [0.0, 1.16]]),
        loose=100,
    ),
    Case(
        "Qr",
        factorizations.qr,
        None,
        [(regular(3, 3),), (spread(3, 2),), (spread(2, 3),)],
        note="both factors",
        dtypes="float64",
        literal=Literal((np.zeros((0, 3)),), (np.zeros((0, 0)), np.zeros((0, 3)))),
    ),
    Case(
        "Qr",
        lambda x: matmul(*factorizations.qr(x, full_matrices=True)),
        lambda x: x,
        [((3, 2),), ((2, 3),)],
        note="of full matrices",
        dtypes=SOLVED,
        gradient=None,  # there is none for more rows than columns
        literal=Literal((TALL,), TALL),
        loose=10,
    ),
    # ---- singular values
    Case(
        "Svd",
        squared,
        None,
        [(spread(2, 2),), (spread(3, 2),), (spread(2, 3),), (spread(2, 2, 2),)],
        dtypes=SOLVED,
        literal=Literal(([[3.0, 0.0], [4.0, 5.0]],), [[13.416406, 6.708202], [29.068876, 31.304945]]),
        rejects=NO_MATRIX,
        loose=100,
    ),
    Case(
        "Svd",
        lambda x: power_sums(factorizations.svd(x, compute_uv=False), 2),
        batched(singular_sums),
        [(spread(2, 2),), (spread(3, 2),), (spread(2, 2, 3),)],
        note="values alone",
        dtypes=SOLVED,
        literal=Literal(([[3.0, 0.0], [4.0, 5.0]],), [50.0, 2050.0, 91250.0]),
        loose=100,
    ),
    Case(
        "Svd",
        lambda x: factorizations.svd(x, compute_uv=False),
        None,
        [(spread(2, 2),), (spread(3, 2),)],
        note="values",
        dtypes=SOLVED,
        literal=Literal(([[3.0, 0.0], [4.0, 5.0]],), [6.7082033, 2.236068]),
        slopes=[Literal(([[3.0, 0.0], [4.0, 5.0]],), [[0.8944272, -0.4472136], [0.4472136, 0.8944271]])],
        loose=10,
    ),
    Case(
        "Svd",
        lambda x: factorizations.svd(x, full_matrices=True)[1:],
        None,
        [(spread(3, 2),), (spread(2, 3),)],
        note="of full matrices",
        dtypes="float64",
        literal=Literal((np.zeros((0, 0)),), (np.zeros((0, 0)), np.zeros((0, 0)))),
    ),
    # ---- eigenvalues
    Case(
        "SelfAdjointEigV2",
        cubed,
        batched(lambda x: np.linalg.matrix_power(lower_to_hermitian(x), 3)),
        [(spread(2, 2),), (spread(3, 3),), (spread(2, 2, 2),)],
        dtypes=SOLVED,
        literal=Literal(([[2.0, 99.0], [1.0, 2.0]],), [[14.0, 13.0], [13.0, 14.0]]),
        rejects=NOT_SQUARE,
        loose=100,
    ),
    Case(
        "SelfAdjointEigV2",
        lambda x: power_sums(real(factorizations.self_adjoint_eigvals(x)), 1),
        batched(
            lambda x: np.array([np.trace(np.linalg.matrix_power(lower_to_hermitian(x), k)).real for k in range(1, 4)])
        ),
        [(spread(2, 2),), (spread(3, 3),)],
        note="values alone",
        dtypes=SOLVED,
        literal=Literal(([[2.0, 99.0], [1.0, 2.0]],), [4.0, 10.0, 28.0]),
        loose=100,
    ),
    Case(
        "SelfAdjointEigV2",
        factorizations.self_adjoint_eigvals,
        None,
        [(spread(2, 2),)],
        note="values",
        dtypes=REALS,
        literal=Literal(([[2.0, 99.0], [1.0, 2.0]],), [1.0, 3.0]),
        special=[Literal(([[2.0, 0.0], [1.0 + 1.0j, 2.0]],), [2 - 2**0.5, 2 + 2**0.5], "complex64")],
        slopes=[Literal(([[2.0, 99.0], [1.0, 2.0]],), [[1.0, 0.0], [0.0, 1.0]])],
    ),
    # ---- LU
    Case(
        "Lu",
        factorizations.lu,
        eliminated,
        [((3, 3),), (regular(2, 2),), ((1, 1),)],
        dtypes=SOLVED,
        loose=10,
        literal=Literal((A,), ([[3.0, 4.0], [1 / 3, 2 / 3]], i32(1, 0))),
        special=[
            Literal(
                ([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [5.0, 6.0, 7.0]],),
                ([[5.0, 6.0, 7.0], [0.2, 0.8, -1.4], [0.6, 0.5, -2.5]], i32(2, 0, 1)),
            )
        ],
        rejects=[*NOT_SQUARE, Reject(InvalidArgumentError, ([[1.0, 1.0], [1.0, 1.0]],), match="not invertible")],
    ),
    Case(
        "Lu",
        product_of_lu,
        lambda x: x,
        [((3, 3),), ((2, 3, 3),)],
        note="multiplied again",
        dtypes=SOLVED,
        loose=10,
        literal=Literal(
            ([[0.0, 1.0, 4.0], [9.0, 16.0, 25.0], [36.0, 49.0, 64.0]],),
            [[0.0, 1.0, 4.0], [9.0, 16.0, 25.0], [36.0, 49.0, 64.0]],
        ),
    ),
]
