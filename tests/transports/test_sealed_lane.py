"""The sealed lane of a ZeroMQ channel: large tensors take it, whoever stands between can only end the connection, and a channel
that gets none goes on with CURVE.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import numpy as np
import pytest
import zmq
from channels import SERVER, Pair, pair, start_zmq_collector, until
from patience import PATIENCE

from actorflow.engine.transport.errors import PeerLost, ProtocolError
from actorflow.transports.zmq import connected_channel, sealing
from actorflow.transports.zmq.channel import SEALED
from actorflow.transports.zmq.sealed_listener import SealedListener

LARGE = np.arange(300_000, dtype=np.float64)  # several chunks


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the lane may take its time; the tests of giving up say their own."""
    monkeypatch.setattr(connected_channel, "_SEALED_SECONDS", PATIENCE)


async def exchange(both: Pair, step: int = 1) -> None:
    """A large tensor each way."""
    both.client.send(1, step, b"", LARGE)
    both.server.send(2, step, b"", -LARGE)
    with anyio.fail_after(PATIENCE):
        assert np.array_equal(await both.server.recv(1, step), LARGE)
        assert np.array_equal(await both.client.recv(2, step), -LARGE)


def sealed(both: Pair) -> list[Any]:
    return [both.client._is_sealed, both.server._is_sealed]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("choice", "expected"), [("encrypted", True), ("authenticated", True), ("curve", False)])
async def test_f62_large_tensors_take_the_lane_that_was_chosen(choice: str, expected: bool) -> None:
    async with pair("curve", seal=choice) as both:
        await exchange(both)
        assert sealed(both) == [expected, expected]


async def test_f62_a_choice_of_one_side_is_no_one_elses() -> None:
    """A side that wants encryption is never talked out of it: the two are left with CURVE."""
    async with pair("curve", seal="encrypted", server_options={"seal": "authenticated"}) as both:
        await exchange(both)
        assert sealed(both) == [False, False]


async def test_f62_the_environment_chooses_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sealing.SEAL, "curve")
    async with pair("curve") as both:
        await exchange(both)
        assert sealed(both) == [False, False]
    monkeypatch.setenv(sealing.SEAL, "plain")
    with pytest.raises(ValueError, match="seal='plain'"):
        async with pair("curve"):
            pass


@pytest.mark.parametrize("side", ["both", "server"])
async def test_f62_without_the_library_curve_carries_all(monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    if side == "both":
        monkeypatch.setattr(sealing, "AESGCM", None)
    async with pair("curve", server_options={"seal": "curve"} if side == "server" else None) as both:
        await exchange(both)
        assert sealed(both) == [False, False]


async def test_f62_without_keys_nothing_is_sealed() -> None:
    async with pair("zmq") as both:
        await exchange(both)
        assert sealed(both) == [False, False] and both.there.sealed_port == 0


async def test_f62_keys_are_renewed_while_tensors_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "RENEWED_PARTS", 30)
    async with pair("curve") as both:
        for step in range(1, 12):
            await exchange(both, step)
        assert both.client._opener._generation > 2 and both.server._opener._generation > 2  # type: ignore[attr-defined]


