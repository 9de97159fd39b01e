"""`run`, and `HttpServer`: the connections of a site on sockets that listen, until the end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import importlib.util
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio

from actorflow.base.origins import with_port
from actorflow.cluster.processes.listening import open_more_files
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import InvalidArgumentError, UnavailableError, UnimplementedError, with_topic
from actorflow.frontends.http.connection import Connection
from actorflow.frontends.http.site import Site

_LOOKS = 5.0
_HANDSHAKE = 10.0
_HINTS = {
    errno.EADDRINUSE: "Another program listens there. Choose another port; 0 takes a free port.",
    errno.EADDRNOTAVAIL: "The address is not one of this machine.",
    errno.EACCES: "The system gives ports below 1024 to programs with more rights. Choose another port.",
}
_OTHER_FILES = 128
"""Files beside connections: those of models that are loaded, of logs, of the event loop."""
_SWITCH_INTERVAL = 0.0005
"""Seconds for which a thread of Python, such as a thread that reads a graph, may hold the event loop up."""


class HttpServer:
    """The connections of a site.

    Args:
        site: what answers; it is open.
        idle_seconds: after how long a connection without a request is closed.
        arrival_seconds: how long a request may take to arrive, and an answer to be taken.
        most_connections: how many there may be, if the system lets the process open as many files. For one more connection, the
            longest idle connection is closed.
    """

    def __init__(
        self,
        site: Site,
        *,
        idle_seconds: float = 75.0,
        arrival_seconds: float = 60.0,
        most_connections: int = 4096,
    ) -> None:
        self.site = site
        self.idle_seconds, self.arrival_seconds = idle_seconds, arrival_seconds
        self.most_connections = min(most_connections, max(1, open_more_files() - _OTHER_FILES))
        self.loop = asyncio.get_running_loop()
        self.now = self.loop.time
        self.connections: set[Connection] = set()
        self.idle: dict[Connection, None] = {}
        """Those of which no request is there, those that have said nothing for longest first."""
        self.tasks = BackgroundTasks()
        self.handshakes: dict[asyncio.Task[Any], None] = {}
        """Clients that have not shaken hands for TLS: a loop's server would not know them, nor close them at the end."""
        self.is_ending = False
        self.has_lost = asyncio.Event()
        """Set when a connection has ended."""

    async def serve(
        self,
        sockets: Sequence[socket.socket],
        tls: ssl.SSLContext | None,
        end: asyncio.Event,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        """Answers on sockets that listen, until `end` is set; then it ends what it has begun, for ten seconds at most.

        Args:
            sockets: sockets that listen. They are closed at the end.
            tls: certificate and key; HTTP without encryption unless given.
            end: ends it.
            begun: is called when it takes connections.
        """
        loop = asyncio.get_running_loop()
        listeners: list[Any] = []
        try:
            for endpoint in sockets:
                if tls is None:
                    listeners.append(await loop.create_server(lambda: Connection(self), sock=endpoint))
                else:
                    listeners.append(self.tasks.start(self._accept(endpoint, tls)))
            begun()
            while not end.is_set():
                with anyio.move_on_after(_LOOKS):
                    await end.wait()
                self._sweep(loop.time())
        finally:
            for listener in listeners:
                (listener.cancel if tls else listener.close)()
            for handshake in self.handshakes:
                handshake.cancel()
            self.is_ending = True
            for connection in list(self.connections):
                connection.end_when_idle()
            with anyio.CancelScope(shield=True):
                with anyio.move_on_after(10):
                    while self.connections:
                        self.has_lost.clear()
                        await self.has_lost.wait()
                for connection in list(self.connections):
                    connection.transport.abort()
                await self.tasks.close()

    async def _accept(self, listening: socket.socket, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        with listening:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(listening)
                except OSError:  # the client has left, or there are no more files for now
                    await anyio.sleep(0.1)
                    continue
                if len(self.connections) + len(self.handshakes) >= self.most_connections:
                    if len(self.handshakes) > self.most_connections // 4:
                        next(iter(self.handshakes)).cancel()
                    else:
                        self.give_up_idle()
                if (task := self.tasks.start(self._shake_hands(accepted, tls))) is not None:
                    self.handshakes[task] = None
                    task.add_done_callback(self.handshakes.pop)

    async def _shake_hands(self, accepted: socket.socket, tls: ssl.SSLContext) -> None:
        with contextlib.suppress(OSError):  # a client that speaks no TLS, or says nothing
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: Connection(self), accepted, ssl=tls, ssl_handshake_timeout=_HANDSHAKE
            )

    def joined(self, connection: Connection) -> None:
        """A connection is there. If there are too many, the longest idle connection goes for it; without any, it goes
        itself."""
        self.connections.add(connection)
        self.idle[connection] = None
        if self.is_ending:
            connection.transport.close()
        elif len(self.connections) > self.most_connections:
            self.give_up_idle()

    def give_up_idle(self) -> None:
        """Closes the connection that has been idle for longest."""
        longest = next(iter(self.idle), None)
        if longest is not None:
            del self.idle[longest]
            longest.transport.abort()

    def left(self, connection: Connection) -> None:
        """A connection has ended."""
        self.connections.discard(connection)
        self.idle.pop(connection, None)
        self.has_lost.set()

    def _sweep(self, now: float) -> None:
        for connection in list(self.connections):
            connection.end_when_late(now)


def run(
    site: Site,
    sockets: Sequence[socket.socket],
    tls: ssl.SSLContext | None = None,
    ready: Callable[[Sequence[str]], None] = lambda others: None,
    listeners: Sequence[contextlib.AbstractAsyncContextManager[str]] = (),
) -> None:
    """Opens a site, and answers until SIGINT or SIGTERM.

    Args:
        site: the site.
        sockets: sockets that listen. Clients that come while it opens wait.
        tls: certificate and key; HTTP without encryption unless given.
        ready: called with the addresses of the listeners when the site is open.
        listeners: listen beside, from then on.
    """

    async def serve() -> None:
        end, opening, loop = asyncio.Event(), anyio.CancelScope(), asyncio.get_running_loop()

        def stop() -> None:
            end.set()
            opening.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        with opening:
            await site.__aenter__()
        if not opening.cancelled_caught:
            try:
                async with contextlib.AsyncExitStack() as stack:
                    ready([await stack.enter_async_context(listener) for listener in listeners])
                    await HttpServer(site).serve(sockets, tls, end)
            finally:
                await site.__aexit__(None, None, None)

    factory = None
    with contextlib.suppress(ImportError):
        factory = importlib.import_module("uvloop").new_event_loop
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(serve())
    finally:
        sys.setswitchinterval(before)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens: clients that come before its server answers wait.

    Args:
        host: the address.
        port: the port; 0 takes a free port.

    Raises:
        InvalidArgumentError: there is no such port.
        UnavailableError: the address can't be listened on.
    """
    check_port(port)
    if ":" in host:
        host = host.strip("[]")  # as addresses have it
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, UnicodeError, ValueError) as error:
        listener.close()
        code, reason = getattr(error, "errno", None) or 0, getattr(error, "strerror", None) or str(error)
        raise UnavailableError(
            f"The address {with_port(host, port)} can't be listened on: {reason}.", hint=_HINTS.get(code)
        ) from None
    return listener


def check_port(port: int) -> None:
    """Raises InvalidArgumentError for a number that no port has.

    Args:
        port: the number; 0 takes a free port.
    """
    if not 0 <= port < 1 << 16:
        raise InvalidArgumentError(f"A port is a number from 0 to 65535, not {port}.", hint="0 takes a free port.")


def check_httptools(what: str, extra: str, otherwise: str) -> None:
    """Raises UnimplementedError if the parser of requests is not installed.

    Args:
        what: begins the sentence: what needs it.
        extra: the extra of actorflow that has it.
        otherwise: what can be done without it, as a sentence.
    """
    if importlib.util.find_spec("httptools") is None:
        raise UnimplementedError(
            f"{what} needs the package httptools, which is not installed.",
            hint=with_topic(f"Install it with: pip install 'actorflow[{extra}]'. {otherwise}", "extra-missing"),
        )


@contextlib.contextmanager
def quiet_interrupt() -> Iterator[None]:
    """Ctrl-C ends a command without a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        print(file=sys.stderr)
