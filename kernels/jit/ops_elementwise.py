"""Elementwise ops of small and large tensors, as builtin functions and on two threads (`elementwise`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from actorflow.dtypes import DType
from actorflow.registry.kernel import kernel
from actorflow.shapes import num_elements

from ..math import arithmetic as math
from ..math import cast as casts
from ..math import elementwise as unary
from ..math import logic
from ..nn import activation as nn
from .elementwise import native
from .rules import TYPES

F = TypeVar("F", bound=Callable[..., Any])
LEAST = 2
"""Elements: with one, numpy's scalars cost no more."""
KNOWN = frozenset(TYPES)


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether these are a few elements, in one array at least."""
    return max((num_elements(s) or 0 for s in shapes), default=0) >= LEAST


def _same(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether these are several tensors of one shape. (A list whose elements are not known has no shape.)"""
    return bool(shapes and shapes[0]) and all(s == shapes[0] for s in shapes)


def _fitting(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether each input has the result's shape, or is a number or a row of it."""
    most = max(shapes, key=len)
    rows = ((), most, most[-1:])
    return len(most) > 0 and attrs.get("data_format", "") != "NCHW" and all(s in rows for s in shapes)


def _fast(op: str, can: Callable[..., bool] = _fitting) -> Callable[[F], F]:
    return kernel(op, device="CPU", dtypes=KNOWN, library="jit", can=can, pays=_pays)


# Each kernel is one expression, which generated code contains as it is.

_add = native("Add", math.add)
_subtract = native("Sub", math.subtract)
_multiply = native("Mul", math.multiply)
_divide = native("RealDiv", math.real_div)
_maximum = native("Maximum", math.maximum)
_minimum = native("Minimum", math.minimum)
_add_n = native("AddN", math.add_n, listed=True)
_negative = native("Neg", unary.negative)
_square = native("Square", unary.square)
_sqrt = native("Sqrt", unary.sqrt)
_rsqrt = native("Rsqrt", unary.rsqrt)
_exp = native("Exp", unary.exp)
_log = native("Log", unary.log)
_tanh = native("Tanh", unary.tanh)
_sigmoid = native("Sigmoid", unary.sigmoid)
_relu = native("Relu", nn.relu)
_relu_grad = native("ReluGrad", nn.relu_grad)
_tanh_grad = native("TanhGrad", unary.tanh_grad)
_sigmoid_grad = native("SigmoidGrad", unary.sigmoid_grad)


@_fast("Add")
def add(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _add.call(x, y) if out is None else _add.into(x, y, out=out)


@_fast("Sub")
def subtract(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _subtract.call(x, y) if out is None else _subtract.into(x, y, out=out)


@_fast("Mul")
def multiply(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _multiply.call(x, y) if out is None else _multiply.into(x, y, out=out)


@_fast("RealDiv")
def real_div(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _divide.call(x, y) if out is None else _divide.into(x, y, out=out)


@_fast("Maximum")
def maximum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _maximum.call(x, y) if out is None else _maximum.into(x, y, out=out)


@_fast("Minimum")
def minimum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _minimum.call(x, y) if out is None else _minimum.into(x, y, out=out)


@_fast("AddN", _same)
def add_n(xp: Any, inputs: Any, *, out: Any = None) -> Any:
    return _add_n.call(inputs) if out is None else _add_n.into(inputs, out=out)


@_fast("Neg", _same)
def negative(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _negative.call(x) if out is None else _negative.into(x, out=out)


@_fast("Square", _same)
def square(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _square.call(x) if out is None else _square.into(x, out=out)


@_fast("Sqrt", _same)
def sqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _sqrt.call(x) if out is None else _sqrt.into(x, out=out)


@_fast("Rsqrt", _same)
def rsqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _rsqrt.call(x) if out is None else _rsqrt.into(x, out=out)


@_fast("Exp", _same)
def exp(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _exp.call(x) if out is None else _exp.into(x, out=out)


@_fast("Log", _same)
def log(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _log.call(x) if out is None else _log.into(x, out=out)


@_fast("Tanh", _same)
def tanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _tanh.call(x) if out is None else _tanh.into(x, out=out)


@_fast("Sigmoid", _same)
def sigmoid(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _sigmoid.call(x) if out is None else _sigmoid.into(x, out=out)


@_fast("Relu", _same)
def relu(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _relu.call(x) if out is None else _relu.into(x, out=out)


@_fast("ReluGrad", _same)
def relu_grad(xp: Any, dy: Any, x: Any, *, out: Any = None) -> Any:
    return _relu_grad.call(dy, x) if out is None else _relu_grad.into(dy, x, out=out)


@_fast("TanhGrad", _same)
def tanh_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return _tanh_grad.call(y, dy) if out is None else _tanh_grad.into(y, dy, out=out)


@_fast("SigmoidGrad", _same)
def sigmoid_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return _sigmoid_grad.call(y, dy) if out is None else _sigmoid_grad.into(y, dy, out=out)


def _bias(xp: Any, value: Any, bias: Any, *, out: Any = None) -> Any:
    return nn.bias_add(xp, value, bias, data_format="NHWC", out=out)


_bias_add = native("BiasAdd", _bias)


@_fast("BiasAdd")
def bias_add(xp: Any, value: Any, bias: Any, *, data_format: str, out: Any = None) -> Any:
    return _bias_add.call(value, bias) if out is None else _bias_add.into(value, bias, out=out)


_select = native("Select", logic.select)


@_fast("Select", _same)
def select(xp: Any, condition: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _select.call(condition, x, y) if out is None else _select.into(condition, x, y, out=out)


# A type of results has a function of its own, in front of which that of each type of elements goes.
_casts = {dtype: native("Cast", functools.partial(casts.cast, DstT=dtype), dtype) for dtype in TYPES}


@_fast("Cast", _same)
def cast(xp: Any, x: Any, *, DstT: DType, out: Any = None) -> Any:
    return _casts[DstT].call(x) if out is None else _casts[DstT].into(x, out=out)
