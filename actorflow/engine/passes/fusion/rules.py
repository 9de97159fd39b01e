"""The rules of `fuse`: which two nodes become what.

Products and convolutions take in the bias, what they are added to and the activation. Normalizations take in the activation,
and a step of gradient descent the product that it subtracts. A scaled gradient that is subtracted from a variable is such a
step. The gradient of an activation joins that of the normalization before it, and moves to the small side of a pool. Pads
become those of the pool or the convolution behind them.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow.base.shapes import is_static
from actorflow.engine.passes.fusion.match import JOINED, FusionRule, Match, has_kernel, joined
from actorflow.engine.passes.fusion.normalization import is_scaled, scaled_weights
from actorflow.graph.analysis.frames import is_free
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node, TensorId
from actorflow.graph.ops.nn.fused import ACTIVATIONS


def _adds_bias(match: Match) -> bool:
    """Whether an addition adds a vector to the last dimension of a product."""
    first, last = match.first, match.last
    if first.attrs.get("data_format", "NHWC") != "NHWC" or not has_kernel(_BIASED[first.op], last):
        return False
    if last.op == "BiasAdd":
        return first.op == "MatMul" or bool(last.attrs["data_format"] == "NHWC")
    shape, vector = first.shapes[0], match.graph.type_of(match.other)[1]
    if shape is None or vector is None or len(vector) != 1:
        return False
    return vector[0] is not None and vector[0] == shape[-1]


def _adds_alike(match: Match) -> bool:
    """Whether a product and what is added to it have one shape, which is known."""
    shape = match.first.shapes[0]
    alike = is_static(shape) and match.graph.type_of(match.other)[1] == shape
    return alike and has_kernel(_ADDED[match.first.op], match.last)


def _is_of_pool(match: Match) -> bool:
    """Whether a MaxPoolGrad is that of a pool of what the ReLU gave. The element that has a window's gradient is positive
    exactly if the window's maximum is. So the gradients may be masked while they are few, before they are spread over the
    images."""
    gradient, images = match.first, match.last.inputs[1]
    pool = match.nodes.get(gradient.inputs[1].node)
    if pool is None or pool.op != "MaxPool" or gradient.inputs[0] != images or pool.inputs[0] != images:
        return False
    return all(pool.attrs[name] == gradient.attrs[name] for name in ("ksize", "strides", "padding", "data_format"))


def _pads_images(match: Match) -> tuple[Any, Any] | None:
    """The pads before and behind each dimension, and what fills them, of images with channels last; None if the pads are
    not known, or lie around batches or channels."""
    pads, *fill = (match.nodes.get(e.node) for e in match.first.inputs[1:])
    if any(node is None or not is_free(node) for node in (pads, *fill)) or pads is None:
        return None
    if any(e in match.graph.feeds for e in match.first.inputs[1:]) or match.last.attrs["data_format"] != "NHWC":
        return None
    widths = np.asarray(pads.attrs["value"])
    if widths.shape != (4, 2) or widths[[0, 3]].any() or (widths < 0).any():
        return None
    return widths, np.asarray(fill[0].attrs["value"]) if fill and fill[0] else np.float32(0)


def _pads_pool(match: Match) -> bool:
    """Whether no window takes what lies around the images for a maximum, as each has elements of an image."""
    padding = _pads_images(match)
    if (
        padding is None
        or padding[1] != -np.inf
        or match.last.attrs["padding"] != "VALID"
        or len(match.last.shapes) != 1
    ):
        return False
    windows = match.last.attrs["ksize"]
    inside = all(max(pair) < window for pair, window in zip(padding[0][1:3], windows[1:3])) and windows[3] == 1
    return inside and has_kernel("_PaddedMaxPool", match.last)


def _pads_convolution(match: Match) -> bool:
    """Whether the zeros around images may be those of a convolution, which adds nothing for them: not even NaN where a weight is
    infinite."""
    padding = _pads_images(match)
    return padding is not None and padding[1] == 0 and match.last.attrs["padding"] in ("VALID", "EXPLICIT")


def _pooled_with_pads(match: Match) -> tuple[Node, ...]:
    widths, _ = _pads_images(match) or ((), None)
    window = {name: match.last.attrs[name] for name in ("ksize", "strides")}
    pads = tuple(int(width) for pair in widths for width in pair)
    attrs = MappingProxyType({**window, "pads": pads, JOINED: (match.first.name,)})
    return (replace(joined(match, "_PaddedMaxPool", match.first.inputs[:1]), attrs=attrs),)


def _convolved_with_pads(match: Match) -> tuple[Node, ...]:
    widths, _ = _pads_images(match) or ((), None)
    own = match.last.attrs["explicit_paddings"] or (0,) * 8
    pads = tuple(int(width) + before for width, before in zip(np.ravel(widths), own))
    attrs = {**match.last.attrs, "padding": "EXPLICIT", "explicit_paddings": pads}
    return (joined(match, match.last.op, (match.first.inputs[0], *match.last.inputs[1:]), **attrs),)


def _lacks_activation(match: Match) -> bool:
    return not match.first.attrs["activation"]


def _steps(match: Match) -> bool:
    """Whether a number times a gradient of the variable's shape is subtracted, and nothing takes the new value."""
    shapes = [match.graph.type_of(tensor_id)[1] for tensor_id in match.first.inputs]
    whole = match.first.shapes[0]
    unused = not match.uses[TensorId(match.last.name, 0)]
    return unused and is_static(whole) and () in shapes and whole in shapes and whole != ()


