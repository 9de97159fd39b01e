"""Arithmetic, comparisons, logic and activations, element by element."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from actorflow.exchange.onnx.builders.common import in_type, number, widened, with_rank
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op, rows
from actorflow.exchange.onnx.types import dtype_of as element_type
from actorflow.exchange.onnx.values import dtype_of, shape_of, static


def _computed(function: Any) -> Any:
    """For halves in float32; ONNX's own results are those of numpy."""
    return lambda x: widened(function, x)


rows(
    {
        "Abs": af.abs,
        "Neg": af.negative,
        "Sign": af.sign,
        "Ceil": af.ceil,
        "Floor": af.floor,
        "Round": af.rint,
        "Reciprocal": lambda x: af.divide(number(1, x), x),
        "Sqrt": af.sqrt,
        "Exp": af.exp,
        "Log": af.log,
        "Sin": af.sin,
        "Cos": af.cos,
        "Tan": af.tan,
        "Asin": af.asin,
        "Acos": af.acos,
        "Atan": af.atan,
        "Sinh": af.sinh,
        "Cosh": af.cosh,
        "Tanh": af.tanh,
        "Asinh": af.asinh,
        "Acosh": af.acosh,
        "Atanh": af.atanh,
        "Erf": _computed(af.erf),
        "Sigmoid": af.sigmoid,
        "Relu": af.nn.relu,
        "Softplus": af.nn.softplus,
        "Softsign": af.nn.softsign,
        "Not": af.logical_not,
        "And": af.logical_and,
        "Or": af.logical_or,
        "Xor": af.logical_xor,
        "Less": af.less,
        "LessOrEqual": af.less_equal,
        "Greater": af.greater,
        "GreaterOrEqual": af.greater_equal,
        "BitwiseAnd": af.bitwise_and,
        "BitwiseOr": af.bitwise_or,
        "BitwiseXor": af.bitwise_xor,
        "BitwiseNot": af.invert,
        "IsNaN": af.is_nan,
        "Add": af.add,
        "Sub": af.subtract,
        "Mul": af.multiply,
        "Equal": af.equal,
        "Where": af.where_v2,
        "HardSwish": lambda x: x * af.nn.relu6(x + number(3, x)) / number(6, x),
        "Mish": lambda x: x * af.tanh(af.nn.softplus(x)),
    }
)


@onnx_op("Div")
def divide(node: OnnxNode, x: Any, y: Any) -> Any:
    return af.truncatediv(x, y) if dtype_of(x).is_integer else af.divide(x, y)


@onnx_op("Mod")
def mod(node: OnnxNode, x: Any, y: Any) -> Any:
    return (af.truncatemod if node.attr("fmod", 0) else af.floormod)(x, y)


_POWERS: dict[float, Any] = {
    1.0: af.identity,
    2.0: af.square,
    3.0: lambda x: x * x * x,
    0.5: af.sqrt,
    -1.0: af.reciprocal,
    -0.5: af.rsqrt,
}
"""The powers that have an op of their own, which is many times faster."""


@onnx_op("Pow")
def power(node: OnnxNode, x: Any, y: Any) -> Any:
    constant = static(y)
    if constant is not None and constant.size == 1 and len(constant.shape) <= len(shape_of(x) or ()):
        function = _POWERS.get(float(constant.reshape(())))
        if function is not None and dtype_of(x).is_floating:
            return function(x)
    kind, exponent = dtype_of(x), dtype_of(y)
    if kind is exponent:
        return af.pow(x, y)
    if kind.is_integer and exponent.is_floating:
        return in_type(af.float64, af.pow, x, y)
    return af.pow(x, af.cast(y, kind))


def _folded(function: Any) -> Any:
    return lambda node, *values: functools.reduce(function, values[1:], af.identity(values[0]))


onnx_op("Max")(_folded(af.maximum))
onnx_op("Min")(_folded(af.minimum))
onnx_op("Sum")(_folded(af.add))


