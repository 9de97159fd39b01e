"""Sums and extremes as builtin functions.

Sums of fewer than 1024 elements are numpy's bit for bit: along rows pairwise, with eight partial sums for up to 128 numbers;
along columns in order. That is the order of `numpy.add.reduce`, which the Python kernels use there. Others are added in lanes
(`sums`), so they may differ in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.registry.kernel import kernel
from actorflow.shapes import num_elements

from ..math import reduction
from ..shared.helping import WORTH_SHARING
from .builtin import Array, Kernel, Native, Types, numpy_address
from .routine import Value
from .sums import lanes_text, sums_of

_SMALL = 1024
"""Elements from which on the Python kernels add in another order."""
FLOATS = frozenset((dtypes.float32, dtypes.float64))
_SCALAR = 60
_TOGETHER = 4
"""Rows that are added up before they are added to the others, where there are many."""


def _pairwise(real: str) -> str:
    """`@pairwise(x, n)`: numpy's sum of contiguous numbers."""
    vector = f"<8 x {real}>"
    halves = "<4 x i32> <i32 0, i32 2, i32 4, i32 6>", "<4 x i32> <i32 1, i32 3, i32 5, i32 7>"
    lines = [f"define internal {real} @pairwise(ptr %x, i64 %n) {{", "entry:"]
    lines += ["  %few = icmp slt i64 %n, 8", "  br i1 %few, label %one, label %some", "some:"]
    lines += ["  %fits = icmp sle i64 %n, 128", "  br i1 %fits, label %eight, label %split", "split:"]
    lines += ["  %h0 = sdiv i64 %n, 2", "  %h1 = srem i64 %h0, 8", "  %h = sub i64 %h0, %h1"]
    lines += [f"  %y = getelementptr {real}, ptr %x, i64 %h", "  %m = sub i64 %n, %h"]
    lines += [f"  %a = call {real} @pairwise(ptr %x, i64 %h)", f"  %b = call {real} @pairwise(ptr %y, i64 %m)"]
    lines += [f"  %ab = fadd {real} %a, %b", f"  ret {real} %ab", "eight:"]
    lines += [f"  %v0 = load {vector}, ptr %x, align 4", "  %over = srem i64 %n, 8", "  %whole = sub i64 %n, %over"]
    lines += ["  br label %next", "next:", "  %i = phi i64 [ 8, %eight ], [ %i.next, %take ]"]
    lines += [f"  %v = phi {vector} [ %v0, %eight ], [ %v.next, %take ]", "  %more = icmp slt i64 %i, %whole"]
    lines += ["  br i1 %more, label %take, label %fold", "take:", f"  %p = getelementptr {real}, ptr %x, i64 %i"]
    lines += [f"  %w = load {vector}, ptr %p, align 4", f"  %v.next = fadd {vector} %v, %w"]
    lines += ["  %i.next = add i64 %i, 8", "  br label %next", "fold:"]
    for i, mask in enumerate(halves):
        lines.append(f"  %f{i} = shufflevector {vector} %v, {vector} poison, {mask}")
    lines.append(f"  %g = fadd <4 x {real}> %f0, %f1")
    lines += [f"  %g{i} = extractelement <4 x {real}> %g, i32 {i}" for i in range(4)]
    lines += [f"  %s0 = fadd {real} %g0, %g1", f"  %s1 = fadd {real} %g2, %g3", f"  %s = fadd {real} %s0, %s1"]
    lines += ["  br label %rest", "one:", "  br label %rest", "rest:"]
    lines += ["  %k = phi i64 [ %whole, %fold ], [ 0, %one ], [ %k.next, %add ]"]
    lines += [f"  %t = phi {real} [ %s, %fold ], [ -0.0, %one ], [ %t.next, %add ]"]
    lines += ["  %left = icmp slt i64 %k, %n", "  br i1 %left, label %add, label %done", "add:"]
    lines += [f"  %q = getelementptr {real}, ptr %x, i64 %k", f"  %z = load {real}, ptr %q"]
    lines += [f"  %t.next = fadd {real} %t, %z", "  %k.next = add i64 %k, 1", "  br label %rest", "done:"]
    return "\n".join([*lines, f"  ret {real} %t", "}"])


class _Plan:
    """The dimensions of a reduction: `before` groups of `along` rows of `after` elements, of which the rows become one."""

    def __init__(self, f: Kernel, x: Array, axes: Array, keep: Value) -> None:
        rank = x.rank
        count = axes.elements()
        f.refuse((count > 0) & (rank > 0))
        first = self._axis(f, axes, rank, 0)
        with f.loop(count) as i:
            f.refuse(self._axis(f, axes, rank, i).equals(first + i))
        end = first + count
        self.before, self.along, self.after = (
            self._product(f, x, *of) for of in ((0, first), (first, end), (end, rank))
        )
        self.rank = f.variable("i64", 0)
        f.refuse(rank <= 8)
        self.sizes = f.buffer("i64", 8)
        with f.loop(rank) as i:
            reduced = (i >= first) & (i < end)
            f.store(f.select(reduced, f.number(1), x.size(i)), self.sizes, "i64", self.rank.value)
            stays = keep | (reduced ^ 1)
            self.rank.set(self.rank.value + stays.to("i64"))

    @staticmethod
    def _axis(f: Kernel, axes: Array, rank: Value, index: Any) -> Value:
        given = f.load(axes.data, axes.type, index).to("i64")
        axis = f.select(given < 0, given + rank, given)
        f.refuse(axis.below(rank))
        return axis

    @staticmethod
    def _product(f: Kernel, x: Array, start: Any, end: Any) -> Value:
        total = f.variable("i64", 1)
        with f.loop(end, start) as i:
            total.set(total.value * x.size(i))
        return total.value


