"""`fold_scales`: batch normalization goes into the weights of the product or convolution before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.exchange.export.messages import Messages, constant, controls, data_inputs, split
from actorflow.graph.graphdef.protos import GraphDef, NodeDef
from actorflow.public import public

_NORMS = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
_WEIGHED = frozenset({"Conv2D", "DepthwiseConv2dNative", "MatMul"})
_SUMS = frozenset({"Add", "AddV2", "BiasAdd"})


@public("af.export")
def fold_scales(graph_def: GraphDef) -> GraphDef:
    """The graph with batch normalization of inference, and products with constant vectors, taken into the weights before them.

    `norm(conv(x, W) + b)` becomes `conv(x, W·s) + (offset + (b - mean)·s)` with `s = scale / sqrt(variance + epsilon)`, where all
    but `x` are constants and nothing else takes the values in between. The last node keeps its name.

    Example:
        >>> x = af.placeholder(af.float32, [None, 2], name="x")
        >>> y = af.multiply(af.matmul(x, af.ones([2, 2])), af.constant([2.0, 3.0]), name="y")
        >>> folded = af.export.fold_scales(af.export.fold_constants(x.graph.as_graph_def()))
        >>> [node.op for node in folded.node if node.op not in ("Const", "Placeholder")]
        ['MatMul']

    Args:
        graph_def: the message, which stays as it is.
    """
    messages = Messages(graph_def)
    uses = messages.uses()
    changed = True
    while changed:  # a folded node may be what another node is folded into
        changed = False
        for node in list(messages.nodes.values()):
            affine = _found(messages, node)
            if _added(messages, uses, node) or affine is not None and _taken_in(messages, uses, node, affine):
                changed = True
                uses = messages.uses()
    return messages.message()


def _vector(messages: Messages, node: NodeDef) -> tuple[str, Any] | None:
    """The other input of a sum with a constant vector, and the vector."""
    if node.op not in _SUMS or _layout(node) != "NHWC":
        return None
    first, second = data_inputs(node)
    if node.op != "BiasAdd" and messages.constant(first) is not None:
        first, second = second, first
    vector = messages.constant(second)
    return (first, vector) if vector is not None and vector.ndim == 1 and vector.dtype.kind == "f" else None


def _added(messages: Messages, uses: Any, node: NodeDef) -> bool:
    """Whether two sums with vectors were joined."""
    outer = _vector(messages, node)
    before = None if outer is None else messages.nodes[split(outer[0])[0]]
    inner = None if before is None or before.op != "BiasAdd" else _vector(messages, before)
    if (
        outer is None
        or before is None
        or inner is None
        or uses[before.name] != 1
        or f"{node.name}/sum" in messages.nodes
    ):
        return False
    if outer[1].shape != inner[1].shape:
        return False
    vector = constant(f"{node.name}/sum", inner[1] + outer[1], device=before.device)
    messages.nodes[vector.name] = vector
    del messages.nodes[before.name]
    total = NodeDef()
    total.CopyFrom(before)
    total.name = node.name
    total.ClearField("input")
    total.input.extend([inner[0], vector.name])
    messages.nodes[node.name] = total
    return True


def _layout(node: NodeDef) -> str:
    return (node.attr["data_format"].s.decode() if "data_format" in node.attr else "") or "NHWC"


@dataclass(frozen=True, slots=True)
class _Affine:
    """`input · scale + shift`, for each channel."""

    input: str
    scale: Any
    shift: Any
    layout: str = "NHWC"


def _found(messages: Messages, node: NodeDef) -> _Affine | None:
    """The scale and shift of a node that multiplies channels by constants."""
    inputs = data_inputs(node)
    if node.op in _NORMS:
        values = [messages.constant(text) for text in inputs[1:5]]
        training = node.attr["is_training"].b if "is_training" in node.attr else True
        if training or any(value is None or not value.size for value in values):
            return None
        scale, offset, mean, variance = (np.asarray(value, np.float64) for value in values)
        epsilon = node.attr["epsilon"].f if "epsilon" in node.attr else 1e-4
        scale = scale / np.sqrt(variance + epsilon)
        return _Affine(inputs[0], scale, offset - mean * scale, _layout(node))
    if node.op == "Mul":
        for value, other in (inputs, reversed(inputs)):
            vector = messages.constant(value)
            if vector is not None and vector.ndim == 1 and vector.dtype.kind == "f":
                return _Affine(other, vector.astype(np.float64), None)
    return None


def _taken_in(messages: Messages, uses: Any, node: NodeDef, affine: _Affine) -> bool:
    """Whether the scale went into the weights before. `node` is then a sum, or the weighed node itself."""
    if any(
        split(text) == (node.name, port)
        for other in messages.nodes.values()
        for text in data_inputs(other)
        for port in range(1, 6)
    ):
        return False  # something takes the averages of the normalization
    source, bias = messages.nodes[split(affine.input)[0]], None
    names = [source.name]
    if source.op in _SUMS:
        first, second = data_inputs(source)
        if source.op != "BiasAdd" and messages.constant(first) is not None:
            first, second = second, first
        bias = messages.constant(second)
        source = messages.nodes[split(first)[0]]
        names.append(source.name)
        if bias is None or bias.ndim != 1:
            return False
    if source.op not in _WEIGHED or any(uses[name] != 1 for name in names) or controls(source):
        return False
    weights = messages.constant(data_inputs(source)[1])
    if weights is None or weights.dtype.kind != "f" or not _fits(source, weights, affine):
        return False
    kind, scale = weights.dtype, affine.scale
    shift = None if affine.shift is None else affine.shift
    if bias is not None:
        shift = bias.astype(np.float64) * scale + (0 if shift is None else shift)
    x = data_inputs(source)[0]
    with np.errstate(all="ignore"):
        values = [
            _scaled(source, weights, scale).astype(kind),
            np.asarray(0.0 if shift is None else shift).astype(kind),
        ]
    if not all(np.isfinite(value).all() for value in values):
        return False
    scaled = constant(f"{node.name}/weights", values[0], device=source.device)
    for name in (scaled.name, f"{node.name}/shift", f"{node.name}/weighed"):
        if name in messages.nodes:
            return False
    messages.nodes[scaled.name] = scaled
    weighed = NodeDef()
    weighed.CopyFrom(source)
    weighed.name = node.name if shift is None else f"{node.name}/weighed"
    weighed.ClearField("input")
    weighed.input.extend([x, scaled.name])
    for name in names:
        del messages.nodes[name]
    messages.nodes[weighed.name] = weighed
    if shift is not None:
        vector = constant(f"{node.name}/shift", values[1], device=source.device)
        messages.nodes[vector.name] = vector
        total = NodeDef(name=node.name, op="BiasAdd", input=[weighed.name, vector.name], device=node.device)
        total.attr["T"].CopyFrom(source.attr["T"])
        total.attr["data_format"].s = affine.layout
        messages.nodes[node.name] = total
    return True


def _fits(source: NodeDef, weights: Any, affine: _Affine) -> bool:
    """Whether the scale belongs to the channels that the weights give."""
    if source.op == "MatMul":
        return affine.layout == "NHWC" and weights.shape[0 if _transposed(source) else 1] == affine.scale.size
    channels = weights.shape[2] * weights.shape[3] if source.op == "DepthwiseConv2dNative" else weights.shape[3]
    return _layout(source) == affine.layout and bool(channels == affine.scale.size)


def _scaled(source: NodeDef, weights: Any, scale: Any) -> Any:
    wide = weights.astype(np.float64)
    if source.op == "MatMul" and _transposed(source):
        return wide * scale[:, None]
    if source.op == "DepthwiseConv2dNative":
        return wide * scale.reshape(weights.shape[2:])
    return wide * scale


def _transposed(source: NodeDef) -> bool:
    return bool("transpose_b" in source.attr and source.attr["transpose_b"].b)
