"""Rules of convolutions turned round, which are ONNX's ConvTranspose."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.exporter.block import ExportedBlock, rank_of, rule, static
from actorflow.exchange.onnx.exporter.networks import OnnxLayout, reordered
from actorflow.exchange.onnx.exporter.shapes import axes
from actorflow.graph.tensor import Operation


def _pads(op: Operation, layout: OnnxLayout, sizes: Any, reaches: Any, strides: Any) -> list[tuple[int, int]]:
    """The pads of the convolution that is turned round, before and behind its source of known sizes."""
    kind = op.attrs["padding"]
    if kind == "VALID":
        return [(0, 0)] * len(reaches)
    if kind != "SAME":
        pairs = kind if kind != "EXPLICIT" else op.attrs["explicit_paddings"]
        return [(int(a), int(b)) for a, b in np.reshape(pairs, [-1, 2])[layout.space]]
    if any(size is None for size in sizes):
        raise UnimplementedError("A convolution turned round with padding 'SAME' needs known sizes.")
    totals = [max((-(-size // s) - 1) * s + reach - size, 0) for size, s, reach in zip(sizes, strides, reaches)]
    return [(total // 2, total - total // 2) for total in totals]


@rule("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def conv_transpose(block: ExportedBlock, op: Operation) -> str:
    """The result of ONNX gets the sizes that are asked for: rows at its end are cut off, or are zeros."""
    size_tensor, filters, x = op.inputs
    rank = rank_of(x)
    layout, shape = OnnxLayout(op, rank), filters.static_shape
    channels = (op.outputs[0].static_shape or (None,) * rank)[-1 if layout.last else 1]
    if shape is None or None in shape:
        raise UnimplementedError("The filters of a convolution turned round are not known.")
    group = 1 if channels is None else channels // shape[-2]  # type: ignore[operator]
    strides = layout.sizes(op.attrs["strides"])
    dilations = layout.sizes(op.attrs.get("dilations") or [1] * rank)
    reaches = [(int(k) - 1) * d + 1 for k, d in zip(shape[:-2], dilations)]  # type: ignore[arg-type]
    own, target = layout.sizes(x.static_shape or ()), static(size_tensor)
    result: list[Any] = (
        [None] * len(own) if target is None else [int(n) for n in layout.sizes(np.asarray(target).tolist())]
    )
    if target is None and op.outputs[0].static_shape is not None:
        result = list(layout.sizes(op.outputs[0].static_shape))
    pads = _pads(op, layout, result, reaches, strides)
    weights = reordered(block, filters, [rank - 1, rank - 2, *range(rank - 2)])
    attrs: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": group}
    source = layout.inward(block, block.get(x))
    if None not in own and None not in result:
        full = [(n - 1) * s + reach for n, s, reach in zip(own, strides, reaches)]
        behind = [f - before - size for f, (before, _), size in zip(full, pads, result)]
        attrs["pads"] = [before for before, _ in pads] + [max(rest, 0) for rest in behind]
        attrs["output_padding"] = [max(-rest, 0) for rest in behind]
        if all(extra < max(s, d) for extra, s, d in zip(attrs["output_padding"], strides, dilations)):
            return layout.outward(block, block.node("ConvTranspose", source, weights, **attrs))
        attrs["output_padding"] = None
    if any(before or after for before, after in pads):
        attrs["pads"] = [before for before, _ in pads] + [after for _, after in pads]
    output = block.node("ConvTranspose", source, weights, **attrs)
    spatial = axes(block, *range(1, rank - 1)) if layout.last else axes(block, *range(2, rank))
    sizes = block.node("Gather", block.whole(size_tensor), spatial, axis=0)
    missing = block.node("Sub", sizes, block.node("Shape", output, start=2))
    begin = block.constant(np.zeros(rank - 2, np.int64))
    output = block.node("Pad", output, block.node("Concat", begin, missing, axis=0), "", axes(block, *range(2, rank)))
    return layout.outward(block, output)
