"""Tokens from a GPU of one process to a GPU of another, on fakes: two processes of one `FakeHost` in this one.

`fake_cupy.py` raises where nothing says that a copy comes behind what computes the tensor, or before what overwrites it,
whichever process that is in; and it fails a test that closes or frees what another process still reads.
"""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
from channels import CLIENT, SERVER, child, endpoint, pair, start_zmq_collector, until
from clusters import servers
from fake_cupy import FakeCupy, FakeHost, Race
from patience import PATIENCE

import actorflow as af
from actorflow.base.registry import plugins
from actorflow.devices.cuda import device as cuda
from actorflow.devices.cuda import sharing as cuda_sharing
from actorflow.devices.cuda.device import CudaDevice
from actorflow.engine.device.sharing import PeerMemory, PeerTensor, SharedTensor
from actorflow.engine.transport.errors import ProtocolError
from actorflow.errors import AbortedError, InvalidArgumentError, UnavailableError

plugins.load_kernels()

pytestmark = pytest.mark.real_memory
NAME = "/job:worker/replica:0/task:{}/device:GPU:0"
Make = Callable[..., FakeCupy]


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


@pytest.fixture
def make(seed: int) -> Iterator[Make]:
    """Makes processes of one host; what their GPUs found fails the test at its end."""
    host, made = FakeHost(), []

    def one(**options: Any) -> FakeCupy:
        made.append(FakeCupy(seed=seed, host=host, **options))
        return made[-1]

    yield one
    for gpu in made:
        gpu.close()
        assert not gpu.faults, gpu.faults


class Two:
    """A sender and a receiver, and borders as a channel would have them."""

    def __init__(self, make: Make, **options: Any) -> None:
        self.gpus = make(manual=True, **options), make(manual=True)
        self.sender, self.receiver = (CudaDevice(NAME.format(i), cupy=g) for i, g in enumerate(self.gpus))
        self.here, self.there = PeerMemory(), PeerMemory()
        self.given_back: list[Any] = []

    def computed(self, value: Any) -> Any:
        """An array that the sender's GPU is to compute: `value` and 1."""
        with self.sender.launching("a kernel"):
            x = self.sender.xp.array(np.asarray(value).tolist(), np.float32)
            return x + np.float32(1)

    def carry(self, shared: SharedTensor) -> PeerTensor:
        """The token that a channel makes of one. It holds the sender's part until the receiver's is gone."""
        token = PeerTensor(shared.shape, shared.dtype, shared.nbytes, shared.description, shared.offset, self.there)
        weakref.finalize(token, self.given_back.append, 1)
        weakref.finalize(token, lambda held: held.clear(), [shared.keep])
        return token

    def sent(self, array: Any) -> Any:
        """The copy of an array at the receiver, on its way."""
        shared = self.sender.share(array, self.here)
        assert shared is not None
        return self.receiver.bring(self.carry(shared))

    def run(self) -> None:
        """Lets both GPUs do all that there is."""
        while any([gpu.step() for gpu in self.gpus]):
            pass

    def close(self) -> None:
        self.run()
        thread = self.receiver.transfers.peer._thread
        self.there.end()
        self.receiver.close()
        if thread is not None:
            thread.join(PATIENCE)
        self.here.end()
        self.here.part()
        self.sender.close()


@pytest.fixture
def two(make: Make) -> Iterator[Two]:
    made = Two(make)
    yield made
    made.close()


async def settled(condition: Callable[[], object]) -> None:
    """Waits for a thread that sleeps in the driver."""
    with anyio.fail_after(PATIENCE):
        await until(condition)


# ---- two devices


async def test_f37_f51_a_copy_begins_behind_the_kernel_of_the_other_process_and_no_host_waits(two: Two) -> None:
    array = two.computed(np.arange(3000))
    copied = two.sent(array)
    assert not two.gpus[1].step(two.receiver.transfers.peer.raw), "what is to be copied is not computed"
    with two.receiver.launching("a consumer"):
        doubled = copied * np.float32(2)
    assert not two.gpus[1].step(), "and so all that hangs on it waits"
    while two.gpus[0].step():
        pass
    assert two.gpus[1].step(two.receiver.transfers.peer.raw)
    two.run()
    np.testing.assert_array_equal(doubled.host, (np.arange(3000) + 1) * 2)
    assert not two.gpus[0]._pinned and not two.gpus[1]._pinned, "nothing went by the host"
    assert (two.sender.statistics().shared_out, two.receiver.statistics().shared_in) == (1, 1)


