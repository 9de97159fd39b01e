"""Arithmetic and functions of each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import common, counted, floating, joint, kind, on_host
from keras_actorflow.src.sizes import joint_sizes, sizes_of, static


def _of_floats(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of an element that takes and gives floating point numbers."""

    def apply(x: Any) -> Any:
        return function(floating(x))

    return apply


sin, cos, tan = _of_floats(af.sin), _of_floats(af.cos), _of_floats(af.tan)
sinh, cosh, tanh = _of_floats(af.sinh), _of_floats(af.cosh), _of_floats(af.tanh)
arcsin, arccos, arctan = _of_floats(af.asin), _of_floats(af.acos), _of_floats(af.atan)
arcsinh, arccosh, arctanh = _of_floats(af.asinh), _of_floats(af.acosh), _of_floats(af.atanh)
exp, expm1, log, log1p = _of_floats(af.exp), _of_floats(af.expm1), _of_floats(af.log), _of_floats(af.log1p)
sqrt = _of_floats(af.sqrt)
reciprocal = _of_floats(af.reciprocal)
i0 = _of_floats(af.math.bessel_i0)
exp2 = _of_floats(lambda x: af.exp(x * math.log(2.0)))
log2 = _of_floats(lambda x: af.log(x) / math.log(2.0))
log10 = _of_floats(lambda x: af.log(x) / math.log(10.0))
cbrt = _of_floats(lambda x: af.sign(x) * af.pow(af.abs(x), 1.0 / 3.0))
deg2rad = _of_floats(lambda x: x * (math.pi / 180.0))
rad2deg = _of_floats(lambda x: x * (180.0 / math.pi))


def _sinc(x: Any) -> Any:
    inner = af.where_v2(af.equal(x, 0), af.ones_like(x), x * math.pi)
    return af.where_v2(af.equal(x, 0), af.ones_like(x), af.sin(inner) / inner)


sinc = _of_floats(_sinc)


