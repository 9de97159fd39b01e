"""Rows of ops that take strings apart, put many together, write tensors into a text, and hash."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, i64, n32
from graph.ops.strings.rows_elementwise import SHAPES, row, words
from graph.ops.table import Case, Literal, Reject, each

import actorflow as af
from actorflow import strings
from actorflow.errors import InvalidArgumentError
from actorflow.graph.sparse_tensor import SparseTensor


def three(build: Any) -> Any:
    """`build` with the tensors of the sparse tensor that it gives."""

    def parts(*inputs: Any) -> tuple[Any, ...]:
        found: SparseTensor = build(*inputs)
        return found.indices, found.values, found.dense_shape

    return parts


def vector(x: Any) -> Any:
    """`x`, of which the rank is known then."""
    x.set_shape([None])
    return x


def matrix(split: Any) -> Any:
    """The sparse matrix of the parts of each string."""

    def reference(x: Any, *_: Any) -> tuple[Any, ...]:
        rows = [split(s) for s in x.tolist()]
        places = [(i, j) for i, row_ in enumerate(rows) for j in range(len(row_))]
        widest = max(map(len, rows), default=0)
        return i64(*places).reshape(-1, 2), words([p for r in rows for p in r]), i64(len(rows), widest)

    return reference


def in_runs(s: bytes) -> list[bytes]:
    return [bytes(run) for kept, run in itertools.groupby(s, lambda c: c not in b" a") if kept]


LINES = words(b"a b", b" c  d", b"", b"e")
SPLIT = [
    row(
        "StringSplit",
        three(lambda s: af.string_split(s, " a")),
        matrix(in_runs),
        [((5,),), (words([b"xay", b"aa z"]),), ((0,),)],
        Literal((words([b"x y", b""]),), (i64([0, 0], [0, 1]), words(b"x", b"y"), i64(2, 2))),
        static=False,
        rejects=[Reject(EITHER, (words(b"a"),)), Reject(EITHER, (words([b"a"]).reshape(1, 1),))],
    ),
    row(
        "StringSplit",
        three(af.string_split),
        None,
        [((2,),)],
        Literal(
            (LINES,),
            (i64([0, 0], [0, 1], [1, 0], [1, 1], [3, 0]), words(b"a", b"b", b"c", b"d", b"e"), i64(4, 2)),
        ),
        static=False,
        note="at spaces",
    ),
    row(
        "StringSplit",
        three(lambda s: af.string_split(s, skip_empty=False)),
        matrix(lambda s: s.split(b" ") if s else []),
        [((5,),)],
        Literal(
            (LINES,),
            (
                i64([0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [1, 3], [3, 0]),
                words(b"a", b"b", b"", b"c", b"", b"d", b"e"),
                i64(4, 4),
            ),
        ),
        static=False,
        note="with empty parts",
    ),
    row(
        "StringSplit",
        three(lambda s, d: af.string_split(s, d)),
        matrix(lambda s: [bytes([c]) for c in s]),
        [((5,), words(b""))],
        Literal((words(b"ab", b"d"), words(b"")), (i64([0, 0], [0, 1], [1, 0]), words(b"a", b"b", b"d"), i64(2, 2))),
        static=False,
        note="into bytes",
        rejects=[Reject(EITHER, (words([b"a"]), words([b" "])))],
    ),
    *(
        row(
            "StringSplitV2",
            three(lambda s, sep=sep, most=most: strings.split(vector(s), sep, most)),
            matrix(lambda s, sep=sep, most=most: s.split(sep or None, most) if most or sep else [s]),
            [((5,),), (words(list(given)),)],
            Literal((words(list(given)),), (i64(*places), words(list(parts)), i64(*shape))),
            static=False,
            note=f"{sep!r} {most}",
        )
        for sep, most, given, places, parts, shape in (
            (b"", -1, (b"a b", b" c\td ", b""), ([0, 0], [0, 1], [1, 0], [1, 1]), (b"a", b"b", b"c", b"d"), (3, 2)),
            (
                b"<>",
                -1,
                (b"a<>b<><>c", b"<>"),
                ([0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]),
                (b"a", b"b", b"", b"c", b"", b""),
                (2, 4),
            ),
            (b"", 1, (b"  a  b  c ",), ([0, 0], [0, 1]), (b"a", b"b  c "), (1, 2)),
            (b"", 0, (b"  a ",), ([0, 0],), (b"  a ",), (1, 1)),
            (b",", 1, (b"a,b,c",), ([0, 0], [0, 1]), (b"a", b"b,c"), (1, 2)),
        )
    ),
    row(
        "StringSplitV2",
        three(lambda s: strings.split(af.reshape(s, [2, 2]))),
        None,
        [((4,),)],
        Literal(
            (words(b"a b", b"c", b"d", b""),),
            (i64([0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]), words(b"a", b"b", b"c", b"d"), i64(2, 2, 2)),
        ),
        static=False,
        note="of a matrix",
        rejects=[Reject(ValueError, (words([b"a"]),), lambda s: strings.split(s, result_type="RaggedTensor").values)],
    ),
    row(
        "StringSplitV2",
        three(lambda s: strings.split(af.reshape(s, []))),
        None,
        [((1,),)],
        Literal((words([b"a b"]),), (i64([0, 0], [0, 1]), words(b"a", b"b"), i64(1, 2))),
        static=False,
        note="of a scalar",
    ),
]


def joined(axes: tuple[int, ...], keep: bool) -> Any:
    """Axis after axis, from the last of `axes` to the first."""

    def reference(x: Any, *_: Any) -> Any:
        gone = [a % x.ndim for a in reversed(axes)]
        result = np.empty([n for i, n in enumerate(x.shape) if i not in gone], object)
        for index in np.ndindex(*result.shape):
            outer = iter(index)
            at = [0 if i in gone else next(outer) for i in range(x.ndim)]
            found = []
            for inner in np.ndindex(*(x.shape[a] for a in gone)):
                for a, i in zip(gone, inner):
                    at[a] = i
                found.append(x[tuple(at)])
            result[index] = b".".join(found)
        return result.reshape([1 if i in gone else n for i, n in enumerate(x.shape)]) if keep else result

    return reference


LETTERS = words(b"a", b"b", b"c", b"d", b"e", b"f").reshape(2, 3)
JOINED = [
    *(
        row(
            "ReduceJoin",
            lambda x, axes=axes, keep=keep: af.reduce_join(x, list(axes), keep, "."),
            joined(axes, keep),
            [((2, 3),), ((2, 0),), ((2, 1, 2),)],
            Literal((LETTERS,), answer),
            note=f"{axes} {keep}",
        )
        for axes, keep, answer in (
            ((0,), False, words(b"a.d", b"b.e", b"c.f")),
            ((1,), True, words(b"a.b.c", b"d.e.f").reshape(2, 1)),
            ((0, 1), False, words(b"a.d.b.e.c.f")),
            ((1, 0), True, words(b"a.b.c.d.e.f").reshape(1, 1)),
            ((-1, 0), False, words(b"a.b.c.d.e.f")),
            ((), False, LETTERS),
        )
    ),
    row(
        "ReduceJoin",
        lambda x: af.reduce_join(x, separator="."),
        lambda x: joined(tuple(range(x.ndim))[::-1], False)(x),
        [((2, 3),), ((2,),), ((),)],
        Literal((LETTERS,), words(b"a.b.c.d.e.f")),
        note="of all",
    ),
    row(
        "ReduceJoin",
        lambda x, axis: af.reduce_join(x, axis, separator="."),
        lambda x, axis: joined((int(axis),), False)(x),
        [((2, 3), n32(1)), ((3,), n32(-1))],
        Literal((LETTERS, n32(0)), words(b"a.d", b"b.e", b"c.f")),
        rejects=[
            Reject(EITHER, (LETTERS, n32(2))),
            Reject(InvalidArgumentError, (LETTERS, i32(0, 0))),
            Reject(InvalidArgumentError, (LETTERS, i32(0, -2))),
        ],
        note="axis as a tensor",
    ),
]


def by_segment(x: Any, ids: Any, count: Any) -> Any:
    result = np.empty((int(count), *x.shape[ids.ndim :]), object)
    for index in np.ndindex(*result.shape):
        places = [i for i in np.ndindex(*ids.shape) if ids[i] == index[0]]
        result[index] = b",".join(x[(*i, *index[1:])] for i in places)
    return result


SEGMENTS = [
    row(
        "UnsortedSegmentJoin",
        lambda *a: strings.unsorted_segment_join(*a, separator=","),
        by_segment,
        [
            ((3,), i32(2, 0, 2), n32(3)),
            ((2, 2), i64(1, 1), n32(2)),
            ((2, 2), i32([1, 0], [1, 1]), n32(2)),
            ((0,), i32(), n32(2)),
        ],
        Literal((words(b"a", b"b", b"c"), i32(1, 0, 1), n32(3)), words(b"b", b"a,c", b"")),
        special=[
            Literal(
                (words(b"a", b"b", b"c", b"d").reshape(2, 2), i32(1, 1), n32(2)),
                words(b"", b"", b"a,c", b"b,d").reshape(2, 2),
            )
        ],
        rejects=[
            Reject(InvalidArgumentError, (words(b"a", b"b"), i32(2, 0), n32(2))),
            Reject(InvalidArgumentError, (words(b"a", b"b"), i32(-1, 0), n32(2))),
            Reject(EITHER, (words(b"a", b"b"), i32(0), n32(2))),
            Reject(InvalidArgumentError, (words(b"a", b"b"), i32(0, 0), n32(-1))),
        ],
    )
]


def shown(value: Any, answer: str, dtype: str = "", note: str = "", **more: Any) -> Case:
    array = words([*value]) if dtype == "string" else np.array(value, dtype or "float32")
    return Case(
        "StringFormat",
        lambda x: strings.format("<{}>", x, **more),
        None,
        [(array,)],
        Literal((array,), words(f"<{answer}>".encode())),
        dtypes=dtype or "float32",
        gradient=0,
        note=note,
    )


RANGE = np.arange(100).reshape(10, 10)
FORMAT = [
    shown(range(10), "[0 1 2 ... 7 8 9]", "int32", "vector"),
    shown(3.0, "3", note="scalar"),
    shown(
        RANGE,
        "[[0 1 2 ... 7 8 9]\n [10 11 12 ... 17 18 19]\n [20 21 22 ... 27 28 29]\n ...\n [70 71 72 ... 77 78 79]\n"
        " [80 81 82 ... 87 88 89]\n [90 91 92 ... 97 98 99]]",
        "int64",
        "matrix",
    ),
    shown(
        np.arange(27).reshape(3, 3, 3),
        "[[[0 ... 2]\n  ...\n  [6 ... 8]]\n\n ...\n\n [[18 ... 20]\n  ...\n  [24 ... 26]]]",
        "int32",
        "rank 3",
        summarize=1,
    ),
    shown([[0, 1, 2, 3, 4, 5, 6]], "[[0 1 2 3 4 5 6]]", "int8", "in full", summarize=-1),
    shown(
        [1e-5, 123456789, np.nan, np.inf, 0.1, 1 / 3],
        "[1e-05 123456789 nan inf 0.1 0.33333333333333331]",
        "float64",
        "doubles",
    ),
    shown([1 / 3, 16777216, 1e6, 0.1, 1e-7, -0.0], "[0.333333343 16777216 1e+06 0.1 1e-07 -0]", "float32", "floats"),
    shown([0.1, 3], "[0.0999755859 3]", "float16", "halves"),
    shown([True, False], "[1 0]", "bool", "bool"),
    shown([b'a\n"b\\', "é".encode()], '["a\\n\\"b\\\\" "é"]', "string", "strings"),
    row(
        "StringFormat",
        lambda x, y: strings.format("% and %!", [x, y], placeholder="%"),
        None,
        [(np.int32(1), words([b"a"]))],
        Literal((np.int32([1]), words([b"a", b"b"])), words(b'[1] and ["a" "b"]!')),
        note="of two",
        rejects=[Reject(ValueError, (np.int32(1), words(b"a")), lambda x, y: strings.format("{}", [x, y]))],
    ),
]

HASHED = words(b"", b"a", b"hello", b"\0\xff", b"hello world, this is long enough for the third branch of it?")
BUCKETS = 2**62


def murmur(s: bytes) -> int:
    """MurmurHash64A, in the words of its author's C."""
    m, r, mask = 0xC6A4A7935BD1E995, 47, 2**64 - 1
    h = 0xDECAFCAFFE ^ (len(s) * m) & mask
    while len(s) >= 8:
        k = int.from_bytes(s[:8], "little") * m & mask
        k ^= k >> r
        h = ((h ^ (k * m & mask)) * m) & mask
        s = s[8:]
    for i in reversed(range(len(s))):
        h ^= s[i] << 8 * i
        if i == 0:
            h = h * m & mask
    h ^= h >> r
    h = h * m & mask
    return h ^ h >> r


