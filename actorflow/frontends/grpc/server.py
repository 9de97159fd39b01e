"""`GrpcServer`: the models of an application by gRPC, with the same guards as by HTTP."""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

import anyio

from actorflow.base.origins import opened_at, with_port
from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import InvalidArgumentError, OpError, Overloaded, UnavailableError, UnimplementedError
from actorflow.frontends.grpc.inference import RpcExchange
from actorflow.frontends.grpc.methods import METHODS
from actorflow.frontends.grpc.reads import Reads
from actorflow.frontends.grpc.streams import serve_stream
from actorflow.frontends.grpc.writes import Writes
from actorflow.frontends.http.server import check_port
from actorflow.frontends.serving.application import Application
from actorflow.frontends.serving.guard import check_address
from actorflow.frontends.serving.protocols.inference import least
from actorflow.public import public

_LOG = get_logger("grpc")
_SERVICE = "inference.GRPCInferenceService"
_LIVE = "ServerLive"
"""Answers without a token, so nothing of its message is read."""
_MOST_MESSAGE = 1 << 20
"""Bytes of a message without tensors."""
_GRACE = 10.0
_KEEP_ALIVE = 60_000
_TIMEOUT = 20_000
_IDLE = 300_000
"""Milliseconds after which a connection without a request is closed; its client opens another when it needs it."""
_MOST_TEXT = 2048
Handler = Callable[[Any, Any], Awaitable[None]]
Work = Callable[[Any, Writes], Awaitable[None]]


def grpc_package() -> Any:
    """The package `grpc`. Raises UnimplementedError if it is absent."""
    try:
        return importlib.import_module("grpc")
    except ImportError:
        raise UnimplementedError(
            "Serving by gRPC needs the package grpcio, which is not installed.",
            hint="Install it with: pip install 'actorflow[grpc]'.",
        ) from None


