"""`blocking.Server`: a task of a cluster inside a program without `await`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future, wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from actorflow.base.unpicklable import unpicklable
from actorflow.cluster import server as asynchronous
from actorflow.cluster.client import own_servers
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes.listening import Reservation
from actorflow.engine.runtime.event_loops.polling import new_event_loop
from actorflow.errors import FailedPreconditionError
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.graph.graphdef.cluster_protos import ClusterDef, ServerDef

_CLOSE_SECONDS = 5.0


@public("af.blocking")
class Server:
    """`actorflow.Server` for code without `await`. Its event loop has a thread of its own, because a server answers while the
    program does something else.

    It serves from the start; `join()` waits until somebody closes it. The program's end ends it.

    Args:
        cluster: all tasks; or a `tf.train.ServerDef`, which says which task this is too.
        job_name, task_index: which task this is. Each may be left out if there is one job, or the job has one task.
        protocol: "grpc" or "tcp", by which TensorFlow's programs mean what connects tasks here too.
        config: accepted for compatibility; a session has its own.
        start: False waits for `start()`.
        options: those of `actorflow.Server`.

    Raises:
        TypeError: `cluster` is none.
        ValueError: it is not clear which task this is, or there is no such protocol.
    """

    __reduce_ex__ = unpicklable(
        "A server is not pickled: it is a task that runs in this process. Hand over its address."
    )

    def __init__(
        self,
        cluster: ClusterSpec | Mapping[str, Any] | ServerDef | ClusterDef,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
        **options: Any,
    ) -> None:
        self._arguments = _which(cluster, job_name, task_index)
        if protocol not in (None, "", "grpc", "tcp"):
            raise ValueError(
                f"The protocol of a server is 'grpc' or 'tcp', which mean the same here, not {protocol!r}."
            )
        self._options = options
        self._thread: threading.Thread | None = None
        self._ready: Future[asynchronous.Server] = Future()
        self._server: asynchronous.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reservation: Reservation | None = None
        if start:
            self.start()

    @classmethod
    def create_local_server(cls, config: Any = None, start: bool = True) -> Self:
        """A cluster of one task in this process: job `local`, on a free port of this host.

        Args:
            config: accepted for compatibility; a session has its own.
            start: whether it serves from the start.
        """
        reservation = Reservation()
        server = cls({"local": [f"127.0.0.1:{reservation.port}"]}, start=False)
        server._reservation = reservation
        if start:
            server.start()
        return server

    def start(self) -> None:
        """Starts to serve. A second call does nothing. Raises what `actorflow.Server` raises."""
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._work, name="actorflow server", daemon=True)
        self._thread.start()
        self._server = self._ready.result()

    def _work(self) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            async with asynchronous.Server(*self._arguments, **self._options) as server:
                own_servers.began(server)
                self._ready.set_result(server)
                try:
                    await server.join()
                finally:
                    own_servers.ended(server)

        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(serve())
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    @property
    def target(self) -> Target:
        """The target that makes this server a session's master. Raises FailedPreconditionError before the start."""
        if self._server is None:
            raise FailedPreconditionError("The server has not been started.", hint="server.start()")
        return self._server.target

    @property
    def server_def(self) -> ServerDef:
        """The cluster, job and task that it was made with."""
        from actorflow.graph.graphdef.cluster_protos import ServerDef

        cluster, job, index = self._arguments
        return ServerDef(cluster=cluster.as_cluster_def(), job_name=job, task_index=index, protocol="grpc")

    def join(self) -> None:
        """Waits until the server is closed. Ctrl-C interrupts the wait."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        """Stops serving, where another thread starts it as soon as it has. A second call does nothing."""
        if self._thread is not None:
            wait([self._ready], _CLOSE_SECONDS)
            if (
                self._loop is not None
                and self._thread.is_alive()
                and self._ready.done()
                and not self._ready.exception()
            ):
                self._loop.call_soon_threadsafe(self._ready.result().stop)
            self._thread.join(_CLOSE_SECONDS)
        if self._reservation is not None:
            self._reservation.close()

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _which(cluster: Any, job: str | None, index: int | None) -> tuple[ClusterSpec, str, int]:
    """The cluster, and the job and number of the task that is meant. Raises ValueError where that is not clear."""
    from actorflow.graph.graphdef.cluster_protos import ServerDef

    if isinstance(cluster, ServerDef):
        job = cluster.job_name if job is None else job
        index = cluster.task_index if index is None else index
        cluster = cluster.cluster
    spec = ClusterSpec(cluster)
    if not job:
        if len(spec.jobs) != 1:
            raise ValueError(f"Must specify an explicit job_name: the cluster has the jobs {', '.join(spec.jobs)}.")
        job = spec.jobs[0]
    if index is None:
        tasks = spec.task_indices(job)
        if len(tasks) != 1:
            raise ValueError(f"Must specify an explicit task_index: the job {job!r} has {len(tasks)} tasks.")
        index = tasks[0]
    return spec, job, index
