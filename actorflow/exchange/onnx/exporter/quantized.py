"""Rules of products and convolutions with weights of int8: pairs of QuantizeLinear and DequantizeLinear around ONNX's own
ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.exporter.block import ExportedBlock, rank_of, rule, static
from actorflow.exchange.onnx.exporter.networks import OnnxLayout
from actorflow.exchange.onnx.exporter.shapes import axes
from actorflow.graph.tensor import Operation, Tensor


def _stepped(block: ExportedBlock, op: Operation, x: str) -> str:
    """`x`, rounded to steps: by a single scale, or by a scale for each row that is measured in the run. The pair stands right
    before the op, where runtimes look for it."""
    signed, limit = op.attrs["signed"], op.attrs["limit"]
    kind, most = (np.int8, 127) if signed else (np.uint8, 255)
    if limit:
        scale, zero = block.constant(np.float32(np.float32(limit) / np.float32(most))), block.constant(kind(0))
        return _there_and_back(block, x, scale, zero)
    every = axes(block, *range(1, rank_of(op.inputs[0])))
    top = block.node("ReduceMax", block.node("Abs", x) if signed else x, every, keepdims=0)
    top = block.node("Max", top, block.constant(np.finfo(np.float32).tiny))
    scale = block.node("Div", top, block.constant(np.float32(most)))
    zeros = block.node("ConstantOfShape", block.node("Shape", scale), value=np.zeros(1, kind))
    return _there_and_back(block, x, scale, zeros, axis=0)


def _there_and_back(block: ExportedBlock, x: str, scale: str, zero: str, **attrs: Any) -> str:
    whole = block.node("QuantizeLinear", x, scale, zero, **attrs)
    return str(block.node("DequantizeLinear", whole, scale, zero, **attrs))


def _known(tensor: Tensor) -> Any:
    constant = static(tensor)
    if constant is None:
        raise UnimplementedError("Weights of int8 are constants in ONNX.")
    return constant


def _weights(block: ExportedBlock, op: Operation, values: Any, axis: int) -> str:
    """The weights as int8, with the scales that bring them back."""
    whole = block.constant(np.ascontiguousarray(values), name=op.inputs[1].op.name)
    scales = np.asarray(_known(op.inputs[2]))
    zeros = block.constant(np.zeros(scales.shape, np.int8))
    return str(block.node("DequantizeLinear", whole, block.constant(scales), zeros, axis=axis))


def _finished(block: ExportedBlock, op: Operation, value: str, *, channel_axis: int) -> str:
    bias = _known(op.inputs[3])
    if np.any(bias):
        shape = [-1] + [1] * (rank_of(op.outputs[0]) - 1 - channel_axis)
        value = block.node("Add", value, block.constant(np.reshape(bias, shape)))
    if op.attrs["activation"] == "Relu6":
        return str(block.node("Clip", value, block.constant(np.float32(0)), block.constant(np.float32(6))))
    return str(block.node("Relu", value)) if op.attrs["activation"] else value


@rule("Int8MatMul")
def int8_matmul(block: ExportedBlock, op: Operation) -> str:
    weights = _weights(block, op, _known(op.inputs[1]), 1)
    return _finished(
        block, op, block.node("MatMul", _stepped(block, op, block.get(op.inputs[0])), weights), channel_axis=1
    )


@rule("Int8Conv2D")
def int8_conv2d(block: ExportedBlock, op: Operation) -> str:
    values = np.asarray(_known(op.inputs[1]))
    channels = (op.inputs[0].static_shape or (None,))[-1]
    if channels is None:
        raise UnimplementedError("The channels of a convolution are not known.")
    layout = OnnxLayout(op, 4)
    dilations = layout.sizes(op.attrs["dilations"])
    x = _stepped(block, op, layout.inward(block, block.get(op.inputs[0])))
    output = block.node(
        "Conv", x, _weights(block, op, np.transpose(values, [3, 2, 0, 1]), 0),
        strides=layout.sizes(op.attrs["strides"]), dilations=dilations, group=channels // values.shape[2],
        **layout.padding(op, list(values.shape[:2]), dilations),
    )  # fmt: skip
    return layout.outward(block, _finished(block, op, output, channel_axis=1))
