"""`Plugin`: requests of other kinds, answered beside those of the two protocols (entry point group `actorflow.serving`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from actorflow.base.registry import plugins as installed
from actorflow.engine.batching.rows import Batching
from actorflow.engine.session.session import Session
from actorflow.exchange.sources.source import Source
from actorflow.frontends.ext.asgi import Receive
from actorflow.frontends.serving.protocols.answers import Answer, Streamed

if TYPE_CHECKING:
    from actorflow.frontends.serving.application import Application


class Part(Protocol):
    """The work of a plug-in in a model's session. It ends before the session does."""

    async def drain(self) -> None:
        """Waits until none of its requests waits or runs."""

    async def close(self) -> None:
        """Ends its requests."""

    def says(self) -> str:
        """The requests that it answers, for the lines and the page of a server."""

    def gauges(self) -> Mapping[str, tuple[str, float]]:
        """The figures of it that `/metrics` tells: a help text and a number by name."""


class Plugin(Protocol):
    """Answers requests of its own.

    Args:
        methods: those of signatures that are its own: no request of another protocol sees them.
    """

    methods: Collection[str]

    async def open(self, session: Session, source: Source, batching: Batching) -> Part | None:
        """Its part of a model that was loaded; None for a model that is not its concern."""

    def takes(self, method: str, path: str) -> bool:
        """Whether it answers requests of this method and path."""

    async def respond(
        self,
        application: Application,
        method: str,
        path: str,
        headers: Mapping[bytes, bytes],
        content: bytes | list[bytes] | Receive,
    ) -> Answer | Streamed:
        """The answer to a request that the application has let in. Raises OpError for what is refused."""


def plugins() -> Sequence[Plugin]:
    """The plug-ins that are installed."""
    loaded: Mapping[str, Any] = installed.load_all("serving")
    return list(loaded.values())
