"""Convolutions on GPUs by cuDNN, of two and three dimensions, in groups and of single channels, with their gradients.

Images stay in the layout that they have. Weights are [window..., in, out] here; cuDNN takes [out, in, window...], in the layout
of the images, so they are copied, which costs little beside the convolution.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.registry.kernel import kernel
from actorflow.graph.ops.nn.conv.geometry import WindowSpan, arranged, channel_axis, groups, spatial

from ..cuda.choices import GPU
from ..nn.conv import depthwise as conv_depthwise
from ..nn.conv import functions as conv
from .program import CudnnOperation, Layout, packed, run

TYPES = frozenset((dt.float16, dt.float32, dt.float64))
_PARTS = {
    "conv_fprop": ((("image", "x"), ("weight", "w")), "y"),
    "conv_dgrad": ((("loss", "y"), ("filter", "w")), "x"),
    "conv_wgrad": ((("image", "x"), ("loss", "y")), "w"),
}
"""The inputs of each operation, by the frontend's names, and its output."""


class CudnnGeometry:
    """How images, weights and the result of one convolution lie for cuDNN."""

    def __init__(
        self, images: Sequence[int], weights: Sequence[int], spans: Sequence[WindowSpan], layout: str, depthwise: bool
    ) -> None:
        self.last = not layout.startswith("NC")
        self.window = tuple(weights[:-2])
        taken, produced = weights[-2:]
        self.of_weights = tuple(weights)
        # A filter of each channel by itself is a group, with one input and `produced` outputs.
        self.filters = (taken * produced, 1) if depthwise else (produced, taken)
        self.channels = images[channel_axis(layout, len(images))]
        self.depthwise = depthwise
        self.of_images = tuple(images)
        self.of_result = arranged(images[0], [s.count for s in spans], self.filters[0], layout)
        self._spans = spans
        self._space = spatial(images, layout)
        self._operations: dict[tuple[str, Any], CudnnOperation] = {}

    def lies(self, what: str, dtype: Any) -> Layout:
        """The layout of the images (x), the weights (w) or the result (y)."""
        batch = self.of_images[0]
        sizes = {
            "x": (batch, self.channels, *self._space),
            "w": (*self.filters, *self.window),
            "y": (batch, self.filters[0], *[s.count for s in self._spans]),
        }[what]
        return packed(sizes, dtype, self.last)

    def operation(self, name: str, dtype: Any) -> CudnnOperation:
        """One of the three convolutions of this geometry, described once."""
        operation = self._operations.get((name, dtype))
        if operation is None:
            inputs, output = _PARTS[name]
            tensors = tuple((parameter, self.lies(what, dtype)) for parameter, what in inputs)
            operation = CudnnOperation(name, tensors, (self.lies(output, dtype),), self.moves)
            self._operations[name, dtype] = operation
        return operation

    @property
    def moves(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Paddings, strides and dilations by the names that the frontend has for them."""
        return (
            ("pre_padding", tuple(s.before for s in self._spans)),
            ("post_padding", tuple(s.after for s in self._spans)),
            ("stride", tuple(s.stride for s in self._spans)),
            ("dilation", tuple(s.dilation for s in self._spans)),
        )

    def weights_for(self, xp: Any, w: Any) -> Any:
        """Weights as they lie for cuDNN: [out, window..., in] with channels last, else [out, in, window...]."""
        rank = len(self.window)
        order = (rank, rank + 1) if self.depthwise else (rank + 1, rank)  # a filter's number is channel x made
        window = tuple(range(rank))
        turned = (order[0], *window, order[1]) if self.last and not self.depthwise else (*order, *window)
        return xp.ascontiguousarray(w.transpose(turned))

    def weights_from(self, xp: Any, flat: Any) -> Any:
        """The opposite of `weights_for`."""
        rank = len(self.window)
        taken, outputs = self.of_weights[-2:]
        if self.depthwise:
            return xp.ascontiguousarray(flat.reshape(taken, outputs, *self.window).transpose(*range(2, rank + 2), 0, 1))
        if self.last:
            return xp.ascontiguousarray(flat.reshape(outputs, *self.window, taken).transpose(*range(1, rank + 2), 0))
        return xp.ascontiguousarray(flat.reshape(outputs, taken, *self.window).transpose(*range(2, rank + 2), 1, 0))


def geometry_of(images: Any, weights: Any, attrs: dict[str, Any], depthwise: bool) -> CudnnGeometry | None:
    """None where the shapes don't fit together, which the kernel that is replaced says, or where something is empty."""
    hashable = [(name, tuple(value) if isinstance(value, list) else value) for name, value in attrs.items()]
    return _geometry(tuple(images), tuple(weights), depthwise, *hashable)


@functools.lru_cache(1024)
def _geometry(images: Any, weights: Any, depthwise: bool, *attributes: tuple[str, Any]) -> CudnnGeometry | None:
    attrs = dict(attributes)
    layout = attrs["data_format"]
    try:
        spans = conv.spans_of("A convolution", images, weights, attrs)
        channels = images[channel_axis(layout, len(images))]
        if depthwise:
            if channels != weights[-2]:
                return None
        else:
            groups(channels, weights, "images")
    except ValueError:
        return None
    geometry = CudnnGeometry(images, weights, spans, layout, depthwise)
    return geometry if min(*images, *weights, *geometry.of_result) > 0 else None


def forward(xp: Any, x: Any, w: Any, geometry: CudnnGeometry) -> Any:
    """The convolution, or None where cuDNN can't do it."""
    operation = geometry.operation("conv_fprop", x.dtype)
    results = run(xp, operation, xp.ascontiguousarray(x), geometry.weights_for(xp, w))
    return None if results is None else results[0].reshape(geometry.of_result)


def to_images(xp: Any, w: Any, dy: Any, geometry: CudnnGeometry) -> Any:
    """The gradient for the images, or None where cuDNN can't do it."""
    operation = geometry.operation("conv_dgrad", dy.dtype)
    results = run(xp, operation, xp.ascontiguousarray(dy), geometry.weights_for(xp, w))
    return None if results is None else results[0].reshape(geometry.of_images)


def to_weights(xp: Any, x: Any, dy: Any, geometry: CudnnGeometry) -> Any:
    """The gradient for the weights, or None where cuDNN can't do it."""
    operation = geometry.operation("conv_wgrad", x.dtype)
    results = run(xp, operation, xp.ascontiguousarray(x), xp.ascontiguousarray(dy))
    return None if results is None else geometry.weights_from(xp, results[0])


# ---- kernels


def can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Nothing empty. Other faults of the shapes are told by the kernel that is replaced."""
    return all(shape is None or prod(shape) > 0 for shape in shapes)


_OPTIONS: dict[str, Any] = {"device": GPU, "dtypes": TYPES, "library": "cudnn", "can": can}


def _convolved(xp: Any, x: Any, w: Any, attrs: dict[str, Any], depthwise: bool) -> Any:
    geometry = geometry_of(x.shape, w.shape, attrs, depthwise) if x.dtype == w.dtype else None
    return None if geometry is None else forward(xp, x, w, geometry)


def _to_images(xp: Any, sizes: Any, w: Any, dy: Any, attrs: dict[str, Any], depthwise: bool) -> Any:
    geometry = geometry_of(tuple(sizes.tolist()), w.shape, attrs, depthwise) if w.dtype == dy.dtype else None
    return None if geometry is None or dy.shape != geometry.of_result else to_images(xp, w, dy, geometry)


def _to_weights(xp: Any, x: Any, sizes: Any, dy: Any, attrs: dict[str, Any], depthwise: bool) -> Any:
    geometry = geometry_of(x.shape, tuple(sizes.tolist()), attrs, depthwise) if x.dtype == dy.dtype else None
    return None if geometry is None or dy.shape != geometry.of_result else to_weights(xp, x, dy, geometry)


def _register(prefix: str, depthwise: bool, cupy_forward: Any, cupy_images: Any, cupy_weights: Any) -> None:
    """The three kernels of images of two dimensions. If cuDNN does not take a case, CuPy does, or says what is wrong
    with it."""

    @kernel(prefix, **_OPTIONS)
    def convolve(
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
        attrs = conv.attributes(strides, padding, data_format, dilations, explicit_paddings)
        y = _convolved(xp, x, w, attrs, depthwise)
        return cupy_forward(xp, x, w, **attrs, out=out) if y is None else y

    @kernel(f"{prefix}BackpropInput", **_OPTIONS)
    def convolve_to_images(
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
        attrs = conv.attributes(strides, padding, data_format, dilations, explicit_paddings)
        dx = _to_images(xp, sizes, w, dy, attrs, depthwise)
        return cupy_images(xp, sizes, w, dy, **attrs, out=out) if dx is None else dx

    @kernel(f"{prefix}BackpropFilter", **_OPTIONS)
    def convolve_to_weights(
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
        attrs = conv.attributes(strides, padding, data_format, dilations, explicit_paddings)
        dw = _to_weights(xp, x, sizes, dy, attrs, depthwise)
        return cupy_weights(xp, x, sizes, dy, **attrs) if dw is None else dw


_register("Conv2D", False, conv.conv2d, conv.conv2d_backprop_input, conv.conv2d_backprop_filter)
_register(
    "DepthwiseConv2dNative",
    True,
    conv_depthwise.depthwise,
    conv_depthwise.depthwise_to_input,
    conv_depthwise.depthwise_to_filter,
)


@kernel("Conv3D", **_OPTIONS)
def conv3d(
    xp: Any, x: Any, w: Any, *, strides: Any, padding: str, data_format: str, dilations: Any, out: Any = None
) -> Any:
    attrs = conv.attributes(strides, padding, data_format, dilations)
    y = _convolved(xp, x, w, attrs, False)
    if y is not None:
        return y
    return conv.conv3d(
        xp, x, w, strides=strides, padding=padding, data_format=data_format, dilations=dilations, out=out
    )


@kernel("Conv3DBackpropInputV2", **_OPTIONS)
def conv3d_to_images(
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
    dx = _to_images(xp, sizes, w, dy, conv.attributes(strides, padding, data_format, dilations), False)
    if dx is not None:
        return dx
    return conv.conv3d_backprop_input(
        xp, sizes, w, dy, strides=strides, padding=padding, data_format=data_format, dilations=dilations, out=out
    )


@kernel("Conv3DBackpropFilterV2", **_OPTIONS)
def conv3d_to_weights(
    xp: Any, x: Any, sizes: Any, dy: Any, *, strides: Any, padding: str, data_format: str, dilations: Any
) -> Any:
    dw = _to_weights(xp, x, sizes, dy, conv.attributes(strides, padding, data_format, dilations), False)
    if dw is not None:
        return dw
    return conv.conv3d_backprop_filter(
        xp, x, sizes, dy, strides=strides, padding=padding, data_format=data_format, dilations=dilations
    )
