"""The loads: clients that ask again and again, twice the bearable rate, clients that leave, and clients beside a reload."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from benchmarks.compare.client import Connection, connected

_RETRY = 0.02
_AT_ONCE = 64
_MOST_CONNECTIONS = 3000
_REFUSALS = (429, 503)


@dataclass(slots=True)
class Answers:
    """The answers that clients got: the seconds of good answers, the ends of good answers, and how many of each other status."""

    seconds: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    others: Counter[int] = field(default_factory=Counter)

    def gap(self, begun: float) -> float:
        """The longest time without a good answer."""
        times = [begun, *self.ends]
        return max((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0)


class Clients:
    """Clients that each ask again when they have their answer, and connect again when they lose their connection."""

    def __init__(self, port: int, request: bytes) -> None:
        self._port, self._request = port, request
        self.answers = Answers()
        self._ends = False
        self._open: set[Connection] = set()

    async def run(self, clients: int, until: Callable[[], Awaitable[object]]) -> Answers:
        """Asks until the function ends."""
        tasks = [asyncio.create_task(self._client()) for _ in range(clients)]
        try:
            await until()
        finally:
            self._ends = True
            for connection in self._open:
                connection.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self.answers

    async def _client(self) -> None:
        while not self._ends:
            lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            try:
                connection = await connected(self._port, self._request, partial(self._answered, lost))
            except OSError:
                self.answers.others[0] += 1
            else:
                self._open.add(connection)
                connection.ask()
                await lost
                self._open.discard(connection)
                connection.close()
            await asyncio.sleep(_RETRY)

    def _answered(self, lost: asyncio.Future[None], connection: Connection, status: int, seconds: float) -> None:
        if self._ends:
            return
        if status == 200:
            self.answers.seconds.append(seconds)
            self.answers.ends.append(time.monotonic())
        else:
            self.answers.others[status] += 1
        if connection.is_open and status == 200:
            connection.ask()
        elif not lost.done():
            lost.set_result(None)


@dataclass(slots=True)
class Overload:
    """How requests at a rate ended: good and in time, refused at once or later, given up by the client, lost otherwise."""

    requests: int = 0
    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    late: int = 0
    lost: int = 0


async def overload(port: int, request: bytes, rate: float, seconds: float, patience: float) -> Overload:
    """Requests come at a rate, whatever the server does; each client leaves after its patience."""
    result, idle, all_of_them = Overload(), deque[Connection](), set[Connection]()
    loop = asyncio.get_running_loop()
    timers: dict[Connection, asyncio.TimerHandle] = {}
    opening: set[asyncio.Task[None]] = set()

    def answered(connection: Connection, status: int, took: float) -> None:
        timers.pop(connection).cancel()
        if status == 200:
            result.seconds.append(took)
        elif status in _REFUSALS:
            result.refused += 1
        else:
            result.lost += 1
        if connection.is_open:
            idle.append(connection)
        else:
            all_of_them.discard(connection)

    def give_up(connection: Connection) -> None:
        del timers[connection]
        result.late += 1
        all_of_them.discard(connection)
        connection.close()

    def ask(connection: Connection) -> None:
        timers[connection] = loop.call_later(patience, give_up, connection)
        connection.ask()

    async def open_and_ask() -> None:
        try:
            connection = await asyncio.wait_for(connected(port, request, answered), patience)
        except (OSError, TimeoutError):
            result.lost += 1
            return
        all_of_them.add(connection)
        ask(connection)

    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        while result.requests < passed * rate:
            result.requests += 1
            while idle and not idle[0].is_open:
                all_of_them.discard(idle.popleft())
            if idle:
                ask(idle.popleft())
            elif len(all_of_them) + len(opening) < _MOST_CONNECTIONS:
                task = asyncio.create_task(open_and_ask())
                opening.add(task)
                task.add_done_callback(opening.discard)
            else:
                result.lost += 1
        await asyncio.sleep(0.002)
    await asyncio.gather(*opening)
    await asyncio.sleep(patience + 0.1)
    for connection in all_of_them:
        connection.close()
    return result


async def leave(port: int, request: bytes, clients: int, stay: float) -> None:
    """Clients that ask once all are connected, and leave together soon after."""

    def answered(connection: Connection, status: int, seconds: float) -> None:
        pass

    turn = asyncio.Semaphore(_AT_ONCE)

    async def connect() -> Connection:
        async with turn:
            return await asyncio.wait_for(connected(port, request, answered), 10)

    connections = await asyncio.gather(*(connect() for _ in range(clients)))
    for connection in connections:
        connection.ask()
    await asyncio.sleep(stay)
    for connection in connections:
        connection.close()
    await asyncio.sleep(0.05)
