"""Convolutions as matrix products over the windows of images, written out as columns a block at a time.

A block of columns is as large as a cache, so writing it out costs little more than reading the images, and no
buffer of the size of all columns is ever made. All arrays are [batch, space..., channels]; other layouts come as views.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from actorflow.graph.ops.nn.conv.geometry import WindowSpan, taps

from ...shared import blas

_BLOCK_BYTES = 1 << 20
_GPU_BLOCK_BYTES = 1 << 26
"""There each block costs launches, and no cache holds it."""
_SHORT_RUN = 16
"""Elements that lie together in a window's row; below this number, copies run along the images instead."""


def _block_bytes(xp: Any) -> int:
    return _BLOCK_BYTES if xp is np else _GPU_BLOCK_BYTES


def _matmul(xp: Any, a: Any, b: Any, out: Any = None) -> Any:
    return blas.matmul(a, b, out) if xp is np else xp.matmul(a, b, out=out)


Tap: TypeAlias = tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]


@functools.lru_cache(1024)
def taps_of(spans: tuple[WindowSpan, ...]) -> tuple[Tap, ...]:
    """The elements of windows that move so: the index of each, at which places it is inside, and what it meets there."""
    return tuple(taps(spans))


class WindowBlocks:
    """The windows of images, as matrices of a row for each place and a column for each weight."""

    def __init__(self, xp: Any, x: Any, spans: Sequence[WindowSpan]) -> None:
        self._xp = xp
        self._x = x
        self._spans = spans
        self._places = [s.count for s in spans]
        self._window = [s.window for s in spans]
        self.width = prod(self._window) * x.shape[-1]
        row = max(1, prod(self._places[1:]) * self.width * x.itemsize)
        rows = max(1, _block_bytes(xp) // row)  # of the first spatial dimension
        self._images = max(1, min(x.shape[0], rows // max(1, self._places[0])))
        self._rows = max(1, min(self._places[0], rows)) if self._images == 1 else self._places[0]
        # Whether a column lies together in memory, rather than a row.
        self._by_column = self._window[-1] * x.shape[-1] < _SHORT_RUN or x.strides[-1] > x.strides[-2]

    def __iter__(self) -> Iterator[tuple[tuple[slice, slice], Any]]:
        """Each block: its images and its rows of places, and the matrix, which the next block overwrites."""
        xp, x, kind = self._xp, self._x, self._x.dtype
        batch, channels = x.shape[0], x.shape[-1]
        if min(batch, channels, *self._places, *self._window) == 0:
            return
        padded = None
        if any(s.padded for s in self._spans):
            padded = xp.zeros((self._images, *(s.before + s.size + s.after for s in self._spans), channels), kind)
        most = self._images * self._rows * prod(self._places[1:])
        buffer = xp.empty(most * self.width, kind)
        for start in range(0, batch, self._images):
            images = slice(start, min(start + self._images, batch))
            source = x[images]
            if padded is not None:
                inner = tuple(slice(s.before, s.before + s.size) for s in self._spans)
                framed = padded[: len(source)]
                framed[(slice(None), *inner)] = source
                source = framed
            windows = self._windows(source)
            for first in range(0, self._places[0], self._rows):
                rows = slice(first, min(first + self._rows, self._places[0]))
                yield (images, rows), self._matrix(windows[:, rows], buffer)

    def _windows(self, x: Any) -> Any:
        """A view [batch, places..., window..., channels]."""
        steps = x.strides[1:-1]
        shape = (x.shape[0], *self._places, *self._window, x.shape[-1])
        strides = (
            x.strides[0],
            *[step * s.stride for step, s in zip(steps, self._spans)],
            *[step * s.dilation for step, s in zip(steps, self._spans)],
            x.strides[-1],
        )
        if self._xp is np and x.flags.c_contiguous:
            return np.ndarray(shape, x.dtype, x, 0, strides)  # the same for a tenth of the time
        return self._xp.lib.stride_tricks.as_strided(x, shape, strides)

    def _matrix(self, windows: Any, buffer: Any) -> Any:
        split = 1 + len(self._spans)
        height = prod(windows.shape[:split])
        flat = buffer[: height * self.width]
        if not self._by_column:
            flat.reshape(windows.shape)[...] = windows
            return flat.reshape(height, self.width)
        turned = windows.transpose(*range(split, windows.ndim), *range(split))
        flat.reshape(turned.shape)[...] = turned
        return flat.reshape(self.width, height).T


_FEW_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class _Sheet:
    """All windows of a few small images as one matrix: the shape of the framed images, where the images lie in it, and the
    shape and the strides of the windows in it."""

    framed: tuple[int, ...]
    inner: tuple[slice, ...]
    windows: tuple[int, ...]
    strides: tuple[int, ...]
    matrix: tuple[int, int]
    fits: bool


@functools.lru_cache(1024)
def _sheet(images: tuple[int, ...], spans: tuple[WindowSpan, ...], itemsize: int) -> _Sheet:
    framed = (images[0], *[s.before + s.size + s.after for s in spans], images[-1])
    steps = [itemsize * prod(framed[axis + 1 :]) for axis in range(len(framed))]
    moves = (
        [step * s.stride for step, s in zip(steps[1:-1], spans)],
        [step * s.dilation for step, s in zip(steps[1:-1], spans)],
    )
    height = images[0] * prod(s.count for s in spans)
    width = prod(s.window for s in spans) * images[-1]
    return _Sheet(
        framed,
        (slice(None), *[slice(s.before, s.before + s.size) for s in spans]),
        (images[0], *[s.count for s in spans], *[s.window for s in spans], images[-1]),
        (steps[0], *moves[0], *moves[1], itemsize),
        (height, width),
        0 < height * width * itemsize <= _FEW_BYTES,
    )


def _at_once(x: Any, sheet: _Sheet) -> Any:
    """The matrix of all windows of images in order."""
    source = x
    if sheet.framed != x.shape:
        source = np.zeros(sheet.framed, x.dtype)
        source[sheet.inner] = x
    return np.ndarray(sheet.windows, x.dtype, source, 0, sheet.strides).reshape(sheet.matrix)


def forward(xp: Any, x: Any, w: Any, spans: Sequence[WindowSpan], out: Any = None) -> Any:
    """The convolution of x [batch, space..., in] with w [window..., in, out]."""
    if out is None and xp is np and x.flags.c_contiguous:
        sheet = _sheet(x.shape, tuple(spans), x.itemsize)
        if sheet.fits and w.size:
            y = blas.matmul(_at_once(x, sheet), w.reshape(-1, w.shape[-1]))
            return y.reshape(*sheet.windows[: 1 + len(spans)], w.shape[-1])
    shape = (len(x), *(s.count for s in spans), w.shape[-1])
    y = out if out is not None and out.flags.c_contiguous and out.dtype == x.dtype else xp.empty(shape, x.dtype)
    if w.size == 0:
        y[...] = 0
    elif _is_product(spans):
        flat = xp.ascontiguousarray(x).reshape(-1, x.shape[-1])
        _matmul(xp, flat, w.reshape(-1, w.shape[-1]), y.reshape(-1, w.shape[-1]))
    else:
        weights = w.reshape(-1, w.shape[-1])
        for place, matrix in WindowBlocks(xp, x, spans):
            # All rows of several images, or some rows of an image: together in memory either way.
            _matmul(xp, matrix, weights, y[place].reshape(-1, w.shape[-1]))
    return y


def to_filter(xp: Any, x: Any, dy: Any, spans: Sequence[WindowSpan]) -> Any:
    """The gradient of `forward` for w."""
    channels, outputs = x.shape[-1], dy.shape[-1]
    shape = (*(s.window for s in spans), channels, outputs)
    total = xp.zeros((prod(shape[:-1]), outputs), x.dtype)
    if dy.size == 0 or total.size == 0:
        return total.reshape(shape)
    if _is_product(spans):
        flat = xp.ascontiguousarray(x).reshape(-1, channels)
        return _matmul(xp, flat.T, xp.ascontiguousarray(dy).reshape(-1, outputs)).reshape(shape)
    if xp is np and x.flags.c_contiguous:
        sheet = _sheet(x.shape, tuple(spans), x.itemsize)
        if sheet.fits:
            return blas.matmul(_at_once(x, sheet).T, np.ascontiguousarray(dy).reshape(-1, outputs)).reshape(shape)
    part = None
    for place, matrix in WindowBlocks(xp, x, spans):
        slopes = xp.ascontiguousarray(dy[place]).reshape(-1, outputs)
        if part is None:
            _matmul(xp, matrix.T, slopes, total)
            part = xp.empty_like(total)
        else:
            _matmul(xp, matrix.T, slopes, part)
            total += part
    return total.reshape(shape)


def to_input(xp: Any, w: Any, dy: Any, spans: Sequence[WindowSpan], out: Any = None) -> Any:
    """The gradient of `forward` for x, which each element of the window adds its share to."""
    channels, outputs = w.shape[-2:]
    shape = (len(dy), *(s.size for s in spans), channels)
    dx = xp.empty(shape, dy.dtype) if out is None or out.dtype != dy.dtype else out
    if _is_product(spans) and dx.flags.c_contiguous and dy.size and dx.size:
        flat = xp.ascontiguousarray(dy).reshape(-1, outputs)
        _matmul(xp, flat, w.reshape(channels, outputs).T, dx.reshape(-1, channels))
        return dx
    dx[...] = 0
    if dy.size == 0 or w.size == 0:
        return dx
    # With few channels the products of single elements would be slim, so those of all are made at once.
    together = channels < _SHORT_RUN
    places = dy.shape[1:-1]
    image = prod(places) * channels * dy.itemsize * (prod(w.shape[:-2]) if together else 1)
    images = max(1, _block_bytes(xp) // (2 * max(1, image)))
    everything = taps_of(tuple(spans))
    for start in range(0, len(dy), images):
        chunk = dx[start : start + images]
        slopes = xp.ascontiguousarray(dy[start : start + images]).reshape(-1, outputs)
        if together:
            shares = _matmul(xp, w.reshape(-1, outputs), slopes.T).reshape(*w.shape[:-1], len(chunk), *places)
            shares = xp.moveaxis(shares, len(places), -1)
            for index, at, into in everything:
                chunk[(slice(None), *into)] += shares[(*index, slice(None), *at)]
            continue
        share = xp.empty((len(slopes), channels), dy.dtype)
        shaped = share.reshape(len(chunk), *places, channels)
        for index, at, into in everything:
            _matmul(xp, slopes, w[index].T, share)
            chunk[(slice(None), *into)] += shaped[(slice(None), *at)]
    return dx


def _is_product(spans: Sequence[WindowSpan]) -> bool:
    """Whether each place sees just the element there, so that no column has to be written out."""
    return not any(s.moves for s in spans)
