"""`Session`: a client's handle to the runtime, which runs parts of a graph and keeps their state (paper section 2)."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from actorflow.device.base import Device, DeviceStatistics
from actorflow.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from actorflow.graph.graph import Graph, get_default_graph
from actorflow.graph.node import Endpoint
from actorflow.graph.tensor import Operation, Tensor
from actorflow.passes.compile import Options, Signature
from actorflow.registry import plugins
from actorflow.runtime.resources import ResourceManager
from actorflow.runtime.trace import Trace
from actorflow.session.admission import Admission
from actorflow.session.callable import Callable_
from actorflow.session.composites import is_composite, spread_feeds, spread_names
from actorflow.session.devices import open_devices, shared_resources
from actorflow.session.feeds import Feed
from actorflow.session.fetches import Fetches, cache_key
from actorflow.session.partial import PartialRun
from actorflow.session.planner import Compiled, Planner
from actorflow.session.steps import Steps

GRACE = 1.0
"""Seconds that a stopped step waits for kernels that can't be stopped."""


@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """Counters since the session was made. `inflight` and `queued` are steps now; `nodes` counts executed nodes of the
    user's graph, members of regions included; `abandoned` steps left a kernel behind that would not stop."""

    steps: int
    failed: int
    cancelled: int
    abandoned: int
    inflight: int
    queued: int
    plans: int
    nodes: int
    devices: dict[str, DeviceStatistics]


@dataclass(slots=True)
class _Prepared:
    """A signature as `run` needs it."""

    fetches: Fetches
    feeds: tuple[Feed, ...]
    compiled: Compiled
    composite: bool  # a value is fed to several tensors


