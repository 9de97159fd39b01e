"""Nodes in their newest form: what older versions of an op wrote differently.

Most of it is attributes that became inputs. The builders so know one version of each op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.nodes import OnnxNode, raw
from actorflow.exchange.onnx.values import dtype_of, ints, shape_of
from actorflow.graph.ops.array.constant import fill, ones
from actorflow.graph.ops.array.shape import reshape, shape

RENAMED = {"Scatter": "ScatterElements", "Upsample": "Resize"}

_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater")
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
_TO = {
    "FLOAT": 1, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5, "INT32": 6, "INT64": 7, "STRING": 8, "BOOL": 9, "FLOAT16": 10,
    "DOUBLE": 11, "UINT32": 12, "UINT64": 13, "COMPLEX64": 14, "COMPLEX128": 15,
}  # fmt: skip

UPGRADES: dict[str, list[tuple[int, Callable[[OnnxNode], None]]]] = {}
"""For each op: the version from which on it is written as now, and what brings a node of a version before to that form."""


def upgraded(node: OnnxNode) -> OnnxNode:
    """The node in its newest form. It is changed in place."""
    if node.domain:
        return node
    for before, change in UPGRADES.get(node.op, ()):
        if node.opset < before:
            change(node)
    node.op = RENAMED.get(node.op, node.op)
    return node


def _upgrade(before: int, *ops: str) -> Callable[[Callable[[OnnxNode], None]], Callable[[OnnxNode], None]]:
    def entered(change: Callable[[OnnxNode], None]) -> Callable[[OnnxNode], None]:
        for op in ops:
            UPGRADES.setdefault(op, []).append((before, change))
        return change

    return entered


def _moved(*places: tuple[str, int], like: int | None = None) -> Callable[[OnnxNode], None]:
    """Attributes that became inputs: of int64, or of the type of input `like`."""

    def change(node: OnnxNode) -> None:
        for name, at in places:
            if name in node.attrs:
                kind = np.int64 if like is None else dtype_of(node.inputs[like]).numpy_dtype
                node.set_input(at, np.asarray(node.attrs.pop(name), kind))

    return change


_upgrade(13, "Squeeze", "Unsqueeze", "ReduceSum")(_moved(("axes", 1)))
_upgrade(18, *(f"Reduce{name}" for name in _REDUCTIONS))(_moved(("axes", 1)))
_upgrade(13, "Split")(_moved(("split", 1)))
_upgrade(5, "Reshape")(_moved(("shape", 1)))
_upgrade(10, "TopK")(_moved(("k", 1)))
_upgrade(10, "Slice")(_moved(("starts", 1), ("ends", 2), ("axes", 3)))
_upgrade(11, "Clip")(_moved(("min", 1), ("max", 2), like=0))
_upgrade(20, "DFT")(_moved(("axis", 2)))


@_upgrade(20, "DFT")
def _old_axis(node: OnnxNode) -> None:
    if node.input(2) is None:
        node.set_input(2, np.asarray(1, np.int64))


@_upgrade(11, "Pad")
def _pads(node: OnnxNode) -> None:
    pads = node.attrs.pop("pads", node.attrs.pop("paddings", None))
    if pads is None:
        raise InvalidArgumentError(f"The attribute 'pads' is missing in {node}.")
    node.set_input(1, np.asarray(pads, np.int64))
    node.set_input(2, np.asarray(node.attrs.pop("value", 0.0), dtype_of(node.inputs[0]).numpy_dtype))


@_upgrade(6, "Tile")
def _tiles(node: OnnxNode) -> None:
    count, axis = ints(node.input(1)), ints(node.input(2))
    if count is None or axis is None:
        raise InvalidArgumentError(f"tiles and axis of {node} are known in a run only, which opset 6 has no more.")
    repeats = [1] * len(shape_of(node.inputs[0]) or ())
    repeats[axis[0]] = count[0]
    node.inputs[1:] = [np.asarray(repeats, np.int64)]


@_upgrade(7, *_ARITHMETIC)
def _broadcast(node: OnnxNode) -> None:
    """The second operand lies along the first one's dimensions from `axis` on."""
    axis = node.attrs.pop("axis", None)
    node.attrs.pop("consumed_inputs", None)
    if not node.attrs.pop("broadcast", 0) or axis is None:
        return
    left, right = shape_of(node.inputs[0]), shape_of(node.inputs[1])
    if left is None or right is None:
        raise InvalidArgumentError(f"The rank of an operand of {node} is not known, but its axis {axis} counts by it.")
    axis = axis + len(left) if axis < 0 else axis
    behind = len(left) - axis - len(right)
    if behind > 0:
        node.inputs[1] = reshape(node.inputs[1], np.concatenate([_sizes(node.inputs[1]), np.ones(behind, np.int64)]))


def _sizes(value: Any) -> Any:
    sizes = shape_of(value) or ()
    return np.array([-1 if size is None else size for size in sizes], np.int64)


