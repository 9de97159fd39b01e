"""`blocking.Session`: the same session without `await`, for scripts and plain prompts.

A private event loop belongs to the session. The thread that calls drives it while it waits, so a call costs no hop to another
thread. When several threads call at once, one thread drives and serves the others, and hands over when its own call is done. A
caller that is inside an event loop already (a notebook's cell) can't drive a second loop; a helper thread does it for him.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from actorflow.base.registry import plugins
from actorflow.base.reports.tracebacks import leave_out
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.device.base import Device
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.runtime.diagnostics import step_spans
from actorflow.engine.runtime.diagnostics.recorder import Recording
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.runtime.visible_actors import TaskState
from actorflow.engine.session import session as asynchronous
from actorflow.engine.session.awaitables import Callable_, refuse_await
from actorflow.engine.session.engine import RemoteEngines
from actorflow.engine.session.partial.run import PartialRun
from actorflow.engine.session.planning.trial import PlacementTrial
from actorflow.engine.session.settings import SessionLimits, ValueOptions, in_records
from actorflow.engine.session.statistics import EdgeReport, SessionStatistics
from actorflow.errors import FailedPreconditionError, with_topic
from actorflow.graph.graph import Graph
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.engine.placement.learned_costs import CostModel
    from actorflow.engine.placement.study.study import PlacementStudy

T = TypeVar("T")


@public("af.blocking")
class Session:
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

    @in_records
    def __init__(
        self,
        target: str | None = None,
        graph: Graph | None = None,
        *,
        devices: Mapping[str, int] | Sequence[Device] | None = None,
        limits: SessionLimits | None = None,
        options: PlanOptions | None = None,
        values: ValueOptions | None = None,
        recording: Recording | None = None,
        credentials: Any = None,
        transport: str = "auto",
        connect_timeout: float = 4.5,
    ) -> None:
        """
        Args:
            target, graph, devices, limits, options, values: see `actorflow.Session`.
            recording, credentials, transport, connect_timeout: see `actorflow.Session`.
        """
        self._session = asynchronous.Session(
            target,
            graph,
            devices=devices,
            limits=limits,
            options=options,
            values=values,
            recording=recording,
            credentials=credentials,
            transport=transport,
            connect_timeout=connect_timeout,
        )
        self._session._face = weakref.ref(self)
        self._driver = LoopDriver()
        self._closed = False

    @property
    def graph(self) -> Graph:
        return self._session.graph

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
            work = self._session._run(fetches, feeds, timeout, trace)
            return work if step_spans.installed is None else asynchronous.in_span(fetches, work)

        return self._call(start)

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] = ()) -> Callable[..., Any]:
        """See `actorflow.Session.make_callable`; the result is a plain function."""
        call: Callable_ = self._call(lambda: self._session.make_callable(fetches, feed_list))
        return lambda *values: self._call(lambda: call(*values))

    def warmup(self, fetches: Any, feeds: Sequence[Any] | Mapping[Any, Any] = ()) -> None:
        """See `actorflow.Session.warmup`."""
        self._call(lambda: self._session.warmup(fetches, feeds))

    def extend(self, graph: Graph | bytes | None = None) -> int:
        """See `actorflow.Session.extend`."""
        return self._call(lambda: self._session.extend(graph))

    def partial_run_setup(self, fetches: Any, feeds: Sequence[Any] = ()) -> PartialRun:
        """See `actorflow.Session.partial_run_setup`."""
        return self._call(lambda: self._session.partial_run_setup(fetches, feeds))

    def partial_run(self, handle: PartialRun, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Feeds a part of a step, and waits for a part of its fetches.

        Args:
            handle, fetches, feeds: see `actorflow.Session.partial_run`.
        """
        return self._call(lambda: self._session.partial_run(handle, fetches, feeds))

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
                self._driver.call(self._session.close)
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
            await self._session._engine.inquire()
            return self._session.pending()

        return self._session.pending() if self._closed else self._call(report)

    def predict(self, trace: Trace) -> None:
        """See `actorflow.Session.predict`."""
        self._call(lambda: self._session.predict(trace))

    def recent(self, seconds: float | None = None, step: int | None = None) -> Trace:
        """See `actorflow.Session.recent`."""

        async def look() -> Trace:
            return self._session.recent(seconds, step)

        return self._session.recent(seconds, step) if self._closed else self._call(look)

    def tasks(self) -> list[TaskState]:
        """See `actorflow.Session.tasks`."""

        async def look() -> list[TaskState]:
            return self._session.tasks()

        return self._session.tasks() if self._closed else self._call(look)

    def statistics(self) -> SessionStatistics:
        """See `actorflow.Session.statistics`."""
        return self._session.statistics()

    def list_devices(self) -> list[Device]:
        """See `actorflow.Session.list_devices`."""
        return self._session.list_devices()

    def placement(self, element: Any) -> str:
        """See `actorflow.Session.placement`."""
        return self._session.placement(element)

    def explain_placement(self, element: Any) -> str:
        """See `actorflow.Session.explain_placement`."""
        return self._call(lambda: self._session.explain_placement(element))

    @overload
    def replan(self, *, costs: CostModel | None = None) -> None: ...

    @overload
    def replan(
        self, search: float, *, seed: int = 0, trials: int | None = None, costs: CostModel | None = None
    ) -> PlacementTrial: ...

    def replan(
        self,
        search: float | None = None,
        *,
        seed: int = 0,
        trials: int | None = None,
        costs: CostModel | None = None,
    ) -> PlacementTrial | None:
        """See `actorflow.Session.replan`. The trial's `verdict` says what became of it after some more runs.

        Args:
            search: how many seconds to search.
            seed: of the search's random numbers.
            trials: how many placements to simulate, in place of seconds.
            costs: learned costs, for nodes that no run has measured, and for links.
        """
        if search is None:
            return self._call(lambda: self._session.replan(costs=costs))
        return self._call(lambda: self._session.replan(search, seed=seed, trials=trials, costs=costs))

    def study_placement(self) -> PlacementStudy:
        """See `actorflow.Session.study_placement`."""
        return self._call(self._session.study_placement)

    def measured(self) -> list[NodeMeasurement]:
        """See `actorflow.Session.measured`."""
        return self._call(self._session.measured)

    def channels(self) -> list[EdgeReport]:
        """See `actorflow.Session.channels`."""
        return self._call(self._session.channels)

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

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._driver.close(wait=False)

    def __repr__(self) -> str:
        return f"<blocking {self._session!r}>"

    def _repr_html_(self) -> str:
        return self._session._repr_html_()
