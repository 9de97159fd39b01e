"""`Application`: models behind both protocols, as a plain ASGI application."""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
import urllib.parse
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

import anyio

from actorflow import machine
from actorflow.errors import (
    InvalidArgumentError,
    NotFoundError,
    OpError,
    Overloaded,
    PermissionDeniedError,
)
from actorflow.ext.asgi import ClientDisconnected, Message, Receive, Send
from actorflow.logs import get_logger
from actorflow.public import public
from actorflow.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.serving import kserve, rest
from actorflow.serving.batching import Batching
from actorflow.serving.bodies import TooLargeError, dump_json, load_json, unpacked
from actorflow.serving.guard import Guard
from actorflow.serving.measures import Measures
from actorflow.serving.model import Model
from actorflow.serving.signature import Signature
from actorflow.serving.sources import DEFAULT
from actorflow.serving.versions import Served, VersionPolicy, models_in

_LOG = get_logger("serving")
_VERSION = r"(?:/versions/(?P<version>[^/:]+)|/labels/(?P<label>[^/:]+))?"
_REST = re.compile(
    rf"^/v1/models/(?P<model>[^/:]+){_VERSION}(?:/(?P<view>metadata)|:(?P<verb>[a-z]+))?/?$", re.IGNORECASE
)
_KSERVE = re.compile(
    r"^/v2/models/(?P<model>[^/]+)(?:/versions/(?P<version>[^/]+))?(?:/(?P<view>infer|ready|config|stats))?/?$"
)
_REPOSITORY = re.compile(r"^/v2/repository/(?:index|models/(?P<model>[^/]+)/(?P<verb>load|unload))$")
_JSON = b"application/json"
_HEALTH = ("/health", "/healthz", "/v2/health/live")

Answer = tuple[int, bytes, bytes, tuple[tuple[bytes, bytes], ...]]
"""Status, content type, body, further headers."""


