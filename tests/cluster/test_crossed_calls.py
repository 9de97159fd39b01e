"""A call that is cancelled while its reply arrives has nothing left to take back, and waits for no one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from actorflow.cluster.wire.messages import Status
from actorflow.cluster.wire.rpc import Rpc
from actorflow.engine.transport.base import Peer, ProcessIdentity


class Wire:
    """A channel to nowhere, which keeps what is posted."""

    peer = Peer(ProcessIdentity("", "/job:ps/task:0", 1), "", None)

    def __init__(self) -> None:
        self.posted: list[Any] = []
        self.hear: Callable[[Any], object] = self.posted.append

    def post(self, message: Any) -> None:
        self.posted.append(message)

    def listen(self, callback: Callable[[Any], object]) -> None:
        self.hear = callback

    def on_end(self, callback: Callable[[BaseException], object]) -> None:
        pass

    def statistics(self) -> Any:
        return SimpleNamespace(round_trip=None)


async def started() -> tuple[Wire, asyncio.Task[Any]]:
    wire: Any = Wire()
    rpc = Rpc(wire)
    rpc.start()
    call = asyncio.create_task(rpc.call(Status()))
    await asyncio.sleep(0)
    assert wire.posted == [[1, 1, "status", []]]
    return wire, call


async def test_f61_a_reply_that_crosses_the_cancellation() -> None:
    wire, call = await started()
    call.cancel()
    wire.hear([2, 1, {}])
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(wire.posted) == 1, "it took a request back that had been answered"


async def test_f61_a_reply_after_it_was_taken_back() -> None:
    wire, call = await started()
    call.cancel()
    await asyncio.sleep(0)
    assert wire.posted[1:] == [[4, 1], [1, 2, "ping", []]] and not call.done()
    wire.hear([3, 1, {"class": "CancelledError", "message": "taken back"}])
    with pytest.raises(asyncio.CancelledError):
        await call
