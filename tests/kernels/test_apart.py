"""The helper's thread runs on other cores than its caller's."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from actorflow.kernels.shared import apart

pytestmark = pytest.mark.skipif(apart._core is None, reason="the system does not say on which core a thread runs")


@pytest.fixture
def thread() -> Iterator[threading.Thread]:
    """One that waits until the test is over."""
    over = threading.Event()
    made = threading.Thread(target=over.wait)
    made.start()
    yield made
    over.set()
    made.join()


def test_a_thread_is_kept_off_the_callers_core(thread: threading.Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("there is one core")
    assert thread.native_id is not None
    keeper = apart.Apart()
    for core in sorted(allowed) * 2:
        monkeypatch.setattr(apart, "_core", lambda core=core: core)
        keeper.keep(thread.native_id)
        assert os.sched_getaffinity(thread.native_id) == allowed - {core}
    assert os.sched_getaffinity(0) == allowed


def test_the_system_is_asked_only_where_the_caller_has_moved(
    thread: threading.Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 4, 5})
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cores: told.append(cores))
    keeper = apart.Apart()
    for core in (3, 3, 4, 4, 3):
        monkeypatch.setattr(apart, "_core", lambda core=core: core)
        keeper.keep(thread.native_id)
    assert told == [{4, 5}, {3, 5}, {4, 5}]


def test_no_thread_one_core_and_a_refusal_change_nothing(
    thread: threading.Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(process: int, cores: set[int]) -> None:
        assert cores  # an empty set would be an error of ours
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    monkeypatch.setattr(apart, "_core", lambda: 0)
    keeper = apart.Apart()
    keeper.keep(None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    keeper.keep(thread.native_id)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    apart.Apart().keep(thread.native_id)
    monkeypatch.setattr(apart, "_core", None)
    keeper.keep(thread.native_id)
