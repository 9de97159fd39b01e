"""Loops over large buffers on two threads: the caller's, and a helper's that ends when it has been idle for a while (`team`).

What that gains or costs on a machine that does other things too is measured (`helping.Balance`).
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from ..shared.helping import WORTH_SHARING, Balance, cores
from .compiler import Loop
from .team import team

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