@public("af.serving")
class Application:
    """Serves models over HTTP, by TensorFlow Serving's REST interface and by the Open Inference Protocol.

    It is an ASGI application: `uvicorn` runs it, and Starlette and FastAPI mount it. Models are loaded at the `lifespan` event,
    within `async with application`, or, where it is mounted, before the first request.

    Example:
        >>> import os
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> application = af.serving.Application({"triple": "models/triple"}, token=os.urandom(16).hex())
        >>> type(application).__name__
        'Application'

    Args:
        models: paths by name, or a folder of models. A path is a model, or a folder of numbered versions.
        batching: how requests are put together.
        policy: which versions are served.
        labels: for each model, numbers of versions by label.
        signatures: for each model, signatures where its files have none.
        poll_seconds: how often folders are looked at for new versions; 0 never looks.
        timeout: after how many seconds an answer has no use any more; a request may ask for less.
        max_body: the most bytes of a body.
        token: what requests have to bring, as `Authorization: Bearer`; health needs none.
        hosts: the names under which the server is reached; any unless given.
        control: whether requests may load and unload models.
        target: the target of the models' sessions: a cluster. This process unless given.
        session_options: options of the sessions, by name.
    """

    def __init__(
        self,
        models: Mapping[str, str | os.PathLike[str]] | str | os.PathLike[str],
        *,
        batching: Batching | None = None,
        policy: VersionPolicy | None = None,
        labels: Mapping[str, Mapping[str, int]] | None = None,
        signatures: Mapping[str, Any] | None = None,
        poll_seconds: float = 1.0,
        timeout: float | None = 30.0,
        max_body: int = 64 << 20,
        token: str | None = None,
        hosts: Iterable[str] | None = None,
        control: bool = False,
        target: str | None = None,
        session_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._batching = batching or Batching()
        self._poll, self._timeout = poll_seconds, timeout
        self.max_body = max_body
        """The most bytes of a body."""
        self._guard, self._control = Guard(token, hosts), control
        self._folder = None if isinstance(models, Mapping) else os.fspath(models)
        self._target, self._options = target, dict(session_options or {})
        self._signatures, self._labels = signatures or {}, labels or {}
        self._policy = policy or VersionPolicy()
        self.measures = Measures()
        self.served: dict[str, Served] = {}
        """The models by name."""
        for name, path in models.items() if isinstance(models, Mapping) else ():
            self._add(name, os.fspath(path))
        self._tasks: BackgroundTasks | None = None
        self._opening: asyncio.Lock | None = None

    def _add(self, name: str, path: str) -> None:
        def open(path: str) -> Model:
            model = Model(
                path,
                signatures=self._signatures.get(name),
                batching=self._batching,
                target=self._target,
                session_options=self._options,
            )
            model.observe = lambda rows: self.measures.step(name, rows)
            return model

        self.served[name] = Served(name, path, open, self._policy, self._labels.get(name, {}))

    # ---- the life of the models

    async def __aenter__(self) -> Application:
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            if self._tasks is None:
                try:
                    await self.refresh()
                except BaseException:
                    await self._close()
                    raise
                self._tasks = BackgroundTasks()
                if self._poll:
                    self._tasks.start(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            await tasks.close()
        await self._close()

    async def _close(self) -> None:
        with anyio.CancelScope(shield=True):
            for served in self.served.values():
                await served.close()

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

    # ---- ASGI

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serves one connection."""
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
            _LOG.error("the models can't be loaded", error=str(error))
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.__aexit__(None, None, None)
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        path = scope["path"]
        root = scope.get("root_path") or ""
        if root and path.startswith(root):
            path = path[len(root) :] or "/"
        status, kind, body, more = await self.respond(scope["method"], path, dict(scope["headers"]), receive)
        told = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *more]
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def respond(self, method: str, path: str, headers: Mapping[bytes, bytes], body: bytes | Receive) -> Answer:
        """The answer to a request.

        Args:
            method: the method of HTTP.
            path: the path, decoded, without what the application is mounted under.
            headers: the headers; names in lower case.
            body: the body, or where its parts come from.
        """
        try:
            return await self._answer(method, path, headers, body)
        except OpError as error:
            return self._refused(path, error)
        except Exception:
            _LOG.exception("a request failed", path=path[:200])
            return 500, _JSON, dump_json({"error": "internal error"}), ()

    def refusal(self, method: str, path: str, headers: Mapping[bytes, bytes]) -> Answer | None:
        """The answer to a request whose body need not be read, because its headers say that it is refused; None for others.

        Args:
            method: the method of HTTP.
            path: the path, decoded.
            headers: the headers; names in lower case.
        """
        error = None if path in _HEALTH else self._guard.refusal(headers, method)
        error = error or _too_long(headers, self.most_body(path))
        return None if error is None else self._refused(path, error)

    def most_body(self, path: str) -> int:
        """The most bytes of a body that is sent to `path`: none where no token is asked for."""
        return 0 if path in _HEALTH else self.max_body

    def too_large(self, path: str) -> Answer:
        """The answer to a request for `path` whose body turns out to be too large."""
        return self._refused(path, TooLargeError(f"The body has more than {self.most_body(path)} bytes."))

    def _refused(self, path: str, error: OpError) -> Answer:
        status = _status(path, error)
        more = []
        if isinstance(error, Overloaded):
            more.append((b"retry-after", b"%d" % math.ceil(error.retry_after)))
        if status == 401:
            more.append((b"www-authenticate", b"Bearer"))
        return status, _JSON, dump_json({"error": error.message}), tuple(more)

    async def _answer(self, method: str, path: str, headers: Mapping[bytes, bytes], body: bytes | Receive) -> Answer:
        if path in _HEALTH:
            return _ok({"live": True})
        if (refusal := self._guard.refusal(headers, method)) is not None:
            raise refusal
        if self._tasks is None:
            await self.__aenter__()
        if method == "POST":
            return await self._post(path, headers, body)
        if method not in ("GET", "HEAD"):
            return (
                405,
                _JSON,
                dump_json({"error": f"The method {method} is not known here."}),
                ((b"allow", b"GET, HEAD, POST"),),
            )
        return self._get(path)

    # ---- questions

    def _get(self, path: str) -> Answer:
        if path in ("/metrics", "/monitoring/prometheus/metrics"):
            return 200, b"text/plain; version=0.0.4", self.measures.text(self._gauges()).encode(), ()
        if path in ("/v2", "/v2/"):
            return _ok(kserve.server_metadata())
        if path == "/v2/health/ready":
            ready = bool(self.served) and all(s.is_unloaded or s.available() for s in self.served.values())
            return (200 if ready else 503), _JSON, dump_json({"ready": ready}), ()
        if (match := _REST.match(path)) is not None and match["verb"] is None:
            return self._get_rest(match)
        if (match := _KSERVE.match(path)) is not None and match["view"] != "infer":
            return self._get_kserve(match)
        if path.startswith("/v1"):
            raise InvalidArgumentError(f"Malformed request: GET {path[:200]}")
        raise NotFoundError(f"There is nothing at {path[:200]}.")

    def _get_rest(self, match: re.Match[str]) -> Answer:
        name, served = self._named(match["model"])
        number, label = _version(match["version"]), match["label"]
        if match["view"]:
            version, model = served.find(number, label)
            return _ok(rest.metadata(name, version, model.signatures))
        versions = list(served.versions.values())
        if label is not None:
            number = served.find(None, label)[0]
        if number is not None:
            versions = [version for version in versions if version.number == number]
        if not versions:
            raise NotFoundError(f"Could not find any versions of model {name}")
        return _ok(rest.status(versions))

    def _get_kserve(self, match: re.Match[str]) -> Answer:
        name, served = self._named(match["model"])
        number = _version(match["version"])
        if match["view"] == "ready":
            ready = bool(served.available()) if number is None else number in served.available()
            return (200 if ready else 503), _JSON, dump_json({"name": name, "ready": ready}), ()
        version, model = served.find(number)
        if match["view"] == "stats":
            return _ok({"model_stats": [self._statistics(name, version)]})
        signature = _default(model)
        if match["view"] == "config":
            return _ok(kserve.configuration(name, signature, self._batching.max_size))
        return _ok(kserve.model_metadata(name, served.available(), signature))

    def _statistics(self, name: str, version: int) -> dict[str, Any]:
        good, bad, steps, seconds = self.measures.counts(name)
        return {
            "name": name,
            "version": str(version),
            "inference_count": good,
            "execution_count": steps,
            "inference_stats": {"success": {"count": good, "ns": int(seconds * 1e9)}, "fail": {"count": bad, "ns": 0}},
        }

    def _gauges(self) -> Iterator[tuple[str, str, str, float]]:
        for name, served in self.served.items():
            queued = sum(v.model.queued for v in served.versions.values() if v.model is not None)
            yield "actorflow_serving_queued", "Requests that wait.", name, queued
        for name, served in self.served.items():
            yield (
                "actorflow_serving_version",
                "The newest version that answers.",
                name,
                max(served.available(), default=0),
            )

    # ---- inference

    async def _post(self, path: str, headers: Mapping[bytes, bytes], given: bytes | Receive) -> Answer:
        begun = time.perf_counter()
        match = _REST.match(path)
        if match is not None and match["verb"]:
            verb = match["verb"].lower()
            if verb not in ("predict", "classify", "regress"):
                raise InvalidArgumentError(f"Malformed request: POST {path[:200]}")
            handle: Any = self._rest
            protocol, name = "rest", urllib.parse.unquote(match["model"])
        else:
            match = _KSERVE.match(path)
            if match is None or match["view"] != "infer":
                return await self._post_other(path, headers, given)
            handle, verb = self._kserve, "infer"
            protocol, name = "kserve", urllib.parse.unquote(match["model"])
        status = 500
        try:
            body = await self._body(headers, given)
            work = handle(match, verb, headers, body)
            answer: Answer = await (work if isinstance(given, bytes) else self._unless_gone(given, work))
            status = answer[0]
            return answer
        except OpError as error:
            status = _status(path, error)
            raise
        finally:
            if name in self.served:
                self.measures.request(name, protocol, status, time.perf_counter() - begun)

    async def _post_other(self, path: str, headers: Mapping[bytes, bytes], given: bytes | Receive) -> Answer:
        match = _REPOSITORY.match(path)
        if match is None:
            if path.startswith("/v1"):
                raise InvalidArgumentError(f"Malformed request: POST {path[:200]}")
            raise NotFoundError(f"There is nothing at {path[:200]}.")
        if match["model"] is not None and not self._control:
            raise PermissionDeniedError(
                "Models are not loaded or unloaded on request here.",
                hint="Start the server with --allow-unload, or make the application with control=True.",
            )
        await self._body(headers, given)
        if match["model"] is None:
            return 200, _JSON, dump_json([entry for name in self.served for entry in self._index(name)]), ()
        name, served = self._named(match["model"])
        if match["verb"] == "load":
            await served.load()
            if not served.available():
                raise InvalidArgumentError(f"failed to load {name!r}: no version of it can be loaded.")
        else:
            await served.unload()
        return 200, _JSON, b"", ()

    def _index(self, name: str) -> list[dict[str, str]]:
        states = {"AVAILABLE": "READY", "END": "UNAVAILABLE"}
        return [
            {
                "name": name,
                "version": str(version.number),
                "state": states.get(version.state, version.state),
                "reason": "" if version.error is None else version.error.message,
            }
            for version in self.served[name].versions.values()
        ]

    async def _body(self, headers: Mapping[bytes, bytes], given: bytes | Receive) -> bytes:
        """The body of a request, without its compression.

        Raises:
            TooLargeError: it is larger than allowed; the rest of it is not read.
        """
        body = given if isinstance(given, bytes) else await self._read(headers, given)
        encoding = headers.get(b"content-encoding")
        return body if encoding is None else unpacked(body, encoding.decode("latin-1").lower(), self.max_body)

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        if (error := _too_long(headers, self.max_body)) is not None:
            raise error
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected("The client has gone away before its request was there.")
            part = message.get("body", b"")
            size += len(part)
            if size > self.max_body:
                raise TooLargeError(f"The body has more than {self.max_body} bytes.")
            parts.append(part)
            if not message.get("more_body"):
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _unless_gone(self, receive: Receive, work: Awaitable[Answer]) -> Answer:
        """The answer that `work` gives. It is cancelled when the client goes away."""
        tasks = self._tasks
        assert tasks is not None
        with anyio.CancelScope() as scope:
            watch = tasks.start(_watch(receive, scope))
            try:
                return await work
            finally:
                if watch is not None:
                    watch.cancel()
        raise ClientDisconnected("The client has gone away, so its request was given up.")

    async def _rest(self, match: re.Match[str], verb: str, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        _, served = self._named(match["model"])
        _, model = served.find(_version(match["version"]), match["label"])
        content = load_json(body)
        signature = model.signature(rest.signature_name(content))
        timeout = self._limit(headers)
        if verb == "predict":
            inputs, by_rows = rest.predict_inputs(content, signature)
            outputs = await model.infer(signature, inputs, None, timeout)
            return _ok(rest.predict_answer(outputs, by_rows))
        inputs = rest.examples(content, signature, verb)
        outputs = await model.infer(signature, inputs, None, timeout)
        return _ok(rest.results(outputs, verb, len(content["examples"])))

    async def _kserve(self, match: re.Match[str], verb: str, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        name, served = self._named(match["model"])
        version, model = served.find(_version(match["version"]))
        length = headers.get(b"inference-header-content-length")
        request = kserve.read(body, None if length is None else length.decode("latin-1"))
        asked = request.parameters.get("signature_name", "")
        signature = model.signature(asked) if asked and isinstance(asked, str) else _default(model)
        micros = request.parameters.get("timeout")
        if micros is not None and (type(micros) is not int or micros < 0):
            raise InvalidArgumentError("The parameter 'timeout' has to be a number of microseconds.")
        timeout = self._limit(headers)
        if micros:
            asked = min(micros, 10**18) / 1e6  # what is longer has no float
            timeout = asked if timeout is None else min(asked, timeout)
        outputs = await model.infer(signature, request.inputs, request.outputs, timeout)
        data, head = kserve.answer(request, name, version, signature, outputs)
        if head is None:
            return 200, _JSON, data, ()
        return 200, b"application/octet-stream", data, ((b"inference-header-content-length", b"%d" % head),)

    def _limit(self, headers: Mapping[bytes, bytes]) -> float | None:
        """How many seconds a request has: those of its header `timeout-ms` or `x-request-timeout`, within the server's."""
        for key, scale in ((b"x-request-timeout", 1.0), (b"timeout-ms", 1e-3)):
            given = headers.get(key)
            if given is not None:
                try:
                    seconds = float(given) * scale
                except ValueError:
                    seconds = math.nan
                if not 0 < seconds < math.inf:
                    raise InvalidArgumentError(f"The header {key.decode()} has to be a positive number.")
                return seconds if self._timeout is None else min(seconds, self._timeout)
        return self._timeout

    def _named(self, text: str) -> tuple[str, Served]:
        name = urllib.parse.unquote(text)
        served = self.served.get(name)
        if served is None:
            raise NotFoundError(f"Servable not found for request: Latest({name[:200]})")
        return name, served


def _too_long(headers: Mapping[bytes, bytes], most: int) -> TooLargeError | None:
    """The error of a body that its header says to have more than `most` bytes; None for others."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and (len(length) > 18 or int(length) > most):
        return TooLargeError(f"The body has {length[:20].decode()} bytes; {most} are the most.")
    return None


def _status(path: str, error: OpError) -> int:
    """The status that is sent for an error."""
    status = 413 if isinstance(error, TooLargeError) else rest.code_of(error)
    return 400 if path.startswith("/v2") and status in (409, 499) else status


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except Exception:  # the connection broke
        _LOG.debug("a connection broke while its request was answered", exc_info=True)
    scope.cancel()


def _default(model: Model) -> Signature:
    signatures = model.signatures
    return signatures[DEFAULT] if DEFAULT in signatures else model.signature(next(iter(signatures), DEFAULT))


def _version(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise InvalidArgumentError(f"Failed to convert version: {text[:40]} to numeric.")
    return int(text)


def _ok(content: Any) -> Answer:
    return 200, _JSON, dump_json(content), ()


@public("af.serving")
def app(models: Mapping[str, str | os.PathLike[str]] | str | os.PathLike[str], **options: Any) -> Application:
    """An ASGI application that serves models: `Application(models, **options)`.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> app = af.serving.app({"triple": "models/triple"})  # uvicorn module:app
        >>> type(app).__name__
        'Application'

    Args:
        models: paths by name, or a folder of models.
        options: those of `Application`.
    """
    return Application(models, **options)
