"""`Application`: models behind both protocols, as a plain ASGI application, and for a server that calls it directly."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

import anyio

from actorflow.base.paths import path_text
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.batching.rows import Batching
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import InvalidArgumentError, OpError, PermissionDeniedError
from actorflow.frontends.ext.asgi import Receive
from actorflow.frontends.http.answers import JSON, SMALL, Answer, Body, HttpRequest, Streamed, TooLargeError, too_long
from actorflow.frontends.http.messages import body_of, unless_gone
from actorflow.frontends.http.site import Site
from actorflow.frontends.serving.exchange import Exchange
from actorflow.frontends.serving.guard import Guard
from actorflow.frontends.serving.large import Large, is_small
from actorflow.frontends.serving.measures import Measures
from actorflow.frontends.serving.model import Model
from actorflow.frontends.serving.plugin import Flow, plugins
from actorflow.frontends.serving.protocols.answers import internal_error, refused
from actorflow.frontends.serving.protocols.bodies import unpacked
from actorflow.frontends.serving.protocols.inference import InferenceCall, InferenceHead, inference
from actorflow.frontends.serving.protocols.pages import page
from actorflow.frontends.serving.protocols.pieces import USUAL, Work
from actorflow.frontends.serving.protocols.questions import HEALTH, PAGES, index, named, nothing_at, question
from actorflow.frontends.serving.protocols.routes import PathRoute, route
from actorflow.frontends.serving.protocols.writing import dump_json, is_large
from actorflow.frontends.serving.versions import Served, VersionPolicy, models_in
from actorflow.public import public

_LOG = get_logger("serving")
T = TypeVar("T")


@public("af.serving")
class Application(Site):
    """Serves models over HTTP, by TensorFlow Serving's REST interface and by the Open Inference Protocol.

    It is an ASGI application: `uvicorn` runs it, and Starlette and FastAPI mount it. Models are loaded at the `lifespan` event,
    within `async with application`, or, if it is mounted, before the first request.

    Example:
        >>> import os
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> application = af.serving.Application({"triple": "models/triple"}, token=os.urandom(16).hex())
        >>> type(application).__name__
        'Application'

    Args:
        models: paths by name, or a folder of models. A path is a model, or a folder of numbered versions. A `Pipeline` may be
            in the place of a path.
        batching: how requests are put together.
        policy: which versions are served.
        labels: for each model, numbers of versions by label.
        signatures: for each model, signatures where its files have none.
        poll_seconds: how often folders are looked at for new versions; 0 never looks.
        timeout: after how many seconds an answer has no use any more; a request may ask for less.
        max_body: the most bytes of a body, also when it is unpacked.
        max_bodies: the most bytes of all bodies together that arrive or wait for their answers, beside 64 KiB of each.
        max_elements: the most elements of the lists in the JSON of a body.
        token: what requests have to bring, as `Authorization: Bearer`; health needs none.
        hosts: the names under which the server is reached; any unless given.
        control: whether requests may load and unload models.
        target: the target of the models' sessions: a cluster. This process unless given.
        session_options: options of the sessions, by name.
    """

    def __init__(
        self,
        models: Mapping[str, str | os.PathLike[str] | Flow] | str | os.PathLike[str],
        *,
        batching: Batching | None = None,
        policy: VersionPolicy | None = None,
        labels: Mapping[str, Mapping[str, int]] | None = None,
        signatures: Mapping[str, Any] | None = None,
        poll_seconds: float = 1.0,
        timeout: float | None = 30.0,
        max_body: int = 64 << 20,
        max_bodies: int = 256 << 20,
        max_elements: int = 1 << 24,
        token: str | None = None,
        hosts: Iterable[str] | None = None,
        control: bool = False,
        target: str | None = None,
        session_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._batching = batching or Batching()
        self._poll, self.timeout = poll_seconds, timeout
        self.max_body = max_body
        """The most bytes of a body."""
        self.large = Large(max_bodies, max_elements)
        """Counts large bodies, and works for them."""
        self.guard, self._control = Guard(token, hosts), control
        """Refuses requests by their headers."""
        self._folder = None if isinstance(models, Mapping) else path_text(models, "models")
        self._target, self._options = target, dict(session_options or {})
        self._signatures, self._labels = signatures or {}, labels or {}
        self._policy = policy or VersionPolicy()
        self.measures = Measures()
        """Counts requests and their times."""
        self.plugins = plugins()
        """Answer requests of their own."""
        self.scheme = "http"
        """The scheme of its address, for the requests that its page shows."""
        self.served: dict[str, Served] = {}
        """The models by name."""
        for name, path in models.items() if isinstance(models, Mapping) else ():
            self._add(name, path if isinstance(path, Flow) else path_text(path))
        self._opening: asyncio.Lock | None = None

    def _add(self, name: str, path: str | Flow) -> None:
        def open(path: str | Flow) -> Model:
            model = Model(
                path,
                signatures=self._signatures.get(name),
                batching=self._batching,
                target=self._target,
                session_options=self._options,
            )
            model.observe = lambda rows: self.measures.step(name, rows)
            return model

        labels = self._labels.get(name, {})
        self.served[name] = Served(name, path, open, self._policy, labels, lambda: self.tasks is not None)

    # ---- the life of the models

    async def __aenter__(self) -> Application:
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            if self.tasks is None:
                try:
                    await self.refresh()
                except BaseException:
                    await self._close()
                    raise
                self.tasks = BackgroundTasks()
                if self._poll:
                    self.tasks.start(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)  # first: what looks at the folders loads models
        finally:
            await self._close()

    async def _close(self) -> None:
        """Closes all models, also where the close of some fails."""
        with anyio.CancelScope(shield=True):
            async with contextlib.AsyncExitStack() as closing:
                for served in self.served.values():
                    closing.push_async_callback(served.close)

    async def refresh(self) -> None:
        """Looks for new models and versions now, and loads them."""
        folder = self._folder
        if folder is not None:
            for name, path in (await machine.on_thread(lambda: models_in(folder))).items():
                if name not in self.served:
                    self._add(name, path)
        for served in list(self.served.values()):
            await served.refresh()

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(self._poll)
            try:
                await self.refresh()
            except Exception as error:
                _LOG.error("the folders of models can't be looked at", error=str(error))

    # ---- requests

    async def respond(self, request: HttpRequest, body: Body | Receive) -> Answer | Streamed:
        """The answer to a request.

        Args:
            request: the request.
            body: the body, its parts, or their source.
        """
        try:
            return await self._answer(request.method, request.path, request.headers, body)
        except Exception as error:
            return self.failure(request.path, error)

    def refusal(self, request: HttpRequest) -> Answer | None:
        """The answer to a request whose body need not be read, because its headers say that it is refused; None for others.

        Args:
            request: the request.
        """
        path, headers = request.path, request.headers
        error = None if path in HEALTH else self.guard.refusal(headers, request.method)
        error = error or too_long(headers, self.most_body(path))
        return None if error is None else refused(path, error)

    @property
    def most_rows(self) -> int:
        """The most rows of a step."""
        return self._batching.max_size

    def most_body(self, path: str) -> int:
        """The most bytes of a body that is sent to `path`: none where no token is asked for."""
        return 0 if path in HEALTH else self.max_body

    def failure(self, path: str, error: Exception) -> Answer:
        """The answer to a request for `path` that ends with an error."""
        if isinstance(error, OpError):
            return refused(path, error)
        _LOG.error("a request failed", path=path[:200], exc_info=error)
        return internal_error()

    async def _answer(
        self, method: str, path: str, headers: Mapping[bytes, bytes], body: Body | Receive
    ) -> Answer | Streamed:
        if path in HEALTH:
            return question(path, {}, self.measures, 0)
        if (refusal := self.guard.refusal(headers, method)) is not None:
            raise refusal
        if self.tasks is None:
            await self.__aenter__()
        for plugin in self.plugins:
            if plugin.takes(method, path):
                return await plugin.respond(self, method, path, headers, body)
        if method == "POST":
            head = self.inference_head(path, headers)
            if head is not None:
                return await self._infer(head, headers, body)
            return await self._control_models(route(path), path, headers, body)
        if method not in ("GET", "HEAD"):
            error = dump_json({"error": f"The method {method} is not known here."})
            return 405, JSON, error, ((b"allow", b"GET, HEAD, POST"),)
        if path in PAGES:
            host = headers.get(b"host", b"localhost").decode("latin-1")
            return page(self.served, f"{self.scheme}://{host}", self.guard.wants_token)
        return question(path, self.served, self.measures, self.most_rows)

    async def _control_models(
        self, target: PathRoute | None, path: str, headers: Mapping[bytes, bytes], content: Body | Receive
    ) -> Answer:
        """Lists, loads and unloads models."""
        if target is None or target.protocol != "repository":
            raise nothing_at("POST", path)
        self._check_control(target.model)
        if not isinstance(content, (bytes, list)):
            await body_of(content, SMALL, lambda size: None)
        if not target.model:
            return 200, JSON, dump_json(index(self.served)), ()
        await self.control(target.model, target.view == "load")
        return 200, JSON, b"", ()

    def _check_control(self, name: str) -> None:
        if name and not self._control:
            raise PermissionDeniedError(
                "Models are not loaded or unloaded on request here.",
                hint="Start the server with --allow-unload, or make the application with control=True.",
            )

    async def control(self, name: str, loads: bool) -> None:
        """Loads or unloads a model on request.

        Args:
            name: its name.
            loads: whether it is loaded; else it is unloaded.

        Raises:
            PermissionDeniedError: requests may not do so here.
            NotFoundError: there is no such model.
            InvalidArgumentError: no version of it can be loaded.
        """
        self._check_control(name)
        served = named(self.served, name)
        if not loads:
            await served.unload()
            return
        await served.load()
        if not served.available():
            raise InvalidArgumentError(f"failed to load {name!r}: no version of it can be loaded.")

    # ---- inference

    def inference_head(self, path: str, headers: Mapping[bytes, bytes]) -> InferenceHead | None:
        """The meaning of the path and headers of a POST; None if it asks no model.

        Args:
            path: the path, decoded.
            headers: the headers; names in lower case.
        """
        target = route(path)
        if target is None or not target.is_inference:
            return None
        return InferenceHead.of(path, target, headers, self.timeout)

    def shortcut(self, request: HttpRequest) -> InferenceHead | None:
        """The call of a model that a request asks for; None for others.

        Args:
            request: the request.
        """
        return self.inference_head(request.path, request.headers) if request.method == "POST" else None

    def begin(self, shortcut: InferenceHead, body: Body, done: Callable[[Answer], None]) -> Exchange | None:
        """Begins to answer a request for inference that has not been refused. There is no task for it.

        Args:
            shortcut: its path and headers.
            body: its body.
            done: is called with the answer, perhaps before this returns.

        Returns:
            The request; None for a large body, which `respond` takes.
        """
        if not is_small(shortcut, body):
            return None
        exchange = Exchange(self, shortcut, done)
        exchange.begin(body)
        return exchange

    def take(self, size: int) -> None:
        """Counts bytes of large bodies. Raises Overloaded for too many bytes."""
        self.large.take(size)

    def give(self, size: int) -> None:
        """Counts bytes no more."""
        self.large.give(size)

    def inference(self, head: InferenceHead, body: Body, work: Work = USUAL) -> InferenceCall:
        """The call of a model that a request asks for.

        Args:
            head: its path and headers.
            body: its body.
            work: the bounds of the work for it.

        Raises:
            OpError: see `protocols.inference.inference`; or the body can't be unpacked.
        """
        whole = body if isinstance(body, bytes) else b"".join(body)
        if head.encoding:
            whole = unpacked(whole, head.encoding, self.max_body, work.check)
        return inference(head, named(self.served, head.route.model), whole, work)

    async def _infer(self, head: InferenceHead, headers: Mapping[bytes, bytes], content: Body | Receive) -> Answer:
        begun, status, held = time.perf_counter(), 499, 0

        def take(size: int) -> None:
            nonlocal held
            self.large.take(size)
            held += size

        async def answer(body: Body) -> Answer:
            deadline = None if head.seconds is None else begun + head.seconds
            if is_small(head, body):
                request = self.inference(head, body)
            else:
                request = await self.large.run(partial(self.inference, head, body), deadline)
                take(sum([array.nbytes for array in request.call.arrays]))
            timeout = None if request.timeout is None else begun + request.timeout - time.perf_counter()
            outputs = await request.model.run(request.call, timeout)
            if is_large(outputs):
                return await self.large.run(lambda work: request.answer(outputs))
            return request.answer(outputs)

        try:
            if isinstance(content, (bytes, list)):
                reply = await answer(content)
            else:
                if (error := too_long(headers, self.max_body)) is not None:
                    raise error
                body = await body_of(content, self.max_body, take)
                reply = await unless_gone(content, answer(body), self.tasks)
            status = reply[0]
            return reply
        except Exception as error:
            reply = self.failure(head.path, error)
            status = reply[0]
            return reply
        finally:
            self.large.give(held)
            self.count(head, status, time.perf_counter() - begun)

    async def read(
        self, headers: Mapping[bytes, bytes], content: Body | Receive, most: int, work: Callable[[bytes], Awaitable[T]]
    ) -> T:
        """The result of `work` for the body of a request. Work ends when the client leaves meanwhile.

        Args:
            headers: the headers of the request.
            content: its body, the parts of it, or their source.
            most: the most bytes, also when it is unpacked.
            work: takes the body.

        Raises:
            TooLargeError: it is larger.
            ClientDisconnected: the client has left.
        """
        if (error := too_long(headers, most)) is not None:
            raise error
        if isinstance(content, (bytes, list)):
            body: Body = content
        else:
            body = await body_of(content, most, lambda size: None)
        whole = body if isinstance(body, bytes) else b"".join(body)
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        if encoding not in ("", "identity"):
            whole = unpacked(whole, encoding, most, lambda: None)
        if len(whole) > most:
            raise TooLargeError(f"The body has {len(whole)} bytes; {most} are the most.")
        if isinstance(content, (bytes, list)):
            return await work(whole)
        return await unless_gone(content, work(whole), self.tasks)

    def answer_later(
        self, answer: Callable[[], Answer], done: Callable[[Answer | None, Exception | None], None]
    ) -> bool:
        """Lets a thread make an answer, because it is large. Whether it will: the application may have ended.

        Args:
            answer: makes it.
            done: is called with it, or with the error.
        """

        async def make() -> None:
            try:
                reply = await self.large.run(lambda work: answer())
            except Exception as error:
                done(None, error)
            else:
                done(reply, None)

        return self.tasks is not None and self.tasks.start(make()) is not None

    def count(self, head: InferenceHead, status: int, seconds: float) -> None:
        """Counts an answer of a model that there is.

        Args:
            head: the path and headers of the request.
            status: the status of the answer.
            seconds: from the request's body to the answer.
        """
        target = head.route
        if target.model in self.served:
            self.measures.request(target.model, target.protocol, status, seconds)


@public("af.serving")
def app(models: Mapping[str, str | os.PathLike[str] | Flow] | str | os.PathLike[str], **options: Any) -> Application:
    """An ASGI application that serves models: `Application(models, **options)`.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> app = af.serving.app({"triple": "models/triple"})  # uvicorn module:app
        >>> type(app).__name__
        'Application'

    Args:
        models: paths or pipelines by name, or a folder of models.
        options: those of `Application`.
    """
    return Application(models, **options)
