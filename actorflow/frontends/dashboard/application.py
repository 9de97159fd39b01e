"""`Dashboard`: the page, its events, snapshots, the graph, metrics."""

from __future__ import annotations

import importlib.resources
import json
import os
import secrets
import urllib.parse
from collections.abc import AsyncGenerator, Iterable
from functools import partial
from typing import Any

import anyio

from actorflow.base.origins import LOOPBACK
from actorflow.base.reports import logs
from actorflow.cluster.config.credentials import Credentials
from actorflow.cluster.processes.metrics import CONTENT_TYPE, render
from actorflow.engine.session.session import Session
from actorflow.errors import OpError
from actorflow.frontends.dashboard.curves import Curves
from actorflow.frontends.dashboard.guard import PageGuard, careful
from actorflow.frontends.dashboard.outline import Outline
from actorflow.frontends.dashboard.sampler import ClusterSource, Sampler, SessionSource, TaskSource, brief
from actorflow.frontends.dashboard.steps import SECONDS, busy, picture_of, seconds_of_nodes, steps_of
from actorflow.frontends.ext.asgi import Receive
from actorflow.frontends.http.answers import JSON, TEXT, Answer, Body, HttpRequest, Streamed
from actorflow.frontends.http.site import Site
from actorflow.graph.graph import Graph
from actorflow.public import public

_LOG = logs.get_logger("dashboard")
_STATIC = {
    "/": ("page.html", b"text/html; charset=utf-8"),
    "/page.js": ("page.js", b"text/javascript; charset=utf-8"),
    "/page.css": ("page.css", b"text/css; charset=utf-8"),
}
MOST_STREAMS = 16


