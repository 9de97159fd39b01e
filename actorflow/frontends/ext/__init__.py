"""Joins sessions to frameworks of others: `af.ext.asgi` for web services, `af.ext.otel` for OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.public import lazily, public

if TYPE_CHECKING:
    from actorflow.frontends.ext import asgi as asgi
    from actorflow.frontends.ext import otel as otel

public("af:ext")

__getattr__, __dir__, __all__ = lazily(
    __name__,
    "af.ext",
    {"asgi": "actorflow.ext.asgi:", "otel": "actorflow.ext.otel:"},
    "module {module!r} has no attribute {name!r}",
)
