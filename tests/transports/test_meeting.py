"""A step's rendezvous over links: what a link's end means to those who send and receive."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from channels import pair

from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.worker.remote_rendezvous import RemoteRendezvous, Route
from actorflow.engine.transport.errors import PeerLost
from actorflow.errors import UnavailableError
from actorflow.transports.local import LocalRendezvous

EDGE, STEP = 3, 7


async def test_f63_a_link_that_is_closed_is_unavailable_whatever_a_step_does_with_it() -> None:
    async with pair("local") as both:
        meeting = RemoteRendezvous(STEP, LocalRendezvous(), {"edge": Route(both.client, EDGE)})
        heard: list[Any] = []
        meeting.expect("edge", b"1", lambda token, error: heard.append(error))
        async with anyio.create_task_group() as group:

            async def receives() -> None:
                with pytest.raises(UnavailableError, match="is being closed"):
                    await meeting.recv("edge", b"2")

            group.start_soon(receives)
            await anyio.lowlevel.checkpoint()
            both.client.close()
        assert isinstance(heard[0], UnavailableError)
        assert isinstance(heard[0].__cause__, anyio.ClosedResourceError)
        for use in (
            lambda: meeting.send("edge", None),
            lambda: meeting.expect("edge", b"3", lambda token, error: heard.append(error)),
        ):
            with pytest.raises(UnavailableError, match="is being closed"):
                use()
                raise heard[-1]


async def test_a_link_whose_peer_is_lost_says_so_whatever_a_step_does_with_it() -> None:
    """The channel for tensors is closed because the other one has lost its peer: a step that uses it learns why."""
    async with pair("local") as control, pair("local") as tensors:
        link = TaskLink(control.client)
        link.carry(tensors.client)
        task = link.task
        meeting = RemoteRendezvous(STEP, LocalRendezvous(), {"edge": Route(tensors.client, EDGE)})
        heard: list[Any] = []
        meeting.expect("edge", b"1", lambda token, error: heard.append(error))
        lost = PeerLost(f"The connection to {task} broke: its process has ended or hangs.")
        control.client.lost(lost)
        for use in (
            lambda: meeting.send("edge", None),
            lambda: meeting.expect("edge", b"3", lambda token, error: heard.append(error)),
        ):
            with pytest.raises(UnavailableError, match="has ended or hangs") as caught:
                use()
                raise heard[-1]
            assert task in str(caught.value) and f"{task} does not answer" in str(caught.value)
        assert f"{task} does not answer" in str(heard[0])
