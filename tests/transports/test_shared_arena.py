"""Shared arenas: what a peer sees is there until it lets go, and nothing else is."""

from __future__ import annotations

import fcntl
import gc
import mmap
import os
import socket
import threading
import weakref
from typing import Any

import anyio
import msgpack
import numpy as np
import pytest
from anyio.lowlevel import checkpoint
from channels import CLIENT, SERVER, Pair, child, endpoint, pair, until
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE

from actorflow.devices.allocator import PoolAllocator
from actorflow.devices.cpu import CpuDevice
from actorflow.engine.transport.errors import PeerLost, ProtocolError
from actorflow.transports.protocol.frames import message_piece
from actorflow.transports.protocol.sender import EnclosedTensor
from actorflow.transports.shm.arena import SharedArena, map_arena

MB = 1 << 20


async def got(work: Any) -> Any:
    with anyio.fail_after(PATIENCE):
        return await work


def in_arena(arena: SharedArena, array: Any) -> bool:
    return arena.offset_of(array.__array_interface__["data"][0], array.nbytes) is not None


@given(
    actions=st.lists(st.tuples(st.booleans(), st.integers(1, 300_000)), max_size=60),
)
def test_f51_blocks_never_overlap_and_free_ones_become_one_again(actions: list[tuple[bool, int]]) -> None:
    arena = SharedArena(MB)
    held: list[tuple[memoryview, int]] = []
    for number, (take, size) in enumerate(actions):
        if take or not held:
            block = arena.take(size)
            if block is None:
                assert arena.used + size > MB or len(held) > 1, "there was place"
                continue
            assert len(block) >= size
            block[:] = bytes([number % 256]) * len(block)
            held.append((block, number % 256))
        else:
            arena.give(held.pop(size % len(held))[0])
        for block, value in held:
            assert block[0] == block[-1] == value
    for block, _ in held:
        arena.give(block)
    whole = arena.take(MB)
    assert whole is not None and len(whole) == MB
    arena.close()


def test_f51_an_arena_takes_memory_only_as_it_is_used() -> None:
    arena = SharedArena(1 << 40)
    assert arena.committed == 0
    blocks = [arena.take(10 * MB), arena.take(10 * MB)]
    assert 20 * MB <= arena.committed < 64 * MB
    assert os.fstat(arena.fd).st_blocks * 512 == arena.committed
    arena.give(blocks.pop())  # type: ignore[arg-type]
    before = arena.committed
    assert arena.take(10 * MB) is not None and arena.committed == before, "the free place is used again"
    arena.close()
    assert arena.take(100 * MB) is None, "no descriptor, no more memory"


def test_f51_a_reader_can_neither_write_nor_be_cut_off() -> None:
    arena = SharedArena(MB)
    with pytest.raises(PermissionError):
        os.ftruncate(arena.fd, 0)
    with pytest.raises(PermissionError):
        mmap.mmap(arena.fd, MB)
    view = map_arena(arena.fd, MB)
    assert view.readonly
    block = arena.take(64)
    assert block is not None
    block[:5] = b"hello"
    assert bytes(view[:5]) == b"hello"
    arena.close()


