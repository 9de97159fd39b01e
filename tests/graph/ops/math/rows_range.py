"""Rows of ranges and evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, n32, n64
from graph.ops.table import Case, Literal, Reject

import actorflow as af


def ranged(start: Any, limit: Any, delta: Any) -> Any:
    values = []
    while (start + len(values) * delta - limit) * delta < 0:
        values.append(start + len(values) * delta)
    return np.array(values)


CASES = [
    Case(
        "Range",
        af.range_,
        ranged,
        [
            tuple(np.array(v, kind) for v in values)
            for kind in (np.int32, np.int64, np.float32, np.float64)
            for values in ((0, 5, 1), (3, 10, 4), (5, 0, -2), (2, 2, 1), (-3, 4, 3))
        ],
        Literal((np.float32(0), np.float32(1), np.float32(0.3)), np.float32([0, 0.3, 0.6, 0.9])),
        special=[Literal((n32(5), n32(2), n32(-1)), i32(5, 4, 3))],
        rejects=[
            Reject(EITHER, (n32(0), n32(5), n32(0))),
            Reject(EITHER, (n32(0), n32(5), n32(-1))),
            Reject(EITHER, (n32(5), n32(0), n32(1))),
            Reject(EITHER, (i32(0, 1), n32(5), n32(1))),
        ],
        dtypes="float32",
        gradient=0,
    ),
    Case(
        "LinSpace",
        af.linspace,
        lambda start, stop, num: np.array([start + (stop - start) * i / max(num - 1, 1) for i in range(int(num))]),
        [((), (), n32(5)), ((), (), n64(2)), ((), (), n32(1))],
        Literal((2.0, 3.0, n32(5)), [2.0, 2.25, 2.5, 2.75, 3.0]),
        special=[Literal((5.0, 1.0, n32(3)), [5.0, 3.0, 1.0])],
        rejects=[
            Reject(EITHER, (0.0, 1.0, n32(0))),
            Reject(EITHER, ([0.0], 1.0, n32(2))),
            Reject(TypeError, (0, 1, n32(2)), dtype="int32"),
        ],
        gradient=0,
        loose=4,
    ),
]
