"""The rules on tokens: tensors arrive as they were sent, once, each for the task that waits for it."""

from __future__ import annotations

from typing import Any

import anyio
import numpy as np
from anyio.lowlevel import checkpoint

from actorflow.base import dtypes
from actorflow.engine.runtime.tokens import DEAD
from actorflow.errors import AbortedError, UnimplementedError
from actorflow.testing.contract import Broken, got, raises, rule, same, until
from actorflow.testing.transport_contract.subject import SMALL, Subject, bits, large, pair


def values() -> dict[str, Any]:
    """Tensors of each dtype, and those whose shape or layout is out of the ordinary. bfloat16 needs a package of its own, and
    is left out where that is not installed."""
    by_name: dict[str, Any] = {}
    for dtype in dtypes.ALL:
        if dtype not in (dtypes.string, dtypes.bool):
            try:
                by_name[dtype.name] = np.arange(12).reshape(3, 4).astype(dtype.numpy_dtype)
                by_name[f"large {dtype.name}"] = (np.arange(100_000) % 100).astype(dtype.numpy_dtype).reshape(10, -1)
            except UnimplementedError:
                continue
    return by_name | {
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
    }


@rule()
async def every_tensor_arrives_bit_by_bit(subject: Subject) -> None:
    """A tensor of any dtype, shape and layout arrives bit by bit, in this machine's byte order."""
    async with pair(subject) as both:
        for step, (name, value) in enumerate(values().items()):
            both.client.send(3, step, b"", value)
            arrived = await got(both.server.recv(3, step))
            order = np.asarray(value).dtype.newbyteorder("=")
            expected = np.asarray(value).astype(order) if subject.is_wire else value
            same(bits(arrived), bits(expected), name)
            del arrived


@rule(lambda subject: subject.is_wire)
async def what_arrives_is_read_only(subject: Subject) -> None:
    """An array that arrives can't be written: its memory may be the transport's, or a peer's."""
    async with pair(subject) as both:
        for step, size in enumerate((10, 5_000, 1_000_000)):
            both.client.send(3, step, b"", large(size))
            same(
                (await got(both.server.recv(3, step))).flags.writeable, False, f"whether {size} numbers can be written"
            )


@rule()
async def what_was_sent_before_the_end_of_a_step_arrives(subject: Subject) -> None:
    """`finish` is about what arrives here; what was sent before still leaves."""
    async with pair(subject) as both:
        for step, size in enumerate((10, 5_000, 30_000, 1_000_000)):
            both.client.send(3, step, b"", large(size))
            both.client.send(4, step, b"", large(size))
            both.client.finish(step)
            same(bits(await got(both.server.recv(4, step))), bits(large(size)), f"{size} numbers")
            same(bits(await got(both.server.recv(3, step))), bits(large(size)), f"{size} numbers")


@rule()
async def dead_tokens_and_control_edges_arrive(subject: Subject) -> None:
    """DEAD and None arrive as they are."""
    async with pair(subject) as both:
        for step, token in enumerate((DEAD, None)):
            both.server.send(1, step, b"", token)
            same(await got(both.client.recv(1, step)) is token, True, f"whether {token!r} arrived")


@rule()
async def a_recv_may_come_before_its_send(subject: Subject) -> None:
    """`recv` and `send` of one token come in either order, and tags are told apart."""
    async with pair(subject) as both:
        received: list[Any] = []

        async def wait() -> None:
            received.append(await got(both.server.recv(1, 1, b"frame:3")))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await checkpoint()
            both.client.send(1, 1, b"frame:4", np.int32(4))
            both.client.send(1, 1, b"frame:3", np.int32(3))
        same(received, [3], "under the tag frame:3")
        same(await got(both.server.recv(1, 1, b"frame:4")), 4, "under the tag frame:4")


@rule()
async def what_is_expected_is_called_back_once(subject: Subject) -> None:
    """`expect` calls back once, and not at all when it was taken back."""
    async with pair(subject) as both:
        received: list[Any] = []
        both.server.expect(1, 1, b"", lambda token, error: received.append(int(token)))
        both.server.expect(2, 1, b"", lambda token, error: received.append(-1))()
        both.client.send(2, 1, b"", np.int32(2))
        both.client.send(1, 1, b"", np.int32(1))
        await until(lambda: received, "the callback was called")
        both.client.send(3, 1, b"", np.int32(3))
        same(await got(both.server.recv(3, 1)), 3, "a token behind them")
        same(received, [1], "what was called back")


