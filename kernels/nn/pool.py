"""Kernels of pools. A window of several dimensions is reduced one dimension after the other, over views of the input."""

from __future__ import annotations

import functools
from math import prod
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import LAUNCHED, Gpu
from actorflow.graph.ops.nn.conv.geometry import WindowSpan, check_shape, span

from ..shared.threads import WORTH_DIVIDING, in_pieces
from .conv.columns import taps_of
from .conv.functions import widened


def _spans(shape: Any, ksize: Any, strides: Any, padding: str, pads: Any = ()) -> tuple[WindowSpan, ...]:
    """How the window moves, in all dimensions. `pads` are those before and behind each, if they are given. Raises ValueError
    where the rank is another, or the window too large."""
    return _found_spans(tuple(shape), tuple(ksize), tuple(strides), padding, tuple(pads))


@functools.lru_cache(1024)
def _found_spans(shape: Any, ksize: Any, strides: Any, padding: str, pads: Any) -> tuple[WindowSpan, ...]:
    if len(shape) != len(ksize):
        raise ValueError(f"This pool takes a tensor of rank {len(ksize)}, but the shape is {tuple(shape)}.")
    pairs = zip(pads[::2], pads[1::2]) if pads else [(0, 0)] * len(shape)
    return tuple(
        [
            WindowSpan(size, count=size)
            if (window, stride, *pair) == (1, 1, 0, 0)
            else span(size, window, stride, 1, padding, pair)
            for size, window, stride, pair in zip(shape, ksize, strides, pairs)
        ]
    )


def _counts(spans: tuple[WindowSpan, ...]) -> tuple[int, ...]:
    return tuple(s.count for s in spans)


