"""Work in the background: its order, its errors, and forks meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest
from patience import PATIENCE

from actorflow.engine.runtime.codegen.background import Background

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")


@pytest.fixture
def background() -> Background:
    return Background()


def exit_status(child: Callable[[], bool]) -> int:
    """0 where `child` gives True in a fork of this process."""
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            status = 0 if child() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_jobs_are_done_in_their_order_on_one_thread(background: Background) -> None:
    done: list[tuple[int, str]] = []
    for i in range(5):
        background.add(lambda i=i: done.append((i, threading.current_thread().name)))  # type: ignore[misc]
    assert background.wait(PATIENCE) and background.idle
    assert done == [(i, "actorflow compiler") for i in range(5)]


def test_the_job_after_one_that_fails_is_done(background: Background, caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    def fail() -> None:
        raise RuntimeError("no such instruction")

    background.add(fail)
    background.add(lambda: done.append(1))
    assert background.wait(PATIENCE)
    assert done == [1] and "no such instruction" in caplog.text


@forks
def test_a_fork_waits_for_the_job_at_hand(background: Background) -> None:
    held, begun, forking = threading.Lock(), threading.Event(), threading.Event()
    os.register_at_fork(before=forking.set)  # what was registered last is called first

    def job() -> None:
        with held:
            begun.set()
            assert forking.wait(PATIENCE)

    background.add(job)
    assert begun.wait(PATIENCE)
    assert exit_status(lambda: held.acquire(blocking=False)) == 0
    assert background.wait(PATIENCE)


@forks
def test_both_processes_do_the_jobs_that_were_left(background: Background) -> None:
    done: list[int] = []
    statuses: list[int] = []
    ready = threading.Event()

    def child() -> bool:
        return background.wait(PATIENCE / 4) and done == [1, 2]

    def fork() -> None:  # in a job, so that those behind it are left for certain
        assert ready.wait(PATIENCE)
        statuses.append(exit_status(child))

    background.add(fork)
    for i in (1, 2):
        background.add(lambda i=i: done.append(i))  # type: ignore[misc]
    ready.set()
    assert background.wait(PATIENCE)
    assert statuses == [0] and done == [1, 2]


@forks
def test_a_child_begins_idle(background: Background) -> None:
    background.add(lambda: None)
    assert background.wait(PATIENCE)

    def child() -> bool:
        done: list[int] = []
        background.add(lambda: done.append(1))
        return background.wait(PATIENCE / 4) and done == [1]

    assert exit_status(child) == 0
