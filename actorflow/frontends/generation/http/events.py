"""Answers as events that a server sends (`text/event-stream`)."""

from __future__ import annotations

from actorflow.frontends.serving.protocols.writing import dump_json

KIND = b"text/event-stream; charset=utf-8"
HEADERS = ((b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"))
"""Headers that keep caches and proxies from holding parts back."""
DONE = b"data: [DONE]\n\n"
"""The last event of OpenAI's streams."""


def event(content: object) -> bytes:
    """JSON as an event."""
    return b"data: %b\n\n" % dump_json(content)
