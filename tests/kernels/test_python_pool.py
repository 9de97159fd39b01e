"""Threads of Python that take pieces of work where the pool in C is not there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest
from patience import PATIENCE

from actorflow.kernels.shared.python_pool import PythonPool


def together(count: int) -> tuple[Callable[[int], None], set[int]]:
    """Work whose first pieces go on when as many threads have begun one, and the threads that did it."""
    meeting = threading.Barrier(count)
    seen: set[int] = set()

    def work(number: int) -> None:
        seen.add(threading.get_ident())
        if number < count:
            meeting.wait(PATIENCE)

    return work, seen


@pytest.mark.parametrize("count", [1, 2, 4])
def test_as_many_threads_as_are_asked_for_do_the_pieces(count: int) -> None:
    some = PythonPool()
    for _ in range(3):
        work, seen = together(count)
        some.each(work, 4 * count, count)
        assert len(seen) == count and threading.get_ident() in seen


def test_there_are_no_more_threads_than_pieces() -> None:
    before = threading.active_count()
    found: list[int] = []
    PythonPool().each(lambda number: found.append(threading.active_count()), 1, 8)
    assert found == [before]


def test_the_caller_waits_for_pieces_of_others_but_for_no_thread_that_has_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some, done = PythonPool(), list[int]()
    monkeypatch.setattr(some, "_start", lambda: True)  # it never comes
    some.each(done.append, 5, 4)
    assert done == [0, 1, 2, 3, 4]
    assert not some._calls.empty() and some._calls.get()._work is None


def test_where_the_system_grants_no_thread_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []
    PythonPool().each(done.append, 5, 4)
    assert done == [0, 1, 2, 3, 4]


def test_what_a_thread_raises_reaches_the_caller() -> None:
    some, caller = PythonPool(), threading.get_ident()
    for _ in range(20):
        meet, _ = together(2)

        def work(number: int, meet: Callable[[int], None] = meet) -> None:
            meet(number)
            if threading.get_ident() != caller:
                raise ValueError("on another thread")

        with pytest.raises(ValueError, match="on another thread"):
            some.each(work, 2, 2)


def test_idle_threads_end_and_others_begin() -> None:
    some = PythonPool()
    for _ in range(2):
        before = set(threading.enumerate())
        work, seen = together(3)
        some.each(work, 6, 3)
        assert len(seen) == 3
        for thread in set(threading.enumerate()) - before:
            thread.join(PATIENCE)
        assert some._count == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can't be copied here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_copied_process_begins_without_threads() -> None:
    some = PythonPool()
    some.each(together(2)[0], 4, 2)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work, seen = together(2)
            some.each(work, 4, 2)
            status = 0 if len(seen) == 2 else 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
