"""Rows of products of matrices and of other contractions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from graph.ops.table import COMPLEXES, FLOATS, Case, Literal, Reject

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.math import matmul as af
from actorflow.graph.ops.math.matmul import einsum, tensordot

MULTIPLIED = f"{FLOATS} {COMPLEXES} int32 int64 uint8 uint16 uint32 uint64"
A = [[1.0, 2.0], [3.0, 4.0]]
B = [[5.0, 6.0], [7.0, 8.0]]
C = [[1j, 2.0], [3.0, 4.0]]
NOT_MATRICES = [
    Reject((ValueError, InvalidArgumentError), ([[1.0, 2.0]], [[1.0, 2.0]])),
    Reject(TypeError, (np.array(A, np.float32), np.array(A, np.int32))),
    Reject(TypeError, ([[1]], [[1]]), dtype="int8"),
    Reject(TypeError, ([[True]], [[True]]), dtype="bool"),
]
BOTH = Reject(ValueError, (A, A), build=lambda a, b: af.matmul(a, b, transpose_a=True, adjoint_a=True))


def side(x: Any, transpose: bool = False, adjoint: bool = False) -> Any:
    x = np.conj(x) if adjoint else x
    return np.swapaxes(x, -1, -2) if transpose or adjoint else x


def product(a: Any, b: Any) -> Any:
    """By numpy's einsum, which does not call BLAS."""
    return np.einsum("...ij,...jk->...ik", a, b)


def products() -> list[Case]:
    """All combinations of transposed matrices, two-dimensional and batched."""
    rows = []
    for first, second in itertools.product((False, True), repeat=2):
        one, two = ((3, 2) if first else (2, 3)), ((4, 3) if second else (3, 4))
        note = ("a" * first + "b" * second + " transposed") * (first or second)
        expected = np.einsum("ij,jk->ik", np.array(A).T if first else A, np.array(B).T if second else B)
        rows.append(
            Case(
                "MatMul",
                lambda a, b, first=first, second=second: af.matmul_op(a, b, transpose_a=first, transpose_b=second),
                lambda a, b, first=first, second=second: product(side(a, first), side(b, second)),
                [(one, two), ((2, 2), (2, 2)), (((0, 2) if first else (2, 0)), ((3, 0) if second else (0, 3)))],
                note=note,
                dtypes=MULTIPLIED,
                literal=Literal((A, B), expected.tolist()),
                rejects=[*NOT_MATRICES[1:], Reject((ValueError, InvalidArgumentError), ([1.0, 2.0], A))],
            )
        )
        rows.append(
            Case(
                "BatchMatMulV2",
                lambda a, b, first=first, second=second: af.matmul(a, b, adjoint_a=first, adjoint_b=second),
                lambda a, b, first=first, second=second: product(side(a, adjoint=first), side(b, adjoint=second)),
                [((2, *one), (2, *two)), ((2, 1, *one), (3, *two)), ((2, *one), two), ((0, *one), (1, *two))],
                note=note.replace("transposed", "adjoint"),
                dtypes=MULTIPLIED,
                literal=Literal(([A, B], [B]), [expected.tolist(), product(side(B, first), side(B, second)).tolist()]),
                rejects=[Reject((ValueError, InvalidArgumentError), (np.zeros((2, 3, 4)), np.zeros((5, 4, 3))))],
            )
        )
    return rows


CASES = [
    *products(),
    Case(
        "",
        lambda a, b: [
            af.matmul(a, b),
            af.matmul(a, b, transpose_a=True),
            af.matmul(a, b, adjoint_a=True),
            af.matmul(a, b, adjoint_a=True, transpose_b=True),
        ],
        lambda a, b: (
            product(a, b),
            product(side(a, True), b),
            product(side(a, adjoint=True), b),
            product(side(a, adjoint=True), side(b, True)),
        ),
        [((2, 2), (2, 2)), ((2, 2, 2), (2, 2))],
        note="matmul transposed and adjoint",
        dtypes=f"float32 {COMPLEXES}",
        literal=Literal(
            (C, B),
            (
                [[14 + 5j, 16 + 6j], [43, 50]],
                [[21 + 5j, 24 + 6j], [38, 44]],
                [[21 - 5j, 24 - 6j], [38, 44]],
                [[18 - 5j, 24 - 7j], [34, 46]],
            ),
            "complex64",
        ),
        rejects=[*NOT_MATRICES, BOTH],
    ),
    *[
        Case(
            "",
            lambda a, b, axes=axes: tensordot(a, b, axes),
            lambda a, b, axes=axes: np.tensordot(a, b, axes),
            [shapes],
            note=f"tensordot {number}",
            dtypes="float64 float32 complex64",
            gradient=2,
            literal=literal,
            rejects=rejects,
        )
        for number, (axes, shapes, literal, rejects) in enumerate(
            [
                (1, ((2, 3), (3, 2)), Literal((A, B), [[19, 22], [43, 50]]), [Reject(ValueError, (A, [[1.0]]))]),
                (2, ((2, 3), (2, 3)), Literal((A, B), 70.0), []),
                (0, ((2,), (3,)), Literal(([1.0, 2.0], [3.0]), [[3.0], [6.0]]), []),
                (
                    [[0, 2], [1, 0]],
                    ((2, 4, 3), (3, 2, 5)),
                    Literal(([A, B], [A, B]), [[68, 82], [100, 122]]),
                    [Reject(ValueError, (A, B), build=lambda a, b: tensordot(a, b, [[0], [0, 1]]))],
                ),
                ([[-1], [0]], ((2, 3), (3,)), Literal((A, [1.0, -1.0]), [-1.0, -1.0]), []),
            ]
        )
    ],
    *[
        Case(
            "Einsum",
            lambda *xs, equation=equation: einsum(equation, *xs),
            lambda *xs, equation=equation: np.einsum(equation, *xs),
            [shapes],
            note=equation.replace("->", "-").replace(",", "-"),
            dtypes=f"{FLOATS} {COMPLEXES} int32",
            literal=literal,
            rejects=[Reject((ValueError, InvalidArgumentError), (np.zeros((2, 3, 4, 5)),) * len(shapes))],
        )
        for equation, shapes, literal in [
            ("ij,jk->ik", ((2, 3), (3, 2)), Literal((A, B), [[19, 22], [43, 50]])),
            ("ij,jk", ((2, 3), (3, 2)), Literal((A, B), [[19, 22], [43, 50]])),
            ("bij,bkj->bik", ((2, 2, 3), (2, 4, 3)), Literal(([A], [B]), [[[17, 23], [39, 53]]])),
            ("ij->ji", ((2, 3),), Literal((A,), [[1, 3], [2, 4]])),
            ("ij->j", ((2, 3),), Literal((A,), [4, 6])),
            ("i,ij,k->jk", ((2,), (2, 3), (4,)), Literal(([1.0, 2.0], A, [1.0]), [[7], [10]])),
            ("ij,ij->", ((2, 3), (2, 3)), Literal((A, B), 70.0)),
        ]
    ],
    Case(
        "",
        lambda a: einsum("ij,ji->i", a, a),
        lambda a: np.einsum("ij,ji->i", a, a),
        [((3, 3),)],
        note="einsum of bad equations",
        literal=Literal((A,), [7.0, 22.0]),
        rejects=[
            Reject(ValueError, (A,), build=lambda a, e=equation: einsum(e, a), match=match)
            for equation, match in [
                ("i1->i", "no equation"),
                ("ii->i", "twice"),
                ("ij->k", "no input"),
                ("i,j->i", "2 inp"),
            ]
        ],
    ),
]
