"""Kernels of convolutions of two and three dimensions. Halves are computed in float32, which BLAS knows."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import APART, Gpu
from actorflow.graph.ops.nn.conv.geometry import (
    WindowSpan,
    arranged,
    channel_axis,
    check_shape,
    groups,
    padding_pairs,
    span,
    spatial,
)

from . import columns as conv_columns


def widened(xp: Any, x: Any) -> Any:
    """Halves as float32; other types as they are."""
    return x.astype(xp.float32) if x.dtype.kind not in "iuc" and x.dtype.itemsize == 2 else x


def spans_of(op: str, images: Any, filters: Any, attrs: dict[str, Any]) -> tuple[WindowSpan, ...]:
    """How the windows of a convolution move over images of this shape. Raises ValueError if they can't."""
    steps = tuple(attrs["strides"]), tuple(attrs["dilations"]), tuple(attrs.get("explicit_paddings", ()))
    return _spans(op, tuple(images), tuple(filters), attrs["padding"], attrs["data_format"], *steps)


@functools.lru_cache(1024)
def _spans(
    op: str, images: Any, filters: Any, padding: str, layout: str, strides: Any, dilations: Any, explicit: Any
) -> tuple[WindowSpan, ...]:
    rank = len(strides)
    if len(images) != rank or len(filters) != rank:
        raise ValueError(f"{op} takes images and filters of rank {rank}, but has shapes {images} and {filters}.")
    pairs = padding_pairs(op, rank, layout, padding, explicit)
    places = zip(spatial(images, layout), filters[:-2], spatial(strides, layout), spatial(dilations, layout), pairs)
    return tuple(
        [span(size, window, stride, dilation, padding, pair) for size, window, stride, dilation, pair in places]
    )


def last(xp: Any, x: Any, layout: str) -> Any:
    """A view of `x` with the channels last."""
    return xp.moveaxis(x, 1, -1) if layout.startswith("NC") else x


def given_back(xp: Any, y: Any, layout: str, dtype: Any, out: Any) -> Any:
    """A result with the channels last in the layout and the type asked for, in `out` if given."""
    y = xp.moveaxis(y, -1, 1) if layout.startswith("NC") else y
    if out is None:
        return y.astype(dtype, copy=False)
    if y is not out and y.base is not out:
        out[...] = y
    return out


def _groups(images: Any, filters: Any, layout: str) -> int:
    return groups(images[channel_axis(layout, len(images))], filters, f"images {images}")


def _apart(xp: Any, count: int, *arrays: Any) -> Any:
    """The parts of each group: equal shares of the last dimensions."""
    return zip(*(xp.split(x, count, axis=-1) for x in arrays), strict=True)


def _forward(xp: Any, x: Any, w: Any, attrs: dict[str, Any], out: Any) -> Any:
    layout = attrs["data_format"]
    spans = spans_of("A convolution", x.shape, w.shape, attrs)
    count = _groups(x.shape, w.shape, layout)
    images, filters = last(xp, widened(xp, x), layout), widened(xp, w)
    if count == 1:
        y = conv_columns.forward(xp, images, filters, spans, None if out is None else last(xp, out, layout))
    else:
        parts = [conv_columns.forward(xp, part, some, spans) for part, some in _apart(xp, count, images, filters)]
        y = xp.concatenate(parts, -1)
    return given_back(xp, y, layout, x.dtype, out)


def _to_input(xp: Any, sizes: Any, w: Any, dy: Any, attrs: dict[str, Any], out: Any) -> Any:
    layout, shape = attrs["data_format"], tuple(sizes.tolist())
    spans = spans_of("A convolution", shape, w.shape, attrs)
    count = _groups(shape, w.shape, layout)
    _check_slopes(shape, w.shape, dy, spans, layout)
    filters, slopes = widened(xp, w), last(xp, widened(xp, dy), layout)
    if count == 1:
        dx = conv_columns.to_input(xp, filters, slopes, spans, None if out is None else last(xp, out, layout))
    else:
        parts = [conv_columns.to_input(xp, some, part, spans) for some, part in _apart(xp, count, filters, slopes)]
        dx = xp.concatenate(parts, -1)
    return given_back(xp, dx, layout, dy.dtype, out)


def _to_filter(xp: Any, x: Any, sizes: Any, dy: Any, attrs: dict[str, Any]) -> Any:
    layout, shape = attrs["data_format"], tuple(sizes.tolist())
    spans = spans_of("A convolution", x.shape, shape, attrs)
    count = _groups(x.shape, shape, layout)
    _check_slopes(x.shape, shape, dy, spans, layout)
    images, slopes = last(xp, widened(xp, x), layout), last(xp, widened(xp, dy), layout)
    parts = [conv_columns.to_filter(xp, some, part, spans) for some, part in _apart(xp, count, images, slopes)]
    return (parts[0] if count == 1 else xp.concatenate(parts, -1)).astype(dy.dtype, copy=False)


def _check_slopes(images: Any, filters: Any, dy: Any, spans: Sequence[WindowSpan], layout: str) -> None:
    check_shape("out_backprop", dy.shape, arranged(images[0], [s.count for s in spans], filters[-1], layout))


@kernel("Conv2D", gpu=APART)
def conv2d(
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
    return _forward(xp, x, w, attributes(strides, padding, data_format, dilations, explicit_paddings), out)


@kernel("Conv2DBackpropInput", gpu=Gpu(host=(0,), apart=True))
def conv2d_backprop_input(
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
    return _to_input(xp, sizes, w, dy, attributes(strides, padding, data_format, dilations, explicit_paddings), out)


@kernel("Conv2DBackpropFilter", gpu=Gpu(host=(1,), apart=True))
def conv2d_backprop_filter(
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
    return _to_filter(xp, x, sizes, dy, attributes(strides, padding, data_format, dilations, explicit_paddings))


@kernel("Conv3D", gpu=APART)
def conv3d(
    xp: Any, x: Any, w: Any, *, strides: Any, padding: str, data_format: str, dilations: Any, out: Any = None
) -> Any:
    return _forward(xp, x, w, attributes(strides, padding, data_format, dilations), out)


@kernel("Conv3DBackpropInputV2", gpu=Gpu(host=(0,), apart=True))
def conv3d_backprop_input(
    xp: Any,
    sizes: Any,
    w: Any,
    dy: Any,
    *,
    strides: Any,
    padding: str,
    data_format: str,
    dilations: Any,
    out: Any = None,
) -> Any:
    return _to_input(xp, sizes, w, dy, attributes(strides, padding, data_format, dilations), out)


@kernel("Conv3DBackpropFilterV2", gpu=Gpu(host=(1,), apart=True))
def conv3d_backprop_filter(
    xp: Any, x: Any, sizes: Any, dy: Any, *, strides: Any, padding: str, data_format: str, dilations: Any
) -> Any:
    return _to_filter(xp, x, sizes, dy, attributes(strides, padding, data_format, dilations))


def attributes(strides: Any, padding: str, data_format: str, dilations: Any, explicit: Any = ()) -> dict[str, Any]:
    return {
        "strides": strides,
        "padding": padding,
        "data_format": data_format,
        "dilations": dilations,
        "explicit_paddings": explicit,
    }