def _biased(match: Match) -> tuple[Node, ...]:
    return (joined(match, _BIASED[match.first.op], (*match.first.inputs, match.other), activation=""),)


def _added(match: Match) -> tuple[Node, ...]:
    return (joined(match, _ADDED[match.first.op], (match.other, *match.first.inputs)),)


def _adds_result(match: Match) -> bool:
    """Whether a biased product without an activation and what is added to it have one shape, which is known."""
    return _lacks_activation(match) and _adds_alike(match)


def _activated(match: Match) -> tuple[Node, ...]:
    return (joined(match, match.first.op, match.first.inputs, activation=match.last.op),)


def _descended(match: Match) -> tuple[Node, ...]:
    rate, gradient = sorted(match.first.inputs, key=lambda source: match.graph.type_of(source)[1] != ())
    node = joined(match, "ApplyGradientDescent", (match.last.inputs[0], rate, gradient))
    return (replace(node, dtypes=(), shapes=()),)


def _stepped(match: Match) -> tuple[Node, ...]:
    return (joined(match, "_SgdMatMul", (*match.last.inputs[:2], *match.first.inputs)),)


def _masked_first(match: Match) -> tuple[Node, ...]:
    images, pooled, gradient = match.first.inputs
    shapes = match.nodes[pooled.node].shapes[pooled.port : pooled.port + 1]
    mask = replace(match.first, op="ReluGrad", inputs=(gradient, pooled), attrs=match.last.attrs, shapes=shapes)
    moved = (images, pooled, TensorId(mask.name, 0))
    return mask, replace(match.last, op="MaxPoolGrad", inputs=moved, attrs=match.first.attrs)


def _is_normalized(match: Match) -> bool:
    """Whether the activation is behind the first output, the normalized tensor, on a device that has a kernel for both."""
    return match.last.inputs[0].port == 0 and DeviceSpec.parse(match.last.device or "").kind in (None, "CPU")


def _goes_back_through(match: Match) -> bool:
    """Whether the gradient of an activation, and what it had made, have one shape with that of a normalization."""
    shape = match.last.shapes[0]
    types = [match.graph.type_of(e)[1] for e in match.first.inputs]
    return is_static(shape) and all(size == shape for size in types) and _is_normalized(match)


def _normalized_and_activated(match: Match) -> tuple[Node, ...]:
    attrs = MappingProxyType({**match.first.attrs, "activation": match.last.op})
    return (
        replace(match.first, op="_FusedBatchNorm", attrs=attrs),
        replace(match.last, op="Identity", attrs=MappingProxyType({})),
    )


