"""The promises of every channel, over every transport: order, ends, credit, limits, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import weakref
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
import pytest
from anyio.lowlevel import checkpoint
from channels import (
    CLIENT,
    KEYS,
    KINDS,
    SERVER,
    SMALL,
    bits,
    child,
    endpoint,
    pair,
    simulated,
    start_zmq_collector,
    until,
)
from conserved import disagreements
from patience import PATIENCE

from actorflow.engine.transport.base import Channel, ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected, PeerLost, ProtocolError
from actorflow.engine.transport.installed import find
from actorflow.errors import (
    AbortedError,
    InvalidArgumentError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from actorflow.testing import transport_contract
from actorflow.testing.transport_contract import ends, steps, tokens
from actorflow.transports.channel import BaseChannel
from actorflow.transports.protocol import handshake
from actorflow.transports.protocol.events import MessageReceived
from actorflow.transports.shm.channel import ShmChannel
from actorflow.transports.simulated import SIMULATED
from actorflow.transports.zmq.auth import Keys
from actorflow.transports.zmq.endpoint import ZmqEndpoint

WIRES = tuple(kind for kind in KINDS if kind != "local")
PROCESSES = tuple(kind for kind in WIRES if kind != "simulated")  # test_simulated_transport.py has deaths of its own
BY_BYTES = ("zmq", "curve", "shm-without-arena", "simulated")  # the others hand memory over


def _simulated(
    me: ProcessIdentity, *, listen: str | None, advertise: str | None, allowed: frozenset[str], **options: Any
) -> Any:
    return simulated(me, listen=listen is not None, **options)


SUBJECTS = (
    *(one for kind in ("local", "zmq", "shm") for one in transport_contract.subjects_of(find(kind))),
    transport_contract.Subject(SIMULATED, open=_simulated),
)


@pytest.fixture(autouse=True, scope="module")
def _collector() -> None:
    start_zmq_collector()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def got(work: Any) -> Any:
    with anyio.fail_after(PATIENCE):
        return await work


def large(size: int = 3_000_001) -> Any:
    return np.arange(size, dtype=np.int32)


@transport_contract.parametrize(*SUBJECTS)
async def test_f03_f49_f51_f60_f62_f63_f65_every_transport_keeps_the_contract(
    subject: transport_contract.Subject, rule: transport_contract.Rule
) -> None:
    """All that can be tried from outside is in the suite that other packages run too; what follows looks inside."""
    await transport_contract.try_rule(subject, rule)


def test_f51_each_rule_of_the_contract_is_tried() -> None:
    made = [
        thing
        for module in (ends, steps, tokens)
        for thing in vars(module).values()
        if isinstance(thing, transport_contract.Rule)
    ]
    assert sorted(map(str, made)) == sorted(map(str, transport_contract.RULES))


def test_f51_a_transport_with_an_arena_that_encloses_nothing_breaks_the_contract(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, with_arena = transport_contract.subjects_of(find("shm"))
    rule = steps.what_is_enclosed_in_a_message_arrives_with_it
    transport_contract.run(with_arena, rule)
    monkeypatch.setattr(ShmChannel, "enclosed", BaseChannel.enclosed)
    with pytest.raises(transport_contract.Broken, match="gives nothing for a tensor in the arena"):
        transport_contract.run(with_arena, rule)


def test_f51_a_transport_that_breaks_the_contract_is_named_by_the_first_rule_that_it_breaks() -> None:
    zmq = find("zmq")

    class Rounding(ZmqEndpoint):
        """Its messages lose their fractions."""

        def accepted(self, channel: BaseChannel) -> None:
            receive = channel.core.receive
            channel.core.receive = lambda frame: [  # type: ignore[method-assign]
                MessageReceived(1, event.size) if isinstance(event, MessageReceived) and event.message == 1.5 else event
                for event in receive(frame)
            ]
            super().accepted(channel)

    with pytest.raises(transport_contract.Broken) as found:
        asyncio.run(transport_contract.check(replace(zmq, open=Rounding)))
    said = str(found.value)
    assert said.startswith(
        "The transport zmq breaks the rule messages_arrive_as_they_are:\n  A message of msgpack's types"
    )
    assert said.endswith("It was found that a message: 1 was found, but 1.5 expected")


# ---- tokens


async def test_f90_lossy_edges_cut_float32_to_16_bits_and_nothing_else(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = (random.standard_normal(50_000) * 10.0 ** random.integers(-30, 30, 50_000)).astype(np.float32)
    values[:3] = np.array([0x7F800001, 0x7F800000, 0x80000000], np.uint32).view(np.float32)  # a NaN, infinity, -0
    exact = random.standard_normal(50_000)
    async with pair(kind) as both:
        both.client.send(1, 1, b"", values, lossy=True)
        both.client.send(2, 1, b"", exact, lossy=True)
        arrived, untouched = await got(both.server.recv(1, 1)), await got(both.server.recv(2, 1))
        assert bits(untouched) == bits(exact)
        assert not (arrived.view(np.uint32) & 0xFFFF).any()
        assert np.isnan(arrived[0]) and np.isinf(arrived[1]) and np.signbit(arrived[2])
        assert (np.abs(arrived[3:] - values[3:]) < np.abs(values[3:]) * 2**-7).all()
        if kind in ("zmq", "curve", "simulated"):
            sent = both.client.statistics().sent
            assert sent[1].bytes == 2 * values.size and sent[2].bytes == 8 * values.size
        del arrived, untouched


# ---- steps and epochs


async def test_f65_an_abort_amid_a_large_tensor_stops_it_and_lets_its_memory_go(kind: str) -> None:
    made: list[weakref.ref[Any]] = []

    def allocate(edge: int, shape: tuple[int, ...], dtype: Any) -> Any:
        array = np.empty(shape, dtype)
        made.append(weakref.ref(array))
        return array

    async with pair(kind, limits=SMALL, allocate=allocate) as both:
        both.client.send(1, 1, b"", large())
        both.server.abort(1, AbortedError("enough"))
        both.client.send(1, 2, b"", large())
        assert bits(await got(both.server.recv(1, 2))) == bits(large())
        await until(lambda: not both.client.statistics().queued_tensors)
        both.server.finish(2)
        await until(lambda: gc.collect() is None or not any(array() is not None for array in made))


async def test_f65_an_error_that_is_remembered_holds_none_of_the_frames_it_came_through(kind: str) -> None:
    async with pair(kind) as both:

        def kernel() -> weakref.ref[Any]:
            array = np.zeros(5)
            try:
                raise InvalidArgumentError("A kernel failed.", hint="Feed other values.")
            except InvalidArgumentError as error:
                both.client.abort(1, error)
            return weakref.ref(array)

        alive = kernel()
        gc.collect()
        assert alive() is None
        with pytest.raises(InvalidArgumentError, match=r"A kernel failed.\n  Feed other values."):
            await got(both.client.recv(1, 1))


# ---- messages


# ---- cancellation


async def test_f65_a_message_that_comes_as_its_reader_is_cancelled_is_not_lost(kind: str) -> None:
    async with pair(kind) as both:
        for number in range(20):
            reader = asyncio.ensure_future(both.server.receive())
            await asyncio.sleep(0)
            assert isinstance(both.server, BaseChannel)
            both.server.handle([MessageReceived(number, 0)])  # wakes the reader, which has not run yet
            reader.cancel()
            await asyncio.wait([reader])
            assert reader.cancelled()
            assert await got(both.server.receive()) == number


async def test_f65_closing_an_endpoint_ends_the_connects_that_are_under_way() -> None:
    here = endpoint("zmq", CLIENT, listen=False)
    ended: list[BaseException] = []

    async def connect() -> None:
        try:
            await here.connect("tcp://127.0.0.1:1")
        except anyio.ClosedResourceError as error:
            ended.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(connect)
        await until(lambda: here.starting)
        here.close()
    assert len(ended) == 1
    with pytest.raises(anyio.ClosedResourceError):
        await here.connect("tcp://127.0.0.1:1")


# ---- ends


@pytest.mark.parametrize("wire", PROCESSES)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
async def test_f63_the_death_of_a_peer_ends_its_channel_and_leaves_nothing(wire: str, how: signal.Signals) -> None:
    here = endpoint(wire, CLIENT, listen=False)
    shared = "channel.send(2, 1, b'', np.ones(500_000)); channel.send(3, 1, b'', None); await channel.wait_closed()"
    try:
        async with child(wire, then=shared) as (process, address):
            channel = await here.connect(address, timeout=PATIENCE)
            kept = await got(channel.recv(2, 1))
            for step in range(2, 12):
                channel.send(1, step, b"", large())
            os.kill(process.pid, how)
            with pytest.raises(PeerLost, match=r"has ended|hangs|reset"):
                await got(channel.recv(1, 1))
            assert isinstance(await got(channel.wait_closed()), PeerLost)
            assert (kept == 1).all(), "what came from the dead stays readable"
            del kept
    finally:
        here.close()


# ---- credit and limits


@pytest.mark.parametrize("kind", BY_BYTES)
async def test_f51_a_sender_without_credit_waits_and_goes_on(kind: str) -> None:
    async with pair(kind, limits=SMALL) as both:
        assert isinstance(both.server, BaseChannel)
        granted: list[int] = []
        put = both.server.core.outbox.put_urgent
        both.server.core.outbox.put_urgent = granted.append  # type: ignore[assignment, method-assign]
        for edge in range(8):
            both.client.send(edge, 1, b"", large(50_000))
        await until(lambda: both.client.statistics().credit < 140_000)
        await checkpoint()
        assert both.client.statistics().queued_tensors, "the window is used up"
        both.client.post("overtakes")
        assert await got(both.server.receive()) == "overtakes"
        with anyio.move_on_after(0.01) as scope:
            await both.client.flush()
        assert scope.cancelled_caught
        both.server.core.outbox.put_urgent = put  # type: ignore[method-assign]
        for record in granted:
            put(record)  # type: ignore[arg-type]
        both.server.wake()
        await got(both.client.flush())
        for edge in range(8):
            assert bits(await got(both.server.recv(edge, 1))) == bits(large(50_000))


@pytest.mark.parametrize("wire", WIRES)
async def test_f51_all_credit_and_all_lent_memory_comes_back_whatever_was_sent(wire: str, seed: int) -> None:
    chance = random.Random(seed)
    async with pair(wire, limits=SMALL) as both:
        ends = [both.client, both.server]

        async def take(end: Channel, messages: int) -> None:
            for number in range(messages):
                assert (await got(end.receive()))[0] == number

        for step in range(20):
            tokens = [[chance.choice((0, 1, 100, 5_000, 40_000)) for _ in range(chance.randint(0, 6))] for _ in ends]
            messages = [[chance.choice((0, 50, 40_000)) for _ in range(chance.randint(0, 4))] for _ in ends]
            dropped = chance.choice(("", "aborted", "never taken", "of a former epoch"))
            async with anyio.create_task_group() as group:
                for end, other, sizes, texts in zip(ends, ends[::-1], tokens, messages):
                    for edge, size in enumerate(sizes):
                        end.send(edge, step, b"tag" * edge, np.full(size, edge, np.int32))
                    for number, size in enumerate(texts):
                        end.post([number, b"m" * size])
                    group.start_soon(take, other, len(texts))
                if dropped == "of a former epoch":
                    for end in ends:
                        end.set_epoch(end.epoch + 1)
                for other, sizes in zip(ends[::-1], tokens):
                    if dropped == "aborted":
                        other.abort(step, AbortedError("It is over."))
                    elif not dropped:
                        for edge, size in enumerate(sizes):
                            assert (await got(other.recv(edge, step, b"tag" * edge))).size == size
        assert isinstance(both.client, BaseChannel) and isinstance(both.server, BaseChannel)
        cores = both.client.core, both.server.core
        for end in ends:
            for step in range(20):
                end.finish(step)
        try:
            await until(lambda: not disagreements(*cores))
            await until(lambda: not any(end.statistics().handles_out for end in ends))
        except TimeoutError:
            assert disagreements(*cores) == [] and [core.sender.leases for core in cores] == [{}, {}]
            raise


@pytest.mark.parametrize("wire", BY_BYTES)
async def test_f51_memory_that_is_refused_fails_the_step_and_not_the_channel(wire: str) -> None:
    def allocate(edge: int, shape: tuple[int, ...], dtype: Any) -> Any:
        if edge == 1:
            raise ResourceExhaustedError("The device has a memory budget of 10 bytes.")
        return np.empty(shape, dtype)

    async with pair(wire, limits=SMALL, allocate=allocate) as both:
        both.client.send(1, 1, b"", large(200_000))
        with pytest.raises(ResourceExhaustedError, match="budget of 10 bytes"):
            await got(both.server.recv(1, 1))
        with pytest.raises(ResourceExhaustedError, match="budget of 10 bytes"):
            await got(both.client.recv(5, 1))
        both.client.send(2, 2, b"", large(200_000))
        assert bits(await got(both.server.recv(2, 2))) == bits(large(200_000))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n" + b"x" * 64, "does not speak this protocol"),
        (b"actf", "cut off"),
        (b"actf\x07" + bytes(59), "version 7"),
        (b"actf\x01\xff" + bytes(58), "kind 255"),
        (b"actf\x01\x03" + bytes(50) + b"\xff\xff\xff\x7f" + bytes(4), "announces"),
    ],
    ids=["magic", "short", "version", "kind", "length"],
)
@pytest.mark.parametrize("wire", KINDS)
async def test_f62_what_is_no_record_ends_the_channel_with_a_reason(wire: str, frame: bytes, message: str) -> None:
    async with pair(wire) as both:
        assert isinstance(both.client, BaseChannel)
        frames = [frame]
        both.client.core.outbox.next_control = lambda: frames.pop() if frames else None  # type: ignore[method-assign]
        both.client.post(1)
        error = await got(both.server.wait_closed())
        assert isinstance(error, ProtocolError) and message in str(error)
        told = await got(both.client.wait_closed())
        assert isinstance(told, ProtocolError) and message in str(told)


# ---- who is there


async def test_f62_another_version_is_named_with_both_sides_values(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = endpoint(kind, SERVER, listen=True, accept=lambda channel: pytest.fail("accepted"))
    here = endpoint(kind, CLIENT, listen=False)
    real = handshake.make_hello
    monkeypatch.setattr(
        "actorflow.transports.channel.make_hello",
        lambda me, *rest: replace(real(me, *rest), versions=(3, 4)) if me == CLIENT else real(me, *rest),
    )
    try:
        with pytest.raises(HandshakeRejected, match=r"task:0 speaks versions 1 to 1 .*task:0 versions 3 to 4"):
            await here.connect(there.address, timeout=PATIENCE)
    finally:
        here.close()
        there.close()


async def test_f96_beats_carry_both_clocks(kind: str) -> None:
    def clock() -> tuple[int, int]:
        return 1_000_000_000_000, 5_000_000_000_000

    def ahead() -> tuple[int, int]:
        return 1_003_000_000_000, 4_999_000_000_000

    async with pair(kind, clock=clock, server_options={"clock": ahead}) as both:
        both.there.beat()
        await until(lambda: both.client.core.beats._echo)  # type: ignore[attr-defined]
        both.here.beat()
        await until(lambda: both.server.statistics().round_trip is not None)
        found = both.server.statistics()
        assert (found.round_trip, found.clock_offset, found.wall_offset) == (0, -3, 1)


async def test_f60_statistics_tell_which_tokens_were_wanted_before_they_came(kind: str) -> None:
    async with pair(kind) as both:
        found: list[Any] = []
        both.server.expect(4, 0, b"", lambda token, error: found.append(token))
        both.client.send(4, 0, b"", np.zeros(2))
        await until(lambda: found)
        both.client.send(4, 1, b"", np.zeros(2))
        await until(lambda: both.server.waiting_tokens() == [1])
        assert await got(both.server.recv(4, 1)) is not None
        received = both.server.statistics().received[4]
        assert (received.tokens, received.waits) == (2, 1) and received.wait_seconds >= 0


# ---- what only some do


async def test_f51_zmq_refuses_to_listen_beyond_this_machine_without_keys() -> None:
    for host in ("0.0.0.0", "*", "192.0.2.1", "[::]"):
        with pytest.raises(PermissionDeniedError, match="no keys"):
            ZmqEndpoint(SERVER, listen=f"tcp://{host}:0")


async def test_f51_zmq_says_how_far_it_came_to_a_peer_that_is_not_there() -> None:
    here = endpoint("zmq", CLIENT, listen=False)
    progress: list[str] = []
    try:
        with pytest.raises(UnavailableError, match="as far as: resolved"):
            await here.connect("tcp://127.0.0.1:1", timeout=0.1, progress=progress.append)
        with pytest.raises(ValueError, match="tcp://host:port"):
            await here.connect("127.0.0.1:1")
        assert progress == ["resolved"]
    finally:
        here.close()


async def test_f51_zmq_waits_for_a_peer_that_starts_later() -> None:
    first = endpoint("zmq", SERVER, listen=True)
    address = first.address
    first.close()
    here = endpoint("zmq", CLIENT, listen=False)
    channels: list[Any] = []

    async def connect() -> None:
        channels.append(await here.connect(address, timeout=PATIENCE))

    async with anyio.create_task_group() as group:
        group.start_soon(connect)
        await anyio.sleep(0.05)
        there = ZmqEndpoint(SERVER, listen=address, accept=channels.append)
    assert len(channels) == 2
    here.close()
    there.close()


@pytest.mark.parametrize("case", ["not allowed", "wrong server key", "no keys here", "no keys there"])
async def test_f51_zmq_names_a_wrong_key(case: str) -> None:
    other = Keys.make()
    theirs, mine, key = KEYS, KEYS, None
    if case == "not allowed":
        mine, key = other, KEYS.public
    elif case == "wrong server key":
        key = other.public
    there = ZmqEndpoint(SERVER, listen="tcp://127.0.0.1:0", keys=None if case == "no keys there" else theirs)
    here = ZmqEndpoint(CLIENT, keys=None if case == "no keys here" else mine)
    try:
        with pytest.raises(HandshakeRejected, match="refuses the connection"):
            await here.connect(there.address, key=key, timeout=PATIENCE)
    finally:
        here.close()
        there.close()


def test_f51_secret_keys_show_nowhere() -> None:
    assert KEYS.secret not in repr(KEYS) and KEYS.secret not in str(KEYS)


async def test_f51_zmq_a_silent_peer_is_lost_by_its_heartbeat() -> None:
    here = endpoint("zmq", CLIENT, listen=False, heartbeat_seconds=0.1)
    try:
        async with child("zmq") as (process, address):
            channel = await here.connect(address, timeout=PATIENCE)
            os.kill(process.pid, signal.SIGSTOP)
            assert isinstance(await got(channel.wait_closed()), PeerLost)
    finally:
        here.close()
