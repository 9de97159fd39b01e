"""The counts of channels, and their behaviour at the edges of their rules, over each transport that has a wire."""

from __future__ import annotations

import os
import secrets
from typing import Any

import anyio
import numpy as np
import pytest
import zmq
from channels import CLIENT, SERVER, SMALL, endpoint, pair, start_zmq_collector, until
from patience import PATIENCE

from actorflow.base.origins import is_loopback
from actorflow.engine.transport.errors import PeerLost
from actorflow.errors import AbortedError, PermissionDeniedError
from actorflow.transports.shm.endpoint import ShmEndpoint
from actorflow.transports.zmq.auth import Keys, check_bind
from actorflow.transports.zmq.channel import BULK, SEALED
from actorflow.transports.zmq.connected_channel import ConnectedChannel

WIRES = ("zmq", "shm", "shm-without-arena", "simulated")


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


@pytest.mark.parametrize("kind", WIRES)
async def test_f51_what_one_side_has_sent_the_other_has_received(kind: str) -> None:
    async with pair(kind) as both:
        ends = ((both.client, both.server), (both.server, both.client))
        lead = {
            a: a.statistics().bytes_sent - b.statistics().bytes_received for a, b in ends
        }  # what was said before they began
        both.client.send(1, 1, b"", np.zeros(10))
        both.client.send(2, 1, b"", np.zeros(50_000))
        both.server.send(3, 1, b"", np.zeros(1000))
        both.client.post("a message")
        with anyio.fail_after(PATIENCE):
            values = [await both.server.recv(1, 1), await both.server.recv(2, 1), await both.client.recv(3, 1)]
            assert await both.server.receive() == "a message"
        for a, b in ends:
            await until(lambda a=a, b=b: a.statistics().bytes_sent == b.statistics().bytes_received + lead[a])  # type: ignore[misc]
            assert a.statistics().bytes_sent > 300 and 0 <= lead[a] < 300
        assert [value.size for value in values] == [10, 50_000, 1000]
        del values


@pytest.mark.parametrize("kind", ["zmq", "curve"])
async def test_f51_the_first_large_tensor_is_heard_of_whichever_callback_comes_first(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libzmq signals a message only to who has found the connection empty before. To send on a socket takes the signal of a new
    connection away: then no one looks at the lane for large tensors until something has come."""
    drain = ConnectedChannel._drain

    def later(channel: ConnectedChannel, lane: int) -> None:
        if lane == SEALED or channel._ready[lane]:
            drain(channel, lane)

    monkeypatch.setattr(ConnectedChannel, "_drain", later)
    async with pair(kind) as both:
        both.server.send(1, 1, b"", np.arange(50_000))
        with anyio.fail_after(PATIENCE):
            assert (await both.client.recv(1, 1)).sum() == sum(range(50_000))


async def test_f51_a_connection_that_is_gone_before_its_peer_is_greeted_is_tried_again() -> None:
    """The monitor tells of a connection when the loop comes to it: a listener that ends may have closed it by then."""
    here = endpoint("zmq", CLIENT, listen=False)
    nowhere = "tcp://127.0.0.1:1"
    channel = ConnectedChannel(here, nowhere, nowhere, None, None, lambda word: None)  # type: ignore[arg-type]
    try:
        channel._seen(BULK, zmq.EVENT_HANDSHAKE_SUCCEEDED, 0)
        assert channel.ended is None
        channel._seen(BULK, zmq.EVENT_DISCONNECTED, 0)
        with pytest.raises(PeerLost):
            await channel.opened
    finally:
        here.close()


async def test_f62_what_a_stranger_says_in_many_parts_is_dropped_whole() -> None:
    there: Any = endpoint("zmq", SERVER, listen=True, accept=[].append)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    stranger = context.socket(zmq.DEALER)
    try:
        stranger.connect(there.address)
        for parts in (2, 3, 4):
            stranger.send_multipart([b"part"] * parts)
        await until(lambda: there.dropped >= 3)
        here = endpoint("zmq", CLIENT, listen=False)
        try:
            await here.connect(there.address, SERVER.incarnation, timeout=PATIENCE)
            assert there.dropped == 3
        finally:
            here.close()
    finally:
        stranger.close(0)
        context.term()
        there.close()


async def test_f51_an_address_that_is_taken_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    name = secrets.token_hex(16)
    monkeypatch.setattr(secrets, "token_hex", lambda size: name)
    first = ShmEndpoint(SERVER)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="in use"):
        ShmEndpoint(CLIENT)
    assert os.listdir("/proc/self/fd") == before
    first.close()


async def test_f65_tensors_of_an_aborted_step_that_wait_to_be_copied_are_not() -> None:
    async with pair("shm") as both:
        for step in (1, 2):
            both.client.send(1, step, b"", np.full(50_000, float(step)))
        both.client.abort(1, AbortedError("enough"))
        with anyio.fail_after(PATIENCE):
            value = await both.server.recv(1, 2)
            with pytest.raises(AbortedError, match="enough"):
                await both.server.recv(1, 1)
        assert value[0] == 2.0 and both.client.statistics().copies == 1
        del value


@pytest.mark.parametrize("kind", WIRES)
async def test_a_message_that_is_taken_makes_room_at_once_for_the_next_ones(kind: str) -> None:
    """Without a beat, or anything else that is said meanwhile."""
    async with pair(kind, limits=SMALL, heartbeat_seconds=1e3) as both:
        for number in range(6):
            both.client.post([number, bytes(SMALL.control_window - 1000)])
        server: Any = both.server
        await until(lambda: server.core.credit.unread > SMALL.control_window)  # no more credit is granted
        with anyio.fail_after(PATIENCE):
            for number in range(6):
                assert (await both.server.receive())[0] == number


@pytest.mark.parametrize(
    ("host", "ours"),
    [("localhost", True), ("127.0.0.1", True), ("127.8.0.1", True), ("[::1]", True), ("::1", True)]
    + [("0.0.0.0", False), ("::", False), ("192.168.0.1", False), ("example.org", False), ("", False)],
)
def test_f62_only_addresses_of_this_machine_need_no_keys(host: str, ours: bool) -> None:
    assert is_loopback(host) is ours
    check_bind(host, Keys.make())
    if ours:
        check_bind(host, None)
    else:
        with pytest.raises(PermissionDeniedError, match="no keys to tell friend from foe"):
            check_bind(host, None)
