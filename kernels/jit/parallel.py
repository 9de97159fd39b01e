"""Work on large arrays that two threads share, for functions that are no loops over recipes: rows, or any other parts.

A module has `@part(begin, count, parameters...)`, which does so many parts of the work from `begin` on. It gets `@share` beside
it, by which each thread takes pieces until none is left (`sharing`).
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from actorflow.runtime import llvm

from ..helping import Balance, cores, helper

_NAP = 0.00002
_MOST_SIZES = 64
_TURNS = 40_000
"""How often a thread looks whether the other one is through, for each piece of its own and once more: some 15 µs."""
_KINDS: dict[str, Any] = {"ptr": ctypes.c_void_p, "i64": ctypes.c_ssize_t}


def share_text(parameters: Sequence[str]) -> str:
    """`@share(state, count, piece, wait, parameters...)`, for a `@part` with parameters of these types. `state` are two zeroed
    numbers that all threads see. With `wait` it gives 1 as long as another thread is at work on its last piece."""
    declared = "".join(f", {kind} %x{i}" for i, kind in enumerate(parameters))
    lines = [f"define i32 @share(ptr %state, i64 %count, i64 %piece, i64 %wait{declared}) {{", "entry:"]
    work = [f"  call void @part(i64 %begin, i64 %some{declared})"]
    return "\n".join([*lines, *sharing_lines("%count", "%piece", work), "}"])


def sharing_lines(count: str, piece: str, work: Sequence[str]) -> list[str]:
    """The rest of a function whose `%state` all threads see: takes pieces (`%some` elements from `%begin` on) until none is left.
    Where it waits longer for another thread than pieces take, that one has lost its core, and the result is 1."""
    lines = ["  %active = getelementptr i64, ptr %state, i64 1"]
    lines += ["  %more = atomicrmw add ptr %active, i64 1 seq_cst", "  br label %claim", "claim:"]
    lines += [f"  %turns = phi i64 [ {_TURNS}, %entry ], [ %turns.next, %work ]"]
    lines += [f"  %begin = atomicrmw add ptr %state, i64 {piece} seq_cst", f"  %left = icmp slt i64 %begin, {count}"]
    lines += ["  br i1 %left, label %work, label %over", "work:", f"  %rest = sub i64 {count}, %begin"]
    lines += [f"  %short = icmp slt i64 {piece}, %rest", f"  %some = select i1 %short, i64 {piece}, i64 %rest", *work]
    lines += [f"  %turns.next = add i64 %turns, {_TURNS}", "  br label %claim", "over:"]
    lines += ["  %less = atomicrmw sub ptr %active, i64 1 seq_cst", "  %waits = icmp ne i64 %wait, 0"]
    lines += ["  br i1 %waits, label %look, label %free", "look:"]
    lines += ["  %turn = phi i64 [ 0, %over ], [ %turn.next, %again ]"]
    lines += ["  %others = load atomic i64, ptr %active seq_cst, align 8", "  %busy = icmp ne i64 %others, 0"]
    lines += ["  br i1 %busy, label %again, label %free", "again:", "  %turn.next = add i64 %turn, 1"]
    lines += ["  %tired = icmp eq i64 %turn.next, %turns", "  br i1 %tired, label %late, label %look"]
    return [*lines, "late:", "  ret i32 1", "free:", "  ret i32 0"]


class Parallel:
    """The work of a module, on one thread or two: whichever took less time lately, for each amount of it."""

    def __init__(self, part: str, parameters: Sequence[str]) -> None:
        code = llvm.compiled(f"{part}\n{share_text(parameters)}")
        kinds = [ctypes.c_void_p, *[ctypes.c_ssize_t] * 3, *[_KINDS[kind] for kind in parameters]]
        self._share = code.bind("share", *kinds, releases=True)
        self._balances: dict[int, Balance] = {}

    def run(self, count: int, piece: int, *given: int, divided: bool = True) -> None:
        """Does `count` parts, of which a thread takes `piece` at a time. `given` are numbers and addresses."""
        if not divided or cores() < 2:
            self._alone(count, piece, *given)
            return
        balance = self._balances.get(count)
        if balance is None:
            if len(self._balances) >= _MOST_SIZES:
                self._balances.clear()
            balance = self._balances[count] = Balance()
        both = balance.divides()
        begun = perf_counter_ns()
        (self._together if both else self._alone)(count, piece, *given)
        balance.add(both, perf_counter_ns() - begun)

    def _alone(self, count: int, piece: int, *given: int) -> None:
        self._share((ctypes.c_int64 * 2)(), count, piece, 0, *given)

    def _together(self, count: int, piece: int, *given: int) -> None:
        state = (ctypes.c_int64 * 2)()
        job = [(self._share, (state, count, piece, 0, *given))]
        helper.add(job)
        while self._share(state, count, piece, 1, *given):
            time.sleep(_NAP)  # the other thread has lost its core amid a piece
        job.clear()


def address(array: Any) -> int:
    """Where an array's elements lie."""
    return int(array.__array_interface__["data"][0])