def test_the_fake_finds_a_copy_that_waits_for_no_event_of_the_other_process(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two.receiver.transfers.peer, "wait_event", lambda event: None)
    with pytest.raises(Race):
        two.sent(two.computed(np.arange(10)))


async def test_f51_a_tensor_is_given_back_when_its_copy_has_run(two: Two) -> None:
    array = two.computed(np.zeros(30_000))
    nbytes, memory = array.nbytes, two.sender.allocator
    copied = two.sent(array)
    before = memory.statistics().live_bytes
    del array
    gc.collect()
    assert not two.given_back and memory.statistics().live_bytes == before >= nbytes
    while two.gpus[0].step():
        pass
    assert not two.given_back, "the sender has done its part, the receiver has not"
    two.run()
    await settled(lambda: two.given_back)
    await settled(lambda: memory.statistics().live_bytes == before - nbytes)
    two.sender.allocator.allocate((30_000,), np.dtype(np.float32))
    assert copied.host[7] == 1


def test_the_fake_finds_memory_that_is_used_again_before_the_other_process_has_copied_it(two: Two) -> None:
    array = two.computed(np.zeros(30_000))
    shared = two.sender.share(array, two.here)
    assert shared is not None
    two.receiver.bring(
        PeerTensor(shared.shape, shared.dtype, shared.nbytes, shared.description, shared.offset, two.there)
    )
    del shared, array  # as a channel would do that takes no care
    with pytest.raises(Race):
        two.computed(np.ones(30_000))


async def test_f51_many_tokens_share_a_piece_of_memory_and_an_event(two: Two, seed: int) -> None:
    """Views and whole arrays, at any offset, sent in one order and copied in another."""
    draw = random.Random(seed)
    whole = two.computed(np.arange(5000))
    for _ in range(5):
        tokens = []
        for _ in range(4):
            begin = draw.randrange(4000)
            end = begin + draw.randrange(1, 1000)
            shared = two.sender.share(whole[begin:end], two.here)
            assert shared is not None
            tokens.append((begin, end, two.carry(shared)))
        del shared
        draw.shuffle(tokens)
        copies = []
        while tokens:
            begin, end, token = tokens.pop()
            copies.append((begin, end, two.receiver.bring(token)))
            del token
        two.given_back.clear()
        two.run()
        await settled(lambda: len(two.given_back) == 4)
        for begin, end, copy in copies:
            np.testing.assert_array_equal(copy.host, np.arange(begin, end) + 1)
    assert two.gpus[1].open_here == (1, 4), "one piece of memory, and an event for each token under way"
    two.there.end()
    assert two.gpus[1].open_here == (0, 0)


def test_f51_scalars_transposed_and_empty_arrays(two: Two) -> None:
    array = two.computed(np.arange(12).reshape(3, 4))
    with two.sender.launching("a kernel"):
        scalar = array.sum()
    found = [two.sent(array.T), two.sent(scalar), two.sent(array[1:, 2:])]
    two.run()
    for copy, wanted in zip(found, ((np.arange(12).reshape(3, 4) + 1).T, 78.0, [[7, 8], [11, 12]])):
        np.testing.assert_array_equal(copy.host, wanted)
        assert copy.shape == np.shape(wanted)
    assert two.sender.share(array[:0], two.here) is None, "nothing is as quick by the host"
    assert two.sender.share(np.float32(3), two.here) is None


async def test_f51_what_is_open_of_a_peer_is_closed_when_the_last_copy_has_run(two: Two) -> None:
    copied = two.sent(two.computed(np.arange(10)))
    two.there.end()
    assert two.gpus[1].open_here == (1, 1) and not two.given_back
    two.run()
    await settled(lambda: two.given_back)
    assert two.gpus[1].open_here == (0, 0), "and before it is given back"
    late = two.sent(two.computed(np.arange(20)))  # it had come before the end, and is taken after it
    two.run()
    await settled(lambda: two.gpus[1].open_here == (0, 0))
    assert copied.host[9] == 10 and late.host[19] == 20