def _give(f: Kernel, made: Array) -> None:
    """Gives an array, or a scalar of numpy's for a rank of 0."""
    with f.when(made.rank.equals(0)):
        kind = f.number(id(np.dtype(made.dtype)), "ptr")
        scalar = f.call(numpy_address(_SCALAR), "ptr", made.data, kind, f.number(0, "ptr"))
        f.drop(made.object)
        f.give(scalar)
        f.block(f.name("never"))
    f.give(made.object)


def _sum_text(types: Types, otherwise: Any, mean: bool) -> str | None:
    if types[0] not in ("f4", "f8") or types[1] not in ("i4", "i8"):
        return None
    f = Kernel(3, otherwise)
    x, axes, keep = f.array(0, types[0]), f.array(1, types[1]), f.flag(2)
    real = x.type
    plan = _Plan(f, x, axes, keep)
    size = plan.before * plan.along * plan.after
    f.refuse((size < WORTH_SHARING) & (plan.along > 0))
    made = f.make(types[0], plan.sizes, plan.rank.value)

    def body() -> None:
        few = size < _SMALL
        source, target = x.data, made.data
        with f.when(plan.after.equals(1)):
            with f.loop(plan.before) as row:
                line = f.at(source, real, row * plan.along)
                with f.when(few):
                    total = f.add(f"call {real} @pairwise(ptr {line.text}, i64 {plan.along.text})", real)
                    f.store(total + f.number(0, real), target, real, row)
                with f.when(few ^ 1):
                    total = f.add(f"call {real} @lanes(ptr {line.text}, i64 {plan.along.text})", real)
                    f.store(total, target, real, row)
        with f.when(plan.after.differs(1)):
            _column_sums(f, source, target, real, plan, f.select(few, f.number(1), f.number(_TOGETHER)))
        if mean:
            count = plan.along.to(real)
            with f.loop(plan.before * plan.after) as i:
                f.store(f.load(target, real, i) / count, target, real, i)

    f.released(size, body)
    _give(f, made)
    return f.module(_pairwise(real), lanes_text(real))


def _column_sums(f: Kernel, source: Value, target: Value, real: str, plan: _Plan, together: Value) -> None:
    """One row after the other, or some of them `together` before they are added to the others."""
    after = plan.after
    with f.loop(plan.before) as group:
        into = f.at(target, real, group * after)
        begin = f.at(source, real, group * plan.along * after)
        with f.loop(after) as i:
            f.store(f.load(begin, real, i) + f.number(0, real), into, real, i)
        done = f.variable("i64", 1)
        with f.when(together > 1):
            groups = (plan.along - 1) // _TOGETHER
            with f.loop(groups) as number:
                lines = [f.at(begin, real, (number * _TOGETHER + (k + 1)) * after) for k in range(_TOGETHER)]
                with f.loop(after) as i:
                    a, b, c, d = (f.load(line, real, i) for line in lines)
                    f.store(f.load(into, real, i) + ((a + b) + (c + d)), into, real, i)
            done.set(groups * _TOGETHER + 1)
        with f.loop(plan.along, done.value) as row:
            line = f.at(begin, real, row * after)
            with f.loop(after) as i:
                f.store(f.load(into, real, i) + f.load(line, real, i), into, real, i)


_LANES = 64  # numbers of which the extremes are kept side by side