class Session:
    """Runs parts of `graph` on the devices of this process.

    `async with Session(graph=g) as session:` opens and closes it; without `async with` it opens at its first run, and
    `await session.close()` ends it. It belongs to the event loop that it was first used on. Any number of runs may be in
    flight at once; they share variables and nothing else.

    Args:
        target: "" is this process.
        graph: what to run; the default graph where none is given.
        devices: how many devices of each type, such as `{"CPU": 2}`, or devices themselves.
        memory_budget: bytes that the tensors of each device may take; unlimited by default.
        max_inflight_steps: so many steps run at once; later ones wait.
        max_queued_steps: so many may wait; more are refused with `errors.Overloaded`.
        coalesce: merges runs of cheap nodes into one.
        optimize: folds constants, merges equal nodes and fuses biases, activations and updates into products.
        jit: compiles loops for elementwise ops and for updates that run often (with the extra `jit`, otherwise nothing).
        file_roots: the folders in which ops may read and write files; anywhere by default.
    """

    def __init__(
        self,
        target: str = "",
        graph: Graph | None = None,
        *,
        devices: Mapping[str, int] | Sequence[Device] | None = None,
        memory_budget: int | None = None,
        max_inflight_steps: int = 256,
        max_queued_steps: int = 4096,
        coalesce: bool = True,
        optimize: bool = True,
        jit: bool = True,
        file_roots: Sequence[str | os.PathLike[str]] | None = None,
    ) -> None:
        if target:
            raise UnimplementedError(f"Session(target={target!r}): only the in-process target '' is there so far.")
        self.graph = get_default_graph() if graph is None else graph
        self._devices = open_devices(devices, memory_budget)
        self._resources = {d.name: ResourceManager(shared_resources(d.name)) for d in self._devices}
        options = Options(fold=optimize, merge_duplicates=optimize, coalesce=coalesce, fuse=optimize, jit=jit)
        self._planner = Planner(self.graph, self._devices, self._resources, options)
        for resources in self._resources.values():
            resources.file_roots = None if file_roots is None else [os.fspath(root) for root in file_roots]
        self._prepared: dict[Any, _Prepared] = {}
        admission = Admission(max_inflight_steps, max_queued_steps)
        self._steps = Steps(admission, plugins.load("transports", "local")())

    # Running

    async def run(
        self,
        fetches: Any,
        feeds: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
        trace: Trace | None = None,
    ) -> Any:
        """Runs what `fetches` needs, and gives their values in the same structure.

        Args:
            fetches: a tensor, a variable, an operation (gives None), the name of one, or a list, tuple or dict of these.
            feeds: values for tensors, by tensor or name; they cut the graph there.
            timeout: seconds; anyio's deadlines hold as well.
            trace: takes the events of this run, which then runs node by node.

        Returns:
            Arrays (read-only), numpy scalars for rank 0, `bytes` for single strings.

        Raises:
            TypeError, KeyError, ValueError: the fetches or feeds are nothing of this graph.
            errors.OpError: see `actorflow.errors`; the first error of a step stops it.
            errors.Overloaded: too many steps run and wait already.
        """
        if feeds is None:
            feeds = {}
        elif type(feeds) is not dict and not isinstance(feeds, Mapping):
            raise TypeError(f"feeds is a dict from tensors (or names) to values, but it was given {feeds!r:.60}.")
        begun = None if timeout is None else asyncio.get_running_loop().time()
        prepared = None
        key = cache_key(fetches) if trace is None else None
        if key is not None:
            key = (key, *feeds)
            prepared = self._prepared.get(key)
        if prepared is None or self._steps.closed:
            self._steps.open()
            try:
                with anyio.fail_after(timeout):
                    prepared = await self._prepare(key, fetches, feeds, trace)
            except TimeoutError:
                raise DeadlineExceededError(
                    f"The run's time of {timeout} s was up while its plan was made.",
                    hint="await session.warmup(fetches, feeds) makes the plan beforehand.",
                ) from None
        if prepared.composite:
            feeds = dict(spread_feeds(feeds))
        values = {}
        for feed, value in zip(prepared.feeds, feeds.values()):
            values[feed.endpoint] = feed(value)
        results = await self._steps.run(prepared.compiled, values, timeout, trace, begun)
        return prepared.fetches.build(results)

    async def _prepare(self, key: Any, fetches: Any, feeds: Iterable[Any], trace: Trace | None = None) -> _Prepared:
        """Parses a signature and finds its plan."""
        structure = Fetches(self.graph, fetches)
        feeds = list(feeds)
        converters = self._converters(feeds)
        signature = Signature(
            feeds={f.endpoint: (f.tensor.dtype, f.tensor.static_shape) for f in converters},
            fetches=structure.endpoints,
            targets=structure.targets,
        )
        compiled = await self._planner.plan(signature, coalesce=trace is None)
        prepared = _Prepared(structure, converters, compiled, any(map(is_composite, feeds)))
        if key is not None:
            self._prepared[key] = prepared
        self.graph.mark_run()
        return prepared

    def _converters(self, names: Iterable[Any]) -> tuple[Feed, ...]:
        """What converts the values of the tensors that are fed, each of which may be named once."""
        made: dict[Endpoint, Feed] = {}
        for name in spread_names(names):
            feed = Feed(self._fed_tensor(name))
            if made.setdefault(feed.endpoint, feed) is not feed:
                raise InvalidArgumentError(
                    f"{feed.tensor.name} is fed twice.",
                    node=feed.tensor.op.name,
                    where=feed.tensor.where,
                )
        return tuple(made.values())

    def _fed_tensor(self, name: Any) -> Tensor:
        element = self.graph.as_graph_element(name)
        if isinstance(element, Operation):
            raise InvalidArgumentError(
                f"The operation {element.name} can't be fed; feed one of its tensors, such as {element.name}:0.",
                node=element.name,
                where=element.where,
            )
        flow = self.graph.flow_of(element.op.name)
        if flow is not None and flow.loop is not None:
            raise InvalidArgumentError(
                f"{element.name} is inside of {flow.loop}, and can't be fed: there is one in each iteration.",
                node=element.op.name,
                where=element.where,
            )
        return element

    async def make_callable(self, fetches: Any, feed_list: Sequence[Any] = ()) -> Callable_:
        """A function `await f(*values)` that runs `fetches` with the tensors of `feed_list` fed, without looking anything up."""
        self._steps.open()
        prepared = await self._prepare(None, fetches, list(feed_list))
        names = tuple(feed_list) if prepared.composite else None
        return Callable_(self._steps.run, prepared.compiled, prepared.feeds, prepared.fetches.build, names)

    async def warmup(self, fetches: Any, feeds: Sequence[Any] | Mapping[Any, Any] = ()) -> None:
        """Makes the plan and the code for a signature, and runs nothing."""
        self._steps.open()
        names = list(feeds)
        key = cache_key(fetches)
        await self._prepare(None if key is None else (key, *names), fetches, names)

    # Partial runs

    async def partial_run_setup(self, fetches: Any, feeds: Sequence[Any] = ()) -> PartialRun:
        """Starts one step that is fed and fetched in parts with `partial_run` (TensorFlow's `partial_run_setup`).

        Between these calls it takes no place among the steps in flight.
        """
        self._steps.open()
        structure = Fetches(self.graph, fetches)
        converters = {feed.endpoint: feed for feed in self._converters(feeds)}
        signature = Signature(
            feeds={e: (f.tensor.dtype, f.tensor.static_shape) for e, f in converters.items()},
            fetches=structure.endpoints,
            targets=structure.targets,
            partial=True,
        )
        compiled = await self._planner.plan(signature)
        await self._steps.admission.enter()
        try:
            step = self._steps.start(compiled, {}, expected_feeds=len(converters))
        finally:
            self._steps.admission.leave()
        return PartialRun(self, step, compiled, structure, converters)

    async def partial_run(self, handle: PartialRun, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Feeds a part of a step, and waits for a part of its fetches. Each may be used once.

        Raises:
            InvalidArgumentError: something was not named in the set-up, was used already, or a fetch needs feeds that are
                still missing.
        """
        return await handle.run(fetches, feeds or {})

    # The graph and the state

    async def extend(self, graph: Graph | bytes | None = None) -> int:
        """Takes in what was added to the graph since (a run does so by itself), or adds nodes that are given as
        `Graph.to_bytes(since=...)`. Variables keep their values. Returns how many nodes the session knows."""
        self._steps.open()
        if isinstance(graph, bytes):
            self.graph.extend_from_bytes(graph)
        elif graph is not None and graph is not self.graph:
            raise ValueError("A session runs one graph; extend that graph, or pass the added nodes as bytes.")
        return len(self.graph)

    @staticmethod
    def reset(target: str = "", containers: Sequence[str] = ()) -> None:
        """Drops the state in these named containers, in all sessions of the process; in each one where none is named."""
        if target:
            raise UnimplementedError(f"reset(target={target!r}): only the in-process target '' is there so far.")
        for manager in shared_resources.all():
            manager.reset(containers or {container for container, _, _ in manager.names()})

    @asynccontextmanager
    async def _snapshot(self, *, consistent: bool = False) -> AsyncIterator[None]:
        """A block for the run that saves a checkpoint. With `consistent`, the steps in flight end before, and no other
        begins until the values are taken; without, the values are those between two kernels, wherever steps are.

        Raises:
            FailedPreconditionError: there is such a consistent block already.
        """
        self._steps.open()
        if not consistent:
            yield
            return
        listeners = self._planner.contexts.after_snapshot
        async with self._steps.admission.alone() as together:
            listeners.append(together)
            try:
                yield
            finally:
                listeners.remove(together)

    def list_devices(self) -> list[Device]:
        """The devices, in the order in which unconstrained nodes prefer them."""
        return list(self._devices)

    def placement(self, element: Any) -> str:
        """The full name of the device of an operation or tensor. Raises FailedPreconditionError where it has none yet."""
        found = self.graph.as_graph_element(element)
        name = found.op.name if isinstance(found, Tensor) else found.name
        device = self._planner.placements.get(name)
        if device is None:
            raise FailedPreconditionError(
                f"{name} has no device: it was added since the last plan was made, or no device can take it.",
                node=name,
                where=found.where,
                hint="A run places the whole graph, and so does await session.warmup(fetches).",
            )
        return device

    def pending(self) -> str:
        """For each step in flight, the nodes that wait, the channels that are empty, and who should fill them."""
        reports = [f"step {step.id}:\n{step.pending()}" for step in self._steps.running.values()]
        return "\n".join(reports) or "no step is in flight"

    def statistics(self) -> SessionStatistics:
        """The session's counters."""
        return SessionStatistics(
            steps=self._steps.count,
            failed=self._steps.failed,
            cancelled=self._steps.cancelled,
            abandoned=self._steps.abandoned,
            inflight=self._steps.admission.inflight,
            queued=self._steps.admission.queued,
            plans=self._planner.compiled_plans,
            nodes=self._steps.nodes,
            devices={d.name: d.statistics() for d in self._devices},
        )

    # Opening and closing

    async def __aenter__(self) -> Session:
        self._steps.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops the steps in flight, waits for their end, and frees devices and state. A second call does nothing."""
        if self._steps.closed:
            return
        try:
            await self._steps.close()
        finally:
            if self._steps.closed:
                self._prepared.clear()
                for resources in self._resources.values():
                    resources.reset()
                for device in self._devices:
                    device.close()

    def __del__(self) -> None:
        steps = getattr(self, "_steps", None)
        if steps is not None and not steps.closed and steps.was_used:
            warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=2, source=self)
            for device in self._devices:
                device.close()

    def __repr__(self) -> str:
        state = "closed" if self._steps.closed else f"{self._steps.admission.inflight} steps in flight"
        return f"<actorflow.Session on {len(self._devices)} devices, {state}>"
