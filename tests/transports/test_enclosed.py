"""Small tensors inside of requests and replies: what goes in comes out, what is large stays outside, and junk is refused."""

from __future__ import annotations

import asyncio
import random
from dataclasses import fields
from typing import Any

import anyio
import msgpack
import numpy as np
import pytest
from channels import pair as transport_pair
from channels import until
from clusters import servers
from patience import PATIENCE
from test_rpc import Mutator

import actorflow as af
from actorflow.base import dtypes
from actorflow.cluster.partial_run import FETCH
from actorflow.cluster.wire.decoding import REQUESTS
from actorflow.cluster.wire.signatures import decode_inline, encode_inline
from actorflow.devices.allocator import PoolAllocator
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import InvalidArgumentError

NUMBERS = [d for d in dtypes.ALL if d not in (dtypes.string, dtypes.bfloat16)]


def over_the_wire(values: list[Any]) -> list[Any]:
    found: list[Any] = msgpack.unpackb(msgpack.packb(encode_inline(values)))
    return found


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: d.name)
def test_f51_a_small_tensor_has_the_same_bits_on_the_other_side(dtype: dtypes.DType) -> None:
    rng = np.random.default_rng(0)
    for shape in [(), (1,), (0,), (3, 0), (2, 3), (2, 1, 4)]:
        size = int(np.prod(shape)) * dtype.size
        bits = rng.integers(0, 2 if dtype is dtypes.bool else 256, size, np.uint8).tobytes()
        value = np.ndarray(shape, dtype.numpy_dtype, bits)
        for given in (value, value.T, value[()]):
            (form,) = over_the_wire([given])
            found = decode_inline(form)
            assert found.dtype == given.dtype and found.shape == given.shape
            assert found.tobytes() == given.tobytes()
            assert isinstance(found, np.ndarray) == bool(shape)
            assert not found.flags.writeable


def test_f51_what_is_large_or_no_plain_number_goes_as_a_token() -> None:
    small = np.float32(1)
    for value in [
        b"text",
        np.array([b"text"], object),
        np.zeros(5000, np.float32),
        np.zeros(3, ">f4"),
        np.zeros(3, dtypes.bfloat16.numpy_dtype),
        None,
        object(),
    ]:
        (first, second, third) = encode_inline([small, value, small])
        assert first == third == ["float32", (), small.tobytes()] and second is None
    together = encode_inline([np.zeros(1000, np.float64)] * 5)
    assert [form is not None for form in together] == [True, True, False, False, False], "16 KiB in all"
    assert len(encode_inline([small] * 5000)) == 1024, "the others go as tokens"


def test_f62_what_is_no_tensor_is_refused() -> None:
    """The peer makes a tensor of as many bytes as came of it, or raises InvalidArgumentError."""
    for seed in range(300):
        mutator = Mutator(seed)
        (form,) = over_the_wire([np.arange(random.Random(seed).randrange(5), dtype=np.int32)])
        wrong = mutator.change(form, 2)
        try:
            found = decode_inline(wrong)
        except InvalidArgumentError:
            continue
        assert found.nbytes == len(wrong[2]), seed
    for junk in [
        None,
        7,
        [],
        ["float32", [], b"12345"],
        ["float32", [2], b"1234"],
        ["float32", 1, b"1234"],
        ["float32", [-1], b""],
        ["float32", [-1], b"1234"],
        ["float32", [1 << 62, 1 << 62], b""],
        ["float32", [1.0], b"1234"],
        ["float32", [1] * 70, b"1234"],
        ["object", [1], b"12345678"],
        [[], [1], b"1234"],
        ["float32", [1], "1234"],
    ]:
        with pytest.raises(InvalidArgumentError, match="small tensor is none"):
            decode_inline(junk)


