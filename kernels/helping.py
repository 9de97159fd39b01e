"""A second thread for kernels of numpy, which lets other threads run while it works on large arrays.

Work comes in pieces that do not touch each other's results. Both threads take pieces until none is left, so neither waits for the
other's start: where the helper does not get a core in time, the caller does all the work. What that gains or costs on a
machine that does other things too is measured, as for products of matrices (`blas`).
"""

from __future__ import annotations

import contextvars
import itertools
import os
import queue
import threading
from collections.abc import Callable, Hashable
from time import perf_counter_ns
from typing import Any

from actorflow import machine

from .blas import Governor

WORTH_SHARING = 1 << 18
"""Elements: to wake the helper costs as much as a core does with a hundred thousand of them."""
_IDLE = 0.2
_MOST_SIZES = 256
_governors: dict[Hashable, Governor] = {}


def cores() -> int:
    """How many cores this process may use: one in a simulation, where threads would leave things to chance."""
    if not machine.current().is_real:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_pieces(work: Callable[[int], None], count: int, key: Hashable = None) -> None:
    """Calls `work` with each number below `count`, on one thread, or on two where that took less time lately for the same `key`.
    Without a key there is one thread. Raises what `work` raises."""
    if key is None or count < 2 or cores() < 2:
        for number in range(count):
            work(number)
        return
    governor = _governors.get(key)
    if governor is None:
        if len(_governors) >= _MOST_SIZES:
            _governors.clear()
        governor = _governors[key] = Governor()
    both = governor.splits()
    begun = perf_counter_ns()
    if both:
        _together(work, count)
    else:
        for number in range(count):
            work(number)
    governor.add(both, perf_counter_ns() - begun)


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

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, job: list[Any]) -> None:
        """Calls the function in `job` with its arguments, unless the job is empty by then."""
        self._jobs.put(job)
        if self._thread is None or not self._thread.is_alive():
            with self._lock:
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._work, name="actorflow helper", daemon=True)
                    self._thread.start()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_IDLE)
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
