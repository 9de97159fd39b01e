"""Kernels of pools whose windows have random sizes, and of their gradients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import float64
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext
from actorflow.errors import InvalidArgumentError

from ..random import philox
from ..random.distributions import stream

Windows = list[slice]


def _sizes(size: int, count: int, pseudo_random: bool, source: philox.PhiloxStream) -> list[int]:
    """`count` sizes of windows that make up `size`: of two neighbouring numbers, in random order."""
    least, more = divmod(size, count)
    if not more:
        return [least] * count
    if not pseudo_random:
        order = np.argsort(source.words64(count), kind="stable")
        return [least + int(place < more) for place in order]
    ratio = size / count
    # So that neither the first nor the last window is of a third size.
    limit = min((least + 2) / ratio - 1, (size + 1 - least) / ratio - (count - 1))
    shift = float(philox.fill(source, philox.uniform(53), (1,), float64)[0]) * limit
    borders = [1, *(math.ceil(ratio * (i + shift)) for i in range(1, count)), size + 1]
    return [b - a for a, b in itertools.pairwise(borders)]


def _windows(borders: Any, overlapping: bool, size: int) -> Windows:
    ends = borders[1:] + 1 if overlapping else borders[1:]
    return [slice(int(a), min(int(b), size)) for a, b in zip(borders[:-1], ends)]


def _pooled(xp: Any, x: Any, axis: int, windows: Windows, reduce: Callable[..., Any]) -> Any:
    before = (slice(None),) * axis
    return xp.stack([reduce(x[(*before, w)], axis=axis) for w in windows], axis=axis)


def _borders(
    x: Any, ratios: Sequence[float], pseudo: bool, deterministic: bool, seed: int, seed2: int, ctx: KernelContext
) -> list[Any]:
    """The borders of the windows in height and width."""
    if x.ndim != 4:
        raise InvalidArgumentError(f"A fractional pool takes images of rank 4, but the shape is {x.shape}.")
    source = stream(ctx, seed, seed2)
    if deterministic:
        source = philox.PhiloxStream(ctx.state["key"].tolist(), 0)
    borders = []
    for size, ratio in zip(x.shape[1:3], ratios[1:3]):
        count = int(size / ratio)
        if count < 1:
            raise InvalidArgumentError(f"Nothing is left of images of shape {x.shape} with the ratios {list(ratios)}.")
        borders.append(np.cumsum([0, *_sizes(size, count, pseudo, source)], dtype=np.int64))
    return borders


@kernel("FractionalMaxPool")
def fractional_max_pool(
    xp: Any,
    x: Any,
    *,
    pooling_ratio: Sequence[float],
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
    ctx: KernelContext,
) -> Any:
    borders = _borders(x, pooling_ratio, pseudo_random, deterministic, seed, seed2, ctx)
    pooled = x
    for axis in (1, 2):
        pooled = _pooled(xp, pooled, axis, _windows(borders[axis - 1], overlapping, x.shape[axis]), xp.max)
    return pooled, *map(xp.asarray, borders)


@kernel("FractionalAvgPool")
def fractional_avg_pool(
    xp: Any,
    x: Any,
    *,
    pooling_ratio: Sequence[float],
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
    ctx: KernelContext,
) -> Any:
    borders = _borders(x, pooling_ratio, pseudo_random, deterministic, seed, seed2, ctx)
    pooled, count = x, 1
    for axis in (1, 2):
        windows = _windows(borders[axis - 1], overlapping, x.shape[axis])
        pooled = _pooled(xp, pooled, axis, windows, xp.sum)
        lengths = xp.asarray([w.stop - w.start for w in windows])
        count = count * lengths.reshape((-1, 1, 1) if axis == 1 else (-1, 1))
    return _share(xp, pooled, count).astype(x.dtype, copy=False), *map(xp.asarray, borders)


def _share(xp: Any, values: Any, count: Any) -> Any:
    """`values / count`; integers are rounded towards zero."""
    return values / count if values.dtype.kind == "f" else xp.sign(values) * (abs(values) // count)


def _pairs(rows: Any, columns: Any, overlapping: bool, shape: Any) -> Any:
    """The place of each window in the output, and in the input."""
    for i, row in enumerate(_windows(rows, overlapping, shape[1])):
        for j, column in enumerate(_windows(columns, overlapping, shape[2])):
            yield i, j, row, column


def _check(dy: Any, rows: Any, columns: Any, shape: Any) -> None:
    expected = (shape[0], len(rows) - 1, len(columns) - 1, shape[3]) if len(shape) == 4 else None
    if dy.shape != expected:
        raise InvalidArgumentError(f"The gradient has the shape {dy.shape}, but the pool's output has {expected}.")


@kernel("FractionalMaxPoolGrad")
def fractional_max_pool_grad(xp: Any, x: Any, y: Any, dy: Any, rows: Any, columns: Any, *, overlapping: bool) -> Any:
    rows, columns = np.asarray(rows), np.asarray(columns)
    _check(dy, rows, columns, x.shape)
    dx = xp.zeros_like(x)
    batch, channels = xp.arange(x.shape[0])[:, None], xp.arange(x.shape[3])
    for i, j, row, column in _pairs(rows, columns, overlapping, x.shape):
        window = x[:, row, column]
        width = window.shape[2]
        place = window.reshape(x.shape[0], -1, x.shape[3]).argmax(axis=1)
        dx[batch, row.start + place // width, column.start + place % width, channels] += dy[:, i, j]
    return dx


@kernel("FractionalAvgPoolGrad")
def fractional_avg_pool_grad(xp: Any, shape: Any, dy: Any, rows: Any, columns: Any, *, overlapping: bool) -> Any:
    sizes = tuple(int(n) for n in shape)
    rows, columns = np.asarray(rows), np.asarray(columns)
    _check(dy, rows, columns, sizes)
    dx = xp.zeros(sizes, dy.dtype)
    for i, j, row, column in _pairs(rows, columns, overlapping, sizes):
        count = (row.stop - row.start) * (column.stop - column.start)
        share = dy[:, i : i + 1, j : j + 1]
        dx[:, row, column] += _share(xp, share, count).astype(dy.dtype, copy=False)
    return dx
