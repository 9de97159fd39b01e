"""Elementwise ops of small tensors as builtin functions: the loops of `emit`, with the arguments' checks around them.

The recipes are those of `rules`, so the results are the same bits as numpy's kernels'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from actorflow.dtypes import DType
from actorflow.registry.kernel import kernel
from actorflow.runtime.jit_recipe import Block
from actorflow.shapes import num_elements

from .. import cast as casts
from .. import logic, math, nn, unary
from .arrays import HEADER
from .builtin import Kernel, Native, Types
from .emit import module_text
from .rules import RULES, SAME_SHAPE, TYPES

F = TypeVar("F", bound=Callable[..., Any])
LEAST, MOST = 2, 1 << 14
"""Elements: with one, numpy's scalars cost no more; many go into buffers of the device's."""
KNOWN = frozenset(TYPES)


def small(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether these are few elements, in one array at least."""
    return LEAST <= max((num_elements(s) or 0 for s in shapes), default=0) < MOST


def _native(op: str, base: Callable[..., Any], target: DType | None = None, listed: bool = False) -> Native:
    """The kernel `base` of an op, as a builtin function where its inputs have the result's shape, or are numbers, or rows of
    the result's."""
    attrs = {"DstT": target, "data_format": "NHWC"}

    def types(arguments: Sequence[Any]) -> Types:
        given = arguments[0] if listed else arguments
        deepest = max(one.ndim for one in given)
        return tuple([_layout(one, deepest) for one in given])

    def write(types: Types, otherwise: Any) -> str | None:
        kinds, layouts = [t[:2] for t in types], [t[3:] for t in types]
        accepted, lower = RULES[op]
        if any(kind not in TYPES.values() for kind in kinds) or kinds[0] not in accepted or "full" not in layouts:
            return None
        if len(set(kinds[1:] if op == "Select" else kinds)) > 1 or (op in SAME_SHAPE and len(set(layouts)) > 1):
            return None
        block = Block()
        found = lower([block.operand(*of) for of in zip(kinds, layouts)], attrs)
        if found is None:
            return None
        return _module(module_text(block.finish([(found, None)])), kinds, layouts, found.dtype, listed, otherwise)

    return Native(lambda *given: base(np, *given), write, types)


def _layout(one: Any, deepest: int) -> str:
    if not isinstance(one, np.ndarray):
        return ""
    layout = "full" if one.ndim == deepest else "row" if one.ndim == 1 else "scalar" if one.ndim == 0 else ""
    return f"{one.dtype.str[1:]}:{layout}"


def _module(
    loop: str, kinds: Sequence[str], layouts: Sequence[str], result: str, listed: bool, otherwise: Any
) -> str:
    f = Kernel(1 if listed else len(kinds), otherwise)
    if listed:
        values = f.object(0)
        f.refuse(f.load(f.at(values, "i8", HEADER - 8), "i64").equals(id(list)))
        f.refuse(f.load(f.at(values, "i8", HEADER), "i64").equals(len(kinds)))
        items = f.load(f.at(values, "i8", HEADER + 8), "ptr")
        objects = [f.load(items, "ptr", i) for i in range(len(kinds))]
    else:
        objects = [f.object(i) for i in range(len(kinds))]
    arrays = [f.array_at(one, kind) for one, kind in zip(objects, kinds, strict=True)]
    first = arrays[layouts.index("full")]
    rank, rows, columns = first.rank, f.number(1), first.elements()
    if "row" in layouts:
        width = first.size(rank - 1)
        f.refuse(width > 0)
        rows, columns = columns // width, width
    for other, layout in zip(arrays, layouts, strict=True):
        if layout == "scalar":
            f.refuse(other.rank.equals(0))
        elif layout == "row":
            f.refuse(other.rank.equals(1))
            f.refuse(other.size(0).equals(columns))
        elif other is not first:
            f.refuse(other.rank.equals(rank))
            with f.loop(rank) as axis:
                f.refuse(other.size(axis).equals(first.size(axis)))
    made = f.make(result, first.sizes, rank)
    given = ", ".join(f"ptr {one.text}" for one in (*objects, made.object))
    f.do(f"call i32 @loop(i64 {rows.text}, i64 {columns.text}, {given})")
    f.give(made.object)
    return f.module(loop)