async def test_f62_a_lane_that_is_not_reached_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A firewall lets the other port through only. The address is remembered: the next channel does not try it again."""
    monkeypatch.setattr(connected_channel, "_SEALED_SECONDS", 0.05)
    async with pair("curve") as probe:
        closed = probe.there.sealed_port
    async with pair("curve") as both:
        assert closed != both.there.sealed_port
    monkeypatch.setattr(SealedListener, "port", property(lambda self: closed, lambda self, port: None), raising=False)
    async with pair("curve") as both:
        await exchange(both)
        assert sealed(both) == [False, False]
        assert list(both.here.unsealed) == [(both.there.address, SERVER.incarnation)]  # type: ignore[attr-defined]
        monkeypatch.setattr(connected_channel, "_SEALED_SECONDS", PATIENCE)
        with anyio.fail_after(PATIENCE):
            again = await both.here.connect(both.there.address)
        again.send(1, 9, b"", LARGE)
        with anyio.fail_after(PATIENCE):
            await again.flush()
        assert again._is_sealed is False  # type: ignore[attr-defined]


async def test_f62_strangers_at_the_port_disturb_nobody() -> None:
    async with pair("curve") as both:
        listener = both.there.sealed  # type: ignore[attr-defined]
        name = both.client._name  # type: ignore[attr-defined]
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        strangers = []
        try:
            for identity in (b"", b"\1" * 18, name + b"\0", name + b"\1", name + b"\3"):
                stranger = context.socket(zmq.DEALER)
                strangers.append(stranger)
                if identity:
                    stranger.setsockopt(zmq.ROUTING_ID, identity)
                stranger.connect(f"tcp://127.0.0.1:{listener.port}")
                stranger.send_multipart([b"part", b"part"])
                stranger.send(b"\1\0\0\0" + bytes(16))
            await until(lambda: listener.dropped >= 5 and listener.limiter.ended >= 5)  # the first part is the last
            await exchange(both)
            assert sealed(both) == [True, True]
        finally:
            context.destroy(0)


async def test_f62_who_has_the_routing_id_and_not_the_key_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was faster than the peer. It is ended, and the peer has the lane, or stays with CURVE."""
    monkeypatch.setattr(connected_channel, "_SEALED_SECONDS", 0.3)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    stranger = context.socket(zmq.DEALER)
    open_lane = connected_channel.ConnectedChannel._open_lane
    waiting: list[Callable[[], None]] = []

    def later(channel: Any, lane: int, target: str, seen: Any) -> None:
        if lane != SEALED:
            open_lane(channel, lane, target, seen)
            return
        stranger.setsockopt(zmq.ROUTING_ID, channel._name + bytes([SEALED]))
        stranger.connect(target)
        stranger.send(b"\1\0\0\0" + bytes(16))
        waiting.append(lambda: open_lane(channel, lane, target, seen))

    monkeypatch.setattr(connected_channel.ConnectedChannel, "_open_lane", later)
    try:
        async with pair("curve") as both:
            listener = both.there.sealed  # type: ignore[attr-defined]
            await until(lambda: listener.dropped == 1)
            waiting.pop()()
            await exchange(both)
            assert len(set(sealed(both))) == 1
    finally:
        stranger.close(0)
        context.destroy(0)


async def test_f62_an_answer_that_comes_too_late_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connecting side has given up, and its lane is gone: both go on with CURVE."""
    monkeypatch.setattr(connected_channel, "_SEALED_SECONDS", 0.02)
    monkeypatch.setattr(connected_channel, "_LATE_SECONDS", PATIENCE)
    send, late = SealedListener.send, []
    monkeypatch.setattr(SealedListener, "send", lambda self, *parts: late.append(lambda: send(self, *parts)))
    async with pair("curve") as both:
        await until(lambda: bool(late) and both.client._is_sealed is False)  # type: ignore[attr-defined]
        await until(lambda: both.server._is_sealed is False)  # type: ignore[attr-defined]
        listener = both.there.sealed  # type: ignore[attr-defined]
        await until(lambda: not listener._fds)
        answer = late.pop()

        def is_refused() -> bool:  # ZeroMQ tells of the end of a connection before it has let go of it
            try:
                answer()
            except zmq.ZMQError:
                return True
            return False

        await until(is_refused)
        await exchange(both)
        assert sealed(both) == [False, False] and both.client.ended is both.server.ended is None  # type: ignore[attr-defined]


async def test_f62_a_port_that_leads_elsewhere_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something else that speaks ZeroMQ listens there, as behind a forwarded port."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    other = context.socket(zmq.ROUTER)
    port = other.bind_to_random_port("tcp://127.0.0.1")
    listen = SealedListener.__init__

    def elsewhere(self: SealedListener, *arguments: Any) -> None:
        listen(self, *arguments)
        self.port = port

    monkeypatch.setattr(SealedListener, "__init__", elsewhere)
    try:
        async with pair("curve") as both:
            await until(lambda: bool(other.poll(0)))
            other.send_multipart([other.recv_multipart()[0], b"what do you want? " * 3])
            await exchange(both)
            assert sealed(both) == [False, False]
    finally:
        other.close(0)
        context.destroy(0)


async def test_f62_a_lane_that_breaks_ends_the_channel_on_both_sides() -> None:
    async with pair("curve") as both:
        await exchange(both)
        both.client._sockets[SEALED].close(0)  # type: ignore[attr-defined]
        both.client._sockets[SEALED] = both.client._sockets[0]  # type: ignore[attr-defined]
        with anyio.fail_after(PATIENCE):
            assert isinstance(await both.server.wait_closed(), PeerLost)
            assert isinstance(await both.client.wait_closed(), PeerLost)


async def test_f62_a_channel_that_is_closed_amid_tensors_ends_in_good_order() -> None:
    async with pair("curve") as both:
        await exchange(both)
        for step in range(2, 12):
            both.server.send(2, step, b"", LARGE)
        with anyio.fail_after(PATIENCE):
            await both.client.recv(2, 2)
            await both.client.aclose()
            assert isinstance(await both.server.wait_closed(), anyio.EndOfStream)


# ---- somebody between

Frame = bytes
"""One frame of ZeroMQ's protocol with its flags and its length."""


