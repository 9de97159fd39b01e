"""The rules on beginnings and ends: who may come in, how a channel ends, and that nothing is left of it."""

from __future__ import annotations

import gc
import os
import warnings
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
from anyio.lowlevel import checkpoint

from actorflow.engine.transport.base import Channel, Reach
from actorflow.engine.transport.errors import HandshakeRejected, PeerLost, ProtocolError
from actorflow.errors import InvalidArgumentError, PermissionDeniedError, ResourceExhaustedError, UnavailableError
from actorflow.testing.contract import SECONDS, Broken, got, raises, rule, same, until
from actorflow.testing.transport_contract.subject import CLIENT, SERVER, SMALL, Subject, bits, large, pair

# ---- beginnings


@rule()
async def both_sides_know_who_is_there(subject: Subject) -> None:
    """Each end's `peer` is the other's identity; addresses begin with the scheme; channels say the transport and its reach."""
    async with pair(subject) as both:
        factory = subject.factory
        same(both.client.peer.identity, SERVER, "the peer of the end that connected")
        same(both.server.peer.identity, CLIENT, "the peer of the end that listened")
        same(both.client.peer.address, both.there.address, "the address of the peer")
        same(both.there.address.partition("://")[0], factory.scheme, "the scheme of the address")
        same({both.here.name, both.client.transport, both.server.transport}, {factory.name}, "the transport's name")
        same({both.client.reach, both.server.reach}, {factory.reach}, "the transport's reach")
        same([len(both.here.channels), len(both.there.channels)], [1, 1], "the channels that are open")
        if subject.keys is not None:
            same({both.client.peer.key, both.server.peer.key}, {subject.keys.public}, "the keys that were proved")


@rule()
async def who_does_not_belong_here_is_rejected(subject: Subject) -> None:
    """Another cluster, another incarnation, and an end that wants no channel raise HandshakeRejected, with the reason."""
    accepted: list[Channel] = []
    there = subject.endpoint(SERVER, listen=True, accept=accepted.append)
    try:
        for change, incarnation, text in (
            ({"cluster": "other"}, None, r"'cluster'.*'other'|'other'.*'cluster'"),
            ({}, 0x99, "0x99"),
        ):
            here = subject.endpoint(replace(CLIENT, **change), listen=False)  # type: ignore[arg-type]
            try:
                with raises(HandshakeRejected, text):
                    await got(here.connect(there.address, incarnation, timeout=SECONDS))
            finally:
                here.close()
        same(accepted, [], "the channels that were accepted")
    finally:
        there.close()


@rule()
async def a_channel_that_nobody_wants_is_closed(subject: Subject) -> None:
    """An endpoint without `accept` takes no channels: to connect to it raises HandshakeRejected."""
    there, here = subject.endpoint(SERVER, listen=True, accept=None), subject.endpoint(CLIENT, listen=False)
    try:
        with raises(HandshakeRejected):
            await got(here.connect(there.address, timeout=SECONDS))
        await until(lambda: not there.channels and not here.channels, "no channel was left")
    finally:
        here.close()
        there.close()


@rule()
async def nobody_there_is_unavailable(subject: Subject) -> None:
    """To connect where no one listens raises UnavailableError within its time; other text raises
    InvalidArgumentError."""
    there, here = subject.endpoint(SERVER, listen=True), subject.endpoint(CLIENT, listen=False)
    try:
        address = there.address
        there.close()
        with raises(UnavailableError):
            await got(here.connect(address, timeout=0.1))
        for text in ("no address", "x:0", "x", "", f"{subject.factory.scheme}s://x:1"):
            with raises(InvalidArgumentError):
                await got(here.connect(text, timeout=0.1))
        same(len(here.channels), 0, "the channels")
    finally:
        here.close()
        there.close()


@rule(lambda subject: subject.factory.reach is Reach.ANY and subject.is_real)
async def without_keys_it_listens_here_only(subject: Subject) -> None:
    """Without keys to listen at an address that other machines reach raises PermissionDeniedError."""
    factory = subject.factory
    keys: dict[str, Any] = {} if factory.make_keys is None else {"keys": None, "allowed": frozenset()}
    for host in ("0.0.0.0", "192.0.2.1"):
        with raises(PermissionDeniedError):
            factory.open(
                SERVER, listen=f"{factory.scheme}://{host}:0", accept=None, epoch=0, advertise=None, **keys
            ).close()


