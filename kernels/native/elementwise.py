"""Elementwise ops, with broadcasting.

Results are those of the Python kernels, bit for bit, except of `Rsqrt` of many numbers into a buffer: that is within
a unit in the last place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Direct
from actorflow.base.shapes import num_elements

from ..math import arithmetic as math
from ..math import cast as casts
from ..math import elementwise as unary
from ..math import logic
from ..nn import activation as nn
from .library import function

F = TypeVar("F", bound=Callable[..., Any])
LEAST = 2
"""Elements: with one element, numpy's scalars cost no more."""
FLOATS = frozenset((dtypes.float32, dtypes.float64))
NUMBERS = FLOATS | {dtypes.int32, dtypes.int64}
_CAST = {
    dtypes.float32: "f4",
    dtypes.float64: "f8",
    dtypes.int32: "i4",
    dtypes.int64: "i8",
    dtypes.bool: "b1",
}


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether these are a few elements, in one array at least."""
    return max((num_elements(s) or 0 for s in shapes), default=0) >= LEAST


def _same(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether these are several tensors of one shape. (A list whose elements are not known has no shape.)"""
    return bool(shapes and shapes[0]) and all(s == shapes[0] for s in shapes)


def _fitting(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether the result is an array, with channels last."""
    return max(map(len, shapes)) > 0 and attrs.get("data_format", "") != "NCHW"


def _fast(
    op: str,
    can: Callable[..., bool] = _fitting,
    types: frozenset[DType] = NUMBERS,
    direct: Direct | None = None,
) -> Callable[[F], F]:
    return kernel(op, device="CPU", dtypes=types, library="native", can=can, pays=_pays, direct=direct)


def _of(name: str, base: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The function in C for a kernel. A buffer for the result may follow the inputs."""

    def python(*arguments: Any) -> Any:
        return base(np, *arguments[:inputs], out=arguments[inputs] if len(arguments) > inputs else None)

    return function(name, python)


_add = _of("add", math.add, 2)
_subtract = _of("sub", math.subtract, 2)
_multiply = _of("mul", math.multiply, 2)
_divide = _of("divide", math.real_div, 2)
_maximum = _of("maximum", math.maximum, 2)
_minimum = _of("minimum", math.minimum, 2)
_add_n = _of("add_n", math.add_n, 1)
_negative = _of("negative", unary.negative, 1)
_square = _of("square", unary.square, 1)
_sqrt = _of("sqrt", unary.sqrt, 1)
_rsqrt = _of("rsqrt", unary.rsqrt, 1)
_exp = _of("exp", unary.exp, 1)
_log = _of("log", unary.log, 1)
_tanh = _of("tanh", unary.tanh, 1)
_sigmoid = _of("sigmoid", unary.sigmoid, 1)
_relu = _of("relu", nn.relu, 1)
_relu_grad = _of("relu_grad", nn.relu_grad, 2)
_tanh_grad = _of("tanh_grad", unary.tanh_grad, 2)
_sigmoid_grad = _of("sigmoid_grad", unary.sigmoid_grad, 2)
_select = _of("select", logic.select, 3)
_bias_add = _of("bias_add", functools.partial(nn.bias_add, data_format="NHWC"), 2)
_casts = {dtype: _of(f"cast_{name}", functools.partial(casts.cast, DstT=dtype), 1) for dtype, name in _CAST.items()}


@_fast("Add", direct=Direct(_add, _add))
def add(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _add(x, y) if out is None else _add(x, y, out)


@_fast("Sub", direct=Direct(_subtract, _subtract))
def subtract(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _subtract(x, y) if out is None else _subtract(x, y, out)


@_fast("Mul", direct=Direct(_multiply, _multiply))
def multiply(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _multiply(x, y) if out is None else _multiply(x, y, out)


@_fast("RealDiv", types=FLOATS, direct=Direct(_divide, _divide))
def real_div(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _divide(x, y) if out is None else _divide(x, y, out)


@_fast("Maximum", direct=Direct(_maximum, _maximum))
def maximum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _maximum(x, y) if out is None else _maximum(x, y, out)


@_fast("Minimum", direct=Direct(_minimum, _minimum))
def minimum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _minimum(x, y) if out is None else _minimum(x, y, out)


@_fast("AddN", _same, direct=Direct(_add_n, _add_n))
def add_n(xp: Any, inputs: Any, *, out: Any = None) -> Any:
    return _add_n(inputs) if out is None else _add_n(inputs, out)


@_fast("Neg", _same, direct=Direct(_negative, _negative))
def negative(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _negative(x) if out is None else _negative(x, out)


@_fast("Square", _same, direct=Direct(_square, _square))
def square(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _square(x) if out is None else _square(x, out)


@_fast("Sqrt", _same, FLOATS, direct=Direct(_sqrt, _sqrt))
def sqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _sqrt(x) if out is None else _sqrt(x, out)


@_fast("Rsqrt", _same, FLOATS, direct=Direct(_rsqrt, _rsqrt))
def rsqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _rsqrt(x) if out is None else _rsqrt(x, out)


@_fast("Exp", _same, FLOATS, direct=Direct(_exp, _exp))
def exp(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _exp(x) if out is None else _exp(x, out)


@_fast("Log", _same, FLOATS, direct=Direct(_log, _log))
def log(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _log(x) if out is None else _log(x, out)


@_fast("Tanh", _same, FLOATS, direct=Direct(_tanh, _tanh))
def tanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _tanh(x) if out is None else _tanh(x, out)


@_fast("Sigmoid", _same, FLOATS, direct=Direct(_sigmoid, _sigmoid))
def sigmoid(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _sigmoid(x) if out is None else _sigmoid(x, out)


@_fast("Relu", _same, direct=Direct(_relu, _relu))
def relu(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _relu(x) if out is None else _relu(x, out)


@_fast("ReluGrad", _same, FLOATS, direct=Direct(_relu_grad, _relu_grad))
def relu_grad(xp: Any, dy: Any, x: Any, *, out: Any = None) -> Any:
    return _relu_grad(dy, x) if out is None else _relu_grad(dy, x, out)


@_fast("TanhGrad", _same, FLOATS, direct=Direct(_tanh_grad, _tanh_grad))
def tanh_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return _tanh_grad(y, dy) if out is None else _tanh_grad(y, dy, out)


@_fast("SigmoidGrad", _same, FLOATS, direct=Direct(_sigmoid_grad, _sigmoid_grad))
def sigmoid_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return _sigmoid_grad(y, dy) if out is None else _sigmoid_grad(y, dy, out)


@_fast("BiasAdd", direct=Direct(_bias_add, _bias_add))
def bias_add(xp: Any, value: Any, bias: Any, *, data_format: str, out: Any = None) -> Any:
    return _bias_add(value, bias) if out is None else _bias_add(value, bias, out)


@_fast("Select", _same, NUMBERS | {dtypes.bool}, direct=Direct(_select, _select))
def select(xp: Any, condition: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _select(condition, x, y) if out is None else _select(condition, x, y, out)


def _known(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return attrs["DstT"] in _casts and _same(attrs, shapes)


@_fast("Cast", _known, frozenset(_CAST))
def cast(xp: Any, x: Any, *, DstT: DType, out: Any = None) -> Any:
    return _casts[DstT](x) if out is None else _casts[DstT](x, out)
