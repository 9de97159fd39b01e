"""`Network`: the ways to the tasks of a cluster lead through it, so that it can hold, delay, slow, cut and reset them.

It knows nothing of what it carries. Each task has a port here, and connections are told apart by who made them.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from actorflow.cluster.processes.listening import open_descriptors

_RESET = struct.pack("ii", 1, 0)
_HIGH, _PIECE = 1 << 20, 8 << 10
CLIENT = "a client"


@dataclass
class Weather:
    """The present conditions for bytes. A way is who sends and who receives, tasks or `CLIENT`."""

    delay: float = 0.0
    """Seconds that each byte takes longer."""
    rate: Mapping[str, float] = field(default_factory=dict)
    """Bytes in a second that a task takes from each connection."""
    isolated: str | None = None
    """The task that nothing reaches (`inward`), and from which nothing arrives (`outward`)."""
    inward: bool = True
    outward: bool = True

    def holds(self, sender: str, receiver: str) -> bool:
        """Whether bytes have to wait on this way."""
        if self.isolated is None:
            return False
        return (self.inward and receiver == self.isolated) or (self.outward and sender == self.isolated)


class End(asyncio.Protocol):
    """One end of a connection: what arrives here leaves by the other one."""

    def __init__(self, pair: Pair, other: End | None = None) -> None:
        self.transport: asyncio.Transport | None = None
        self.other = other or End(pair, self)
        self.sender = self.receiver = ""
        self.cut_after: int | None = None
        """The number of bytes that are still let through; then the connection ends in the middle of them."""
        self._pair = pair
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._size = 0
        self._free_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        self._is_full = False
        self._is_crammed = False

    # ---- what the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pair.opened(self)

    def data_received(self, data: bytes) -> None:
        self._waiting.append((asyncio.get_running_loop().time() + self._pair.network.weather.delay, data))
        self._size += len(data)
        self.pump()

    def eof_received(self) -> bool:
        self._over = True
        self.pump()
        return True  # what comes the other way may still be under way

    def connection_lost(self, error: Exception | None) -> None:
        self._over, self.transport = True, None
        if error is not None:
            self._waiting.clear()
        if self.other.transport is None:
            self._pair.close()
        self.pump()

    def pause_writing(self) -> None:
        self.other._is_crammed = True
        self.other._throttle()

    def resume_writing(self) -> None:
        self.other._is_crammed = False
        self.other.pump()

    # ---- what leaves

    def pump(self) -> None:
        """Hands on what may leave now, and comes back for the rest."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        weather, loop = self._pair.network.weather, asyncio.get_running_loop()
        out = self.other.transport
        if out is None or weather.holds(self.sender, self.receiver):
            self._throttle()
            return
        rate = weather.rate.get(self.receiver)
        while self._waiting and not self._is_crammed:
            due, data = self._waiting[0]
            if loop.time() < (due := max(due, self._free_at)):
                self._timer = loop.call_at(due, self.pump)
                break
            self._waiting.popleft()
            if rate is not None:
                if len(data) > _PIECE:
                    self._waiting.appendleft((due, data[_PIECE:]))
                data = data[:_PIECE]
                self._free_at = max(loop.time() - 0.1, self._free_at) + len(data) / rate
            self._size -= len(data)
            if self.cut_after is not None and self.cut_after < len(data):
                out.write(data[: self.cut_after])
                self._pair.close()
                return
            if self.cut_after is not None:
                self.cut_after -= len(data)
            out.write(data)
        if self._over and not self._waiting:
            out.close()
        self._throttle()

    def _throttle(self) -> None:
        """Reads no more than can leave soon."""
        is_full = self._size > _HIGH or self._is_crammed
        if is_full != self._is_full and self.transport is not None and not self.transport.is_closing():
            self._is_full = is_full
            (self.transport.pause_reading if is_full else self.transport.resume_reading)()

    def end(self, *, reset: bool) -> None:
        """Ends this side now; with a reset it says that something is wrong."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.transport is not None:
            if reset:
                found = self.transport.get_extra_info("socket")
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                self.transport.abort()
            else:
                self.transport.close()


class Pair:
    """A connection: who made it, and the task that it leads to."""

    def __init__(self, network: Network, task: str) -> None:
        self.network, self.task = network, task
        self.near = End(self)
        self.far = self.near.other
        self.owner = ""

    def opened(self, end: End) -> None:
        """Somebody has connected: the way on is opened, too."""
        if end is self.near:
            assert end.transport is not None
            self.owner = self.network.owner(end.transport.get_extra_info("peername")[1])
            self.near.sender = self.far.receiver = self.owner
            self.near.receiver = self.far.sender = self.task
            self.network.pairs[self] = None
            self.network.connect(self)
        else:
            self.near.pump()

    def touches(self, task: str) -> bool:
        """Whether a task is at either end."""
        return task in (self.owner, self.task)

    def close(self, *, reset: bool = False) -> None:
        """Ends it on both sides."""
        self.network.pairs.pop(self, None)
        self.near.end(reset=reset)
        self.far.end(reset=reset)


class Network:
    """The ways between tasks, and those of clients to them.

    After `start()`, `await lead_to(task, host, port)` gives the port that leads there.
    `pids` gives the processes of the tasks, by which connections are known.
    """

    def __init__(self, pids: Callable[[], Mapping[str, int]]) -> None:
        self.weather = Weather()
        self.pairs: dict[Pair, None] = {}
        self.made = 0
        """How many connections there were."""
        self._pids = pids
        self._servers: list[asyncio.Server] = []
        self._addresses: dict[str, tuple[str, int]] = {}
        self._group: TaskGroup | None = None
        self._opened: asyncio.Queue[Pair] = asyncio.Queue()

    async def start(self) -> None:
        """Begins. The task that makes ways is the one that calls this, and `aclose`."""
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._lead_on)

    async def aclose(self) -> None:
        """Ends all connections. A second call does nothing."""
        for server in self._servers:
            server.close()
        for pair in list(self.pairs):
            pair.close(reset=True)
        if self._group is not None:
            group, self._group = self._group, None
            group.cancel_scope.cancel()
            await group.__aexit__(None, None, None)
        await checkpoint()  # what was reset closes its sockets in the next turn of the event loop

    async def lead_to(self, task: str, host: str, port: int) -> int:
        """A port of this host that leads to a task."""
        self._addresses[task] = host, port
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Pair(self, task).near, "127.0.0.1", 0, backlog=128)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def connect(self, pair: Pair) -> None:
        """Opens the way on. Called by the event loop and not by a task, where anyio does not know the loop if there is trio."""
        self.made += 1
        self._opened.put_nowait(pair)

    async def _lead_on(self) -> None:
        while True:
            pair = await self._opened.get()
            assert self._group is not None
            self._group.start_soon(self._connect, pair)

    async def _connect(self, pair: Pair) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: pair.far, *self._addresses[pair.task])
        except OSError:  # no one listens there now
            pair.close(reset=True)

    def change(self, weather: Weather) -> None:
        """From now on it is like that."""
        self.weather = weather
        for pair in list(self.pairs):
            for end in (pair.near, pair.far):
                end.pump()

    def of(self, task: str) -> list[Pair]:
        """The connections to and from a task."""
        return [pair for pair in self.pairs if pair.touches(task)]

    def reset(self, task: str, rng: random.Random, share: float = 1.0) -> int:
        """Resets connections of a task, each with this probability; gives how many."""
        found = [pair for pair in self.of(task) if rng.random() < share]
        for pair in found:
            pair.close(reset=True)
        return len(found)

    def cut(self, task: str, rng: random.Random) -> int:
        """Ends each connection of a task in the middle of the next bytes that it carries, in one direction or the other."""
        found = self.of(task)
        for pair in found:
            rng.choice((pair.near, pair.far)).cut_after = rng.randrange(1, 2000)
        return len(found)

    def owner(self, port: int) -> str:
        """The task whose process has connected from a port of this host; `CLIENT` for any other."""
        inode = next((line[9] for line in _connections() if int(line[1].rpartition(":")[2], 16) == port), None)
        for task, pid in self._pids().items():
            if inode is not None and f"socket:[{inode}]" in _descriptors(pid):
                return task
        return CLIENT


def _connections() -> list[list[str]]:
    return [line.split() for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]


def _descriptors(pid: int) -> set[str]:
    try:
        return open_descriptors(pid)
    except OSError:  # the process is gone
        return set()