@rule(lambda subject: subject.factory.make_keys is not None and subject.is_real)
async def a_wrong_key_is_rejected(subject: Subject) -> None:
    """With keys, a peer that has others, or none, is not let in."""
    make = subject.factory.make_keys
    assert make is not None
    theirs = replace(subject, keys=make())
    there = theirs.endpoint(SERVER, listen=True)
    try:
        for keys in (make(), None):
            here = replace(subject, keys=keys).endpoint(CLIENT, listen=False)
            try:
                with raises(HandshakeRejected):
                    await got(here.connect(there.address, timeout=SECONDS))
            finally:
                here.close()
        same(len(there.channels), 0, "the channels")
    finally:
        there.close()


@rule(lambda subject: subject.factory.reach is Reach.ANY and subject.is_real)
async def a_stranger_disturbs_nobody(subject: Subject) -> None:
    """A peer that speaks another protocol, or falls silent, at the address of an endpoint is shut out; channels go
    on."""
    async with pair(subject) as both:
        host, _, port = both.there.address.rpartition("://")[2].rpartition(":")
        for words in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4096, b""):
            async with await anyio.connect_tcp(host, int(port)) as stream:
                await stream.send(words)
            both.client.send(1, len(words), b"", np.int32(7))
            same(await got(both.server.recv(1, len(words))), 7, f"a token after {words[:8]!r}")
        same(len(both.there.channels), 1, "the channels")


@rule(lambda subject: subject.is_wire)
async def connect_can_be_cancelled_and_leaves_nothing(subject: Subject) -> None:
    """`connect` can be cancelled, and then leaves no channel."""
    there, here = subject.endpoint(SERVER, listen=True), subject.endpoint(CLIENT, listen=False)
    try:
        with anyio.move_on_after(0) as scope:
            await here.connect(there.address)
        same(scope.cancelled_caught, True, "whether it was cancelled")
        await until(lambda: not here.channels, "no channel was left")
    finally:
        here.close()
        there.close()


# ---- ends


@rule()
async def a_channel_closed_in_order_delivers_all(subject: Subject) -> None:
    """`aclose` sends what is queued; then the peer's `receive` raises EndOfStream, its `recv` PeerLost, and `post` here
    ClosedResourceError."""
    async with pair(subject, limits=SMALL) as both:
        both.client.send(1, 1, b"", large())
        both.client.send(2, 1, b"", np.int32(2))
        for number in range(100):
            both.client.post([number, b"y" * 3000])

        async def read() -> None:
            for number in range(100):
                same((await got(both.server.receive()))[0], number, "a message")
            with raises(anyio.EndOfStream):
                await got(both.server.receive())

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await got(both.client.aclose())
        same(type(await got(both.server.wait_closed())), anyio.EndOfStream, "how the channel ended")
        same(bits(await got(both.server.recv(1, 1))), bits(large()), "the large tensor")
        same(await got(both.server.recv(2, 1)), 2, "the small one")
        with raises(PeerLost):
            await got(both.server.recv(3, 1))
        with raises(PeerLost):
            both.server.post(1)
        with raises(anyio.ClosedResourceError):
            both.client.post(1)
        await got(both.client.aclose())
        both.client.close()


@rule()
async def closing_wakes_all_who_wait(subject: Subject) -> None:
    """`close` wakes who waits here with ClosedResourceError and who waits at the peer with PeerLost, and calls `on_end`."""
    async with pair(subject, limits=SMALL) as both:
        outcomes: dict[str, BaseException] = {}
        ends: list[BaseException] = []
        both.server.on_end(ends.append)

        async def wait(name: str, work: Any) -> None:
            try:
                await got(work)
            except Exception as error:
                outcomes[name] = error

        both.client.send(9, 1, b"", large())
        for _ in range(20):
            both.client.post(b"z" * 30_000)
        async with anyio.create_task_group() as group:
            group.start_soon(wait, "recv here", both.client.recv(1, 1))
            group.start_soon(wait, "receive here", both.client.receive())
            group.start_soon(wait, "recv there", both.server.recv(1, 1))
            group.start_soon(wait, "flush here", both.client.flush())
            await checkpoint()
            both.client.close("had enough")
        for name in ("recv here", "receive here", "flush here"):
            same(type(outcomes.get(name)), anyio.ClosedResourceError, name)
        for error in (outcomes.get("recv there"), await got(both.server.wait_closed()), *ends):
            if not isinstance(error, PeerLost):
                raise Broken(f"at the peer it ended with {error!r}")
        same(len(ends), 1, "how often `on_end` was called")
        same([len(both.here.channels), len(both.there.channels)], [0, 0], "the channels that are open")


