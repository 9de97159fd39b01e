"""Calls that give or take nothing: they keep neither places nor bytes from other calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

grpc = pytest.importorskip("grpc")

from frontends.grpc.calls import rows, serving  # noqa: E402
from patience import PATIENCE  # noqa: E402

import actorflow as af  # noqa: E402
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks  # noqa: E402
from actorflow.frontends.grpc import messages  # noqa: E402
from actorflow.frontends.grpc.methods import METHODS  # noqa: E402
from actorflow.frontends.grpc.reads import Reads  # noqa: E402
from actorflow.frontends.grpc.streams import serve_stream  # noqa: E402
from actorflow.frontends.grpc.writes import Writes  # noqa: E402

LIVE = "ServerLive"


async def test_a_call_without_a_token_is_answered_before_it_says_anything(tmp_path: Path) -> None:
    token = (("authorization", "Bearer sixteen letters or more"),)
    async with serving(tmp_path, token=token[0][1].split(" ", 1)[1], server={"most_calls": 1}) as calls:
        silent = calls.stream(LIVE)
        assert messages.Truth.FromString(await silent.read()).value
        assert await silent.code() == grpc.StatusCode.OK
        assert (await calls.call("ServerReady", b"", messages.Truth, metadata=token)).value


@pytest.mark.parametrize("method", [name for name in (*METHODS, "ModelInfer") if name != LIVE])
async def test_a_message_that_does_not_arrive_ends_its_call(method: str, tmp_path: Path) -> None:
    async with serving(tmp_path, server={"arrival_seconds": 0.01, "most_calls": 1}) as calls:
        silent = calls.stream(method)
        assert await silent.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        assert "did not arrive within 0.01 seconds" in await silent.details()


async def test_slow_messages_keep_no_prompt_message_out(tmp_path: Path) -> None:
    async with serving(tmp_path) as calls:
        reads = calls.server._reads = Reads(1, PATIENCE, 0.0)
        silent = calls.stream("ModelInfer")
        await silent.wait_for_connection()
        with anyio.fail_after(PATIENCE):
            while not reads.slow:
                await anyio.lowlevel.checkpoint()
        assert await calls.stream("ServerReady").code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        reads._prompt_seconds = PATIENCE
        await calls.infer(rows())
        assert reads.slow == 1
        silent.cancel()
        with anyio.fail_after(PATIENCE):
            while reads.slow:
                await anyio.lowlevel.checkpoint()


class Arriving:
    """A call whose message arrives when its event is set."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()

    async def read(self) -> bytes:
        await self.arrived.wait()
        return b"message"


async def test_slow_messages_have_as_many_places_as_there_are() -> None:
    reads, calls = Reads(2, PATIENCE, 0.0), [Arriving(), Arriving()]
    slow = [asyncio.ensure_future(reads.message(call)) for call in calls]
    with anyio.fail_after(PATIENCE):
        while reads.slow < 2:
            await anyio.lowlevel.checkpoint()
    with pytest.raises(af.errors.Overloaded, match="2 others do already"):
        await reads.message(Arriving())
    calls[0].arrived.set()
    assert await slow[0] == b"message" and reads.slow == 1
    calls[1].arrived.set()
    assert await slow[1] == b"message" and reads.slow == 0


class Leaving:
    """A call of which each message fails, or none ends.

    Args:
        failure: what a write raises; None for a write that does not end.
    """

    def __init__(self, failure: Exception | None) -> None:
        self.failure, self.requests = failure, [b"request"]

    async def read(self) -> Any:
        return self.requests.pop() if self.requests else None

    async def write(self, data: bytes) -> None:
        if self.failure is None:
            await anyio.sleep_forever()
        else:
            raise self.failure


class Answering:
    """A request of a stream with a single answer."""

    has_pieces, identifier = False, ""

    async def answers(self, is_streamed: bool) -> AsyncIterator[bytes]:
        yield b""


WRITES: dict[str, tuple[Callable[[], Exception], type[Exception], str]] = {
    "the client has left": (grpc.aio.InternalError, ConnectionResetError, "The client has left"),
    "gRPC refuses it": (lambda: grpc.aio.UsageError("RPC finished"), grpc.aio.UsageError, "RPC finished"),
    "anything else": (lambda: ValueError("wrong"), ValueError, "wrong"),
}


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(("failure", "kind", "words"), WRITES.values(), ids=WRITES)
async def test_a_message_that_can_not_be_written_fails(
    failure: Callable[[], Exception], kind: type[Exception], words: str, is_stream: bool
) -> None:
    tasks, context = BackgroundTasks(), Leaving(failure())
    writes = Writes(context, tasks, PATIENCE)
    with pytest.raises(kind, match=words):
        await (serve_stream(context, lambda data: Answering(), writes) if is_stream else writes.message(b"answer"))  # type: ignore[arg-type,return-value]
    await tasks.close()


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_message_that_is_under_way_when_its_server_ends_fails(is_stream: bool) -> None:
    tasks, context = BackgroundTasks(), Leaving(None)
    writes = Writes(context, tasks, PATIENCE)
    asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(tasks.close()))
    with pytest.raises(af.errors.UnavailableError, match="The server ends"):
        await (serve_stream(context, lambda data: Answering(), writes) if is_stream else writes.message(b"answer"))  # type: ignore[arg-type,return-value]


async def test_a_server_ends_once(tmp_path: Path) -> None:
    async with serving(tmp_path) as calls, anyio.create_task_group() as group:
        await calls.infer(rows())
        for _ in range(2):
            group.start_soon(calls.server.__aexit__, None, None, None)
