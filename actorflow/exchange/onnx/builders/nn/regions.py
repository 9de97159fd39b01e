"""Regions of images: RoiAlign, NonMaxSuppression, DeformConv."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import in_int32, known, number, rank_of, shaped, size_of, vector, whole
from actorflow.exchange.onnx.builders.nn.sampling import clipped, count, sampled
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import NotKnownError, dtype_of, static


@onnx_op("NonMaxSuppression")
def non_max_suppression(
    node: OnnxNode, boxes: Any, scores: Any, most: Any = None, overlap: Any = None, least: Any = None
) -> Any:
    """For each image and class the boxes of highest scores: rows of image, class and box."""
    limit = np.int32(0) if most is None else af.maximum(in_int32(af.reshape(most, [])), np.int32(0))
    threshold = np.float32(0) if overlap is None else af.reshape(overlap, [])
    if node.attr("center_point_box", 0):
        middle, half = boxes[..., :2], boxes[..., 2:] / np.float32(2)
        boxes = af.concat([middle - half, middle + half], -1)

    def chosen(image: Any, class_: Any) -> Any:
        own, count = scores[image, class_], limit
        if least is not None:  # boxes of a lower score come last, so that it is enough to count the others
            above = af.reduce_sum(af.cast(own > af.reshape(least, []), af.int32))
            own = af.where_v2(own > af.reshape(least, []), own, np.float32(-np.inf))
            count = af.minimum(limit, above)
        places = af.image.non_max_suppression(boxes[image], own, count, threshold)
        place = af.broadcast_to(vector([image, class_]), af.stack([af.shape(places)[0], 2]))
        return af.concat([place, af.expand_dims(af.cast(places, af.int64), 1)], 1)

    images, classes = size_of(scores, 0), size_of(scores, 1)
    if isinstance(images, int) and isinstance(classes, int):
        rows = [chosen(image, class_) for image in range(images) for class_ in range(classes)]
        return af.concat(rows, 0) if rows else np.zeros([0, 3], np.int64)

    def step(at: Any, rows: Any) -> Any:
        return at + np.int64(1), af.concat([rows, chosen(at // whole(classes), at % whole(classes))], 0)

    _, boxes_kept = af.while_loop(
        lambda at, _: at < whole(images) * whole(classes),
        step,
        [np.int64(0), np.zeros([0, 3], np.int64)],
        shape_invariants=[af.TensorShape([]), af.TensorShape([None, 3])],
    )
    return boxes_kept


@onnx_op("RoiAlign")
def roi_align(node: OnnxNode, x: Any, rois: Any, images: Any) -> Any:
    """The mean, or the largest, of values at places within each cell of a region."""
    height, width = size_of(x, 2), size_of(x, 3)
    rows, columns = node.attr("output_height", 1), node.attr("output_width", 1)
    half = (
        node.attr("coordinate_transformation_mode", "half_pixel" if node.opset >= 16 else "output_half_pixel")
        == "half_pixel"
    )
    corners = rois * number(node.attr("spatial_scale", 1.0), rois) - number(0.5 if half else 0.0, rois)
    left, top, right, bottom = (corners[:, at] for at in range(4))
    wide, high = right - left, bottom - top
    if not half:
        wide, high = af.maximum(wide, number(1, wide)), af.maximum(high, number(1, high))
    ratio = node.attr("sampling_ratio", 0)
    if ratio > 0:
        return _aligned(node, x, images, (top, left), (high, wide), (rows, columns), (ratio, ratio), (height, width))
    sizes = static(high), static(wide)
    if sizes[0] is None or sizes[1] is None:
        raise NotKnownError(f"sampling_ratio of {node} depends on the regions, which are not known.")
    parts = []
    for at in range(len(sizes[0])):
        grid = int(np.ceil(sizes[0][at] / rows)), int(np.ceil(sizes[1][at] / columns))
        own = slice(at, at + 1)
        parts.append(
            _aligned(
                node,
                x,
                images[own],
                (top[own], left[own]),
                (high[own], wide[own]),
                (rows, columns),
                grid,
                (height, width),
            )
        )
    return af.concat(parts, 0)


def _aligned(
    node: OnnxNode, x: Any, images: Any, first: Any, lengths: Any, cells: Any, grid: Any, sizes: tuple[Any, Any]
) -> Any:
    lines, inside = [], []
    for start, length, cell, samples, size in zip(first, lengths, cells, grid, sizes):
        at = (np.arange(cell * samples) + 0.5) / (cell * samples)
        place = af.expand_dims(start, 1) + af.expand_dims(length, 1) * number(at, length)
        inside.append(af.logical_and(place >= number(-1, place), place <= count(size, place)))
        lines.append(clipped(place, size))
    tall, broad = (count * samples for count, samples in zip(cells, grid))
    target = af.stack([af.shape(images)[0], tall, broad])
    places = [af.broadcast_to(lines[0][:, :, None], target), af.broadcast_to(lines[1][:, None, :], target)]
    counts = af.cast(af.logical_and(inside[0][:, :, None], inside[1][:, None, :]), x.dtype)
    source = af.gather(x, images)
    if node.attr("mode", "avg") == "max":
        picked = _largest_share(source, places, sizes) * counts[:, None]
    else:
        picked = sampled(source, places, sizes, "linear", "border") * counts[:, None]
    shape = [size_of(images, 0), size_of(x, 1), cells[0], grid[0], cells[1], grid[1]]
    parts = shaped(picked, shape)
    return (af.reduce_max if node.attr("mode", "avg") == "max" else af.reduce_mean)(parts, [3, 5])


def _largest_share(x: Any, places: Any, sizes: tuple[Any, Any]) -> Any:
    """Of the four elements around a place the largest product of value and weight, which is this op's maximum."""
    below = [af.floor(place) for place in places]
    rest = [place - low for place, low in zip(places, below)]
    largest = None
    for down in (0, 1):
        for right in (0, 1):
            corner = [clipped(low + number(step, low), size) for low, step, size in zip(below, (down, right), sizes)]
            shares = [r if step else number(1, r) - r for r, step in zip(rest, (down, right))]
            part = sampled(x, corner, sizes, "nearest", "border") * (shares[0] * shares[1])[:, None]
            largest = part if largest is None else af.maximum(largest, part)
    return largest


