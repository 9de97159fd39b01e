"""Maxima of windows that lie inside of images with channels last, and their gradients, with each image read once.

A window's channels are taken as vectors, sixteen or eight at a time. The results are those of the Python kernels: a NaN
is a window's maximum, and of several maxima the first has the gradient. What does not fit goes to oneDNN, or to numpy.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.registry.kernel import kernel
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache

from ..nn import pool
from ..onednn import pool as library
from .routine import Routine, Value
from .sharing import Parallel, address

LEAST = 8192
"""Elements from which on this pays."""
_DIVIDED = 1 << 17
_PIECE = 1 << 15
_WIDE, _NARROW = 16, 8
_MOST_PLACES = 16

Window = tuple[int, int, int, int]
"""Its height and width, and how far it moves down and to the right."""


class _Vectors:
    """Instructions on vectors of float32, written into a routine."""

    def __init__(self, routine: Routine, lanes: int) -> None:
        self._routine = routine
        self.lanes = lanes
        self.kind, self.bits = f"<{lanes} x float>", f"<{lanes} x i1>"

    def load(self, place: Value) -> Value:
        return self._routine.add(f"load {self.kind}, ptr {place.text}, align 4", self.kind)

    def store(self, value: Value, place: Value) -> None:
        self._routine.do(f"store {self.kind} {value.text}, ptr {place.text}, align 4")

    def compare(self, how: str, one: Value, other: Value) -> Value:
        return self._routine.add(f"fcmp {how} {self.kind} {one.text}, {other.text}", self.bits)

    def join(self, op: str, one: Value, other: Value) -> Value:
        return self._routine.add(f"{op} {self.bits} {one.text}, {other.text}", self.bits)

    def choose(self, where: Value, one: Value, other: str) -> Value:
        chosen = f"{self.kind} {one.text}, {self.kind} {other}"
        return self._routine.add(f"select {self.bits} {where.text}, {chosen}", self.kind)

    def greater(self, one: Value, other: Value) -> Value:
        """The greater ones, or NaN."""
        stays = self.join("or", self.compare("oge", one, other), self.compare("uno", one, one))
        return self.choose(stays, one, other.text)

    def spread(self, found: Sequence[Value], most: Value, slope: Value, targets: Sequence[Value]) -> None:
        """Stores the slope where the first of the values is the maximum, else 0."""
        free = Value(self._routine, f"<{', '.join(['i1 true'] * self.lanes)}>", self.bits)
        for one, target in zip(found, targets, strict=True):
            mine = self.join("and", free, self.compare("oeq", one, most))
            free = self.join("xor", free, mine)
            self.store(self.choose(mine, slope, "zeroinitializer"), target)


def text(window: Window, lanes: int, gradient: bool) -> str:
    """`@part(begin, count, height, width, rows, columns, channels, addresses...)`: the maxima of some rows of windows, from x
    in y; with `gradient` their gradients, from x, y and dy in dx, where windows lie side by side."""
    high, wide, down, right = window
    sizes = ("begin", "count", "height", "width", "rows", "columns", "channels")
    names = ("x", "y", "dy", "dx") if gradient else ("x", "y")
    f = Routine("part", (*(("i64", n) for n in sizes), *(("ptr", n) for n in names)), "void", internal=True)
    begin, count, height, width, rows, columns, channels, x, y, *others = f.given
    v = _Vectors(f, lanes)
    with f.loop(begin + count, begin) as row:
        image = row // rows
        top = (image * height + (row - image * rows) * down) * width * channels
        with f.loop(columns) as column:
            first = top + column * right * channels
            target = (row * columns + column) * channels
            with f.loop(channels // lanes) as group:
                at = first + group * lanes
                into = target + group * lanes
                places = [at + (width * i + j) * channels for i in range(high) for j in range(wide)]
                found = [v.load(f.at(x, "float", p)) for p in places]
                if gradient:
                    targets = [f.at(others[1], "float", p) for p in places]
                    v.spread(found, v.load(f.at(y, "float", into)), v.load(f.at(others[0], "float", into)), targets)
                else:
                    v.store(functools.reduce(v.greater, found), f.at(y, "float", into))
    f.do("ret void")
    return f.text()


class _Pool:
    """The function of one kind of window, compiled in the background when it has been asked for a few times."""

    def __init__(self, window: Window, lanes: int, gradient: bool) -> None:
        self._key = window, lanes, gradient
        self.work = TieredCache(self._compiled)

    def run(self, shape: Sequence[int], result: Sequence[int], *arrays: Any) -> bool:
        """Works on images of this shape; False where the function is not there yet."""
        work = self.work.get()
        if work is None:
            return False
        elements = prod(shape)
        rows = result[0] * result[1]
        piece = max(1, _PIECE * rows // elements)
        work.run(rows, piece, *shape[1:3], *result[1:3], shape[3], *map(address, arrays), divided=elements >= _DIVIDED)
        return True

    def _compiled(self) -> Parallel | None:
        parameters = [*["i64"] * 5, *["ptr"] * (4 if self._key[2] else 2)]
        return Parallel(text(*self._key), parameters) if llvm.available() else None


@functools.cache
def pool_of(window: Window, lanes: int, gradient: bool) -> _Pool:
    """The one function of this kind."""
    return _Pool(window, lanes, gradient)


def _window(shape: Sequence[int], ksize: Any, strides: Any, padding: str) -> tuple[Window, tuple[int, ...]] | None:
    """The window and the result's shape, where all windows lie inside."""
    try:
        spans = pool._spans(shape, ksize, strides, padding)
    except ValueError:
        return None
    if len(spans) != 4 or spans[0].moves or spans[3].moves or prod(shape) == 0:
        return None
    if any(s.before or (s.count - 1) * s.stride + s.window > s.size for s in spans[1:3]):
        return None
    down, right = spans[1:3]
    return (down.window, right.window, down.stride, right.stride), tuple([s.count for s in spans])


