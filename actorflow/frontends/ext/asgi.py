"""Sessions in ASGI applications: Starlette, FastAPI, and all others that speak ASGI.

    async def predict(request):
        image = (await request.json())["pixels"]
        step = request.state.session.run(probabilities, {pixels: [image]}, timeout=1.0)
        return JSONResponse((await asgi.until_disconnected(request, step)).tolist())

    app = Starlette(
        routes=[Route("/predict", predict, methods=["POST"])],
        lifespan=asgi.lifespan(graph, start=lambda session: session.run(init)),
        middleware=[Middleware(asgi.ErrorResponses)],
    )

It needs no framework itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.engine.session.session import Session
from actorflow.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    Overloaded,
    UnavailableError,
)
from actorflow.graph.graph import Graph

T = TypeVar("T")
Message: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = "Callable[[], Awaitable[Message]]"
Send: TypeAlias = "Callable[[Message], Awaitable[None]]"
Application: TypeAlias = "Callable[[Message, Receive, Send], Awaitable[None]]"
Work: TypeAlias = "Callable[[Session], Awaitable[object]]"

_LOG = get_logger("ext")


class ClientDisconnected(CancelledError):
    """The client has gone away before its answer was there, and the step was stopped. No client would read the answer."""


_STATUS: tuple[tuple[type[OpError], int], ...] = (
    (Overloaded, 429),
    (DeadlineExceededError, 504),
    (InvalidArgumentError, 400),
    (UnavailableError, 503),
    (ClientDisconnected, 499),
)


def lifespan(
    graph: Graph | None = None, *, start: Work | None = None, background: Work | None = None, **options: Any
) -> Callable[[Any], AbstractAsyncContextManager[dict[str, Session]]]:
    """The `lifespan` of an application that owns a session. Requests find it as `request.state.session`.

    Args:
        graph: what to run; the default graph where none is given.
        start: awaited before the first request is taken: it initialises or restores variables, and warms plans up.
        background: runs beside the requests, a training perhaps, and is cancelled when the application ends. An error of it
            is logged, and the requests go on.
        options: those of `Session`: `target`, `limits` and so on.

    Returns:
        A function of the application that gives an asynchronous context manager, as Starlette and FastAPI take it.
    """

    @asynccontextmanager
    async def owned(app: Any) -> AsyncIterator[dict[str, Session]]:
        async with Session(graph=graph, **options) as session:
            if start is not None:
                await start(session)
            failure: Exception | None = None
            async with anyio.create_task_group() as tasks:
                if background is not None:
                    tasks.start_soon(_beside, background, session)
                try:
                    yield {"session": session}
                except Exception as error:  # which the group would wrap
                    failure = error
                tasks.cancel_scope.cancel()
            if failure is not None:
                raise failure

    return owned


async def _beside(work: Work, session: Session) -> None:
    try:
        await work(session)
    except Exception as error:
        _LOG.error("the work in the background failed; requests go on", work=repr(work), exc_info=error)


async def until_disconnected(request: Any, awaitable: Awaitable[T]) -> T:
    """The result of `awaitable`, which is cancelled when the client of `request` goes away. A step is stopped so.

    Args:
        request: a request of Starlette or FastAPI whose body has been read (`await request.json()`), or an ASGI application's
            `receive`.
        awaitable: such as `session.run(...)`. Its errors come out as they are, in no `ExceptionGroup`.

    Raises:
        ClientDisconnected: the client has gone away. The work of `awaitable` was stopped by then.
    """
    receive: Receive = getattr(request, "receive", request)
    results: list[T] = []
    failure: BaseException | None = None
    disconnected = False

    async def watch() -> None:
        nonlocal disconnected, failure
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        except Exception as error:  # the connection broke
            failure = error
        disconnected = True
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            results.append(await awaitable)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            failure = error
        tasks.cancel_scope.cancel()
    try:
        if results:
            return results[0]
        if disconnected:
            raise ClientDisconnected("The client has gone away, so its step was stopped.") from failure
        assert failure is not None
        raise failure
    finally:
        del failure  # whose traceback holds this frame


class ErrorResponses:
    """ASGI middleware that answers with what an error of actorflow means, as JSON: `{"error": "a sentence"}`.

    | error | status |
    |---|---|
    | `Overloaded` | 429, and `Retry-After` as the session reckons it from its queue and from how long its steps take |
    | `DeadlineExceededError` | 504 |
    | `InvalidArgumentError`, such as a feed that does not fit | 400 |
    | `UnavailableError` | 503 |
    | `ClientDisconnected` | 499, which no client reads |

    All other errors, and those after the beginning of a response, pass through.

    Args:
        app: the application, or the next middleware.
    """

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def send_on(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, send_on)
        except OpError as error:
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), None)
            if begun or status is None:
                raise
            body = json.dumps({"error": error.message}).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            if isinstance(error, Overloaded):
                headers.append((b"retry-after", str(math.ceil(error.retry_after)).encode()))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
