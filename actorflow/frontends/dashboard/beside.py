"""`PageThread`: the live page of a cluster beside the program that has the cluster."""

from __future__ import annotations

import asyncio
import threading

from actorflow.base.origins import LOOPBACK
from actorflow.cluster.config.credentials import Target
from actorflow.frontends.dashboard.application import Dashboard
from actorflow.frontends.http import server

_SECONDS = 5.0


class PageThread:
    """The live page of a cluster on this host alone, served by a thread until `close` is called or the process ends.

    The thread has an event loop of its own, so the page answers also while the program blocks.

    Args:
        target: a task of the cluster, with the keys.
        port: the port; 0 takes a free port.

    Raises:
        InvalidArgumentError: there is no such port.
        UnavailableError: the port is taken.
        UnimplementedError: the extra `dashboard` is not installed.
    """

    def __init__(self, target: Target, port: int) -> None:
        server.check_httptools("The live page", "dashboard", "`await session.pending()` needs nothing.")
        self._listener = server.listening(LOOPBACK[0], port)
        self._page = Dashboard(target.address, credentials=target.credentials)
        self.address = f"http://{LOOPBACK[0]}:{self._listener.getsockname()[1]}/"
        """The place of the page, without its token."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live page", daemon=True)
        self._thread.start()
        self._begun.wait()

    @property
    def link(self) -> str:
        """Its address with its token, for a browser."""
        return f"{self.address}?token={self._page.token}"

    def close(self) -> None:
        """Ends it, also the requests that it answers. A second call does nothing."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            if threading.current_thread() is not self._thread:
                self._thread.join(_SECONDS)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun.set()
        async with self._page:
            answering = server.Server(self._page)
            ended = asyncio.Event()
            serving = asyncio.create_task(answering.serve([self._listener], None, ended))
            await self._end.wait()
            for connection in list(answering.connections):  # a page that a browser shows asks without end
                connection.transport.abort()
            ended.set()
            await serving
