"""The path below which an application of ASGI mounts a site."""

from __future__ import annotations

from typing import Any

import pytest
from frontends.http.sites import Echo

ROOTS = [
    ("", "/a", "|/a"),
    ("/api", "/api/a", "/api|/a"),
    ("/api", "/api", "/api|/"),
    ("/api", "/api/", "/api|/"),
    ("/api", "/apix", "/api|/apix"),
    ("/api", "/apix/a", "/api|/apix/a"),
    ("/api", "/a", "/api|/a"),
    ("/api", "/api/api/a", "/api|/api/a"),
    ("/api/", "/api/a", "/api|/a"),
    ("/api/", "/apix", "/api|/apix"),
    ("/", "/a", "|/a"),
]


@pytest.mark.parametrize(("root", "path", "asked"), ROOTS)
async def test_a_path_is_below_a_root_at_a_slash_alone(root: str, path: str, asked: str) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "root_path": root, "headers": [(b"host", b"a")]}
    async with Echo() as site:
        await site(scope, receive, send)
    assert sent[1]["body"].decode() == f"GET {asked}? "
