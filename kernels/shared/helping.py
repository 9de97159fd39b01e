"""A second thread for kernels of numpy, which lets other threads run while it works on large arrays.

Work comes in pieces that do not touch each other's results. Both threads take pieces until none is left, so neither waits for the
other's start: where the helper does not get a core in time, the caller does all the work. What that gains or costs on a
machine that does other things too is measured (`Balance`).
"""

from __future__ import annotations

import contextvars
import itertools
import os
import queue
import statistics
import threading
from collections.abc import Callable, Hashable
from time import perf_counter_ns
from typing import Any

from actorflow import machine
from actorflow.runtime.codegen.jit import background

from .apart import Apart

WORTH_SHARING = 1 << 18
"""Elements: to wake the helper costs as much as a core does with a hundred thousand of them."""
_IDLE = 0.2
_WEIGHT = 0.1
_MOST_SIZES = 256
_SHARE = 0.9
"""The part of one thread's time that two threads may take. The second one costs others their core, and the caller the
interpreter, where it comes late; both grow with the time that it takes."""
_STALL = 500_000.0
"""Nanoseconds beyond the usual that one measurement counts for. A thread that has lost its core in the middle of a piece keeps
the other one waiting for it, which short work feels most."""
_REST, _MOST_RESTS = 8_000_000.0, 32
"""Where two don't pay, one thread does so many nanoseconds of that work. With each disappointment that doubles."""
_GOOD = 32
"""So many divided calls that paid make up for one disappointment."""
_FIRST, _TRIAL, _LONGEST = 4, 3, 256
_FRESH = 600_000.0
"""Nanoseconds of divided calls that come before those of a trial: the second thread starts, its core wakes up, and the data
move there."""
_balances: dict[Hashable, Balance] = {}


def cores() -> int:
    """How many cores this process may use: one in a simulation, where threads would leave things to chance."""
    if not machine.current().is_real:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Balance:
    """What some work has cost on one thread and on two.

    Pieces that no thread waits for lose little by it when a core is taken away, and sometimes. So a trial goes by its median and
    later calls by their average, where products that wait for each other's threads stop at the first one that took long
    (`blas.Governor`).
    """

    __slots__ = ("_alone", "_begun", "_divided", "_last", "_one", "_patience", "_rest", "_tried", "_two")

    def __init__(self) -> None:
        self._one = self._two = 0.0
        self._last: tuple[float, ...] = ()
        self._tried: tuple[float, ...] = ()
        self._alone = 0
        self._divided, self._begun = -1, 0.0
        self._rest = 0
        self._patience = 1

    def divides(self) -> bool:
        """Whether two threads should do it next."""
        if self._rest > 0:
            self._rest -= 1
            return False
        return self._alone >= _FIRST and self._divided < _LONGEST

    def add(self, divided: bool, nanoseconds: int) -> None:
        """Takes a measurement in."""
        if not divided:
            self._alone += 1
            if self._divided >= _LONGEST:
                self._divided = _TRIAL
            # The first one makes what the others find, and a single slow one tells nothing.
            self._last = (*self._last[-2:], float(nanoseconds)) if self._alone > 1 else ()
            self._one = statistics.median_low(self._last or (float(nanoseconds),))
            return
        if self._divided < 0:
            self._begun += nanoseconds
            self._divided = 0 if self._begun >= _FRESH else -1
            return
        self._divided += 1
        if self._divided <= _TRIAL:
            self._tried = (*self._tried, float(nanoseconds)) if self._divided > 1 else (float(nanoseconds),)
            self._two = statistics.median_low(self._tried)
            if self._divided < _TRIAL:
                return
        else:
            self._two = _averaged(self._two, nanoseconds, _WEIGHT)
        if self._two > _SHARE * self._one:
            self._rest = 1 + int(self._patience * _REST / (1 + self._one))
            self._patience = min(2 * self._patience, _MOST_RESTS)
            self._divided, self._begun = -1, 0.0
        elif self._patience > 1 and self._divided % _GOOD == 0:
            self._patience -= 1


def _averaged(before: float, nanoseconds: int, weight: float) -> float:
    return before + (min(nanoseconds, 4 * before + _STALL) - before) * weight


def in_pieces(
    work: Callable[[int], None], count: int, key: Hashable = None, whole: Callable[[], None] | None = None
) -> None:
    """Calls `work` with each number below `count`, on one thread, or on two where that took less time lately for the same `key`.
    Without a key there is one thread, and as long as a compiler keeps a core busy, which tells nothing of later calls. One thread
    calls `whole` instead, where it does the same. Raises what they raise."""
    if key is None or count < 2 or not background.idle or cores() < 2:
        _alone(work, count, whole)
        return
    balance = _balances.get(key)
    if balance is None:
        if len(_balances) >= _MOST_SIZES:
            _balances.clear()
        balance = _balances[key] = Balance()
    both = balance.divides()
    begun = perf_counter_ns()
    if both:
        _together(work, count)
    else:
        _alone(work, count, whole)
    balance.add(both, perf_counter_ns() - begun)


def _alone(work: Callable[[int], None], count: int, whole: Callable[[], None] | None) -> None:
    if whole is not None:
        whole()
        return
    for number in range(count):
        work(number)


def _together(work: Callable[[int], None], count: int) -> None:
    numbers = itertools.count()  # whose `next` is one step of the interpreter
    failed: list[BaseException] = []
    over = threading.Lock()
    over.acquire()

    def some() -> None:
        try:
            while not failed and (number := next(numbers)) < count:
                work(number)
        except BaseException as error:
            failed.append(error)

    def others() -> None:
        context.run(some)
        over.release()

    context = contextvars.copy_context()  # in which numpy keeps what it does about floating-point errors
    job: list[Any] = [(others, ())]
    helper.add(job)
    some()
    try:
        job.pop()
    except IndexError:
        over.acquire()  # the helper has begun: its last piece may not be done
    if failed:
        raise failed[0]


class Helper:
    """A thread that takes part in what others compute. It ends when it has been idle for a while."""

    def __init__(self, idle: float = _IDLE) -> None:
        self._idle = idle
        self._jobs: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._apart = Apart()

    def add(self, job: list[Any]) -> None:
        """Calls the function in `job` with its arguments, unless the job is empty by then."""
        self._apart.keep(None if self._thread is None else self._thread.native_id)
        self._jobs.put(job)
        if self._thread is None or not self._thread.is_alive():
            with self._lock:
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._work, name="actorflow helper", daemon=True)
                    self._thread.start()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._idle)
            except queue.Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._thread = None
                        return
                continue
            try:
                function, arguments = job.pop()
            except IndexError:
                continue
            function(*arguments)
            del job, function, arguments


helper = Helper()
