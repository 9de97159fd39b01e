"""Ops that pick, count and rank elements of small tensors, as builtin functions: segments, one-hot vectors, the largest.

All give the same bits as the Python kernels. Those tell what is wrong with indices, labels and segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.dtypes import DType
from actorflow.registry.kernel import kernel
from actorflow.shapes import num_elements

from ..array import gather as gathering
from ..array import one_hot as array_one_hot
from ..array import sort as array_sort
from ..math import reduction, segment
from .builtin import DEEPEST, Array, Kernel, Native, Types
from .rules import INDEX, NUMERIC, TYPES

FLOATS = frozenset((dtypes.float32, dtypes.float64))
_FLOAT = ("f4", "f8")
_FEW = 2000
_LARGEST = 1 << 24
_MOST_KEPT = 32


def _few(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return 1 < (num_elements(shapes[0]) or 0) < _FEW


def _ranked(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0


# ---- segments of rows


_AS_REDUCEAT = 8
"""Rows that numpy adds in order. In longer segments of few elements it keeps eight sums."""


def _segment_sum_text(types: Types, otherwise: Any) -> str | None:
    if types[0] not in _FLOAT or types[1] not in INDEX:
        return None
    f = Kernel(2, otherwise)
    data, ids = f.array(0, types[0]), f.array(1, types[1], 1)
    real, rank, count = data.type, data.rank, ids.size(0)
    f.refuse((rank >= 2) & (rank <= DEEPEST) & (count > 0))
    f.refuse(data.size(0).equals(count))
    numbers = ids.data
    last, runs, length, longest = (f.variable("i64", n) for n in (0, 1, 0, 1))
    last.set(f.load(numbers, ids.type).to("i64"))
    f.refuse(last.value >= 0)
    with f.loop(count) as i:
        one = f.load(numbers, ids.type, i).to("i64")
        f.refuse(one >= last.value)
        new = one > last.value
        runs.set(runs.value + new.to("i64"))
        length.set(f.select(new, f.number(1), length.value + 1))
        longest.set(f.select(length.value > longest.value, length.value, longest.value))
        last.set(one)
    height = last.value + 1
    width = data.elements() // count
    f.refuse((height <= _LARGEST) & (width > 0))
    f.refuse(height * width <= _LARGEST)
    many = count * width >= gathering.WORTH_SCIPY
    f.refuse(many | (longest.value <= _AS_REDUCEAT))
    sizes = f.buffer("i64", DEEPEST)
    f.store(height, sizes, "i64")
    with f.loop(rank, 1) as axis:
        f.store(data.size(axis), sizes, "i64", axis)
    made = f.make(types[0], sizes, rank)

    def body() -> None:
        source, target = data.data, made.data
        with f.when(runs.value < height):
            with f.loop(height * width) as i:
                f.store(0, target, real, i)
        begin = f.variable("i64", 0)
        # numpy adds the rest of a segment to its first row, SciPy one row after the other to zero.
        with f.loop(count, 1) as i:
            before = f.load(numbers, ids.type, i - 1).to("i64")
            with f.when(f.load(numbers, ids.type, i).to("i64").differs(before)):
                _add_run(f, source, f.at(target, real, before * width), real, begin.value, i, width, many)
                begin.set(i)
        _add_run(f, source, f.at(target, real, last.value * width), real, begin.value, count, width, many)

    f.released(count * width, body)
    f.give(made.object)
    return f.module()


def _add_run(f: Kernel, source: Any, into: Any, real: str, begin: Any, end: Any, width: Any, many: Any) -> None:
    """The sum of the rows from `begin` to `end`."""
    first = f.at(source, real, begin * width)
    alone = (end - begin).equals(1)
    start = f.select(many | alone, begin, begin + 1)
    base = f.at(source, real, start * width)
    with f.loop(width) as k:
        f.store(f.load(base, real, k), into, real, k)
    with f.loop(end, start + 1) as row:
        line = f.at(source, real, row * width)
        with f.loop(width) as k:
            f.store(f.load(into, real, k) + f.load(line, real, k), into, real, k)
    with f.when(start.differs(begin)):
        with f.loop(width) as k:
            f.store(f.load(first, real, k) + f.load(into, real, k), into, real, k)


_segment_sum = Native(lambda data, ids: segment.segment_sum(np, data, ids), _segment_sum_text)


def _deep(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 1


@kernel("SegmentSum", device="CPU", dtypes=FLOATS, library="jit", can=_deep)
def segment_sum(xp: Any, data: Any, ids: Any) -> Any:
    return _segment_sum.call(data, ids)


# ---- one-hot vectors


def _one_hot_text(types: Types, otherwise: Any) -> str | None:
    into = len(types) == 5
    kind = types[2]
    if types[0] not in INDEX or types[1] not in INDEX or kind not in TYPES.values() or types[3] != kind:
        return None
    f = Kernel(len(types), otherwise)
    indices, depth = f.array(0, types[0]), f.whole(1, types[1])
    on, off = (f.load(one.data, one.type) for one in (f.array(2, kind, 0), f.array(3, kind, 0)))
    rank, count = indices.rank, indices.elements()
    f.refuse((depth > 0) & (depth <= _LARGEST) & (rank < DEEPEST))
    sizes = f.buffer("i64", DEEPEST)
    with f.loop(rank) as axis:
        f.store(indices.size(axis), sizes, "i64", axis)
    f.store(depth, sizes, "i64", rank)
    made = f.result(kind, sizes, rank + 1, 4 if into else None)
    of = made.type

    def body() -> None:
        target, numbers = made.data, indices.data
        with f.loop(count * depth) as i:
            f.store(off, target, of, i)
        with f.loop(count) as i:
            number = f.load(numbers, indices.type, i).to("i64")
            with f.when(number.below(depth)):
                f.store(on, target, of, i * depth + number)

    f.released(count * depth, body)
    f.give(made.object)
    return f.module()


def _one_hot_python(indices: Any, depth: Any, on: Any, off: Any, out: Any = None) -> Any:
    return array_one_hot.one_hot(np, indices, depth, on, off, axis=-1, out=out)


_one_hot = Native(_one_hot_python, _one_hot_text)
_one_hot_into = Native(_one_hot_python, _one_hot_text)


def _last(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0 and attrs["axis"] in (-1, len(shapes[0]))


@kernel("OneHot", device="CPU", dtypes=NUMERIC, library="jit", can=_last)
def one_hot(xp: Any, indices: Any, depth: Any, on: Any, off: Any, *, axis: int, out: Any = None) -> Any:
    return _one_hot.call(indices, depth, on, off) if out is None else _one_hot_into.call(indices, depth, on, off, out)


# ---- the largest of each row


def _rows(f: Kernel, x: Array, axis: Any = None) -> tuple[Any, Any]:
    """How many rows there are, and their length; `axis` has to be the last one."""
    rank = x.rank
    f.refuse((rank > 0) & (rank <= DEEPEST))
    if axis is not None:
        f.refuse(axis.equals(rank - 1) | axis.equals(-1))
    width = x.size(rank - 1)
    f.refuse(width > 0)
    return x.elements() // width, width


def _argmax_text(types: Types, otherwise: Any) -> str | None:
    if types[0] not in _FLOAT or types[1] not in INDEX:
        return None
    f = Kernel(2, otherwise)
    x = f.array(0, types[0])
    count, width = _rows(f, x, f.whole(1, types[1]))
    f.refuse(x.rank > 1)
    made = f.make("i8", x.sizes, x.rank - 1)
    source, target, real = x.data, made.data, x.type
    with f.loop(count) as row:
        line = f.at(source, real, row * width)
        best, place = f.variable(real, f.load(line, real)), f.variable("i64", 0)
        with f.loop(width, 1) as i:
            value = f.load(line, real, i)
            more = (value > best.value) | (value.is_nan() & (best.value.is_nan() ^ 1))
            best.set(f.select(more, value, best.value))
            place.set(f.select(more, i, place.value))
        f.store(place.value, target, "i64", row)
    f.give(made.object)
    return f.module()


_argmax = Native(lambda x, axis: reduction.argmax(np, x, axis, output_type=dtypes.int64), _argmax_text)


@kernel("ArgMax", device="CPU", dtypes=frozenset((dtypes.int64,)), library="jit", can=_deep, pays=_few)
def argmax(xp: Any, x: Any, axis: Any, *, output_type: DType) -> Any:
    return _argmax.call(x, axis)


def _top_k_text(types: Types, otherwise: Any) -> str | None:
    if types[0] not in _FLOAT or types[1] not in INDEX:
        return None
    f = Kernel(2, otherwise)
    x, kept = f.array(0, types[0]), f.whole(1, types[1])
    count, width = _rows(f, x)
    f.refuse((kept > 0) & (kept <= width) & (kept <= _MOST_KEPT))
    source, real = x.data, x.type
    with f.loop(count * width) as i:
        f.refuse(f.load(source, real, i).is_nan() ^ 1)
    sizes = f.buffer("i64", DEEPEST)
    with f.loop(x.rank - 1) as axis:
        f.store(x.size(axis), sizes, "i64", axis)
    f.store(kept, sizes, "i64", x.rank - 1)
    values, places = f.make(types[0], sizes, x.rank), f.make("i4", sizes, x.rank)
    to, at = values.data, places.data
    with f.loop(count) as row:
        line, best, where = f.at(source, real, row * width), f.at(to, real, row * kept), f.at(at, "i32", row * kept)
        held = f.variable("i64", 0)
        with f.loop(width) as i:
            value = f.load(line, real, i)
            full = held.value.equals(kept)
            # Of equals the first one goes before.
            least = f.load(best, real, f.select(full, kept - 1, f.number(0)))
            with f.when((full ^ 1) | (value > least)):
                place = f.variable("i64", 0)
                place.set(f.select(full, kept - 1, held.value))
                with f.loop(place.value):
                    above = place.value - 1
                    moves = (place.value > 0) & (f.load(best, real, f.select(above < 0, f.number(0), above)) < value)
                    with f.when(moves):
                        f.store(f.load(best, real, above), best, real, place.value)
                        f.store(f.load(where, "i32", above), where, "i32", place.value)
                        place.set(above)
                f.store(value, best, real, place.value)
                f.store(i.to("i32"), where, "i32", place.value)
                held.set(f.select(full, kept, held.value + 1))
    f.pair(values, places)
    return f.module()


_top_k = Native(lambda x, k: array_sort.top_k(np, x, k), _top_k_text)


@kernel("TopKV2", device="CPU", library="jit", can=_ranked, pays=_few)
def top_k(xp: Any, x: Any, k: Any) -> Any:
    return _top_k.call(x, k)
