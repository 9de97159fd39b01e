"""Copies of transposed matrices in C's order, block by block in registers, for kernels that read them element by element.

numpy walks along the rows of one of the two, and takes each line of the other's from the cache once for each element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache

from .routine import Routine, Value
from .sharing import Parallel, address

LEAST = 1 << 12
"""Elements: below, numpy takes no longer than the way here."""
_DIVIDED = 1 << 17
_SIDE = 16
_STRIP = 4
"""Blocks side by side: so many lines of the cache are read one after the other."""
_LANES = f"<{_SIDE} x i32>"


def part_text() -> str:
    """`@part(begin, count, rows, columns, x, out)`: some strips of rows of `out`, the transpose of `x`."""
    names = [("i64", name) for name in ("begin", "count", "rows", "columns")]
    f = Routine("part", (*names, ("ptr", "x"), ("ptr", "out")), "void", internal=True)
    begin, count, rows, columns, x, out = f.given
    whole = (columns // _SIDE) * _SIDE
    with f.loop(begin + count, begin) as strip:
        first = strip * (_SIDE * _STRIP)
        end = f.smaller(first + _SIDE * _STRIP, rows)
        blocks = (end - first) // _SIDE
        with f.loop(whole // _SIDE) as across:
            column = across * _SIDE
            with f.loop(blocks) as down:
                row = first + down * _SIDE
                corner = f.at(x, "i32", column * rows + row)
                lines = [f.load(f.at(corner, "i32", rows * i), _LANES) for i in range(_SIDE)]
                target = f.at(out, "i32", row * columns + column)
                for i, line in enumerate(_turned(f, lines)):
                    f.store(line, f.at(target, "i32", columns * i), _LANES)
        with f.loop(end, first) as row:
            inside = row < first + blocks * _SIDE
            with f.loop(columns, f.select(inside, whole, 0)) as column:
                f.store(f.load(x, "i32", column * rows + row), out, "i32", row * columns + column)
    f.do("ret void")
    return f.text()


def _turned(f: Routine, lines: list[Value]) -> list[Value]:
    """The columns of a block: line by line merged with the one half a block below, four times over."""
    half = _SIDE // 2
    masks = [", ".join(f"i32 {start + i // 2 + _SIDE * (i % 2)}" for i in range(_SIDE)) for start in (0, half)]
    step = 1
    while step < _SIDE:
        merged = []
        for i in range(half):
            pair = f"{_LANES} {lines[i].text}, {_LANES} {lines[i + half].text}"
            merged += [f.add(f"shufflevector {pair}, <{_SIDE} x i32> <{mask}>", _LANES) for mask in masks]
        lines, step = merged, 2 * step
    return lines


class Turner:
    """The copies, once they are compiled: in the background when they have been asked for a few times."""

    def __init__(self) -> None:
        self.work = TieredCache(self._compiled)

    def suits(self, given: Any, out: Any) -> bool:
        """Whether one array is a transposed matrix of as many and as large elements as `out`."""
        fits = type(given) is np.ndarray and given.ndim == 2 and given.shape == out.shape and given.size >= LEAST
        if not fits or given.itemsize != 4 or given.dtype != out.dtype:
            return False
        if not (given.flags.f_contiguous and out.flags.c_contiguous and given.flags.aligned):
            return False
        return not given.flags.c_contiguous and not np.may_share_memory(given, out)

    def into(self, given: Any, out: Any) -> bool:
        """Copies what `suits`; False where that can't be done yet, or at all."""
        work = self.work.get()
        if work is None:
            return False
        rows, columns = out.shape
        strips = -(-rows // (_SIDE * _STRIP))
        addresses = address(given), address(out)
        work.run(strips, 1, rows, columns, *addresses, divided=out.size >= _DIVIDED)
        return True

    def _compiled(self) -> Parallel | None:
        return Parallel(part_text(), ["i64", "i64", "ptr", "ptr"]) if llvm.available() else None


turner = Turner()
