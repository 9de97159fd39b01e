"""`Dashboard`: the ASGI application: the page, its events, snapshots, the graph, metrics."""

from __future__ import annotations

import importlib.resources
import json
import os
import secrets
import urllib.parse
from collections.abc import Iterable
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
from actorflow.frontends.dashboard.guard import Guard, Message, Receive, Send, answer
from actorflow.frontends.dashboard.outline import Outline
from actorflow.frontends.dashboard.sampler import ClusterSource, Sampler, SessionSource, Source, brief
from actorflow.frontends.dashboard.steps import SECONDS, busy, picture_of, seconds_of_nodes, steps_of
from actorflow.graph.graph import Graph
from actorflow.public import public

_LOG = logs.get_logger("dashboard")
_STATIC = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}
_JSON = "application/json"
MOST_STREAMS = 16


@public("af.dashboard")
class Dashboard:
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
        shown: str | Session | Source,
        *,
        graph: Graph | None = None,
        credentials: Credentials | None = None,
        token: str | None = None,
        hosts: Iterable[str] = LOOPBACK,
        period: float = 1.0,
        logdir: str | os.PathLike[str] | None = None,
    ) -> None:
        source: Source
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
        self._guard = Guard(self._serve, self.token or None, hosts)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self._guard(scope, receive, send)

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        path = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :]
        path = path or "/"
        with_body = scope["method"] == "GET"
        if path in _STATIC:
            name, kind = _STATIC[path]
            await answer(send, 200, _static(name), kind, with_body=with_body)
        elif path == "/snapshot.json":
            await answer(send, 200, _json(await self.sampler.snapshot()), _JSON, with_body=with_body)
        elif path == "/metrics":
            tasks = await self.sampler.source.ask()
            await answer(send, 200, render(tasks).encode(), CONTENT_TYPE, with_body=with_body)
        elif path in ("/graph.json", "/search.json"):
            await self._answer_graph(path, _query(scope), send, with_body)
        elif path in ("/steps.json", "/step.json", "/step.pftrace"):
            await self._answer_steps(path, _query(scope), send, with_body)
        elif path == "/curves.json":
            await self._answer_curves(send, with_body)
        elif path == "/events":
            await self._stream(receive, send)
        else:
            await answer(send, 404, f"There is nothing at {path[:200]}.".encode(), "text/plain; charset=utf-8")

    async def _answer_steps(self, path: str, query: dict[str, str], send: Send, with_body: bool) -> None:
        number = query.get("number", "")
        if path != "/steps.json" and not (number.isascii() and number.isdigit() and len(number) < 21):
            await answer(send, 404, _json({"error": f"{number[:40]!r} is no number of a step."}), _JSON)
            return
        try:
            step = None if path == "/steps.json" else int(number)
            trace = await self.sampler.source.recent(SECONDS, step)
        except OpError as error:
            await answer(send, 404, _json({"error": error.message}), _JSON, with_body=with_body)
            return
        if path == "/steps.json":
            self._seconds.update(seconds_of_nodes(trace))
            await answer(send, 200, _json({"steps": steps_of(trace), "busy": busy(trace)}), _JSON, with_body=with_body)
        elif not trace.spans:
            text = f"No task remembers step {number}: it is longer ago than {SECONDS:g} s, or was too short to be kept."
            await answer(send, 404, _json({"error": text}), _JSON, with_body=with_body)
        elif path == "/step.json":
            picture = await anyio.to_thread.run_sync(picture_of, trace)
            await answer(send, 200, _json(picture), _JSON, with_body=with_body)
        else:
            kept = ("content-disposition", f'attachment; filename="step-{number}.pftrace"')
            data = await anyio.to_thread.run_sync(trace.to_perfetto)
            await answer(send, 200, data, "application/octet-stream", [kept], with_body=with_body)

    async def _answer_curves(self, send: Send, with_body: bool) -> None:
        if self._curves is None:
            text = "This page was given no summaries: use `actorflow dashboard --logdir FOLDER`."
            await answer(send, 404, _json({"error": text}), _JSON, with_body=with_body)
            return
        async with self._reading:
            curves = await anyio.to_thread.run_sync(self._curves.read)
        await answer(send, 200, _json(curves), _JSON, with_body=with_body)

    async def _answer_graph(self, page: str, query: dict[str, str], send: Send, with_body: bool) -> None:
        path = query.get("scope", "")
        if self._graph is None:
            text = "This page was given no graph: use `actorflow dashboard --graph FILE`, or mount it with a session."
            await answer(send, 404, _json({"error": text}), _JSON, with_body=with_body)
            return
        version = self._graph.version
        if self._outline is None or self._outline[0] != version:
            nodes = list(self._graph.nodes.values())
            self._outline = version, await anyio.to_thread.run_sync(partial(Outline, nodes, self._seconds))
        outline = self._outline[1]
        if self._session is not None:
            outline.placement = self._session._engine.placements()
        if page == "/search.json":
            view: Any = {"found": outline.search(query.get("q", "")[:200])}
            await answer(send, 200, _json(view), _JSON, with_body=with_body)
            return
        try:
            view = await anyio.to_thread.run_sync(outline.scope, path)
        except KeyError:
            await answer(send, 404, _json({"error": f"The graph has no scope {path[:200]!r}."}), _JSON)
            return
        await answer(send, 200, _json(view), _JSON, with_body=with_body)

    def _event(self, snapshot: dict[str, Any]) -> bytes:
        """A snapshot as an event, which all open pages get."""
        number = snapshot["number"]
        if self._sent is None or self._sent[0] != number:
            self._sent = number, b"id: %d\ndata: %s\n\n" % (number, _json(brief(snapshot)))
        return self._sent[1]

    async def _stream(self, receive: Receive, send: Send) -> None:
        """Server-sent events: each new snapshot, until the client goes."""
        if self._streams >= MOST_STREAMS:
            text = f"{MOST_STREAMS} pages are open already. Close one."
            await answer(send, 503, text.encode(), "text/plain; charset=utf-8", [("retry-after", "5")])
            return
        self._streams += 1
        try:
            start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
            await send(start)
            async with anyio.create_task_group() as group:

                async def until_it_goes() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(until_it_goes)
                async with self.sampler.watching() as snapshots:
                    async for snapshot in snapshots:
                        await send({"type": "http.response.body", "body": self._event(snapshot), "more_body": True})
        finally:
            self._streams -= 1


def _query(scope: Message) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))


def _static(name: str) -> bytes:
    return importlib.resources.files("actorflow.dashboard").joinpath("static", name).read_bytes()


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