@public("af.dashboard")
class Dashboard(Site):
    """The live page of a cluster or a session as an ASGI application, to serve by itself or to mount in another application.

    It only shows: each request is a GET, and none changes anything. Requests have to bring the `token`, come from the page
    itself and name a host among `hosts`. Values, feeds and keys are not shown, except that the texts of steps' errors may carry
    values.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> page = af.dashboard.Dashboard(session, token="secret")  # Starlette(routes=[Mount("/actorflow", page)])
        >>> type(page).__name__
        'Dashboard'

    Args:
        shown: the address of a task of a cluster, or a `Session` of this process and loop.
        graph: the graph to draw; that of the session unless given.
        credentials: the cluster's keys.
        token: the token that requests bring; a new one unless given, "" for none.
        hosts: the names under which the page is reached.
        period: seconds from one snapshot to the next.
        logdir: a folder of event files, whose scalars the page shows as curves.
    """

    def __init__(
        self,
        shown: str | Session | TaskSource,
        *,
        graph: Graph | None = None,
        credentials: Credentials | None = None,
        token: str | None = None,
        hosts: Iterable[str] = LOOPBACK,
        period: float = 1.0,
        logdir: str | os.PathLike[str] | None = None,
    ) -> None:
        source: TaskSource
        if isinstance(shown, str):
            source = ClusterSource(shown, credentials)
        elif isinstance(shown, Session):
            source = SessionSource(shown)
            graph = shown.graph if graph is None else graph
        else:
            source = shown
        self.token = secrets.token_urlsafe(24) if token is None else token
        """The token that requests have to bring."""
        self.sampler = Sampler(source, period)
        self._graph = graph
        self._session = shown if isinstance(shown, Session) else None
        self._seconds: dict[str, float] = {}
        """The time of each node's kernel, from the steps that were looked at."""
        self._curves = None if logdir is None else Curves(logdir)
        self._reading = anyio.Lock()
        self._outline: tuple[int, Outline] | None = None
        """The graph by its scopes, as it was in a version."""
        self._streams = 0
        self._sent: tuple[int, bytes] | None = None
        """The number of the last snapshot that went to pages, and its event."""
        self._guard = PageGuard(self.token or None, hosts)

    async def respond(self, request: HttpRequest, body: Body | Receive) -> Answer | Streamed:
        """The answer to a request.

        Args:
            request: the request.
            body: its body, which is not read.
        """
        if self.tasks is None:
            await self.__aenter__()
        answer: Answer | Streamed | None = self._guard.refusal(request)
        if answer is None:
            try:
                answer = await self._answer(request)
            except Exception as error:
                answer = self.failure(request.path, error)
        return careful(answer)

    def refusal(self, request: HttpRequest) -> Answer | None:
        """The answer to a request that is not allowed; None for others. The page reads no bodies.

        Args:
            request: the request.
        """
        refusal = self._guard.refusal(request) or super().refusal(request)
        return None if refusal is None else careful(refusal)  # type: ignore[return-value]

    async def _answer(self, request: HttpRequest) -> Answer | Streamed:
        path = request.path
        query = dict(urllib.parse.parse_qsl(request.query.decode("latin-1"), keep_blank_values=True))
        if path in _STATIC:
            name, kind = _STATIC[path]
            return 200, kind, _static(name), ()
        if path == "/snapshot.json":
            return _ok(await self.sampler.snapshot())
        if path == "/metrics":
            return 200, CONTENT_TYPE.encode(), render(await self.sampler.source.ask()).encode(), ()
        if path in ("/graph.json", "/search.json"):
            return await self._answer_graph(path, query)
        if path in ("/steps.json", "/step.json", "/step.pftrace"):
            return await self._answer_steps(path, query.get("number", ""))
        if path == "/curves.json":
            return await self._answer_curves()
        if path == "/events":
            return self._answer_events(request.method)
        return 404, TEXT, f"There is nothing at {path[:200]}.".encode(), ()

    async def _answer_steps(self, path: str, number: str) -> Answer:
        if path != "/steps.json" and not (number.isascii() and number.isdigit() and len(number) < 21):
            return _absent(f"{number[:40]!r} is no number of a step.")
        try:
            step = None if path == "/steps.json" else int(number)
            trace = await self.sampler.source.recent(SECONDS, step)
        except OpError as error:
            return _absent(error.message)
        if path == "/steps.json":
            self._seconds.update(seconds_of_nodes(trace))
            return _ok({"steps": steps_of(trace), "busy": busy(trace)})
        if not trace.spans:
            return _absent(
                f"No task remembers step {number}: it is longer ago than {SECONDS:g} s, or was too short to be kept."
            )
        if path == "/step.json":
            return _ok(await anyio.to_thread.run_sync(picture_of, trace))
        kept = (b"content-disposition", f'attachment; filename="step-{number}.pftrace"'.encode())
        return 200, b"application/octet-stream", await anyio.to_thread.run_sync(trace.to_perfetto), (kept,)

    async def _answer_curves(self) -> Answer:
        if self._curves is None:
            return _absent("This page was given no summaries: use `actorflow dashboard --logdir FOLDER`.")
        async with self._reading:
            return _ok(await anyio.to_thread.run_sync(self._curves.read))

    async def _answer_graph(self, page: str, query: dict[str, str]) -> Answer:
        path = query.get("scope", "")
        if self._graph is None:
            return _absent(
                "This page was given no graph: use `actorflow dashboard --graph FILE`, or mount it with a session."
            )
        version = self._graph.version
        if self._outline is None or self._outline[0] != version:
            nodes = list(self._graph.nodes.values())
            self._outline = version, await anyio.to_thread.run_sync(partial(Outline, nodes, self._seconds))
        outline = self._outline[1]
        if self._session is not None:
            outline.placement = self._session._engine.placements()
        if page == "/search.json":
            return _ok({"found": outline.search(query.get("q", "")[:200])})
        try:
            return _ok(await anyio.to_thread.run_sync(outline.scope, path))
        except KeyError:
            return _absent(f"The graph has no scope {path[:200]!r}.")

    def _event(self, snapshot: dict[str, Any]) -> bytes:
        """A snapshot as an event, which all open pages get."""
        number = snapshot["number"]
        if self._sent is None or self._sent[0] != number:
            self._sent = number, b"id: %d\ndata: %s\n\n" % (number, _json(brief(snapshot)))
        return self._sent[1]

    def _answer_events(self, method: str) -> Answer | Streamed:
        kind = b"text/event-stream"
        if method == "HEAD":
            return 200, kind, b"", ()
        if self._streams >= MOST_STREAMS:
            text = f"{MOST_STREAMS} pages are open already. Close one."
            return 503, TEXT, text.encode(), ((b"retry-after", b"5"),)
        return Streamed(200, kind, self._stream(), is_endless=True)

    async def _stream(self) -> AsyncGenerator[bytes, None]:
        """Server-sent events: each new snapshot."""
        self._streams += 1
        try:
            async with self.sampler.watching() as snapshots:
                async for snapshot in snapshots:
                    yield self._event(snapshot)
        finally:
            self._streams -= 1


def _static(name: str) -> bytes:
    return importlib.resources.files("actorflow.dashboard").joinpath("static", name).read_bytes()


def _ok(value: Any) -> Answer:
    return 200, JSON, _json(value), ()


def _absent(text: str) -> Answer:
    return 404, JSON, _json({"error": text}), ()


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