def test_f62_what_is_no_arena_is_not_mapped() -> None:
    unsealed = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(unsealed, MB)
    with pytest.raises(ProtocolError, match="not sealed"):
        map_arena(unsealed, MB)
    fcntl.fcntl(unsealed, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    for size in (0, -1, MB + 1, 1 << 80):
        with pytest.raises(ProtocolError):
            map_arena(unsealed, size)
    os.close(unsealed)


def test_f51_blocks_come_from_and_go_back_on_any_thread() -> None:
    arena = SharedArena(64 * MB)
    failed: list[str] = []

    def work(value: int) -> None:
        for _ in range(300):
            block = arena.take(5000)
            if block is None:
                failed.append("no place")
                return
            block[:] = bytes([value]) * len(block)
            if block[0] != value or block[-1] != value:
                failed.append("overlap")
            arena.give(block)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and arena.used == 0
    arena.close()


@pytest.mark.real_memory
def test_f51_an_allocator_takes_its_blocks_from_an_arena_until_it_is_full() -> None:
    arena = SharedArena(4 * MB)
    allocator = PoolAllocator(source=arena, pool_limit=0)
    arrays = [allocator.allocate((MB,), np.dtype(np.uint8)) for _ in range(6)]
    assert [in_arena(arena, array) for array in arrays] == [True] * 4 + [False] * 2
    view = arrays[0][5:]
    arrays.clear()
    assert allocator.statistics().live_bytes == MB and arena.used == MB
    del view
    arena.close()


def test_f51_a_cpu_device_puts_its_tensors_into_the_arena_that_it_is_given() -> None:
    arena = SharedArena(4 * MB)
    device = CpuDevice("/device:CPU:0", source=arena)
    array = device.allocator.allocate((MB,), np.dtype(np.uint8))
    assert in_arena(arena, array)
    device.close()
    arena.close()
    del array


async def sent_and_kept(both: Pair, value: Any, step: int = 1) -> Any:
    both.client.send(1, step, b"", value)
    return await got(both.server.recv(1, step))


@pytest.mark.real_memory
async def test_f51_a_lease_goes_back_with_the_next_message() -> None:
    async with pair("shm") as both:
        arrived = await sent_and_kept(both, np.ones(100_000))
        assert arrived[0] == 1.0 and both.client.statistics().handles_out == 1
        del arrived
        await checkpoint()  # until now the event loop holds what woke this task
        both.server.post("seen")
        assert await got(both.client.receive()) == "seen" and both.client.statistics().handles_out == 0


@pytest.mark.real_memory
async def test_f51_a_tensor_that_was_allocated_in_the_arena_is_not_copied() -> None:
    async with pair("shm") as both:
        arena = both.arenas[1]
        value = PoolAllocator(source=arena).allocate((1000, 1000), np.dtype(np.float64))
        value[:] = 1.0
        arrived = await sent_and_kept(both, value)
        assert both.client.statistics().handles_sent == 1 and both.client.statistics().copies == 0
        value[3, 5] = 7.0  # no one may, but this shows that it is the same memory
        assert arrived[3, 5] == 7.0 and not arrived.flags.writeable
        part = await sent_and_kept(both, value[10:20], 2)
        assert both.client.statistics().copies == 0 and part.shape == (10, 1000)
        across = await sent_and_kept(both, value[:, :500], 3)
        assert both.client.statistics().copies == 2 and across[3, 5] == 7.0
        assert both.client.statistics().bytes_sent < 2000
        del arrived, part, across, value


@pytest.mark.real_memory
async def test_f51_a_tensor_in_the_arena_may_go_within_a_message() -> None:
    async with pair("shm") as both:
        value = PoolAllocator(source=both.arenas[1]).allocate((1000, 100), np.dtype(np.float32))
        value[:] = 2.0
        enclosed = both.client.enclosed(value)
        assert both.client.enclosed(np.zeros(1000)) is None, "it is not in the arena"
        assert both.client.enclosed(value[:, :50]) is both.client.enclosed(3.0) is None
        both.client.post({"fetched": [enclosed, 7]})
        arrived = (await got(both.server.receive()))["fetched"]
        assert arrived[1] == 7 and arrived[0].sum() == 200_000 and not arrived[0].flags.writeable
        value[3, 5] = 7.0  # no one may, but this shows that it is the same memory
        assert arrived[0][3, 5] == 7.0 and both.client.statistics().handles_out == 1
        del arrived, enclosed
        await until(lambda: both.client.statistics().handles_out == 0)
        both.client.post(both.client.enclosed(value))
        await both.client.flush()
        both.server.close()  # it has come, and no one has taken it
        await got(both.client.wait_closed())
        await until(lambda: both.client.statistics().handles_out == 0)
        del value


@pytest.mark.real_memory
async def test_f63_a_message_behind_the_one_that_closes_the_channel_is_not_kept() -> None:
    async with pair("shm") as both:
        value = PoolAllocator(source=both.arenas[1]).allocate((1000, 100), np.dtype(np.float32))
        heard: list[Any] = []

        def listen(message: Any) -> None:
            heard.append(message)
            both.server.close("no message")

        both.server.listen(listen)
        client: Any = both.client
        client.core.post("the first")
        client.core.post([client.enclosed(value)])  # in the same frame
        client.wake()
        await got(both.client.wait_closed())
        await until(lambda: not both.there.parting and both.client.statistics().handles_out == 0)  # type: ignore[attr-defined]
        assert heard == ["the first"] and not both.server._messages  # type: ignore[attr-defined]
        del value


@pytest.mark.real_memory
async def test_f51_the_sender_holds_what_it_sent_until_the_last_view_of_it_is_gone() -> None:
    async with pair("shm") as both:
        value = PoolAllocator(source=both.arenas[1], pool_limit=0).allocate((MB,), np.dtype(np.uint8))
        alive = weakref.ref(value)
        arrived = await sent_and_kept(both, value)
        del value
        view = arrived[10:].reshape(-1, 2)[::2]
        del arrived
        both.client.post("settled")
        await got(both.server.receive())
        gc.collect()
        assert alive() is not None and both.client.statistics().handles_out == 1
        del view
        await until(lambda: both.client.statistics().handles_out == 0)
        assert alive() is None


async def test_f51_copies_go_back_to_the_arena_and_a_full_one_is_gone_around() -> None:
    async with pair("shm", arena=2 * MB) as both:
        kept = [await sent_and_kept(both, np.full(MB - 64, step, np.uint8), step) for step in range(4)]
        assert [array[0] for array in kept] == [0, 1, 2, 3]
        assert both.client.statistics().handles_sent == 2, "the other two went over the socket"
        assert both.arenas[1].used > MB
        kept.clear()
        await until(lambda: both.arenas[1].used == 0)
        again = await sent_and_kept(both, np.full(MB, 9, np.uint8), 9)
        assert again[-1] == 9 and both.client.statistics().handles_sent == 3
        del again


async def test_f51_what_is_lent_stays_whole_after_the_channel_is_closed() -> None:
    async with pair("shm") as both:
        kept = await sent_and_kept(both, np.full(MB, 5, np.uint8))
        await both.client.aclose()
        await got(both.server.wait_closed())
        both.server.close()
        block = both.arenas[1].take(8 * MB)
        assert block is not None
        block[:] = b"\0" * len(block)
        assert (kept == 5).all(), "its memory is not used again"
        assert both.arenas[1].used > 8 * MB
        both.arenas[1].give(block)
        del kept
        await until(lambda: both.arenas[1].used == 0)


async def test_f63_what_was_lent_comes_back_when_the_borrower_is_killed() -> None:
    arena = SharedArena(64 * MB)
    here = endpoint("shm", CLIENT, listen=False, arena=arena)
    then = "kept = await channel.recv(1, 1); channel.post(float(kept.sum())); await channel.wait_closed()"
    try:
        async with child("shm", then=then) as (process, address):
            channel = await here.connect(address)
            channel.send(1, 1, b"", np.ones(MB))
            assert await got(channel.receive()) == MB
            assert arena.used == 8 * MB
            process.kill()
            assert isinstance(await got(channel.wait_closed()), PeerLost)
            assert arena.used == 0 and channel.statistics().handles_out == 0
    finally:
        here.close()
        arena.close()


async def test_f62_a_handle_to_where_nothing_is_ends_the_channel() -> None:
    for arena, offset in ((99, 0), (None, 1 << 40), (None, 3), (None, -8)):
        async with pair("shm") as both:
            sender: Any = both.client.core.sender  # type: ignore[attr-defined]
            real = sender.send_handle
            sender.send_handle = (
                lambda epoch, edge, step, tag, encoded, keep, number, place, real=real, arena=arena, offset=offset: (
                    real(epoch, edge, step, tag, encoded, keep, arena or number, offset)
                )
            )
            both.client.send(1, 1, b"", np.zeros(10_000))
            assert "points to where no tensor can be" in str(await got(both.server.wait_closed()))
            assert isinstance(await got(both.client.wait_closed()), ProtocolError | PeerLost)


async def test_f62_descriptors_that_come_later_are_dropped() -> None:
    async with pair("shm") as both:
        client: Any = both.client
        sequence = client.core.outbox._control_sent
        message = message_piece(msgpack.packb("with them"), 0, 10, sequence, CLIENT.incarnation, 1)
        read, write = os.pipe2(os.O_NONBLOCK)
        socket.send_fds(client._wire, [message], [write] * 5)
        assert await got(both.server.receive()) == "with them"
        os.close(write)
        assert os.read(read, 1) == b"", "no one else has it"
        os.close(read)


@pytest.mark.parametrize(("count", "said"), [(5, "Descriptors are missing"), (4, "A record is cut off")])
async def test_f62_more_descriptors_than_any_packet_may_bring_end_the_channel(count: int, said: str) -> None:
    there: Any = endpoint("shm", SERVER, listen=True)
    read, write = os.pipe2(os.O_NONBLOCK)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
            wire.connect(f"\0{there.address.removeprefix('shm://')}")
            await until(lambda: there._greeting)
            (channel,) = there._greeting
            socket.send_fds(wire, [b"a word"], [write] * count)
            assert said in str(await got(channel.wait_closed()))
        os.close(write)
        assert os.read(read, 1) == b"", "no one else has it"
        os.close(read)
    finally:
        there.close()


async def test_f62_a_first_packet_that_is_larger_than_any_may_be_ends_the_channel() -> None:
    there: Any = endpoint("shm", SERVER, listen=True)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
            wire.connect(f"\0{there.address.removeprefix('shm://')}")
            await until(lambda: there._greeting)
            (channel,) = there._greeting
            wire.send(b"a" * 150_000)
            assert "larger than any may be" in str(await got(channel.wait_closed()))
    finally:
        there.close()


@pytest.mark.parametrize("size", [200_000, 1 << 17])
async def test_f62_a_packet_that_is_larger_than_any_may_be_ends_the_channel(size: int) -> None:
    async with pair("shm") as both:
        both.client._wire.send(b"a" * (size + 1))  # type: ignore[attr-defined]
        assert "larger than any may be" in str(await got(both.server.wait_closed()))


@pytest.mark.parametrize(("arena", "offset"), [(99, 0), (None, 1 << 40), (None, 3), (None, -8)])
async def test_f62_a_handle_within_a_message_to_where_nothing_is_ends_the_channel(
    arena: int | None, offset: int
) -> None:
    async with pair("shm") as both:
        both.client.post([EnclosedTensor(np.zeros(10_000), arena or both.arenas[1].number, offset)])
        assert "points to where no tensor can be" in str(await got(both.server.wait_closed()))
        assert isinstance(await got(both.client.wait_closed()), ProtocolError | PeerLost)