def _along(axis: int, at: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (at,)


def _reduced(xp: Any, x: Any, spans: tuple[WindowSpan, ...], ufunc: Any, start: Any, out: Any) -> Any:
    """`ufunc` over each window, from `start` on."""
    moving = [axis for axis, s in enumerate(spans) if s.moves]
    if not moving:
        return _copied(xp, x, out)
    for axis in moving:
        s = spans[axis]
        shape = (*x.shape[:axis], s.count, *x.shape[axis + 1 :])
        if axis == moving[-1] and out is not None and out.dtype == x.dtype:
            y = out
        else:
            y = xp.empty(shape, x.dtype)
        seen = [tap for k in range(s.window) if (tap := s.tap(k)) is not None]
        whole = [at.stop - at.start == s.count for at, _ in seen]
        if len(seen) > 1 and whole[0] and whole[1]:
            ufunc(x[_along(axis, seen[0][1])], x[_along(axis, seen[1][1])], out=y)
            seen = seen[2:]
        elif seen and whole[0]:
            y[...] = x[_along(axis, seen[0][1])]
            seen = seen[1:]
        else:
            y[...] = start
        for at, into in seen:
            part = y[_along(axis, at)]
            ufunc(part, x[_along(axis, into)], out=part)
        x = y
    return x


def _copied(xp: Any, x: Any, out: Any) -> Any:
    if out is None:
        return xp.array(x)
    out[...] = x
    return out


def _lowest(xp: Any, dtype: Any) -> Any:
    return xp.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@kernel("MaxPool", "MaxPool3D", gpu=LAUNCHED)
def max_pool(xp: Any, x: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    return _reduced(xp, x, _spans(x.shape, ksize, strides, padding), xp.maximum, _lowest(xp, x.dtype), out)


@kernel("_PaddedMaxPool")
def padded_max_pool(xp: Any, x: Any, *, ksize: Any, strides: Any, pads: Any, out: Any = None) -> Any:
    return _reduced(xp, x, _spans(x.shape, ksize, strides, "VALID", pads), xp.maximum, _lowest(xp, x.dtype), out)


# ---- gradients of maxima

_BLOCK_BYTES = 1 << 19
_INTEGERS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def _check_maxima(x: Any, y: Any, spans: tuple[WindowSpan, ...]) -> None:
    check_shape("orig_output", y.shape, _counts(spans))


def _masked(xp: Any, values: Any, mask: Any, out: Any = None) -> Any:
    """`values` where `mask` is set, else 0: as integers, so that an infinity times 0 is no NaN."""
    kind = _INTEGERS[values.dtype.itemsize]
    if out is None:
        out = xp.empty(values.shape, values.dtype)
    xp.multiply(values.view(kind), mask.astype(kind), out=out.view(kind))  # else the mask is converted in small pieces
    return out


def _maxima(xp: Any, x: Any, y: Any, spans: tuple[WindowSpan, ...]) -> Any:
    """For each element of the windows, at which places it is the maximum: the first place, but each place for volumes, as in
    TensorFlow."""
    if x.ndim == 5:
        yield from ((at, into, x[into] == y[at]) for _, at, into in taps_of(spans))
        return
    free = xp.ones(y.shape, bool)
    for _, at, into in taps_of(spans):
        mine = x[into] == y[at]
        left = free[at]
        mine &= left
        left ^= mine
        yield at, into, mine


def _place_by_place(x: Any, y: Any, dy: Any, dx: Any, spans: tuple[WindowSpan, ...]) -> None:
    """The gradient `dx` of windows that write each element once. A place's channels are copied as one item, from and into arrays
    that lie together: numpy's loops over these are long, where those over every other place end after a few channels."""
    channels = np.dtype((np.void, x.shape[-1] * x.itemsize))
    items, into_items = x.view(channels)[..., 0], dx.view(channels)[..., 0]
    met, part = np.empty(y.shape, x.dtype), np.empty(y.shape, _INTEGERS[x.itemsize])
    met_items, part_items = met.view(channels)[..., 0], part.view(channels)[..., 0]
    mine, slopes = np.empty(y.shape, bool), dy.view(part.dtype)
    free = np.ones(y.shape, bool) if x.ndim < 5 else None
    for _, _, into in taps_of(spans):
        met_items[...] = items[into[:-1]]
        np.equal(met, y, mine)
        if free is not None:  # the first maximum alone
            np.logical_and(mine, free, mine)
            np.logical_xor(free, mine, free)
        part[...] = mine
        np.multiply(slopes, part, part)
        into_items[into[:-1]] = part_items


@kernel("MaxPoolGrad", "MaxPool3DGrad", gpu=LAUNCHED)
def max_pool_grad(xp: Any, x: Any, y: Any, dy: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    spans = _spans(x.shape, ksize, strides, padding)
    _check_maxima(x, y, spans)
    check_shape("grad", dy.shape, y.shape)
    dx = xp.empty(x.shape, x.dtype) if out is None else out
    dy = xp.ascontiguousarray(dy)
    # Windows that neither overlap nor leave gaps write each element once.
    once = all(s.stride == s.window and s.count * s.window == s.size for s in spans)
    whole = once and xp is np and not spans[-1].moves and x.size and x.flags.c_contiguous and dx.flags.c_contiguous
    if not once:
        dx[...] = 0
    step = max(1, _BLOCK_BYTES // max(1, prod(y.shape[1:]) * y.itemsize) if xp is np else len(x))

    def some(number: int) -> None:
        block = slice(number * step, (number + 1) * step)
        inner = (WindowSpan(len(x[block]), count=len(x[block])), *spans[1:])
        into_x, slopes = dx[block], dy[block]
        if whole:
            _place_by_place(x[block], y[block], slopes, into_x, inner)
            return
        for at, into, mine in _maxima(xp, x[block], y[block], inner):
            if once:
                _masked(xp, slopes[at], mine, into_x[into])
            else:
                into_x[into] += _masked(xp, slopes[at], mine)

    divides = xp is np and x.size >= WORTH_DIVIDING
    in_pieces(some, -(-len(x) // step), ("max_pool_grad", x.shape, spans) if divides else None)
    return dx


@kernel("MaxPoolGradGrad", "MaxPool3DGradGrad", gpu=LAUNCHED)
def max_pool_grad_grad(
    xp: Any, x: Any, y: Any, ddx: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None
) -> Any:
    spans = _spans(x.shape, ksize, strides, padding)
    _check_maxima(x, y, spans)
    check_shape("grad", ddx.shape, x.shape)
    ddy = xp.zeros(y.shape, y.dtype) if out is None else out
    if out is not None:
        ddy[...] = 0
    for at, into, mine in _maxima(xp, x, y, spans):
        xp.copyto(ddy[at], ddx[into], where=mine)
    return ddy


@kernel("MaxPoolWithArgmax")
def max_pool_with_argmax(
    xp: Any, x: Any, *, ksize: Any, strides: Any, padding: str, Targmax: Any, include_batch_in_index: bool
) -> Any:
    spans = _spans(x.shape, ksize, strides, padding)
    y = _reduced(xp, x, spans, xp.maximum, _lowest(xp, x.dtype), None)
    places = xp.arange(x.size, dtype=Targmax.numpy_dtype).reshape(x.shape)
    if not include_batch_in_index and len(x):
        places %= max(1, prod(x.shape[1:]))
    positions = xp.zeros(y.shape, places.dtype)
    for at, into, mine in _maxima(xp, x, y, spans):
        xp.copyto(positions[at], places[into], where=mine)
    return y, positions


@kernel("MaxPoolGradWithArgmax")
def max_pool_grad_with_argmax(
    xp: Any, x: Any, dy: Any, argmax: Any, *, ksize: Any, strides: Any, padding: str, include_batch_in_index: bool
) -> Any:
    check_shape("grad", dy.shape, _counts(_spans(x.shape, ksize, strides, padding)))
    check_shape("argmax", argmax.shape, dy.shape)
    places = argmax.astype(np.int64).reshape(len(x), -1) if dy.size else xp.zeros((len(x), 0), np.int64)
    image = prod(x.shape[1:])
    if not include_batch_in_index:
        places += xp.arange(len(x))[:, None] * image
    if places.size and (places.min() < 0 or places.max() >= x.size):
        raise ValueError(f"The places of maxima have to be elements of an input of shape {x.shape}.")
    dx = xp.zeros(x.size, x.dtype)
    xp.add.at(dx, places.reshape(-1), dy.reshape(-1))
    return dx.reshape(x.shape)


# ---- means


def _shares(xp: Any, spans: tuple[WindowSpan, ...], dtype: Any) -> Any:
    """One over the number of elements in each window, to be broadcast."""
    total: Any = 1
    for axis, s in enumerate(spans):
        if s.moves:
            first = xp.arange(s.count) * s.stride - s.before
            along = xp.minimum(first + s.window, s.size) - xp.maximum(first, 0)
            total = total * along.reshape((-1,) + (1,) * (len(spans) - 1 - axis))
    return (1 / total).astype(dtype) if any(s.moves for s in spans) else dtype.type(1)


@kernel("AvgPool", "AvgPool3D", gpu=LAUNCHED)
def avg_pool(xp: Any, x: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    spans = _spans(x.shape, ksize, strides, padding)
    wide = widened(xp, x)
    y = _reduced(xp, wide, spans, xp.add, 0, out)
    y *= _shares(xp, spans, wide.dtype)
    if out is None:
        return y.astype(x.dtype, copy=False)
    if y is not out:
        out[...] = y
    return out


@kernel("AvgPoolGrad", "AvgPool3DGrad", gpu=Gpu(host=(0,)))
def avg_pool_grad(xp: Any, sizes: Any, dy: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    spans = _spans(sizes.tolist(), ksize, strides, padding)
    check_shape("grad", dy.shape, _counts(spans))
    wide = widened(xp, dy)
    part = wide * _shares(xp, spans, wide.dtype)
    for axis, s in enumerate(spans):
        if s.moves:
            spread = xp.zeros((*part.shape[:axis], s.size, *part.shape[axis + 1 :]), part.dtype)
            for k in range(s.window):
                if (tap := s.tap(k)) is not None:
                    spread[_along(axis, tap[1])] += part[_along(axis, tap[0])]
            part = spread
    if out is None:
        return part.astype(dy.dtype, copy=False)
    out[...] = part
    return out