@rule()
async def tokens_of_an_edge_and_messages_keep_their_order(subject: Subject) -> None:
    """The small tokens of an edge arrive in the order in which they were sent, and so do messages."""
    async with pair(subject, limits=SMALL) as both:
        order: list[int] = []
        for step in range(300):
            both.server.expect(1, step, b"", lambda token, error: order.append(int(token)))
            both.client.send(1, step, b"", np.int32(step))
            both.client.post([step, b"x" * (step * 7)])
        for step in range(300):
            same(await got(both.server.receive()), [step, b"x" * (step * 7)], f"message {step}")
        await until(lambda: len(order) == 300, "all tokens arrived")
        same(order, list(range(300)), "the order of the tokens")


@rule(lambda subject: subject.is_wire)
async def what_is_no_tensor_does_not_leave_its_process(subject: Subject) -> None:
    """`send` raises UnimplementedError for what is no tensor, and ValueError for an edge that fits no record."""
    async with pair(subject) as both:
        for token in (object(), [np.zeros(2)]):
            with raises(UnimplementedError):
                both.client.send(1, 1, b"", token)
        for edge in (-1, 1 << 32):
            with raises(ValueError):
                both.client.send(edge, 1, b"", np.zeros(3))
        both.client.send(1, 2, b"", np.int32(5))
        same(await got(both.server.recv(1, 2)), 5, "the next token")


@rule()
async def lossy_edges_cut_float32_and_nothing_else(subject: Subject) -> None:
    """`lossy` brings the upper 16 bits of float32, keeps NaN, infinity and signs, and leaves other types alone."""
    random = np.random.default_rng(1)
    values = (random.standard_normal(50_000) * 10.0 ** random.integers(-30, 30, 50_000)).astype(np.float32)
    values[:3] = np.array([0x7F800001, 0x7F800000, 0x80000000], np.uint32).view(np.float32)  # a NaN, infinity, -0
    exact = random.standard_normal(50_000)
    async with pair(subject) as both:
        both.client.send(1, 1, b"", values, lossy=True)
        both.client.send(2, 1, b"", exact, lossy=True)
        arrived, untouched = await got(both.server.recv(1, 1)), await got(both.server.recv(2, 1))
        same(bits(untouched), bits(exact), "float64")
        same(bool((arrived.view(np.uint32) & 0xFFFF).any()), False, "whether lower bits of float32 arrived")
        if not (np.isnan(arrived[0]) and np.isinf(arrived[1]) and np.signbit(arrived[2])):
            raise Broken(f"NaN, infinity and -0 became {arrived[:3]}")
        same(bool((np.abs(arrived[3:] - values[3:]) < np.abs(values[3:]) * 2**-7).all()), True, "whether all are near")
        del arrived, untouched


@rule()
async def a_second_token_under_a_key_ends_the_step_at_both_ends(subject: Subject) -> None:
    """A second token of one edge, step and tag aborts the step, and a second `recv` is refused."""
    async with pair(subject) as both:
        both.client.send(1, 1, b"", np.zeros(2))
        both.client.send(1, 1, b"", np.zeros(2))
        with raises(AbortedError):
            await got(both.client.recv(9, 1))
        with raises(AbortedError):
            await got(both.server.recv(1, 1))
        both.client.send(1, 2, b"", np.int32(1))
        same(await got(both.server.recv(1, 2)), 1, "another step")
        with raises(AbortedError):
            await got(both.server.recv(1, 2))


RULES = (
    every_tensor_arrives_bit_by_bit,
    what_arrives_is_read_only,
    dead_tokens_and_control_edges_arrive,
    a_recv_may_come_before_its_send,
    what_is_expected_is_called_back_once,
    tokens_of_an_edge_and_messages_keep_their_order,
    what_was_sent_before_the_end_of_a_step_arrives,
    what_is_no_tensor_does_not_leave_its_process,
    lossy_edges_cut_float32_and_nothing_else,
    a_second_token_under_a_key_ends_the_step_at_both_ends,
)
