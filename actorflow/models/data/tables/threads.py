"""`on_one_thread`: a generator that one thread runs from its beginning to its end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

from actorflow.base.process import machine

T = TypeVar("T")
_END = object()


def on_one_thread(function: Callable[[], Generator[T, None, None]]) -> Iterator[T]:
    """The elements of a generator. A thread of the generator's own, whoever pulls, runs it and closes it.

    Connections to databases need that: `sqlite3` refuses other threads than that which opened a connection. The thread does not
    keep a process from its end.

    Args:
        function: gives the generator.
    """
    generator = function()
    if not machine.current().is_real:
        yield from generator
        return
    calls: SimpleQueue[Any] = SimpleQueue()
    thread = threading.Thread(
        target=copy_context().run, args=(_serve, calls), name="actorflow rows of a table", daemon=True
    )
    thread.start()
    try:
        while (element := _call(calls, lambda: next(generator, _END))) is not _END:
            yield element  # type: ignore[misc]
    finally:
        if threading.current_thread() is thread:  # which collects garbage: this iterator
            generator.close()
        elif thread.is_alive() and not sys.is_finalizing():  # else no one would answer
            _call(calls, generator.close)
        calls.put(None)


def _call(calls: SimpleQueue[Any], work: Callable[[], T]) -> T:
    """Has the thread of these calls do the work, and waits for it."""
    outcome: Future[T] = Future()
    calls.put((outcome, work))
    try:
        return outcome.result()
    finally:
        del outcome  # its error has this frame


def _serve(calls: SimpleQueue[Any]) -> None:
    """Answers calls until there is None in the place of a call."""
    while (call := calls.get()) is not None:
        outcome, work = call
        try:
            outcome.set_result(work())
        except BaseException as error:  # the caller's, whatever it is
            outcome.set_exception(error)
        del call, outcome, work  # the last element is not kept while the thread waits