def _extreme_text(types: Types, otherwise: Any, largest: bool) -> str | None:
    if types[0] not in ("f4", "f8") or types[1] not in ("i4", "i8"):
        return None
    f = Kernel(3, otherwise)
    x, axes, keep = f.array(0, types[0]), f.array(1, types[1]), f.flag(2)
    real = x.type
    plan = _Plan(f, x, axes, keep)
    f.refuse((plan.before * plan.after > 0) & (plan.along > 0))
    made = f.make(types[0], plan.sizes, plan.rank.value)
    source, target, along, after = x.data, made.data, plan.along, plan.after
    width = _LANES // (2 if real == "double" else 1)
    lanes = f"<{width} x {real}>"

    def better(one: Value, other: Value) -> Value:
        stays = f.add(f"fcmp {'ogt' if largest else 'olt'} {one.type} {one.text}, {other.text}", _bits(one.type))
        nan = f.add(f"fcmp uno {one.type} {one.text}, {one.text}", _bits(one.type))
        first = f.add(f"or {stays.type} {stays.text}, {nan.text}", stays.type)
        return f.add(f"select {first.type} {first.text}, {one.type} {one.text}, {one.type} {other.text}", one.type)

    def body() -> None:
        with f.when(after.equals(1)):
            with f.loop(plan.before) as row:
                line = f.at(source, real, row * along)
                best = f.variable(real, f.load(line, real))
                done = f.variable("i64", 0)
                with f.when(along >= width):
                    wide = f.variable(lanes)
                    wide.set(f.load(line, lanes))
                    with f.loop(along // width, 1) as b:
                        wide.set(better(wide.value, f.load(f.at(line, real, b * width), lanes)))
                    # The last ones, some of which have been seen: that changes nothing.
                    last = f.load(f.at(line, real, along - width), lanes)
                    best.set(_folded(f, better, better(wide.value, last), width))
                    done.set(along)
                with f.loop(along, done.value) as i:
                    best.set(better(best.value, f.load(line, real, i)))
                f.store(best.value, target, real, row)
        with f.when(after.differs(1)):
            with f.loop(plan.before) as group:
                into = f.at(target, real, group * after)
                begin = f.at(source, real, group * along * after)
                with f.loop(after) as i:
                    f.store(f.load(begin, real, i), into, real, i)
                with f.loop(along, 1) as row:
                    line = f.at(begin, real, row * after)
                    with f.loop(after) as i:
                        f.store(better(f.load(into, real, i), f.load(line, real, i)), into, real, i)

    f.released(plan.before * along * after, body)
    _give(f, made)
    return f.module()


def _folded(f: Kernel, better: Callable[[Value, Value], Value], value: Value, width: int) -> Value:
    """The best of a vector's elements: its halves are compared until one is left."""
    element = value.type.split(" x ")[1].rstrip(">")
    while width > 1:
        width //= 2
        parts = []
        for begin in (0, width):
            mask = ", ".join(f"i32 {i}" for i in range(begin, begin + width))
            text = f"shufflevector {value.type} {value.text}, {value.type} poison, <{width} x i32> <{mask}>"
            parts.append(f.add(text, f"<{width} x {element}>"))
        value = better(*parts)
    return f.add(f"extractelement {value.type} {value.text}, i32 0", element)


def _bits(kind: str) -> str:
    return f"{kind.split(' x ')[0]} x i1>" if kind.startswith("<") else "i1"


# ---- the kernels


def _native(base: Callable[..., Any], write: Callable[..., str | None], how: bool) -> Native:
    return Native(
        lambda x, axis, keep_dims: base(np, x, axis, keep_dims=keep_dims), lambda types, rest: write(types, rest, how)
    )


def _sum_python(xp: Any, x: Any, axis: Any, *, keep_dims: bool) -> Any:
    total = None
    if x.size >= WORTH_SHARING and x.flags.c_contiguous:
        axes = tuple(axis.tolist()) if axis.ndim else int(axis)
        total = sums_of(x.dtype.str[1:]).over(x, axes, keep_dims)
    return reduction.sum_of(xp, x, axis, keep_dims=keep_dims) if total is None else total


def _mean_python(xp: Any, x: Any, axis: Any, *, keep_dims: bool) -> Any:
    if x.size < WORTH_SHARING:
        return reduction.mean_of(xp, x, axis, keep_dims=keep_dims)
    total = _sum_python(xp, x, axis, keep_dims=keep_dims)
    return total / x.dtype.type(x.size // max(1, total.size))


_sum = _native(_sum_python, _sum_text, False)
_mean = _native(_mean_python, _sum_text, True)
_max = _native(reduction.max_of, _extreme_text, True)
_min = _native(reduction.min_of, _extreme_text, False)


def _any(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    if len(shapes[1]) == 0:  # such a number comes as an array beside arrays only
        return len(shapes[0]) > 1 or (len(shapes[0]) == 1 and attrs["keep_dims"])
    return len(shapes[0]) > 0 and len(shapes[1]) == 1


def _some(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return (num_elements(shapes[0]) or 0) > 1


@kernel("Sum", device="CPU", dtypes=FLOATS, library="jit", can=_any, pays=_some)
def sum_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return _sum.call(x, axis, keep_dims) if out is None else reduction.sum_of(xp, x, axis, keep_dims=keep_dims, out=out)


@kernel("Mean", device="CPU", dtypes=FLOATS, library="jit", can=_any, pays=_some)
def mean_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return (
        _mean.call(x, axis, keep_dims) if out is None else reduction.mean_of(xp, x, axis, keep_dims=keep_dims, out=out)
    )


@kernel("Max", device="CPU", dtypes=FLOATS, library="jit", can=_any, pays=_some)
def max_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return _max.call(x, axis, keep_dims) if out is None else reduction.max_of(xp, x, axis, keep_dims=keep_dims, out=out)


@kernel("Min", device="CPU", dtypes=FLOATS, library="jit", can=_any, pays=_some)
def min_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return _min.call(x, axis, keep_dims) if out is None else reduction.min_of(xp, x, axis, keep_dims=keep_dims, out=out)
