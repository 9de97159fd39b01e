"""Numbers of few bits: to quantise and back, products and convolutions of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.base import dtypes as dt
from actorflow.exchange.onnx.builders.common import number, positive, rank_of, shaped, size_of, with_rank
from actorflow.exchange.onnx.builders.nn.windows import convolved
from actorflow.exchange.onnx.builders.products import product
from actorflow.exchange.onnx.builders.shapes import converted
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.types import dtype_of as element_type
from actorflow.exchange.onnx.values import dtype_of, shape_of


def spread(node: OnnxNode, value: Any, x: Any) -> Any:
    """A scale or a zero as `x` needs it: a single number, a number for each place along an axis, or a number for each block
    along it."""
    shape = shape_of(value)
    if shape == () or shape == (1,):
        return af.reshape(value, [])
    rank = rank_of(x)
    axis = positive(node.attr("axis", 1), rank)
    block = node.attr("block_size", 0)
    if not block:
        return with_rank(value, rank, axis)
    places = af.range_(af.cast(size_of(x, axis), af.int64)) // np.int64(block)
    return af.gather(value, places, axis=axis)


def _rounded(x: Any, zero: Any, target: Any) -> Any:
    """Whole numbers of a type, where `zero` is what 0 became: those beyond its range are its bounds."""
    rounded = af.rint(x)
    if zero is not None:
        rounded = rounded + af.cast(converted(zero, af.int32), dtype_of(rounded))
    return converted(
        af.clip_by_value(rounded, number(int(target.min), rounded), number(int(target.max), rounded)), target
    )


@onnx_op("QuantizeLinear")
def quantize(node: OnnxNode, x: Any, scale: Any, zero: Any = None) -> Any:
    code = node.attr("output_dtype", 0)
    target = dtype_of(zero) if zero is not None else element_type(code) if code else af.uint8
    factor = spread(node, scale, x)
    precise = node.attr("precision", 0)
    kind = element_type(precise) if precise else dtype_of(scale)
    if kind.is_integer or kind in dt.NARROW:
        kind = af.float32
    parts = af.cast(x, kind) / converted(factor, kind)
    offset = None if zero is None else spread(node, zero, x)
    if target.is_integer:
        return _rounded(converted(parts, af.float32), offset, target)
    return converted(parts, target, bool(node.attr("saturate", 1)))


@onnx_op("DequantizeLinear")
def dequantize(node: OnnxNode, x: Any, scale: Any, zero: Any = None) -> Any:
    code = node.attr("output_dtype", 0)
    target = element_type(code) if code else dtype_of(scale)
    wide = converted(x, af.float32)
    if zero is not None and dtype_of(x).is_integer:
        wide = wide - converted(spread(node, zero, x), af.float32)
    return converted(wide * converted(spread(node, scale, x), af.float32), target)


@onnx_op("DynamicQuantizeLinear")
def dynamic_quantize(node: OnnxNode, x: Any) -> Any:
    high = af.maximum(af.reduce_max(x), number(0, x))
    low = af.minimum(af.reduce_min(x), number(0, x))
    width = af.where_v2(af.equal(high, low), number(1, x), high - low)
    scale = width / number(255, x)
    zero = af.rint(af.clip_by_value(-low / scale, number(0, x), number(255, x)))
    rounded = af.clip_by_value(af.rint(x / scale) + zero, number(0, x), number(255, x))
    return af.cast(rounded, af.uint8), scale, af.cast(zero, af.uint8)


def _whole(x: Any, zero: Any) -> Any:
    """Whole numbers counted from their zero."""
    whole = af.cast(x, af.int32)
    return whole if zero is None else whole - af.cast(zero, af.int32)


def _by_rows(zero: Any, rank: int) -> Any:
    """The zeros or scales of the rows of the first factor."""
    return zero if zero is None or shape_of(zero) in ((), (1,)) or rank < 2 else af.expand_dims(zero, -1)


@onnx_op("MatMulInteger")
def matmul_integer(node: OnnxNode, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return _integer_product(a, b, a_zero, b_zero)


def _integer_product(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    return product(_whole(a, _by_rows(_scalar(a_zero), rank_of(a))), _whole(b, _scalar(b_zero)))


def _scalar(value: Any) -> Any:
    return af.reshape(value, []) if value is not None and shape_of(value) == (1,) else value


def to_wide(x: Any, scale: Any, zero: Any = None) -> Any:
    """The numbers that whole numbers with one scale stand for."""
    return af.cast(_whole(x, _scalar(zero)), af.float32) * _scalar(scale)


def to_whole(x: Any, scale: Any, zero: Any, kind: Any) -> Any:
    """Numbers as whole numbers of a type, which the type of the zero decides if a zero is given."""
    return _rounded(x / _scalar(scale), _scalar(zero), kind if zero is None else dtype_of(zero))


def scaled_product(a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, added: Any = None) -> Any:
    """The product of two matrices of whole numbers, as numbers."""
    integers = _integer_product(a, b, a_zero, b_zero)
    integers = integers if added is None else integers + added
    return af.cast(integers, af.float32) * (_by_rows(_scalar(a_scale), rank_of(a)) * _scalar(b_scale))


@onnx_op("QLinearMatMul")
def qlinear_matmul(
    node: OnnxNode, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, scale: Any, zero: Any
) -> Any:
    products = _integer_product(a, b, a_zero, b_zero)
    rows = _by_rows(_scalar(a_scale), rank_of(a))
    factor = af.cast(rows * _scalar(b_scale) / _scalar(scale), af.float32)
    target = dtype_of(zero) if zero is not None else dtype_of(a)
    return _rounded(af.cast(products, af.float32) * factor, _scalar(zero), target)


def _for_filters(value: Any, space: int) -> Any:
    """The zeros or scales of filters, along their first dimension."""
    return value if value is None or shape_of(value) in ((), (1,)) else shaped(value, [-1, *[1] * (space + 1)])


def _integer_conv(node: OnnxNode, x: Any, weights: Any, x_zero: Any, w_zero: Any) -> Any:
    """A convolution of whole numbers. Its sums are exact in float64, which the kernels of convolutions know."""
    space = rank_of(x) - 2
    source = af.cast(_whole(x, _scalar(x_zero)), af.float64)
    filters = af.cast(_whole(weights, _for_filters(_scalar(w_zero), space)), af.float64)
    return convolved(node, source, filters)


@onnx_op("ConvInteger")
def conv_integer(node: OnnxNode, x: Any, weights: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    return af.cast(_integer_conv(node, x, weights, x_zero, w_zero), af.int32)


@onnx_op("QLinearConv")
def qlinear_conv(
    node: OnnxNode, x: Any, x_scale: Any, x_zero: Any, weights: Any, w_scale: Any, w_zero: Any, scale: Any, zero: Any,
    bias: Any = None,
) -> Any:  # fmt: skip
    space = rank_of(x) - 2
    sums = _integer_conv(node, x, weights, x_zero, w_zero)
    if bias is not None:
        sums = sums + af.cast(shaped(bias, [-1, *[1] * space]), af.float64)
    factor = _scalar(x_scale) * _scalar(w_scale) / _scalar(scale)
    if shape_of(factor) != ():
        factor = shaped(factor, [-1, *[1] * space])
    scaled = af.cast(sums, af.float32) * factor
    return _rounded(scaled, _scalar(zero), dtype_of(x) if zero is None else dtype_of(zero))
