"""`Site`: what answers requests of HTTP. Servers of our own and of ASGI serve it, and other applications mount it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import OpError
from actorflow.frontends.ext.asgi import Message, Receive, Send
from actorflow.frontends.http.answers import (
    TEXT,
    Answer,
    Body,
    HttpRequest,
    Streamed,
    TooLargeError,
    add_header,
    refused,
    too_long,
)
from actorflow.frontends.http.messages import send_answer

_LOG = get_logger("http")


class PendingAnswer(Protocol):
    """A request that is answered by a callback."""

    def give_up(self) -> None:
        """Its client has left."""


class Site(ABC):
    """Answers requests.

    A site that is open has been entered. It is an ASGI application too: it opens at the `lifespan` event, or before the first
    request where another application mounts it.
    """

    tasks: BackgroundTasks | None = None
    """Tasks of the site while it is open."""

    # ---- what it answers

    @abstractmethod
    async def respond(self, request: HttpRequest, body: Body | Receive) -> Answer | Streamed:
        """The answer to a request. It raises nothing.

        Args:
            request: the request.
            body: its body, the parts of it, or their source.
        """

    def refusal(self, request: HttpRequest) -> Answer | None:
        """The answer to a request whose body need not be read, since it is refused; None for others.

        Args:
            request: the request.
        """
        error = too_long(request.headers, self.most_body(request.path))
        return None if error is None else self.failure(request.path, error)

    def most_body(self, path: str) -> int:
        """The most bytes of a body that is sent to `path`."""
        return 0

    def failure(self, path: str, error: Exception) -> Answer:
        """The answer to a request for `path` that ends with an error."""
        if isinstance(error, OpError):
            return 413 if isinstance(error, TooLargeError) else 400, TEXT, error.message.encode(), ()
        _LOG.error("a request failed", path=path[:200], exc_info=error)
        return 500, TEXT, b"internal error", ()

    # ---- requests that need no task

    def shortcut(self, request: HttpRequest) -> Any:
        """The meaning of a request that `begin` answers; None for others."""
        return None

    def begin(self, shortcut: Any, body: Body, done: Callable[[Answer], None]) -> PendingAnswer | None:
        """Begins to answer a request. There is no task for it.

        Args:
            shortcut: its meaning.
            body: its body.
            done: is called with the answer, perhaps before this returns.

        Returns:
            The request, or None where its body is such that `respond` has to answer.
        """
        return None

    # ---- bytes of large bodies

    def take(self, size: int) -> None:
        """Counts bytes of large bodies that are held. Raises Overloaded for too many bytes."""
        return None

    def give(self, size: int) -> None:
        """Counts bytes no more."""
        return None

    # ---- its life

    async def __aenter__(self) -> Any:
        if self.tasks is None:
            self.tasks = BackgroundTasks()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, self.tasks = self.tasks, None
        if tasks is not None:
            await tasks.close()

    # ---- ASGI

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serves one connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.__aenter__()
        except Exception as error:
            _LOG.error("a site can't be opened", error=str(error))
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        try:
            await self.__aexit__(None, None, None)
        except Exception as error:
            _LOG.error("a site did not close well", error=str(error))
            await send({"type": "lifespan.shutdown.failed", "message": str(error)})
            return
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        path, root = scope["path"], scope.get("root_path") or ""
        root = root.rstrip("/")
        if root and (path == root or path.startswith(f"{root}/")):  # "/apix" is not below "/api"
            path = path[len(root) :] or "/"
        headers: dict[bytes, bytes] = {}
        double = [name for name, value in scope["headers"] if add_header(headers, name, value)]
        request = HttpRequest(scope["method"], path, headers, scope.get("query_string", b""), root)
        answer: Answer | Streamed
        if double:
            answer = refused(400, f"A request has a single header {double[0].decode()}.")
        else:
            answer = await self.respond(request, receive)
        await send_answer(answer, request.method, receive, send, self.tasks)
