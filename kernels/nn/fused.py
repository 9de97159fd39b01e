"""Kernels of fused ops, as the chains of kernels that they stand for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import APART
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.nn.conv.geometry import check_shape

from ..math import elementwise as unary
from ..math import matmul as math_matmul
from ..math import special
from ..shared import blas
from . import activation as nn
from . import normalization
from .conv import depthwise as depthwise_conv
from .conv import functions as conv


@kernel("_Gelu")
def gelu(xp: Any, x: Any, *, out: Any = None) -> Any:
    kind = x.dtype.type
    share = special.erf(xp, x * kind(math.sqrt(0.5)))
    return xp.multiply(x * kind(0.5), share + kind(1), out=out)


@kernel("_GeluTanh")
def gelu_tanh(xp: Any, x: Any, *, out: Any = None) -> Any:
    kind = x.dtype.type
    inner = xp.tanh((x * x * x * kind(0.044715) + x) * kind(math.sqrt(2 / math.pi)))
    return xp.multiply(x * kind(0.5), inner + kind(1), out=out)


@kernel("_Swish")
def swish(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.multiply(x, unary.sigmoid(xp, x), out=out)


@kernel("_LayerNorm")
def layer_norm(xp: Any, x: Any, scale: Any, offset: Any, *, epsilon: float, out: Any = None) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return xp.add(rms_norm(xp, centred, scale, epsilon=epsilon), offset, out=out)


@kernel("_LayerNormGrad")
def layer_norm_grad(xp: Any, dy: Any, x: Any, scale: Any, *, epsilon: float, out: Any = None) -> Any:
    if scale.shape != x.shape[-1:]:
        raise InvalidArgumentError(f"A scale of shape {scale.shape} is not for rows of a tensor of shape {x.shape}.")
    normal, inverse = _normal_rows(xp, x, epsilon)
    slopes = dy * scale
    slanted = normal * (slopes * normal).mean(-1, keepdims=True)
    return xp.multiply(slopes - slopes.mean(-1, keepdims=True) - slanted, inverse, out=out)


@kernel("_LayerNormScaleGrad")
def layer_norm_scale_grad(xp: Any, dy: Any, x: Any, *, epsilon: float) -> Any:
    normal, _ = _normal_rows(xp, x, epsilon)
    return (dy * normal).reshape(-1, x.shape[-1]).sum(0)


def _normal_rows(xp: Any, x: Any, epsilon: float) -> tuple[Any, Any]:
    """Rows without their mean and with the deviation 1, and by how much they were multiplied."""
    centred = x - x.mean(-1, keepdims=True)
    inverse = (1 / xp.sqrt((centred * centred).mean(-1, keepdims=True) + x.dtype.type(epsilon))).astype(x.dtype)
    return centred * inverse, inverse


@kernel("_SoftmaxGrad")
def softmax_grad(xp: Any, dy: Any, y: Any, *, scale: float, out: Any = None) -> Any:
    slopes = (dy - (dy * y).sum(-1, keepdims=True)) * y
    return xp.multiply(slopes, y.dtype.type(scale), out=out)


@kernel("_RmsNorm")
def rms_norm(xp: Any, x: Any, scale: Any, *, epsilon: float, out: Any = None) -> Any:
    if scale.shape != x.shape[-1:]:
        raise InvalidArgumentError(f"A scale of shape {scale.shape} is not for rows of a tensor of shape {x.shape}.")
    inverse = 1 / xp.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(epsilon))
    return xp.multiply(x * inverse.astype(x.dtype), scale, out=out)


@kernel("_Attention")
def attention(xp: Any, query: Any, key: Any, value: Any, bias: Any, *, scale: float, turned: bool) -> Any:
    if not 3 <= query.ndim == key.ndim == value.ndim <= 4:
        shapes = ", ".join(str(x.shape) for x in (query, key, value))
        raise InvalidArgumentError(
            f"Queries, keys and values have three or four dimensions, all the same, but are {shapes}."
        )
    shared = query.shape[1] // max(1, key.shape[1]) if query.ndim == 4 else 1
    if shared > 1:
        key, value = (xp.repeat(x, shared, axis=1) for x in (key, value))
    matmul = blas.matmul_batch if xp is np else xp.matmul
    scores = matmul(query, key if turned else xp.swapaxes(key, -1, -2)) * query.dtype.type(scale)
    return matmul(nn.softmax(xp, sum(bias, scores), axis=-1), value)


@kernel("_Rotary")
def rotary(xp: Any, x: Any, cosines: Any, sines: Any) -> Any:
    if x.ndim < 1 or x.shape[-1] % 2:
        raise InvalidArgumentError(f"Rows of two halves are rotated, but the shape is {x.shape}.")
    half = x.shape[-1] // 2
    turned = xp.concatenate([-x[..., half:], x[..., :half]], -1)
    rotated = x * cosines + turned * sines
    if rotated.shape != x.shape:
        raise InvalidArgumentError(f"A tensor of shape {x.shape} has no cosines of shape {cosines.shape}.")
    return rotated


_FUNCTIONS: dict[str, Any] = {
    "_Gelu": gelu,
    "_GeluTanh": gelu_tanh,
    "_Swish": swish,
    "Relu": nn.relu,
    "Relu6": nn.relu6,
    "Elu": nn.elu,
    "Tanh": unary.tanh,
    "Sigmoid": unary.sigmoid,
}


def activated(xp: Any, y: Any, activation: str) -> Any:
    """The activation of `y`, in `y` itself."""
    return _FUNCTIONS[activation](xp, y, out=y) if activation else y


def _product(xp: Any, a: Any, b: Any, transpose_a: bool, transpose_b: bool, out: Any) -> Any:
    function = math_matmul.matmul_on_cpu if xp is np else math_matmul.matmul
    return function(xp, a, b, transpose_a=transpose_a, transpose_b=transpose_b, out=out)


def finished(xp: Any, y: Any, bias: Any, activation: str) -> Any:
    """The activation of `y` and a bias for its last dimension, in `y` itself."""
    return activated(xp, nn.bias_add(xp, y, bias, data_format="NHWC", out=y), activation)


@kernel("_FusedMatMul", gpu=APART)
def fused_matmul(
    xp: Any, a: Any, b: Any, bias: Any, *, transpose_a: bool, transpose_b: bool, activation: str, out: Any = None
) -> Any:
    y = _product(xp, a, b, transpose_a, transpose_b, out)
    return finished(xp, y, bias, activation)


@kernel("_AddMatMul", gpu=APART)
def add_matmul(xp: Any, c: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    """`out` may be `c`."""
    y = _product(xp, a, b, transpose_a, transpose_b, None if out is c else out)
    if y.shape != c.shape:
        raise InvalidArgumentError(f"A product of shape {y.shape} can't be added to a matrix of shape {c.shape}.")
    return xp.add(c, y, out=y if out is None else out)


def added(xp: Any, c: Any, y: Any, activation: str, out: Any) -> Any:
    """The activation of a sum. `out` may be `c`."""
    if y.shape != c.shape:
        raise InvalidArgumentError(f"A result of shape {y.shape} can't be added to a tensor of shape {c.shape}.")
    return activated(xp, xp.add(c, y, out=y if out is None else out), activation)


@kernel("_AddFusedMatMul", gpu=APART)
def add_fused_matmul(
    xp: Any,
    c: Any,
    a: Any,
    b: Any,
    bias: Any,
    *,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
    out: Any = None,
) -> Any:
    y = finished(xp, _product(xp, a, b, transpose_a, transpose_b, None), bias, "")
    return added(xp, c, y, activation, out)


def biased(convolve: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of the convolution `convolve`, a bias for each channel and an activation."""

    def convolve_and_finish(
        xp: Any,
        x: Any,
        w: Any,
        bias: Any,
        *,
        strides: Any,
        padding: str,
        explicit_paddings: Any,
        data_format: str,
        dilations: Any,
        activation: str,
        out: Any = None,
    ) -> Any:
        attrs = conv.attributes(strides, padding, data_format, dilations, explicit_paddings)
        return finished(xp, convolve(xp, x, w, **attrs, out=out), bias, activation)

    return convolve_and_finish


