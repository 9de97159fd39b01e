"""Rules of products, convolutions, pools, normalisations, images."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.exporter.block import ExportedBlock, rank_of, rule, static
from actorflow.exchange.onnx.exporter.shapes import axes, moved
from actorflow.graph.tensor import Operation, Tensor


@rule("MatMul", "BatchMatMulV2")
def matmul(block: ExportedBlock, op: Operation) -> str:
    names = [("transpose_a", "transpose_b"), ("adj_x", "adj_y")][op.type == "BatchMatMulV2"]
    values = []
    for tensor, name in zip(op.inputs, names):
        rank = rank_of(tensor)
        turned = [*range(rank - 2), rank - 1, rank - 2] if op.attrs[name] else list(range(rank))
        values.append(reordered(block, tensor, turned))
    return str(block.node("MatMul", *values))


def reordered(block: ExportedBlock, tensor: Tensor, order: list[int]) -> str:
    """A tensor with its dimensions in another order: a constant is turned here."""
    constant = static(tensor) if order != sorted(order) else None
    if constant is not None:
        return block.constant(np.ascontiguousarray(np.transpose(constant, order)), name=tensor.op.name)
    return moved(block, block.get(tensor), order)


@rule("Einsum")
def einsum(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Einsum", *block.inputs(op), equation=op.attrs["equation"]))


@rule("BiasAdd")
def bias_add(block: ExportedBlock, op: Operation) -> str:
    x, bias = block.inputs(op)
    rank = rank_of(op.inputs[0])
    if op.attrs["data_format"] != "NHWC" and rank > 2:
        bias = block.node("Unsqueeze", bias, axes(block, *range(1, rank - 1)))
    return str(block.node("Add", x, bias))


class OnnxLayout:
    """The places of dimensions in an op's layout, and its attributes without batch and channels."""

    def __init__(self, op: Operation, rank: int) -> None:
        self.last = not op.attrs.get("data_format", "NHWC").startswith("NC")
        self.rank = rank
        self.space = slice(1, -1) if self.last else slice(2, None)

    def inward(self, block: ExportedBlock, value: str) -> str:
        return moved(
            block, value, [0, self.rank - 1, *range(1, self.rank - 1)] if self.last else list(range(self.rank))
        )

    def outward(self, block: ExportedBlock, value: str) -> str:
        return moved(block, value, [0, *range(2, self.rank), 1] if self.last else list(range(self.rank)))

    def sizes(self, values: Any) -> list[int]:
        numbers = list(values)
        return numbers[self.space] if len(numbers) == self.rank else numbers

    def padding(self, op: Operation, kernel: list[int], dilations: list[int]) -> dict[str, Any]:
        """The attributes that say what is put around: by numbers where the sizes are known."""
        kind = op.attrs["padding"]
        if kind == "VALID":
            return {}
        if kind != "SAME":
            pairs = kind if kind != "EXPLICIT" else op.attrs["explicit_paddings"]
            return {"pads": [int(n) for n in np.reshape(pairs, [-1, 2])[self.space].T.reshape(-1)]}
        sizes = self.sizes(op.inputs[0].static_shape or ())
        strides, reaches = self.sizes(op.attrs["strides"]), [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
        totals: list[int] = []
        for size, stride, reach in zip(sizes, strides, reaches):
            if size is None and stride > 1:
                if max(dilations) > 1:
                    raise UnimplementedError("A dilated convolution with padding 'SAME' needs known sizes.")
                return {"auto_pad": "SAME_UPPER"}
            totals.append(reach - 1 if size is None else max((-(-size // stride) - 1) * stride + reach - size, 0))
        return {"pads": [total // 2 for total in totals] + [total - total // 2 for total in totals]}


@rule("Conv2D", "Conv3D", "DepthwiseConv2dNative")
def conv(block: ExportedBlock, op: Operation) -> str:
    """Filters have the channels in front in ONNX."""
    x, filters = op.inputs
    rank = rank_of(x)
    layout = OnnxLayout(op, rank)
    group = 1
    shape = filters.static_shape
    channels = x.static_shape[-1 if layout.last else 1] if x.static_shape else None
    if channels is None and op.type == "DepthwiseConv2dNative" and shape is not None:
        channels = shape[2]  # each channel has filters of its own
    if shape is None or channels is None or None in shape:
        raise UnimplementedError("The channels of a convolution are not known.")
    if op.type == "DepthwiseConv2dNative":
        group = channels
        weights = reordered(block, filters, [2, 3, 0, 1])
        sizes = np.array([shape[2] * shape[3], 1, shape[0], shape[1]], np.int64)  # type: ignore[operator]
        weights = block.node("Reshape", weights, block.constant(sizes))
    else:
        group = channels // shape[-2]  # type: ignore[operator]
        weights = reordered(block, filters, [rank - 1, rank - 2, *range(rank - 2)])
    dilations = layout.sizes(op.attrs.get("dilations") or [1] * rank)
    output = block.node(
        "Conv", layout.inward(block, block.get(x)), weights,
        strides=layout.sizes(op.attrs["strides"]), dilations=dilations,
        group=group, **layout.padding(op, list(shape[:-2]), dilations),  # type: ignore[arg-type]
    )  # fmt: skip
    return layout.outward(block, output)


_POOLS = {"MaxPool": "MaxPool", "MaxPool3D": "MaxPool", "AvgPool": "AveragePool", "AvgPool3D": "AveragePool"}


@rule(*_POOLS)
def pool(block: ExportedBlock, op: Operation) -> str:
    rank = rank_of(op.inputs[0])
    layout = OnnxLayout(op, rank)
    kernel, strides = layout.sizes(op.attrs["ksize"]), layout.sizes(op.attrs["strides"])
    if len(list(op.attrs["ksize"])) == rank and (
        op.attrs["ksize"][0] != 1 or op.attrs["ksize"][-1 if layout.last else 1] != 1
    ):
        raise UnimplementedError("ONNX has no pools over channels or the batch.")
    source = layout.inward(block, block.get(op.inputs[0]))
    return layout.outward(
        block,
        block.node(
            _POOLS[op.type],
            source,
            kernel_shape=kernel,
            strides=strides,
            **layout.padding(op, kernel, [1] * len(kernel)),
        ),
    )


@rule("FusedBatchNormV3")
def batch_norm(block: ExportedBlock, op: Operation) -> list[str]:
    if op.attrs["is_training"]:
        raise UnimplementedError("A batch normalization in training has no form for inference: give training=False.")
    layout = OnnxLayout(op, rank_of(op.inputs[0]))
    x, *rest = block.inputs(op)
    output = block.node("BatchNormalization", layout.inward(block, x), *rest, epsilon=float(op.attrs["epsilon"]))
    return [layout.outward(block, output), *rest[2:], *rest[2:]]


@rule("LRN")
def local_response(block: ExportedBlock, op: Operation) -> str:
    radius = op.attrs["depth_radius"]
    size = 2 * radius + 1
    source = moved(block, block.get(op.inputs[0]), [0, 3, 1, 2])
    output = block.node(
        "LRN",
        source,
        size=size,
        alpha=float(op.attrs["alpha"]) * size,
        beta=float(op.attrs["beta"]),
        bias=float(op.attrs["bias"]),
    )
    return moved(block, output, [0, 2, 3, 1])


@rule("SpaceToDepth", "DepthToSpace")
def blocks(block: ExportedBlock, op: Operation) -> str:
    layout = OnnxLayout(op, 4)
    attrs: dict[str, Any] = {"mode": "DCR"} if op.type == "DepthToSpace" else {}
    output = block.node(
        op.type, layout.inward(block, block.get(op.inputs[0])), blocksize=op.attrs["block_size"], **attrs
    )
    return layout.outward(block, output)


@rule("ResizeBilinear", "ResizeNearestNeighbor")
def resize(block: ExportedBlock, op: Operation) -> str:
    linear = op.type == "ResizeBilinear"
    corners, half = op.attrs["align_corners"], op.attrs["half_pixel_centers"]
    mode = "align_corners" if corners else "half_pixel" if half else "asymmetric"
    source = moved(block, block.get(op.inputs[0]), [0, 3, 1, 2])
    shape = op.inputs[0].static_shape or ()
    sizes = block.node("Concat", block.node("Shape", source, end=2), block.whole(op.inputs[1]), axis=0)
    if None not in shape and static(op.inputs[1]) is not None:
        height, width = (int(size) for size in static(op.inputs[1]))
        sizes = block.constant(np.array([shape[0], shape[3], height, width], np.int64))
    if linear and op.inputs[0].dtype.name != "float32":
        source = block.node("Cast", source, to=1)
    output = block.node(
        "Resize", source, "", "", sizes, mode="linear" if linear else "nearest", coordinate_transformation_mode=mode,
        nearest_mode=None if linear else "round_prefer_ceil" if corners or half else "floor",
    )  # fmt: skip
    return moved(block, output, [0, 2, 3, 1])
