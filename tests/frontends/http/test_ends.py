"""The end of a server: answers without an end are ended, others are finished."""

from __future__ import annotations

import anyio
import pytest
from channels import until
from frontends.http.sites import Echo, left, serving
from patience import PATIENCE

GET = b"GET %b HTTP/%b\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
async def test_an_answer_without_an_end_is_ended_as_it_should_be(version: bytes) -> None:
    async with serving() as at:
        reader, writer = await at.open()
        writer.write(GET % (b"/endless", version))
        with anyio.fail_after(PATIENCE):
            await reader.readuntil(b"part 2\n")
            at.end.set()
            rest = await reader.read()  # an abort would be a ConnectionResetError
        assert version == b"1.0" or rest.endswith(b"\r\n0\r\n\r\n")
        assert at.site.streams == 0
        await left(writer)


async def test_the_client_of_an_answer_without_an_end_may_take_nothing() -> None:
    site = Echo()
    site.part = b"x" * (1 << 20)
    async with serving(site) as at:
        _, writer = await at.open()
        writer.write(GET % (b"/endless", b"1.1"))
        await until(lambda: any(connection.is_full for connection in at.server.connections))
        at.end.set()
        await until(lambda: not site.streams and not at.server.connections)
        await left(writer)


async def test_an_answer_without_an_end_that_was_asked_for_last_ends_too() -> None:
    async with serving() as at:
        reader, writer = await at.open()
        writer.write(GET % (b"/parts", b"1.1") + GET % (b"/endless", b"1.1"))
        with anyio.fail_after(PATIENCE):
            await reader.readuntil(b"part 0\n")
            at.end.set()
            assert (await reader.read()).endswith(b"0\r\n\r\n")
        await left(writer)
