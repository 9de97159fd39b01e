"""Rows of systems of linear equations: triangular, factored, rectangular ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER
from graph.ops.linalg.rows_decompose import spread
from graph.ops.linalg.rows_matrix import SOLVED, A, batched, regular, solved
from graph.ops.math.rows_matmul import side
from graph.ops.table import Case, Literal, Reject

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.linalg import solve as linear_solve

LS = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
WIDE = [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]


def substituted(x: Any, right: Any, lower: bool, adjoint: bool) -> Any:
    triangle = np.tril(x) if lower else np.triu(x)
    return solved(side(triangle, adjoint=adjoint), right)


def least_squares(x: Any, right: Any, regularizer: float = 0.0) -> Any:
    turned = np.conj(x).T
    if len(x) >= len(x.T):
        return solved(turned @ x + regularizer * np.eye(len(x.T)), turned @ right)
    return turned @ solved(x @ turned + regularizer * np.eye(len(x)), right)


CASES = [
    # ---- linear systems
    *[
        Case(
            "MatrixTriangularSolve",
            lambda x, right, lower=lower, adjoint=adjoint: linear_solve.matrix_triangular_solve(
                x, right, lower=lower, adjoint=adjoint
            ),
            lambda x, right, lower=lower, adjoint=adjoint: np.array(
                [
                    substituted(a, b, lower, adjoint)
                    for a, b in zip(
                        np.broadcast_to(x, (2, *x.shape[-2:])), np.broadcast_to(right, (2, *right.shape[-2:]))
                    )
                ]
            )[slice(None) if x.ndim + right.ndim > 4 else 0],
            [(regular(3, 3), (3, 2)), (regular(2, 2, 2), (2, 2, 1)), (regular(2, 2), (2, 2, 1))],
            note=f"{'lower' if lower else 'upper'} {'adjoint' * adjoint}",
            dtypes=SOLVED,
            loose=10,
            literal=literal,
            special=[Literal(([[[1.0, 0.0], [1.0, 1.0]]] * 2, [[1.0], [1.0]]), broadcast)],
            slopes=slopes,
            rejects=[
                Reject(EITHER, (A, [[1.0]])),
                Reject(EITHER, (A, [1.0, 2.0])),
                Reject(EITHER, ([[1.0, 0.0]], [[1.0]])),
                Reject(InvalidArgumentError, ([[0.0, 0.0], [1.0, 1.0]], [[1.0], [1.0]]), match="not invertible"),
            ],
        )
        for lower, adjoint, literal, broadcast, slopes in [
            (
                True,
                False,
                Literal(([[2.0, 99.0], [1.0, 3.0]], [[4.0], [8.0]]), [[2.0], [2.0]]),
                [[[1.0], [0.0]]] * 2,
                [
                    Literal(
                        ([[2.0, 99.0], [1.0, 3.0]], [[4.0], [8.0]]),
                        ([[-2 / 3, 0.0], [-2 / 3, -2 / 3]], [[1 / 3], [1 / 3]]),
                    )
                ],
            ),
            (
                True,
                True,
                Literal(([[2.0, 99.0], [1.0, 3.0]], [[4.0], [8.0]]), [[2 / 3], [8 / 3]]),
                [[[0.0], [1.0]]] * 2,
                [
                    Literal(
                        ([[2.0, 99.0], [1.0, 3.0]], [[4.0], [8.0]]),
                        ([[-1 / 3, 0.0], [-4 / 3, -4 / 9]], [[0.5], [1 / 6]]),
                    )
                ],
            ),
            (
                False,
                False,
                Literal(([[2.0, 1.0], [99.0, 3.0]], [[4.0], [6.0]]), [[1.0], [2.0]]),
                [[[1.0], [1.0]]] * 2,
                [
                    Literal(
                        ([[2.0, 1.0], [99.0, 3.0]], [[4.0], [6.0]]), ([[-0.5, -1.0], [0.0, -1 / 3]], [[0.5], [1 / 6]])
                    )
                ],
            ),
        ]
    ],
    Case(
        "",
        linear_solve.cholesky_solve,
        batched(lambda x, right: solved(np.tril(x) @ np.conj(np.tril(x)).T, right)),
        [(regular(3, 3), (3, 2)), (regular(2, 2, 2), (2, 2, 1))],
        note="cholesky_solve",
        dtypes=SOLVED,
        loose=100,
        literal=Literal(([[2.0, 0.0], [1.0, 3.0]], [[4.0], [8.0]]), [[2 / 3], [2 / 3]]),
    ),
    # ---- least squares
    Case(
        "MatrixSolveLs",
        linear_solve.matrix_solve_ls,
        batched(least_squares),
        [(spread(3, 2), (3, 2)), (spread(2, 3), (2, 1)), (spread(2, 2, 2), (2, 2, 1))],
        dtypes=SOLVED,
        loose=100,
        literal=Literal((LS, [[1.0], [2.0], [4.0]]), [[0.0], [3.0]]),
        special=[Literal((WIDE, [[1.0], [2.0]]), [[0.0], [1.0], [1.0]])],
        slopes=[
            Literal(
                (LS, [[1.0], [2.0], [4.0]]),
                ([[1 / 3, -2 / 3], [-1 / 3, -7 / 3], [1 / 3, -2 / 3]], [[1 / 3], [2 / 3], [1 / 3]]),
            ),
            Literal(
                (WIDE, [[1.0], [2.0]]),
                ([[0.0, -2 / 3, -2 / 3], [1 / 3, -1.0, -1 / 3]], [[2 / 3], [2 / 3]]),
            ),
        ],
        rejects=[
            Reject(EITHER, (LS, [[1.0], [2.0]])),
            Reject(EITHER, (LS, [1.0, 2.0, 3.0])),
            Reject(InvalidArgumentError, ([[1.0, 0.0], [1.0, 0.0]], [[1.0], [1.0]]), match="rank deficient"),
            Reject(
                InvalidArgumentError,
                (LS, [[1.0], [2.0], [4.0]]),
                build=lambda x, right: linear_solve.matrix_solve_ls(x, right, -1.0),
            ),
        ],
    ),
    Case(
        "MatrixSolveLs",
        lambda x, right: linear_solve.matrix_solve_ls(x, right, l2_regularizer=0.5),
        batched(lambda x, right: least_squares(x, right, 0.5)),
        [(spread(3, 2), (3, 2)), (spread(2, 3), (2, 1))],
        note="regularized",
        dtypes=SOLVED,
        loose=100,
        literal=Literal((LS, [[1.0], [2.0], [4.0]]), [[0.2857142], [2.2857144]]),
        special=[Literal((WIDE, [[1.0], [2.0]]), [[0.09523809], [0.8571429], [0.7619048]])],
        slopes=[
            Literal(
                (WIDE, [[1.0], [2.0]]),
                (
                    [[-0.013605468, -0.50340146, -0.39455792], [0.27210873, -0.59863955, -0.10884350]],
                    [[0.5714286], [0.5714286]],
                ),
            )
        ],
    ),
    Case(
        "MatrixSolveLs",
        lambda x, right: linear_solve.matrix_solve_ls(x, right, fast=False),
        batched(least_squares),
        [(spread(3, 2), (3, 2)), (spread(2, 3), (2, 1))],
        note="of any rank",
        dtypes=SOLVED,
        gradient=None,  # it has none
        loose=100,
        literal=Literal((LS, [[1.0], [2.0], [4.0]]), [[0.0], [3.0]]),
        special=[Literal(([[1.0, 1.0]] * 3, [[1.0], [2.0], [4.0]]), [[1.1666667], [1.1666667]])],
    ),
]