LONG = words([bytes(i * 7 % 256 for i in range(n)) for n in (8, 16, 17, 32, 33, 64, 65, 128, 129, 300)])
HASHES = [
    row(
        "StringToHashBucket",
        lambda s: af.string_to_hash_bucket(s, BUCKETS),
        each(lambda s: murmur(s) % BUCKETS),
        [*SHAPES, (LONG,)],
        Literal(
            (HASHED,),
            i64(105434511174508091, 2996632905371535868, 1331861223480393034, 1751249499085313975, 597572616657407578),
        ),
        rejects=[Reject(ValueError, (HASHED,), lambda s: af.string_to_hash_bucket(s, 0))],
    ),
    row(
        "StringToHashBucketFast",
        lambda s: af.string_to_hash_bucket_fast(s, BUCKETS),
        None,
        SHAPES,
        Literal(
            (HASHED,),
            i64(
                1936946117179621455, 3694432073954588131, 3786372426573024488, 2909837915285000904, 1617219605075599764
            ),
        ),
        special=[
            Literal(
                (LONG,),
                i64(
                    2037891737372276647,
                    4301628150755241371,
                    2691913911681613940,
                    764915578794662492,
                    4270527518038761543,
                    2325104078259550602,
                    1750252573709625707,
                    2861393397590574203,
                    3220739459477131867,
                    877258984558720016,
                ),
            )
        ],
        rejects=[
            Reject(ValueError, (HASHED,), lambda s: af.string_to_hash_bucket_fast(s, 0)),
            Reject(TypeError, (np.int32(1),)),
        ],
    ),
    row(
        "StringToHashBucketFast",
        lambda s: strings.to_hash_bucket_fast(s, 10),
        None,
        SHAPES,
        Literal((HASHED,), i64(3, 9, 6, 4, 6)),
        note="of ten",
    ),
    row(
        "StringToHashBucketStrong",
        lambda s: af.string_to_hash_bucket_strong(s, BUCKETS, [1, 2]),
        None,
        SHAPES,
        Literal(
            (HASHED,),
            i64(443797209252341627, 546566331822570742, 2957200328589801622, 4467678397361794397, 4402531159409479868),
        ),
        special=[
            Literal(
                (LONG,),
                i64(
                    2118107400387034214,
                    1417390909697027230,
                    2546884093999807847,
                    2496905548284139303,
                    1291009695719901245,
                    2609217183110401564,
                    683845601529922810,
                    2324050068751685855,
                    1918230071849735689,
                    1754827202659012169,
                ),
            )
        ],
        rejects=[
            Reject(InvalidArgumentError, (HASHED,), lambda s: af.string_to_hash_bucket_strong(s, 5, [1])),
            Reject(ValueError, (HASHED,), lambda s: af.string_to_hash_bucket_strong(s, 0, [1, 2])),
        ],
    ),
    row(
        "StringToHashBucketStrong",
        lambda s: strings.to_hash_bucket_strong(s, BUCKETS, [-1, 3]),
        None,
        SHAPES,
        Literal(
            (HASHED,),
            i64(1016695200428324275, 4105327472397617619, 67486887181261596, 105536851206420802, 744669112428573457),
        ),
        note="a negative key",
    ),
]

CASES: list[Case] = [*SPLIT, *JOINED, *SEGMENTS, *FORMAT, *HASHES]
