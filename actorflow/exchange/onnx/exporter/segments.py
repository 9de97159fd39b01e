"""Rules of sums, products and extremes of rows by numbers of segments, and of shapes that are broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.exporter.block import ExportedBlock, rank_of, rule
from actorflow.exchange.onnx.exporter.shapes import INT64, axes
from actorflow.graph.tensor import Operation


def _lowest(kind: Any) -> Any:
    return kind.min if kind.is_integer else np.finfo(kind.numpy_dtype).min


def _highest(kind: Any) -> Any:
    return kind.max if kind.is_integer else np.finfo(kind.numpy_dtype).max


_REDUCTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "UnsortedSegmentSum": ("add", lambda kind: 0),
    "UnsortedSegmentProd": ("mul", lambda kind: 1),
    "UnsortedSegmentMax": ("max", _lowest),
    "UnsortedSegmentMin": ("min", _highest),
}


@rule(*_REDUCTIONS)
def unsorted_segments(block: ExportedBlock, op: Operation) -> str:
    """Rows of a negative number count nowhere: they go into a segment behind the last segment, and it is cut off."""
    data, numbers, count = op.inputs
    reduction, first = _REDUCTIONS[op.type]
    kind = data.dtype.base_dtype
    total = block.node("Reshape", block.whole(count), axes(block, 1))
    more = block.node("Add", total, axes(block, 1))
    places = block.whole(numbers)
    inside = block.node("Where", block.node("Less", places, block.constant(np.int64(0))), total, places)
    sizes = block.node("Concat", more, block.node("Shape", block.get(data), start=rank_of(numbers)), axis=0)
    empty = block.node("ConstantOfShape", sizes, value=np.array([first(kind)], kind.numpy_dtype))
    scattered = block.node(
        "ScatterND", empty, block.node("Unsqueeze", inside, axes(block, -1)), block.get(data), reduction=reduction
    )
    return str(block.node("Slice", scattered, axes(block, 0), total, axes(block, 0)))


@rule("BroadcastArgs")
def broadcast_args(block: ExportedBlock, op: Operation) -> str:
    """The longer of two shapes, with the sizes of the other shape in the place of 1."""
    lengths = [None if tensor.static_shape is None else tensor.static_shape[0] for tensor in op.inputs]
    if None in lengths:
        raise UnimplementedError("The ranks of shapes that are broadcast are not known.")
    longest = max(length for length in lengths if length is not None)
    wide = []
    for value, length in zip(map(block.whole, op.inputs), lengths):
        ones = block.constant(np.ones(longest - (length or 0), np.int64))
        wide.append(value if length == longest else block.node("Concat", ones, value, axis=0))
    sizes = block.node("Where", block.node("Equal", wide[0], block.constant(np.int64(1))), wide[1], wide[0])
    return block.cast(sizes, INT64, op.outputs[0].dtype)
