"""Comparisons, truth values and bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import common, floating, kind, on_host


def _comparison(function: Callable[[Any, Any], Any], ordered: bool = True) -> Callable[[Any, Any], Any]:
    def apply(x1: Any, x2: Any) -> Any:
        x1, x2 = common(x1, x2)
        if ordered and kind(x1) == "bool":
            x1, x2 = af.cast(x1, "int32"), af.cast(x2, "int32")
        return function(x1, x2)

    return apply


equal, not_equal = _comparison(af.equal, False), _comparison(af.not_equal, False)
greater, greater_equal = _comparison(af.greater), _comparison(af.greater_equal)
less, less_equal = _comparison(af.less), _comparison(af.less_equal)


def _of_truths(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        return function(*(convert_to_tensor(value, "bool") for value in values))

    return apply


_and, _or, _not, _xor = map(_of_truths, (af.logical_and, af.logical_or, af.logical_not, af.logical_xor))


def logical_and(x1: Any, x2: Any) -> Any:
    return _and(x1, x2)


def logical_or(x1: Any, x2: Any) -> Any:
    return _or(x1, x2)


def logical_xor(x1: Any, x2: Any) -> Any:
    return _xor(x1, x2)


def logical_not(x: Any) -> Any:
    return _not(x)


def _bits(of_numbers: Callable[[Any, Any], Any], of_truths: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(x: Any, y: Any) -> Any:
        x, y = common(x, y)
        return (of_truths if kind(x) == "bool" else of_numbers)(x, y)

    return apply


bitwise_and, bitwise_or = _bits(af.bitwise_and, af.logical_and), _bits(af.bitwise_or, af.logical_or)
bitwise_xor = _bits(af.bitwise_xor, af.logical_xor)


def bitwise_not(x: Any) -> Any:
    x = convert_to_tensor(x)
    return (af.logical_not if kind(x) == "bool" else af.invert)(x)


bitwise_invert = bitwise_not


def _shift(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(x: Any, y: Any) -> Any:
        x, y = common(x, y)
        if kind(x) == "bool":
            x, y = af.cast(x, "int32"), af.cast(y, "int32")
        return function(x, y)

    return apply


bitwise_left_shift, bitwise_right_shift = _shift(af.left_shift), _shift(af.right_shift)
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift


def _of_reals(function: Callable[[Any], Any], otherwise: bool) -> Callable[[Any], Any]:
    """A test of floating point numbers; other numbers have one answer."""

    def apply(x: Any) -> Any:
        x = convert_to_tensor(x)
        if kind(x).startswith("complex"):
            parts = function(af.real(x)), function(af.imag(x))
            return af.logical_and(*parts) if otherwise else af.logical_or(*parts)
        if not x.dtype.is_floating:
            return af.ones_like(x, "bool") if otherwise else af.zeros_like(x, "bool")
        return function(x)

    return apply


isfinite, isinf, isnan = _of_reals(af.is_finite, True), _of_reals(af.is_inf, False), _of_reals(af.is_nan, False)
isposinf = _of_reals(lambda x: af.logical_and(af.is_inf(x), x > 0), False)
isneginf = _of_reals(lambda x: af.logical_and(af.is_inf(x), x < 0), False)


def isreal(x: Any) -> Any:
    x = convert_to_tensor(x)
    return af.equal(af.imag(x), 0) if kind(x).startswith("complex") else af.ones_like(x, "bool")


def isclose(x1: Any, x2: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    x1, x2 = common(x1, x2)
    same = af.equal(x1, x2)
    x1, x2 = floating(x1), floating(x2)
    close = af.abs(x1 - x2) <= atol + rtol * af.abs(x2)
    close = af.logical_or(same, af.logical_and(close, af.logical_and(isfinite(x1), isfinite(x2))))
    return af.logical_or(close, af.logical_and(isnan(x1), isnan(x2))) if equal_nan else close


def allclose(x1: Any, x2: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    return af.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    x1, x2 = common(x1, x2)
    return on_host(lambda a, b: np.isin(a, b, assume_unique, invert), [x1, x2], "bool", x1.shape)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return af.reduce_all(convert_to_tensor(x, "bool"), axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return af.reduce_any(convert_to_tensor(x, "bool"), axis, keepdims)
