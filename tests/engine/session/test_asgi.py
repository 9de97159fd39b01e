"""Sessions in ASGI applications: steps end with their clients, errors become responses, the lifespan owns the session."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import numpy as np
import pytest
import uvicorn
from patience import PATIENCE
from probes import Probe, hold, probe, wait
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import actorflow as af
from actorflow import errors
from actorflow.frontends.ext import asgi

__all__ = ["probe"]


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


class Client:
    """The client of one request whose body has been read."""

    def __init__(self) -> None:
        self.left = anyio.Event()
        self.messages = [{"type": "http.request", "body": b"more"}]

    async def receive(self) -> dict[str, Any]:
        if self.messages:
            return self.messages.pop()
        await self.left.wait()
        return {"type": "http.disconnect"}


# ---- until_disconnected


@pytest.mark.parametrize("how", ["a request", "a function"])
async def test_the_result_comes_out(how: str) -> None:
    client = Client()
    async with af.Session() as session:
        run = session.run(af.constant(3) + 1)
        assert await asgi.until_disconnected(client if how == "a request" else client.receive, run) == 4


async def test_a_step_ends_with_its_client(probe: Probe) -> None:
    leaving, staying = Client(), Client()
    x = wait(af.constant(1.0), tag="a")
    seen: dict[str, Any] = {}

    async def ask(name: str, client: Client) -> None:
        try:
            seen[name] = await asgi.until_disconnected(client, session.run(x))
        except asgi.ClientDisconnected as error:
            seen[name] = error
            assert session.statistics().cancelled == 1, "the step is over by then"

    with anyio.fail_after(PATIENCE):
        async with af.Session() as session, anyio.create_task_group() as group:
            group.start_soon(ask, "leaving", leaving)
            group.start_soon(ask, "staying", staying)
            while probe.ran["a"] < 2:
                await probe.arrived("a").wait()
                probe.arrived("a").clear()
            leaving.left.set()
            while "leaving" not in seen:
                await anyio.lowlevel.checkpoint()
            assert "staying" not in seen and session.pending().count("step ") == 1
            probe.gate("a").set()
    assert isinstance(seen["leaving"], errors.CancelledError) and "client has gone away" in str(seen["leaving"])
    assert seen["staying"] == 1.0


async def test_errors_come_out_as_they_are() -> None:
    x = af.placeholder(af.float32, [2])
    async with af.Session() as session:
        with pytest.raises(errors.FeedError):
            await asgi.until_disconnected(Client(), session.run(x, {x: [1.0]}))
        with pytest.raises(errors.DeadlineExceededError):
            queue = af.FIFOQueue(1, [af.float32])
            await asgi.until_disconnected(Client(), session.run(queue.dequeue(), timeout=0.01))

    async def broken() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await asgi.until_disconnected(Client(), broken())


async def test_a_connection_that_breaks_is_a_client_that_left() -> None:
    async def receive() -> Any:
        raise OSError("reset")

    with pytest.raises(asgi.ClientDisconnected) as caught:
        await asgi.until_disconnected(receive, anyio.sleep_forever())
    assert isinstance(caught.value.__cause__, OSError)


async def test_what_the_awaitable_makes_of_its_end_is_the_cause() -> None:
    client = Client()

    async def stubborn() -> None:
        try:
            client.left.set()
            await anyio.sleep_forever()
        finally:
            raise ValueError("at the end")

    with pytest.raises(asgi.ClientDisconnected) as caught:
        await asgi.until_disconnected(client, stubborn())
    assert isinstance(caught.value.__cause__, ValueError)


async def test_a_cancellation_from_outside_passes() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await asgi.until_disconnected(Client(), anyio.sleep_forever())
    assert scope.cancelled_caught
    task = asyncio.ensure_future(asgi.until_disconnected(Client(), anyio.sleep_forever()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# ---- responses


async def respond(application: Callable[..., Awaitable[None]], kind: str = "http") -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await asgi.ErrorResponses(application)({"type": kind}, Client().receive, send)
    return sent


@pytest.mark.parametrize(
    ("error", "status", "headers"),
    [
        (errors.Overloaded("Too much.", retry_after=2.1), 429, {b"retry-after": b"3"}),
        (errors.Overloaded("Too much.", retry_after=0.002), 429, {b"retry-after": b"1"}),
        (errors.DeadlineExceededError("Too late.", node="n"), 504, {}),
        (errors.FeedError("It does not fit.", details=["the value"]), 400, {}),
        (errors.UnavailableError("A task is lost."), 503, {}),
        (asgi.ClientDisconnected("Gone."), 499, {}),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_an_error_is_a_response(error: errors.OpError, status: int, headers: dict[bytes, bytes]) -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        raise error

    start, body = await respond(failing)
    assert (start["type"], start["status"]) == ("http.response.start", status)
    assert json.loads(body["body"]) == {"error": error.message}
    expected = {b"content-type": b"application/json", b"content-length": str(len(body["body"])).encode()}
    assert dict(start["headers"]) == expected | headers


@pytest.mark.parametrize("error", [errors.InternalError("a bug"), errors.DataLossError("damaged"), KeyError("k")])
async def test_other_errors_pass(error: Exception) -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        raise error

    with pytest.raises(type(error)):
        await respond(failing)


@pytest.mark.parametrize(("kind", "begun"), [("http", True), ("websocket", False), ("lifespan", False)])
async def test_errors_pass_where_no_response_can_be_begun(kind: str, begun: bool) -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise errors.DeadlineExceededError("late")

    with pytest.raises(errors.DeadlineExceededError):
        await respond(failing, kind)


# ---- the lifespan


async def test_the_lifespan_owns_a_session() -> None:
    v = af.Variable(2.0)
    begun = []

    async def start(session: af.Session) -> None:
        begun.append(await session.run(v.initializer))

    async with asgi.lifespan(v.graph, start=start, limits=af.SessionLimits(max_inflight_steps=3))(None) as state:
        session = state["session"]
        assert begun == [None] and await session.run(v) == 2.0
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        await session.run(v)


async def test_what_runs_in_the_background_is_cancelled_at_the_end(probe: Probe) -> None:
    x = wait(af.constant(1.0), tag="train")

    async def train(session: af.Session) -> None:
        await session.run(x)

    with anyio.fail_after(PATIENCE):
        async with asgi.lifespan(x.graph, background=train)(None) as state:
            await probe.arrived("train").wait()
    assert state["session"].statistics().cancelled == 1


async def test_requests_go_on_when_the_background_fails(caplog: pytest.LogCaptureFixture) -> None:
    failed = anyio.Event()

    async def train(session: af.Session) -> None:
        failed.set()
        raise ValueError("no loss")

    async with asgi.lifespan(background=train)(None) as state:
        await failed.wait()
        await anyio.lowlevel.checkpoint()
        assert await state["session"].run(af.constant(1)) == 1
    assert "the work in the background failed" in caplog.text and "no loss" in caplog.text


@pytest.mark.parametrize("background", [None, lambda session: anyio.sleep_forever()])
async def test_errors_of_the_lifespan_are_in_no_group(background: Any) -> None:
    async def start(session: af.Session) -> None:
        raise errors.NotFoundError("no checkpoint")

    with pytest.raises(errors.NotFoundError):
        async with asgi.lifespan(start=start, background=background)(None):
            pytest.fail("it has not begun")
    with pytest.raises(KeyError, match="inside"):
        async with asgi.lifespan(background=background)(None):
            raise KeyError("inside")


# ---- an application under a server


def make_app(probe: Probe, **options: Any) -> Starlette:
    x = af.placeholder(af.float32, [None, 2], name="x")
    total = af.reduce_sum(x)
    held = wait(total, tag="held")
    graph = x.graph

    async def add(request: Request) -> Response:
        values = await request.json()
        run = request.state.session.run(total, {x: values}, timeout=PATIENCE)
        return JSONResponse(float(await asgi.until_disconnected(request, run)))

    async def late(request: Request) -> Response:
        values = await request.json()
        run = request.state.session.run(held, {x: values}, timeout=float(request.query_params.get("timeout", PATIENCE)))
        return JSONResponse(float(await asgi.until_disconnected(request, run)))

    async def statistics(request: Request) -> Response:
        found = request.state.session.statistics()
        return JSONResponse({name: getattr(found, name) for name in ("inflight", "queued", "waiting", "cancelled")})

    return Starlette(
        routes=[
            Route("/add", add, methods=["POST"]),
            Route("/late", late, methods=["POST"]),
            Route("/statistics", statistics),
        ],
        lifespan=asgi.lifespan(graph, **options),
        middleware=[Middleware(asgi.ErrorResponses)],
    )


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a real server in this loop."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", ws="none"))
    server.capture_signals = _nothing  # type: ignore[method-assign]  (those of the tests stay as they are)
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve, [listener])
        while not server.started:
            await anyio.lowlevel.checkpoint()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with httpx.AsyncClient(base_url=address, timeout=PATIENCE) as client:
            yield client
        server.should_exit = True


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


async def until(client: httpx.AsyncClient, **wanted: int) -> None:
    while True:
        found = (await client.get("/statistics")).json()
        if all(found[name] == value for name, value in wanted.items()):
            return


async def test_many_clients_at_once(probe: Probe) -> None:
    with anyio.fail_after(PATIENCE):
        async with served(make_app(probe)) as client:
            answers = [None] * 30

            async def ask(i: int) -> None:
                answers[i] = (await client.post("/add", json=[[i, 1.0]])).json()

            async with anyio.create_task_group() as group:
                for i in range(30):
                    group.start_soon(ask, i)
    assert answers == [i + 1.0 for i in range(30)]


async def test_a_client_that_leaves_and_one_that_stays(probe: Probe) -> None:
    with anyio.fail_after(PATIENCE):
        async with served(make_app(probe)) as client:
            answers = []

            async def ask() -> None:
                answers.append((await client.post("/late", json=[[1, 2]])).json())

            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await until(client, waiting=1)
                with anyio.CancelScope() as scope:
                    async with anyio.create_task_group() as leaving:
                        leaving.start_soon(ask)
                        await until(client, waiting=2)
                        scope.cancel()  # httpx closes the connection
                await until(client, waiting=1, cancelled=1)
                assert answers == []
                probe.gate("held").set()
            assert answers == [3.0]


async def test_what_a_client_sees_of_errors(probe: Probe) -> None:
    with anyio.fail_after(PATIENCE):
        async with served(make_app(probe)) as client:
            answer = await client.post("/add", json=[[1.0]])
            assert answer.status_code == 400
            assert answer.json() == {
                "error": "The value fed to x:0 does not fit. "
                "Cannot feed value of shape (1, 1) for Tensor x:0, which has shape (?, 2)."
            }
            assert (await client.post("/late?timeout=0.01", json=[[1, 2]])).status_code == 504
            assert (await client.post("/add", json=[[1, 2]])).json() == 3.0


async def test_overload_is_429_and_says_when_to_come_again(probe: Probe) -> None:
    app = make_app(probe, limits=af.SessionLimits(max_inflight_steps=1, max_queued_steps=1))
    with af.get_default_graph().as_default():
        busy = hold(af.constant(np.float32(1.0)))
    with anyio.fail_after(PATIENCE):
        async with app.router.lifespan_context(app) as state, anyio.create_task_group() as group:
            session = state["session"]

            async def with_state(scope: Any, receive: Any, send: Any) -> None:
                await app({**scope, "state": dict(state)}, receive, send)

            async with httpx.AsyncClient(transport=httpx.ASGITransport(with_state), base_url="http://a") as client:
                group.start_soon(session.run, busy)
                while not session.statistics().inflight:
                    await anyio.lowlevel.checkpoint()
                answers = []

                async def ask() -> None:
                    answers.append(await client.post("/add", json=[[1, 2]]))

                group.start_soon(ask)
                while not session.statistics().queued:
                    await anyio.lowlevel.checkpoint()
                refused = await client.post("/add", json=[[1, 2]])
                assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
                assert "1 steps running and 1 waiting" in refused.json()["error"]
                probe.release.set()
                while not answers:
                    await anyio.lowlevel.checkpoint()
                assert answers[0].json() == 3.0
