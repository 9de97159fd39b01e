"""Sums of large arrays of floats: in lanes within a block, over blocks in float64, by one thread or two.

A block is the same whoever sums it, so results do not depend on threads. They may differ from the Python kernels' in the last
bits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache

from ..shared import reducing
from ..shared.helping import WORTH_SHARING
from .blocks import TYPES
from .ops_norm import MOST_CHANNELS, sums_text
from .ops_rows import folded
from .routine import Routine, Value
from .sharing import Parallel, address

_ACCUMULATORS = 4
_DEEP = 64  # numbers that a lane adds up before its sum goes to the others'
_PIECE = 1 << 14


def lanes_text(real: str) -> str:
    """`@lanes(x, n)`: the sum of contiguous numbers."""
    f = Routine("lanes", (("ptr", "x"), ("i64", "n")), real, internal=True)
    x, n = f.given
    width = 16 if real == "float" else 8
    lanes, row = f"<{width} x {real}>", width * _ACCUMULATORS
    total = f.variable("double", 0)
    sums = [f.variable(lanes) for _ in range(_ACCUMULATORS)]
    rows = n // row
    zero = f"bitcast <{width} x {'i32' if real == 'float' else 'i64'}> zeroinitializer to {lanes}"
    with f.loop((rows + (_DEEP - 1)) // _DEEP) as block:
        for one in sums:
            one.set(f.add(zero, lanes))
        with f.loop(f.smaller((block + 1) * _DEEP, rows), block * _DEEP) as i:
            line = f.at(x, real, i * row)
            for k, one in enumerate(sums):
                one.set(one.value + f.load(f.at(line, real, k * width), lanes))
        whole = (sums[0].value + sums[1].value) + (sums[2].value + sums[3].value)
        total.set(total.value + folded(f, whole, lambda one, other: one + other).to("double"))
    done = rows * row
    with f.when(done < n):
        rest = f.variable(lanes)
        rest.set(f.add(zero, lanes))
        some = (n - done) // width
        with f.loop(some) as i:
            rest.set(rest.value + f.load(f.at(x, real, done + i * width), lanes))
        start = done + some * width
        rest.set(rest.value + _first(f, f.at(x, real, start), n - start, lanes, width))
        total.set(total.value + folded(f, rest.value, lambda one, other: one + other).to("double"))
    f.give(total.value.to(real), real)
    return f.text()


def _first(f: Routine, x: Value, count: Value, lanes: str, width: int) -> Value:
    """The first numbers at a place, fewer than `width`, as a vector that is zero behind them."""
    numbers = ", ".join(f"i64 {i}" for i in range(width))
    wanted = f"<{width} x i64>"
    first = f.add(f"insertelement {wanted} poison, i64 {count.text}, i32 0", wanted)
    every = f.add(f"shufflevector {wanted} {first.text}, {wanted} poison, <{width} x i32> zeroinitializer", wanted)
    mask = f.add(f"icmp slt {wanted} <{numbers}>, {every.text}", f"<{width} x i1>")
    name = f"v{width}{'f32' if 'float' in lanes else 'f64'}"
    given = f"ptr {x.text}, i32 4, {mask.type} {mask.text}, {lanes} zeroinitializer"
    return f.add(f"call {lanes} @llvm.masked.load.{name}.p0({given})", lanes)


def _rows_text(real: str) -> str:
    """`@part(begin, count, width, size, x, out)`: the sums of some rows of `width` elements, of which the last may be shorter."""
    names = (*(("i64", name) for name in ("begin", "count", "width", "size")), ("ptr", "x"), ("ptr", "out"))
    f = Routine("part", names, "void", internal=True)
    begin, count, width, size, x, out = f.given
    with f.loop(begin + count, begin) as row:
        start = row * width
        length = f.smaller(width, size - start)
        line = f.at(x, real, start)
        f.store(f.add(f"call {real} @lanes(ptr {line.text}, i64 {length.text})", real), out, real, row)
    f.do("ret void")
    return f"{lanes_text(real)}\n{f.text()}"


class Sums:
    """The sums of arrays of one type: compiled in the background when they have been asked for a few times."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype
        self.work = TieredCache(self._compiled)

    def over(self, x: Any, axis: Any, keep_dims: bool) -> Any:
        """The sum of a contiguous array over some axes. None where numpy has to compute it."""
        split = reducing.split_of(x.shape, axis, keep_dims)
        if split is None:
            return None
        work = self.work.get()
        if work is None:
            return None
        rows, columns = work
        if not split.columns:
            return split.given(self._of_rows(rows, x, split.rows), None)
        return None if columns is None else split.given(self._of_columns(columns, x, split.rows), None)

    def _of_rows(self, work: Parallel, x: Any, rows: int) -> Any:
        width = x.size // rows
        pieces, length = (-(-width // _PIECE), _PIECE) if rows == 1 else (rows, width)
        sums = np.empty(pieces, x.dtype)
        work.run(
            pieces, max(1, _PIECE // length), length, x.size, address(x), address(sums), divided=x.size >= WORTH_SHARING
        )
        return np.add.reduce(sums, keepdims=True) if rows == 1 else sums

    def _of_columns(self, work: Parallel, x: Any, rows: int) -> Any:
        columns = x.size // rows
        if columns > MOST_CHANNELS:
            return reducing.sum_over(np, x.reshape(rows, columns), 0)
        piece = max(1, 2 * _PIECE // columns)
        sums = np.empty((-(-rows // piece), columns), x.dtype)
        places = address(x), address(sums), address(sums)
        work.run(rows, piece, columns, piece, *places, divided=x.size >= WORTH_SHARING)
        return np.add.reduce(sums, 0)

    def _compiled(self) -> tuple[Parallel, Parallel | None] | None:
        """For sums of rows, and of columns."""
        if not llvm.available():
            return None
        real = TYPES[self._dtype]
        columns = Parallel(sums_text(False), [*["i64"] * 2, *["ptr"] * 3]) if real == "float" else None
        return Parallel(_rows_text(real), [*["i64"] * 2, *["ptr"] * 2]), columns


@functools.cache
def sums_of(dtype: str) -> Sums:
    """The one of this type."""
    return Sums(dtype)