async def test_f51_small_and_large_feeds_and_fetches_of_one_step() -> None:
    """In the request and reply, as tokens, and both: the same values."""
    graph = af.Graph()
    with graph.as_default():
        small, large, text = (
            af.placeholder(af.float32, []),
            af.placeholder(af.float32, [None]),
            af.placeholder(af.string, [None]),
        )
        fetches = [small + 1.0, large * small, text, af.reduce_sum(large)]
    async with servers({"worker": 1}) as (server,):
        async with af.Session(server.target, graph) as session:
            for size in (1, 5000, 1, 300_000):
                feeds = {small: 2.0, large: np.full(size, 3.0, np.float32), text: [b"a", b""]}
                with anyio.fail_after(PATIENCE):
                    one, product, texts, total = await session.run(fetches, feeds)
                assert one == 3.0 and product.tolist() == [6.0] * size and texts.tolist() == [b"a", b""]
                assert total == 3.0 * size
                assert not server.worker.steps.running and not server.worker._rendezvous
            (link,) = server.links.inbound.values()
            assert link.tokens.core.inbox.held == 0  # type: ignore[attr-defined]


@pytest.mark.real_memory
async def test_f51_a_large_fetch_in_the_arena_is_in_the_reply_and_is_given_back_whoever_takes_it() -> None:
    graph = af.Graph()
    with graph.as_default():
        large = af.get_variable("large", initializer=af.ones([300_000]))
        small = af.get_variable("small", initializer=np.float32(3))
        fetches = [large.read_value(), small.read_value(), large.read_value() * 2.0, af.constant(["a"])]
    async with servers({"worker": 1}, "shm") as (server,):
        async with af.Session(server.target, graph, transport="shm") as session:
            with anyio.fail_after(PATIENCE):
                await session.run([large.initializer, small.initializer])
                (link,) = server.links.inbound.values()
                wire: Any = link.tokens
                value, three, twice, text = await session.run(fetches)
                assert (value == 1.0).all() and three == 3.0 and twice[-1] == 2.0 and text.tolist() == [b"a"]
                assert not value.flags.writeable and wire.statistics().handles_sent > 0
                tokens = sum(count.tokens for count in wire.statistics().sent.values())
                before = await session.run(large.read_value())
                assert sum(count.tokens for count in wire.statistics().sent.values()) == tokens, "none was a token"
                await session.run(large.assign_add(np.ones(300_000, np.float32)))
                assert (before == 1.0).all() and (await session.run(large.read_value()) == 2.0).all()
                (manager,) = server.worker.resources.values()
                held = manager.lookup("", "large", VariableState).read()
                wire.post([2, 1 << 40, wire.enclosed(held)])  # a reply that no one waits for
                assert wire.statistics().handles_out > 0
                del value, twice, before, held
                await until(lambda: wire.statistics().handles_out == 0)


@pytest.mark.real_memory
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_, np.uint8])
async def test_f51_an_enclosed_tensor_of_rank_0_is_a_number(dtype: Any) -> None:
    async with transport_pair("shm") as both:
        value = np.ndarray((), dtype, both.arenas[1].take(64))
        value[...] = 1
        both.client.post([both.client.enclosed(value)])
        with anyio.fail_after(PATIENCE):
            arrived = decode_inline((await both.server.receive())[0])
            await until(lambda: both.client.statistics().handles_out == 0)
        assert arrived == 1 and arrived.dtype == dtype and arrived.shape == ()


@pytest.mark.real_memory
async def test_f51_a_reply_over_the_first_channel_has_no_handles() -> None:
    """A request may come over either channel of a link, and its reply goes over the same one."""
    graph = af.Graph()
    with graph.as_default():
        large = af.get_variable("large", initializer=af.ones([300_000]))
        value = large.read_value()
    async with servers({"worker": 1}, "shm") as (server,):
        async with af.Session(server.target, graph, transport="shm") as session:
            with anyio.fail_after(PATIENCE):
                await session.run(large.initializer)
                await session.run(value)
                link = session._engine.remote.link  # type: ignore[union-attr]
                assert link is not None and link.control is not link.tokens
                number, (opened, _) = next(iter(server.master.sessions.items()))
                plan, step = len(opened.plans) - 1, 1 << 40
                reply = link.rpc._waiting[1 << 30] = asyncio.get_running_loop().create_future()
                link.control.post([1, 1 << 30, "run_plan", [number, plan, step, None, False, 0, []]])
                (forms, _), error = await reply
                assert error is None and forms in ([], [None]), "it goes as a token"
                assert (await link.tokens.recv(FETCH, step) == 1.0).all()
                link.tokens.finish(step)
                assert link.alive and (await session.run(value) == 1.0).all()


