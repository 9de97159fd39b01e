"""Kernels of convolutions of images with channels last, also with what is fused behind them. If the library does not take a
case, numpy computes it, and says what is wrong with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.registry.kernel import Prepare, kernel

from ..nn import fused
from ..nn.conv import depthwise as conv_depthwise
from ..nn.conv import functions as conv
from ..shared.threads import most_threads
from . import prepared
from .binding import Binding
from .conv_program import (
    INFERENCE,
    ConvolutionGeometry,
    described_forward,
    forward,
    geometry_of,
    of_images,
    of_places,
    to_images,
    to_weights,
)
from .panels import Matrix
from .program import ProgramBuilder

FLOAT32 = frozenset((dt.float32,))
_MOVES = ("strides", "padding", "explicit_paddings", "data_format", "dilations")
_WORTH_FLOPS = 5e3  # where the call costs no more than those of a few numpy functions


def can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Channels last, and nothing empty. Other faults of the shapes are told by the kernel that is replaced."""
    return attrs["data_format"] == "NHWC" and all(shape is None or prod(shape) > 0 for shape in shapes)


def _forward_pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    x, w = shapes[:2]
    return _are_images(x, w) and bool(2.0 * prod(x[:3]) / prod(attrs["strides"]) * prod(w) >= _WORTH_FLOPS)


def _to_images_pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    _, w, dy = shapes
    # To a single channel the library is slow.
    return _are_images(w, dy) and w[2] > 1 and bool(2.0 * prod(dy[:3]) * prod(w) >= _WORTH_FLOPS)


def _to_weights_pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    x, _, dy = shapes
    # The window's size is not at hand: its least, one element, is counted.
    return _are_images(x, dy) and bool(2.0 * prod(dy[:3]) * max(x[3], dy[3]) >= _WORTH_FLOPS)


def _are_images(*shapes: Any) -> bool:
    return all(len(shape) == 4 for shape in shapes)


