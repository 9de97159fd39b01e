"""Concatenation of large arrays, copied by two threads."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from actorflow.registry.kernel import kernel
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache
from actorflow.shapes import num_elements

from ..array import join as joining
from .routine import Routine
from .rules import TYPES
from .sharing import Parallel, address

LEAST = 1 << 20
"""Bytes of the result, below which one thread copies all."""
_SHORTEST = 256
"""Bytes that lie together, on average: numpy copies shorter ones as fast."""
_PIECE = 1 << 17
"""Bytes that a thread copies at a time."""


def part_text() -> str:
    """`@part(begin, count, parts, width, words, out)`: some stretches of rows of `width` bytes. Each row has `parts` of them,
    and of each `words` has its array, its bytes, and those in front of it."""
    names = [("i64", name) for name in ("begin", "count", "parts", "width")]
    f = Routine("part", (*names, ("ptr", "words"), ("ptr", "out")), "void", internal=True)
    begin, count, parts, width, words, out = f.given
    with f.loop(begin + count, begin) as stretch:
        row = stretch // parts
        word = (stretch - row * parts) * 3
        array, size, before = f.load(words, "ptr", word), f.load(words, "i64", word + 1), f.load(words, "i64", word + 2)
        f.copy(f.at(out, "i8", row * width + before), f.at(array, "i8", row * size), size, "i8")
    f.do("ret void")
    return f.text()


work: TieredCache[Parallel] = TieredCache(
    lambda: Parallel(part_text(), ["i64", "i64", "ptr", "ptr"]) if llvm.available() else None
)


def joined(values: Sequence[Any], axis: int, out: Any) -> bool:
    """Fills `out` with the arrays one after the other along an axis; False where numpy has to, or to say what is wrong."""
    if out.nbytes < LEAST or not -out.ndim <= axis < out.ndim:
        return False
    axis %= out.ndim
    before, after = out.shape[:axis], out.shape[axis + 1 :]
    for a in (*values, out):
        fits = a.ndim == out.ndim and a.shape[:axis] == before and a.shape[axis + 1 :] == after
        if not fits or not a.flags.c_contiguous or a.dtype != out.dtype:
            return False
    rows = prod(before)
    stretches = rows * len(values)
    sizes = [a.nbytes // rows for a in values]
    if out.nbytes < _SHORTEST * stretches or sum(sizes) * rows != out.nbytes:
        return False
    found = work.get()
    if found is None:
        return False
    words = [word for triple in zip(map(address, values), sizes, accumulate(sizes, initial=0)) for word in triple]
    table = (ctypes.c_int64 * len(words))(*words)
    piece = max(1, _PIECE * stretches // out.nbytes)
    given = len(values), out.nbytes // rows, ctypes.addressof(table), address(out)
    found.run(stretches, piece, *given, amount=out.nbytes)
    return True


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    sizes = [None if shape is None else num_elements(shape) for shape in shapes]
    return None in sizes or 8 * sum(filter(None, sizes)) >= LEAST


@kernel("ConcatV2", device="CPU", dtypes=frozenset(TYPES), library="jit", pays=_pays)
def concat(xp: Any, values: Any, axis: Any, *, out: Any = None) -> Any:
    if out is not None and joined(values, int(axis), out):
        return out
    return joining.concat(np, values, axis, out=out)
