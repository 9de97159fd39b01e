"""Connections of those who have no key cost a task little, and reach none of its handlers."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
import zmq
from channels import CLIENT, KEYS, SERVER, start_zmq_collector, until
from cluster import strangers
from clusters import servers
from patience import PATIENCE

from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.server import Server
from actorflow.engine.transport.base import Channel, PeerLimits
from actorflow.transports.protocol.frames import encode
from actorflow.transports.protocol.handshake import hello_record, make_hello
from actorflow.transports.zmq import connection_limiter
from actorflow.transports.zmq import endpoint as zmq_module
from actorflow.transports.zmq.auth import Keys
from actorflow.transports.zmq.channel import ID_SIZE
from actorflow.transports.zmq.connection_limiter import ConnectionLimiter
from actorflow.transports.zmq.endpoint import ZmqEndpoint


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


async def test_f62_three_hundred_strangers_reach_no_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limiter, "MOST_SECONDS", 0.5)
    asked: list[str] = []
    made = Server._handlers
    monkeypatch.setattr(Server, "_handlers", lambda self, link: (asked.append(link.task), made(self, link))[1])
    async with servers({"worker": 1}, "zmq", keys=True) as (server,):
        control: Any = server.links.endpoints.control
        assert server._credentials is not None
        command = [sys.executable, strangers.__file__, server.address.removeprefix("tcp://")]
        async with await anyio.open_process([*command, server._credentials.public, "300", "10"], stderr=None) as attack:
            await until(lambda: len(control.limiter) > 10)
            assert (await query_status(server.target, timeout=PATIENCE))["task"] == server.task
            await until(lambda: control.limiter.ended > 20 and not len(control.limiter))
            attack.terminate()
            await attack.wait()
        assert len(set(asked)) == 1 and asked[0].startswith("/client"), "but for the client, which may have come twice"
        assert not control._pending


@contextmanager
def lanes(there: ZmqEndpoint, of: Sequence[tuple[int, int, Keys | None]]) -> Iterator[None]:
    """Connections to `there`, each the lane of a channel's number, with these keys, that has said hello."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    sockets: list[zmq.Socket[bytes]] = []
    hello = encode(hello_record(make_hello(CLIENT, 0, PeerLimits())))
    try:
        for number, lane, keys in of:
            socket = context.socket(zmq.DEALER)
            sockets.append(socket)
            socket.setsockopt(zmq.ROUTING_ID, b"\1" + number.to_bytes(ID_SIZE - 2, "big") + bytes([lane]))
            if keys is not None:
                socket.curve_publickey, socket.curve_secretkey = keys.public.encode(), keys.secret.encode()
                socket.curve_serverkey = KEYS.public.encode()
            socket.connect(there.address)
            socket.send(hello)
        yield
    finally:
        for socket in sockets:
            socket.close(0)
        context.term()


async def test_f62_of_those_who_open_one_lane_and_never_the_other_only_the_last_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(zmq_module, "_PENDING", 4)
    accepted: list[Channel] = []
    there, here = ZmqEndpoint(SERVER, listen="tcp://127.0.0.1:0", accept=accepted.append), ZmqEndpoint(CLIENT)
    try:
        with lanes(there, [(number, 0, None) for number in range(12)]):
            await until(lambda: len(there._fds) == 12)
            assert len(there._pending) == 4
            await here.connect(there.address)
            assert len(accepted) == 1 and len(there._pending) <= 4
        await until(lambda: not there._pending)
    finally:
        here.close()
        there.close()


