"""Products that two threads compute without the interpreter: parts of `sgemm` for the second thread of generated code.

A thread of Python's has to get the interpreter before its part and after it, which takes 50 µs, and milliseconds where a third
one holds it. So where there is llvmlite (extra `jit`), the parts are called by generated code. Where there is none, and as long
as that code is not compiled, Python shares them (`parts`).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import TieredCache, background

from ..shared.helping import Balance, cores
from .binding import Binding
from .parts import half

_LINE, _ROWS = 16, 8
"""Columns that lie in one line of the cache, which no two threads write to, and rows that the library takes at once."""
_HEAD_START = 8e6
"""Operations that the caller does before the other thread has woken up, where that sleeps."""
_FIELDS: tuple[str, ...] = (
    "function",
    "a_kind",
    "b_kind",
    "m",
    "n",
    "k",
    "alpha",
    "a",
    "a_step",
    "b",
    "b_step",
    "beta",
    "c",
    "c_step",
)
_FIELDS += ("a_part", "b_part", "c_part", "by_rows", "threads", "status")
_AT = {name: place for place, name in enumerate(_FIELDS)}
_Words = ctypes.c_int64 * len(_FIELDS)


def part_text() -> str:
    """`@part(begin, count, words)`: so many rows or columns of the product that the words describe."""
    lines = ["define internal void @part(i64 %begin, i64 %count, ptr %words) {"]
    for place, name in enumerate(_FIELDS):
        lines.append(f"  %{name}.at = getelementptr i64, ptr %words, i64 {place}")
        if name != "status":
            lines.append(f"  %{name} = load i64, ptr %{name}.at")
    lines += ["  %set = inttoptr i64 %threads to ptr", "  call void %set(i32 1)"]
    lines += ["  %whole = icmp eq i64 %by_rows, 0", "  %rows = select i1 %whole, i64 %m, i64 %count"]
    lines += ["  %columns = select i1 %whole, i64 %count, i64 %n"]
    for name in "abc":
        lines += [f"  %{name}.skipped = mul i64 %begin, %{name}_part"]
        lines += [f"  %{name}.from = add i64 %{name}, %{name}.skipped"]
        lines += [f"  %{name}.ptr = inttoptr i64 %{name}.from to ptr"]
    for name in ("alpha", "beta"):
        lines += [f"  %{name}.bits = trunc i64 %{name} to i32", f"  %{name}.float = bitcast i32 %{name}.bits to float"]
    lines += ["  %a.kind = trunc i64 %a_kind to i8", "  %b.kind = trunc i64 %b_kind to i8"]
    given = "i8 signext %a.kind, i8 signext %b.kind, i64 %rows, i64 %columns, i64 %k, float %alpha.float"
    given += ", ptr %a.ptr, i64 %a_step, ptr %b.ptr, i64 %b_step, float %beta.float, ptr %c.ptr, i64 %c_step"
    lines += ["  %sgemm = inttoptr i64 %function to ptr", f"  %found = call i32 %sgemm({given})"]
    lines += ["  %wide = sext i32 %found to i64", "  %before = atomicrmw or ptr %status.at, i64 %wide seq_cst"]
    return "\n".join([*lines, "  ret void", "}"])


def _compiled() -> Callable[..., int] | None:
    if not llvm.available():
        return None
    from ..jit.team import prepare, share_text  # its package imports this one

    code = llvm.compiled(f"{part_text()}\n{share_text(['ptr'])}")
    share = code.bind("share", ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_void_p, releases=True)
    prepare()
    return share


code: TieredCache[Callable[..., int]] = TieredCache(_compiled)
"""`share` for products, by the generated function."""


class Product:
    """Products of one kind, by one thread or two: whichever took less time lately. `whole` does it on one."""

    def __init__(
        self,
        library: Binding,
        sizes: tuple[int, int, int],
        turned: tuple[bool, bool],
        by_rows: bool,
        whole: Callable[..., None],
    ) -> None:
        m, n, k = sizes
        self._library = library
        self._whole = whole
        self._addresses = library.addresses()
        self._balance = Balance()
        self._count, even = (m, _ROWS) if by_rows else (n, _LINE)
        share = 0.5 + _HEAD_START / (4.0 * m * n * k)
        self._half = half(self._count, even)
        self._first = max(self._half, min(self._count, round(share * self._count / even) * even))
        words = dict.fromkeys(_FIELDS, 0) | {"m": m, "n": n, "k": k, "c_step": n, "by_rows": int(by_rows)}
        words["a_kind"], words["b_kind"] = (ord("T" if t else "N") for t in turned)
        words["a_step"], words["b_step"] = (m if turned[0] else k), (k if turned[1] else n)
        if by_rows:
            words["a_part"], words["c_part"] = 4 * (1 if turned[0] else k), 4 * n
        else:
            words["b_part"], words["c_part"] = 4 * (k if turned[1] else 1), 4
        if self._addresses is not None:
            words["function"], words["threads"] = self._addresses
        self._words = list(words.values())

    def run(self, a: Any, b: Any, c: Any, alpha: float, beta: float) -> bool:
        """c = alpha · a b + beta · c; False where the code is not there yet."""
        share = None if self._addresses is None else code.get()
        if share is None:
            return False
        if not background.idle or cores() < 2:  # which tells nothing of later ones
            self._alone(a, b, c, alpha, beta)
            return True
        both = self._balance.divides()
        begun = perf_counter_ns()
        if both:
            self._together(share, a, b, c, alpha, beta)
        else:
            self._alone(a, b, c, alpha, beta)
        self._balance.add(both, perf_counter_ns() - begun)
        return True

    def _alone(self, *given: Any) -> None:
        library = self._library
        own = library.set_threads(1)
        try:
            self._whole(*given)
        finally:
            if own != 1:
                library.set_threads(own)

    def _together(self, share: Callable[..., int], a: Any, b: Any, c: Any, alpha: float, beta: float) -> None:
        from ..jit.team import team

        library, ffi = self._library, self._library.ffi
        words = _Words(*self._words)
        words[_AT["alpha"]], words[_AT["beta"]] = struct.unpack("ii", struct.pack("ff", alpha, beta))
        for name, array in (("a", a), ("b", b), ("c", c)):
            words[_AT[name]] = int(ffi.cast("intptr_t", ffi.from_buffer(array)))
        own = library.set_threads(1)
        try:
            desk = team.desk()
            share(desk, self._count, self._half if team.looks else self._first, ctypes.addressof(words))
        finally:
            if own != 1:
                library.set_threads(own)
        status = words[_AT["status"]]
        if status:
            library.check(status, "a product")