@_upgrade(7, "PRelu")
def _slope(node: OnnxNode) -> None:
    slope, source = shape_of(node.inputs[1]), shape_of(node.inputs[0])
    if slope is not None and source is not None and len(slope) == 1 and len(source) > 2 and slope[0] != 1:
        node.inputs[1] = reshape(node.inputs[1], [slope[0] or -1, *[1] * (len(source) - 2)])


@_upgrade(9, "PRelu")
def _channel_slope(node: OnnxNode) -> None:
    """Files of that time give one slope for each channel, as a vector."""
    slope, source = shape_of(node.inputs[1]), shape_of(node.inputs[0])
    if slope is None or source is None or len(slope) != 1 or len(source) < 3 or slope[0] in (1, source[-1]):
        return
    if slope[0] == source[1]:
        node.inputs[1] = reshape(node.inputs[1], [slope[0], *[1] * (len(source) - 2)])


@_upgrade(13, "Softmax", "LogSoftmax", "Hardmax")
def _flattened(node: OnnxNode) -> None:
    """All dimensions from `axis` on are the classes. The builders know this as `flat`."""
    node.attrs["flat"] = node.attrs.pop("axis", 1)


@_upgrade(6, "Cast")
def _named_type(node: OnnxNode) -> None:
    to = node.attrs.get("to")
    if isinstance(to, str):
        if to not in _TO:
            raise InvalidArgumentError(f"'to' of {node} is {to!r}, which is no element type.")
        node.attrs["to"] = _TO[to]


@_upgrade(4, "Concat")
def _concat_axis(node: OnnxNode) -> None:
    node.attrs.setdefault("axis", 1)


@_upgrade(12, "Dropout")
def _dropout(node: OnnxNode) -> None:
    ratio = node.attrs.pop("ratio", 0.5)
    training = node.opset < 7 and not node.attrs.pop("is_test", 0)
    node.inputs[1:] = [np.asarray(ratio, np.float32), np.asarray(training)]


@_upgrade(14, "BatchNormalization")
def _batch_norm(node: OnnxNode) -> None:
    """Before version 7 `is_test` said whether the averages are used, and a file of a trained model leaves it out. Later files
    mean a trained model as well if they do not ask for the averages as outputs."""
    if not node.attrs.pop("spatial", 1):
        raise InvalidArgumentError(f"{node} has spatial=0: a mean for each place, which ONNX has no more.")
    node.outputs = node.outputs[:1]


@_upgrade(10, "Upsample")
def _upsample(node: OnnxNode) -> None:
    scales = node.attrs.pop("scales", None)
    if scales is None and "width_scale" in node.attrs:
        scales = [1.0, 1.0, node.attrs.pop("height_scale"), node.attrs.pop("width_scale")]
    if scales is not None:
        node.set_input(1, np.asarray(scales, np.float32))


@_upgrade(10**9, "Upsample")
def _resize_of_upsample(node: OnnxNode) -> None:
    node.inputs = [node.inputs[0], None, node.input(1)]
    node.attrs |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if node.attrs.get("mode") == "bilinear":
        node.attrs["mode"] = "linear"


@_upgrade(11, "Resize")
def _resize(node: OnnxNode) -> None:
    node.inputs = [node.inputs[0], None, node.input(1)]
    node.attrs |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


@_upgrade(21, "GroupNormalization")
def _group_norm(node: OnnxNode) -> None:
    """A scale for each group; newer files have a scale for each channel."""
    channels = (shape_of(node.inputs[0]) or (None, None))[1]
    groups = node.required("num_groups")
    if channels is None:
        raise InvalidArgumentError(f"The number of channels of {node} is not known.")
    for at in (1, 2):
        spread = ones([groups, channels // groups], dtype_of(node.inputs[at])) * reshape(node.inputs[at], [-1, 1])
        node.inputs[at] = reshape(spread, [-1])


@_upgrade(9, "MeanVarianceNormalization")
def _mean_variance(node: OnnxNode) -> None:
    across = node.attrs.pop("across_channels", 0)
    node.attrs.setdefault("axes", [0, 1, 2, 3] if across else [0, 2, 3])


@_upgrade(2, "GlobalLpPool", "LpPool")
def _whole_p(node: OnnxNode) -> None:
    node.attrs["p"] = int(node.attrs.get("p", 2))


@_upgrade(9, "ConstantFill")
def _constant_fill(node: OnnxNode) -> None:
    """An op of old files that never was in the standard."""
    source = node.input(0)
    sizes = shape(source) if source is not None else np.asarray(node.attrs.get("shape", []), np.int64)
    node.inputs = [fill(sizes, np.float32(node.attrs.get("value", 0.0)))]
    node.op = "Identity"


__all__ = ["RENAMED", "UPGRADES", "raw", "upgraded"]
