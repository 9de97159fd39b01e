"""`PageThread`: the live page of a cluster beside the program that has the cluster."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from actorflow.base.origins import LOOPBACK
from actorflow.base.process import forks
from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.credentials import Target
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.event_loops.polling import new_event_loop
from actorflow.errors import UnavailableError
from actorflow.frontends.dashboard.application import Dashboard
from actorflow.frontends.http import server

_LOG = get_logger("dashboard")
_SECONDS = 5.0


class PageThread:
    """The live page of a cluster on this host alone, served by a thread until `close` is called or the process ends.

    The thread has an event loop of its own, so the page answers also while the program blocks. A forked child has no such thread:
    it gives its copies of the port and of the connections back.

    Args:
        target: a task of the cluster, with the keys.
        port: the port; 0 takes a free port.

    Raises:
        InvalidArgumentError: there is no such port.
        UnavailableError: the port is taken, or the system has no files left for an event loop.
        UnimplementedError: the extra `dashboard` is not installed.
    """

    def __init__(self, target: Target, port: int) -> None:
        server.check_httptools("The live page", "dashboard", "`await session.pending()` needs nothing.")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: server.HttpServer | None = None
        self._failure: BaseException | None = None
        self._end = asyncio.Event()
        self._begun = threading.Event()
        """Set when the page answers, or when it never will."""
        self._thread = threading.Thread(target=self._run, name="live page", daemon=True)
        self._listener = server.listening(LOOPBACK[0], port)
        try:
            self.address = f"http://{LOOPBACK[0]}:{self._listener.getsockname()[1]}/"
            """The place of the page, without its token."""
            self._page = Dashboard(target.address, credentials=target.credentials)
            forks.register(self)
            self._thread.start()
        except BaseException:
            self._listener.close()
            raise
        self._begun.wait()
        if self._failure is not None:
            self._thread.join()
            if isinstance(self._failure, OSError):
                reason = self._failure.strerror or str(self._failure)
                raise UnavailableError(
                    f"The live page can't be served at {self.address}: {reason}.",
                    hint="A page needs a few files of the process. The cluster runs without it: leave `dashboard_port` out.",
                ) from self._failure
            raise self._failure

    @property
    def link(self) -> str:
        """Its address with its token, for a browser."""
        return f"{self.address}?token={self._page.token}"

    def close(self) -> None:
        """Ends it, also the requests that it answers. A second call does nothing."""
        if self._loop is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # its loop has ended, and its thread is about to
                self._loop.call_soon_threadsafe(self._end.set)
            if threading.current_thread() is not self._thread:
                self._thread.join(_SECONDS)

    def forked(self) -> None:
        """In a forked child: a port is free, and a browser sees the end of a connection, when all copies are closed."""
        self._listener.close()
        for connection in () if self._server is None else self._server.connections:
            connection.leave()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_new_loop) as runner:  # it makes the loop before there is work for it
                runner.run(self._serve())
        except BaseException as error:
            if self._begun.is_set():
                _LOG.error("the live page failed", address=self.address, exc_info=error)
            self._failure = error
        finally:
            self._listener.close()
            self._begun.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with self._page:
            self._server = answering = server.HttpServer(self._page)
            ended = asyncio.Event()

            async def end() -> None:
                await self._end.wait()
                for connection in list(answering.connections):  # a page that a browser shows asks without end
                    connection.transport.abort()
                ended.set()

            beside = BackgroundTasks()
            beside.start(end())
            try:
                await answering.serve([self._listener], None, ended, self._begun.set)
            finally:
                await beside.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    """A loop whose copy in a forked child takes nothing from it."""
    return new_event_loop(alone=True)
