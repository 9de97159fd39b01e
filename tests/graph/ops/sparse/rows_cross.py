"""Rows of hashed crosses. The numbers are TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import i64
from graph.ops.strings.rows_elementwise import words
from graph.ops.table import Case, Literal, Reject

from actorflow import errors, sparse
from actorflow.graph.sparse_tensor import SparseTensor

A = (i64([0, 0], [0, 1], [1, 0]), words(b"ant", b"bee", b"cat"), i64(2, 2))
B = (i64([0, 0], [1, 0], [1, 1]), i64(3, -4, 5), i64(2, 2))
DENSE = words(b"x", b"y", b"z", b"").reshape(2, 2)


def crossed(**options: Any) -> Any:
    def build(*given: Any) -> Any:
        pairs = [SparseTensor(*given[i : i + 3]) for i in range(0, len(given) - len(given) % 3, 3)]
        made = sparse.cross_hashed([*given[len(pairs) * 3 :], *pairs], **options)
        return made.indices, made.values, made.dense_shape

    return build


CASES = [
    Case(
        "CrossHashed",
        crossed(num_buckets=7, hash_key=12345),
        None,
        [(*A, *B)],
        Literal((*A, *B), (i64([0, 0], [0, 1], [1, 0], [1, 1]), i64(3, 4, 5, 3), i64(2, 2))),
        gradient=0,
        static=False,
        rejects=[
            Reject(errors.InvalidArgumentError, (*A, B[0], B[1], i64(3, 2))),
            Reject(ValueError, (*A, B[0], np.float32([1, 2, 3]), B[2])),
            Reject(ValueError, (*A, *B), lambda *a: sparse.cross_hashed([]).values),
        ],
    ),
    Case(
        "CrossHashed",
        crossed(num_buckets=50),
        None,
        [(*A, *B, DENSE)],
        Literal(
            (*A, *B, DENSE),
            (
                i64([0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [1, 2], [1, 3]),
                i64(22, 23, 30, 2, 22, 11, 26, 23),
                i64(2, 4),
            ),
        ),
        gradient=0,
        static=False,
        note="dense inputs come last",
    ),
]
