"""Kernels of convolutions of each channel by itself: one multiplication of images for each element of the window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import APART, Gpu
from actorflow.graph.ops.nn.conv.geometry import arranged, channel_axis, check_shape

from ...shared.threads import WORTH_DIVIDING, in_pieces
from .columns import taps_of
from .functions import attributes, given_back, last, spans_of, widened

_BLOCK_BYTES = 1 << 19


def _blocks(xp: Any, count: int, image: int) -> Iterator[slice]:
    """Images that fit in a cache together; all of them where each block costs launches instead."""
    step = max(1, _BLOCK_BYTES // max(1, image) if xp is np else count)
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def _spans(images: Any, filters: Any, attrs: dict[str, Any]) -> Any:
    spans = spans_of("A depthwise convolution", images, filters, attrs)
    channels = images[channel_axis(attrs["data_format"], 4)]
    if channels != filters[2]:
        raise ValueError(f"Images {images} have {channels} channels, but filters {filters} take {filters[2]}.")
    return spans


def _check_slopes(images: Any, filters: Any, dy: Any, spans: Any, layout: str) -> None:
    expected = arranged(images[0], [s.count for s in spans], filters[2] * filters[3], layout)
    check_shape("out_backprop", dy.shape, expected)


def _by_channel(dy: Any, channels: int, multiplier: int) -> Any:
    """The output's channels as (channels, multiplier)."""
    return dy.reshape(*dy.shape[:-1], channels, multiplier)


@kernel("DepthwiseConv2dNative", gpu=APART)
def depthwise(
    xp: Any,
    x: Any,
    w: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
    dilations: Any,
    out: Any = None,
) -> Any:
    attrs = attributes(strides, padding, data_format, dilations, explicit_paddings)
    spans = _spans(x.shape, w.shape, attrs)
    images, weights = last(xp, widened(xp, x), data_format), widened(xp, w)
    places, (channels, multiplier) = [s.count for s in spans], w.shape[2:]
    if xp is np and multiplier == 1 and images.dtype.char in "fd" and min(*images.shape, *weights.shape, *places) > 0:
        fits = out is not None and out.flags.c_contiguous and out.dtype == images.dtype and data_format == "NHWC"
        y = _of_single_channels(images, weights, spans, out if fits else None)
        return given_back(xp, y, data_format, x.dtype, out)
    y = xp.zeros((len(images), *places, channels, multiplier), images.dtype)
    everything = taps_of(spans)
    for block in _blocks(xp, len(images), y[:1].nbytes):
        into, source = y[block], images[block]
        for index, at, seen in everything:
            into[(slice(None), *at)] += source[(slice(None), *seen)][..., None] * weights[index]
    return given_back(xp, y.reshape(*y.shape[:3], channels * multiplier), data_format, x.dtype, out)


def _of_single_channels(images: Any, weights: Any, spans: Any, out: Any) -> Any:
    """The convolution with one filter for each channel, as a sum of products over the windows, which are a view of the framed
    images. `einsum` multiplies and adds in one walk; where windows lie beside each other, one along whole rows."""
    channels, (high, wide) = images.shape[-1], spans
    beside = wide.stride == 1
    frame = [s.before + s.size + s.after for s in spans]
    y = np.empty((len(images), high.count, wide.count, channels), images.dtype) if out is None else out
    rows = y.reshape(len(y), high.count, -1) if beside else y
    taps = weights[..., 0]
    if beside:
        taps = np.repeat(taps[:, :, None], wide.count, 2).reshape(high.window, wide.window, -1)
    step = max(1, _BLOCK_BYTES // y[:1].nbytes)
    idle: list[Any] = []  # framed images; each thread takes an image of its own

    def some(number: int) -> None:
        block = slice(number * step, (number + 1) * step)
        try:
            framed = idle.pop()
        except IndexError:
            framed = np.zeros((min(step, len(y)), *frame, channels), images.dtype)
        part = images[block]
        framed[: len(part), high.before : high.before + high.size, wide.before : wide.before + wide.size] = part
        image, row, column, element = framed.strides
        shape = len(part), high.count, high.window, wide.window
        strides = image, row * high.stride, row * high.dilation, column * wide.dilation
        if beside:
            windows = np.ndarray((*shape, wide.count * channels), y.dtype, framed, 0, (*strides, element))
            np.einsum("nhijk,ijk->nhk", windows, taps, out=rows[block])
        else:
            strided = (*strides, column * wide.stride, element)
            windows = np.ndarray((*shape, wide.count, channels), y.dtype, framed, 0, strided)
            np.einsum("nhijwc,ijc->nhwc", windows, taps, out=rows[block])
        idle.append(framed)

    in_pieces(some, -(-len(y) // step), ("depthwise", y.shape, taps.shape) if y.size >= WORTH_DIVIDING else None)
    return y


@kernel("DepthwiseConv2dNativeBackpropInput", gpu=Gpu(host=(0,), apart=True))
def depthwise_to_input(
    xp: Any,
    sizes: Any,
    w: Any,
    dy: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
    dilations: Any,
    out: Any = None,
) -> Any:
    attrs = attributes(strides, padding, data_format, dilations, explicit_paddings)
    shape = tuple(sizes.tolist())
    spans = _spans(shape, w.shape, attrs)
    _check_slopes(shape, w.shape, dy, spans, data_format)
    weights = widened(xp, w)
    channels, multiplier = w.shape[2:]
    slopes = _by_channel(last(xp, widened(xp, dy), data_format), channels, multiplier)
    dx = xp.zeros((shape[0], *(s.size for s in spans), channels), slopes.dtype)
    everything = taps_of(spans)
    for block in _blocks(xp, len(dx), dx[:1].nbytes * max(1, multiplier)):
        into, source = dx[block], slopes[block]
        for index, at, seen in everything:
            part = source[(slice(None), *at)]
            if multiplier == 1:
                into[(slice(None), *seen)] += part[..., 0] * weights[index][:, 0]
            else:
                into[(slice(None), *seen)] += xp.einsum("nhwcm,cm->nhwc", part, weights[index])
    return given_back(xp, dx, data_format, dy.dtype, out)


@kernel("DepthwiseConv2dNativeBackpropFilter", gpu=Gpu(host=(1,), apart=True))
def depthwise_to_filter(
    xp: Any,
    x: Any,
    sizes: Any,
    dy: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
    dilations: Any,
) -> Any:
    attrs = attributes(strides, padding, data_format, dilations, explicit_paddings)
    shape = tuple(sizes.tolist())
    spans = _spans(x.shape, shape, attrs)
    _check_slopes(x.shape, shape, dy, spans, data_format)
    images = last(xp, widened(xp, x), data_format)
    slopes = _by_channel(last(xp, widened(xp, dy), data_format), *shape[2:])
    dw = xp.zeros(shape, images.dtype)
    everything = taps_of(spans)
    for block in _blocks(xp, len(images), slopes[:1].nbytes):
        for index, at, seen in everything:
            seen_images, part = images[block][(slice(None), *seen)], slopes[block][(slice(None), *at)]
            dw[index] += xp.einsum("nhwc,nhwcm->cm", seen_images, part)
    return dw.astype(dy.dtype, copy=False)
