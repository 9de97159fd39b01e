"""Rows of bands of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, built, moving, n32, n64
from graph.ops.table import NUMBERS, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError


def banded(x: Any, lower: Any, upper: Any) -> Any:
    def element(*index: int) -> Any:
        below = index[-2] - index[-1]
        return x[index] if (lower < 0 or below <= lower) and (upper < 0 or -below <= upper) else 0

    return built(x.shape, x, element)


CASES = [
    moving(
        "MatrixBandPart",
        af.matrix_band_part,
        banded,
        [((3, 4), n64(lower), n32(upper)) for lower, upper in ((0, 0), (1, -1), (-1, 2), (3, 4))]
        + [((2, 3, 3), n32(1), n32(0))],
        Literal((np.ones((3, 3), np.float32), n64(0), n64(1)), np.float32([[1, 1, 0], [0, 1, 1], [0, 0, 1]])),
        dtypes=f"{NUMBERS} bool",
        rejects=[
            Reject(InvalidArgumentError, (np.zeros((2, 3)), n32(3), n32(0))),
            Reject(InvalidArgumentError, (np.zeros((2, 3)), n32(0), n32(4))),
            Reject(EITHER, (np.zeros(3), n32(0), n32(0))),
        ],
    ),
]
