"""The event loop on virtual time: exact, in asyncio's order, and without anything that is left to chance."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.lowlevel import checkpoint

from actorflow.base.process import machine
from actorflow.testing import Deadlock, VirtualLoop
from actorflow.testing import loop as loops
from actorflow.testing.running import run

Main = Callable[[], Coroutine[Any, Any, Any]]


def ordered(main: Main, *, shuffle: random.Random | None = None) -> Any:
    """The result of `main()` on a virtual loop."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(shuffle=shuffle)) as runner:
        return runner.run(main())


def test_seconds_cost_nothing_and_are_exact() -> None:
    async def main() -> list[tuple[float, float]]:
        found = []

        async def wait(seconds: float) -> None:
            await anyio.sleep(seconds)
            found.append((seconds, asyncio.get_running_loop().time()))

        async with anyio.create_task_group() as group:
            for seconds in (3600.0, 0.25, 7.5):
                group.start_soon(wait, seconds)
        with anyio.move_on_after(0.5) as scope:
            await anyio.sleep_forever()
        assert scope.cancelled_caught
        return found

    assert run(main) == ([(0.25, 0.25), (7.5, 7.5), (3600.0, 3600.0)], 3600.5)


def program(seed: int) -> Callable[[], Coroutine[Any, Any, list[int]]]:
    """A program of tasks, callbacks, futures and events that notes the order in which it runs."""

    async def main() -> list[int]:
        chance, log, loop = random.Random(seed), [], asyncio.get_running_loop()
        event = anyio.Event()

        async def worker(number: int, depth: int) -> None:
            for part in range(chance.randrange(4)):
                log.append(number * 10 + part)
                kind = chance.randrange(5)
                if kind == 0:
                    await asyncio.sleep(0)
                elif kind == 1:
                    future = loop.create_future()
                    loop.call_soon(future.set_result, None)
                    await future
                elif kind == 2:
                    loop.call_soon(log.append, -number)
                elif kind == 3 and depth < 3:
                    async with anyio.create_task_group() as group:
                        for child in range(chance.randrange(3)):
                            group.start_soon(worker, number * 3 + child, depth + 1)
                elif kind == 4:
                    with anyio.move_on_after(0):
                        await event.wait()

        async with anyio.create_task_group() as group:
            for number in range(1, 6):
                group.start_soon(worker, number, 0)
        event.set()
        return log

    return main


@pytest.mark.parametrize("seed", range(30))
def test_callbacks_run_in_the_order_of_asyncio(seed: int) -> None:
    assert ordered(program(seed)) == asyncio.run(program(seed)())


def test_shuffled_callbacks_run_in_every_order_and_a_seed_fixes_it() -> None:
    async def main() -> str:
        log: list[str] = []
        for letter in "abc":
            asyncio.get_running_loop().call_soon(log.append, letter)
        while len(log) < 3:
            await checkpoint()
        return "".join(log)

    def found(seed: int) -> str:
        return str(ordered(main, shuffle=random.Random(seed)))

    assert {found(seed) for seed in range(60)} == {"abc", "acb", "bac", "bca", "cab", "cba"}
    assert [found(seed) for seed in range(20)] == [found(seed) for seed in range(20)]


def test_timers_that_were_cancelled_let_no_time_pass() -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        for _ in range(500):
            loop.call_later(100, pytest.fail).cancel()
            await anyio.sleep(0.001)
        return len(loop._scheduled)

    left, seconds = run(main)
    assert left < 200 and seconds == pytest.approx(0.5)


def test_where_nothing_will_ever_happen_the_tasks_that_wait_are_listed() -> None:
    async def waits_in_vain() -> None:
        await asyncio.get_running_loop().create_future()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(waits_in_vain, name="a waiter")
            group.start_soon(waits_in_vain)

    with pytest.raises(Deadlock, match="Nothing is ready, no timer runs") as caught:
        run(main)
    assert str(caught.value).count("test_virtual_loop.py") == 3 and "a waiter" in str(caught.value)


def test_a_program_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def renews() -> None:
        while True:  # noqa: ASYNC110
            await anyio.sleep(60)

    with pytest.raises(Deadlock, match="not done after 3600 virtual seconds"):
        run(renews, limit=3600)

    async def spins() -> None:
        while True:
            await checkpoint()

    monkeypatch.setattr(loops, "MOST_CALLS", 1000)
    with pytest.raises(Deadlock, match="1,000 callbacks have run, and no time has passed"):
        run(spins)


def test_tasks_that_are_left_fail() -> None:
    async def main() -> None:
        main.task = asyncio.ensure_future(anyio.sleep(10))  # type: ignore[attr-defined]

    with pytest.raises(AssertionError, match="tasks are left"):
        run(main)


async def _on_thread() -> None:
    await anyio.to_thread.run_sync(int)


async def _socket() -> None:
    with socket.socket() as found:
        asyncio.get_running_loop().add_reader(found.fileno(), int)


async def _connection() -> None:
    await asyncio.open_connection("127.0.0.1", 1)


@pytest.mark.parametrize(
    ("main", "message"),
    [(_on_thread, "which has none"), (_socket, "no sockets"), (_connection, "no sockets")],
    ids=["thread", "socket", "connection"],
)
def test_what_real_time_would_decide_is_refused(main: Main, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        run(main)


def test_work_for_threads_is_done_at_once() -> None:
    async def main() -> tuple[int, int]:
        here = threading.get_ident()
        on_executor = await asyncio.get_running_loop().run_in_executor(None, threading.get_ident)
        with pytest.raises(ZeroDivisionError):
            await asyncio.get_running_loop().run_in_executor(None, lambda: 1 // 0)
        assert await machine.on_thread(threading.get_ident) == on_executor == here
        return await machine.on_thread(divmod, 7, 4)

    assert run(main) == ((1, 3), 0.0)


async def test_work_for_threads_goes_to_one_elsewhere() -> None:
    assert await machine.on_thread(threading.get_ident) != threading.get_ident()
    assert machine.current().is_real and machine.current().files is None
    assert len(machine.fresh_hex(6)) == 12 and machine.fresh_hex(6) != machine.fresh_hex(6)


def test_other_threads_may_not_call_into_the_loop() -> None:
    found: list[BaseException] = []

    def call(loop: VirtualLoop) -> None:
        try:
            loop.call_soon_threadsafe(int)
        except RuntimeError as error:
            found.append(error)

    loop = VirtualLoop()
    thread = threading.Thread(target=call, args=[loop], name="other")
    thread.start()
    thread.join()
    loop.close()
    assert "The thread 'other' calls into a loop on virtual time" in str(found[0])


def test_clocks_and_names_are_those_of_the_loop() -> None:
    async def main() -> tuple[float, str]:
        await anyio.sleep(5)
        return machine.wall_time(), machine.fresh_hex(8)

    assert run(main) == run(main)
    assert run(main)[0][0] == 5


def test_nested_scopes_are_cancelled_in_the_order_in_which_they_were_entered() -> None:
    """anyio keeps them in a set, whose order would be that of their addresses."""

    async def main() -> list[int]:
        order: list[int] = []

        async def wait(number: int) -> None:
            with anyio.CancelScope():
                try:
                    await anyio.sleep_forever()
                finally:
                    order.append(number)

        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(wait, number)
            await checkpoint()
            group.cancel_scope.cancel()
        return order

    assert run(main)[0] == list(range(200))