async def test_f62_the_two_lanes_of_a_channel_belong_to_one_user() -> None:
    accepted: list[Channel] = []
    one, other = Keys.make(), Keys.make()
    there = ZmqEndpoint(
        SERVER,
        listen="tcp://127.0.0.1:0",
        keys=KEYS,
        allowed=frozenset({one.public, other.public}),
        accept=accepted.append,
    )
    try:
        with lanes(there, [(1, 0, one), (1, 1, other), (2, 0, other), (2, 1, one)]):
            await until(lambda: len(there._fds) == 4)
            assert not accepted and not there._accepted and not there._pending
        with lanes(there, [(3, 0, one), (3, 1, one)]):
            await until(lambda: accepted)
            assert accepted[0].peer.key == one.public
    finally:
        there.close()


class Door:
    """A limiter at a socket of its own, and what he sees there."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.limiter = ConnectionLimiter(self.port)
        self.accepted: list[socket.socket] = []
        self.strangers: list[socket.socket] = []

    def come(self, *, greets_first: bool = False) -> socket.socket:
        self.strangers.append(socket.create_connection(("127.0.0.1", self.port)))
        self.accepted.append(self.listener.accept()[0])
        if greets_first:
            self.limiter.greeted(self.accepted[-1].fileno())
        self.limiter.came(self.accepted[-1].fileno())
        return self.strangers[-1]

    def ended(self) -> list[bool]:
        """Which of the strangers have been shown the door."""
        found = []
        for stranger in self.strangers:
            stranger.setblocking(False)
            try:
                found.append(stranger.recv(1) == b"")
            except BlockingIOError:
                found.append(False)
        return found

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.limiter.close()
        for one in (self.listener, *self.accepted, *self.strangers):
            one.close()


async def test_f62_the_oldest_strangers_go_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limiter, "MOST", 3)
    with Door() as door:
        for _ in range(3):
            door.come()
        door.limiter.greeted(door.accepted[0].fileno())
        for _ in range(2):
            door.come()
        assert door.ended() == [False, True, False, False, False]


async def test_f62_who_says_too_much_or_nothing_at_all_has_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    with Door() as door:
        talker, modest, friend = door.come(), door.come(), door.come()
        talker.sendall(b"x" * (connection_limiter.MOST_BYTES + 1))
        modest.sendall(b"x" * 1000)
        friend.sendall(b"x" * (connection_limiter.MOST_BYTES + 1))
        door.limiter.greeted(door.accepted[2].fileno())
        await until(lambda: any(door.ended()))
        assert door.ended() == [True, False, False]
        monkeypatch.setattr(connection_limiter, "MOST_SECONDS", 0.0)
        await until(lambda: door.limiter.ended == 2)
        assert door.ended() == [True, True, False] and not len(door.limiter)


async def test_f62_who_greets_before_it_is_told_of_is_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """libzmq's thread that accepts may be held up after it has handed the connection on."""
    monkeypatch.setattr(connection_limiter, "MOST_SECONDS", 0.0)
    with Door() as door:
        door.come(greets_first=True)
        assert not len(door.limiter)
        door.come()
        await until(lambda: not len(door.limiter))
        assert door.ended() == [False, True]


async def test_f62_an_early_greeting_counts_for_its_own_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for the next one with the same descriptor, whether libzmq told of its end or not."""
    with Door() as door:
        for told in (True, False):
            door.come()
            fd = door.accepted[-1].fileno()
            door.limiter.greeted(fd)
            door.limiter.greeted(fd)
            if told:
                door.limiter.left(fd)
            with socket.create_connection(("127.0.0.1", door.port)), door.listener.accept()[0] as other:
                os.dup2(other.fileno(), fd)
                door.limiter.came(fd)
                assert len(door.limiter) == 1
            door.limiter.left(fd)


async def test_f62_a_descriptor_that_is_another_file_by_now_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limiter, "MOST_SECONDS", 0.0)
    with Door() as door:
        door.come()
        one, other = socket.socketpair()
        with one, other:
            os.dup2(one.fileno(), door.accepted[0].fileno())
            await until(lambda: not len(door.limiter))
            other.setblocking(False)
            with pytest.raises(BlockingIOError):
                other.recv(1)
        assert door.limiter.ended == 0
