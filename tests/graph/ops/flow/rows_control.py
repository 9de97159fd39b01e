"""Rows of ops that carry, order and observe others, and of sources."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from graph.ops.table import NUMBERS, UNARY, Case, Literal, Reject, each

from actorflow.engine.eager.py_function import py_function
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.array.constant import constant, placeholder
from actorflow.graph.ops.flow import control as af
from actorflow.graph.ops.flow import printing as flow_printing
from actorflow.graph.ops.flow.py_func import py_func

EVERYTHING = f"{NUMBERS} bool string"


def same(x: Any) -> Any:
    return x


def swapped(*values: Any) -> Any:
    return values[::-1]


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


CASES = [
    Case(
        "Identity",
        af.identity,
        each(same),
        UNARY,
        dtypes=EVERYTHING,
        literal=Literal(([1.0, -2.0],), [1.0, -2.0]),
        slopes=[Literal(([1.0, -2.0],), [1.0, 1.0])],
    ),
    Case(
        "StopGradient",
        af.stop_gradient,
        each(same),
        UNARY,
        dtypes=EVERYTHING,
        gradient=0,
        literal=Literal(([1.0, -2.0],), [1.0, -2.0]),
        slopes=[Literal(([1.0, -2.0],), None)],
    ),
    Case(
        "Const",
        lambda x: [x, constant([[1, 2], [3, 4]]), constant(7.5, shape=[2])],
        lambda x: (x, np.array([[1, 2], [3, 4]]), np.array([7.5, 7.5])),
        [(np.array([1.5]),)],
        gradient=None,
        dtypes="float64",
        literal=Literal((np.array([1.5]),), ([1.5], np.array([[1, 2], [3, 4]], np.int32), np.array([7.5, 7.5], "f4"))),
        rejects=[
            Reject(ValueError, (), build=lambda: constant([[1], [2, 3]])),
            Reject(ValueError, (), build=lambda: constant([1, 2, 3], shape=[2])),
            Reject(TypeError, (), build=lambda: constant(1.5, "int32")),
        ],
    ),
    Case(
        "Placeholder",
        same,
        each(same),
        UNARY,
        dtypes=EVERYTHING,
        literal=Literal(([1.0, -2.0],), [1.0, -2.0]),
        rejects=[Reject(InvalidArgumentError, (), build=lambda: placeholder("float32"))],
    ),
    Case(
        "Print",
        lambda x: flow_printing.Print(x, [x], "seen: "),
        each(same),
        [((2, 3),)],
        dtypes="float64 int32",
        literal=Literal(([1.0, -2.0],), [1.0, -2.0], "float64"),
        slopes=[Literal(([1.0, -2.0],), [1.0, 1.0], "float64")],
    ),
    Case(
        "PyFunc PyFuncStateless",
        lambda x: (
            [*py_func(swapped, [x, x], [x.dtype, x.dtype]), py_func(swapped, [x], [x.dtype], stateful=False)[0]]
            + py_func(later, [x], [x.dtype])
        ),
        lambda x: (x, x, x, x),
        UNARY,
        dtypes=EVERYTHING,
        gradient=0,
        static=False,
        exact=True,
        literal=Literal(([1.0, -2.0],), ([1.0, -2.0],) * 4),
        rejects=[
            Reject(ValueError, ([1.0],), build=lambda x: py_func(3, [x], "float32")),
            Reject(InvalidArgumentError, ([1.0],), build=lambda x: py_func(swapped, [x, x], "float32")),
            Reject(InvalidArgumentError, ([1.0],), build=lambda x: py_func(swapped, [x], "float64")),
        ],
    ),
    Case(
        "EagerPyFunc EagerPyFuncGrad",
        lambda x: py_function(lambda x: [x * x, x], [x], [x.dtype, x.dtype]),
        lambda x: (x * x, x),
        UNARY,
        dtypes="float32 float64",
        gradient=1,
        static=False,
        literal=Literal(([1.0, -2.0],), ([1.0, 4.0], [1.0, -2.0])),
        slopes=[Literal(([1.0, -2.0],), [3.0, -3.0])],
        rejects=[
            Reject(ValueError, ([1.0],), build=lambda x: py_function(3, [x], "float32")),
            Reject(InvalidArgumentError, ([1.0],), build=lambda x: py_function(lambda x: [x], [x], ["float32"] * 2)),
        ],
    ),
    Case(
        "Assert NoOp ControlTrigger",
        lambda x, ok: af.with_dependencies([af.Assert(ok, [x]), af.no_op(), af.control_trigger()], x),
        lambda x, ok: x,
        [((2, 3), np.array([True, True])), ((), np.array(True))],
        dtypes="float64 int32",
        literal=Literal(([1.0], np.array(True)), [1.0]),
        rejects=[Reject(InvalidArgumentError, ([1.0], np.array([True, False])), dtype="float64")],
    ),
]
