"""Builders of ops that undo windows, or look over channels: MaxUnpool, Col2Im, LRN."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import actorflow as af
from actorflow.exchange.onnx.builders.common import (
    computed,
    element,
    known,
    moved,
    number,
    rank_of,
    shaped,
    size_of,
    vector,
    whole,
    widened,
)
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op


@onnx_op("MaxUnpool")
def max_unpool(node: OnnxNode, x: Any, places: Any, sizes: Any = None) -> Any:
    space = rank_of(x) - 2
    kernel, strides = node.required("kernel_shape"), node.attr("strides") or [1] * space
    pads = node.attr("pads") or [0] * (2 * space)
    inner = [
        (size_of(x, at + 2) - 1) * t + k - pads[at] - pads[at + space] for at, (t, k) in enumerate(zip(strides, kernel))
    ]
    shape = vector([size_of(x, 0), size_of(x, 1), *inner])
    flat = af.scatter_nd(af.reshape(places, [-1, 1]), af.reshape(x, [-1]), af.reduce_prod(shape, keepdims=True))
    unpooled = af.reshape(flat, shape)
    if sizes is None:
        return unpooled
    after = af.cast(sizes, af.int64) - shape  # places count in the smaller shape
    return af.pad(unpooled, af.stack([af.zeros_like(after), after], 1))


@onnx_op("Col2Im")
def col2im(node: OnnxNode, x: Any, image: Any, block: Any) -> Any:
    (space,) = known(vector([size_of(block, 0)]), "The number of dimensions of an image")
    strides, dilations = node.attr("strides") or [1] * space, node.attr("dilations") or [1] * space
    pads = node.attr("pads") or [0] * (2 * space)
    sizes, kernel = ([element(values, at) for at in range(space)] for values in (image, block))
    outer = [size + pads[at] + pads[at + space] for at, size in enumerate(sizes)]

    def places(*numbers: Any) -> Any:
        outer, kernel = numbers[:space], numbers[space:]
        flat = shaped(af.range_(prod(map(whole, outer))), outer)
        for at, (size, width) in enumerate(zip(outer, kernel)):
            count = (whole(size) - (whole(width) - 1) * dilations[at] - 1) // np.int64(strides[at]) + 1
            steps = af.range_(whole(width)) * np.int64(dilations[at])
            index = af.expand_dims(steps, 1) + af.range_(count) * np.int64(strides[at])
            flat = af.gather(flat, index, axis=2 * at)
        return af.reshape(af.transpose(flat, [*range(0, 2 * space, 2), *range(1, 2 * space, 2)]), [-1, 1])

    flat = computed(places, *outer, *kernel)
    batch, channels = size_of(x, 0), size_of(x, 1) // prod(kernel)
    columns = shaped(x, [batch, channels, -1])
    summed = af.scatter_nd(flat, moved(columns, 2, 0), vector([prod(outer), batch, channels]))
    padded_image = shaped(moved(summed, 0, 2), [batch, channels, *outer])
    return padded_image[
        (slice(None), slice(None), *(slice(pads[at], pads[at] + size) for at, size in enumerate(sizes)))
    ]


@onnx_op("LRN")
def local_response(node: OnnxNode, x: Any) -> Any:
    size = node.required("size")
    before = (size - 1) // 2
    rank = rank_of(x)

    def normalised(x: Any) -> Any:
        squares = af.pad(x * x, [(0, 0), (before, size - 1 - before), *[(0, 0)] * (rank - 2)])
        total = af.cumsum(af.pad(squares, [(0, 0), (1, 0), *[(0, 0)] * (rank - 2)]), axis=1)
        sums = total[:, size:] - total[:, :-size]
        scale = number(node.attr("alpha", 1e-4) / size, x)
        return x / af.pow(number(node.attr("bias", 1.0), x) + scale * sums, number(node.attr("beta", 0.75), x))

    return widened(normalised, x)
