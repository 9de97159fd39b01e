"""Kernels of convolutions of two and three dimensions. Halves are computed in float32, which BLAS knows."""

from __future__ import annotations

from typing import Any

from actorflow.ops.conv_geometry import Span, arranged, channel_axis, check_shape, padding_pairs, span, spatial
from actorflow.registry.kernel import kernel

from . import conv_columns


def widened(xp: Any, x: Any) -> Any:
    """Halves as float32; other types as they are."""
    return x.astype(xp.float32) if x.dtype.kind not in "iuc" and x.dtype.itemsize == 2 else x


def spans_of(op: str, images: Any, filters: Any, attrs: dict[str, Any]) -> list[Span]:
    """How the windows of a convolution move over images of this shape. Raises ValueError where they can't."""
    rank, layout, padding = len(attrs["strides"]), attrs["data_format"], attrs["padding"]
    if len(images) != rank or len(filters) != rank:
        raise ValueError(f"{op} takes images and filters of rank {rank}, but has shapes {images} and {filters}.")
    pairs = padding_pairs(op, rank, layout, padding, attrs.get("explicit_paddings", ()))
    places = zip(
        spatial(images, layout),
        filters[:-2],
        spatial(attrs["strides"], layout),
        spatial(attrs["dilations"], layout),
        pairs,
    )
    return [span(size, window, stride, dilation, padding, pair) for size, window, stride, dilation, pair in places]


def last(xp: Any, x: Any, layout: str) -> Any:
    """A view of `x` with the channels last."""
    return xp.moveaxis(x, 1, -1) if layout.startswith("NC") else x


def given_back(xp: Any, y: Any, layout: str, dtype: Any, out: Any) -> Any:
    """A result with the channels last in the layout and the type asked for, in `out` where there is one."""
    y = xp.moveaxis(y, -1, 1) if layout.startswith("NC") else y
    if out is None:
        return y.astype(dtype, copy=False)
    if y is not out and y.base is not out:
        out[...] = y
    return out


def _check_channels(images: Any, filters: Any, layout: str) -> None:
    channels = images[channel_axis(layout, len(images))]
    if channels != filters[-2]:
        raise ValueError(f"Images {images} have {channels} channels, but filters {filters} take {filters[-2]}.")


def _forward(xp: Any, x: Any, w: Any, attrs: dict[str, Any], out: Any) -> Any:
    layout = attrs["data_format"]
    spans = spans_of("A convolution", x.shape, w.shape, attrs)
    _check_channels(x.shape, w.shape, layout)
    buffer = None if out is None else last(xp, out, layout)
    y = conv_columns.forward(xp, last(xp, widened(xp, x), layout), widened(xp, w), spans, buffer)
    return given_back(xp, y, layout, x.dtype, out)


def _to_input(xp: Any, sizes: Any, w: Any, dy: Any, attrs: dict[str, Any], out: Any) -> Any:
    layout, shape = attrs["data_format"], tuple(sizes.tolist())
    spans = spans_of("A convolution", shape, w.shape, attrs)
    _check_channels(shape, w.shape, layout)
    _check_slopes(shape, w.shape, dy, spans, layout)
    buffer = None if out is None else last(xp, out, layout)
    dx = conv_columns.to_input(xp, widened(xp, w), last(xp, widened(xp, dy), layout), spans, buffer)
    return given_back(xp, dx, layout, dy.dtype, out)


def _to_filter(xp: Any, x: Any, sizes: Any, dy: Any, attrs: dict[str, Any]) -> Any:
    layout, shape = attrs["data_format"], tuple(sizes.tolist())
    spans = spans_of("A convolution", x.shape, shape, attrs)
    _check_channels(x.shape, shape, layout)
    _check_slopes(x.shape, shape, dy, spans, layout)
    dw = conv_columns.to_filter(xp, last(xp, widened(xp, x), layout), last(xp, widened(xp, dy), layout), spans)
    return dw.astype(dy.dtype, copy=False)


def _check_slopes(images: Any, filters: Any, dy: Any, spans: list[Span], layout: str) -> None:
    check_shape("out_backprop", dy.shape, arranged(images[0], [s.count for s in spans], filters[-1], layout))


@kernel("Conv2D")
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


@kernel("Conv2DBackpropInput")
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


@kernel("Conv2DBackpropFilter")
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


@kernel("Conv3D")
def conv3d(
    xp: Any, x: Any, w: Any, *, strides: Any, padding: str, data_format: str, dilations: Any, out: Any = None
) -> Any:
    return _forward(xp, x, w, attributes(strides, padding, data_format, dilations), out)


@kernel("Conv3DBackpropInputV2")
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


@kernel("Conv3DBackpropFilterV2")
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