def added_to(convolve: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of the convolution with a bias `convolve`, whose result is added to another input before the activation."""

    def convolve_and_add(
        xp: Any,
        c: Any,
        x: Any,
        w: Any,
        bias: Any,
        *,
        strides: Any,
        padding: str,
        explicit_paddings: Any,
        data_format: str,
        dilations: Any,
        activation: str,
        out: Any = None,
    ) -> Any:
        attrs = conv.attributes(strides, padding, data_format, dilations, explicit_paddings)
        return added(xp, c, convolve(xp, x, w, bias, **attrs, activation=""), activation, out)

    return convolve_and_add


fused_conv2d = kernel("_FusedConv2D")(biased(conv.conv2d))
kernel("_FusedDepthwiseConv2d")(biased(depthwise_conv.depthwise))
kernel("_AddFusedConv2D")(added_to(fused_conv2d))


@kernel("_FusedBatchNorm")
def fused_batch_norm(
    xp: Any,
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
    activation: str,
) -> Any:
    attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    y, *moments = normalization.fused_batch_norm(xp, x, scale, offset, mean, variance, **attrs)
    return activated(xp, y, activation), *moments


_GRADIENTS: dict[str, Any] = {"Relu": nn.relu_grad, "Relu6": nn.relu6_grad}


@kernel("_FusedBatchNormGrad")
def fused_batch_norm_grad(
    xp: Any,
    dy: Any,
    x: Any,
    scale: Any,
    mean: Any,
    variance: Any,
    reserved: Any,
    y: Any,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
    activation: str,
) -> Any:
    attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    if activation:
        check_shape("y", y.shape, dy.shape)
        dy = _GRADIENTS[activation](xp, dy, y)
    return normalization.fused_batch_norm_grad(xp, dy, x, scale, mean, variance, reserved, **attrs)


@kernel("_SgdMatMul", gpu=APART)
def sgd_matmul(
    xp: Any, var: VariableState, alpha: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool
) -> None:
    if a.ndim != 2 or b.ndim != 2:
        raise InvalidArgumentError(f"MatMul takes matrices, but the inputs have the shapes {a.shape} and {b.shape}.")
    var.check_shape((a.shape[transpose_a], b.shape[not transpose_b]))
    buffer = var.writable()
    delta = _product(xp, a, b, transpose_a, transpose_b, var.scratch())
    xp.multiply(delta, alpha, out=delta)
    xp.subtract(buffer, delta, out=buffer)
