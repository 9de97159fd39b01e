"""A batch normalization by stored moments goes into the weights of the convolution before it, where all of these are constants.

`norm(conv(x, W) + b)` is `conv(x, W · s) + (offset + (b - mean) · s)` with `s = scale / sqrt(variance + epsilon)`. Last bits may
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.engine.passes.fusion.match import Match, has_kernel, joined
from actorflow.graph.analysis.frames import is_free
from actorflow.graph.node import Node, TensorId

_FUSED = {"Conv2D": "_FusedConv2D", "DepthwiseConv2dNative": "_FusedDepthwiseConv2d"}


def is_scaled(match: Match) -> bool:
    """Whether the weights and the normalization of a convolution are constants that fit each other, and only the normalized
    images are taken."""
    first, last = match.first, match.last
    op = _FUSED.get(first.op, first.op)
    if last.attrs["is_training"] or first.attrs.get("activation") or not has_kernel(op, last):
        return False
    if any(node.attrs["data_format"] != "NHWC" for node in (first, last)) or first.dtypes[0] is not last.dtypes[0]:
        return False
    if any(match.uses[TensorId(last.name, port)] for port in range(1, len(last.dtypes))):
        return False
    if any(name in match.graph.nodes for name in _names(last)):
        return False
    vectors = [_constant(match, e) for e in (*first.inputs[1:], *last.inputs[1:])]
    if any(vector is None for vector in vectors):
        return False
    weights, *vectors = vectors
    channels = np.prod(weights.shape[2:]) if op == "_FusedDepthwiseConv2d" else weights.shape[3]
    if any(vector.shape != (channels,) for vector in vectors):
        return False
    return all(np.isfinite(value).all() for value in _scaled(match))


def scaled_weights(match: Match) -> Sequence[Node]:
    """The scaled weights, the bias, and the convolution with both."""
    first, last = match.first, match.last
    op = _FUSED.get(first.op, first.op)
    constants = [_constant_node(last, name, value) for name, value in zip(_names(last), _scaled(match))]
    inputs = (first.inputs[0], *(TensorId(node.name, 0) for node in constants))
    convolution = replace(
        joined(match, op, inputs, activation=last.attrs.get("activation", "")),
        dtypes=first.dtypes,
        shapes=last.shapes[:1],
    )
    return (*constants, convolution)


def _names(last: Node) -> tuple[str, str]:
    """The names of the weights and of the bias."""
    return f"{last.name}/scaled_weights", f"{last.name}/shift"


def _constant(match: Match, tensor_id: TensorId) -> Any:
    """The value of a tensor, or None if the value differs between runs, or waits for something."""
    node = match.nodes.get(tensor_id.node)
    return None if node is None or not is_free(node) or tensor_id in match.graph.feeds else node.attrs["value"]


def _scaled(match: Match) -> tuple[Any, Any]:
    """The weights that have the scale, and the bias, in the type of the weights."""
    weights, *bias = [_constant(match, e) for e in match.first.inputs[1:]]
    scale, offset, mean, variance = (np.asarray(_constant(match, e), np.float64) for e in match.last.inputs[1:5])
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + match.last.attrs["epsilon"])
        shift = offset + ((bias[0] if bias else 0.0) - mean) * factor
        is_depthwise = match.first.op in ("DepthwiseConv2dNative", "_FusedDepthwiseConv2d")
        by_channel = factor.reshape(weights.shape[2:]) if is_depthwise else factor
        return (weights * by_channel).astype(weights.dtype), shift.astype(weights.dtype)


def _constant_node(last: Node, name: str, value: Any) -> Node:
    value.flags.writeable = False
    return replace(
        last,
        name=name,
        op="Const",
        inputs=(),
        controls=(),
        attrs=MappingProxyType({"value": value, "dtype": dtypes.as_dtype(value.dtype)}),
        dtypes=(dtypes.as_dtype(value.dtype),),
        shapes=(value.shape,),
    )
