"""Rounds of steps that count: those in which the machine was quiet and even.

It is the rule of `benchmarks.harness` for measurements that are made within one process and its children: others took little of
the processors meanwhile, and a fixed piece of work took about its usual time before and after. Other rounds are measured again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.environment import CpuUse
from benchmarks.harness import PATIENCE, QUIET

T = TypeVar("T")
_WORK = 150_000
_EVEN = 0.25
"""How much longer than usual the fixed work may take. It is short, so that it says less than the share of others."""
_usual = float("inf")
"""The shortest time that it took in this process."""


async def even_rounds(measure: Callable[[], Awaitable[T]], wanted: int) -> list[T]:
    """The results of `wanted` rounds, the least disturbed ones of those that were measured."""
    found: list[tuple[float, int, T]] = []
    for number in range(PATIENCE * wanted):
        pids = _descendants(os.getpid())
        slowest, before = _probe(), CpuUse.now(*pids)
        result = await measure()
        after = CpuUse.now(*pids)
        slowest = max(slowest, _probe())
        others = after.others_since(before) if after and before else 0.0
        found.append((max(others / QUIET, (slowest / _usual - 1) / _EVEN), number, result))
        if sum(disturbance <= 1 for disturbance, _, _ in found) >= wanted:
            break
    return [result for _, _, result in sorted(found, key=lambda one: one[:2])[:wanted]]


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
