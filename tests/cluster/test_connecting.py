"""A client that connects: whom it waits for, and what it is told where the two can't talk."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from clusters import free_port, servers

import actorflow as af
from actorflow import errors
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.config.credentials import Credentials
from actorflow.cluster.processes import startup
from actorflow.cluster.wire.links import Links
from actorflow.engine.transport.errors import HandshakeRejected
from actorflow.transports.zmq.endpoint import ZmqEndpoint
from actorflow.transports.zmq.greeting import refusal as told_refusal
from actorflow.transports.zmq.greeting import security_at


async def refusal(target: str, credentials: Any) -> str:
    with pytest.raises(HandshakeRejected) as caught:
        await query_status(target, credentials=credentials, timeout=30)
    return str(caught.value)


async def test_three_mistakes_with_keys_are_told_apart() -> None:
    async with servers({"worker": 1}, "zmq", keys=True) as (locked,), servers({"ps": 1}, "zmq") as (plain,):
        without = await refusal(locked.target.address, None)
        others = await refusal(locked.target.address, Credentials.make())
        needless = await refusal(plain.target.address, Credentials.make())
    assert "it has keys, and this process has none" in without and "Set ACTORFLOW_KEYS" in without
    assert "its key is another one than this process expects" in others and "compare ACTORFLOW_KEYS" in others
    assert "it has no keys, but this process has" in needless and "unset ACTORFLOW_KEYS" in needless


@contextmanager
def listening() -> Iterator[tuple[socket.socket, str]]:
    """A socket that takes connections, as that of a process that stands still."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        made.listen(64)
        yield made, f"tcp://127.0.0.1:{made.getsockname()[1]}"


@pytest.mark.parametrize("keys", [False, True])
async def test_a_task_that_stands_still_is_waited_for(monkeypatch: pytest.MonkeyPatch, keys: bool) -> None:
    """Its machine takes connections, but it greets no one. However many handshakes fail by that, nothing is said of keys."""
    monkeypatch.setattr(ZmqEndpoint, "handshake_seconds", 0.05)
    with listening() as (_, address), pytest.raises(errors.UnavailableError) as caught:
        await query_status(address, credentials=Credentials.make() if keys else None, timeout=1.5)
    assert "does not answer" in str(caught.value) and "key" not in str(caught.value)


async def test_something_else_that_listens_is_called_so() -> None:
    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" + bytes(64))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        found = await security_at("127.0.0.1", port)
        assert found == "" and "something else listens there" in told_refusal(False, found)[0]
        group.cancel_scope.cancel()


async def test_a_way_whose_end_is_not_there_now_is_not_taken_for_another_program() -> None:
    """A proxy takes connections and ends them, while the task behind it is started again."""

    async def end(stream: anyio.abc.SocketStream) -> None:
        await stream.aclose()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, end)
        with pytest.raises(ConnectionResetError, match="without a word"):
            await security_at("127.0.0.1", port)
        with pytest.raises(errors.UnavailableError, match="does not answer"):
            await query_status(f"tcp://127.0.0.1:{port}", credentials=Credentials.make(), timeout=1.0)
        group.cancel_scope.cancel()


async def test_a_wrong_port_is_told_while_the_session_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert startup._TELL_SECONDS < 5
    monkeypatch.setattr(startup, "_TELL_SECONDS", 0.01)
    graph = af.Graph()
    with graph.as_default():
        c = af.constant(1.0)
    port = free_port()
    with caplog.at_level(logging.WARNING):
        async with af.Session(f"tcp://127.0.0.1:{port}", graph, connect_timeout=0.5) as session:
            with pytest.raises(errors.UnavailableError, match="nothing has taken a connection there"):
                await session.run(c)
    (told,) = [r.getMessage() for r in caplog.records if "does not answer yet" in r.getMessage()]
    assert f"127.0.0.1:{port}" in told and "nothing listens there" in told
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_a_task_is_reached_at_its_new_address_while_its_former_address_is_tried() -> None:
    """A task may have joined under the name of a lost task, whose process others still try to reach."""
    async with servers({"ps": 1, "worker": 1}, "zmq") as (ps, worker), anyio.create_task_group() as group:
        with listening() as (_, address):
            group.start_soon(try_to_reach, worker.links, ps.task, address)
            await anyio.wait_all_tasks_blocked()
            link = await worker.links.to(ps.task, ps.target.address)
            assert link.identity == ps.identity and link.alive
            assert await worker.links.to(ps.task, ps.target.address) is link
            group.cancel_scope.cancel()


async def test_a_link_is_not_taken_for_that_to_another_address() -> None:
    async with servers({"ps": 1, "worker": 1}, "zmq") as (ps, worker):
        link = await worker.links.to(ps.task, ps.target.address)
        with pytest.raises(errors.UnavailableError):
            await worker.links.to(ps.task, f"tcp://127.0.0.1:{free_port()}", timeout=0.5)
        assert await worker.links.to(ps.task, ps.target.address) is link


async def test_links_to_two_addresses_of_a_task_stay_beside_each_other() -> None:
    """A caller with the one address and a caller with the other take turns: neither opens a link again, and ended links go."""
    async with servers({"ps": 1, "worker": 1}, "zmq") as (ps, worker):
        addresses = [ps.target.address, ps.target.address.replace("127.0.0.1", "localhost")]
        links = [await worker.links.to(ps.task, address) for address in addresses]
        assert links[0] is not links[1]
        for _ in range(3):
            assert [await worker.links.to(ps.task, address) for address in addresses] == links
        assert len(ps.links.accepted) == 2
        links[0].close()
        links[1].close()
        again = await worker.links.to(ps.task, addresses[0])
        assert [link for (task, _), link in worker.links.outbound.items() if task == ps.task] == [again]


async def try_to_reach(links: Links, task: str, address: str) -> None:
    """Fails, after a long time."""
    with pytest.raises(errors.UnavailableError):
        await links.to(task, address, timeout=60)
