"""The softmax of long rows, and the cross entropy of many classes: a walk over the rows that keeps each in the cache.

Exponentials of float32 are a polynomial (`powers`), others numpy's own (`ufuncs`), and a row is summed in 32 partial sums of up
to 128 numbers, so results may differ from the Python kernels' in the last bits. Two threads share many rows.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.registry.kernel import kernel
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache
from actorflow.shapes import num_elements

from ..nn import activation as nn
from .blocks import TYPES
from .powers import POWER_NEEDS, power
from .routine import Routine, Value
from .sharing import Parallel, address
from .ufuncs import inner_loop

FLOATS = frozenset((dtypes.float32, dtypes.float64))
_LANES = 32
LEAST = 4096
"""Elements from which on this pays."""
_DIVIDED = 1 << 16
_PIECE = 1 << 13


def part_text(dtype: str, labels: str = "") -> str:
    """`@part(begin, count, width, x, out)`: the softmax of some rows. With a type of labels also `labels, totals, shifted`: 1 is
    taken from the label's place, and each row's sum of exponentials and the label's shifted logit are kept."""
    real, size = TYPES[dtype], int(dtype[1])
    parameters = [("i64", "begin"), ("i64", "count"), ("i64", "width"), ("ptr", "x"), ("ptr", "out")]
    if labels:
        parameters += [("ptr", "labels"), ("ptr", "totals"), ("ptr", "shifted")]
    f = Routine("part", parameters, "void", internal=True)
    begin, count, width, x, out = f.given[:5]
    lanes = f"<{_LANES} x {real}>"
    args, steps, length = f.buffer("ptr", 2), f.buffer("i64", 2), f.buffer("i64", 1)
    for k in range(2):
        f.store(size, steps, "i64", k)
    f.store(width, length, "i64")
    found = inner_loop("exp", dtype)
    assert found is not None
    with f.loop(begin + count, begin) as row:
        source, target = f.at(x, real, row * width), f.at(out, real, row * width)
        most = f.variable(lanes, f.load(source, lanes))
        with f.loop(width // _LANES, 1) as b:
            most.set(_larger(f, most.value, f.load(f.at(source, real, b * _LANES), lanes)))
        most.set(_larger(f, most.value, f.load(f.at(source, real, width - _LANES), lanes)))
        largest = folded(f, most.value, lambda one, other: _larger(f, one, other))
        if labels:
            label = f.load(f.given[5], TYPES[labels], row).to("i64")
            f.store(f.load(source, real, label) - largest, f.given[7], real, row)
        with f.loop(width) as i:
            less = f.load(source, real, i) - largest
            f.store(power(f, less) if dtype == "f4" else less, target, real, i)
        if dtype != "f4":
            for k in range(2):
                f.store(target, args, "ptr", k)
            f.call(found[0], "void", args, length, steps, f.number(found[1], "ptr"))
        sums = f.variable(lanes, f.load(target, lanes))
        whole = (width // _LANES) * _LANES
        with f.loop(width // _LANES, 1) as b:
            sums.set(sums.value + f.load(f.at(target, real, b * _LANES), lanes))
        total = f.variable(real, folded(f, sums.value, lambda one, other: one + other))
        with f.loop(width, whole) as i:
            total.set(total.value + f.load(target, real, i))
        part = f.number(1, real) / total.value
        with f.loop(width) as i:
            f.store(f.load(target, real, i) * part, target, real, i)
        if labels:
            f.store(total.value, f.given[6], real, row)
            f.store(f.load(target, real, label) - f.number(1, real), target, real, label)
    f.do("ret void")
    return "\n".join([POWER_NEEDS, f.text()])


def _larger(f: Routine, one: Value, other: Value) -> Value:
    """The larger numbers of two vectors. Who compares a NaN with others loses it, but the row's sum has it."""
    bits = f"{one.type.split(' x ')[0]} x i1>" if one.type.startswith("<") else "i1"
    more = f.add(f"fcmp ogt {one.type} {one.text}, {other.text}", bits)
    return f.add(f"select {bits} {more.text}, {one.type} {one.text}, {one.type} {other.text}", one.type)


def folded(f: Routine, value: Value, join: Any) -> Value:
    """What is left of a vector when its halves are joined until there is one element."""
    width, element = int(value.type[1:].split(" ")[0]), value.type.split(" x ")[1].rstrip(">")
    while width > 1:
        width //= 2
        parts = []
        for begin in (0, width):
            mask = ", ".join(f"i32 {i}" for i in range(begin, begin + width))
            text = f"shufflevector {value.type} {value.text}, {value.type} poison, <{width} x i32> <{mask}>"
            parts.append(f.add(text, f"<{width} x {element}>"))
        value = join(*parts)
    return f.add(f"extractelement {value.type} {value.text}, i32 0", element)


@functools.cache
def rows_of(dtype: str, labels: str = "") -> TieredCache[Parallel]:
    """The work for one type of logits, and of labels."""

    def compiled() -> Parallel | None:
        if not llvm.available() or inner_loop("exp", dtype) is None:
            return None
        return Parallel(part_text(dtype, labels), ["i64", *["ptr"] * (5 if labels else 2)])

    return TieredCache(compiled)


def _run(rows: Parallel, x: Any, out: Any, *others: Any) -> None:
    width = x.shape[-1]
    addresses = map(address, (x, out, *others))
    piece = max(1, _PIECE // width)
    rows.run(x.size // width, piece, width, *addresses, divided=x.size >= _DIVIDED)


def suits(x: Any) -> bool:
    """Whether the rows of an array are long, and in order."""
    return type(x) is np.ndarray and x.flags.c_contiguous and _LANES <= x.shape[-1] <= 128 * _LANES and x.size >= LEAST


def softmax_of(logits: Any, axis: int, out: Any) -> Any:
    if suits(logits) and (out is None or out.flags.c_contiguous):
        rows = rows_of(logits.dtype.str[1:]).get()
        if rows is not None:
            result = np.empty(logits.shape, logits.dtype) if out is None else out
            _run(rows, logits, result)
            return result
    return nn.softmax(np, logits, axis=axis, out=out)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The loss and its derivative, or None where numpy has to compute them, or to say what is wrong."""
    if not suits(logits) or labels.dtype.str[1:] not in ("i4", "i8") or not labels.flags.c_contiguous:
        return None
    rows = rows_of(logits.dtype.str[1:], labels.dtype.str[1:]).get()
    if rows is None or labels.view(f"u{labels.dtype.itemsize}").max() >= logits.shape[1]:
        return None
    derivative = np.empty(logits.shape, logits.dtype)
    totals, shifted = np.empty((2, len(logits)), logits.dtype)
    _run(rows, logits, derivative, labels, totals, shifted)
    return np.log(totals) - shifted, derivative


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0 and attrs["axis"] in (-1, len(shapes[0]) - 1)


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return (num_elements(shapes[0]) or 0) >= LEAST and bool(_LANES <= shapes[0][-1] <= 128 * _LANES)


@kernel("Softmax", device="CPU", dtypes=FLOATS, library="jit", can=_can, pays=_pays)
def softmax(xp: Any, logits: Any, *, axis: int, out: Any = None) -> Any:
    return softmax_of(logits, axis, out)
