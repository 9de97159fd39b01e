"""Rows by their numbers: of small tables by a builtin function, of large ones by two threads.

Both give the same bits as the Python kernel, which tells what is wrong with the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.registry.kernel import kernel
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache

from ..array import gather as gathering
from ..shared.helping import WORTH_SHARING
from .builtin import DEEPEST, Kernel, Native, Types
from .routine import Routine
from .rules import INDEX, NUMERIC, TYPES
from .sharing import Parallel, address

_PIECE = 1 << 14


def _gather_text(types: Types, otherwise: Any) -> str | None:
    """Of the rows, their numbers, and perhaps the result."""
    into = len(types) == 3
    kind = types[0]
    if kind not in TYPES.values() or types[1] not in INDEX:
        return None
    f = Kernel(len(types), otherwise)
    params, indices = f.array(0, kind), f.array(1, types[1])
    rank, deep, count = params.rank, indices.rank, indices.elements()
    f.refuse((rank > 0) & (deep > 0))
    f.refuse(rank + deep <= DEEPEST)
    length, width = params.size(0), f.variable("i64", 1)
    sizes = f.buffer("i64", DEEPEST)
    with f.loop(deep) as axis:
        f.store(indices.size(axis), sizes, "i64", axis)
    with f.loop(rank, 1) as axis:
        f.store(params.size(axis), sizes, "i64", deep + axis - 1)
        width.set(width.value * params.size(axis))
    numbers = indices.data
    bad = f.variable("i64", 0)
    with f.loop(count) as i:
        inside = f.load(numbers, indices.type, i).to("i64").below(length)
        bad.set(bad.value | (inside ^ 1).to("i64"))
    f.refuse(bad.value.equals(0))
    made = f.result(kind, sizes, rank + deep - 1, 2 if into else None)

    def body() -> None:
        source, target, row = params.data, made.data, width.value
        with f.loop(count) as i:
            number = f.load(numbers, indices.type, i).to("i64")
            f.copy(f.at(target, made.type, i * row), f.at(source, made.type, number * row), row, made.type)

    f.released(count * width.value, body)
    f.give(made.object)
    return f.module()


def _gather_python(params: Any, indices: Any, out: Any = None) -> Any:
    return gathering.gather(np, params, indices, out=out)


_gather = Native(_gather_python, _gather_text)
_gather_into = Native(_gather_python, _gather_text)


class _LargeGather:
    """Rows of 32-bit numbers, copied by two threads."""

    def __init__(self) -> None:
        self.work = TieredCache(self._compiled)

    def into(self, params: Any, indices: Any, out: Any) -> Any:
        if out.size < WORTH_SHARING:
            return _gather_into.call(params, indices, out)
        fits = params.itemsize == 4 and indices.dtype == np.int32 and params.ndim > 1
        if not fits or not all(a.flags.c_contiguous for a in (params, indices, out)):
            return _gather_python(params, indices, out)
        work = self.work.get()
        if work is None:
            return _gather_python(params, indices, out)
        gathering.check_indices(indices, len(params))
        width = params.size // len(params)
        work.run(indices.size, max(1, _PIECE // width), width, *map(address, (params, indices, out)))
        return out

    def _compiled(self) -> Parallel | None:
        return Parallel(rows_text(), ["i64", *["ptr"] * 3]) if llvm.available() else None


def rows_text() -> str:
    """`@part(begin, count, width, rows, numbers, out)`: the rows with some numbers."""
    names = [("i64", name) for name in ("begin", "count", "width")]
    f = Routine("part", (*names, *(("ptr", name) for name in ("rows", "numbers", "out"))), "void", internal=True)
    begin, count, width, rows, numbers, out = f.given
    end = begin + count
    with f.loop(end, begin) as i:
        # Rows lie anywhere: a later one is asked for while this one is copied.
        later = f.smaller(i + _AHEAD, end - 1)
        there = f.at(rows, "float", f.load(numbers, "i32", later).to("i64") * width)
        for line in range(_LINES):
            place = f.at(there, "float", f.smaller(f.number(line * 16), width - 1))
            f.do(f"call void @llvm.prefetch.p0(ptr {place.text}, i32 0, i32 3, i32 1)")
        source = f.at(rows, "float", f.load(numbers, "i32", i).to("i64") * width)
        f.copy(f.at(out, "float", i * width), source, width, "float")
    f.do("ret void")
    return "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n" + f.text()


_AHEAD = 8
_LINES = 4
_large_gather = _LargeGather()


def _rowed(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0 and len(shapes[1]) > 0


@kernel("Gather", device="CPU", dtypes=NUMERIC, library="jit", can=_rowed)
def gather(xp: Any, params: Any, indices: Any, *, out: Any = None) -> Any:
    return _gather.call(params, indices) if out is None else _large_gather.into(params, indices, out)