def shares_of(geometry: ConvolutionGeometry) -> Sequence[prepared.Share]:
    """Images for each thread, or rows of images if images are fewer than threads; for products see `shares_of_product`."""
    images, threads = geometry.images[0], most_threads()
    size, outcome = prod(geometry.images[1:]), prod(geometry.result[1:])
    if geometry.is_product:
        return prepared.shares_of_product(prod(geometry.result[:3]), geometry.images[3], geometry.outputs, 3)
    if images >= threads:
        row_shares = prepared.shares_of_rows(images, size, outcome)
        return [replace(share, piece=of_images(geometry, share.piece)) for share in row_shares]
    rows = geometry.spans[0].count
    high = -(-rows // -(-threads // images))
    parts = []
    for begin in range(0, rows, high):
        piece, low = of_places(geometry, begin, min(begin + high, rows))
        if not piece.known:
            return []
        parts.append((piece, low * prod(geometry.images[2:]), begin * prod(geometry.result[2:])))
    return [
        prepared.Share(piece, image * size + x, image * outcome + y) for image in range(images) for piece, x, y in parts
    ]


def _prepared(op: str) -> Prepare:
    """Kernels of `op` where the weights are a constant."""
    adds = op.startswith("_Add")

    def prepare(attrs: Mapping[str, Any], shapes: Sequence[Any], constants: Sequence[Any]) -> Callable[..., Any] | None:
        shapes, constants = (shapes[1:], constants[1:]) if adds else (shapes, constants)
        moves = {name: attrs[name] for name in _MOVES}
        geometry = geometry_of(tuple(shapes[0]), tuple(shapes[1]), moves, "Depthwise" in op)
        activation = attrs.get("activation", "")
        if not _forward_pays(attrs, shapes):
            return None
        if constants[1] is None or geometry is None or not geometry.known or activation not in prepared.ALL:
            return None
        if any(shape != (geometry.outputs,) for shape in shapes[2:]):
            return None
        biased = bool(shapes[2:])

        def described(library: Binding, some: Any) -> tuple[ProgramBuilder, Any]:
            if geometry.is_product:
                _, _, inner, outer = geometry.weights
                return prepared.product(library, some, inner, outer, False, biased, activation, adds)
            finish = functools.partial(prepared.finish, activation=activation, adds=adds)
            return described_forward(library, some, biased, INFERENCE, finish)

        otherwise = prepared.unprepared(lambda: _KERNELS[op], attrs)
        weighted = prepared.Weighted(constants, adds)
        whole = prod(geometry.result[:3]) if geometry.is_product else geometry
        return prepared.kernel_of(
            weighted,
            whole=whole,
            shares=lambda: shares_of(geometry),
            flops=geometry.flops,
            shapes=shapes,
            result=geometry.result,
            described=described,
            activation=activation,
            otherwise=otherwise,
            adds=adds,
            matrix=Matrix(geometry.weights[2], geometry.outputs, False) if geometry.is_product else None,
        )

    return prepare


def _register(prefix: str, depthwise: bool, numpy_forward: Any, numpy_images: Any, numpy_weights: Any) -> None:
    """The three kernels of convolutions, or of those of single channels. If the library does not take a case, numpy
    does, and says what is wrong with it."""
    options: dict[str, Any] = {"device": "CPU", "dtypes": FLOAT32, "library": "onednn", "can": can}

    @kernel(prefix, pays=_forward_pays, prepare=_prepared(prefix), **options)
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
        geometry = geometry_of(x.shape, w.shape, attrs, depthwise)
        y = None if geometry is None else forward(x, w, geometry, out=out)
        return numpy_forward(xp, x, w, **attrs, out=out) if y is None else y

    _KERNELS[prefix] = convolve

    @kernel(f"{prefix}BackpropInput", pays=_to_images_pays, **options)
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
        geometry = geometry_of(tuple(sizes.tolist()), w.shape, attrs, depthwise)
        dx = None if geometry is None or dy.shape != geometry.result else to_images(w, dy, geometry, out)
        return numpy_images(xp, sizes, w, dy, **attrs, out=out) if dx is None else dx

    @kernel(f"{prefix}BackpropFilter", pays=_to_weights_pays, **options)
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
        geometry = geometry_of(x.shape, tuple(sizes.tolist()), attrs, depthwise)
        dw = None if geometry is None or dy.shape != geometry.result else to_weights(x, dy, geometry)
        return numpy_weights(xp, x, sizes, dy, **attrs) if dw is None else dw


_KERNELS: dict[str, Callable[..., Any]] = {}
_register("Conv2D", False, conv.conv2d, conv.conv2d_backprop_input, conv.conv2d_backprop_filter)
_register(
    "DepthwiseConv2dNative",
    True,
    conv_depthwise.depthwise,
    conv_depthwise.depthwise_to_input,
    conv_depthwise.depthwise_to_filter,
)


# ---- fused

_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": FLOAT32, "library": "onednn"}


@kernel("_FusedConv2D", can=can, pays=_forward_pays, prepare=_prepared("_FusedConv2D"), **_OPTIONS)
def fused_conv2d(
    xp: Any,
    x: Any,
    w: Any,
    bias: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
    dilations: Any,
    activation: str,
    out: Any = None,
) -> Any:
    attrs = conv.attributes(strides, padding, data_format, dilations, explicit_paddings)
    geometry = geometry_of(x.shape, w.shape, attrs)
    y = None
    if geometry is not None and bias.shape == w.shape[3:]:
        y = forward(x, w, geometry, bias, out, activation)
    return fused.fused_conv2d(xp, x, w, bias, **attrs, activation=activation, out=out) if y is None else y


fused_depthwise_conv2d = kernel(
    "_FusedDepthwiseConv2d", can=can, pays=_forward_pays, prepare=_prepared("_FusedDepthwiseConv2d"), **_OPTIONS
)(fused.biased(_KERNELS["DepthwiseConv2dNative"]))

add_fused_conv2d = kernel(
    "_AddFusedConv2D",
    can=lambda attrs, shapes: can(attrs, shapes[1:]),
    pays=lambda attrs, shapes: _forward_pays(attrs, shapes[1:]),
    prepare=_prepared("_AddFusedConv2D"),
    **_OPTIONS,
)(fused.added_to(fused_conv2d))

_KERNELS.update(
    {
        "_FusedConv2D": fused_conv2d,
        "_FusedDepthwiseConv2d": fused_depthwise_conv2d,
        "_AddFusedConv2D": add_fused_conv2d,
    }
)
