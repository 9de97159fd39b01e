"""Kernels of elementwise functions of one tensor. An operator gives a small output, a large one goes into `out`."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any

import numpy as np

from actorflow.base.dtypes import FLOATING, REAL
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import ELEMENTWISE, Direct, Loop

from ..shared.elementwise import mapped, scalar
from ..shared.loops import calls, of


@kernel("Neg", gpu=ELEMENTWISE, loop=of("neg", REAL), direct=Direct(operator.neg))
def negative(xp: Any, x: Any, *, out: Any = None) -> Any:
    return -x if out is None else mapped(xp, xp.negative, x, out)


@kernel("Abs", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: abs(x), REAL), direct=Direct(operator.abs))
def absolute(xp: Any, x: Any, *, out: Any = None) -> Any:
    return abs(x) if out is None else mapped(xp, xp.absolute, x, out)


@kernel("Sign", gpu=ELEMENTWISE, loop=of("sign", REAL), direct=Direct(np.sign))
def sign(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.sign(x) if out is None else mapped(xp, xp.sign, x, out)


@kernel(
    "Square",
    gpu=ELEMENTWISE,
    loop=Loop(lambda attrs, x: x * x, REAL),
    direct=Direct(operator.mul, np.multiply, reads=(0, 0)),
)
def square(xp: Any, x: Any, *, out: Any = None) -> Any:
    return x * x if out is None else xp.multiply(x, x, out=out)


@kernel("Sqrt", gpu=ELEMENTWISE, loop=of("sqrt", FLOATING), direct=Direct(np.sqrt))
def sqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.sqrt(x) if out is None else mapped(xp, xp.sqrt, x, out)


@kernel("Rsqrt", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: 1 / x.apply("sqrt"), FLOATING))
def rsqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.reciprocal(xp.sqrt(x)) if out is None else mapped(xp, partial(_rsqrt, xp), x, out)


@kernel("Reciprocal", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: 1 / x, FLOATING), direct=Direct(np.reciprocal))
def reciprocal(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.reciprocal(x) if out is None else mapped(xp, partial(_inverse, xp), x, out)


def _rsqrt(xp: Any, x: Any, out: Any) -> Any:
    return _inverse(xp, xp.sqrt(x, out=out), out)


def _inverse(xp: Any, x: Any, out: Any) -> Any:
    return xp.divide(1, x, out=out)  # numpy divides twice as fast as it computes reciprocals


# ---- exponentials and logarithms


@kernel("Exp", gpu=ELEMENTWISE, loop=calls("exp"), direct=Direct(np.exp))
def exp(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.exp(x) if out is None else mapped(xp, xp.exp, x, out)


@kernel("Expm1", gpu=ELEMENTWISE, loop=calls("expm1"), direct=Direct(np.expm1))
def expm1(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.expm1(x) if out is None else mapped(xp, xp.expm1, x, out)


@kernel("Log", gpu=ELEMENTWISE, loop=calls("log"), direct=Direct(np.log))
def log(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.log(x) if out is None else mapped(xp, xp.log, x, out)


@kernel("Log1p", gpu=ELEMENTWISE, loop=calls("log1p"), direct=Direct(np.log1p))
def log1p(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.log1p(x) if out is None else mapped(xp, xp.log1p, x, out)


@kernel("Sigmoid", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: 1 / ((-x).apply("exp") + 1), FLOATING, calls=("exp",)))
def sigmoid(xp: Any, x: Any, *, out: Any = None) -> Any:
    # exp(-x) may overflow to inf, and 1 / inf is the right limit.
    return (
        xp.reciprocal(xp.exp(-x) + scalar(xp, x.dtype, 1)) if out is None else mapped(xp, partial(_sigmoid, xp), x, out)
    )


def _sigmoid(xp: Any, x: Any, out: Any) -> Any:
    xp.exp(xp.negative(x, out=out), out=out)
    return _inverse(xp, xp.add(out, 1, out=out), out)


@kernel("SigmoidGrad", gpu=ELEMENTWISE, loop=Loop(lambda attrs, y, dy: (1 - y) * y * dy, FLOATING))
def sigmoid_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return (1 - y) * y * dy if out is None else _sigmoid_grad_into(xp, y, dy, out)


def _sigmoid_grad_into(xp: Any, y: Any, dy: Any, out: Any) -> Any:
    xp.multiply(xp.subtract(1, y, out=out), y, out=out)
    return xp.multiply(out, dy, out=out)


# ---- circular functions


@kernel("Sin", gpu=ELEMENTWISE, direct=Direct(np.sin))
def sin(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.sin(x) if out is None else mapped(xp, xp.sin, x, out)


@kernel("Cos", gpu=ELEMENTWISE, direct=Direct(np.cos))
def cos(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.cos(x) if out is None else mapped(xp, xp.cos, x, out)


@kernel("Tan", gpu=ELEMENTWISE, direct=Direct(np.tan))
def tan(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.tan(x) if out is None else mapped(xp, xp.tan, x, out)


@kernel("Asin", gpu=ELEMENTWISE)
def asin(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arcsin(x) if out is None else mapped(xp, xp.arcsin, x, out)


@kernel("Acos", gpu=ELEMENTWISE)
def acos(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arccos(x) if out is None else mapped(xp, xp.arccos, x, out)


@kernel("Atan", gpu=ELEMENTWISE)
def atan(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arctan(x) if out is None else mapped(xp, xp.arctan, x, out)


# ---- hyperbolic functions


@kernel("Sinh", gpu=ELEMENTWISE)
def sinh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.sinh(x) if out is None else mapped(xp, xp.sinh, x, out)


@kernel("Cosh", gpu=ELEMENTWISE)
def cosh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.cosh(x) if out is None else mapped(xp, xp.cosh, x, out)


@kernel("Tanh", gpu=ELEMENTWISE, loop=calls("tanh"), direct=Direct(np.tanh))
def tanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.tanh(x) if out is None else mapped(xp, xp.tanh, x, out)


@kernel("TanhGrad", gpu=ELEMENTWISE, loop=Loop(lambda attrs, y, dy: dy * (1 - y * y), FLOATING))
def tanh_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return dy * (1 - y * y) if out is None else _tanh_grad_into(xp, y, dy, out)


def _tanh_grad_into(xp: Any, y: Any, dy: Any, out: Any) -> Any:
    xp.subtract(1, xp.multiply(y, y, out=out), out=out)
    return xp.multiply(out, dy, out=out)


@kernel("Asinh", gpu=ELEMENTWISE)
def asinh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arcsinh(x) if out is None else mapped(xp, xp.arcsinh, x, out)


@kernel("Acosh", gpu=ELEMENTWISE)
def acosh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arccosh(x) if out is None else mapped(xp, xp.arccosh, x, out)


@kernel("Atanh", gpu=ELEMENTWISE)
def atanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arctanh(x) if out is None else mapped(xp, xp.arctanh, x, out)


# ---- rounding and kinds of numbers


@kernel("Floor", gpu=ELEMENTWISE, loop=of("floor", FLOATING), direct=Direct(np.floor))
def floor(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.floor(x) if out is None else mapped(xp, xp.floor, x, out)


@kernel("Ceil", gpu=ELEMENTWISE, loop=of("ceil", FLOATING), direct=Direct(np.ceil))
def ceil(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.ceil(x) if out is None else mapped(xp, xp.ceil, x, out)


@kernel("Rint", gpu=ELEMENTWISE, loop=of("rint", FLOATING))
@kernel("Round", loop=of("rint", FLOATING))
def rint(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.rint(x) if out is None else mapped(xp, xp.rint, x, out)


@kernel(
    "IsNan",
    gpu=ELEMENTWISE,
    loop=Loop(lambda attrs, x: x.apply("ne", x), FLOATING),
    direct=Direct(operator.ne, np.not_equal, reads=(0, 0)),
)
def is_nan(xp: Any, x: Any, *, out: Any = None) -> Any:
    return x != x if out is None else xp.not_equal(x, x, out=out)


@kernel("IsInf", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: abs(x).equals(math.inf), FLOATING))
def is_inf(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.isinf(x) if out is None else mapped(xp, xp.isinf, x, out)


@kernel("IsFinite", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: abs(x) < math.inf, FLOATING))
def is_finite(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.isfinite(x) if out is None else mapped(xp, xp.isfinite, x, out)
