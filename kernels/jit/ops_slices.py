"""Slices with steps of small tensors as builtin functions. They are copies in C's order, which costs no more than a view of so
few elements, and whoever reads them finds them in order.

The index has a number for each dimension; all others, and steps backwards, are the Python kernel's.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.registry.kernel import kernel
from actorflow.shapes import num_elements

from ..array import index as indexing
from .blocks import TYPES as STORED
from .builtin import DEEPEST, Kernel, Native, Types
from .routine import Value
from .rules import INDEX, NUMERIC, TYPES

_FEW = 2000


def _text(types: Types, otherwise: Any, begin_mask: int, end_mask: int) -> str | None:
    kind = types[0]
    if kind not in TYPES.values() or kind == "b1" or types[1] not in INDEX or len(set(types[1:])) > 1:
        return None
    f = Kernel(4, otherwise)
    x = f.array(0, kind)
    begins, ends, steps = (f.array(i, types[1], 1) for i in (1, 2, 3))
    rank, number = x.rank, STORED[types[1]]
    f.refuse((rank > 0) & (rank <= DEEPEST))
    for one in (begins, ends, steps):
        f.refuse(one.size(0).equals(rank))
    f.refuse(x.elements() < _FEW)
    sizes, firsts, jumps = (f.buffer("i64", DEEPEST) for _ in range(3))

    def bound(numbers: Value, axis: Value, mask: int, whole: Value, masked: Value) -> Value:
        given = f.load(numbers, number, axis).to("i64")
        given = f.select(given < 0, given + whole, given)
        given = f.smaller(f.select(given < 0, f.number(0), given), whole)
        return f.select(((f.number(mask) >> axis) & 1).differs(0), masked, given)

    with f.loop(rank) as axis:
        whole, step = x.size(axis), f.load(steps.data, number, axis).to("i64")
        f.refuse((step > 0) & (step <= _FEW))
        begin = bound(begins.data, axis, begin_mask, whole, f.number(0))
        end = bound(ends.data, axis, end_mask, whole, whole)
        f.store(f.select(end > begin, (end - begin + step - 1) // step, f.number(0)), sizes, "i64", axis)
        f.store(begin, firsts, "i64", axis)
        f.store(step, jumps, "i64", axis)
    made = f.make(kind, sizes, rank)
    source, target, of = x.data, made.data, x.type
    last = rank - 1
    width, begin, step = (f.load(place, "i64", last) for place in (sizes, firsts, jumps))
    rows = f.variable("i64", 1)
    with f.loop(last) as axis:
        rows.set(rows.value * f.load(sizes, "i64", axis))
    with f.loop(rows.value) as row:
        rest, pitch, place = f.variable("i64"), f.variable("i64"), f.variable("i64")
        rest.set(row)
        pitch.set(x.size(last))
        place.set(begin)
        with f.loop(last) as turn:
            axis = last - 1 - turn
            above = rest.value // f.load(sizes, "i64", axis)
            at = f.load(firsts, "i64", axis) + (rest.value - above * f.load(sizes, "i64", axis)) * f.load(
                jumps, "i64", axis
            )
            place.set(place.value + at * pitch.value)
            pitch.set(pitch.value * x.size(axis))
            rest.set(above)
        line = f.at(source, of, place.value)
        with f.loop(width) as i:
            f.store(f.load(line, of, i * step), target, of, row * width + i)
    f.give(made.object)
    return f.module()


@functools.cache
def slice_of(begin_mask: int, end_mask: int) -> Native:
    """The function of an index whose bounds are left out in these dimensions."""
    masks: dict[str, Any] = {"begin_mask": begin_mask, "end_mask": end_mask}
    none = {"ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}
    return Native(
        lambda x, begin, end, strides: indexing.strided_slice(np, x, begin, end, strides, **masks, **none),
        functools.partial(_text, **masks),
    )


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    plain = not (attrs["ellipsis_mask"] or attrs["new_axis_mask"] or attrs["shrink_axis_mask"])
    return plain and 0 < len(shapes[0]) <= DEEPEST and tuple(shapes[1]) == (len(shapes[0]),)


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return 1 < (num_elements(shapes[0]) or 0) < _FEW


@kernel("StridedSlice", device="CPU", dtypes=NUMERIC, library="jit", can=_can, pays=_pays)
def strided_slice(
    xp: Any,
    x: Any,
    begin: Any,
    end: Any,
    strides: Any,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    return slice_of(begin_mask, end_mask).call(x, begin, end, strides)
