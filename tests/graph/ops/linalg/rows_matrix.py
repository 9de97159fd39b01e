"""Rows of matrices: diagonals, inverses, factors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.math.rows_matmul import side
from graph.ops.table import COMPLEXES, NUMBERS, Case, Literal, Reject, draw

from actorflow.base.dtypes import DType
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.linalg import diagonal
from actorflow.graph.ops.linalg import matrix as linalg
from actorflow.graph.ops.math import matmul as af

SOLVED = f"float32 float64 {COMPLEXES}"
A = [[1.0, 2.0], [3.0, 4.0]]
NOT_SQUARE = [
    Reject((ValueError, InvalidArgumentError), ([[1.0, 2.0]],)),
    Reject((ValueError, InvalidArgumentError), ([1.0, 2.0],)),
    Reject(TypeError, ([[1]],), dtype="int32"),
]


def determinant(x: Any) -> Any:
    """Leibniz' sum over permutations."""
    total = 0
    for order in itertools.permutations(range(len(x))):
        inversions = sum(a > b for a, b in itertools.combinations(order, 2))
        total += (-1) ** inversions * math.prod(x[i][j] for i, j in enumerate(order))
    return total


def solved(x: Any, right: Any) -> Any:
    """Cramer's rule."""
    x, right = np.asarray(x), np.asarray(right)
    result = np.empty(right.shape, np.result_type(x, right))
    for row, column in np.ndindex(*right.shape):
        replaced = x.copy()
        replaced[:, row] = right[:, column]
        result[row, column] = determinant(replaced) / determinant(x)
    return result


def factor(x: Any) -> Any:
    """Cholesky's recurrence, element by element."""
    result = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(i + 1):
            rest = x[i, j] - sum(result[i, k] * np.conj(result[j, k]) for k in range(j))
            result[i, j] = np.sqrt(rest) if i == j else rest / result[j, j]
    return result


