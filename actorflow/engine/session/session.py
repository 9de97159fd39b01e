"""`Session`: a client's handle to the runtime, which runs parts of a graph and keeps their state (paper section 2)."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NoReturn, overload

from actorflow.base.dtypes import DType
from actorflow.base.registry import plugins
from actorflow.base.reports.user_line import user_line
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.device.base import Device
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.runtime.diagnostics import step_spans
from actorflow.engine.runtime.diagnostics.recorder import Recording
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.running import running_loop
from actorflow.engine.session.awaitables import Callable_
from actorflow.engine.session.devices import shared_resources
from actorflow.engine.session.engine import Engine, RemoteEngines
from actorflow.engine.session.inspection import Inspection
from actorflow.engine.session.local import LocalEngine
from actorflow.engine.session.partial.run import PartialRun
from actorflow.engine.session.planning.predicates import given, predicates_of
from actorflow.engine.session.planning.prepared import PreparedSignature
from actorflow.engine.session.planning.trial import PlacementTrial
from actorflow.engine.session.settings import SessionLimits, ValueOptions, check_target, in_records
from actorflow.engine.session.waiting.admission import Admission
from actorflow.engine.session.waiting.deadline import deadline, report_failure, reporting_failures
from actorflow.errors import UnimplementedError, describe, with_topic
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.structure.composites import is_spread, spread_feeds
from actorflow.graph.structure.feeds import fed_sizes, feeds_of
from actorflow.graph.structure.fetches import Fetches, cache_key
from actorflow.graph.structure.handles import HandleNodes, TensorHandle
from actorflow.graph.variables.updates import warn_of_left_behind
from actorflow.pending_calls import PendingCall
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.engine.placement.learned_costs import CostModel

TARGET = "ACTORFLOW_TARGET"
"""The environment's variable that gives sessions their target."""
_WARMUP = "await session.warmup(fetches, feeds) makes the plan beforehand."
_NODE_BY_NODE = object()
"""Marks the plans of traced steps that run node by node."""


