"""The batch normalization of a training step: sums of each channel over pieces of the rows, and one loop for the result.

A piece is some thousand elements, whoever computes it, so the result is the same on one thread and on two. It may differ from the
Python kernel's in the last bits, because the sums are others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.registry.kernel import kernel
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache
from actorflow.shapes import num_elements

from ..nn import normalization
from .routine import Routine, Value
from .sharing import Parallel, address

LEAST = 8192
"""Elements from which on this pays."""
_DIVIDED = 1 << 16
_PIECE = 1 << 13
MOST_CHANNELS = 1024
_TOGETHER = 4  # rows that are added up before they are added to what there is


def sums_text(squares: bool) -> str:
    """`@part(begin, count, channels, piece, x, mean, sums)`: the sums of some rows, in row `begin / piece` of `sums`; with
    `squares` those of the squared differences from `mean`."""
    names = (("i64", "begin"), ("i64", "count"), ("i64", "channels"), ("i64", "piece"))
    f = Routine("part", (*names, ("ptr", "x"), ("ptr", "mean"), ("ptr", "sums")), "void", internal=True)
    begin, count, channels, piece, x, mean, sums = f.given
    # What is written does not lie in what is read: said by a buffer of the function's own.
    held, means = f.buffer("float", MOST_CHANNELS), f.buffer("float", MOST_CHANNELS)
    with f.loop(channels) as c:
        f.store(0, held, "float", c)
        if squares:
            f.store(f.load(mean, "float", c), means, "float", c)
    first = f.at(x, "float", begin * channels)

    def term(row: Value, c: Value) -> Value:
        value = f.load(f.at(first, "float", row * channels), "float", c)
        if not squares:
            return value
        centred = value - f.load(means, "float", c)
        return centred * centred

    whole = count // _TOGETHER
    with f.loop(whole) as group:
        row = group * _TOGETHER
        with f.loop(channels) as c:
            some = (term(row, c) + term(row + 1, c)) + (term(row + 2, c) + term(row + 3, c))
            f.store(f.load(held, "float", c) + some, held, "float", c)
    with f.loop(count, whole * _TOGETHER) as row, f.loop(channels) as c:
        f.store(f.load(held, "float", c) + term(row, c), held, "float", c)
    target = f.at(sums, "float", (begin // piece) * channels)
    with f.loop(channels) as c:
        f.store(f.load(held, "float", c), target, "float", c)
    f.do("ret void")
    return f.text()


def result_text() -> str:
    """`@part(begin, count, channels, x, mean, factor, offset, y)`: the result for some rows."""
    names = ("x", "mean", "factor", "offset", "y")
    numbers = [("i64", name) for name in ("begin", "count", "channels")]
    f = Routine("part", (*numbers, *(("ptr", name) for name in names)), "void", internal=True)
    begin, count, channels, x, mean, factor, offset, y = f.given
    own = [f.buffer("float", MOST_CHANNELS) for _ in range(3)]
    with f.loop(channels) as c:
        for source, target in zip((mean, factor, offset), own, strict=True):
            f.store(f.load(source, "float", c), target, "float", c)
    with f.loop(begin + count, begin) as row:
        source, target = f.at(x, "float", row * channels), f.at(y, "float", row * channels)
        with f.loop(channels) as c:
            centred = f.load(source, "float", c) - f.load(own[0], "float", c)
            f.store(centred * f.load(own[1], "float", c) + f.load(own[2], "float", c), target, "float", c)
    f.do("ret void")
    return f.text()


class _Work:
    """The three functions, compiled in the background when they have been asked for a few times."""

    def __init__(self) -> None:
        self.parts = TieredCache(self._compiled)

    def _compiled(self) -> tuple[Parallel, Parallel, Parallel] | None:
        if not llvm.available():
            return None
        sums = [Parallel(sums_text(squares), ["i64", "i64", *["ptr"] * 3]) for squares in (False, True)]
        return sums[0], sums[1], Parallel(result_text(), ["i64", *["ptr"] * 5])

    def normalized(self, x: Any, scale: Any, offset: Any, epsilon: float) -> Any:
        """The result, the mean and the biased variance; None where numpy has to compute them."""
        parts = self.parts.get()
        if parts is None:
            return None
        channels = x.shape[-1]
        rows = x.size // channels
        piece = max(_TOGETHER, _PIECE // channels)
        divided = x.size >= _DIVIDED
        sums = np.empty((-(-rows // piece), channels), np.float32)
        count = np.float32(rows)
        mean = np.zeros(channels, np.float32)
        parts[0].run(rows, piece, channels, piece, *map(address, (x, mean, sums)), divided=divided)
        np.divide(np.add.reduce(sums, 0), count, out=mean)
        parts[1].run(rows, piece, channels, piece, *map(address, (x, mean, sums)), divided=divided)
        variance = np.add.reduce(sums, 0) / count
        factor = scale / np.sqrt(variance + np.float32(epsilon))
        y = np.empty(x.shape, np.float32)
        parts[2].run(rows, piece, channels, *map(address, (x, mean, factor, offset, y)), divided=divided)
        return y, mean, variance


_work = _Work()


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    fits = attrs["is_training"] and attrs["data_format"] == "NHWC" and len(shapes[0]) == 4
    return bool(fits and 0 < shapes[0][3] <= MOST_CHANNELS)


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return (num_elements(shapes[0]) or 0) >= LEAST


@kernel("FusedBatchNormV3", device="CPU", dtypes=frozenset((dtypes.float32,)), library="jit", can=_can, pays=_pays)
def fused_batch_norm(
    xp: Any,
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> Any:
    given = (x, scale, offset)
    vectors = scale.shape == offset.shape == x.shape[-1:]
    found = None
    if vectors and all(type(a) is np.ndarray and a.flags.c_contiguous for a in given):
        found = _work.normalized(x, scale, offset, epsilon)
    if found is None:
        attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
        return normalization.fused_batch_norm(xp, x, scale, offset, mean, variance, **attrs)
    y, average, spread = found
    count = x.size // x.shape[-1]
    unbiased = spread * np.float32(count / max(1, count - 1))
    return y, average, unbiased, average.copy(), spread, np.float32(0)