async def test_f51_a_device_that_closes_lets_go_of_peers(two: Two) -> None:
    copied = two.sent(two.computed(np.arange(10)))
    two.receiver.close()
    assert two.gpus[1].open_here == (1, 1)
    two.run()
    await settled(lambda: two.gpus[1].open_here == (0, 0))
    assert copied.host[0] == 1


async def test_f51_memory_that_a_peer_may_have_open_does_not_go_back_to_the_driver(two: Two) -> None:
    copied = two.sent(two.computed(np.zeros(30_000)))
    two.run()
    await settled(lambda: two.given_back)
    two.sender.allocator.close()  # as CuPy does where memory is short
    assert two.gpus[0].allocated >= 120_000
    two.there.end()
    two.here.part()
    await settled(lambda: two.gpus[0].allocated < 120_000)
    assert copied.host[0] == 1


def test_f51_more_tokens_under_way_than_there_are_events_go_by_the_host(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_sharing, "_MOST_EVENTS", 3)
    array = two.computed(np.arange(10))
    under_way = [two.sender.share(array, two.here) for _ in range(3)]
    assert all(under_way) and two.sender.share(array, two.here) is None
    under_way.pop()
    assert two.sender.share(array, two.here) is not None
    assert not two.sender.statistics().not_shared


@pytest.mark.parametrize("call", ["ipcGetMemHandle", "ipcGetEventHandle"])
def test_f51_a_gpu_that_shows_its_memory_to_nobody_says_so_once(two: Two, call: str) -> None:
    two.gpus[0].refuses[call] = 801
    assert two.sender.offer() is None
    two.gpus[0].refuses.clear()
    assert two.sender.offer() is None and two.sender.share(two.computed(np.arange(9)), two.here) is None
    ((device, reason),) = two.sender.statistics().not_shared
    assert device == two.sender.name and "801" in reason


@pytest.mark.parametrize("call", ["ipcOpenMemHandle", "ipcOpenEventHandle"])
def test_f51_a_gpu_that_opens_no_memory_of_others_says_why(two: Two, call: str) -> None:
    offer = two.sender.offer()
    assert offer is not None and two.receiver.opens(offer) == ""
    assert "201" in two.sender.opens(offer), "nor does the process that shows it"
    two.gpus[1].refuses[call] = 205
    assert "205" in two.receiver.opens(offer)
    with pytest.raises(UnavailableError, match="transport='zmq'"):
        two.sent(two.computed(np.arange(9)))
    two.gpus[1].refuses.clear()
    assert two.gpus[1].open_here[1] == 0


def test_f51_an_offer_keeps_no_event(two: Two) -> None:
    assert len({two.sender.offer() for _ in range(1000)}) == 1


def test_f62_a_description_that_cannot_be_is_refused(two: Two, seed: int) -> None:
    draw = random.Random(seed)
    shared = two.sender.share(two.computed(np.arange(100)), two.here)
    assert shared is not None
    good = shared.description
    for description, offset in [
        (b"", 0),
        (good[:-1], 0),
        (good + b"x", 0),
        (b"x" + good[1:], 0),
        (draw.randbytes(len(good)), 0),
        (good, -4),
        (good, 2),
        (good, 1 << 40),
        (good, 512 - 396),
    ]:
        with pytest.raises(InvalidArgumentError):
            two.receiver.bring(PeerTensor((100,), np.dtype("f"), 400, description, offset, two.there))
    assert two.receiver.opens(b"") and two.receiver.opens(draw.randbytes(144))
    longer = good[:-8] + (1 << 20).to_bytes(8, "little")
    two.receiver.bring(PeerTensor((100,), np.dtype("f"), 400, good, shared.offset, two.there))
    with pytest.raises(InvalidArgumentError, match="is said to have"):
        two.receiver.bring(PeerTensor((100,), np.dtype("f"), 400, longer, 0, two.there))


# ---- over a channel


@asynccontextmanager
async def joined(two: Two, kind: str = "shm") -> AsyncIterator[tuple[Any, Any]]:
    """A channel from the sender to the receiver, and its other end, both of which know that memory can be read."""
    async with pair(kind) as both:
        here, there = both.client, both.server
        assert here.peer_memory is not None and there.peer_memory is not None
        there.peer_memory.inward = True
        yield here, there


def lent(channel: Any) -> int:
    return int(channel.statistics().handles_out)


