"""The rules on steps, epochs and messages: what is over is over at both ends, and nothing of it is kept."""

from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
from anyio.lowlevel import checkpoint

from actorflow.errors import AbortedError, InvalidArgumentError, ResourceExhaustedError
from actorflow.testing.contract import Broken, got, raises, rule, same, until
from actorflow.testing.transport_contract.subject import SMALL, Subject, bits, large, pair

# ---- steps and epochs


@rule()
async def an_abort_wakes_those_who_wait_at_both_ends(subject: Subject) -> None:
    """`abort` ends one step here and at the peer, with its error; other steps go on."""
    async with pair(subject) as both:
        errors: list[BaseException | None] = []
        both.server.expect(1, 7, b"", lambda token, error: errors.append(error))
        both.client.expect(2, 7, b"", lambda token, error: errors.append(error))
        failure = InvalidArgumentError("A kernel failed.", hint="Feed other values.")
        both.client.abort(7, failure)
        same(errors, [failure], "what was told here")
        await until(lambda: len(errors) == 2, "the peer was told")
        if not isinstance(errors[1], InvalidArgumentError) or "A kernel failed." not in str(errors[1]):
            raise Broken(f"the peer was told {errors[1]!r}")
        same("/job:worker/task:0" in str(errors[1]), True, "whether the error names the task that it came from")
        both.client.send(3, 7, b"", np.zeros(3))
        both.client.send(3, 8, b"", np.int32(8))
        same(await got(both.server.recv(3, 8)), 8, "another step")
        with raises(InvalidArgumentError):
            await got(both.server.recv(3, 7))


@rule()
async def an_abort_stops_a_large_tensor(subject: Subject) -> None:
    """An abort drops what is queued of its step, and the tensors of other steps arrive."""
    async with pair(subject, limits=SMALL) as both:
        both.client.send(1, 1, b"", large())
        both.server.abort(1, AbortedError("enough"))
        both.client.send(1, 2, b"", large())
        same(bits(await got(both.server.recv(1, 2))), bits(large()), "the tensor of another step")
        await until(lambda: not both.client.statistics().queued_tensors, "nothing was queued any more")


@rule()
async def what_arrives_after_the_end_of_a_step_is_held_by_nobody(subject: Subject) -> None:
    """After `finish` what comes for the step is dropped, and the sender keeps nothing of it."""
    async with pair(subject) as both:
        both.server.finish(5)
        value = large(100_000)
        alive = weakref.ref(value)
        both.client.send(1, 5, b"", value)
        del value
        both.client.send(1, 6, b"", None)
        await got(both.server.recv(1, 6))
        await until(lambda: gc.collect() is None or alive() is None, "the tensor was let go")
        await until(lambda: both.server.statistics().dropped_old == 1, "`statistics().dropped_old` counted it")


@rule()
async def tokens_of_a_former_epoch_are_dropped(subject: Subject) -> None:
    """A token of a former epoch fails or is dropped; a token of a later epoch is kept until that has begun here."""
    async with pair(subject) as both:
        errors: list[BaseException | None] = []
        both.server.expect(1, 1, b"", lambda token, error: errors.append(error))
        both.there.set_epoch(2)
        if not errors or not isinstance(errors[0], AbortedError):
            raise Broken(f"a token of the former epoch ended with {errors}")
        both.client.send(1, 1, b"", np.int32(1))
        both.client.send(1, 2, b"", large(50_000))
        both.here.set_epoch(3)
        both.client.send(1, 1, b"", np.int32(3))
        both.client.post("sent")
        same(await got(both.server.receive()), "sent", "the message")
        both.there.set_epoch(3)
        same(await got(both.server.recv(1, 1)), 3, "the token of the later epoch")
        with raises(ValueError):
            both.there.set_epoch(2)


# ---- messages


@rule()
async def messages_arrive_as_they_are(subject: Subject) -> None:
    """A message of msgpack's types arrives as it was posted, whatever its size."""
    messages = [None, 0, -(2**63), 2**64 - 1, 1.5, "ü", b"\0", [1, [2]], {"a": {1: b""}}, [], b"x" * 3_000_000]
    async with pair(subject, limits=SMALL) as both:
        for message in messages:
            both.client.post(message)
            same(await got(both.server.receive()), message, "a message")


@rule()
async def what_is_enclosed_in_a_message_arrives_with_it(subject: Subject) -> None:
    """`enclosed` gives what a message may have in it for a tensor, always for a tensor in an arena; or None if it has
    to be a token."""
    async with pair(subject) as both:
        placed = subject.in_last_arena(np.arange(50_000))
        for tensor in (placed, np.int32(5), np.arange(50_000), np.array(["text"], object)):
            if tensor is None:
                continue
            enclosed = both.client.enclosed(tensor)
            if enclosed is not None:
                both.client.post(["with it", enclosed])
                text, arrived = await got(both.server.receive())
                same(text, "with it", "what else is in the message")
                same(bits(arrived), bits(tensor), "an enclosed tensor")
                del arrived
                await until(lambda: not both.client.statistics().handles_out, "what was enclosed was given back")
            elif tensor is placed:
                raise Broken("`enclosed` gives nothing for a tensor in the arena")


