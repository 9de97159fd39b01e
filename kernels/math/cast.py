"""Kernels of changes of element type, and of the parts of complex numbers."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import BOOLEAN, COMPLEX, REAL, DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import ELEMENTWISE, Loop
from actorflow.engine.runtime.codegen.jit_recipe import TYPES, RecipeValue

_ONE_INSTRUCTION = ("f4", "f8", "b1", "i4", "i8")
"""The types into which one instruction converts floats."""


@kernel("Cast", dtypes=COMPLEX, gpu=ELEMENTWISE)
def cast_to_complex(xp: Any, x: Any, *, DstT: DType, out: Any = None) -> Any:
    return x.astype(DstT.numpy_dtype) if out is None else _cast_into(xp, x, out)


def _converted(attrs: Any, x: RecipeValue) -> RecipeValue | None:
    target = TYPES.get(attrs["DstT"])
    if target is None or (x.dtype[0] == "f" and target not in _ONE_INSTRUCTION):
        return None
    return x.convert(target)


@kernel("Cast", gpu=ELEMENTWISE, loop=Loop(_converted, REAL | BOOLEAN))
def cast(xp: Any, x: Any, *, DstT: DType, out: Any = None) -> Any:
    # The real part first: numpy warns as it drops an imaginary part. The real part of a real array is the array itself.
    return x.real.astype(DstT.numpy_dtype) if out is None else _cast_into(xp, x.real, out)


def _cast_into(xp: Any, x: Any, out: Any) -> Any:
    xp.copyto(out, x, casting="unsafe")
    return out


@kernel("Complex")
def make_complex(xp: Any, real: Any, imag: Any, *, out: Any = None) -> Any:
    if out is None:
        out = xp.empty(xp.broadcast_shapes(real.shape, imag.shape), xp.result_type(real, xp.complex64))
    out.real = real
    out.imag = imag
    return out


@kernel("Real")
def real_part(xp: Any, x: Any, *, out: Any = None) -> Any:
    return x.real.copy() if out is None else _cast_into(xp, x.real, out)


@kernel("Imag")
def imaginary_part(xp: Any, x: Any, *, out: Any = None) -> Any:
    return x.imag.copy() if out is None else _cast_into(xp, x.imag, out)


@kernel("Conj")
def conjugate(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.conjugate(x) if out is None else xp.conjugate(x, out=out)


@kernel("ComplexAbs")
def magnitude(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.absolute(x, out=out)  # Python's abs of a scalar rounds in another way


@kernel("Angle")
def angle(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arctan2(x.imag, x.real) if out is None else xp.arctan2(x.imag, x.real, out=out)
