"""Rows of functions of whole matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER
from graph.ops.linalg.rows_decompose import REALS, spread
from graph.ops.linalg.rows_matrix import NOT_SQUARE, SOLVED, A, batched, determinant, regular
from graph.ops.linalg.rows_solve import LS
from graph.ops.math.rows_elementwise import INF, NAN
from graph.ops.math.rows_matmul import side
from graph.ops.table import COMPLEXES, FLOATS, NUMBERS, Case, Literal, Reject

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.linalg import functions as matrix_functions
from actorflow.graph.ops.linalg import norm as linalg_norm
from actorflow.graph.ops.math.cast import real
from actorflow.graph.ops.math.matmul import matmul

REAL_NUMBERS = " ".join(name for name in NUMBERS.split() if name not in COMPLEXES.split())


def sign_and_log(x: Any) -> Any:
    value = determinant(x)
    return value / abs(value), math.log(abs(value))


def series(x: Any) -> Any:
    """Σ xᵏ / k!."""
    term = total = np.eye(len(x), dtype=x.dtype)
    for k in range(1, 60):
        term = term @ x / k
        total = total + term
    return total


def crossed(a: Any, b: Any) -> Any:
    (a0, a1, a2), (b0, b1, b2) = (np.moveaxis(v.astype(object), -1, 0) for v in (a, b))
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], -1)


CASES = [
    Case(
        "LogMatrixDeterminant",
        matrix_functions.slogdet,
        sign_and_log,
        [(regular(3, 3),), (regular(2, 2),)],
        dtypes=REALS,
        loose=10,
        literal=Literal((A,), (-1.0, 0.6931472)),
        special=[
            Literal(([[1.0, 2.0], [2.0, 4.0]],), (0.0, -INF)),
            Literal((np.zeros((0, 0), np.float32),), (1.0, 0.0)),
        ],
        slopes=[Literal((A,), [[-2.0, 1.5], [1.0, -0.5]])],
        rejects=NOT_SQUARE,
    ),
    Case(
        "LogMatrixDeterminant",
        matrix_functions.slogdet,
        sign_and_log,
        [(regular(3, 3),), (regular(2, 2),)],
        note="of complex matrices",
        dtypes=COMPLEXES,
        gradient=None,  # the sign, which counts as a constant, has a derivative
        loose=10,
        literal=Literal(([[1 + 2j, 2 + 1j], [3 + 0j, 4 + 3j]],), (-0.7071067 + 0.7071067j, 2.4260151)),
    ),
    Case(
        "LogMatrixDeterminant",
        lambda x: real(matrix_functions.slogdet(x)[1]),
        batched(lambda x: np.asarray(sign_and_log(x)[1])),
        [(regular(3, 3),), (regular(2, 2, 2),)],
        note="logarithm alone",
        dtypes=SOLVED,
        loose=10,
        literal=Literal((A,), 0.6931472),
    ),
    Case(
        "",
        lambda x: matrix_functions.logdet(matmul(x, x, adjoint_b=True)),
        batched(lambda x: np.asarray(2 * math.log(abs(determinant(x))))),
        [(regular(3, 3),), (regular(2, 2, 2),)],
        note="logdet",
        dtypes=SOLVED,
        loose=10,
        literal=Literal((A,), 1.3862944),
    ),
    Case(
        "",
        lambda x: matrix_functions.logdet(matmul(x, x, adjoint_b=True)),
        None,
        [(regular(2, 2),)],
        note="logdet of what is not positive",
        dtypes=REALS,
        literal=Literal(([[2.0, 0.0], [0.5, 1.6583124]],), 2.3978953),
        rejects=[
            Reject(
                InvalidArgumentError,
                ([[1.0, 2.0], [2.0, 1.0]],),
                build=matrix_functions.logdet,
                match="not successful",
            )
        ],
    ),
    # ---- roots and exponentials
    Case(
        "MatrixSquareRoot",
        lambda x: matrix_functions.sqrtm(matmul(x, x)),
        lambda x: x,
        [(regular(3, 3),), (regular(2, 2, 2),)],
        dtypes=SOLVED,
        loose=100,
        static=False,
        literal=Literal(([[4.0, 1.0], [1.0, 3.0]],), [[4.0, 1.0], [1.0, 3.0]]),
        rejects=[
            Reject(EITHER, ([[1.0, 2.0]],), build=matrix_functions.sqrtm),
            Reject(TypeError, ([[1]],), build=matrix_functions.sqrtm, dtype="int32"),
        ],
    ),
    Case(
        "MatrixSquareRoot",
        matrix_functions.sqrtm,
        None,
        [(regular(2, 2),)],
        note="itself",
        dtypes=REALS,
        loose=10,
        literal=Literal(([[4.0, 1.0], [1.0, 3.0]],), [[1.981578, 0.27083236], [0.27083236, 1.7107457]]),
        special=[Literal(([[-1.0, 0.0], [0.0, 1.0]],), [[NAN, NAN], [NAN, NAN]])],
        slopes=[
            Literal(([[4.0, 1.0], [1.0, 3.0]],), [[0.22006991, 0.23599236], [0.23599236, 0.25490967]]),
        ],
    ),
    Case(
        "MatrixExponential",
        matrix_functions.expm,
        batched(series),
        [((3, 3),), ((2, 2, 2),), ((1, 1),)],
        dtypes=SOLVED,
        loose=10,
        literal=Literal(([[0.0, 1.0], [-1.0, 0.0]],), [[0.5403023, 0.84147096], [-0.84147096, 0.5403023]]),
        special=[
            Literal(([[1.0, 2.0], [0.0, 3.0]],), [[2.7182817, 17.367256], [0.0, 20.085537]]),
            Literal(([[0.0, 0.0], [0.0, 0.0]],), [[1.0, 0.0], [0.0, 1.0]]),
            Literal((np.zeros((0, 2, 2)),), np.zeros((0, 2, 2))),
            Literal(
                (np.array([[[0.0, 1.0], [-1.0, 0.0]], [[10.0, 20.0], [3.0, -30.0]]]),),
                [
                    [[0.5403023058681398, 0.8414709848078965], [-0.8414709848078965, 0.5403023058681397]],
                    [[90515.8632209493, 43677.240706281096], [6551.586105942166, 3161.3818083870856]],
                ],
            ),
        ],
        slopes=[Literal(([[1.0, 2.0], [0.0, 3.0]],), [[8.683628, 8.683628], [31.487446, 31.487446]])],
        rejects=NOT_SQUARE,
    ),
    # ---- made of others
    Case(
        "",
        matrix_functions.adjoint,
        lambda x: np.conj(np.swapaxes(x, -1, -2)),
        [((2, 3),), ((2, 2, 3),)],
        note="adjoint",
        dtypes=NUMBERS,
        literal=Literal(([[1 + 2j, 2 + 1j], [3 + 0j, 4 + 3j]],), [[1 - 2j, 3 + 0j], [2 - 1j, 4 - 3j]], "complex64"),
    ),
    Case(
        "",
        matrix_functions.pinv,
        None,
        [(spread(3, 2),), (spread(2, 2, 3),)],
        note="pinv",
        dtypes=SOLVED,
        gradient=1,
        static=False,
        loose=10,
        literal=Literal((LS,), [[2 / 3, 1 / 3, -1 / 3], [-1 / 3, 1 / 3, 2 / 3]]),
        special=[Literal(([[1.0, 1.0], [1.0, 1.0]],), [[0.25, 0.25], [0.25, 0.25]])],
    ),
    Case(
        "",
        lambda x: matmul(x, matmul(matrix_functions.pinv(x), x)),
        lambda x: x,
        [((3, 2),), ((2, 2, 3),)],
        note="pinv undoes",
        dtypes=SOLVED,
        gradient=None,
        static=False,
        loose=100,
        literal=Literal((LS,), LS),
    ),
    *[
        Case(
            "",
            lambda a, b, switches=switches: matrix_functions.matvec(a, b, **switches),
            lambda a, b, sides=sides: np.einsum("...ij,...j->...i", side(a, **sides), b),
            [((3, 3), (3,)), ((2, 2, 2), (2, 2)), ((2, 2, 2), (1, 2))],
            note=f"matvec {' '.join(switches)}",
            dtypes=f"int32 int64 {FLOATS} {COMPLEXES}",
            static=False,
            loose=2,
            literal=literal,
            rejects=[Reject(EITHER, (A, [1.0, 2.0, 3.0]))],
        )
        for switches, sides, literal in [
            ({}, {}, Literal((A, [1.0, 2.0]), [5.0, 11.0])),
            ({"transpose_a": True}, {"transpose": True}, Literal((A, [1.0, 2.0]), [7.0, 10.0])),
            ({"adjoint_a": True}, {"adjoint": True}, Literal((A, [1.0, 2.0]), [7.0, 10.0])),
        ]
    ],
    Case(
        "",
        lambda x: linalg_norm.normalize(x, axis=1),
        lambda x: ((x.T / np.sqrt((np.abs(x) ** 2).sum(1))).T, np.sqrt((np.abs(x) ** 2).sum(1))[:, None]),
        [((2, 3),), ((1, 1),)],
        note="normalize",
        dtypes=f"{FLOATS} {COMPLEXES}",
        loose=2,
        literal=Literal(([[3.0, 4.0], [6.0, 8.0]],), ([[0.6, 0.8], [0.6, 0.8]], [[5.0], [10.0]])),
    ),
    Case(
        "",
        lambda x: linalg_norm.normalize(x, ord=1),
        None,
        [((2, 3),)],
        note="normalize by another norm",
        domain=(0.3, 2.0),
        literal=Literal(([[3.0, 4.0], [6.0, 8.0]],), ([[1 / 7, 4 / 21], [2 / 7, 8 / 21]], [[21.0]])),
    ),
    Case(
        "Cross",
        matrix_functions.cross,
        crossed,
        [((3,), (3,)), ((2, 3), (2, 3)), ((0, 3), (0, 3))],
        dtypes=REAL_NUMBERS,
        loose=3,
        literal=Literal(([1.0, 2.0, 3.0], [4.0, 5.0, 7.0]), [-1.0, 5.0, -3.0]),
        slopes=[Literal(([1.0, 2.0, 3.0], [4.0, 5.0, 7.0]), ([-2.0, 3.0, -1.0], [1.0, -2.0, 1.0]))],
        rejects=[
            Reject(EITHER, ([1.0, 2.0], [1.0, 2.0])),
            Reject(EITHER, ([[1.0, 2.0, 3.0]], [1.0, 2.0, 3.0])),
            Reject(TypeError, ([1j, 0, 0], [1j, 0, 0]), dtype="complex64"),
        ],
    ),
]