@public("af.serving")
class GrpcServer:
    """Answers the Open Inference Protocol over gRPC, as `tritonclient.grpc` speaks it, beside or without HTTP.

    Tokens, bounds, deadlines and measures are those of the application. A call whose client has left or whose deadline has passed
    stops the kernels of its request.

    Args:
        application: the models; it is open.
        host: the address to listen on. Other addresses than this machine's own need an application with a token.
        port: the port; 0 takes a free port.
        tls: the certificate chain and the key, in PEM; without encryption unless given.
        most_calls: the most calls at a time.
        taken_seconds: how long an answer may wait for its client to take it.
        arrival_seconds: how long the message of a call may take to arrive; on a stream the client says when.

    Raises:
        InvalidArgumentError: others reach the address, and there is no token.
        UnimplementedError: the package grpcio is not installed.
    """

    def __init__(
        self,
        application: Application,
        host: str = "127.0.0.1",
        port: int = 8500,
        *,
        tls: tuple[bytes, bytes] | None = None,
        most_calls: int = 4096,
        taken_seconds: float = 60.0,
        arrival_seconds: float = 60.0,
    ) -> None:
        check_address(host, "a token" if application.guard.wants_token else None)
        check_port(port)
        self._grpc = grpc_package()
        self._application, self._host, self.port, self._tls = application, host, port, tls
        self._most_calls, self._taken_seconds = most_calls, taken_seconds
        places = max(1, application.large.most_bytes // max(application.max_body, _MOST_MESSAGE))
        self._reads = Reads(places, arrival_seconds)
        self._codes = {status.value[0]: status for status in self._grpc.StatusCode}
        self._server: Any = None
        self._tasks: BackgroundTasks

    @property
    def address(self) -> str:
        """Its address, such as `grpc://127.0.0.1:8500`."""
        return f"{'grpcs' if self._tls else 'grpc'}://{opened_at(self._host, self.port)}"

    async def __aenter__(self) -> GrpcServer:
        options = {
            "grpc.max_receive_message_length": max(self._application.max_body, _MOST_MESSAGE),
            "grpc.max_send_message_length": -1,
            "grpc.so_reuseport": 0,  # a port that is taken is an error
            "grpc.keepalive_time_ms": _KEEP_ALIVE,
            "grpc.keepalive_timeout_ms": _TIMEOUT,
            "grpc.max_connection_idle_ms": _IDLE,
        }
        aio = importlib.import_module("grpc.aio")
        server = aio.server(options=list(options.items()), maximum_concurrent_rpcs=self._most_calls)
        handlers = {name: self._grpc.stream_stream_rpc_method_handler(each) for name, each in self._handlers().items()}
        server.add_generic_rpc_handlers((self._grpc.method_handlers_generic_handler(_SERVICE, handlers),))
        self._tasks = BackgroundTasks()
        try:
            self._listen(server)
            await server.start()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await server.stop(None)
            raise
        self._server = server
        return self

    def _listen(self, server: Any) -> None:
        address = with_port(self._host, self.port)
        try:
            if self._tls is None:
                self.port = server.add_insecure_port(address)
            else:
                chain, key = self._tls
                self.port = server.add_secure_port(address, self._grpc.ssl_server_credentials([(key, chain)]))
        except RuntimeError:
            raise UnavailableError(f"The address {address} can't be listened on by gRPC.") from None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        with anyio.CancelScope(shield=True):
            try:
                if server is not None:
                    await server.stop(_GRACE if kind is None else None)
            finally:
                await self._tasks.close()

    def _handlers(self) -> dict[str, Handler]:
        """All methods take a stream, even those of one message: so a call is refused before its message is read."""
        handlers = {name: self._simple(name) for name in METHODS}
        handlers["ModelInfer"] = self._guarded("ModelInfer", self._infer)
        handlers["ModelStreamInfer"] = self._guarded("ModelStreamInfer", self._stream)
        return handlers

    def _guarded(self, name: str, work: Work) -> Handler:
        """The handler of a method: tokens before it, and errors as gRPC has them."""

        async def handle(_: Any, context: Any) -> None:
            writes = Writes(context, self._tasks, self._taken_seconds)
            try:
                metadata = context.invocation_metadata() or ()
                headers = {key.encode(): value.encode() for key, value in metadata if isinstance(value, str)}
                refusal = None if name == _LIVE else self._application.guard.refusal(headers, "POST")
                if refusal is not None:
                    raise refusal
                await work(context, writes)
                return
            except ConnectionResetError:
                return
            except OpError as error:
                failure = error
            except Exception as error:
                _LOG.error("a call failed", method=name, exc_info=error)
                await writes.end(self._grpc.StatusCode.INTERNAL, "internal error")
                return
            more: tuple[tuple[str, str], ...] = ()
            if isinstance(failure, Overloaded):
                more = (("grpc-retry-pushback-ms", str(math.ceil(failure.retry_after * 1e3))),)
            await writes.end(self._codes[failure.code], failure.message[:_MOST_TEXT], more)

        return handle

    def _simple(self, name: str) -> Handler:
        """The handler of a method that needs no step."""

        async def work(context: Any, writes: Writes) -> None:
            data = b"" if name == _LIVE else await self._reads.message(context)
            if len(data) > _MOST_MESSAGE:
                raise InvalidArgumentError(f"The message has {len(data)} bytes; {_MOST_MESSAGE} are the most.")
            answer = await METHODS[name](self._application, data)
            await writes.message(answer.SerializeToString())

        return self._guarded(name, work)

    async def _infer(self, context: Any, writes: Writes) -> None:
        exchange = RpcExchange(self._application, await self._reads.message(context), self._seconds(context))
        async with contextlib.aclosing(exchange.answers(False)) as answers:
            async for answer in answers:
                await writes.message(answer)

    async def _stream(self, context: Any, writes: Writes) -> None:
        await serve_stream(context, lambda data: RpcExchange(self._application, data, self._seconds(context)), writes)

    def _seconds(self, context: Any) -> float | None:
        """The seconds that an answer has: those of the call, within the server's."""
        return least(self._application.timeout, context.time_remaining())
