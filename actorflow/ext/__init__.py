"""Joins sessions to frameworks of others: `af.ext.asgi` for web services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.public import lazily, public

if TYPE_CHECKING:
    from actorflow.ext import asgi as asgi

public("af:ext")

__getattr__, __dir__, __all__ = lazily(
    __name__, "af.ext", {"asgi": "actorflow.ext.asgi:"}, "module {module!r} has no attribute {name!r}"
)