@asynccontextmanager
async def between(both_ports: list[int], change: Callable[[int, Frame], list[Frame]]) -> AsyncIterator[int]:
    """A port that hands on to another what comes, frame by frame. `change(number, frame)` gives what goes on to the listening
    side in place of a frame of more than 1,000 bytes; `number` counts these."""

    async def frames(stream: anyio.abc.SocketStream, receive: Callable[[int], Any]) -> AsyncIterator[Frame]:
        while True:
            flags = await receive(1)
            size = await receive(8 if flags[0] & 2 else 1)
            yield flags + size + await receive(int.from_bytes(size, "big"))

    async def hand_on(client: anyio.abc.SocketStream) -> None:
        async with client, await anyio.connect_tcp("127.0.0.1", both_ports[0]) as server:
            buffer = bytearray()

            async def receive(size: int) -> bytes:
                while len(buffer) < size:
                    buffer.extend(await client.receive())
                taken = bytes(buffer[:size])
                del buffer[:size]
                return taken

            async def back() -> None:
                try:
                    while True:
                        await client.send(await server.receive())
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    group.cancel_scope.cancel()

            async with anyio.create_task_group() as group:
                group.start_soon(back)
                number = 0
                try:
                    for _ in range(64):  # a greeting comes in parts that answer each other
                        await server.send(await receive(1))
                    async for frame in frames(client, receive):
                        changed = [frame]
                        if len(frame) > 1000:
                            changed = change(number, frame)
                            number += 1
                        for one in changed:
                            await server.send(one)
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    group.cancel_scope.cancel()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, hand_on)
        yield listener.extra(anyio.abc.SocketAttribute.local_port)
        group.cancel_scope.cancel()


def flip(frame: Frame) -> Frame:
    changed = bytearray(frame)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


held: list[Frame] = []


def swap(number: int, frame: Frame) -> list[Frame]:
    """The second body takes the third's place."""
    if number == 1:
        held.append(frame)
        return []
    return [frame, *(held.pop() for _ in held[:])] if number == 2 else [frame]


ATTACKS: dict[str, Callable[[int, Frame], list[Frame]]] = {
    "alters": lambda number, frame: [flip(frame) if number == 1 else frame],
    "repeats": lambda number, frame: [frame, frame] if number == 1 else [frame],
    "drops": lambda number, frame: [] if number == 1 else [frame],
    "cuts": lambda number, frame: [frame[:1] + (900).to_bytes(8, "big") + frame[9:909]] if number == 1 else [frame],
    "swaps": swap,
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("choice", ["encrypted", "authenticated"])
async def test_f62_who_stands_between_can_only_end_the_connection(
    attack: str, choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = [0]
    held.clear()
    async with between(ports, ATTACKS[attack]) as port:
        listen = SealedListener.__init__

        def elsewhere(self: SealedListener, *arguments: Any) -> None:
            listen(self, *arguments)
            ports[0], self.port = self.port, port

        monkeypatch.setattr(SealedListener, "__init__", elsewhere)
        async with pair("curve", seal=choice) as both:
            both.client.send(1, 1, b"", LARGE)
            both.server.expect(1, 1, b"", lambda token, error: came.append(token))
            came: list[Any] = []
            with anyio.fail_after(PATIENCE):
                error = await both.server.wait_closed()
                lost = await both.client.wait_closed()
            assert isinstance(error, ProtocolError) and "/job:worker/task:0" in str(error), error
            assert isinstance(lost, PeerLost | ProtocolError)
            assert [token for token in came if token is not None] == [], "nothing of it goes on"


async def test_f62_who_stands_between_and_changes_nothing_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [0]
    async with between(ports, lambda number, frame: [frame]) as port:
        listen = SealedListener.__init__

        def elsewhere(self: SealedListener, *arguments: Any) -> None:
            listen(self, *arguments)
            ports[0], self.port = self.port, port

        monkeypatch.setattr(SealedListener, "__init__", elsewhere)
        async with pair("curve") as both:
            await exchange(both)
            assert sealed(both) == [True, True]