def batched(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of each matrix of a batch."""

    def reference(*arrays: Any) -> Any:
        results = [function(*(a[at] for a in arrays)) for at in np.ndindex(*arrays[0].shape[:-2])]
        return np.array(results).reshape(arrays[0].shape[:-2] + np.shape(results[0]))

    return reference


def with_diagonal(x: Any, diagonal: Any) -> Any:
    result = np.array(x)
    for i in range(diagonal.shape[-1]):
        result[..., i, i] = diagonal[..., i]
    return result


def regular(*shape: int) -> Callable[[np.random.Generator, DType], Any]:
    """An entry that draws matrices far from singular ones."""

    def entry(rng: np.random.Generator, dtype: DType) -> Any:
        return (draw(rng, shape, dtype, (-1.0, 1.0)) + 3 * np.eye(shape[-1])).astype(dtype.numpy_dtype)

    return entry


def positive(x: Any) -> Any:
    """Hermitian positive definite matrices of any two by two."""
    return af.matmul(x, x, adjoint_b=True) + linalg.eye(2, dtype=x.dtype)


CASES = [
    # ---- diagonals
    Case(
        "Diag",
        diagonal.diag,
        lambda x: np.diag(x.reshape(-1)).reshape(x.shape * 2),
        [((3,),), ((2, 3),), ((0,),)],
        dtypes=NUMBERS,
        literal=Literal(([1.0, 2.0],), [[1.0, 0.0], [0.0, 2.0]]),
        special=[Literal(([[1.0, 2.0]],), [[[[1.0, 0.0]], [[0.0, 2.0]]]])],
        rejects=[Reject((ValueError,), (1.0,))],
    ),
    Case(
        "DiagPart",
        diagonal.diag_part,
        lambda x: np.array([x[at * 2] for at in np.ndindex(*x.shape[: x.ndim // 2])]).reshape(x.shape[: x.ndim // 2]),
        [((3, 3),), ((2, 3, 2, 3),), ((0, 0),)],
        dtypes=NUMBERS,
        literal=Literal((A,), [1.0, 4.0]),
        rejects=[
            Reject((ValueError, InvalidArgumentError), ([[1.0, 2.0]],)),
            Reject((ValueError, InvalidArgumentError), ([1.0, 2.0],)),
        ],
    ),
    Case(
        "MatrixDiag",
        diagonal.matrix_diag,
        lambda x: x[..., None] * np.eye(x.shape[-1]).astype(x.dtype),
        [((3,),), ((2, 3),), ((2, 0),)],
        dtypes=f"{NUMBERS} bool",
        literal=Literal(([[1.0, 2.0], [3.0, 4.0]],), [[[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 4.0]]]),
        rejects=[Reject((ValueError, InvalidArgumentError), (1.0,))],
    ),
    Case(
        "MatrixDiagPart MatrixSetDiag",
        diagonal.matrix_diag_part,
        lambda x: np.stack([x[..., i, i] for i in range(min(x.shape[-2:]))], -1),
        [((3, 3),), ((2, 3),), ((2, 3, 2),), ((0, 2, 2),)],
        dtypes=f"{NUMBERS} bool",
        literal=Literal(([[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]],), [1.0, 4.0]),
        rejects=[Reject((ValueError, InvalidArgumentError), ([1.0],))],
    ),
    Case(
        "MatrixSetDiag",
        diagonal.matrix_set_diag,
        lambda x, d: np.where(
            np.eye(*x.shape[-2:]) > 0, d[..., [min(i, d.shape[-1] - 1) for i in range(x.shape[-2])], None], x
        ),
        [((3, 3), (3,)), ((2, 3), (2,)), ((2, 3, 2), (2, 2))],
        dtypes=f"{NUMBERS} bool",
        literal=Literal((A, [7.0, 8.0]), [[7.0, 2.0], [3.0, 8.0]]),
        rejects=[Reject((ValueError, InvalidArgumentError), (A, [1.0]))],
    ),
    Case(
        "",
        linalg.trace,
        lambda x: sum(x[..., i, i] for i in range(min(x.shape[-2:]))),
        [((3, 3),), ((2, 3),), ((2, 2, 2),)],
        note="trace",
        dtypes=NUMBERS,
        literal=Literal((A,), 5.0),
    ),
    Case(
        "",
        linalg.matrix_transpose,
        lambda x: np.swapaxes(x, -1, -2),
        [((2, 3),), ((2, 3, 4),)],
        note="matrix_transpose",
        dtypes=NUMBERS,
        literal=Literal((A,), [[1.0, 3.0], [2.0, 4.0]]),
        rejects=[Reject(ValueError, ([1.0],))],
    ),
    Case(
        "",
        lambda rows, columns: [
            linalg.eye(rows, columns),
            linalg.eye(2, batch_shape=[2], dtype="int32"),
            linalg.eye(rows),
        ],
        lambda rows, columns: (np.eye(rows, columns), np.stack([np.eye(2)] * 2), np.eye(rows)),
        [(np.array(2, np.int32), np.array(3, np.int32))],
        note="eye",
        dtypes="int32",
        static=False,
        literal=Literal((2, 3), ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[[1, 0], [0, 1]]] * 2, [[1.0, 0.0], [0.0, 1.0]])),
    ),
    # ---- inverses and factors
    Case(
        "MatrixInverse",
        linalg.matrix_inverse,
        batched(lambda x: solved(x, np.eye(len(x)))),
        [(regular(3, 3),), (regular(2, 2, 2),), (regular(1, 1),)],
        dtypes=SOLVED,
        literal=Literal((A,), [[-2.0, 1.0], [1.5, -0.5]]),
        rejects=[*NOT_SQUARE, Reject(InvalidArgumentError, ([[1.0, 2.0], [2.0, 4.0]],), match="not invertible")],
    ),
    Case(
        "MatrixInverse",
        lambda x: linalg.matrix_inverse(x, adjoint=True),
        batched(lambda x: solved(side(x, adjoint=True), np.eye(len(x)))),
        [(regular(3, 3),), (regular(2, 2, 2),)],
        note="adjoint",
        dtypes=SOLVED,
        literal=Literal((A,), [[-2.0, 1.5], [1.0, -0.5]]),
    ),
    Case(
        "MatrixDeterminant",
        linalg.matrix_determinant,
        batched(determinant),
        [(regular(3, 3),), (regular(2, 2, 2),)],
        dtypes=SOLVED,
        literal=Literal((A,), -2.0),
        special=[Literal((np.zeros((0, 0), np.float32),), 1.0)],
        rejects=NOT_SQUARE,
        loose=10,
    ),
    *[
        Case(
            "MatrixSolve",
            lambda x, right, adjoint=adjoint: linalg.matrix_solve(x, right, adjoint=adjoint),
            batched(lambda x, right, adjoint=adjoint: solved(side(x, adjoint=adjoint), right)),
            [(regular(3, 3), (3, 2)), (regular(2, 2, 2), (2, 2, 1))],
            note="adjoint" * adjoint,
            dtypes=SOLVED,
            literal=Literal((A, [[5.0], [6.0]]), literal),
            rejects=[
                Reject((ValueError, InvalidArgumentError), (A, [[1.0]])),
                Reject((ValueError, InvalidArgumentError), (A, [1.0, 2.0])),
                Reject(InvalidArgumentError, ([[1.0, 2.0], [2.0, 4.0]], [[1.0], [1.0]]), match="not invertible"),
            ],
        )
        for adjoint, literal in [(False, [[-4.0], [4.5]]), (True, [[-1.0], [2.0]])]
    ],
    Case(
        "Cholesky",
        lambda x: linalg.cholesky(positive(x)),
        batched(lambda x: factor(x @ np.conj(x).T + np.eye(len(x)))),
        [((2, 2),), ((3, 2, 2),)],
        dtypes=SOLVED,
        literal=Literal(([[1.0, 2.0], [0.0, 1.0]],), [[2.4494898, 0.0], [0.8164966, 1.1547005]]),
        rejects=[Reject(TypeError, ([[1]],), dtype="int32")],
        loose=10,
    ),
    Case(
        "Cholesky",
        linalg.cholesky,
        factor,
        [(regular(2, 2),)],
        note="of the lower triangle",
        dtypes="float32 float64",
        gradient=None,  # that of a symmetric input
        literal=Literal(([[4.0, 99.0], [2.0, 3.0]],), [[2.0, 0.0], [1.0, 1.4142135]]),
        rejects=[*NOT_SQUARE[:2], Reject(InvalidArgumentError, ([[1.0, 2.0], [2.0, 1.0]],), match="not successful")],
    ),
]
