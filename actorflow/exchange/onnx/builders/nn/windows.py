"""Convolutions and pools, with the channels in dimension 1 as ONNX has them.

Pads are added first, so that windows never lie outside. Pools of odd kinds (with holes, with places as a second output) gather
their windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import (
    at_least,
    computed,
    number,
    rank_of,
    shaped,
    size_of,
    vector,
    whole,
    with_rank,
)
from actorflow.exchange.onnx.builders.nn.layout import channels_first, channels_last
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of, shape_of


@dataclass(frozen=True, slots=True)
class OnnxWindows:
    """How windows lie over the spatial dimensions.

    Args:
        kernel, strides, dilations: for each dimension.
        pads: (before, after) for each dimension, numbers or scalars of a run; after includes what `ceil_mode` adds.
        own_pads: the same without that.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[Any, Any], ...]
    own_pads: tuple[tuple[Any, Any], ...]


def windows(node: OnnxNode, x: Any, kernel: Sequence[int]) -> OnnxWindows:
    """The windows of a node over `x`."""
    space = len(kernel)
    strides = tuple(node.attr("strides") or [1] * space)
    dilations = tuple(node.attr("dilations") or [1] * space)
    auto = node.attr("auto_pad", "NOTSET")
    pads = list(node.attr("pads") or [0] * (2 * space))
    if (
        not len(strides) == len(dilations) == space
        or len(pads) != 2 * space
        or min((*strides, *dilations, *kernel), default=1) < 1
    ):
        raise InvalidArgumentError(f"kernel_shape, strides, dilations and pads of {node} don't fit {space} dimensions.")
    pairs = [(pads[at], pads[at + space]) for at in range(space)]
    reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    if auto == "VALID":
        pairs = [(0, 0)] * space
    elif auto in ("SAME_UPPER", "SAME_LOWER"):
        pairs = []
        for at, (reach, stride) in enumerate(zip(reaches, strides)):
            size = 1 if stride == 1 else size_of(x, at + 2)
            missing = at_least(((size + stride - 1) // stride - 1) * stride + reach - size, 0)
            less, more = missing // 2, missing - missing // 2
            pairs.append((less, more) if auto == "SAME_UPPER" else (more, less))
    own = list(pairs)
    if node.attr("ceil_mode", 0):
        for at, (reach, stride) in enumerate(zip(reaches, strides)):
            size = size_of(x, at + 2)
            before, after = pairs[at]
            room = size + before + after - reach
            steps = (room + stride - 1) // stride
            behind = steps * stride >= size + before  # a window that begins behind the end does not count
            steps = steps - (af.cast(behind, af.int64) if isinstance(behind, af.Tensor) else int(behind))
            pairs[at] = (before, after + at_least(steps * stride - room, 0))
    return OnnxWindows(tuple(kernel), strides, dilations, tuple(pairs), tuple(own))


def _some(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Whether there may be pads."""
    return any(isinstance(width, af.Tensor) or width for pair in pairs for width in pair)


def padded(x: Any, pairs: Sequence[tuple[Any, Any]], value: Any = 0) -> Any:
    """`x` with pads around its spatial dimensions."""
    if not _some(pairs):
        return x
    if isinstance(x, np.ndarray):
        return af.pad(x, _widths([(0, 0), (0, 0), *pairs]), constant_values=number(value, x))
    return channels_first(af.pad(channels_last(x), _widths([(0, 0), *pairs, (0, 0)]), constant_values=number(value, x)))


def _widths(pairs: Sequence[tuple[Any, Any]]) -> Any:
    flat = vector([width for pair in pairs for width in pair])
    return np.reshape(flat, [-1, 2]) if isinstance(flat, np.ndarray) else af.reshape(flat, [-1, 2])


def _flat_pair(x: Any) -> Any:
    """Sequences as images of one row."""
    return af.expand_dims(x, 2)


@onnx_op("Conv")
def conv(node: OnnxNode, x: Any, weights: Any, bias: Any = None) -> Any:
    return convolved(node, x, weights, bias)


def convolved(node: OnnxNode, x: Any, weights: Any, bias: Any = None) -> Any:
    """A convolution, with channels last within."""
    space = rank_of(x) - 2
    if space not in (1, 2, 3):
        raise InvalidArgumentError(f"A convolution over {space} dimensions is not supported, only over one to three.")
    kernel = shape_of(weights)
    if kernel is None or None in kernel:
        kernel = (None, None, *node.required("kernel_shape"))
    w = windows(node, x, [int(size) for size in kernel[2:] if size is not None])
    order = [*range(2, space + 2), 1, 0]
    filters = np.transpose(weights, order) if isinstance(weights, np.ndarray) else af.transpose(weights, order)
    group = node.attr("group", 1)
    source = channels_last(x)
    if space == 3:
        output = _conv3d(source, filters, w, group)
    else:
        if space == 1:
            source, filters = af.expand_dims(source, 1), af.expand_dims(filters, 0)
            w = OnnxWindows((1, *w.kernel), (1, *w.strides), (1, *w.dilations), ((0, 0), *w.pads), ())
        output = _conv2d(source, filters, w, group)
        output = af.squeeze(output, [1]) if space == 1 else output
    return channels_first(output if bias is None else af.nn.bias_add(output, bias))


def _conv2d(x: Any, filters: Any, w: OnnxWindows, group: int) -> Any:
    pads = w.pads
    if any(isinstance(width, af.Tensor) for pair in pads for width in pair):
        x, pads = af.pad(x, _widths([(0, 0), *pads, (0, 0)])), ((0, 0),) * len(pads)
    padding = [[0, 0], *map(list, pads), [0, 0]]
    shape = shape_of(filters) or ()
    if group > 1 and shape[2] == 1 and shape[3] is not None and (shape_of(x) or (None,))[-1] == group:
        each = af.reshape(filters, [shape[0], shape[1], group, shape[3] // group])
        if len(set(w.strides)) == 1:
            return af.nn.depthwise_conv2d(x, each, strides=[1, *w.strides, 1], padding=padding, rate=list(w.dilations))
    return af.nn.conv2d(x, filters, strides=list(w.strides), padding=padding, dilations=list(w.dilations))


def _conv3d(x: Any, filters: Any, w: OnnxWindows, group: int) -> Any:
    x = af.pad(x, _widths([(0, 0), *w.pads, (0, 0)])) if _some(w.pads) else x
    options: dict[str, Any] = {"strides": w.strides, "padding": "VALID", "dilations": w.dilations}
    if group == 1:
        return af.nn.conv3d(x, filters, **options)
    parts = zip(af.split(x, group, axis=4), af.split(filters, group, axis=4))
    return af.concat([af.nn.conv3d(part, own, **options) for part, own in parts], 4)


@onnx_op("ConvTranspose")
def conv_transpose(node: OnnxNode, x: Any, weights: Any, bias: Any = None) -> Any:
    space = rank_of(x) - 2
    kernel = [int(size) for size in (shape_of(weights) or ())[2:] if size is not None]
    strides = list(node.attr("strides") or [1] * space)
    dilations = list(node.attr("dilations") or [1] * space)
    extra = list(node.attr("output_padding") or [0] * space)
    group = node.attr("group", 1)
    reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    sizes = [size_of(x, at + 2) for at in range(space)]
    full = [(size - 1) * stride + reach for size, stride, reach in zip(sizes, strides, reaches)]
    pads = _transpose_pads(node, full, extra, sizes, strides)
    outputs = [f + e - a - b for f, e, (a, b) in zip(full, extra, pads)]
    batch = size_of(x, 0)

    def transpose(part: Any, own: Any) -> Any:
        channels = (shape_of(own) or ())[1]
        filters = af.transpose(own, [*range(2, space + 2), 1, 0])
        whole = [f + max(e, 0) for f, e in zip(full, extra)]
        if space == 3:
            result = af.nn.conv3d_transpose(
                part, filters, vector([batch, channels, *whole]), strides=strides, padding="VALID", data_format="NCDHW",
                dilations=dilations,
            )  # fmt: skip
        elif space == 2:
            result = af.nn.conv2d_transpose(
                part, filters, vector([batch, channels, *whole]), strides=strides, padding="VALID", data_format="NCHW",
                dilations=dilations,
            )  # fmt: skip
        else:
            result = af.nn.conv2d_transpose(
                _flat_pair(part), af.expand_dims(filters, 0), vector([batch, channels, 1, *whole]), strides=[1, *strides],
                padding="VALID", data_format="NCHW", dilations=[1, *dilations],
            )  # fmt: skip
            result = af.squeeze(result, [2])
        return _cut(result, pads, outputs)

    if group == 1:
        output = transpose(x, weights)
    else:
        parts = zip(af.split(x, group, axis=1), af.split(weights, group, axis=0))
        output = af.concat([transpose(part, own) for part, own in parts], 1)
    return output if bias is None else output + shaped(bias, [-1, *[1] * space])


def _transpose_pads(node: OnnxNode, full: Any, extra: Any, sizes: Any, strides: Any) -> list[tuple[Any, Any]]:
    space = len(full)
    auto = node.attr("auto_pad", "NOTSET")
    lengths = node.attr("output_shape")
    if lengths is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        lengths = [size * stride for size, stride in zip(sizes, strides)]
    if lengths is None:
        padding = list(node.attr("pads") or [0] * (2 * space))
        return [(padding[at], padding[at + space]) for at in range(space)]
    pads = []
    for f, e, size in zip(full, extra, list(lengths)[-space:]):
        total = f + e - size
        less = total // 2
        pads.append((less, total - less) if auto == "SAME_UPPER" else (total - less, less))
    return pads


def _cut(x: Any, pads: Sequence[tuple[Any, Any]], outputs: Sequence[Any]) -> Any:
    """Without its pads; negative pads are zeros around."""
    x = padded(x, [(at_least(-a, 0), at_least(-b, 0)) for a, b in pads])
    index = [slice(at_least(a, 0), at_least(a, 0) + size) for (a, _), size in zip(pads, outputs)]
    return x[(slice(None), slice(None), *index)]


def _lowest(x: Any) -> Any:
    kind = dtype_of(x)
    return -np.inf if kind.is_floating else kind.min


def _count(w: OnnxWindows, at: int, size: Any) -> Any:
    """How many windows there are along a dimension, of which `size` includes the pads."""
    return (size - (w.kernel[at] - 1) * w.dilations[at] - 1) // w.strides[at] + 1


def _taps(w: OnnxWindows, at: int, count: Any) -> Any:
    """[windows, elements of a window]: places along a dimension."""
    first = af.range_(whole(count)) * np.int64(w.strides[at])
    return af.expand_dims(first, 1) + np.arange(w.kernel[at]) * np.int64(w.dilations[at])


def _gathered(x: Any, w: OnnxWindows) -> Any:
    """[batch, channels, places, elements of a window]."""
    space = len(w.kernel)
    counts = []
    for at in range(space):
        axis = 2 + 2 * at
        count = _count(w, at, size_of(x, axis))
        places = computed(lambda count, at=at: _taps(w, at, count), whole(count))
        x = af.gather(x, places, axis=axis)
        counts.append(count)
    order = [0, 1, *(2 + 2 * at for at in range(space)), *(3 + 2 * at for at in range(space))]
    return shaped(af.transpose(x, order), [size_of(x, 0), size_of(x, 1), *counts, prod(w.kernel)])


@onnx_op("MaxPool")
def max_pool(node: OnnxNode, x: Any) -> Any:
    w = windows(node, x, node.required("kernel_shape"))
    space = len(w.kernel)
    kind = dtype_of(x)
    plain = set(w.dilations) == {1} and not node.wants(1) and space in (1, 2, 3)
    if plain and (space < 3 or kind.is_floating):
        return _pooled("max", padded(x, w.pads, _lowest(x)), w)
    patches = _gathered(padded(x, w.pads, _lowest(x)), w)
    values = af.reduce_max(patches, -1)
    if not node.wants(1):
        return values
    sizes = [size_of(x, at + 2) for at in range(space)]
    order = list(range(space))
    steps = [prod(sizes[:at] if node.attr("storage_order", 0) else sizes[at + 1 :]) for at in order]

    def numbered(*values: Any) -> Any:
        flat: Any = np.zeros([1] * space, np.int64)
        for at, (size, step, before, after) in enumerate(zip(*[iter(values)] * 4)):
            line = (af.range_(whole(size) + before + after) - whole(before)) * whole(step)
            flat = flat + af.reshape(line, [-1 if at == other else 1 for other in order])
        return flat

    each = [(size, step, *pair) for size, step, pair in zip(sizes, steps, w.pads)]
    flat = computed(numbered, *(value for values in each for value in values))
    places = _gathered(flat[None, None], w)
    which = af.argmax(patches, space + 2, output_type=af.int64)
    chosen = af.one_hot(which, prod(w.kernel), dtype=af.int64)
    inside = af.reduce_sum(chosen * places, -1)
    plane = prod(sizes)
    batch, channels = size_of(x, 0), size_of(x, 1)
    planes = af.reshape(
        af.range_(np.int64(0), af.cast(batch * channels, af.int64)), vector([batch, channels, *[1] * space])
    )
    return values, inside + planes * plane


def _pooled(how: str, x: Any, w: OnnxWindows) -> Any:
    """A pool with channels last within."""
    source = channels_last(x)
    space = len(w.kernel)
    kernel, strides = list(w.kernel), list(w.strides)
    if space == 1:
        source, kernel, strides = af.expand_dims(source, 1), [1, *kernel], [1, *strides]
    functions = {
        ("max", 2): af.nn.max_pool2d, ("max", 3): af.nn.max_pool3d, ("avg", 2): af.nn.avg_pool2d, ("avg", 3): af.nn.avg_pool3d
    }  # fmt: skip
    function = functions.get((how, max(space, 2)))
    if function is None:
        raise InvalidArgumentError(f"A pool over {space} dimensions is not supported, only over one to three.")
    pooled = function(source, kernel, strides, padding="VALID")
    return channels_first(af.squeeze(pooled, [1]) if space == 1 else pooled)


def _sums(x: Any, w: OnnxWindows) -> Any:
    if set(w.dilations) == {1} and len(w.kernel) in (1, 2, 3):
        return _pooled("avg", x, w) * number(prod(w.kernel), x)
    return af.reduce_sum(_gathered(x, w), -1)


@onnx_op("AveragePool")
def average_pool(node: OnnxNode, x: Any) -> Any:
    w = windows(node, x, node.required("kernel_shape"))
    if not _some(w.pads) and set(w.dilations) == {1} and len(w.kernel) in (1, 2, 3):
        return _pooled("avg", x, w)
    inside = w.own_pads if node.attr("count_include_pad", 0) else ((0, 0),) * len(w.kernel)

    def counted(at: int) -> Callable[..., Any]:
        def counts(size: Any, before: Any, after: Any, first: Any, last: Any) -> Any:
            places = _taps(w, at, _count(w, at, whole(size) + before + after)) - whole(before)
            count = af.logical_and(places >= -whole(first), places < whole(size) + last)
            return af.reduce_sum(af.cast(count, af.float32), 1)

        return counts

    sums = _sums(padded(x, w.pads), w)
    for at, (pads, own) in enumerate(
        zip(w.pads, inside)
    ):  # how many elements of each window count, dimension by dimension
        line = computed(counted(at), size_of(x, at + 2), *pads, *own)
        sums = sums / with_rank(
            number(line, x) if isinstance(line, np.ndarray) else af.cast(line, dtype_of(x)), len(w.kernel) + 2, at + 2
        )
    return sums


@onnx_op("LpPool")
def lp_pool(node: OnnxNode, x: Any) -> Any:
    w = windows(node, x, node.required("kernel_shape"))
    return _root(_sums(padded(_power(x, node.attr("p", 2)), w.pads), w), node.attr("p", 2))


def _power(x: Any, p: int) -> Any:
    return af.pow(af.abs(x), number(p, x))


def _root(x: Any, p: int) -> Any:
    return af.pow(x, number(1 / p, x))


@onnx_op("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(node: OnnxNode, x: Any) -> Any:
    axes = list(range(1, rank_of(x) - 1))
    source = channels_last(x)
    if node.op == "GlobalAveragePool":
        return channels_first(af.reduce_mean(source, axes, keepdims=True))
    if node.op == "GlobalMaxPool":
        return channels_first(af.reduce_max(source, axes, keepdims=True))
    p = node.attr("p", 2)
    return channels_first(_root(af.reduce_sum(_power(source, p), axes, keepdims=True), p))