@pytest.mark.parametrize("kind", ["shm", "shm-without-arena"])
async def test_f51_a_channel_holds_a_tensor_until_the_receiver_has_copied_it(two: Two, kind: str) -> None:
    async with joined(two, kind) as (here, there):
        array = two.computed(np.arange(40_000))
        here.send(1, 5, b"tag", two.sender.share(array, here.peer_memory))
        with anyio.fail_after(PATIENCE):
            token = await there.recv(1, 5, b"tag")
        copied = two.receiver.bring(token)
        del token, array
        await anyio.lowlevel.checkpoint()
        assert lent(here) == 1
        sent = here.statistics()
        assert sent.bytes_sent < 2000 and sent.handles_sent == 1 and sent.sent[1].tokens == 1
        two.run()
        await settled(lambda: lent(here) == 0)
        np.testing.assert_array_equal(copied.host, np.arange(40_000) + 1)


@pytest.mark.parametrize("when", ["before it leaves", "before it is asked for", "after it was taken"])
async def test_f51_f65_a_step_that_is_aborted_gives_its_tensors_back(two: Two, when: str) -> None:
    async with joined(two) as (here, there):
        here.send(1, 5, b"", two.sender.share(two.computed(np.arange(9)), here.peer_memory))
        if when == "before it leaves":
            here.abort(5, AbortedError("no more"))
        elif when == "before it is asked for":
            await settled(lambda: there.waiting_tokens() == [5])
            there.abort(5, AbortedError("no more"))
        else:
            token = await there.recv(1, 5)
            there.abort(5, AbortedError("no more"))
            two.receiver.bring(token)  # no one stops a copy that has begun
            del token
            two.run()
        await settled(lambda: lent(here) == 0)
        gc.collect()
        assert two.sender.allocator.statistics().live_bytes == 0


@pytest.mark.parametrize("by", ["sender", "receiver"])
async def test_f51_a_channel_that_ends_leaves_a_copy_what_it_reads(two: Two, by: str) -> None:
    async with joined(two) as (here, there):
        array = two.computed(np.arange(40_000))
        here.send(1, 5, b"", two.sender.share(array, here.peer_memory))
        token = await there.recv(1, 5)
        copied = two.receiver.bring(token)
        del token, array
        (here if by == "sender" else there).close()
        await settled(lambda: here.ended and there.ended)
        assert here.core.sender.leases and here.peer_memory.kept and two.gpus[1].open_here == (1, 1)
        two.run()
        await settled(lambda: not here.core.sender.leases and not here.peer_memory.kept)
        assert two.gpus[1].open_here == (0, 0)
        np.testing.assert_array_equal(copied.host, np.arange(40_000) + 1)


async def test_f51_what_was_never_taken_is_given_back_at_the_end(two: Two) -> None:
    async with joined(two) as (here, there):
        here.send(1, 5, b"", two.sender.share(two.computed(np.arange(9)), here.peer_memory))
        await settled(lambda: there.waiting_tokens() == [5])
        there.close()
        await settled(lambda: not here.core.sender.leases and not here.peer_memory.kept)


async def test_f63_a_peer_that_dies_holds_nothing(two: Two) -> None:
    then = (
        "channel.peer_memory.inward = True; token = await channel.recv(1, 5); print('has it', flush=True); "
        "await channel.wait_closed()"
    )
    async with child("shm", then=then) as (process, address):
        here = endpoint("shm", CLIENT, listen=False)
        try:
            channel: Any = await here.connect(address, SERVER.incarnation, timeout=PATIENCE)
            channel.send(1, 5, b"", two.sender.share(two.computed(np.arange(9)), channel.peer_memory))
            assert process.stdout is not None
            assert "has it" in await anyio.to_thread.run_sync(process.stdout.readline)
            assert lent(channel) == 1
            process.kill()
            await settled(lambda: channel.ended and not channel.core.sender.leases and not channel.peer_memory.kept)
        finally:
            here.close()


async def test_f62_a_handle_that_nobody_agreed_to_ends_the_channel(two: Two) -> None:
    async with pair("shm") as both:
        both.client.send(1, 5, b"", two.sender.share(two.computed(np.arange(9)), PeerMemory()))  # type: ignore[arg-type]
        with anyio.fail_after(PATIENCE):
            assert isinstance(await both.server.wait_closed(), ProtocolError)