@onnx_op("Mean")
def mean(node: OnnxNode, *values: Any) -> Any:
    return functools.reduce(af.add, values) / number(len(values), values[0])


@onnx_op("BitShift")
def shift(node: OnnxNode, x: Any, y: Any) -> Any:
    """Shifts by as many bits as a number has, or more, leave nothing. A negative number of bits counts as such a number."""
    bits = 8 * dtype_of(x).size
    inside = af.logical_and(y >= number(0, y), y < number(bits, y))
    if node.required("direction") == "LEFT":
        return af.where_v2(inside, af.left_shift(x, af.where_v2(inside, y, number(0, y))), number(0, x))
    most = af.right_shift(x, af.where_v2(inside, y, number(bits - 1, y)))
    return most if dtype_of(x).kind == "i" else af.where_v2(inside, most, number(0, x))


@onnx_op("IsInf")
def is_inf(node: OnnxNode, x: Any) -> Any:
    infinite = af.is_inf(x)
    if not node.attr("detect_negative", 1):
        infinite = af.logical_and(infinite, af.greater(x, number(0, x)))
    if not node.attr("detect_positive", 1):
        infinite = af.logical_and(infinite, af.less(x, number(0, x)))
    return infinite


@onnx_op("Clip")
def clip(node: OnnxNode, x: Any, low: Any = None, high: Any = None) -> Any:
    bounds = [
        np.reshape(static(bound), -1).tolist()
        for bound in (low, high)
        if bound is not None and static(bound) is not None
    ]
    if dtype_of(x).is_floating and bounds == [[0.0], [6.0]]:
        return af.nn.relu6(x)
    if low is not None:
        x = af.maximum(x, low)
    return x if high is None else af.minimum(x, high)


@onnx_op("PRelu")
def prelu(node: OnnxNode, x: Any, slope: Any) -> Any:
    return af.where_v2(af.less(x, number(0, x)), x * slope, x)


@onnx_op("LeakyRelu")
def leaky_relu(node: OnnxNode, x: Any) -> Any:
    return af.nn.leaky_relu(x, alpha=node.attr("alpha", 0.01))


@onnx_op("ThresholdedRelu")
def thresholded_relu(node: OnnxNode, x: Any) -> Any:
    return af.where_v2(af.greater(x, number(node.attr("alpha", 1.0), x)), x, number(0, x))


@onnx_op("Elu")
def elu(node: OnnxNode, x: Any) -> Any:
    return _bent(x, node.attr("alpha", 1.0), 1.0)


@onnx_op("Celu")
def celu(node: OnnxNode, x: Any) -> Any:
    return _bent(x, node.attr("alpha", 1.0), node.attr("alpha", 1.0))


@onnx_op("Selu")
def selu(node: OnnxNode, x: Any) -> Any:
    gamma = node.attr("gamma", 1.05070102214813232421875)
    return number(gamma, x) * _bent(x, node.attr("alpha", 1.67326319217681884765625), 1.0)


def _bent(x: Any, alpha: float, width: float) -> Any:
    """x for a positive x, else alpha · (exp(x / width) - 1). The other branch is kept finite, for its gradient."""
    negative = af.minimum(x, number(0, x))
    return af.maximum(x, number(0, x)) + number(alpha, x) * af.expm1(negative / number(width, x))


@onnx_op("HardSigmoid")
def hard_sigmoid(node: OnnxNode, x: Any) -> Any:
    line = x * number(node.attr("alpha", 0.2), x) + number(node.attr("beta", 0.5), x)
    return af.minimum(af.maximum(line, number(0, x)), number(1, x))


@onnx_op("Shrink")
def shrink(node: OnnxNode, x: Any) -> Any:
    bias, reach = number(node.attr("bias", 0.0), x), number(node.attr("lambd", 0.5), x)
    above = af.where_v2(af.greater(x, reach), x - bias, number(0, x))
    return af.where_v2(af.less(x, -reach), x + bias, above)