@rule()
async def a_listener_gets_what_is_there_and_what_comes(subject: Subject) -> None:
    """`listen` calls back with each message. A failed callback is told to the loop's exception handler and stops nothing."""
    faults: list[Any] = []
    loop = asyncio.get_running_loop()
    former = loop.get_exception_handler()
    loop.set_exception_handler(lambda loop, context: faults.append(context.get("exception")))
    try:
        async with pair(subject) as both:
            messages: list[Any] = []

            def listen(message: Any) -> None:
                messages.append(message)
                if message == 2:
                    raise KeyError(message)

            both.client.post(1)
            await got(both.client.flush())
            both.client.post(2)
            both.server.listen(listen)
            both.client.post(3)
            await until(lambda: len(messages) == 3, "all messages came")
            same(messages, [1, 2, 3], "the messages")
        same([type(fault) for fault in faults], [KeyError], "what the loop was told")
    finally:
        loop.set_exception_handler(former)


@rule()
async def messages_that_nobody_takes_hold_the_sender_up(subject: Subject) -> None:
    """A peer that takes no messages holds up those to it, and `post` raises ResourceExhaustedError in the end; tokens go on."""
    limits = replace(SMALL, queued_messages=1 << 20)
    async with pair(subject, limits=limits) as both:
        posted = 0
        with raises(ResourceExhaustedError):
            for _ in range(1000):
                both.client.post(b"x" * 10_000)
                posted += 1
                await checkpoint()
        same(posted * 10_000 < (1 << 20) + 3 * SMALL.control_window, True, "whether the queue kept to its limit")
        both.client.send(1, 1, b"", np.int32(5))
        same(await got(both.server.recv(1, 1)), 5, "a token")
        for _ in range(posted):
            same(len(await got(both.server.receive())), 10_000, "the size of a message")
        await got(both.client.flush())


@rule()
async def what_is_no_message_is_refused_where_it_is_posted(subject: Subject) -> None:
    """`post` raises ResourceExhaustedError for too long a message, ValueError if it is too deep or wide, else TypeError."""
    async with pair(subject, limits=replace(SMALL, message=1000)) as both:
        with raises(ResourceExhaustedError):
            both.client.post(b"x" * 1001)
        with raises(ValueError):
            both.client.post([0] * 4097)
        with raises(TypeError):
            both.client.post(object())
        both.client.post("next")
        same(await got(both.server.receive()), "next", "the next message")


@rule()
async def only_one_task_may_wait_for_messages(subject: Subject) -> None:
    """A second `receive`, and a `listen` beside the first, raise BusyResourceError."""
    async with pair(subject) as both:
        async with anyio.create_task_group() as group:
            group.start_soon(both.server.receive)
            await checkpoint()
            with raises(anyio.BusyResourceError):
                await got(both.server.receive())
            with raises(anyio.BusyResourceError):
                both.server.listen(print)
            group.cancel_scope.cancel()


@rule()
async def every_wait_can_be_cancelled_and_loses_nothing(subject: Subject) -> None:
    """`recv`, `receive`, `flush` and `wait_closed` can be cancelled; the channel goes on, and no message is lost."""
    for wait in ("recv", "receive", "flush", "wait_closed"):
        async with pair(subject, limits=SMALL) as both:
            waits = {
                "recv": lambda: both.server.recv(1, 1),
                "receive": both.server.receive,
                "flush": both.client.flush,
                "wait_closed": both.server.wait_closed,
            }
            if wait == "flush":
                for _ in range(200):
                    both.client.post(b"x" * 10_000)
            with anyio.move_on_after(0.01) as scope:
                await waits[wait]()
            same(scope.cancelled_caught, True, f"whether {wait} was cancelled")
            both.client.send(1, 2, b"", np.int32(2))
            same(await got(both.server.recv(1, 2)), 2, f"a token after {wait}")
            if wait != "flush":
                both.client.post("next")
                same(await got(both.server.receive()), "next", f"a message after {wait}")


RULES = (
    messages_arrive_as_they_are,
    what_is_enclosed_in_a_message_arrives_with_it,
    a_listener_gets_what_is_there_and_what_comes,
    what_is_no_message_is_refused_where_it_is_posted,
    only_one_task_may_wait_for_messages,
    messages_that_nobody_takes_hold_the_sender_up,
    an_abort_wakes_those_who_wait_at_both_ends,
    an_abort_stops_a_large_tensor,
    what_arrives_after_the_end_of_a_step_is_held_by_nobody,
    tokens_of_a_former_epoch_are_dropped,
    every_wait_can_be_cancelled_and_loses_nothing,
)
