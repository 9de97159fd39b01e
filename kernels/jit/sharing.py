"""Loops over large buffers on two threads: the caller's, and a helper's that ends when it has been idle for a while (`team`).

What that gains or costs on a machine that does other things too is measured (`helping.Balance`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from actorflow.runtime.codegen import llvm

from ..shared.helping import WORTH_SHARING, Balance, cores
from .compiler import Loop
from .team import prepare, share_text, team

_CHUNK = 1 << 15


_MOST_SIZES = 256


_balances: dict[tuple[int, int], Balance] = {}


def run_shared(loop: Loop, elements: int, arrays: list[Any]) -> None:
    """Runs a loop that works in place. Its buffers and scalars are in order; its other operands may have to be fitted."""
    if elements < WORTH_SHARING or cores() < 2:
        _alone(loop, elements, arrays)
        return
    key = id(loop), elements
    balance = _balances.get(key)
    if balance is None:
        if len(_balances) >= _MOST_SIZES:
            _balances.clear()
        balance = _balances[key] = Balance()
    both = balance.divides()
    begun = perf_counter_ns()
    (_together if both else _alone)(loop, elements, arrays)
    balance.add(both, perf_counter_ns() - begun)


def _alone(loop: Loop, elements: int, arrays: list[Any]) -> None:
    if loop.function(elements)(1, elements, *arrays):
        loop.fitted(1, elements, *arrays)


def _together(loop: Loop, elements: int, arrays: list[Any]) -> None:
    loop.shared(team.desk(), elements, _CHUNK, *loop.in_order(1, elements, arrays))


# ---- Work on large arrays that two threads share, for functions that are no loops over recipes: rows, or any other parts.
#
# A module has `@part(begin, count, parameters...)`, which does so many parts of the work from `begin` on. It gets `@share` beside
# it, by which each thread takes pieces until none is left (`team`).


_MOST_BALANCES = 64


_KINDS: dict[str, Any] = {"ptr": ctypes.c_void_p, "i64": ctypes.c_ssize_t}


class Parallel:
    """The work of a module, on one thread or two: whichever took less time lately, for each amount of it."""

    def __init__(self, part: str, parameters: Sequence[str]) -> None:
        code = llvm.compiled(f"{part}\n{share_text(parameters)}")
        kinds = [ctypes.c_void_p, *[ctypes.c_ssize_t] * 2, *[_KINDS[kind] for kind in parameters]]
        self._share = code.bind("share", *kinds, releases=True)
        prepare()
        self._balances: dict[int, Balance] = {}

    def run(self, count: int, piece: int, *given: int, divided: bool = True, amount: int = 0) -> None:
        """Does `count` parts, of which a thread takes `piece` at a time. `given` are numbers and addresses. `amount` says how
        much work it is, where the count does not."""
        if not divided or cores() < 2:
            self.alone(count, piece, *given)
            return
        amount = amount or count
        balance = self._balances.get(amount)
        if balance is None:
            if len(self._balances) >= _MOST_BALANCES:
                self._balances.clear()
            balance = self._balances[amount] = Balance()
        both = balance.divides()
        begun = perf_counter_ns()
        (self.together if both else self.alone)(count, piece, *given)
        balance.add(both, perf_counter_ns() - begun)

    def alone(self, count: int, piece: int, *given: int) -> None:
        self._share(None, count, piece, *given)

    def together(self, count: int, piece: int, *given: int) -> None:
        self._share(team.desk(), count, piece, *given)


def address(array: Any) -> int:
    """Where an array's elements lie."""
    return int(array.__array_interface__["data"][0])