def _back_through_both(match: Match) -> tuple[Node, ...]:
    dy, y = match.first.inputs
    inputs = (dy, *match.last.inputs[1:], y)
    activation = match.first.op.removesuffix("Grad")
    return (joined(match, "_FusedBatchNormGrad", inputs, **match.last.attrs, activation=activation),)


_BIASED = {"MatMul": "_FusedMatMul", "Conv2D": "_FusedConv2D", "DepthwiseConv2dNative": "_FusedDepthwiseConv2d"}
_ADDED = {"MatMul": "_AddMatMul", "_FusedMatMul": "_AddFusedMatMul", "_FusedConv2D": "_AddFusedConv2D"}
_PRODUCTS = frozenset(_BIASED)
_MATMUL = frozenset(("MatMul",))
_FUSED = frozenset((*_BIASED.values(), "_AddFusedMatMul", "_AddFusedConv2D"))

_PADS = frozenset(("Pad", "PadV2"))

RULES = (
    FusionRule(
        "a convolution and its normalization",
        frozenset(("Conv2D", "DepthwiseConv2dNative", "_FusedConv2D", "_FusedDepthwiseConv2d")),
        frozenset(("FusedBatchNormV3", "_FusedBatchNorm")),
        (0,),
        is_scaled,
        scaled_weights,
    ),
    FusionRule("pads and a pool", _PADS, frozenset(("MaxPool",)), (0,), _pads_pool, _pooled_with_pads),
    FusionRule(
        "pads and a convolution", _PADS, frozenset(_BIASED) - _MATMUL, (0,), _pads_convolution, _convolved_with_pads
    ),
    FusionRule("a product and its bias", _PRODUCTS, frozenset(("BiasAdd",)), (0,), _adds_bias, _biased),
    FusionRule("a product and a vector", _PRODUCTS, frozenset(("Add",)), (0, 1), _adds_bias, _biased),
    FusionRule("a product and what it is added to", _MATMUL, frozenset(("Add",)), (0, 1), _adds_alike, _added),
    FusionRule(
        "a biased product and what it is added to",
        frozenset(("_FusedMatMul", "_FusedConv2D")),
        frozenset(("Add",)),
        (0, 1),
        _adds_result,
        _added,
    ),
    FusionRule(
        "a biased product and its activation", _FUSED, frozenset(ACTIVATIONS), (0,), _lacks_activation, _activated
    ),
    FusionRule(
        "a product and a copy, as an activation that went into a normalization leaves it",
        _FUSED,
        frozenset(("Identity",)),
        (0,),
        lambda match: True,
        lambda match: (joined(match, match.first.op, match.first.inputs),),
    ),
    FusionRule(
        "a step of descent",
        frozenset(("Mul",)),
        frozenset(("AssignSub", "AssignSubVariableOp")),
        (1,),
        _steps,
        _descended,
    ),
    FusionRule(
        "a step of descent and its product",
        _MATMUL,
        frozenset(("ApplyGradientDescent",)),
        (2,),
        lambda match: True,
        _stepped,
    ),
    FusionRule(
        "a normalization and its activation",
        frozenset(("FusedBatchNormV3",)),
        frozenset(("Relu", "Relu6")),
        (0,),
        _is_normalized,
        _normalized_and_activated,
        keeps=True,
    ),
    FusionRule(
        "the gradients of an activation and of the normalization before it",
        frozenset(("ReluGrad", "Relu6Grad")),
        frozenset(("FusedBatchNormGradV3",)),
        (0,),
        _goes_back_through,
        _back_through_both,
    ),
    FusionRule(
        "a mask before a pool", frozenset(("MaxPoolGrad",)), frozenset(("ReluGrad",)), (0,), _is_of_pool, _masked_first
    ),
)
"""Which two nodes become what. The order decides where two rules fit one input."""
