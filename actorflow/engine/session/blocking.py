"""`blocking.Session`: the same session without `await`, for scripts and plain prompts.

A private event loop belongs to the session. The thread that calls drives it while it waits, so a call costs no hop to another
thread. When several threads call at once, one thread drives and serves the others, and hands over when its own call is done. A
caller that is inside an event loop already (a notebook's cell) can't drive a second loop; a helper thread does it for him.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

from actorflow.base.registry import plugins
from actorflow.base.reports.tracebacks import leave_out
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.runtime.diagnostics import step_spans
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.runtime.event_loops.facade import BlockingFacade, blocking, constructed, forwarded
from actorflow.engine.runtime.visible_actors import TaskState
from actorflow.engine.session import session as asynchronous
from actorflow.engine.session.awaitables import Callable_, refuse_await
from actorflow.engine.session.engine import RemoteEngines
from actorflow.engine.session.members import MembershipChange
from actorflow.errors import FailedPreconditionError, with_topic
from actorflow.graph.graph import Graph
from actorflow.public import public

T = TypeVar("T")


@public("af.blocking")
class Session(BlockingFacade[asynchronous.Session]):
    """`actorflow.Session` for code without `await`; the arguments and methods are the same.

    Threads may share it.

    Example:
        >>> with af.Graph().as_default() as graph:
        ...     x = af.placeholder(af.float32, [None])
        ...     y = af.reduce_sum(af.square(x))
        >>> with af.blocking.Session(graph=graph) as blocking:
        ...     print(blocking.run(y, {x: [1.0, 2.0]}))
        5.0
    """

    __reduce_ex__ = unpicklable(
        "A session is not pickled: its variables and steps belong to this process. Open one where it is needed; a "
        "saver or a cluster shares the values."
    )

    @constructed(asynchronous.Session)
    def __init__(self, inner: asynchronous.Session) -> None:
        """
        Args:
            target, graph, devices, limits, options, values: see `actorflow.Session`.
            recording, credentials, transport, connect_timeout: see `actorflow.Session`.
        """
        self._inner = inner
        inner._face = weakref.ref(self)
        self._driver = LoopDriver()
        self._closed = False

    @property
    def graph(self) -> Graph:
        return self._inner.graph

    def run(
        self,
        fetches: Any,
        feeds: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
        trace: Trace | None = None,
    ) -> Any:
        """Runs what `fetches` needs, and gives their values; blocks until they are there.

        Args:
            fetches, feeds, timeout, trace: see `actorflow.Session.run`.
        """

        def start() -> Coroutine[Any, Any, Any]:
            work = self._inner._run(fetches, feeds, timeout, trace)
            return work if step_spans.installed is None else asynchronous.in_span(fetches, work)

        return self._call(start)

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] = ()) -> Callable[..., Any]:
        """See `actorflow.Session.make_callable`; the result is a plain function."""
        call: Callable_ = self._call(lambda: self._inner.make_callable(fetches, feed_list))
        return lambda *values: self._call(lambda: call(*values))

    warmup = blocking(asynchronous.Session.warmup)
    extend = blocking(asynchronous.Session.extend)
    partial_run_setup = blocking(asynchronous.Session.partial_run_setup)
    partial_run = blocking(asynchronous.Session.partial_run)
    predict = blocking(asynchronous.Session.predict)
    statistics = forwarded(asynchronous.Session.statistics)
    list_devices = forwarded(asynchronous.Session.list_devices)
    placement = forwarded(asynchronous.Session.placement)
    explain_placement = blocking(asynchronous.Session.explain_placement)
    replan = blocking(asynchronous.Session.replan)
    study_placement = blocking(asynchronous.Session.study_placement)
    measured = blocking(asynchronous.Session.measured)
    channels = blocking(asynchronous.Session.channels)

    def members(self) -> Iterator[MembershipChange]:
        """The tasks of the cluster, and then each change of them, without end: each turn of the loop waits for a change. See
        `Session.members`.

        Example:
            >>> with af.blocking.LocalCluster({"worker": 2}) as cluster:
            ...     with af.blocking.Session(cluster.target) as session:
            ...         print(next(session.members()).joined)
            ('/job:worker/task:0', '/job:worker/task:1')
        """
        changes = self._inner.members()

        async def following() -> MembershipChange:
            return await anext(changes)

        while True:
            yield self._call(following)

    def close(self) -> None:
        """Stops the steps in flight, of other threads too, and ends the session and its loop. A second call does nothing.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> session = af.blocking.Session()
            >>> session.run(x + 1.0, {x: 1.0})
            2.0
            >>> session.close()
        """
        if not self._closed:
            self._closed = True
            if self._driver.is_of_parent:  # which has the steps, and closes it
                return
            try:
                self._driver.call(self._inner.close)
            finally:
                self._driver.close()

    @staticmethod
    def reset(
        target: str = "", containers: Sequence[str] = (), credentials: Any = None, timeout: float | None = None
    ) -> None:
        """Drops the state in these containers; in all of them where none is named.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> with af.container("experiment"):
            ...     v = af.Variable(1.0, name="v")
            >>> with af.blocking.Session() as session:
            ...     session.run(v.initializer)
            ...     af.blocking.Session.reset(containers=["experiment"])
            ...     print(session.run(af.is_variable_initialized(v)))
            False

        Args:
            target: a task of a cluster, on all of whose tasks it is dropped; "" is this process.
            containers: their names.
            credentials: keys, or the path of a key file, for a target that is plain text.
            timeout: seconds for a cluster's reply; ten unless given.

        Raises:
            errors.UnavailableError: a task of the cluster can't be reached.
            errors.DeadlineExceededError: a task does not answer in time.
        """
        if not target:
            asynchronous.Session.reset("", containers)
            return
        remote: RemoteEngines = plugins.load("engines", "remote")
        driver = LoopDriver()
        try:
            driver.call(lambda: remote.reset(target, containers, credentials, timeout))
        finally:
            driver.close()

    def pending(self) -> str:
        """See `actorflow.Session.pending`. The tasks of a cluster are asked at once."""

        async def report() -> str:
            await self._inner._engine.inquire()
            return self._inner.pending()

        return self._inner.pending() if self._closed else self._call(report)

    def recent(self, seconds: float | None = None, step: int | None = None) -> Trace:
        """See `actorflow.Session.recent`."""
        return self._look(lambda: self._inner.recent(seconds, step))

    def tasks(self) -> list[TaskState]:
        """See `actorflow.Session.tasks`."""
        return self._look(self._inner.tasks)

    def _look(self, question: Callable[[], T]) -> T:
        """The answer of the inner session, on its event loop while it is open."""

        async def look() -> T:
            return question()

        return question() if self._closed else self._call(look)

    def _call(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise FailedPreconditionError(
                "The session is closed.",
                hint=with_topic(
                    "Open another one: with af.blocking.Session(graph=graph) as session: ...", "session-is-closed"
                ),
            )
        try:
            if asyncio._get_running_loop() is not None:
                refuse_await(type(self).__name__)
            return self._driver.call(start)
        except Exception as error:
            leave_out(error)
            raise

    async def __aenter__(self) -> NoReturn:
        raise TypeError(
            with_topic(
                "A blocking session is entered with `with`: write `with af.blocking.Session(...) as session:`, or use "
                "`async with af.Session(...) as session:` and `await session.run(...)`.",
                "blocking-or-async",
            )
        )

    async def __aexit__(self, *exc: object) -> None:
        """Beside `__aenter__`, without which Python would not call that."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._driver.close(wait=False)

    def _repr_html_(self) -> str:
        return self._inner._repr_html_()
