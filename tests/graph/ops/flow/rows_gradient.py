"""Rows of the ops that the gradient walk makes. Those that change variables are tested in `test_variables.py` and
`test_optimizers.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.table import COMPLEXES, FLOATS, INTS, Case, Literal, Reject

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.flow import control as gradient_ops


def _sum_to(x: Any, shape: Any) -> Any:
    wanted = tuple(int(size) for size in shape)
    extra = x.ndim - len(wanted)
    total = x.sum(axis=tuple(range(extra)))
    axes = tuple(i for i, size in enumerate(wanted) if size == 1)
    return total.sum(axis=axes, keepdims=True) if axes else total


def _shape(*sizes: int) -> Any:
    return np.array(sizes, np.int32)


CASES = [
    Case(
        "SumTo",
        gradient_ops.sum_to,
        _sum_to,
        [
            ((), _shape()),
            ((3,), _shape()),
            ((2, 3), _shape(3)),
            ((2, 3), _shape(2, 1)),
            ((2, 3), _shape(1, 3)),
            ((2, 3), _shape(2, 3)),
            ((2, 1), _shape(2, 1)),
            ((4, 2, 3), np.array([1, 1], np.int64)),
            ((0, 3), _shape(1, 3)),
        ],
        dtypes=f"{INTS} {FLOATS} {COMPLEXES}",
        literal=Literal(([[1.0, 2.0], [3.0, 4.0]], _shape(1, 2)), [[4.0, 6.0]]),
        special=[Literal(([[100], [100]], _shape(1)), [-56], "int8")],
        rejects=[
            Reject(InvalidArgumentError, ([1.0, 2.0, 3.0], _shape(2)), match="does not broadcast to it"),
            Reject(InvalidArgumentError, ([1.0, 2.0, 3.0], _shape(1, 3)), match="does not broadcast to it"),
        ],
    ),
    Case(
        "BroadcastGradientArgs",
        gradient_ops.broadcast_gradient_args,
        None,
        [(_shape(2, 3), _shape(3))],
        dtypes="int32 int64",
        literal=Literal((_shape(2, 1, 3), _shape(5, 1)), (_shape(1), _shape(0, 2))),
        special=[
            Literal((_shape(2, 3), _shape(2, 3)), (_shape(), _shape())),
            Literal((_shape(2, 3), _shape()), (_shape(), _shape(0, 1))),
        ],
        rejects=[Reject(InvalidArgumentError, (_shape(2), _shape(3)), match="can't be broadcast together")],
        gradient=0,
    ),
]
