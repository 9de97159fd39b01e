"""Calls that give or take nothing: they keep neither places nor bytes from other calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import pytest

grpc = pytest.importorskip("grpc")

from frontends.grpc.calls import rows, serving  # noqa: E402
from patience import PATIENCE  # noqa: E402

import actorflow as af  # noqa: E402
from actorflow.frontends.grpc import messages  # noqa: E402
from actorflow.frontends.grpc.methods import METHODS  # noqa: E402
from actorflow.frontends.grpc.reads import Reads  # noqa: E402

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
