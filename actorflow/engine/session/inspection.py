"""`Inspection`: what a session tells of its devices, its steps, and where its nodes are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from actorflow.base.reports import markup
from actorflow.engine.device.base import Device
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.runtime.diagnostics.trace import Prediction, Trace
from actorflow.engine.runtime.visible_actors import TaskState
from actorflow.engine.session.engine import Engine
from actorflow.engine.session.members import MembershipChange
from actorflow.engine.session.statistics import EdgeReport, SessionStatistics
from actorflow.errors import FailedPreconditionError
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from actorflow.engine.placement.study.study import PlacementStudy


class Inspection:
    """The questions of `Session`. None of them changes anything."""

    graph: Graph
    _engine: Engine

    def list_devices(self) -> list[Device]:
        """The devices, in the order in which unconstrained nodes prefer them.

        Example:
            >>> async with af.Session(devices={"CPU": 2}) as session:
            ...     print([device.name for device in session.list_devices()])
            ['/job:localhost/replica:0/task:0/device:CPU:0', '/job:localhost/replica:0/task:0/device:CPU:1']
        """
        return self._engine.devices()

    def placement(self, element: Any) -> str:
        """The full name of the device of an operation or tensor. Raises FailedPreconditionError before it has a device.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> double = x * 2.0
            >>> await session.run(double, {x: 1.0})
            2.0
            >>> session.placement(double)
            '/job:localhost/replica:0/task:0/device:CPU:0'
        """
        target = self.graph.as_graph_element(element)
        name = target.op.name if isinstance(target, Tensor) else target.name
        device = self._engine.placements().get(name)
        if device is None:
            raise FailedPreconditionError(
                f"{name} has no device: it was added since the last plan was made, or no device can take it.",
                node=name,
                where=target.where,
                hint="A run places the whole graph, and so does await session.warmup(fetches).",
            )
        return device

    def pending(self) -> str:
        """For each step in flight, the nodes that wait, with the user's lines; the channel or resource that each waits for, and
        the nodes that fill and drain it. Kernels that go on after their steps are listed too.

        Of a cluster it is what the tasks have told last: they are asked each second while a step takes longer than that.

        Example:
            >>> queue = af.FIFOQueue(3, [af.float32], [[]], name="samples")
            >>> take = queue.dequeue(name="take")
            >>> import anyio
            >>> async with anyio.create_task_group() as group:
            ...     _ = group.start_soon(session.run, take)
            ...     await anyio.wait_all_tasks_blocked()
            ...     print(session.pending())
            ...     group.cancel_scope.cancel()
            step 1:
            take (QueueDequeueV2, ...) waits for an element of queue 'samples', which is empty (0 of 3 elements, open)
              filled by: nothing in this graph
        """
        return self._engine.pending()

    def tasks(self) -> list[TaskState]:
        """The nodes of the steps in flight that are ready, run or wait; see `TaskState`. On the session's event loop.

        With `PlanOptions(coalesce=False)` each node has an asyncio task of its name, which `asyncio.all_tasks()` shows as well
        and which is the current task while its kernel runs on the event loop.

        Example:
            >>> queue = af.FIFOQueue(3, [af.float32], [[]], name="samples")
            >>> take = queue.dequeue(name="take")
            >>> import anyio
            >>> async with anyio.create_task_group() as group:
            ...     _ = group.start_soon(session.run, take)
            ...     await anyio.wait_all_tasks_blocked()
            ...     print([(task.name, task.state) for task in session.tasks()])
            ...     group.cancel_scope.cancel()
            [('take', 'waits')]

        Raises:
            UnimplementedError: the session is on a cluster, whose tasks are in other processes.
        """
        return self._engine.tasks()

    def recent(self, seconds: float | None = None, step: int | None = None) -> Trace:
        """The steps that ended within the last `seconds`, all that are kept unless given, and those under way.

        There is a span for each step and the events of those that were traced, as `Session(recording=...)` says.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> double = af.multiply(x, 2.0, name="double")
            >>> async with af.Session(recording=af.Recording(every=1)) as session:
            ...     _ = await session.run(double, {x: 1.0})
            ...     print(session.recent(seconds=60.0).names())
            ['double']

        Args:
            seconds: how far to look back.
            step: the number of the one step that is wanted.

        Raises:
            FailedPreconditionError: the session does not record its steps.
            UnimplementedError: the session is on a cluster, whose tasks record; `actorflow trace --last` asks them.
        """
        return self._engine.recent(seconds, step)

    async def explain_placement(self, element: Any) -> str:
        """Why an operation or tensor is on its device: its group, what joined it, and each device's cost.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> double = af.multiply(x, 2.0, name="double")
            >>> await session.warmup(double, [x])
            >>> print(await session.explain_placement(double))
            double (...) is on /job:localhost/replica:0/task:0/device:CPU:0.
            The devices:
              /job:localhost/replica:0/task:0/device:CPU:0: chosen
        """
        target = self.graph.as_graph_element(element)
        return await self._engine.explain(target.op.name if isinstance(target, Tensor) else target.name)

    async def study_placement(self) -> PlacementStudy:
        """The steps that run most as placement sees them, with their costs so far and the placement in force. The study answers
        what a step is expected to take, here and on other machines, and can be kept in a file.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> double = x * 2.0
            >>> _ = await session.run(double, {x: 1.0})
            >>> study = await session.study_placement()
            >>> study.seconds >= 0
            True

        Raises:
            FailedPreconditionError: nothing has run yet.
        """
        from actorflow.engine.placement.study.study import PlacementStudy

        self._engine.open()
        problem = await self._engine.posed()
        if problem is None:
            raise FailedPreconditionError(
                "There is no step to study.", hint="Run a step first, or call await session.warmup(fetches)."
            )
        return PlacementStudy(problem)

    async def measured(self) -> list[NodeMeasurement]:
        """The measurements of runs so far, for each node or for several fused nodes.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> double = af.multiply(x, 2.0, name="double")
            >>> for _ in range(20):  # one run in sixteen is timed
            ...     _ = await session.run(double, {x: 1.0})
            >>> [measurement.names for measurement in await session.measured()]
            [('double',)]
        """
        self._engine.open()
        return await self._engine.observed()

    async def predict(self, trace: Trace) -> None:
        """Puts the schedule that placement expects beside what a trace has measured, into `trace.predicted` and its timeline.

        It is the simulated execution of the trace's nodes on their devices, by the costs of all runs so far (`measured`), or by
        static guesses for nodes that were not timed.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> double = af.multiply(x, 2.0, name="double")
            >>> trace = af.Trace()
            >>> _ = await session.run(double, {x: 1.0}, trace=trace)
            >>> await session.predict(trace)
            >>> [prediction.node for prediction in trace.predicted]
            ['double']

        Args:
            trace: the trace of a run of this session.
        """
        from actorflow.engine.placement.measuring import measurements
        from actorflow.engine.placement.simulation.makespan import makespan

        nodes = self.graph.nodes
        placements = self._engine.placements()
        placed = {name: placements[name] for name in sorted({*trace.names()}) if name in nodes and name in placements}
        costs = measurements(await self.measured(), nodes)
        schedule = makespan(nodes, placed, self._engine.devices(), measured=costs)
        times = zip(placed, schedule.begun, schedule.ended)
        trace.predicted = [
            Prediction(n, placed[n], round(begun * 1e9), round(ended * 1e9)) for n, begun, ended in times
        ]

    async def channels(self) -> list[EdgeReport]:
        """Each edge between tasks of the cluster, with its transport and what it has carried.

        Example:
            >>> with af.device("/job:worker/task:1"):
            ...     x = af.placeholder(af.float32, [None], name="x")
            ...     double = af.multiply(x, 2.0, name="double")
            >>> with af.device("/job:worker/task:0"):
            ...     total = af.reduce_sum(double)
            >>> async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
            ...     async with af.Session(cluster.target) as session:
            ...         print(await session.run(total, {x: [1.0, 2.0]}))
            ...         print([channel.tensor for channel in await session.channels()])
            6.0
            ['double:0']
        """
        return await self._engine.channels()

    def members(self) -> AsyncIterator[MembershipChange]:
        """The tasks of the cluster, and then each change of them, without end.

        Example:
            >>> async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
            ...     async with af.Session(cluster.target) as session:
            ...         async for change in session.members():
            ...             print(*change.joined)
            ...             if change.epoch == 2:
            ...                 break
            ...             await cluster.scale(worker=2)
            /job:worker/task:0
            /job:worker/task:1

        Raises:
            FailedPreconditionError: the session is of this process, and has no cluster.
            UnavailableError: its master is lost; another call tells the tasks again.
        """
        return self._engine.members()

    def statistics(self) -> SessionStatistics:
        """The session's counters.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> _ = await session.run(x * 2.0, {x: 1.0})
            >>> session.statistics().steps
            1
        """
        return self._engine.statistics()

    def _repr_html_(self) -> str:
        """For notebooks: what it counts, its devices, and what its steps wait for."""
        closed = self._engine.closed
        figures = self.statistics()
        where = f"Session on {target}" if (target := str(getattr(self._engine, "target", ""))) else "Session"
        facts: dict[str, object] = {"state": "closed" if closed else "open", "steps": f"{figures.steps:,}"}
        facts |= {
            "running": figures.inflight,
            "waiting": figures.waiting,
            "failed": figures.failed,
            "plans": figures.plans,
        }
        heads = ["device", "kernels on the loop", "on threads", "live memory", "peak"]
        rows = [
            (name, d.inline, d.threaded, markup.size(d.memory.live_bytes), markup.size(d.memory.peak_bytes))
            for name, d in figures.devices.items()
        ]
        waits = (
            ""
            if closed or not figures.inflight + figures.waiting
            else markup.fold("steps in flight", markup.text(self.pending()), opened=True)
        )
        return markup.card(where, facts, markup.table(heads, rows), waits)
