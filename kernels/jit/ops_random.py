"""Uniform random numbers: Philox by machine code, the same bits as `kernels/random/philox.py` defines.

Blocks of the stream are independent, so two threads share a large array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.dtypes import DType
from actorflow.registry.kernel import kernel
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache
from actorflow.runtime.context import KernelContext

from ..random import distributions as random
from ..random import philox
from .builtin import HELD, Kernel, Native, Types, python_address
from .routine import Routine, Value
from .sharing import Parallel, address

_MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_STEPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS = 10
_NUMBERS = 8  # of float32, in a block
_PIECE = 2048


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _high(f: Routine, a: Value, multiplier: int) -> tuple[Value, Value]:
    """The high and the low word of a product."""
    wide = f.add(f"zext i64 {a.text} to i128", "i128")
    product = f.add(f"mul i128 {wide.text}, {multiplier}", "i128")
    up = f.add(f"lshr i128 {product.text}, 64", "i128")
    return f.add(f"trunc i128 {up.text} to i64", "i64"), f.add(f"trunc i128 {product.text} to i64", "i64")


def part_text() -> str:
    """`@part(begin, count, size, key0, key1, run, out)`: some blocks of uniform float32 numbers."""
    names = ("begin", "count", "size", "key0", "key1", "run", "out")
    f = Routine("part", [("ptr" if name == "out" else "i64", name) for name in names], "void", internal=True)
    begin, count, size, key0, key1, run, out = f.given
    spare = f.buffer("float", _NUMBERS)
    with f.loop(begin + count, begin) as number:
        c = [number + 1, f.number(0), run, f.number(0)]
        keys = [key0, key1]
        for turn in range(_ROUNDS):
            if turn:
                keys = [key + _signed(step) for key, step in zip(keys, _STEPS)]
            (high0, low0), (high1, low1) = (_high(f, c[2 * i], _MULTIPLIERS[i]) for i in range(2))
            c = [high1 ^ c[1] ^ keys[0], low1, high0 ^ c[3] ^ keys[1], low0]
        start = number * _NUMBERS
        left = size - start
        whole = left >= _NUMBERS
        place = f.select(whole, f.at(out, "float", start), spare)
        for k, word in enumerate(c):
            for half in range(2):
                bits = (word >> (40 if half else 8)) & 0xFFFFFF
                f.store(bits.to("i32").to("float") * 2.0**-24, place, "float", 2 * k + half)
        with f.when(left < _NUMBERS):
            with f.loop(left) as i:
                f.store(f.load(spare, "float", i), f.at(out, "float", start), "float", i)
    f.do("ret void")
    return f.text()


def _write(types: Types, otherwise: Any) -> str | None:
    """Of the shape, the key and the number of the run."""
    if types[0] not in ("i4", "i8") or types[1] != "u8":
        return None
    f = Kernel(3, otherwise)
    shape, key = f.array(0, types[0], 1), f.array(1, "u8", 1)
    rank = shape.size(0)
    f.refuse(rank <= 8)
    sizes, size = f.buffer("i64", 8), f.variable("i64", 1)
    with f.loop(rank) as i:
        one = f.load(shape.data, shape.type, i).to("i64")
        f.refuse((one >= 0) & (one <= HELD))
        f.store(one, sizes, "i64", i)
        size.set(size.value * one)
        f.refuse(size.value <= HELD)
    run = f.call(python_address("PyLong_AsLong"), "i64", f.object(2))
    made = f.make("f4", sizes, rank)
    blocks = (size.value + (_NUMBERS - 1)) // _NUMBERS
    given = ", ".join(
        f"{v.type} {v.text}"
        for v in (
            f.number(0),
            blocks,
            size.value,
            f.load(key.data, "i64", 0),
            f.load(key.data, "i64", 1),
            run,
            made.data,
        )
    )
    f.do(f"call void @part({given})")
    f.give(made.object)
    return f.module(part_text())


def _python(shape: Any, key: Any, run: int, out: Any = None) -> Any:
    how = philox.uniform(random.uniform_bits(dtypes.float32))
    return random.draw(np, philox.Stream(key, run=run), how, shape, dtypes.float32, out)


_small = Native(_python, _write)


class _Large:
    """Numbers that go into a buffer: by two threads, as soon as their function is compiled."""

    def __init__(self) -> None:
        self.work = TieredCache(self._compiled)

    def fill(self, shape: Any, key: Any, run: int, out: Any) -> Any:
        work = self.work.get()
        if work is None or not out.flags.c_contiguous:
            return _python(shape, key, run, out)
        blocks = -(-out.size // _NUMBERS)
        words = [_signed(int(word)) for word in key]
        work.run(blocks, _PIECE, out.size, *words, run, address(out), divided=blocks >= 4 * _PIECE)
        return out

    def _compiled(self) -> Parallel | None:
        return Parallel(part_text(), [*["i64"] * 4, "ptr"]) if llvm.available() else None


_large = _Large()


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == 1


@kernel("RandomUniform", device="CPU", dtypes=frozenset((dtypes.float32,)), library="jit", can=_can, pays=_can)
def random_uniform(
    xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext, out: Any = None
) -> Any:
    return (
        _small.call(shape, *random.next_run(ctx, seed, seed2))
        if out is None
        else _large.fill(shape, *random.next_run(ctx, seed, seed2), out)
    )
