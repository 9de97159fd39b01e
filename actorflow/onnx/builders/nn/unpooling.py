"""Builders of ops that undo windows, or look over channels: MaxUnpool, Col2Im, LRN."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import actorflow as af
from actorflow.onnx.builders.common import known, moved, number, rank_of, shaped, size_of, sizes_of, vector, widened
from actorflow.onnx.nodes import Node, onnx_op


@onnx_op("MaxUnpool")
def max_unpool(node: Node, x: Any, places: Any, sizes: Any = None) -> Any:
    space = rank_of(x) - 2
    kernel, strides = node.required("kernel_shape"), node.attr("strides") or [1] * space
    pads = node.attr("pads") or [0] * (2 * space)
    own = known(sizes_of(x), "The size of what MaxUnpool takes")
    inner = [
        (s - 1) * t + k - pads[at] - pads[at + space] for at, (s, t, k) in enumerate(zip(own[2:], strides, kernel))
    ]
    whole = [*own[:2], *inner]
    flat = af.scatter_nd(af.reshape(places, [-1, 1]), af.reshape(x, [-1]), np.array([prod(whole)], np.int64))
    made = shaped(flat, whole)
    if sizes is None:
        return made
    target = known(sizes, "output_shape of MaxUnpool")  # places count in the smaller shape
    return af.pad(made, np.array([(0, t - s) for t, s in zip(target, whole)], np.int64))


@onnx_op("Col2Im")
def col2im(node: Node, x: Any, image: Any, block: Any) -> Any:
    image_sizes, kernel = known(image, "image_shape of Col2Im"), known(block, "block_shape of Col2Im")
    space = len(kernel)
    strides, dilations = node.attr("strides") or [1] * space, node.attr("dilations") or [1] * space
    pads = node.attr("pads") or [0] * (2 * space)
    whole = [size + pads[at] + pads[at + space] for at, size in enumerate(image_sizes)]
    flat = np.arange(prod(whole)).reshape(whole)
    for at in range(space):
        count = (whole[at] - (kernel[at] - 1) * dilations[at] - 1) // strides[at] + 1
        index = np.arange(kernel[at])[:, None] * dilations[at] + np.arange(count) * strides[at]
        flat = np.take(flat, index, axis=2 * at)
    flat = flat.transpose([*range(0, 2 * space, 2), *range(1, 2 * space, 2)]).reshape(-1, 1)
    batch, channels = size_of(x, 0), size_of(x, 1)
    columns = shaped(x, [batch, channels // prod(kernel), -1])
    summed = af.scatter_nd(flat, moved(columns, 2, 0), vector([prod(whole), batch, channels // prod(kernel)]))
    made = shaped(moved(summed, 0, 2), [batch, channels // prod(kernel), *whole])
    return made[(slice(None), slice(None), *(slice(pads[at], pads[at] + size) for at, size in enumerate(image_sizes)))]


@onnx_op("LRN")
def local_response(node: Node, x: Any) -> Any:
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