@pytest.mark.real_memory
@pytest.mark.parametrize("how", ["message", "token"])
async def test_f63_what_comes_over_a_channel_that_is_never_attached_is_given_back(how: str) -> None:
    graph = af.Graph()
    with graph.as_default():
        one = af.constant(1.0)
    async with servers({"worker": 1}, "shm") as (server,):
        async with af.Session(server.target, graph, transport="shm") as session:
            with anyio.fail_after(PATIENCE):
                await session.run(one)
                here: Any = session._engine.remote.link.tokens.endpoint  # type: ignore[union-attr]
                there: Any = server.links.endpoints.data
                array = PoolAllocator(source=here.arena).allocate((20_000,), np.dtype(np.float32))
                former: Any = None
                for _ in range(3):
                    wire = await here.connect(server.links.data_address)
                    if how == "message":
                        wire.post([wire.enclosed(array)])
                    else:
                        wire.send(1, 1, b"", array)
                    await wire.flush()
                    assert wire.statistics().handles_out == 1
                    if former is not None:  # which the server has ended, because this one came in its place
                        await former.wait_closed()
                    former = wire
                former.close()
                await until(lambda: not there.parting and not here.parting and not server.links._unattached)
                del array


@pytest.mark.real_memory
async def test_f62_an_array_anywhere_in_a_request_is_refused_and_given_back() -> None:
    """Over shared memory a peer may put a handle wherever a message has a value."""
    graph = af.Graph()
    with graph.as_default():
        doubled = af.placeholder(af.float32, [20_000], name="x") * 2.0
    async with servers({"worker": 1}, "shm") as (server,):
        async with af.Session(server.target, graph, transport="shm") as session:
            with anyio.fail_after(PATIENCE):
                ones = np.ones(20_000, np.float32)
                await session.run(doubled, {"x:0": ones})
                link = session._engine.remote.link  # type: ignore[union-attr]
                assert link is not None
                wire: Any = link.tokens
                array = PoolAllocator(source=wire.endpoint.arena).allocate((20_000,), np.dtype(np.float32))
                array[:] = 4.0
                odd = wire.enclosed(array)
                known: dict[str, Any] = {"session": session._engine.remote.number}  # type: ignore[union-attr]
                replies: list[tuple[str, asyncio.Future[Any]]] = []
                for kind in REQUESTS.values():
                    for field in fields(kind):
                        for value in (odd, [odd], [[odd, odd]], {"message": odd}, {"message": "", "where": [odd, odd]}):
                            plain = [known.get(other.name, _PLAIN[str(other.type)]) for other in fields(kind)]
                            values = [value if other is field else one for other, one in zip(fields(kind), plain)]
                            number = 1000 + len(replies)
                            reply = link.rpc._waiting[number] = asyncio.get_running_loop().create_future()
                            replies.append((kind.method, reply))
                            wire.post([1, number, kind.method, values])
                taken = [method for method, reply in replies if (await reply)[1] is None]
                assert taken == ["run_plan", "abort_step", "abort_step"], "a feed, and errors that can't be read"
                del reply
                replies.clear()
                await until(lambda: wire.statistics().handles_out == 0)
                wire.post([odd, 1, 2, 3])  # this is no message
                await link.control.wait_closed()
                assert (await session.run(doubled, {"x:0": ones}) == 2.0).all()
                del array, odd


_PLAIN = {
    "bool": False,
    "bytes": b"",
    "str": "",
    "int": 0,
    "float": 1.0,
    "float | None": None,
    "int | None": None,
    "list[Any]": [],
    "list[str]": [],
    "list[int]": [],
    "dict[str, Any]": {},
    "dict[str, bool]": {},
    "dict[str, str]": {},
}
"""A value of each type that a field of a request has."""
