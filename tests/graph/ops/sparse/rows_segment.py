"""Rows of segments of picked rows, and of products and roots over segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, i64, n32
from graph.ops.table import COMPLEXES, FLOATS, NUMBERS, REALS, Case, Literal, Reject

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.math import segment
from actorflow.graph.ops.sparse import segment as sparse_segment

INEXACT = f"{FLOATS} {COMPLEXES}"
ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def picked(data: Any, indices: Any, ids: Any, power: float, count: int | None = None) -> Any:
    """Sums of the rows of each segment, over their number to this power."""
    length = count if count is not None else int(ids[-1]) + 1 if len(ids) else 0
    result = np.zeros((length, *data.shape[1:]), np.asarray(data).dtype if power == 0 else np.float64)
    for at, i in zip(indices, ids):
        result[i] += data[at]
    for i in range(length if power else 0):
        result[i] /= max(list(ids).count(i), 1) ** power
    return result


def grouped(data: Any, ids: Any, count: Any, start: float, combine: Any) -> Any:
    """An element after the other, those of one segment combined."""
    result = np.full((int(count), *data.shape[ids.ndim :]), start, data.dtype)
    for at in np.ndindex(*ids.shape):
        if ids[at] >= 0:
            result[ids[at]] = combine(result[ids[at]], data[at])
    return result


def rooted(data: Any, ids: Any, count: Any) -> Any:
    sums = grouped(data, ids, count, 0, lambda a, b: a + b)
    return np.array([row / max((ids == i).sum(), 1) ** 0.5 for i, row in enumerate(sums)])


SEGMENT_REJECTS = [
    Reject(EITHER, (ROWS, i32(0, 1), i32(0, 0, 1))),
    Reject(InvalidArgumentError, (ROWS, i32(0, 1, 1), i32(2, 0, 0)), match="is not sorted"),
    Reject(InvalidArgumentError, (ROWS, i32(0, 1, 1), i32(-1, 0, 1))),
    Reject(InvalidArgumentError, (ROWS, i32(0, 1, 7), i32(0, 0, 1))),
    Reject(EITHER, (1.0, i32(0), i32(0))),
]

CASES = [
    # ---- segments of picked rows
    *[
        case
        for ops, build, power, dtypes, literal, slope in [
            ("Sum", sparse_segment.sparse_segment_sum, 0, REALS, [[4.0, 6.0], [0.0, 0.0], [3.0, 4.0]], [1.0, 2.0, 0.0]),
            (
                "Mean",
                sparse_segment.sparse_segment_mean,
                1,
                FLOATS,
                [[2.0, 3.0], [0.0, 0.0], [3.0, 4.0]],
                [0.5, 1.5, 0.0],
            ),
            (
                "SqrtN",
                sparse_segment.sparse_segment_sqrt_n,
                0.5,
                FLOATS,
                [[2.828427, 4.2426405], [0.0, 0.0], [3.0, 4.0]],
                [0.70710677, 1.7071068, 0.0],
            ),
        ]
        for case in [
            Case(
                f"SparseSegment{ops}",
                build,
                lambda data, indices, ids, power=power: picked(data, indices, ids, power),
                [
                    ((4, 2), i32(0, 3, 3, 1), i32(0, 0, 1, 3)),
                    ((4,), i64(2, 2), i32(1, 1)),
                    ((3, 0), i32(1), i64(0)),
                    ((2, 2), i32(), i32()),
                ],
                dtypes=dtypes,
                literal=Literal((ROWS, i32(0, 1, 1), i32(0, 0, 2)), literal),
                slopes=[Literal((ROWS, i32(0, 1, 1), i32(0, 0, 2)), ([[s, s] for s in slope], None, None))],
                rejects=[
                    *SEGMENT_REJECTS,
                    *([Reject(TypeError, ([[1]], i32(0), i32(0)), dtype="int32")] if power else []),
                ],
            ),
            Case(
                f"SparseSegment{ops}WithNumSegments",
                lambda data, indices, ids, count, build=build: build(data, indices, ids, num_segments=count),
                lambda data, indices, ids, count, power=power: picked(data, indices, ids, power, int(count)),
                [((4, 2), i32(0, 3, 3, 1), i32(0, 0, 1, 3), n32(5)), ((4,), i32(), i32(), n32(2))],
                dtypes=dtypes,
                literal=Literal((ROWS, i32(0, 1, 1), i32(0, 0, 2), n32(4)), [*literal, [0.0, 0.0]]),
                rejects=[
                    Reject(InvalidArgumentError, (ROWS, i32(0, 1, 1), i32(0, 0, 4), n32(3)), match="not below"),
                    Reject(EITHER, (ROWS, i32(0, 1), i32(0, 0), n32(-1))),
                    Reject(EITHER, (ROWS, i32(0, 1), i32(0), n32(1))),
                ],
            ),
        ]
    ],
    # ---- segments with ids in any order
    Case(
        "UnsortedSegmentProd",
        segment.unsorted_segment_prod,
        lambda data, ids, count: grouped(data, ids, count, 1, lambda a, b: a * b),
        [
            ((5, 2), i32(3, 0, 3, -1, 0), n32(4)),
            ((4,), i64(1, 0, 1, -1), n32(2)),
            ((2, 2), np.array([[0, 1], [-1, 1]], np.int32), n32(2)),
        ],
        dtypes=NUMBERS,
        literal=Literal(([1.0, 2.0, 3.0, 4.0], i32(0, 0, 2, -1), n32(4)), [2.0, 1.0, 3.0, 1.0]),
        slopes=[
            Literal(
                ([1.0, 2.0, 3.0, 4.0, 0.0, 5.0, 0.0, 0.0], i32(0, 0, 2, -1, 3, 3, 4, 4), n32(5)),
                ([2.0, 1.0, 1.0, 0.0, 5.0, 0.0, 0.0, 0.0], None, None),
            )
        ],
        rejects=[
            Reject(InvalidArgumentError, ([1.0], i32(2), n32(2))),
            Reject(EITHER, ([1.0, 2.0], i32(0), n32(2))),
            Reject(EITHER, ([1.0], i32(0), n32(-1))),
        ],
    ),
    Case(
        "",
        segment.unsorted_segment_sqrt_n,
        rooted,
        [((5, 2), i32(3, 0, 3, -1, 0), n32(4)), ((4,), i64(1, 0, 1, -1), n32(2))],
        note="unsorted_segment_sqrt_n",
        dtypes=INEXACT,
        static=False,
        literal=Literal(([1.0, 2.0, 3.0, 4.0], i32(0, 0, 2, -1), n32(4)), [2.1213205, 0.0, 3.0, 0.0]),
        slopes=[
            Literal(([1.0, 2.0, 3.0, 4.0], i32(0, 0, 2, -1), n32(4)), ([0.70710677, 0.70710677, 1.0, 0.0], None, None))
        ],
    ),
    # ---- complex numbers in sorted segments
    *[
        Case(
            op,
            build,
            lambda data, ids, start=start, combine=combine: (
                grouped(data, ids, ids[-1] + 1, start, combine)
                / np.array([max((ids == i).sum(), 1) if start == 0 else 1 for i in range(ids[-1] + 1)])[:, None]
            ),
            [((4, 2), i32(0, 0, 2, 2)), ((3, 1), i64(1, 1, 1))],
            note="of complex numbers",
            dtypes=COMPLEXES,
            literal=Literal(([[1 + 1j], [2j], [3 + 0j]], i32(0, 0, 1)), literal),
        )
        for op, build, start, combine, literal in [
            ("SegmentMean", segment.segment_mean, 0, lambda a, b: a + b, [[0.5 + 1.5j], [3 + 0j]]),
            ("SegmentProd", segment.segment_prod, 1, lambda a, b: a * b, [[-2 + 2j], [3 + 0j]]),
        ]
    ],
]
