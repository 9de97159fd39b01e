"""How many threads a piece of work takes: the cores that there are, and what the last calls cost.

All native work of the process shares one pool of threads (`kernels/native/src/pool.c`), whatever sessions and event loops
it is for. The pool has as many threads as there are usable cores, or as `ACTORFLOW_THREADS` says. Work is given to it in
pieces that do not touch each other's results. The caller takes pieces as well, so nothing waits for a thread that gets no
core.

Whether that pays on a machine that does other things too nothing says beforehand. So each kind of work has a `Governor`, which
measures its calls. It decides how many threads take the next one.
"""

from __future__ import annotations

import contextvars
import functools
import os
import statistics
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Any, TypeVar

from actorflow import machine
from actorflow.errors import InvalidArgumentError
from actorflow.runtime.codegen.jit import background
from actorflow.runtime.kernel_context import MOST_THREADS

from ..native.library import loaded

T = TypeVar("T")

WORTH_DIVIDING = 1 << 18
"""Elements from which on work may be divided: to wake a thread costs as much as a core does with a hundred thousand of them."""
_LARGE = 1 << 14
"""The same for work that costs more for each element."""
_MOST_THREADS = 256
_MOST_GOVERNORS = 256

# ---- cores


def cores() -> int:
    """How many cores this process may use: those of its affinity, within the limits of its control group. One in a
    simulation, where threads would leave things to chance."""
    return usable_cores() if machine.current().is_real else 1


@functools.cache
def usable_cores() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, _limit_of_group() or allowed))