def in_span(fetches: Any, work: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
    """A run in a span of its own, for the system that is told of steps."""
    return step_spans.within("actorflow.session.run", "", {"fetches": _names(fetches)}, work)


def _names(fetches: Any) -> str:
    """The fetches in some words, for a span."""
    return str(getattr(fetches, "name", None) or fetches)[:200]


def _check_own(target: str, source: str, options: Mapping[str, Any]) -> None:
    """Raises ValueError for an option that servers have, of a session with a target; `source` is the variable that named it."""
    if refused := [name for name, value in options.items() if value is not None]:
        reason = f"its target is that of the environment's {source}" if source else "it has a target"
        way = f", or unset {source} to run in this process" if source else ""
        raise ValueError(
            f"Session({str(target)!r}) takes no {refused[0]}: {reason}, and the servers of the cluster have their own. "
            f"Leave {refused[0]} out{way}."
        )


@public("af")
class Session(Inspection):
    """Runs parts of `graph`, on the devices of this process or on those of a cluster.

    `async with` opens and closes it; without it, it opens at its first run, and `await session.close()` ends it. It belongs
    to the event loop that it was first used on. Any number of runs may be in flight at once; they share variables and
    nothing else.

    Example:
        >>> x = af.placeholder(af.float32, [None])
        >>> y = af.reduce_sum(af.square(x))
        >>> async with af.Session() as session:
        ...     print(await session.run(y, {x: [1.0, 2.0]}))
        5.0
        >>> import asyncio
        >>> async with af.Session() as session:  # several runs in flight at once
        ...     print(*await asyncio.gather(*[session.run(y, {x: [value]}) for value in (1.0, 2.0, 3.0)]))
        1.0 4.0 9.0

    Args:
        target: "" is this process; `tcp://host:port`, or the `target` of a server or cluster, is a task of a cluster. Unless
            given, the environment's `ACTORFLOW_TARGET` says it, or else it is this process.
        graph: the graph to run; the default graph unless given.
        devices: the number of devices of each type, such as `{"CPU": 2}`, or the devices themselves. A cluster has its
            own.
        limits: the memory, threads and files that steps may use, and how many steps there may be; see `SessionLimits`.
        options: how plans are made, such as `PlanOptions(coalesce=False)`.
        values: how feeds are taken and results given; see `ValueOptions`.
        recording: how much to remember of the last steps, for `recent` and for a file when a step fails; nothing unless given, or
            unless the environment's `ACTORFLOW_TRACES` names a folder. A cluster's servers have theirs.
        credentials: keys, or the path of a key file, for a target that is plain text; the file that `ACTORFLOW_KEYS`
            names unless given.
        transport: the name of the transport to the target; "auto" takes that of the target's scheme, and shared memory on
            the same host.
        connect_timeout: how many seconds to wait for tasks of the cluster that are absent, which the error then names. A task
            that refuses, or that is another task than expected, is an error at once. A program that starts beside its tasks
            says how long that may take, such as 60. Supervisors and Estimators wait two minutes.
    """

    ends_with_its_owner: bool = False
    """Set by an object that keeps the session for itself: it is not to be closed then, and ends when no one holds it."""

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
        source = ""
        if target is None:
            target, source = os.environ.get(TARGET, ""), TARGET
        check_target(target)
        self.graph = get_default_graph() if graph is None else graph
        if not hasattr(self.graph, "eager"):
            raise TypeError(f"`graph` is an af.Graph, but it is {graph!r:.60}, of type {type(graph).__name__}.")
        if self.graph.eager:
            raise RuntimeError(
                describe(
                    "A session runs a graph, but eager execution is enabled here, and ops have run already.",
                    where=user_line(),
                    hint="Open Session(graph=graph) for a graph of your own, or use the values themselves.",
                )
            )
        limits, options = limits or SessionLimits(), options or PlanOptions()
        self._values = values or ValueOptions()
        self._specialises = options.folds and options.coalesces
        self._admission = Admission(limits.max_inflight_steps, limits.max_queued_steps, limits.max_waiting_steps)
        self._prepared: dict[Any, PreparedSignature] = {}
        self._trial: PlacementTrial | None = None
        self._handles: HandleNodes | None = None  # of tensors that the session keeps, once there are some
        self._face: weakref.ref[Any] = weakref.ref(self)  # the session as its user sees it: a blocking session, maybe
        self._engine: Engine
        if not target:
            self._engine = LocalEngine(self.graph, options, self._admission, devices, limits, recording)
            return
        own: dict[str, Any] = {
            "devices": devices,
            "memory_budget": limits.memory_budget,
            "file_roots": limits.file_roots,
        }
        _check_own(target, source, own | {"threads": limits.threads, "recording": recording})
        remote: RemoteEngines = plugins.load("engines", "remote")
        self._engine = remote(
            target,
            self.graph,
            options,
            self._admission,
            credentials=credentials,
            transport=transport,
            connect_timeout=connect_timeout,
            source=source,
        )

    # Running

    def run(
        self,
        fetches: Any,
        feeds: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
        trace: Trace | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Runs what `fetches` needs, and gives their values in the same structure.

        A variable that is fetched beside its update has the value before it: reads are snapshots, and wait for nothing that the
        program does not name. The result of the update is the value after it, and so is `v.read_value()` under
        `control_dependencies([update])`.

        Args:
            fetches: a tensor, a variable, an operation (gives None), the name of any of these, or a list, tuple or dict of
                these. The handle of a queue gives its container and name.
            feeds: values for tensors, by tensor or name; they cut the graph there. The key may be a tuple of tensors, such
                as the state of a recurrent cell, and the value then has as many parts.
            timeout: seconds for all of it: to connect, to make a plan, to wait for its turn, and to run. `anyio.fail_after` and
                `asyncio.timeout` hold as well; their TimeoutError is raised in the course of a CancelledError,
                its `__context__`, on which notes say what the run waited for. The log has them too.
            trace: takes the events of this run, which then runs node by node, unless its detail is `plan`.

        Returns:
            Arrays (read-only, unless the session is `writable`), numpy scalars for rank 0, `bytes` for single strings.

        Raises:
            TypeError, KeyError, ValueError: the fetches or feeds are nothing of this graph.
            errors.DeadlineExceededError: the time is up, in whatever the run waited for; the message says for what.
            errors.OpError: see `actorflow.errors`; the first error of a step stops it.
            errors.UnavailableError: the target or another task is not reached, or was lost; another try may go well.
            errors.FailedPreconditionError: a variable has no value; or the target refuses this process, because of its key, its
                version or its cluster (`HandshakeRejected`), and would do so again.
            errors.Overloaded: too many steps run and wait already; see `max_queued_steps` and `max_waiting_steps`.
        """
        work = self._run(fetches, feeds, timeout, trace)
        return PendingCall(work if step_spans.installed is None else in_span(fetches, work))

    async def _run(
        self, fetches: Any, feeds: Mapping[Any, Any] | None, timeout: float | None, trace: Trace | None
    ) -> Any:
        """See `run`."""
        try:
            if feeds is None:
                feeds = {}
            elif type(feeds) is not dict and not isinstance(feeds, Mapping):
                raise TypeError(f"feeds is a dict from tensors (or names) to values, but it was given {feeds!r:.60}.")
            begun = None if timeout is None else running_loop().time()
            called = perf_counter_ns() if trace is not None else 0
            prepared = None
            key = cache_key(fetches)
            if key is not None:
                key = (key, *feeds) if trace is None or trace.detail == "plan" else (_NODE_BY_NODE, key, *feeds)
                prepared = self._prepared.get(key)
            if prepared is None or self._engine.closed:
                self._engine.open()
                with deadline(timeout, begun, "while its plan was made", _WARMUP):
                    prepared = await self._prepare(key, fetches, feeds, trace)
            if prepared.spread:
                feeds = dict(spread_feeds(feeds))
            values = {}
            for feed, value in zip(prepared.feeds, feeds.values()):
                values[feed.tensor_id] = feed(value)
            plan = prepared.plan
            if plan is None:
                now = given(prepared.predicates, values)
                plan = prepared.plans.get(now)
                if plan is None:
                    with deadline(timeout, begun, "while its plan was made", _WARMUP):
                        plan = await prepared.plan_for(now, self._engine)
            ready = 0
            if trace is not None:
                ready = perf_counter_ns()
                trace.span("prepare", "client", called, ready)
            try:
                results = await self._engine.run(plan, values, timeout, trace, begun)
                built = prepared.fetches.build(results)
            finally:
                if trace is not None:
                    ended = trace.rest("build", "client")
                    trace.span("step", "client", ready, ended)
                    trace.span("Session.run", "client", called, ended)
            if self._handles is not None:
                for deleter, dead in self._handles.forgotten():
                    await self._run(deleter, dead, None, None)
            return built
        except BaseException as error:
            report_failure(error)
            raise

    _run.__qualname__ = "Session.run"  # for those who show tasks, and for Python's warning that it was never awaited

    async def _prepare(
        self, key: Any, fetches: Any, feeds: Iterable[Any], trace: Trace | None = None
    ) -> PreparedSignature:
        """Parses a signature and finds its plan."""
        structure = Fetches(self.graph, fetches, self._values.writable, self._handle)
        values = list(feeds.values()) if isinstance(feeds, Mapping) and not any(map(is_spread, feeds)) else []
        feeds = list(feeds)
        converters = feeds_of(self.graph, feeds, self._values.exact_feeds)
        signature = RunSignature(
            feeds={f.tensor_id: (f.tensor.dtype, f.tensor.static_shape) for f in converters},
            fetches=structure.tensor_ids,
            targets=structure.targets,
            sizes=fed_sizes(converters, values),
        )
        warn_of_left_behind(self.graph, {e.node for e in structure.tensor_ids} | set(structure.targets))
        coalesce = trace is None or trace.detail == "plan"
        steers = predicates_of(self.graph.nodes, converters) if coalesce and self._specialises else ()
        prepared = PreparedSignature(structure, converters, signature, coalesce, any(map(is_spread, feeds)), steers)
        if not steers:
            prepared.plan = await self._engine.plan(signature, coalesce=coalesce)
        if key is not None:
            self._prepared[key] = prepared
        self.graph.mark_run()
        return prepared

    def _handle(self, text: bytes, dtype: DType) -> TensorHandle:
        """A tensor that the session keeps, as its user gets it."""
        if self._handles is None:
            self._handles = HandleNodes(self.graph)
        return TensorHandle(text, dtype, self._handles, self._face())

    @reporting_failures
    async def make_callable(self, fetches: Any, feed_list: Sequence[Any] = ()) -> Callable_:
        """A function `await f(*values)` that runs `fetches` with the tensors of `feed_list` fed, without looking anything up.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> double = await session.make_callable(x * 2.0, [x])
            >>> await double(21.0)
            42.0
        """
        self._engine.open()
        prepared = await self._prepare(None, fetches, list(feed_list))
        names = tuple(feed_list) if prepared.spread else None
        plan = await prepared.all_plans(self._engine)
        plans = prepared.predicates, prepared.plans
        return Callable_(self._engine, plan, prepared.feeds, prepared.fetches.build, names, *plans)

    def _hold(self, name: str, resource: Any) -> None:
        """Puts a resource of another session under a name on each device, where the node that would make it finds it."""
        for manager in self._engine.resources.values():  # type: ignore[attr-defined]
            manager.lookup_or_create("", name, type(resource), lambda: resource)

    @reporting_failures
    async def warmup(self, fetches: Any, feeds: Sequence[Any] | Mapping[Any, Any] = ()) -> None:
        """Makes the plan and the code for a signature, and runs nothing.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> double = x * 2.0
            >>> await session.warmup(double, [x])
            >>> await session.run(double, {x: 21.0})  # is as quick as later ones
            42.0
        """
        self._engine.open()
        names = list(feeds)
        key = cache_key(fetches)
        prepared = await self._prepare(None if key is None else (key, *names), fetches, names)
        await prepared.all_plans(self._engine)

    # Partial runs

    @reporting_failures
    async def partial_run_setup(self, fetches: Any, feeds: Sequence[Any] = ()) -> PartialRun:
        """Starts one step that is fed and fetched in parts with `partial_run` (TensorFlow's `partial_run_setup`).

        Between these calls it takes no place among the steps in flight.

        Example:
            >>> x, y = af.placeholder(af.float32), af.placeholder(af.float32)
            >>> a = x + 1.0
            >>> step = await session.partial_run_setup([a, a * y], [x, y])
            >>> await session.partial_run(step, a, {x: 1.0})
            2.0
        """
        self._engine.open()
        structure = Fetches(self.graph, fetches, self._values.writable)
        converters = {feed.tensor_id: feed for feed in feeds_of(self.graph, feeds, self._values.exact_feeds)}
        signature = RunSignature(
            feeds={e: (f.tensor.dtype, f.tensor.static_shape) for e, f in converters.items()},
            fetches=structure.tensor_ids,
            targets=structure.targets,
            partial=True,
        )
        plan = await self._engine.plan(signature)
        await self._admission.enter()
        try:
            parts = await self._engine.start_partial(plan, signature)
        finally:
            self._admission.leave()
        return PartialRun(self, parts, structure, converters)

    @reporting_failures
    async def partial_run(self, handle: PartialRun, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Feeds a part of a step, and waits for a part of its fetches. Each may be used once.

        Example:
            >>> x, y = af.placeholder(af.float32), af.placeholder(af.float32)
            >>> a, b = x + 1.0, y * 2.0
            >>> step = await session.partial_run_setup([a, b], [x, y])
            >>> first = await session.partial_run(step, a, {x: 1.0})
            >>> await session.partial_run(step, b, {y: first + 1.0})
            6.0

        Args:
            handle: the step, as `partial_run_setup` gives it.
            fetches: tensors, variables, operations or names, in any structure that `run` takes; all were named in the
                set-up.
            feeds: values for tensors, by tensor or name; all were named in the set-up.

        Raises:
            InvalidArgumentError: something was not named in the set-up, was used already, or a fetch needs feeds that
                are still missing.
        """
        return await handle.run(fetches, feeds or {})

    # The graph and the state

    async def extend(self, graph: Graph | bytes | None = None) -> int:
        """Takes in what was added to the graph since (a run does so by itself), or adds nodes that are given as
        `Graph.to_bytes(since=...)`. Variables keep their values. Returns how many nodes the session knows.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> await session.extend()
            1
            >>> double = x * 2.0  # a constant and a product
            >>> await session.extend()
            3
        """
        self._engine.open()
        if isinstance(graph, bytes):
            self.graph.extend_from_bytes(graph)
        elif graph is not None and graph is not self.graph:
            raise ValueError("A session runs one graph; extend that graph, or pass the added nodes as bytes.")
        await self._engine.extend()
        return len(self.graph)

    @staticmethod
    def reset(
        target: str = "", containers: Sequence[str] = (), credentials: Any = None, timeout: float | None = None
    ) -> None:
        """Drops the state in these named containers, in all sessions of the process; in all containers if `containers` is
        empty.

        For a cluster see `actorflow.cluster.client.inquiries.reset`, which awaits it.

        Example:
            >>> with af.container("experiment"):
            ...     v = af.Variable(1.0, name="v")
            >>> await session.run(v.initializer)
            >>> af.Session.reset(containers=["experiment"])
            >>> await session.run(af.is_variable_initialized(v))
            False

        Args:
            target: "", which is this process.
            containers: the names.
            credentials, timeout: for a cluster; `blocking.Session.reset` takes a cluster.
        """
        if target:
            raise UnimplementedError(
                f"reset(target={str(target)!r}) has to wait for the cluster.",
                hint="await actorflow.cluster.client.inquiries.reset(target, containers) does.",
            )
        for manager in shared_resources.all():
            manager.reset(containers or {container for container, _, _ in manager.names()})

    @asynccontextmanager
    async def _snapshot(self, *, consistent: bool = False) -> AsyncIterator[None]:
        """A block for the run that saves a checkpoint. With `consistent`, the steps in flight end before, and no other
        begins until the values are taken; without, the values are those between two kernels, wherever steps are.

        Raises:
            FailedPreconditionError: there is such a consistent block already.
        """
        self._engine.open()
        async with self._engine.snapshot(consistent=consistent):
            yield

    @overload
    async def replan(self, *, costs: CostModel | None = None) -> None: ...

    @overload
    async def replan(
        self, search: float, *, seed: int = 0, trials: int | None = None, costs: CostModel | None = None
    ) -> PlacementTrial: ...

    async def replan(
        self,
        search: float | None = None,
        *,
        seed: int = 0,
        trials: int | None = None,
        costs: CostModel | None = None,
    ) -> PlacementTrial | None:
        """Lets the next run of each signature make its plan again, and place its nodes by the measurements of runs: the times
        of nodes, and the sizes of tensors of unknown shape. A node with state stays on its device.

        A first plan goes by estimates, which know nothing of what a kernel of the program's own does. It pays to call this
        after the first steps of a program that leaves devices open, and never by itself: where a graph is cut decides which of
        its nodes are fused, and so the last bits of results.

        With `search`, nothing is forgotten: a search looks for a better placement of the steps that run most, in a process of
        its own, while others run. The placement that it finds then runs in turns with the present placement: the program's next
        steps, some twenty to sixty of them, are timed in pairs. It is adopted if a sign test says that it is faster, and put
        back otherwise.

            trial = await session.replan(search=5.0)
            print(trial.report.present, trial.report.found)    # simulated seconds of a step
            ...                                                # the training goes on
            print(trial.verdict)

        Example:
            >>> x = af.placeholder(af.float32, [None])
            >>> total = af.reduce_sum(x * x)
            >>> async with af.Session(devices={"CPU": 2}) as session:
            ...     print(await session.run(total, {x: [1.0, 2.0]}))
            ...     await session.replan()
            ...     print(await session.run(total, {x: [1.0, 2.0]}))  # by measured costs
            5.0
            5.0

        Args:
            search: how many seconds to search. Call it after the first steps, so that their costs are known.
            seed: of the search's random numbers.
            trials: how many placements to simulate, in place of seconds: then the same costs give the same placement.
            costs: learned costs, for nodes that no run has measured, and for links. With them the first plan is good already.

        Returns:
            None, or the trial of what was found, where `search` is given.

        Raises:
            ResourceExhaustedError: with `search`, no placement fits into the devices' memory; it says what each one lacks.
            UnavailableError: the master was lost meanwhile. The session goes on with another master.
        """
        self._engine.open()
        if self._trial is not None:
            await self._trial.close()
            self._trial = None
        if costs is not None:
            await self._engine.learn(costs)
        if search is None:
            await self._engine.replan()
            self._prepared.clear()
            return None
        if not (search >= 0):
            raise ValueError(f"search is a number of seconds, 0 or more, but it is {search!r}.")
        report = await self._engine.search(float(search), seed, trials)
        self._trial = PlacementTrial(self._engine, report, self._prepared.clear)
        return self._trial

    # Opening and closing

    async def __aenter__(self) -> Session:
        self._engine.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __enter__(self) -> NoReturn:
        raise TypeError(
            with_topic(
                "A Session is entered with `async with`: write `async with af.Session(...) as session:`, or use "
                "`with af.blocking.Session(...) as session:` in code without `await`.",
                "blocking-or-async",
            )
        )

    def __exit__(self, *exc: object) -> None:
        """Beside `__enter__`, without which Python would not call that."""

    async def close(self) -> None:
        """Stops the steps in flight, waits for their end, and frees devices and state. A second call does nothing.

        Example:
            >>> session = af.Session()
            >>> x = af.placeholder(af.float32)
            >>> await session.run(x + 1.0, {x: 1.0})
            2.0
            >>> await session.close()
        """
        try:
            if self._trial is not None:
                await self._trial.close()
            await self._engine.close()
        finally:
            if self._engine.closed:
                self._prepared.clear()

    def __del__(self) -> None:
        engine = getattr(self, "_engine", None)
        if engine is not None and not engine.closed and engine.was_used:
            if not self.ends_with_its_owner:
                warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=2, source=self)
            engine.abandon()

    def __repr__(self) -> str:
        state = "closed" if self._engine.closed else f"{self._admission.inflight} steps in flight"
        return f"<actorflow.Session on {len(self._engine.devices())} devices, {state}>"
