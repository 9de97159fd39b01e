"""`blocking.Server`: a task of a cluster inside a program without `await`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from actorflow.cluster import server as asynchronous
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.errors import FailedPreconditionError
from actorflow.public import public
from actorflow.runtime.loops.polling import new_event_loop
from actorflow.unpicklable import unpicklable

_CLOSE_SECONDS = 5.0


@public("af.blocking", "tf.train")
class Server:
    """`actorflow.Server` for code without `await`. Its event loop has a thread of its own, because a server answers while the
    program does something else.

    It serves from the start; `join()` waits until somebody closes it. The program's end ends it.

    Args:
        cluster, job_name, task_index: which task this is.
        start: False waits for `start()`.
        options: those of `actorflow.Server`.
    """

    __reduce_ex__ = unpicklable(
        "A server is not pickled: it is a task that runs in this process. Hand over its address."
    )

    def __init__(
        self,
        cluster: ClusterSpec | Mapping[str, Any],
        job_name: str,
        task_index: int = 0,
        *,
        start: bool = True,
        **options: Any,
    ) -> None:
        self._arguments = (cluster, job_name, task_index)
        self._options = options
        self._thread: threading.Thread | None = None
        self._server: asynchronous.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        if start:
            self.start()

    def start(self) -> None:
        """Starts to serve. A second call does nothing. Raises what `actorflow.Server` raises."""
        if self._thread is not None:
            return
        ready: Future[asynchronous.Server] = Future()
        self._thread = threading.Thread(target=self._work, args=(ready,), name="actorflow server", daemon=True)
        self._thread.start()
        self._server = ready.result()

    def _work(self, ready: Future[asynchronous.Server]) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            async with asynchronous.Server(*self._arguments, **self._options) as server:
                ready.set_result(server)
                await server.join()

        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(serve())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    @property
    def target(self) -> Target:
        """What a session takes to have this server as its master. Raises FailedPreconditionError before the start."""
        if self._server is None:
            raise FailedPreconditionError("The server has not been started.", hint="server.start()")
        return self._server.target

    @property
    def server_def(self) -> Mapping[str, Any]:
        """The cluster, job and task that it was made with."""
        cluster, job, index = self._arguments
        return {"cluster": ClusterSpec(cluster).as_dict(), "job_name": job, "task_index": index}

    def join(self) -> None:
        """Waits until the server is closed. Ctrl-C interrupts the wait."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        """Stops serving. A second call does nothing."""
        if self._loop is not None and self._server is not None and self._thread is not None:
            if self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._server.stop)
            self._thread.join(_CLOSE_SECONDS)

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
