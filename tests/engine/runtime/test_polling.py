"""The selector that looks again for a moment before it sleeps."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

import actorflow as af
from actorflow.engine.runtime.event_loops import polling
from actorflow.engine.runtime.event_loops.polling import POLL_SECONDS, PollingSelector, at_work

LOOK, WAKE = 2e-6, 50e-6
SHORT, LONG = POLL_SECONDS / 2, 5 * POLL_SECONDS
HEARD: list[Any] = [("key", 1)]


class Scripted(PollingSelector):
    """An event comes some seconds after each `select`, on a clock of its own. `slept` counts the looks that wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, cores: int = 2, alone: bool = False) -> None:
        self.now = self.comes = 0.0
        self.slept = self.looked = 0
        monkeypatch.setattr(polling, "perf_counter", lambda: self.now)
        monkeypatch.setattr(polling.machine, "cores", lambda: cores)
        super().__init__(alone=alone)

    def after(self, seconds: float, timeout: float | None = None) -> list[Any]:
        self.comes = self.now + seconds
        return self.select(timeout)

    def _look(self, timeout: float | None) -> list[Any]:
        if timeout == 0:
            self.looked += 1
            self.now += LOOK
            return HEARD if self.now >= self.comes else []
        self.slept += 1
        end = self.comes + WAKE
        if timeout is not None and end > self.now + timeout:
            self.now += timeout
            return []
        self.now = end
        return HEARD


@pytest.fixture
def selector(monkeypatch: pytest.MonkeyPatch) -> Any:
    with Scripted(monkeypatch) as made:
        yield made


def test_who_waits_long_only_sleeps(selector: Scripted) -> None:
    for _ in range(20):
        assert selector.after(LONG) == HEARD
    assert selector.slept == 20 and selector.looked == 0


def test_short_waits_are_polled(selector: Scripted) -> None:
    for _ in range(20):
        assert selector.after(SHORT) == HEARD
    assert selector.slept == 1, "all but the first, which tells that they are short"


def test_a_wait_is_short_too_where_both_sides_had_to_be_woken(selector: Scripted) -> None:
    selector.after(POLL_SECONDS + WAKE)
    selector.after(SHORT)
    assert selector.slept == 1


def test_after_some_long_waits_it_sleeps_again(selector: Scripted) -> None:
    for _ in range(20):
        selector.after(SHORT)
    looked = 0
    for _ in range(20):
        before, spent = selector.looked, selector.now
        assert selector.after(LONG) == HEARD
        assert selector.now - spent < LONG + WAKE + POLL_SECONDS
        looked += selector.looked > before
    assert looked == 4


def test_one_wait_of_two_that_is_long_is_too_many(selector: Scripted) -> None:
    for _ in range(10):
        selector.after(SHORT)
    for _ in range(20):
        selector.after(LONG)
        selector.after(SHORT)
    before = selector.looked
    selector.after(LONG)
    selector.after(LONG)
    assert selector.looked - before < 2 * POLL_SECONDS / LOOK


def test_while_a_kernel_runs_on_a_thread_it_sleeps(selector: Scripted) -> None:
    for _ in range(5):
        selector.after(SHORT)
    slept, looked = selector.slept, selector.looked
    at_work.add(1)
    try:
        assert selector.after(SHORT) == HEARD
    finally:
        at_work.discard(1)
    assert selector.slept == slept + 1 and selector.looked == looked


@pytest.mark.parametrize("alone", [False, True])
def test_one_that_is_to_be_alone_sleeps_while_there_are_other_threads(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = 1
    monkeypatch.setattr(polling, "active_count", lambda: threads)
    with Scripted(monkeypatch, alone=alone) as selector:
        for _ in range(5):
            selector.after(SHORT)
        assert selector.slept == 1
        threads = 2
        for _ in range(5):
            selector.after(SHORT)
        assert selector.slept == (6 if alone else 1)


def test_a_timer_is_kept(selector: Scripted) -> None:
    for _ in range(5):
        selector.after(SHORT)
    begun = selector.now
    assert selector.after(1.0, POLL_SECONDS / 2) == []
    assert selector.now - begun == pytest.approx(POLL_SECONDS / 2)


def test_ready_callbacks_do_not_count_as_waits(selector: Scripted) -> None:
    for _ in range(9):
        selector.after(LONG, 0)
    selector.after(SHORT)
    assert selector.slept == 1


def test_on_one_core_it_never_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scripted(monkeypatch, cores=1) as selector:
        for _ in range(20):
            assert selector.after(SHORT) == HEARD
        assert selector.slept == 20


def test_a_loop_serves_sockets_threads_timers_and_graphs() -> None:
    async def echo(wire: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(wire, 16):
            await loop.sock_sendall(wire, data)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        mine, theirs = socket.socketpair()
        with mine, theirs:
            for wire in (mine, theirs):
                wire.setblocking(False)
            task = loop.create_task(echo(theirs))
            for number in range(200):
                await loop.sock_sendall(mine, b"%d" % number)
                assert await loop.sock_recv(mine, 16) == b"%d" % number
            mine.shutdown(socket.SHUT_WR)
            await task
        heard = asyncio.Event()
        thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(heard.set))
        thread.start()
        await asyncio.wait_for(heard.wait(), 10)
        thread.join()
        begun = loop.time()
        await asyncio.sleep(POLL_SECONDS * 3)
        assert loop.time() - begun >= POLL_SECONDS * 2
        with af.Graph().as_default() as graph:
            total = af.constant(3.0) + 4.5
        async with af.Session(graph=graph) as session:
            assert await session.run(total) == 7.5

    with asyncio.Runner(loop_factory=af.new_event_loop) as runner:
        runner.run(asyncio.wait_for(main(), 30))
