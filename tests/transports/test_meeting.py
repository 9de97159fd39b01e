"""A step's rendezvous over links: what a link's end means to those who send and receive."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from channels import pair

from actorflow.cluster.worker.remote_rendezvous import RemoteRendezvous, Route
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
