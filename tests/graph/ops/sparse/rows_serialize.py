"""Rows of sparse tensors as strings, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i64
from graph.ops.sparse.rows_tensor import PLACES, SIZES, parts, taking
from graph.ops.strings.rows_elementwise import words
from graph.ops.table import Case, Literal, Reject

from actorflow import errors, io
from actorflow.base.dtypes import int32

INVALID = errors.InvalidArgumentError
VALUES = np.int32([1, 2, 3])
SHAPE = b'\x08\t\x12\x04\x12\x02\x08\x01"\x08\x03' + bytes(7)
FIRST = [
    b'\x08\t\x12\x08\x12\x02\x08\x01\x12\x02\x08\x01"\x08\x01' + bytes(7),
    b'\x08\x03\x12\x04\x12\x02\x08\x01"\x04\x01' + bytes(3),
    SHAPE,
]
SECOND = [
    b'\x08\t\x12\x08\x12\x02\x08\x02\x12\x02\x08\x01"\x10' + bytes(8) + b"\x02" + bytes(7),
    b'\x08\x03\x12\x04\x12\x02\x08\x02"\x08\x02' + bytes(3) + b"\x03" + bytes(3),
    SHAPE,
]
WHOLE = [
    b'\x08\t\x12\x08\x12\x02\x08\x03\x12\x02\x08\x02"0' + PLACES.tobytes(),
    b'\x08\x03\x12\x04\x12\x02\x08\x03"\x0c' + VALUES.tobytes(),
    b'\x08\t\x12\x04\x12\x02\x08\x02"\x10' + SIZES.tobytes(),
]


def rows(*several: Any) -> Any:
    return words(*(part for row in several for part in row)).reshape(-1, 3)


def restored(serialized: Any, dtype: Any = int32) -> Any:
    return parts(io.deserialize_many_sparse(serialized, dtype, rank=1))


CASES = [
    Case(
        "SerializeSparse",
        taking(io.serialize_sparse),
        None,
        [(PLACES, VALUES, SIZES)],
        Literal((PLACES, VALUES, SIZES), words(*WHOLE)),
        rejects=[
            Reject(TypeError, (PLACES, VALUES, SIZES), lambda i, v, s: io.serialize_sparse(v)),
            Reject(INVALID, (PLACES, VALUES[:2], SIZES)),
        ],
    ),
    Case(
        "SerializeManySparse",
        taking(io.serialize_many_sparse),
        None,
        [(PLACES, VALUES, SIZES)],
        Literal((PLACES, VALUES, SIZES), rows(FIRST, SECOND)),
        rejects=[
            Reject(INVALID, (i64([0], [1]), VALUES[:2], i64(3))),
            Reject(INVALID, (PLACES[::-1].copy(), VALUES, SIZES)),
            Reject(INVALID, (PLACES, VALUES, i64(1, 3))),
        ],
    ),
    Case(
        "DeserializeManySparse",
        restored,
        None,
        [(rows(FIRST, SECOND),)],
        Literal((rows(FIRST, SECOND),), (PLACES, VALUES, SIZES)),
        static=False,
        rejects=[
            Reject(EITHER, (words(*FIRST),)),
            Reject(EITHER, (rows(FIRST)[:, :2],)),
            Reject(INVALID, (rows(FIRST, WHOLE),)),
            Reject(INVALID, (words(b"a", b"b", b"c").reshape(1, 3),)),
            Reject(
                INVALID,
                (rows(FIRST),),
                lambda s: restored(s, "float32"),
                match="Requested SparseTensor of type float but",
            ),
        ],
    ),
]