def _fits(window: Window, channels: int) -> int:
    """How many channels are taken at a time; 0 where this is nothing for vectors."""
    if window[0] * window[1] > _MOST_PLACES:
        return 0
    return next((lanes for lanes in (_WIDE, _NARROW) if channels % lanes == 0), 0)


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    found = _window(shapes[0], attrs["ksize"], attrs["strides"], attrs["padding"])
    return found is not None and _fits(found[0], shapes[0][3]) > 0


def _can_gradient(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    found = _window(shapes[0], attrs["ksize"], attrs["strides"], attrs["padding"])
    return found is not None and _fits(found[0], shapes[0][3]) > 0 and found[0][:2] == found[0][2:]


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return bool(prod(shapes[0]) >= LEAST)


_OPTIONS: dict[str, Any] = {
    "device": "CPU",
    "dtypes": frozenset((dtypes.float32,)),
    "library": "jit",
    "pays": _pays,
}


def _in_order(*arrays: Any) -> bool:
    return all(type(a) is np.ndarray and a.flags.c_contiguous for a in arrays)


@kernel("MaxPool", can=_can, **_OPTIONS)
def max_pool(xp: Any, x: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    found = _window(x.shape, ksize, strides, padding) if _in_order(x) else None
    lanes = _fits(found[0], x.shape[3]) if found is not None else 0
    if found is not None and lanes and (out is None or _in_order(out)):
        y = np.empty(found[1], np.float32) if out is None else out
        if pool_of(found[0], lanes, False).run(x.shape, found[1], x, y):
            return y
    return library.max_pool(xp, x, ksize=ksize, strides=strides, padding=padding, out=out)


@kernel("MaxPoolGrad", can=_can_gradient, **_OPTIONS)
def max_pool_grad(xp: Any, x: Any, y: Any, dy: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    found = _window(x.shape, ksize, strides, padding) if _in_order(x, y, dy) else None
    lanes = _fits(found[0], x.shape[3]) if found is not None else 0
    if found is not None and lanes and y.shape == dy.shape == found[1] and (out is None or _in_order(out)):
        window, result = found
        dx = np.empty(x.shape, np.float32) if out is None else out
        if (result[1] * window[0], result[2] * window[1]) != x.shape[1:3]:
            dx[...] = 0  # between the last windows and the borders
        if pool_of(window, lanes, True).run(x.shape, result, x, y, dy, dx):
            return dx
    return library.max_pool_grad(xp, x, y, dy, ksize=ksize, strides=strides, padding=padding, out=out)
