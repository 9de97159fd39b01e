"""Rounds within one process and its children: a few more than are wanted where the machine was busy or uneven.

It is the rule of `rounds.py` for measurements that have no second process: a round is even where others took little of
the processors meanwhile, and a fixed piece of work took about its usual time before and after. The number of rounds is bounded,
so a measurement ends on any machine, and tells how many of its rounds were even.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from benchmarks.harness.environment import CpuUse
from benchmarks.harness.rounds import QUIET

T = TypeVar("T")
_WORK = 150_000
_EVEN = 0.25
"""How much longer than usual the fixed work may take. It is short, so that it says less than the share of others."""
_usual = float("inf")
"""The shortest time that it took in this process."""


@dataclass(frozen=True, slots=True)
class EvenRounds(Generic[T]):
    """The results of the rounds that count, in their order, and the number of even ones among them."""

    results: list[T]
    even: int


async def even_rounds(measure: Callable[[], Awaitable[T]], wanted: int) -> EvenRounds[T]:
    """`wanted` rounds that count. If some were not even, up to half as many more are measured, and the least disturbed count."""
    results: list[T] = []
    others: list[float] = []
    slowest: list[float] = []

    def disturbance(k: int) -> float:
        """At most 1 for an even round."""
        return max(others[k] / QUIET, (slowest[k] / _usual - 1) / _EVEN)

    while len(results) < wanted + wanted // 2:
        pids = _descendants(os.getpid())
        took, before = _probe(), CpuUse.now(*pids)
        results.append(await measure())
        after = CpuUse.now(*pids)
        slowest.append(max(took, _probe()))
        others.append(after.others_since(before) if after and before else 0.0)
        if sum(disturbance(k) <= 1 for k in range(len(results))) >= wanted:
            break
    count = sorted(sorted(range(len(results)), key=disturbance)[:wanted])
    return EvenRounds([results[k] for k in count], sum(disturbance(k) <= 1 for k in count))


def _probe() -> float:
    """The seconds of a fixed piece of work."""
    global _usual
    begun = time.perf_counter()
    for _ in range(_WORK):
        pass
    took = time.perf_counter() - begun
    _usual = min(_usual, took)
    return took


def _descendants(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    found: list[int] = []
    try:
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, listed.read_text().split()):
                found += [child, *_descendants(child)]
    except OSError:
        pass  # it has ended, or the system does not tell
    return found
