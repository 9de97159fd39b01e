"""Kernels of elementwise arithmetic of two tensors, and of sums.

A small output is computed by an operator, which on numpy scalars costs a tenth of a ufunc; a large one goes into `out`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from actorflow.base.dtypes import COMPLEX, FLOATING, INTEGER, REAL, STRING
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import ELEMENTWISE, Direct, Loop
from actorflow.engine.runtime.codegen.jit_recipe import RecipeValue
from actorflow.errors import InvalidArgumentError

from ..shared.elementwise import with_number
from ..shared.loops import of
from ..strings.objects import as_arrays


@kernel("Add", gpu=ELEMENTWISE, loop=of("add", REAL), direct=Direct(operator.add, np.add))
def add(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x + y if out is None else xp.add(x, y, out=out)


@kernel("Add", dtypes=STRING)
def add_strings(xp: Any, x: Any, y: Any) -> Any:
    # As arrays: numpy would make a byte string of rank 0 an array of its own strings, which lose trailing NULs.
    return as_arrays(as_arrays(x) + as_arrays(y))


@kernel("Sub", gpu=ELEMENTWISE, loop=of("sub", REAL), direct=Direct(operator.sub, np.subtract))
def subtract(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x - y if out is None else xp.subtract(x, y, out=out)


@kernel("Mul", gpu=ELEMENTWISE, loop=of("mul", REAL), direct=Direct(operator.mul, np.multiply))
def multiply(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x * y if out is None else xp.multiply(x, y, out=out)


@kernel("RealDiv", gpu=ELEMENTWISE, loop=of("div", FLOATING), direct=Direct(operator.truediv, np.true_divide))
def real_div(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x / y if out is None else xp.true_divide(x, y, out=out)


@kernel("DivNoNan", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x, y: y.equals(0).choose(0, x / y), FLOATING))
def div_no_nan(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    quotient = xp.true_divide(x, y, out=out)
    if out is None:
        return xp.where(y == 0, x.dtype.type(0), quotient)
    xp.copyto(out, x.dtype.type(0), where=y == 0)
    return out


# ---- division with whole results. numpy gives 0 for an integer division by zero; TensorFlow fails.


def _nonzero(y: Any) -> Any:
    if not (y.all() if y.ndim else y):
        raise InvalidArgumentError("Integer division by zero.")
    return y


@kernel("FloorDiv", dtypes=FLOATING)
def floor_div(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return xp.floor(x / y) if out is None else xp.floor(xp.true_divide(x, y, out=out), out=out)


@kernel("FloorDiv", dtypes=INTEGER)
def floor_div_integers(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x // _nonzero(y) if out is None else xp.floor_divide(x, _nonzero(y), out=out)


@kernel("FloorMod", dtypes=FLOATING)
def floor_mod(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x % y if out is None else xp.remainder(x, y, out=out)


@kernel("FloorMod", dtypes=INTEGER)
def floor_mod_integers(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x % _nonzero(y) if out is None else xp.remainder(x, _nonzero(y), out=out)


@kernel("TruncateDiv")
def truncate_div(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    # The difference to C's remainder is a multiple of y, so that the division rounds nothing.
    multiple = x - xp.fmod(x, _nonzero(y))
    return multiple // y if out is None else xp.floor_divide(multiple, y, out=out)


@kernel("TruncateMod", dtypes=FLOATING)
def truncate_mod(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return xp.fmod(x, y) if out is None else xp.fmod(x, y, out=out)


@kernel("TruncateMod", dtypes=INTEGER)
def truncate_mod_integers(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return xp.fmod(x, _nonzero(y)) if out is None else xp.fmod(x, _nonzero(y), out=out)


# ---- powers, extremes, differences


def _not_negative(y: Any) -> Any:
    if (y < 0).any():
        raise InvalidArgumentError(
            "Integers to negative integer powers are not allowed.", hint="Cast the base to a floating type first."
        )
    return y


@kernel("Pow", dtypes=INTEGER)
def power_of_integers(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x ** _not_negative(y) if out is None else xp.power(x, _not_negative(y), out=out)


@kernel("Pow")
def power(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x**y if out is None else xp.power(x, y, out=out)


@kernel("Maximum", gpu=ELEMENTWISE, loop=of("max", REAL), direct=Direct(np.maximum))
def maximum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return xp.maximum(x, y) if out is None else _bounded(xp, xp.maximum, x, y, out)


@kernel("Minimum", gpu=ELEMENTWISE, loop=of("min", REAL), direct=Direct(np.minimum))
def minimum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return xp.minimum(x, y) if out is None else _bounded(xp, xp.minimum, x, y, out)


def _bounded(xp: Any, ufunc: Any, x: Any, y: Any, out: Any) -> Any:
    """An extreme of two tensors, of which one may be a number. Of 0 and -0 numpy takes the second, so their order stays."""
    if y.ndim == 0:
        return with_number(xp, ufunc, x, y, out)
    if x.ndim == 0:
        return with_number(xp, lambda first, second, out: ufunc(second, first, out=out), y, x, out)
    return ufunc(x, y, out=out)


def _squared_difference(attrs: Any, x: RecipeValue, y: RecipeValue) -> RecipeValue:
    difference = x - y
    return difference * difference


@kernel("SquaredDifference", gpu=ELEMENTWISE, loop=Loop(_squared_difference, REAL))
def squared_difference(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    difference = x - y if out is None else xp.subtract(x, y, out=out)
    return difference * difference if out is None else xp.multiply(difference, difference, out=out)


@kernel("SquaredDifference", dtypes=COMPLEX, gpu=ELEMENTWISE)
def squared_complex_difference(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    difference = x - y if out is None else xp.subtract(x, y, out=out)
    conjugate = xp.conjugate(difference)
    return difference * conjugate if out is None else xp.multiply(difference, conjugate, out=out)


@kernel("Atan2", gpu=ELEMENTWISE)
def atan2(xp: Any, y: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arctan2(y, x) if out is None else xp.arctan2(y, x, out=out)


def _from_left_to_right(attrs: Any, first: RecipeValue, *others: RecipeValue) -> RecipeValue:
    for other in others:
        first = first + other
    return first


@kernel("AddN", gpu=ELEMENTWISE, loop=Loop(_from_left_to_right, REAL, broadcasts=False))
def add_n(xp: Any, inputs: Any, *, out: Any = None) -> Any:
    first = inputs[0]
    shape = first.shape
    for other in inputs:
        if other.shape != shape:
            shapes = [f"input {i}: {value.shape}" for i, value in enumerate(inputs)]
            raise InvalidArgumentError("AddN adds tensors of one shape.", details=shapes)
    if len(inputs) == 1:
        return +first if out is None else xp.positive(first, out=out)
    total = first + inputs[1] if out is None else xp.add(first, inputs[1], out=out)
    for other in inputs[2:]:
        total += other  # in place on an array of our own; a new number for scalars
    return total