def _rounding(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        x = convert_to_tensor(x)
        return function(floating(x))

    return apply


ceil, floor = _rounding(af.ceil), _rounding(af.floor)


def trunc(x: Any) -> Any:
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        return x
    return af.where_v2(x < 0, af.ceil(x), af.floor(x))


def round(x: Any, decimals: int = 0) -> Any:
    x = convert_to_tensor(x)
    name = kind(x)
    if name == "bool":
        return af.cast(x, "int32")
    if x.dtype.is_integer and decimals >= 0:
        return x
    wide = floating(x)
    if decimals == 0:
        return af.round(wide)
    scale = convert_to_tensor(10.0**decimals, wide.dtype)
    return af.cast(af.round(wide * scale) / scale, name)


def add(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    return af.logical_or(x1, x2) if kind(x1) == "bool" else x1 + x2


def subtract(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    if kind(x1) == "bool":
        raise TypeError("subtract does not support truth values: use logical_xor, or cast them.")
    return x1 - x2


def multiply(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    return af.logical_and(x1, x2) if kind(x1) == "bool" else x1 * x2


def divide(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2, also=(float,))
    return af.realdiv(x1, x2)


true_divide = divide


def divide_no_nan(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2, also=(float,))
    return af.div_no_nan(x1, x2)


def _integral(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Operands of a division with rest: truth values are integers."""
    x1, x2 = common(x1, x2)
    if kind(x1) == "bool":
        x1, x2 = af.cast(x1, "int32"), af.cast(x2, "int32")
    return x1, x2


def floor_divide(x1: Any, x2: Any) -> Any:
    x1, x2 = _integral(x1, x2)
    return af.floordiv(x1, x2)


def mod(x1: Any, x2: Any) -> Any:
    x1, x2 = _integral(x1, x2)
    return af.floormod(x1, x2)


def fmod(x1: Any, x2: Any) -> Any:
    x1, x2 = _integral(x1, x2)
    return af.truncatemod(x1, x2)


def power(x1: Any, x2: Any) -> Any:
    x1, x2 = _integral(x1, x2)
    return af.pow(x1, x2)


def negative(x: Any) -> Any:
    return af.negative(counted(x) if kind(convert_to_tensor(x)) == "bool" else convert_to_tensor(x))


def absolute(x: Any) -> Any:
    x = convert_to_tensor(x)
    return x if kind(x) == "bool" or kind(x).startswith("uint") else af.abs(x)


abs = absolute
fabs = _of_floats(af.abs)


def square(x: Any) -> Any:
    x = convert_to_tensor(x)
    return af.square(af.cast(x, "int32") if kind(x) == "bool" else x)


def sign(x: Any) -> Any:
    x = convert_to_tensor(x)
    if kind(x).startswith("uint") or kind(x) in ("bool", "int8", "int16"):
        return af.cast(af.sign(af.cast(x, "int32")), "int32" if kind(x) == "bool" else x.dtype)
    return af.sign(x)


def signbit(x: Any) -> Any:
    x = convert_to_tensor(x)
    return on_host(np.signbit, [af.cast(x, "int32") if kind(x) == "bool" else x], "bool", x.shape)


def maximum(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    return af.logical_or(x1, x2) if kind(x1) == "bool" else af.maximum(x1, x2)


def minimum(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    return af.logical_and(x1, x2) if kind(x1) == "bool" else af.minimum(x1, x2)


def _beside_nan(function: Callable[[Any, Any], Any], x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    if not x1.dtype.is_floating:
        return function(x1, x2)
    return af.where_v2(af.is_nan(x1), x2 + af.zeros_like(x1), af.where_v2(af.is_nan(x2), x1, function(x1, x2)))


def fmax(x1: Any, x2: Any) -> Any:
    return _beside_nan(maximum, x1, x2)


def fmin(x1: Any, x2: Any) -> Any:
    return _beside_nan(minimum, x1, x2)


def clip(x: Any, x_min: Any, x_max: Any) -> Any:
    x = convert_to_tensor(x)
    dtype = "int32" if kind(x) == "bool" else kind(x)
    x = convert_to_tensor(x, dtype)
    return af.minimum(af.maximum(x, convert_to_tensor(x_min, dtype)), convert_to_tensor(x_max, dtype))


def arctan2(x1: Any, x2: Any) -> Any:
    return af.atan2(*common(x1, x2, also=(float,)))


def hypot(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2, also=(float,))
    larger, smaller = af.maximum(af.abs(x1), af.abs(x2)), af.minimum(af.abs(x1), af.abs(x2))
    ratio = af.div_no_nan(smaller, larger)
    return larger * af.sqrt(1 + ratio * ratio)


def heaviside(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    if kind(x1) in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "int64"):
        dtype = joint(x1, also=(float,))
        x1, x2 = af.cast(x1, dtype), af.cast(x2, dtype)
    ones, zeros = af.ones_like(x1 + x2), af.zeros_like(x1 + x2)
    return af.where_v2(x1 > 0, ones, af.where_v2(x1 < 0, zeros, x2 + zeros + x1 * 0))


def logaddexp(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2, also=(float,))
    highest = af.maximum(x1, x2)
    spread = af.abs(x1 - x2)
    return af.where_v2(af.is_nan(spread), x1 + x2, highest + af.log1p(af.exp(-spread)))


def logaddexp2(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2, also=(float,))
    factor = math.log(2.0)
    return logaddexp(x1 * factor, x2 * factor) / factor


def ldexp(x1: Any, x2: Any) -> Any:
    x2 = convert_to_tensor(x2)
    if not x2.dtype.is_integer:
        raise TypeError(f"ldexp exponent must be an integer type. Received: x2 dtype={kind(x2)}")
    dtype = joint(convert_to_tensor(x1), x2, also=(float,))
    return convert_to_tensor(x1, dtype) * af.pow(convert_to_tensor(2.0, dtype), af.cast(x2, dtype))


def nextafter(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2, also=(float,))
    return on_host(np.nextafter, [x1, x2], kind(x1), static(joint_sizes(sizes_of(x1), sizes_of(x2))))


def _of_integers(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(x1: Any, x2: Any) -> Any:
        x1, x2 = common(x1, x2)
        return on_host(function, [x1, x2], kind(x1), static(joint_sizes(sizes_of(x1), sizes_of(x2))))

    return apply


gcd, lcm = _of_integers(np.gcd), _of_integers(np.lcm)


def real(x: Any) -> Any:
    x = convert_to_tensor(x)
    return af.real(x) if kind(x).startswith("complex") else x


def imag(x: Any) -> Any:
    x = convert_to_tensor(x)
    return af.imag(x) if kind(x).startswith("complex") else af.zeros_like(x)


def conj(x: Any) -> Any:
    x = convert_to_tensor(x)
    return af.conj(x) if kind(x).startswith("complex") else x


conjugate = conj


def angle(x: Any) -> Any:
    x = floating(x)
    if kind(x).startswith("complex"):
        return af.atan2(af.imag(x), af.real(x))
    return af.where_v2(x < 0, af.ones_like(x) * math.pi, af.where_v2(af.is_nan(x), x, af.zeros_like(x)))


def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        return x
    limits = af.as_dtype(x.dtype)
    highest = float(limits.max) if posinf is None else posinf
    lowest = float(limits.min) if neginf is None else neginf
    like = af.ones_like(x)
    x = af.where_v2(af.is_nan(x), like * convert_to_tensor(nan, x.dtype), x)
    x = af.where_v2(af.logical_and(af.is_inf(x), x > 0), like * convert_to_tensor(highest, x.dtype), x)
    return af.where_v2(af.logical_and(af.is_inf(x), x < 0), like * convert_to_tensor(lowest, x.dtype), x)
