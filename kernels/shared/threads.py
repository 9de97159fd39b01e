"""Work on the threads of the pool: the cores that there are, large calls, pieces in Python.

All native work of the process shares one pool of threads (`kernels/native/src/pool.c`), whatever sessions and event loops
it is for. The pool has as many threads as there are usable cores, or as `ACTORFLOW_THREADS` or else `OMP_NUM_THREADS` says.
Work is given to it in pieces that do not touch each other's results. The caller takes pieces as well, so nothing waits for a
thread that gets no core. Without the native library, pieces in Python have threads of their own (`.python_pool`), as many.

Large work is divided, short work is not: each kind of work has a `ThreadCount`, which measures the first calls and then says
how many threads take all others. Calls of some microseconds are shared in C, if a thread is looking for work.
"""

from __future__ import annotations

import contextvars
import functools
import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from actorflow.base.process import machine
from actorflow.engine.runtime.codegen.background import background
from actorflow.engine.runtime.kernel_context import MOST_THREADS
from actorflow.errors import InvalidArgumentError

from ..native.library import loaded
from .python_pool import PythonPool
from .thread_count import ThreadCount

T = TypeVar("T")

WORTH_DIVIDING = 1 << 18
"""Elements from which on work may be divided: to wake a thread costs as much as a core does with a hundred thousand of them."""
_LARGE = 1 << 14
"""The same for work that costs more for each element."""
_MOST_THREADS = 256
_MOST_COUNTS = 4096

# ---- the pool


@functools.cache
def _thread_limit() -> int | None:
    """The number that `ACTORFLOW_THREADS` says, or else `OMP_NUM_THREADS`, which servers set so that each process keeps to its
    share of the cores. OpenMP's may be a list, whose first number counts here, and what is no number limits nothing.

    Raises:
        InvalidArgumentError: `ACTORFLOW_THREADS` is no number of threads.
    """
    setting = os.environ.get("ACTORFLOW_THREADS", "")
    if setting:
        if not setting.isdecimal() or not 1 <= int(setting) <= _MOST_THREADS:
            raise InvalidArgumentError(f"ACTORFLOW_THREADS is {setting!r}; it is a number from 1 to {_MOST_THREADS}.")
        return int(setting)
    outermost = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(int(outermost), machine.usable_cores()) if outermost.isdecimal() and int(outermost) > 0 else None


def most_threads() -> int:
    """How many threads may work on one call: one without the native library, and in a simulation, where threads would leave
    things to chance."""
    return _threads_of_pool() if machine.current().is_real else 1


@functools.cache
def _threads_of_pool() -> int:
    return 1 if _pool() is None else _thread_limit() or machine.usable_cores()


@functools.cache
def _pool() -> Any:
    """The library, whose pool knows its limits."""
    library = loaded()
    if library is not None:
        cores = machine.usable_cores()
        library.limit_threads(_thread_limit() or cores, cores)
    return library


# ---- large work

_counts: dict[Hashable, ThreadCount] = {}


def threaded(key: Hashable, work: Callable[[int], T], most: int | None = None, count: ThreadCount | None = None) -> T:
    """Calls `work` with a number of threads. Calls with one key are the same amount of the same work.

    Args:
        key: what tells this work and its amount from others.
        work: takes the number of threads.
        most: how many threads there are for it; by default those of the pool. A session may allow fewer.
        count: this key's, from a caller who keeps it. It is for calls that may take all threads.
    """
    most = most_threads() if most is None else most
    limit = MOST_THREADS.get()
    if limit is not None and limit < most:
        most, key, count = limit, (key, limit), None
    if most < 2:
        return work(1)
    return (count or thread_count_of(key, most)).run(work)


def thread_count_of(key: Hashable, most: int) -> ThreadCount:
    """How many threads take this kind of work."""
    count = _counts.get(key)
    if count is None:
        if len(_counts) >= _MOST_COUNTS:
            _counts.clear()
        count = _counts[key] = ThreadCount(most)
    return count


def threads_of_short_call() -> int:
    """How many threads may share a call that takes some microseconds. The library in C asks for it when a thread of the pool is
    looking for work, and decides alone (`kernels/native/src/share.c`).
    """
    if not background.idle:
        return 1
    most = most_threads()
    limit = MOST_THREADS.get()
    return most if limit is None or most < limit else limit


def is_large(arguments: Sequence[Any]) -> bool:
    """Whether one of the arguments is an array that is worth the measuring."""
    for operand in arguments:
        if type(operand) is list:
            operand = operand[0] if operand else None
        if getattr(operand, "size", 0) >= _LARGE:
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
        key: what tells this work and its amount from others; without a key, there is one thread.
        whole: does all pieces at once, instead, if there is one thread.

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

    threaded(key, some, _most_threads_of_pieces())


def _most_threads_of_pieces() -> int:
    """As `most_threads`; without the native library, as many as there would be with it."""
    if _pool() is None and machine.current().is_real:
        return _thread_limit() or machine.usable_cores()
    return most_threads()


_python_pool = PythonPool()


def _alone(work: Callable[[int], None], count: int, whole: Callable[[], None] | None) -> None:
    if whole is not None:
        whole()
        return
    for number in range(count):
        work(number)


def _divided(work: Callable[[int], None], count: int, threads: int) -> None:
    # Each thread runs in the caller's context, in which numpy keeps what it does about floating-point errors.
    contexts = [contextvars.copy_context() for _ in range(min(threads, count))]

    def call(number: int) -> None:
        context = contexts.pop()
        try:
            context.run(work, number)
        finally:
            contexts.append(context)

    (_pool() or _python_pool).each(call, count, threads)