def _limit_of_group(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """The cores that the process's control group grants, rounded up; None where there is no limit."""
    for name in ("cpu.max", "cpu/cpu.cfs_quota_us"):
        try:
            words = (root / name).read_text().split()
            if name != "cpu.max":
                words.append((root / "cpu/cpu.cfs_period_us").read_text())
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):  # there is no such file, or it says "max"
            continue
        if quota > 0 and period > 0:
            return -(-quota // period)
    return None


@functools.cache
def _wanted() -> int | None:
    """The number that ACTORFLOW_THREADS says.

    Raises:
        InvalidArgumentError: that is no number of threads.
    """
    given = os.environ.get("ACTORFLOW_THREADS", "")
    if not given:
        return None
    if not given.isdecimal() or not 1 <= int(given) <= _MOST_THREADS:
        raise InvalidArgumentError(f"ACTORFLOW_THREADS is {given!r}; it is a number from 1 to {_MOST_THREADS}.")
    return int(given)


def most_threads() -> int:
    """How many threads may work on one call: one without the native library."""
    if not machine.current().is_real or _pool() is None:
        return 1
    return _wanted() or cores()


@functools.cache
def _pool() -> Any:
    """The library, whose pool knows its limits."""
    library = loaded()
    if library is not None:
        library.limit_threads(_wanted() or usable_cores(), usable_cores())
    return library


# ---- the governor

_WEIGHT = 0.1
_SHARE = 0.9
"""The part of one thread's time that several may take. They cost others their cores."""
_STALL = 500_000.0
"""Nanoseconds beyond the usual that one measurement counts for. A thread that has lost its core in the middle of a piece keeps
the others waiting for it, which short work feels most."""
_REST, _MOST_RESTS = 8_000_000.0, 32
"""Nanoseconds of the work that one thread does after several did not pay. With each disappointment that doubles."""
_GOOD = 32
"""Divided calls that paid, and make up for one disappointment."""
_FIRST, _TRIAL, _LONGEST = 4, 3, 256
_FRESH = 600_000.0
"""Nanoseconds of divided calls that come before those of a trial: threads start, their cores wake up, and the data move
there."""


class Governor:
    """The costs of some work on one thread and on several, which say how many take the next call.

    It begins with one thread, and then tries all that there are, half of them, a quarter and so on. The fastest number
    stays, as long as it pays. A core may be taken away from a thread at any time, so a trial goes by its median and later
    calls by their average.

    Args:
        most: how many threads there are.
    """

    __slots__ = (
        "_alone",
        "_begun",
        "_best",
        "_calls",
        "_last",
        "_left",
        "_most",
        "_one",
        "_patience",
        "_rest",
        "_several",
        "_tried",
    )

    def __init__(self, most: int) -> None:
        self._most = most
        self._one = self._several = 0.0
        self._last: tuple[float, ...] = ()
        self._tried: tuple[float, ...] = ()
        self._alone = 0
        self._rest = 0
        self._patience = 1
        self._begin_trial()

    def _begin_trial(self) -> None:
        self._left = [count for count in _counts(self._most) if count > 1]
        self._best = self._left[-1] if self._left else 1
        self._several = 0.0
        self._begun = 0.0
        self._tried = ()
        self._calls = 0

    @property
    def _tries(self) -> bool:
        return bool(self._left)

    def threads(self) -> int:
        """How many threads should do it next."""
        if self._most < 2:
            return 1
        if self._rest > 0:
            self._rest -= 1
            return 1
        if self._alone < _FIRST or self._calls >= _LONGEST:
            return 1
        return self._left[-1] if self._tries else self._best

    def run(self, work: Callable[[int], T]) -> T:
        """Calls `work` with a number of threads, and measures it.

        As long as a compiler keeps a core busy, which tells nothing of later calls, there is one thread.
        """
        if self._most < 2 or not background.idle:
            return work(1)
        threads = self.threads()
        begun = perf_counter_ns()
        found = work(threads)
        self.add(threads, perf_counter_ns() - begun)
        return found

    def add(self, threads: int, nanoseconds: int) -> None:
        """Takes a measurement in."""
        if threads == 1:
            self._add_alone(nanoseconds)
        elif self._tries:
            self._add_trial(nanoseconds)
        else:
            self._calls += 1
            self._several = _averaged(self._several, nanoseconds)
            self._judge()

    def _add_alone(self, nanoseconds: int) -> None:
        self._alone += 1
        if self._calls >= _LONGEST:
            self._calls = 0
        # The first one makes what the others find, and a single slow one tells nothing.
        self._last = (*self._last[-2:], float(nanoseconds)) if self._alone > 1 else ()
        self._one = statistics.median_low(self._last or (float(nanoseconds),))

    def _add_trial(self, nanoseconds: int) -> None:
        if self._begun < _FRESH:
            self._begun += nanoseconds
            return
        self._tried = (*self._tried, float(nanoseconds))
        if len(self._tried) < _TRIAL:
            return
        found, count = statistics.median_low(self._tried), self._left.pop()
        if not self._several or found < self._several:
            self._several, self._best = found, count
        self._tried = ()
        if not self._tries:
            self._judge()

    def _judge(self) -> None:
        if self._several > _SHARE * self._one:
            self._rest = 1 + int(self._patience * _REST / (1 + self._one))
            self._patience = min(2 * self._patience, _MOST_RESTS)
            self._begin_trial()
        elif self._patience > 1 and self._calls % _GOOD == _GOOD - 1:
            self._patience -= 1


def _counts(most: int) -> list[int]:
    """Numbers of threads that are tried, the largest last: `most`, half of it, a quarter and so on."""
    found = []
    while most > 1:
        found.append(most)
        most = -(-most // 2) if most > 2 else 1
    return found[::-1]


def _averaged(before: float, nanoseconds: int) -> float:
    return before + (min(nanoseconds, 4 * before + _STALL) - before) * _WEIGHT


_governors: dict[Hashable, Governor] = {}


def governed(key: Hashable, work: Callable[[int], T], most: int | None = None) -> T:
    """Calls `work` with a number of threads, and measures it. Calls with one key are the same amount of the same work.

    Args:
        key: what tells this work and its amount from others.
        work: takes the number of threads.
        most: how many threads there are for it; by default those of the pool. A session may allow fewer.
    """
    most = most_threads() if most is None else most
    limit = MOST_THREADS.get()
    if limit is not None and limit < most:
        most, key = limit, (key, limit)
    if most < 2:
        return work(1)
    governor = _governors.get(key)
    if governor is None:
        if len(_governors) >= _MOST_GOVERNORS:
            _governors.clear()
        governor = _governors[key] = Governor(most)
    return governor.run(work)


def is_large(given: Sequence[Any]) -> bool:
    """Whether one of the arguments is an array that is worth the measuring."""
    for one in given:
        if type(one) is list:
            one = one[0] if one else None
        if getattr(one, "size", 0) >= _LARGE:
            return True
    return False


# ---- work in Python


def in_pieces(
    work: Callable[[int], None], count: int, key: Hashable = None, whole: Callable[[], None] | None = None
) -> None:
    """Calls `work` with each number below `count`, on as many threads as pay for this `key`. For functions that let other
    threads run Python meanwhile.

    Args:
        work: does one piece.
        count: how many pieces there are.
        key: what tells this work and its amount from others; without one, there is one thread.
        whole: does all pieces at once, instead, where there is one thread.

    Raises:
        Exception: what `work` or `whole` raises.
    """
    if key is None or count < 2:
        _alone(work, count, whole)
        return

    def some(threads: int) -> None:
        if threads < 2:
            _alone(work, count, whole)
        else:
            _divided(work, count, threads)

    governed(key, some)


def _alone(work: Callable[[int], None], count: int, whole: Callable[[], None] | None) -> None:
    if whole is not None:
        whole()
        return
    for number in range(count):
        work(number)


def _divided(work: Callable[[int], None], count: int, threads: int) -> None:
    # Each thread runs in the caller's context, in which numpy keeps what it does about floating-point errors.
    contexts = [contextvars.copy_context() for _ in range(min(threads, count))]

    def one(number: int) -> None:
        context = contexts.pop()
        try:
            context.run(work, number)
        finally:
            contexts.append(context)

    _pool().each(one, count, threads)
