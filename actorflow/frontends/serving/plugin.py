"""`Plugin`: requests of other kinds, answered beside those of the two protocols (entry point group `actorflow.serving`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from actorflow.base.registry import plugins as installed
from actorflow.engine.batching.rows import Batching
from actorflow.engine.session.session import Session
from actorflow.exchange.sources.source import Source
from actorflow.frontends.ext.asgi import Receive
from actorflow.frontends.http.answers import Answer, Streamed

if TYPE_CHECKING:
    from actorflow.frontends.serving.application import Application
    from actorflow.frontends.serving.model import Model
    from actorflow.frontends.serving.protocols.kserve import InferenceRequest


class Gauge(NamedTuple):
    """A figure that `/metrics` tells of a part.

    Args:
        name: its name behind `actorflow_`.
        help: what it counts, in a sentence.
        value: the figure now.
        stage: the stage of a pipeline that it is of, if any.
    """

    name: str
    help: str
    value: float
    stage: str = ""


class Part(Protocol):
    """The work of a plug-in in a model's session. It ends before the session does."""

    async def drain(self) -> None:
        """Waits until none of its requests waits or runs."""

    async def close(self) -> None:
        """Ends its requests."""

    def says(self) -> str:
        """The requests that it answers, for the lines and the page of a server."""

    def gauges(self) -> Iterable[Gauge]:
        """The figures of it that `/metrics` tells."""

    def table(self) -> Sequence[Sequence[str]]:
        """A table for the page of a server, with headings in its first row; empty for none."""


class Flow(ABC):
    """A graph that has no file, in the place of the path of a model. Its part works in the model's session."""

    @abstractmethod
    def entrance(self, batching: Batching) -> Batching:
        """How requests are put together before the graph, for a server that does so by `batching`."""

    @abstractmethod
    def source(self) -> Source:
        """The graph and its signatures."""

    @abstractmethod
    async def open(self, session: Session) -> Part:
        """Its part of a session that has its graph."""


class Piece(NamedTuple):
    """A part of an answer in tensors.

    outputs: arrays by name.
    parameters: truth values, numbers and texts by name.
    """

    outputs: Mapping[str, Any]
    parameters: Mapping[str, Any]


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

    def pieces(
        self, model: Model, request: InferenceRequest, timeout: float | None, is_streamed: bool
    ) -> AsyncGenerator[Piece, None] | None:
        """The answer to a request in tensors; None for a request that the model's signatures answer.

        Args:
            model: the model that it names.
            request: its inputs and parameters.
            timeout: the most seconds for the answer.
            is_streamed: whether the answer comes in several parts, else in a single part.

        Raises:
            OpError: the request does not fit, or there is no place.
        """


def plugins() -> Sequence[Plugin]:
    """The plug-ins that are installed."""
    loaded: Mapping[str, Any] = installed.load_all("serving")
    return list(loaded.values())