@rule()
async def closing_an_endpoint_ends_its_channels(subject: Subject) -> None:
    """The end of an endpoint ends all its channels, and it connects no more."""
    async with pair(subject) as both:
        other = await got(both.here.connect(both.there.address))
        await got(both.here.aclose())
        await got(both.server.wait_closed())
        await until(lambda: not both.there.channels, "the peer has no channels")
        for channel in (both.client, other):
            with raises(anyio.ClosedResourceError):
                channel.send(1, 1, b"", None)
        with raises(anyio.ClosedResourceError):
            await got(both.here.connect(both.there.address))


@rule(lambda subject: subject.is_wire)
async def a_tensor_over_the_limit_ends_the_channel(subject: Subject) -> None:
    """A tensor that is larger than the receiver's limit ends the channel with ProtocolError before it takes memory."""
    accepted: list[Channel] = []
    there = subject.endpoint(SERVER, listen=True, accept=accepted.append, limits=replace(SMALL, tensor=100_000))
    here = subject.endpoint(CLIENT, listen=False, limits=SMALL)
    try:
        client = await got(here.connect(there.address))
        await until(lambda: accepted, "the channel was accepted")
        client.send(1, 1, b"", large(100_000))
        for error, kind in ((await got(client.wait_closed()), ProtocolError),
                            (await got(accepted[0].wait_closed()), ResourceExhaustedError)):  # fmt: skip
            if not isinstance(error, kind):
                raise Broken(f"the channel ended with {error!r}, and not with {kind.__name__}")
    finally:
        here.close()
        there.close()


@rule()
async def statistics_tell_what_each_edge_carried(subject: Subject) -> None:
    """`statistics` count each edge's tokens at both ends and its bytes on the wire, and `forget` ends that."""
    async with pair(subject) as both:
        for step in range(3):
            both.client.send(4, step, b"", np.zeros(1000))
            await got(both.server.recv(4, step))
        sent, received = both.client.statistics().sent[4], both.server.statistics().received[4]
        same((sent.tokens, received.tokens), (3, 3), "the tokens")
        same((sent.bytes, received.bytes), (24_000, 24_000) if subject.is_wire else (0, 0), "the bytes")
        both.client.forget(4)
        same(4 in both.client.statistics().sent, False, "whether the edge is remembered")


@rule()
async def many_channels_come_and_go_without_a_trace(subject: Subject) -> None:
    """Channels that have ended leave no file descriptor, and no warning of something that was not closed."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        async with pair(subject) as both:
            both.client.send(1, 0, b"", large(30_000))
            await got(both.server.recv(1, 0))  # by now the pair has opened all that it keeps
            before = _open_files()
            for number in range(1, 6):
                channel = await got(both.here.connect(both.there.address))
                other = await got(both.accepted.get())
                channel.send(1, number, b"", large(30_000))
                channel.post(number)
                await got(channel.aclose())
                other.close()
            await until(lambda: len(both.there.channels) == 1, "one channel was left")
            await until(lambda: _open_files() <= before, "all file descriptors were closed")
        gc.collect()
    same([str(warning.message) for warning in warned if issubclass(warning.category, ResourceWarning)], [], "warnings")


def _open_files() -> int:
    """How many file descriptors this process has; 0 where the system does not tell."""
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


FIRST = (
    both_sides_know_who_is_there,
    who_does_not_belong_here_is_rejected,
    a_channel_that_nobody_wants_is_closed,
    nobody_there_is_unavailable,
    without_keys_it_listens_here_only,
    a_wrong_key_is_rejected,
)
LAST = (
    closing_wakes_all_who_wait,
    a_channel_closed_in_order_delivers_all,
    closing_an_endpoint_ends_its_channels,
    connect_can_be_cancelled_and_leaves_nothing,
    a_tensor_over_the_limit_ends_the_channel,
    a_stranger_disturbs_nobody,
    statistics_tell_what_each_edge_carried,
    many_channels_come_and_go_without_a_trace,
)