def gelu_of(approximate: str) -> Callable[[Any], Any]:
    """The function, by the error function or near it by a hyperbolic tangent."""

    def exact(x: Any) -> Any:
        return x * number(0.5, x) * (number(1, x) + af.erf(x * number(np.sqrt(0.5), x)))

    def near(x: Any) -> Any:
        inner = number(np.sqrt(2 / np.pi), x) * (x + number(0.044715, x) * x * x * x)
        return number(0.5, x) * x * (number(1, x) + af.tanh(inner))

    return near if approximate == "tanh" else exact


@onnx_op("Gelu")
def gelu(node: OnnxNode, x: Any) -> Any:
    return widened(gelu_of(node.attr("approximate", "none")), x)


@onnx_op("Swish")
def swish(node: OnnxNode, x: Any) -> Any:
    return x * af.sigmoid(x * number(node.attr("alpha", 1.0), x))


@onnx_op("SwiGLU")
def swiglu(node: OnnxNode, x: Any, gate: Any = None) -> Any:

    if gate is None:
        x, gate = af.split(x, 2, axis=node.attr("axis", -1))
    return x * af.sigmoid(x * number(node.attr("alpha", 1.0), x)) * gate


@onnx_op("Bernoulli", impure=True)
def bernoulli(node: OnnxNode, x: Any) -> Any:

    kind = element_type(node.attrs["dtype"]) if "dtype" in node.attrs else dtype_of(x)
    drawn = af.random_uniform(af.shape(x), dtype=af.float32, seed=_seed(node))
    return af.cast(af.less(drawn, af.cast(x, af.float32)), kind)


def _seed(node: OnnxNode) -> int | None:
    return int(node.attrs["seed"]) if "seed" in node.attrs else None


@onnx_op("RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike", impure=True, enlarging=True)
def random_(node: OnnxNode, like: Any = None) -> Any:

    default = 1 if like is None else None
    code = node.attr("dtype", default)
    kind = dtype_of(like) if code is None else element_type(code)
    sizes = node.required("shape") if like is None else af.shape(like)
    if node.op.startswith("RandomUniform"):
        return af.random_uniform(sizes, node.attr("low", 0.0), node.attr("high", 1.0), dtype=kind, seed=_seed(node))
    return af.random_normal(sizes, node.attr("mean", 0.0), node.attr("scale", 1.0), dtype=kind, seed=_seed(node))


@onnx_op("Multinomial", impure=True)
def multinomial(node: OnnxNode, x: Any) -> Any:

    kind = af.int64 if node.attr("dtype", 6) == 7 else af.int32
    return af.multinomial(x, node.attr("sample_size", 1), seed=_seed(node), output_dtype=kind)


@onnx_op("Dropout")
def dropout(node: OnnxNode, x: Any, ratio: Any = None, training: Any = None) -> Any:
    """A file of a trained model drops nothing. A file that asks for dropout draws in each run."""
    share = np.float32(0.5) if ratio is None else static(ratio)
    flag = np.asarray(False) if training is None else static(training)
    if (flag is not None and not flag.any()) or (share is not None and not share.any()):
        return af.identity(x), af.cast(af.ones_like(x), af.bool)
    share = af.cast(af.reshape(ratio, []), af.float32) if share is None else np.float32(share.reshape(()))
    if flag is None:
        share = af.where_v2(af.reshape(training, []), share, np.float32(0))
    kept = af.greater_equal(af.random_uniform(af.shape(x), dtype=af.float32, seed=_seed(node)), share)
    return x * af.cast(kept, dtype_of(x)) / af.cast(np.float32(1) - share, dtype_of(x)), kept


def channels(value: Any, like: Any) -> Any:
    """A vector of one number for each channel, along dimension 1 of `like`."""
    shape = shape_of(like)
    return value if shape is None else with_rank(value, len(shape), 1)
