"""The promises of every rendezvous: a key carries one token a step, in either order, and an abort leaves no one waiting."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
import pytest
from patience import PATIENCE

from actorflow.base.registry import plugins
from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.transport.rendezvous import Rendezvous, Transport
from actorflow.errors import AbortedError

T = TypeVar("T")
KEY = "/device:CPU:0;a:0;/device:SIM:0"


class Broken(Exception):
    """The error with which a step was aborted."""


@pytest.fixture(params=["local"])
def transport(request: pytest.FixtureRequest) -> Transport:
    found: Transport = plugins.load("rendezvous", request.param)()
    assert found.name == request.param
    return found


@pytest.fixture
def meeting(transport: Transport) -> Rendezvous:
    return transport.rendezvous(1)


async def soon(work: Coroutine[Any, Any, T]) -> T:
    return await asyncio.wait_for(work, PATIENCE)


async def waiting(meeting: Rendezvous, key: str, tag: bytes = b"") -> asyncio.Task[Any]:
    """A Recv that has come before its Send."""
    task = asyncio.ensure_future(meeting.recv(key, tag))
    await asyncio.sleep(0)
    assert not task.done()
    return task


async def ended(task: asyncio.Task[Any]) -> Any:
    """The result of a task that has what it waits for."""
    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    assert done, f"{task!r} still waits"
    return task.result()


async def test_f48_a_token_that_is_sent_first_is_received(meeting: Rendezvous) -> None:
    meeting.send(KEY, 7)
    assert await soon(meeting.recv(KEY)) == 7


async def test_f48_a_recv_that_comes_first_waits_for_the_token(meeting: Rendezvous) -> None:
    task = await waiting(meeting, KEY)
    meeting.send(KEY, 7)
    assert await ended(task) == 7


@pytest.mark.parametrize("recv_first", [False, True])
@pytest.mark.parametrize("token", [DEAD, None, False, b"", 0.0], ids=repr)
async def test_f48_every_token_arrives_as_it_is(meeting: Rendezvous, token: Any, recv_first: bool) -> None:
    if recv_first:
        task = await waiting(meeting, KEY)
        meeting.send(KEY, token)
        assert await ended(task) is token
    else:
        meeting.send(KEY, token)
        assert await soon(meeting.recv(KEY)) is token


async def test_f51_inside_a_process_an_array_is_handed_over_and_not_copied(meeting: Rendezvous) -> None:
    array = np.arange(4.0)
    meeting.send(KEY, array)
    assert await soon(meeting.recv(KEY)) is array


async def test_f48_keys_and_steps_do_not_mix(transport: Transport) -> None:
    one, two = transport.rendezvous(1), transport.rendezvous(2)
    tasks = [await waiting(meeting, key) for meeting in (one, two) for key in ("a", "b")]
    two.send("b", 4)
    one.send("b", 2)
    two.send("a", 3)
    one.send("a", 1)
    assert [await ended(task) for task in tasks] == [1, 2, 3, 4]


@pytest.mark.parametrize("received", [False, True])
async def test_f49_a_second_send_is_refused_before_and_after_the_recv(meeting: Rendezvous, received: bool) -> None:
    meeting.send(KEY, 1)
    if received:
        assert await soon(meeting.recv(KEY)) == 1
    with pytest.raises(AbortedError, match="second token"):
        meeting.send(KEY, 2)
    if not received:
        assert await soon(meeting.recv(KEY)) == 1, "the first token stays"


@pytest.mark.parametrize("sent", [False, True])
async def test_f49_a_second_recv_is_refused_before_and_after_the_send(meeting: Rendezvous, sent: bool) -> None:
    first = await waiting(meeting, KEY)
    if sent:
        meeting.send(KEY, 1)
        assert await ended(first) == 1
    with pytest.raises(AbortedError, match="received twice"):
        await soon(meeting.recv(KEY))
    if not sent:
        meeting.send(KEY, 1)
        assert await ended(first) == 1, "the first Recv still gets its token"


async def test_f49_a_token_that_was_sent_first_is_received_once(meeting: Rendezvous) -> None:
    meeting.send(KEY, 1)
    assert await soon(meeting.recv(KEY)) == 1
    with pytest.raises(AbortedError, match="received twice"):
        await soon(meeting.recv(KEY))


async def test_f65_an_abort_wakes_all_that_wait_with_its_error(meeting: Rendezvous) -> None:
    tasks = [await waiting(meeting, key) for key in ("a", "b", "c")]
    error = Broken("gone")
    meeting.abort(error)
    done, left = await asyncio.wait(tasks, timeout=PATIENCE)
    assert not left
    assert all(task.exception() is error for task in done)


async def test_f65_after_an_abort_sends_are_dropped_and_receives_fail(meeting: Rendezvous) -> None:
    meeting.send("early", 1)
    meeting.abort(Broken("gone"))
    meeting.send("late", 2)
    meeting.send("late", 2)
    for key in ("early", "late", "never"):
        with pytest.raises(Broken, match="gone"):
            await soon(meeting.recv(key))


async def test_f65_an_abort_lets_go_of_the_tokens_that_nobody_took(meeting: Rendezvous) -> None:
    array = np.zeros(4)
    alive = weakref.ref(array)
    meeting.send(KEY, array)
    del array
    assert alive() is not None
    meeting.abort(Broken("gone"))
    gc.collect()
    assert alive() is None


async def test_f65_a_recv_that_was_cancelled_does_not_fail_its_send(meeting: Rendezvous) -> None:
    task = await waiting(meeting, KEY)
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE)
    assert task.cancelled()
    meeting.send(KEY, 1)
    meeting.abort(Broken("gone"))


async def test_f65_an_abort_right_after_a_send_keeps_the_token_for_the_recv_that_waited(meeting: Rendezvous) -> None:
    task = await waiting(meeting, KEY)
    meeting.send(KEY, 1)
    meeting.abort(Broken("gone"))
    assert await ended(task) == 1


async def test_f80_tags_keep_the_iterations_of_an_edge_apart(meeting: Rendezvous) -> None:
    tags = [b"", bytes(8), b"\1" + bytes(7), bytes(16)]
    first = await waiting(meeting, KEY, tags[1])
    for number, tag in enumerate(tags):
        meeting.send(KEY, number, tag)
    assert await ended(first) == 1
    assert [await soon(meeting.recv(KEY, tag)) for tag in (tags[3], tags[0], tags[2])] == [3, 0, 2]


@pytest.mark.parametrize("send_first", [True, False])
def test_f88_a_continuation_is_called_once_with_the_token_or_the_error(meeting: Rendezvous, send_first: bool) -> None:
    """Without a task, and without a turn of the event loop; there is none here."""
    calls: list[tuple[Any, Any]] = []
    if send_first:
        meeting.send(KEY, 5)
    meeting.expect(KEY, b"", lambda *call: calls.append(call))
    if not send_first:
        assert not calls
        meeting.send(KEY, 5)
    assert calls == [(5, None)]
    meeting.expect(KEY, b"", lambda *call: calls.append(call))
    assert isinstance(calls[1][1], AbortedError), "a second one"
    meeting.expect(KEY, bytes(8), lambda *call: calls.append(call))
    error = Broken()
    meeting.abort(error)
    meeting.expect("other", b"", lambda *call: calls.append(call))
    assert calls[2:] == [(None, error), (None, error)]


@pytest.mark.parametrize("value", [np.float32(np.pi), np.array([np.pi, -1e-30, np.inf], np.float32)])
async def test_f90_a_lossy_send_cuts_the_lower_16_bits_of_float32(meeting: Rendezvous, value: Any) -> None:
    before = np.array(value)
    meeting.send(KEY, value, lossy=True)
    got = await soon(meeting.recv(KEY))
    assert np.array_equal(np.asarray(got).view(np.uint32), before.view(np.uint32) & 0xFFFF0000)
    assert np.array_equal(value, before), "the sender's is left alone"
    assert type(got) is type(value)


@pytest.mark.parametrize("value", [DEAD, None, np.pi, np.arange(3), np.float64(np.pi)])
async def test_f90_a_lossy_send_leaves_what_is_no_float32(meeting: Rendezvous, value: Any) -> None:
    meeting.send(KEY, value, lossy=True)
    assert await soon(meeting.recv(KEY)) is value