# ---- over tasks of a cluster


@asynccontextmanager
async def cluster(
    make: Make, monkeypatch: pytest.MonkeyPatch, transport: str = "shm", **options: Any
) -> AsyncIterator[Any]:
    """Two tasks, each a process with a GPU of its own, as far as CUDA can tell."""
    gpus = [make(**options), make()]
    monkeypatch.setattr(cuda, "_import_cupy", lambda name: gpus["task:1" in name])
    async with servers({"worker": 2}, transport, devices={"CPU": 1, "GPU": 1}) as found:
        yield found


def program(graph: af.Graph) -> tuple[Any, list[Any]]:
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 100])
        with af.device("/job:worker/task:0/gpu:0"):
            a = af.tanh(x) * 3.0
            total = af.reduce_sum(a)
        with af.device("/job:worker/task:1/gpu:0"):
            b = a * 2.0 + total
        with af.device("/job:worker/task:0/gpu:0"):
            c = b - a
        with af.device("/job:worker/task:1/cpu:0"):
            d = c + 1.0
    return x, [a, b, c, d]


def wanted(x: Any) -> list[Any]:
    a = np.tanh(x) * 3
    b = a * 2 + a.sum(dtype=np.float32)
    return [a, b, b - a, b - a + 1]


async def run(found: Any, seed: int, times: int = 4) -> Any:
    graph = af.Graph()
    x, fetches = program(graph)
    rng = np.random.default_rng(seed)
    async with af.Session(found[0].target, graph) as session:
        for _ in range(times):
            value = rng.normal(size=(80, 100)).astype("f")
            for one, right in zip(await session.run(fetches, {x: value}), wanted(value)):
                np.testing.assert_allclose(one, right, rtol=1e-4, atol=1e-4)
    return [next(d for d in server.worker.devices if d.type == "GPU").statistics() for server in found]


async def test_f37_f51_tokens_between_gpus_of_two_tasks_stay_on_gpus(
    make: Make, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    async with cluster(make, monkeypatch) as found:
        one, other = await run(found, seed)
        assert (one.shared_out, one.shared_in) == (8, 4) and (other.shared_out, other.shared_in) == (4, 8)
        assert not one.not_shared and not other.not_shared
        for server in found:
            for link in server.links.outbound.values():
                await settled(lambda link=link: lent(link.tokens) == 0)


async def test_f37_f51_a_loop_over_gpus_of_two_tasks(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [3000])

        def body(i: Any, v: Any) -> Any:
            with af.device("/job:worker/task:1/gpu:0"):
                w = v * 2.0
            with af.device("/job:worker/task:0/gpu:0"):
                return i + 1, w - 1.0

        with af.device("/job:worker/task:0/gpu:0"):
            result = af.while_loop(lambda i, v: i < 6, body, [af.constant(0), x])[1]
    async with cluster(make, monkeypatch) as found, af.Session(found[0].target, graph) as session:
        value = np.arange(3000, dtype=np.float32)
        np.testing.assert_array_equal(await session.run(result, {x: value}), value * 64 - 63)
        gpu = next(d for d in found[0].worker.devices if d.type == "GPU")
        assert gpu.statistics().shared_out >= 6


async def test_f51_where_cuda_shows_nothing_tokens_go_by_the_host(
    make: Make, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    async with cluster(make, monkeypatch, refuses={"ipcGetMemHandle": 801}) as found:
        one, other = await run(found, seed, 1)
        assert (one.shared_out, other.shared_in) == (0, 0) and other.shared_out == 1
        assert [name for name, _ in one.not_shared] == [NAME.format(0)] and not other.not_shared


async def test_f51_where_the_receiver_opens_nothing_tokens_go_by_the_host(
    make: Make, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    async with cluster(make, monkeypatch, refuses={"ipcOpenMemHandle": 205}) as found:
        one, other = await run(found, seed, 1)
        assert (one.shared_out, one.shared_in, other.shared_out) == (2, 0, 0)
        ((name, reason),) = other.not_shared
        assert name == NAME.format(0) and "205" in reason


async def test_f51_over_tcp_tokens_go_by_the_host(make: Make, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    async with cluster(make, monkeypatch, "zmq") as found:
        one, other = await run(found, seed, 1)
        assert (one.shared_out, other.shared_out, one.not_shared) == (0, 0, ())