@onnx_op("DeformConv")
def deform_conv(node: OnnxNode, x: Any, weights: Any, offsets: Any, bias: Any = None, mask: Any = None) -> Any:
    """A convolution whose filter reads at places that are moved by `offsets`."""
    if rank_of(x) != 4:
        raise InvalidArgumentError(f"{node} is over {rank_of(x) - 2} dimensions; supported are two.")
    sizes = size_of(x, 2), size_of(x, 3)
    kernel = known(vector([size_of(weights, 2), size_of(weights, 3)]), "The size of the filters")
    out = size_of(offsets, 2), size_of(offsets, 3)
    strides, dilations = node.attr("strides") or [1, 1], node.attr("dilations") or [1, 1]
    pads, group, groups = node.attr("pads") or [0] * 4, node.attr("group", 1), node.attr("offset_group", 1)
    batch, channels = size_of(x, 0), size_of(x, 1)
    moved = shaped(offsets, [batch, groups, kernel[0], kernel[1], 2, *out])
    shares = None if mask is None else shaped(mask, [batch, groups, *kernel, *out])
    apart = af.split(x, groups, axis=1)
    lines = [af.range_(af.cast(whole(out[at]), dtype_of(x))) * number(strides[at], x) for at in range(2)]
    columns = []
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            parts = []
            for at in range(groups):
                begin = [number(step * d - pad, x) for step, d, pad in zip((row, column), dilations, pads)]
                down = moved[:, at, row, column, 0] + af.expand_dims(lines[0] + begin[0], 1)
                right = moved[:, at, row, column, 1] + af.expand_dims(lines[1] + begin[1], 0)
                part = sampled(apart[at], [down, right], sizes, "linear")
                parts.append(part if shares is None else part * shares[:, at, row, column][:, None])
            columns.append(af.concat(parts, 1) if groups > 1 else parts[0])
    taken = shaped(af.stack(columns, 2), [batch, group, channels // group * len(columns), out[0] * out[1]])
    filters = shaped(weights, [group, size_of(weights, 0) // group, -1])
    output = shaped(af.matmul(af.expand_dims(filters, 0), taken), [batch, size_of(weights, 0), *out])
    return output if bias is None else output + shaped(bias, [-1, 1, 1])