def _same(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return bool(shapes) and len(shapes[0]) > 0 and all(s == shapes[0] for s in shapes)


def _fitting(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether each input has the result's shape, or is a number or a row of it."""
    most = max(shapes, key=len)
    rows = ((), most, most[-1:])
    return len(most) > 0 and attrs.get("data_format", "") != "NCHW" and all(s in rows for s in shapes)


def _fast(op: str, can: Callable[..., bool] = _fitting) -> Callable[[F], F]:
    return kernel(op, device="CPU", dtypes=KNOWN, library="jit", can=can, pays=small)


# Each kernel is one expression, which generated code contains as it is.

_add = _native("Add", math.add)
_subtract = _native("Sub", math.subtract)
_multiply = _native("Mul", math.multiply)
_divide = _native("RealDiv", math.real_div)
_maximum = _native("Maximum", math.maximum)
_minimum = _native("Minimum", math.minimum)
_add_n = _native("AddN", math.add_n, listed=True)
_negative = _native("Neg", unary.negative)
_square = _native("Square", unary.square)
_sqrt = _native("Sqrt", unary.sqrt)
_rsqrt = _native("Rsqrt", unary.rsqrt)
_exp = _native("Exp", unary.exp)
_log = _native("Log", unary.log)
_tanh = _native("Tanh", unary.tanh)
_sigmoid = _native("Sigmoid", unary.sigmoid)
_relu = _native("Relu", nn.relu)
_relu_grad = _native("ReluGrad", nn.relu_grad)
_tanh_grad = _native("TanhGrad", unary.tanh_grad)
_sigmoid_grad = _native("SigmoidGrad", unary.sigmoid_grad)


@_fast("Add")
def add(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _add.call(x, y) if out is None else math.add(xp, x, y, out=out)


@_fast("Sub")
def subtract(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _subtract.call(x, y) if out is None else math.subtract(xp, x, y, out=out)


@_fast("Mul")
def multiply(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _multiply.call(x, y) if out is None else math.multiply(xp, x, y, out=out)


@_fast("RealDiv")
def real_div(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _divide.call(x, y) if out is None else math.real_div(xp, x, y, out=out)


@_fast("Maximum")
def maximum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _maximum.call(x, y) if out is None else math.maximum(xp, x, y, out=out)


@_fast("Minimum")
def minimum(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _minimum.call(x, y) if out is None else math.minimum(xp, x, y, out=out)


@_fast("AddN", _same)
def add_n(xp: Any, inputs: Any, *, out: Any = None) -> Any:
    return _add_n.call(inputs) if out is None else math.add_n(xp, inputs, out=out)


@_fast("Neg", _same)
def negative(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _negative.call(x) if out is None else unary.negative(xp, x, out=out)


@_fast("Square", _same)
def square(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _square.call(x) if out is None else unary.square(xp, x, out=out)


@_fast("Sqrt", _same)
def sqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _sqrt.call(x) if out is None else unary.sqrt(xp, x, out=out)


@_fast("Rsqrt", _same)
def rsqrt(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _rsqrt.call(x) if out is None else unary.rsqrt(xp, x, out=out)


@_fast("Exp", _same)
def exp(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _exp.call(x) if out is None else unary.exp(xp, x, out=out)


@_fast("Log", _same)
def log(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _log.call(x) if out is None else unary.log(xp, x, out=out)


@_fast("Tanh", _same)
def tanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _tanh.call(x) if out is None else unary.tanh(xp, x, out=out)


@_fast("Sigmoid", _same)
def sigmoid(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _sigmoid.call(x) if out is None else unary.sigmoid(xp, x, out=out)


@_fast("Relu", _same)
def relu(xp: Any, x: Any, *, out: Any = None) -> Any:
    return _relu.call(x) if out is None else nn.relu(xp, x, out=out)


@_fast("ReluGrad", _same)
def relu_grad(xp: Any, dy: Any, x: Any, *, out: Any = None) -> Any:
    return _relu_grad.call(dy, x) if out is None else nn.relu_grad(xp, dy, x, out=out)


@_fast("TanhGrad", _same)
def tanh_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return _tanh_grad.call(y, dy) if out is None else unary.tanh_grad(xp, y, dy, out=out)


@_fast("SigmoidGrad", _same)
def sigmoid_grad(xp: Any, y: Any, dy: Any, *, out: Any = None) -> Any:
    return _sigmoid_grad.call(y, dy) if out is None else unary.sigmoid_grad(xp, y, dy, out=out)


def _bias(xp: Any, value: Any, bias: Any) -> Any:
    return nn.bias_add(xp, value, bias, data_format="NHWC")


_bias_add = _native("BiasAdd", _bias)


@_fast("BiasAdd")
def bias_add(xp: Any, value: Any, bias: Any, *, data_format: str, out: Any = None) -> Any:
    return _bias_add.call(value, bias) if out is None else nn.bias_add(xp, value, bias, data_format=data_format, out=out)


_select = _native("Select", logic.select)


@_fast("Select", _same)
def select(xp: Any, condition: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _select.call(condition, x, y) if out is None else logic.select(xp, condition, x, y, out=out)


# A type of results has a function of its own, in front of which that of each type of elements goes.
_casts = {
    dtype: _native("Cast", lambda xp, x, dtype=dtype: casts.cast(xp, x, DstT=dtype), dtype) for dtype in TYPES
}


@_fast("Cast", _same)
def cast(xp: Any, x: Any, *, DstT: DType, out: Any = None) -> Any:
    return _casts[DstT].call(x) if out is None else casts.cast(xp, x, DstT=DstT, out=out)
