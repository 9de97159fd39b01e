"""The float operations of a node, as TensorFlow's statistics count them; 0 for other types, and for shapes that are not known."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

_EACH_INPUT = {
    "Reciprocal": 1,
    "Square": 1,
    "Rsqrt": 2,
    "Log": 1,
    "Neg": 1,
    "AssignSub": 1,
    "AssignAdd": 1,
    "Softmax": 5,
}
_COMPARISONS = ("GreaterEqual", "Greater", "LessEqual", "Less", "Equal", "NotEqual")
_ARITHMETIC = ("Add", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "BiasAdd")
_EACH_OUTPUT = {**dict.fromkeys((*_COMPARISONS, *_ARITHMETIC), 1), "RsqrtGrad": 4, "SquaredDifference": 2}
_REDUCTIONS = {"Mean": 1, "Sum": 0, "ArgMax": 0, "ArgMin": 0, "BiasAddGrad": 0}
"""The operations for each result beside those for each input but the first."""


class _UnknownShapeError(Exception):
    pass


def float_operations(node: Any) -> int:
    """The float operations of an operation of a graph."""
    try:
        return _counted(node)
    except _UnknownShapeError:
        return 0


def _counted(node: Any) -> int:
    kind = "Add" if node.type == "AddV2" else node.type
    if kind in _EACH_INPUT:
        return _size(node.inputs[0]) * _EACH_INPUT[kind]
    if kind in _EACH_OUTPUT:
        return _size(node.outputs[0]) * _EACH_OUTPUT[kind]
    if kind in _REDUCTIONS:
        return _size(node.inputs[0]) + _size(node.outputs[0]) * (_REDUCTIONS[kind] - 1)
    return _OTHERS[kind](node) if kind in _OTHERS else 0


def _shape(tensor: Any) -> tuple[int, ...]:
    shape = tensor.static_shape
    if shape is None or None in shape:
        raise _UnknownShapeError
    return tuple(shape)


def _size(tensor: Any) -> int:
    return prod(_shape(tensor))


def _area(node: Any) -> int:
    return prod(node.get_attr("ksize"))


def _matmul(node: Any) -> int:
    inner = _shape(node.inputs[0])[0 if node.get_attr("transpose_a") else 1]
    return 2 * int(inner) * _size(node.outputs[0])


def _conv(node: Any) -> int:
    return 2 * _size(node.outputs[0]) * prod(_shape(node.inputs[1])[:3])


def _depthwise(node: Any) -> int:
    return 2 * _size(node.outputs[0]) * prod(_shape(node.inputs[1])[:2])


def _conv_gradient(kernel: Callable[[Any], Any], image: Callable[[Any], Any]) -> Callable[[Any], int]:
    def count(node: Any) -> int:
        strides = node.get_attr("strides")
        shape = _shape(image(node))
        return 2 * prod(shape) * _size(kernel(node)) // int(shape[-1] * strides[1] * strides[2])

    return count


_OTHERS: dict[str, Callable[[Any], int]] = {
    "L2Loss": lambda node: 3 * _size(node.inputs[0]) - 1,
    "AddN": lambda node: _size(node.inputs[0]) * (len(node.inputs) - 1),
    "MatMul": _matmul,
    "Conv2D": _conv,
    "DepthwiseConv2dNative": _depthwise,
    "AvgPool": lambda node: _area(node) * _size(node.outputs[0]),
    "MaxPool": lambda node: _area(node) * _size(node.outputs[0]),
    "AvgPoolGrad": lambda node: 2 * _area(node) * _size(node.inputs[1]),
    "MaxPoolGrad": lambda node: (_area(node) + 1) * _size(node.inputs[1]),
    "Conv2DBackpropInput": _conv_gradient(lambda node: node.inputs[1], lambda node: node.outputs[0]),
    "Conv2DBackpropFilter": _conv_gradient(lambda node: node.outputs[0], lambda node: node.inputs[0]),
}
