"""Kernels of elementwise functions of one tensor. An operator gives a small output, a large one goes into `out`."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel

from .elementwise import scalar


@kernel("Neg")
def negative(xp: Any, x: Any, *, out: Any = None) -> Any:
    return -x if out is None else xp.negative(x, out=out)


@kernel("Abs")
def absolute(xp: Any, x: Any, *, out: Any = None) -> Any:
    return abs(x) if out is None else xp.absolute(x, out=out)


@kernel("Sign")
def sign(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.sign(x) if out is None else xp.sign(x, out=out)


@kernel("Square")
def square(xp: Any, x: Any, *, out: Any = None) -> Any:
    return x * x if out is None else xp.multiply(x, x, out=out)


@kernel("Sqrt")
def sqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.sqrt(x) if out is None else xp.sqrt(x, out=out)


@kernel("Rsqrt")
def rsqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.reciprocal(xp.sqrt(x)) if out is None else _inverse(xp, xp.sqrt(x, out=out), out)


@kernel("Reciprocal")
def reciprocal(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.reciprocal(x) if out is None else _inverse(xp, x, out)


def _inverse(xp: Any, x: Any, out: Any) -> Any:
    return xp.divide(1, x, out=out)  # numpy divides twice as fast as it computes reciprocals


# ---- exponentials and logarithms


@kernel("Exp")
def exp(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.exp(x) if out is None else xp.exp(x, out=out)


@kernel("Expm1")
def expm1(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.expm1(x) if out is None else xp.expm1(x, out=out)


@kernel("Log")
def log(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.log(x) if out is None else xp.log(x, out=out)


@kernel("Log1p")
def log1p(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.log1p(x) if out is None else xp.log1p(x, out=out)


@kernel("Sigmoid")
def sigmoid(xp: Any, x: Any, *, out: Any = None) -> Any:
    # exp(-x) may overflow to inf, and 1 / inf is the right limit.
    return xp.reciprocal(xp.exp(-x) + scalar(xp, x.dtype, 1)) if out is None else _sigmoid_into(xp, x, out)


def _sigmoid_into(xp: Any, x: Any, out: Any) -> Any:
    xp.exp(xp.negative(x, out=out), out=out)
    return _inverse(xp, xp.add(out, 1, out=out), out)


@kernel("SigmoidGrad")
def sigmoid_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return (1 - y) * y * dy if out is None else _sigmoid_grad_into(xp, y, dy, out)


def _sigmoid_grad_into(xp: Any, y: Any, dy: Any, out: Any) -> Any:
    xp.multiply(xp.subtract(1, y, out=out), y, out=out)
    return xp.multiply(out, dy, out=out)


# ---- circular functions


@kernel("Sin")
def sin(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.sin(x) if out is None else xp.sin(x, out=out)


@kernel("Cos")
def cos(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.cos(x) if out is None else xp.cos(x, out=out)


@kernel("Tan")
def tan(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.tan(x) if out is None else xp.tan(x, out=out)


@kernel("Asin")
def asin(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arcsin(x) if out is None else xp.arcsin(x, out=out)


@kernel("Acos")
def acos(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arccos(x) if out is None else xp.arccos(x, out=out)


@kernel("Atan")
def atan(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arctan(x) if out is None else xp.arctan(x, out=out)


# ---- hyperbolic functions


@kernel("Sinh")
def sinh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.sinh(x) if out is None else xp.sinh(x, out=out)


@kernel("Cosh")
def cosh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.cosh(x) if out is None else xp.cosh(x, out=out)


@kernel("Tanh")
def tanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.tanh(x) if out is None else xp.tanh(x, out=out)


@kernel("TanhGrad")
def tanh_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return dy * (1 - y * y) if out is None else _tanh_grad_into(xp, y, dy, out)


def _tanh_grad_into(xp: Any, y: Any, dy: Any, out: Any) -> Any:
    xp.subtract(1, xp.multiply(y, y, out=out), out=out)
    return xp.multiply(out, dy, out=out)


@kernel("Asinh")
def asinh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arcsinh(x) if out is None else xp.arcsinh(x, out=out)


@kernel("Acosh")
def acosh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arccosh(x) if out is None else xp.arccosh(x, out=out)


@kernel("Atanh")
def atanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.arctanh(x) if out is None else xp.arctanh(x, out=out)


# ---- rounding and kinds of numbers


@kernel("Floor")
def floor(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.floor(x) if out is None else xp.floor(x, out=out)


@kernel("Ceil")
def ceil(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.ceil(x) if out is None else xp.ceil(x, out=out)


@kernel("Rint", "Round")
def rint(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.rint(x) if out is None else xp.rint(x, out=out)


@kernel("IsNan")
def is_nan(xp: Any, x: Any, *, out: Any = None) -> Any:
    return x != x if out is None else xp.not_equal(x, x, out=out)


@kernel("IsInf")
def is_inf(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.isinf(x) if out is None else xp.isinf(x, out=out)


@kernel("IsFinite")
def is_finite(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.isfinite(x) if out is None else xp.isfinite(x, out=out)
