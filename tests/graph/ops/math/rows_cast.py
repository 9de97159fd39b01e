"""Rows of changes of element type, and of complex numbers."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np
from graph.ops.table import BINARY, COMPLEXES, INTS, NUMBERS, UNARY, Case, Literal, Reject, each

from actorflow.graph.ops.math import cast as af
from actorflow.graph.ops.math import cast as parts
from actorflow.graph.ops.math import elementwise as unary

INF, NAN = float("inf"), float("nan")
REAL_PARTS = "float32 float64"
NO_STRINGS = Reject(TypeError, ([b"1"],), dtype="string")


def real(value: Any) -> Any:
    return value.real if isinstance(value, complex) else value


def casting(target: str, reference: Any, literal: Literal, dtypes: str = f"{NUMBERS} bool", **more: Any) -> Case:
    """A row of `Cast` to one type; `cast_op` makes a node where `cast` would give back its input."""
    return Case(
        "Cast",
        lambda x: af.cast_op(x, DstT=target),
        each(reference),
        UNARY,
        note=f"to {target}",
        dtypes=dtypes,
        exact=True,
        literal=literal,
        **{"gradient": None, "domain": (-5.0, 5.0), **more},
    )


CASES = [
    casting(
        "float32",
        lambda x: float(real(x)),
        Literal(([1 + 2j, -0.5j],), [1.0, 0.0], "complex64"),
        special=[Literal(([True, False],), [1.0, 0.0], "bool"), Literal(([1e300],), [INF], "float64")],
        rejects=[NO_STRINGS],
    ),
    casting("float64", lambda x: float(real(x)), Literal(([1.5, -2.0],), np.array([1.5, -2.0])), gradient=2),
    casting("complex128", lambda x: complex(x), Literal(([1.5, -2.0],), np.array([1.5, -2.0], complex)), gradient=2),
    casting("float16", lambda x: float(real(x)), Literal(([1e6, 1 / 3],), np.array([INF, 0.3333], np.float16))),
    casting("bfloat16", lambda x: float(real(x)), Literal(([1.00390625, 1.01171875],), [1.0, 1.015625])),
    casting(
        "int32",
        lambda x: int(real(x)),
        Literal(([NAN, INF, 1e10, -1.7, 300.0],), np.array([-(2**31)] * 3 + [-1, 300], np.int32)),
        special=[Literal(([2**32 + 5, -1],), np.array([5, -1], np.int32), "int64")],
        gradient=0,
    ),
    casting("int8", lambda x: int(real(x)), Literal(([300, -1, 70000],), np.array([44, -1, 112], np.int8), "int32")),
    casting(
        "uint8",
        lambda x: int(real(x)),
        Literal(([3.9, 255.0],), np.array([3, 255], np.uint8)),
        special=[Literal(([300, -1],), [44, 255], "int32")],
        domain=(0.0, 9.0),
    ),
    casting("uint64", lambda x: int(x), Literal(([-1],), np.array([2**64 - 1], np.uint64), "int64"), INTS),
    casting(
        "bool",
        lambda x: real(x) != 0,
        Literal(([NAN, 0.0, -0.0, 0.5],), [True, False, False, True]),
        special=[Literal(([2j, 1 + 0j],), [False, True], "complex64")],
        gradient=0,
    ),
    Case(
        "",
        lambda x: af.saturate_cast(x, "uint8"),
        each(lambda x: int(min(max(x, 0), 255))),
        [((2, 3),)],
        note="saturate_cast",
        dtypes="int16 int32 float32 float64 uint8",
        domain=(-300.0, 600.0),
        gradient=0,
        literal=Literal(([300.0, -5.0, 7.9],), np.array([255, 0, 7], np.uint8)),
    ),
    Case(
        "",
        lambda x: [af.to_float(x), af.to_double(x), af.to_int32(x), af.to_int64(x), af.to_bfloat16(x)],
        lambda x: (x, x, x, x, x),
        [((2, 3),)],
        note="to_float and its like",
        dtypes="int16 int32",
        literal=Literal(([1],), (np.array([1], "f4"), np.array([1], "f8"), np.array([1], "i4"), [1], [1.0]), "int16"),
    ),
    # ---- complex numbers
    Case(
        "Complex",
        parts.complex,
        each(complex),
        BINARY,
        dtypes=REAL_PARTS,
        literal=Literal(([1.0, 2.0], [3.0, -4.0]), np.array([1 + 3j, 2 - 4j], np.complex64)),
        rejects=[
            Reject(TypeError, ([1.0], [1.0]), dtype="float16"),
            Reject(TypeError, (np.array([1.0], np.float32), np.array([1.0], np.float64))),
        ],
    ),
    Case(
        "Real",
        parts.real,
        each(lambda x: x.real),
        UNARY,
        dtypes=COMPLEXES,
        literal=Literal(([1 + 3j],), np.array([1.0], np.float32)),
        special=[Literal(([1.5],), [1.5], "float32")],
        slopes=[],
    ),
    Case(
        "Imag",
        parts.imag,
        each(lambda x: x.imag),
        UNARY,
        dtypes=COMPLEXES,
        literal=Literal(([1 + 3j],), np.array([3.0], np.float32)),
        special=[Literal(([1.5],), [0.0], "float32")],
    ),
    Case(
        "Conj",
        parts.conj,
        each(lambda x: x.conjugate()),
        UNARY,
        dtypes=COMPLEXES,
        literal=Literal(([1 + 3j],), [1 - 3j]),
        special=[Literal(([1.5],), [1.5], "float32")],
    ),
    Case(
        "ComplexAbs",
        unary.abs,
        each(abs),
        UNARY,
        dtypes=COMPLEXES,
        literal=Literal(([3 + 4j, 0j],), np.array([5.0, 0.0], np.float32)),
    ),
    Case(
        "",
        lambda x: unary.abs(parts.complex(x, x)),
        each(lambda x: abs(complex(x, x))),
        UNARY,
        note="abs of a complex pair",
        dtypes=REAL_PARTS,
        literal=Literal(([3.0],), [4.2426405]),
        slopes=[Literal(([0.0, 1.0],), [0.0, 1.4142135])],
    ),
    Case(
        "Angle",
        parts.angle,
        each(cmath.phase),
        UNARY,
        dtypes=COMPLEXES,
        domain=(0.2, 2.0),
        literal=Literal(([1 + 1j, -1 + 0j, 0j],), np.array([0.7853982, 3.1415927, 0.0], np.float32)),
    ),
    Case(
        "Atan2",
        parts.angle,
        each(cmath.phase),
        UNARY,
        gradient=None,
        literal=Literal(([-2.0, 0.0, 3.0],), [3.1415927, 0.0, 0.0]),
        rejects=[Reject(TypeError, ([1],), dtype="int32")],
        note="angle-of-reals",
    ),
]
