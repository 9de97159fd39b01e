"""Kernels of grey-scale dilation: one pass over all windows for each element of the filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.graph.ops.nn.conv.geometry import WindowSpan, check_shape, span, taps

_LOWEST_BFLOAT16 = -3.3895313892515355e38


def _spans(images: Any, filters: Any, strides: Any, rates: Any, padding: str) -> list[WindowSpan]:
    """How the windows move. Raises ValueError if they can't."""
    if len(images) != 4 or len(filters) != 3:
        raise ValueError(f"A dilation takes images of rank 4 and a filter of rank 3, but has {images} and {filters}.")
    if images[3] != filters[2]:
        raise ValueError(f"Images {images} have a depth of {images[3]}, but the filter {filters} one of {filters[2]}.")
    return [
        span(size, window, stride, rate, padding)
        for size, window, stride, rate in zip(images[1:3], filters[:2], strides[1:3], rates[1:3])
    ]


def _lowest(xp: Any, x: Any) -> Any:
    """The value of a window without a larger sum: the lowest number that is none of the infinities."""
    if x.dtype.kind in "iu":
        return xp.iinfo(x.dtype).min
    return _LOWEST_BFLOAT16 if x.dtype.name == "bfloat16" else np.finfo(x.dtype).min


def _best(xp: Any, x: Any, w: Any, spans: list[WindowSpan], out: Any = None) -> tuple[Any, Any]:
    """The largest sum of each window, and the number of the filter's element that is in it: the first one of several. NaN is
    larger than nothing."""
    shape = (x.shape[0], *(s.count for s in spans), x.shape[3])
    best = xp.empty(shape, x.dtype) if out is None else out
    best[...] = _lowest(xp, x)
    which = xp.full(shape, -1, xp.int32)
    for index, at, into in taps(spans):
        here, numbers = best[(slice(None), *at)], which[(slice(None), *at)]
        sums = x[(slice(None), *into)] + w[index]
        larger = sums > here
        numbers[numbers < 0] = index[0] * w.shape[1] + index[1]  # what no sum is larger than goes to the first
        here[...] = xp.where(larger, sums, here)
        numbers[...] = xp.where(larger, index[0] * w.shape[1] + index[1], numbers)
    return best, which


def _shares(xp: Any, x: Any, w: Any, dy: Any, spans: list[WindowSpan]) -> Any:
    """For each element of the filter: its index, what of the images it sees, and the gradients that go there."""
    check_shape("out_backprop", dy.shape, (x.shape[0], *(s.count for s in spans), x.shape[3]))
    which = _best(xp, x, w, spans)[1]
    for index, at, into in taps(spans):
        mine = which[(slice(None), *at)] == index[0] * w.shape[1] + index[1]
        yield index, into, xp.where(mine, dy[(slice(None), *at)], xp.zeros((), dy.dtype))


@kernel("Dilation2D")
def dilation2d(xp: Any, x: Any, w: Any, *, strides: Any, rates: Any, padding: str, out: Any = None) -> Any:
    return _best(xp, x, w, _spans(x.shape, w.shape, strides, rates, padding), out)[0]


@kernel("Dilation2DBackpropInput")
def dilation2d_backprop_input(
    xp: Any, x: Any, w: Any, dy: Any, *, strides: Any, rates: Any, padding: str, out: Any = None
) -> Any:
    dx = xp.empty(x.shape, x.dtype) if out is None else out
    dx[...] = 0
    for _, into, share in _shares(xp, x, w, dy, _spans(x.shape, w.shape, strides, rates, padding)):
        dx[(slice(None), *into)] += share
    return dx


@kernel("Dilation2DBackpropFilter")
def dilation2d_backprop_filter(
    xp: Any, x: Any, w: Any, dy: Any, *, strides: Any, rates: Any, padding: str, out: Any = None
) -> Any:
    dw = xp.empty(w.shape, w.dtype) if out is None else out
    dw[...] = 0
    for index, _, share in _shares(xp, x, w, dy, _spans(x.shape, w.shape, strides, rates, padding)):
        dw[index] = share.sum(axis=(0, 1, 2), dtype=dw.dtype)
    return dw
