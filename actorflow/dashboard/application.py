"""`Dashboard`: the ASGI application: the page, its events, snapshots, the graph, metrics."""

from __future__ import annotations

import importlib.resources
import json
import secrets
import urllib.parse
from collections.abc import Iterable
from typing import Any

import anyio

from actorflow import logs
from actorflow.cluster.config.credentials import Credentials
from actorflow.dashboard.guard import LOOPBACK, Guard, Message, Receive, Send, answer
from actorflow.dashboard.metrics import CONTENT_TYPE, render
from actorflow.dashboard.outline import Outline
from actorflow.dashboard.sampler import ClusterSource, Sampler, SessionSource, Source
from actorflow.graph.graph import Graph
from actorflow.public import public
from actorflow.session.session import Session

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
    """The live page of a cluster or a session as an ASGI application, to serve by itself or to mount in another one.

        app = Starlette(routes=[Mount("/actorflow", af.dashboard.Dashboard(session))])

    It only shows: each request is a GET, and none changes anything. Requests have to bring the `token`, come from the page itself
    and name one of `hosts`. Values, feeds and keys are not shown.

    Args:
        shown: the address of a task of a cluster, or a `Session` of this process and loop.
        graph: the graph to draw; that of the session unless given.
        credentials: the cluster's keys.
        token: the token that requests bring; a new one unless given, "" for none.
        hosts: the names under which the page is reached.
        period: seconds from one snapshot to the next.
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
        self._outline: tuple[int, Outline] | None = None
        self._streams = 0
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
        elif path == "/graph.json":
            await self._answer_graph(scope, send, with_body)
        elif path == "/events":
            await self._stream(receive, send)
        else:
            await answer(send, 404, f"There is nothing at {path[:200]}.".encode(), "text/plain; charset=utf-8")

    async def _answer_graph(self, scope: Message, send: Send, with_body: bool) -> None:
        query = dict(urllib.parse.parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))
        path = query.get("scope", "")
        if self._graph is None:
            text = "This page was given no graph: use `actorflow dashboard --graph FILE`, or mount it with a session."
            await answer(send, 404, _json({"error": text}), _JSON, with_body=with_body)
            return
        version = self._graph.version
        if self._outline is None or self._outline[0] != version:
            nodes = list(self._graph.nodes.values())
            self._outline = version, await anyio.to_thread.run_sync(Outline, nodes)
        try:
            found = await anyio.to_thread.run_sync(self._outline[1].scope, path)
        except KeyError:
            await answer(send, 404, _json({"error": f"The graph has no scope {path[:200]!r}."}), _JSON)
            return
        await answer(send, 200, _json(found), _JSON, with_body=with_body)

    async def _stream(self, receive: Receive, send: Send) -> None:
        """Server-sent events: a snapshot whenever there is a new one, until the client goes."""
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
                        body = b"id: %d\ndata: %s\n\n" % (snapshot["number"], _json(snapshot))
                        await send({"type": "http.response.body", "body": body, "more_body": True})
        finally:
            self._streams -= 1


def _static(name: str) -> bytes:
    return importlib.resources.files("actorflow.dashboard").joinpath("static", name).read_bytes()


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
