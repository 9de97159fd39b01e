"""Rows of checks of numbers."""

from __future__ import annotations

import math
from typing import Any

from graph.ops.arrays import i32
from graph.ops.table import Case, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.flow.numerics import add_check_numerics_ops, verify_tensor_all_finite
from actorflow.graph.ops.math.elementwise import log

INF, NAN = math.inf, math.nan


def all_checked(x: Any) -> Any:
    """A square after checks of all tensors, of which the logarithm of -1 is none."""
    log(x, name="bad_log")
    with x.graph.control_dependencies([add_check_numerics_ops()]):
        return x * x


CASES = [
    Case(
        "CheckNumerics",
        lambda x: verify_tensor_all_finite(x, "bad"),
        lambda x: x,
        [((2, 3),)],
        Literal(([1.0, -2.0],), [1, -2]),
        note="all finite",
        rejects=[
            Reject(InvalidArgumentError, ([1.0, NAN],), match="bad : Tensor had NaN values"),
            Reject(ValueError, ([1.0],), build=lambda x: verify_tensor_all_finite(x)),
        ],
    ),
    Case(
        "CheckNumerics",
        lambda x: af.check_numerics(x, "bad"),
        lambda x: x,
        [((),), ((2, 3),)],
        Literal(([1.0, -2.0],), [1, -2]),
        rejects=[
            Reject(InvalidArgumentError, ([1.0, NAN],), match="bad : Tensor had NaN values"),
            Reject(InvalidArgumentError, ([INF, NAN],), match="bad : Tensor had Inf and NaN values"),
            Reject(InvalidArgumentError, (-INF,), match="bad : Tensor had Inf values"),
            Reject(TypeError, (i32(1),)),
            Reject(InvalidArgumentError, ([1.0, -1.0],), build=all_checked, match="bad_log:0 : Tensor had NaN values"),
        ],
    ),
]
