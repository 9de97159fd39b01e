"""What every channel promises, whatever carries it: order, ends, credit, limits, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
import pytest
from anyio.lowlevel import checkpoint
from channels import CLIENT, KEYS, KINDS, SERVER, SMALL, Pair, bits, child, endpoint, pair, start_zmq_collector, until
from conserved import disagreements
from patience import PATIENCE

from actorflow import dtypes
from actorflow.errors import (
    AbortedError,
    InvalidArgumentError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
)
from actorflow.runtime.tokens import DEAD
from actorflow.transport.base import Channel
from actorflow.transport.errors import HandshakeRejected, PeerLost, ProtocolError
from actorflow.transports.channel import BaseChannel
from actorflow.transports.protocol import handshake
from actorflow.transports.protocol.events import Received
from actorflow.transports.zmq.auth import Keys
from actorflow.transports.zmq.endpoint import ZmqEndpoint

WIRES = tuple(kind for kind in KINDS if kind != "local")
PROCESSES = tuple(kind for kind in WIRES if kind != "simulated")  # test_simulated_transport.py has deaths of its own
BY_BYTES = ("zmq", "curve", "shm-without-arena", "simulated")  # the others hand memory over


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


VALUES: dict[str, Any] = {
    **{
        dtype.name: np.arange(12).reshape(3, 4).astype(dtype.numpy_dtype)
        for dtype in dtypes.ALL
        if dtype not in (dtypes.string, dtypes.bool)
    },
    "bool": np.array([[True, False], [False, True]]),
    "strings": np.array([[b"\x00\xff", b""], [b"a" * 1000, b"\x00"]], object),
    "large strings": np.array([bytes([i % 256]) * i for i in range(400)], object),
    "one string": np.array(b"a\0", object),
    "scalar": np.float64(1.5),
    "scalar array": np.array(7, np.int16),
    "zero-size": np.zeros((3, 0, 5), np.float32),
    "zero strings": np.zeros((0, 2), object),
    "nan": np.array([np.nan, np.inf, -0.0, 1e-45], np.float32),
    "columns": np.asfortranarray(np.arange(100_000.0).reshape(100, 1000)),
    "every second": np.arange(60_000, dtype=np.int16)[::2],
    "big-endian": np.arange(5, dtype=">i4"),
    "large": large(),
    "large bfloat16": np.arange(100_000).astype(dtypes.bfloat16.numpy_dtype).reshape(10, -1),
}


# ---- tokens


@pytest.mark.parametrize("name", VALUES)
async def test_f03_f51_every_tensor_arrives_bit_by_bit_and_read_only(kind: str, name: str) -> None:
    value = VALUES[name]
    async with pair(kind) as both:
        both.client.send(3, 1, b"", value)
        arrived = await got(both.server.recv(3, 1))
        expected = value if kind == "local" else np.asarray(value).astype(np.asarray(value).dtype.newbyteorder("="))
        assert bits(arrived) == bits(expected)
        assert not isinstance(arrived, np.ndarray) or kind == "local" or not arrived.flags.writeable
        del arrived


@pytest.mark.parametrize("size", [10, 5_000, 30_000, 1_000_000])
async def test_f51_what_was_sent_before_the_end_of_a_step_arrives(kind: str, size: int) -> None:
    async with pair(kind) as both:
        both.client.send(3, 1, b"", large(size))
        both.client.send(4, 1, b"", large(size))
        both.client.finish(1)
        assert bits(await got(both.server.recv(4, 1))) == bits(await got(both.server.recv(3, 1))) == bits(large(size))


@pytest.mark.parametrize("token", [DEAD, None], ids=repr)
async def test_f51_dead_tokens_and_control_edges_arrive(kind: str, token: Any) -> None:
    async with pair(kind) as both:
        both.server.send(1, 1, b"", token)
        assert await got(both.client.recv(1, 1)) is token


async def test_f51_a_recv_may_come_before_its_send(kind: str) -> None:
    async with pair(kind) as both:
        found: list[Any] = []
        async with anyio.create_task_group() as group:

            async def wait() -> None:
                found.append(await got(both.server.recv(1, 1, b"frame:3")))

            group.start_soon(wait)
            await checkpoint()
            both.client.send(1, 1, b"frame:4", np.int32(4))
            both.client.send(1, 1, b"frame:3", np.int32(3))
        assert found == [3]
        assert await got(both.server.recv(1, 1, b"frame:4")) == 4


async def test_f51_tokens_of_an_edge_and_messages_keep_their_order(kind: str) -> None:
    async with pair(kind, limits=SMALL) as both:
        order: list[int] = []
        for step in range(300):
            both.server.expect(1, step, b"", lambda token, error: order.append(int(token)))
            both.client.send(1, step, b"", np.int32(step))
            both.client.post([step, b"x" * (step * 7)])
        for step in range(300):
            assert await got(both.server.receive()) == [step, b"x" * (step * 7)]
        await until(lambda: len(order) == 300)
        assert order == list(range(300))


@pytest.mark.parametrize("token", [object(), [np.zeros(2)]], ids=["handle", "list"])
@pytest.mark.parametrize("wire", WIRES)
async def test_f51_what_is_no_tensor_does_not_leave_its_process(wire: str, token: Any) -> None:
    async with pair(wire) as both:
        with pytest.raises(UnimplementedError, match="only tensors"):
            both.client.send(1, 1, b"", token)


@pytest.mark.parametrize("edge", [-1, 1 << 32])
@pytest.mark.parametrize("wire", WIRES)
async def test_f51_an_edge_that_fits_no_record_is_refused_where_it_is_sent(wire: str, edge: int) -> None:
    async with pair(wire) as both:
        with pytest.raises(ValueError, match="do not fit"):
            both.client.send(edge, 1, b"", np.zeros(3))


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


async def test_f49_a_second_token_under_a_key_ends_the_step_at_both_ends(kind: str) -> None:
    async with pair(kind) as both:
        both.client.send(1, 1, b"", np.zeros(2))
        both.client.send(1, 1, b"", np.zeros(2))
        await until(
            lambda: both.server.statistics().received.get(1) and both.server.statistics().received[1].tokens == 2
        )
        with pytest.raises(AbortedError, match="second token"):
            await got(both.server.recv(1, 1))
        with pytest.raises(AbortedError, match="second token"):
            await got(both.client.recv(9, 1))


async def test_f49_a_second_recv_of_a_key_is_refused(kind: str) -> None:
    async with pair(kind) as both:
        both.client.send(1, 1, b"", np.int32(1))
        assert await got(both.server.recv(1, 1)) == 1
        with pytest.raises(AbortedError, match="received twice"):
            await got(both.server.recv(1, 1))


# ---- steps and epochs


async def test_f65_an_abort_wakes_those_who_wait_at_both_ends(kind: str) -> None:
    async with pair(kind) as both:
        errors: list[BaseException | None] = []
        both.server.expect(1, 7, b"", lambda token, error: errors.append(error))
        both.client.expect(2, 7, b"", lambda token, error: errors.append(error))
        failure = InvalidArgumentError("A kernel failed.", hint="Feed other values.")
        both.client.abort(7, failure)
        assert errors == [failure]
        await until(lambda: len(errors) == 2)
        assert isinstance(errors[1], InvalidArgumentError)
        assert "A kernel failed." in str(errors[1]) and "/job:worker/task:0" in str(errors[1])
        both.client.send(3, 7, b"", np.zeros(3))
        both.client.send(3, 8, b"", np.int32(8))
        assert await got(both.server.recv(3, 8)) == 8, "other steps go on"
        with pytest.raises(InvalidArgumentError):
            await got(both.server.recv(3, 7))


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


async def test_f65_what_arrives_after_the_end_of_a_step_is_dropped_and_held_by_nobody(kind: str) -> None:
    async with pair(kind) as both:
        both.server.finish(5)
        value = large(100_000)
        alive = weakref.ref(value)
        both.client.send(1, 5, b"", value)
        del value
        both.client.send(1, 6, b"", None)
        await got(both.server.recv(1, 6))
        await until(lambda: gc.collect() is None or alive() is None)
        await until(lambda: both.server.statistics().dropped_old == 1)


async def test_f62_tokens_of_a_former_epoch_are_dropped_and_those_of_the_next_are_kept(kind: str) -> None:
    async with pair(kind) as both:
        errors: list[BaseException | None] = []
        both.server.expect(1, 1, b"", lambda token, error: errors.append(error))
        both.there.set_epoch(2)
        assert isinstance(errors[0], AbortedError) and "epoch 2" in str(errors[0])
        both.client.send(1, 1, b"", np.int32(1))
        both.client.send(1, 2, b"", large(50_000))
        both.here.set_epoch(3)
        both.client.send(1, 1, b"", np.int32(3))
        both.client.post("sent")
        assert await got(both.server.receive()) == "sent"
        both.there.set_epoch(3)
        assert await got(both.server.recv(1, 1)) == 3
        with pytest.raises(ValueError, match="cannot follow"):
            both.there.set_epoch(2)


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


@pytest.mark.parametrize(
    "message", [None, 0, -(2**63), 2**64 - 1, 1.5, "ü", b"\0", [1, [2]], {"a": {1: b""}}, [], b"x" * 3_000_000], ids=str
)
async def test_f51_messages_arrive_as_they_are(kind: str, message: Any) -> None:
    async with pair(kind, limits=SMALL) as both:
        both.client.post(message)
        assert await got(both.server.receive()) == message


async def test_f51_a_listener_gets_what_is_there_and_what_comes(kind: str) -> None:
    async with pair(kind) as both:
        both.client.post(1)
        await until(lambda: both.server._messages)  # type: ignore[attr-defined]
        found: list[Any] = []
        both.client.post(2)
        both.server.listen(found.append)
        both.client.post(3)
        await until(lambda: len(found) == 3)
        assert found == [1, 2, 3]


async def test_f51_a_listener_that_fails_does_not_stop_the_next_message(kind: str) -> None:
    faults: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context["exception"]))
    async with pair(kind) as both:
        found: list[Any] = []

        def listen(message: Any) -> None:
            found.append(message)
            if message == 1:
                raise KeyError(message)

        both.server.listen(listen)
        both.client.post(1)
        both.client.post(2)
        await until(lambda: found == [1, 2])
    assert [type(fault) for fault in faults] == [KeyError]


async def test_f51_messages_that_nobody_takes_hold_the_sender_up(kind: str) -> None:
    limits = replace(SMALL, queued_messages=1 << 20)
    async with pair(kind, limits=limits) as both:
        posted = 0
        with pytest.raises(ResourceExhaustedError, match="bytes of messages wait"):
            for _ in range(1000):
                both.client.post(b"x" * 10_000)
                posted += 1
                await checkpoint()
        assert posted * 10_000 < (1 << 20) + 3 * SMALL.control_window
        both.client.send(1, 1, b"", np.int32(5))
        assert await got(both.server.recv(1, 1)) == 5, "tensors go on"
        for _ in range(posted):
            assert len(await got(both.server.receive())) == 10_000
        await got(both.client.flush())


async def test_f51_a_message_that_is_too_long_is_refused_where_it_is_posted(kind: str) -> None:
    async with pair(kind, limits=replace(SMALL, message=1000)) as both:
        with pytest.raises(ResourceExhaustedError, match="1,000 are the most"):
            both.client.post(b"x" * 1001)
        with pytest.raises(ValueError, match="4,096 are the most"):
            both.client.post([0] * 4097)
        with pytest.raises(TypeError):
            both.client.post(object())


async def test_f51_only_one_task_may_wait_for_messages(kind: str) -> None:
    async with pair(kind) as both:
        async with anyio.create_task_group() as group:
            group.start_soon(both.server.receive)
            await checkpoint()
            with pytest.raises(anyio.BusyResourceError):
                await got(both.server.receive())
            with pytest.raises(anyio.BusyResourceError):
                both.server.listen(print)
            group.cancel_scope.cancel()


# ---- cancellation


WAITS: dict[str, Callable[[Pair], Any]] = {
    "recv": lambda both: both.server.recv(1, 1),
    "receive": lambda both: both.server.receive(),
    "flush": lambda both: both.client.flush(),
    "wait_closed": lambda both: both.server.wait_closed(),
}


@pytest.mark.parametrize("wait", WAITS)
async def test_f65_every_wait_can_be_cancelled_and_loses_nothing(kind: str, wait: str) -> None:
    async with pair(kind, limits=SMALL) as both:
        if wait == "flush":
            for _ in range(200):
                both.client.post(b"x" * 10_000)
        with anyio.move_on_after(0.01) as scope:
            await WAITS[wait](both)
        assert scope.cancelled_caught
        both.client.send(1, 2, b"", np.int32(2))
        assert await got(both.server.recv(1, 2)) == 2
        if wait != "flush":
            both.client.post("next")
            assert await got(both.server.receive()) == "next"


async def test_f65_a_message_that_comes_as_its_reader_is_cancelled_is_not_lost(kind: str) -> None:
    async with pair(kind) as both:
        for number in range(20):
            reader = asyncio.ensure_future(both.server.receive())
            await asyncio.sleep(0)
            assert isinstance(both.server, BaseChannel)
            both.server.handle([Received(number, 0)])  # wakes the reader, which has not run yet
            reader.cancel()
            await asyncio.wait([reader])
            assert reader.cancelled()
            assert await got(both.server.receive()) == number


@pytest.mark.parametrize("wire", WIRES)
async def test_f65_connect_can_be_cancelled_and_leaves_nothing(wire: str) -> None:
    there = endpoint(wire, SERVER, listen=True)
    here = endpoint(wire, CLIENT, listen=False)
    with anyio.move_on_after(0):
        await here.connect(there.address)
        pytest.fail("connected without a turn of the loop")
    assert not here.channels
    here.close()
    there.close()


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


async def test_f51_a_channel_that_is_closed_in_order_delivers_all_that_was_sent(kind: str) -> None:
    async with pair(kind, limits=SMALL) as both:
        both.client.send(1, 1, b"", large())
        both.client.send(2, 1, b"", np.int32(2))
        for number in range(100):
            both.client.post([number, b"y" * 3000])

        async def read() -> None:
            for number in range(100):
                assert (await got(both.server.receive()))[0] == number
            with pytest.raises(anyio.EndOfStream):
                await got(both.server.receive())

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await both.client.aclose()
        assert isinstance(await got(both.server.wait_closed()), anyio.EndOfStream)
        assert bits(await got(both.server.recv(1, 1))) == bits(large())
        assert await got(both.server.recv(2, 1)) == 2
        with pytest.raises(PeerLost, match="has closed the channel"):
            await got(both.server.recv(3, 1))
        with pytest.raises(PeerLost, match="has closed the channel"):
            both.server.post(1)
        with pytest.raises(anyio.ClosedResourceError):
            both.client.post(1)
        await both.client.aclose()
        both.client.close()


async def test_f51_closing_wakes_all_who_wait_here_and_there(kind: str) -> None:
    async with pair(kind, limits=SMALL) as both:
        found: dict[str, BaseException] = {}

        async def wait(name: str, work: Any) -> None:
            try:
                await got(work)
            except Exception as error:
                found[name] = error

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
        assert isinstance(found["recv here"], anyio.ClosedResourceError)
        assert isinstance(found["receive here"], anyio.ClosedResourceError)
        assert isinstance(found["flush here"], anyio.ClosedResourceError)
        assert isinstance(found["recv there"], PeerLost) and isinstance(found["recv there"], anyio.BrokenResourceError)
        assert isinstance(found["recv there"], UnavailableError)
        assert isinstance(await got(both.server.wait_closed()), PeerLost)
        assert not both.here.channels and not both.there.channels


async def test_f51_closing_an_endpoint_ends_all_its_channels(kind: str) -> None:
    async with pair(kind) as both:
        other = await both.here.connect(both.there.address)
        await both.here.aclose()
        await got(both.server.wait_closed())
        await until(lambda: not both.there.channels)
        for channel in (both.client, other):
            with pytest.raises(anyio.ClosedResourceError):
                channel.send(1, 1, b"", None)


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


async def test_f63_many_channels_come_and_go_without_a_trace(kind: str) -> None:
    async with pair(kind) as both:
        before = len(os.listdir("/proc/self/fd"))
        accepted: list[Channel] = []
        both.there.accept = accepted.append
        for number in range(5):
            channel = await both.here.connect(both.there.address)
            channel.send(1, number, b"", large(30_000))
            channel.post(number)
            await channel.aclose()
            accepted.pop().close()
        await until(lambda: len(both.there.channels) == 1)
        await until(lambda: len(os.listdir("/proc/self/fd")) <= before)


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


@pytest.mark.parametrize("wire", WIRES)
async def test_f51_a_tensor_over_the_limit_ends_the_channel_before_it_takes_memory(wire: str) -> None:
    options = {"limits": replace(SMALL, tensor=100_000)}
    async with pair(wire, server_options=options) as both:
        both.client.send(1, 1, b"", large(100_000))
        error = await got(both.client.wait_closed())
        assert isinstance(error, ProtocolError) and "100,000 are the most" in str(error)
        assert isinstance(await got(both.server.wait_closed()), ResourceExhaustedError)


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


async def test_f62_both_sides_know_who_is_there(kind: str) -> None:
    async with pair(kind) as both:
        assert both.client.peer.identity == SERVER and both.client.peer.address == both.there.address
        assert both.server.peer.identity == CLIENT
        if kind == "curve":
            assert both.client.peer.key == both.server.peer.key == KEYS.public


@pytest.mark.parametrize(
    ("change", "incarnation", "message"),
    [
        ({"cluster": "other"}, None, "belongs to cluster 'cluster', /job:worker/task:0 to 'other'"),
        ({}, 0x99, "expects incarnation 0x99 of /job:ps/task:0, but this is 0x51: it was started again"),
    ],
    ids=["cluster", "incarnation"],
)
async def test_f62_who_does_not_belong_here_is_rejected(
    kind: str, change: dict[str, Any], incarnation: int | None, message: str
) -> None:
    there = endpoint(kind, SERVER, listen=True, accept=lambda channel: pytest.fail("accepted"))
    here = endpoint(kind, replace(CLIENT, **change), listen=False)
    try:
        with pytest.raises(HandshakeRejected, match=message):
            await here.connect(there.address, incarnation, timeout=PATIENCE)
    finally:
        here.close()
        there.close()


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


async def test_f62_a_channel_that_nobody_wants_is_closed(kind: str) -> None:
    there, here = endpoint(kind, SERVER, listen=True), endpoint(kind, CLIENT, listen=False)
    try:
        with pytest.raises(HandshakeRejected, match="/job:ps/task:0 takes no channels"):
            await here.connect(there.address, timeout=PATIENCE)
        assert not there.channels and not here.channels
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


async def test_f60_statistics_tell_what_each_edge_carried(kind: str) -> None:
    async with pair(kind) as both:
        for step in range(3):
            both.client.send(4, step, b"", np.zeros(1000))
            await got(both.server.recv(4, step))
        sent, received = both.client.statistics().sent, both.server.statistics().received
        assert sent[4].tokens == received[4].tokens == 3
        assert sent[4].bytes == received[4].bytes == (0 if kind == "local" else 24_000)


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
