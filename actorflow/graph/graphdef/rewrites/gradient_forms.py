"""Ops that TensorFlow has for gradients alone: their nodes are built of the ops that actorflow's gradients use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorflow.base.dtypes import int32
from actorflow.graph.graphdef.rewrites.attributes import Attributes, Form
from actorflow.graph.ops.array import constant, gather, shape, sort, unique
from actorflow.graph.ops.math import cast, elementwise, segment
from actorflow.graph.ops.nn import normalization
from actorflow.graph.tensor import Tensor


def _batch_norm_grad(a: Attributes, t: Sequence[Tensor]) -> Any:
    options = {name: a(name, default) for name, default in (("epsilon", 1e-4), ("is_training", True))}
    y, x, scale, mean, variance = t
    return normalization.fused_batch_norm_grad(
        y, x, scale, mean, variance, variance, data_format=a("data_format", "NHWC"), **options
    )


def _rows(a: Attributes, dy: Tensor, segments: Tensor) -> Tensor:
    """For each row that a segment sums the gradient that it gets."""
    rows = gather.gather(dy, segments)
    if "Sum" in a.op:
        return rows
    ones = constant.ones(shape.shape(segments), int32)
    counts = segment.unsorted_segment_sum(ones, segments, shape.shape(dy)[0])
    sizes = cast.cast(gather.gather(counts, segments), dy.dtype)
    share = elementwise.rsqrt(sizes) if "SqrtN" in a.op else elementwise.reciprocal(sizes)
    if dy.static_shape is None:
        raise a.refuse("has a gradient of unknown rank")
    return rows * shape.reshape(share, [-1] + [1] * (len(dy.static_shape) - 1))


def _of_segments(a: Attributes, t: Sequence[Tensor]) -> Tensor:
    dy, indices, segments, count = t
    return segment.unsorted_segment_sum(_rows(a, dy, segments), indices, count)


def _of_segments_by_rows(a: Attributes, t: Sequence[Tensor]) -> list[Tensor]:
    """The rows that are not zero, and their numbers."""
    dy, indices, segments, _ = t
    numbers, places = unique.unique(sort.sort(indices))[0], sort.argsort(indices)
    order = unique.unique(gather.gather(indices, places))[1]
    rows = gather.gather(_rows(a, dy, segments), places)
    return [segment.unsorted_segment_sum(rows, order, shape.size(numbers)), numbers]


GRADIENT_FORMS: Mapping[str, Form] = {
    "FusedBatchNormGrad": _batch_norm_grad,
    "FusedBatchNormGradV2": _batch_norm_grad,
    "InvGrad": lambda a, t: -t[1] * t[0] * t[0],
    "ReciprocalGrad": lambda a, t: -t[1] * t[0] * t[0],
    "RsqrtGrad": lambda a, t: t[1] * -0.5 * t[0] * t[0] * t[0],
    "SoftplusGrad": lambda a, t: t[0] * elementwise.sigmoid(t[1]),
    "SparseSegmentMeanGrad": _of_segments,
    "SparseSegmentMeanGradV2": _of_segments_by_rows,
    "SparseSegmentSqrtNGrad": _of_segments,
    "SparseSegmentSqrtNGradV2": _of_segments_by_rows,
    "SparseSegmentSumGrad": _of_segments,
    "SparseSegmentSumGradV2": _of_segments_by_rows,
    "SqrtGrad": lambda a, t: t[1] * 0.5 / t[0],
}
"""For each op how it is built."""
