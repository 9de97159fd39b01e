"""`StateCopies`: copies of all variables in the memory of other tasks, and variables that get their values from copies.

The values are taken behind all that a run does, by nodes of the same step, and kept under the number of the run. A task keeps
what belongs to two runs: the last run that is kept on all tasks, and the run that goes on. So after any loss there is a run
of which each surviving copy is of the same moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import anyio
import numpy as np

from actorflow.base.dtypes import int64
from actorflow.base.process import machine
from actorflow.cluster.master.graph_partitioner import task_of
from actorflow.engine.session.session import Session
from actorflow.engine.session.waiting.deadline import deadline
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.state.copies import adopt_copies, give_copies, keep_copies, take_copies
from actorflow.graph.structure.fetches import cache_key
from actorflow.graph.tensor import Operation, Tensor
from actorflow.training.supervisor.moving.doubt import Doubt
from actorflow.training.supervisor.moving.effects import Effect, RunReach, reach_of
from actorflow.training.supervisor.moving.layout import KeptPart, Layout, laid_out, processor
from actorflow.training.supervisor.moving.state_groups import keepers

_TURNS = (
    "Run first the run that waits, or what feeds its queue: runs that write variables take turns while copies are kept."
)


class StateCopies:
    """The copies of one training.

    Args:
        graph: to which nodes are added when they are needed.
        variables: those whose values are kept.
        count: on how many further tasks each variable is kept beside each run.
        doubt: about the runs before.
    """

    def __init__(self, graph: Graph, variables: Sequence[Any], count: int, doubt: Doubt) -> None:
        self.count, self._doubt = count, doubt
        self.owner = f"{machine.fresh_incarnation():x}"
        self.homes: dict[str, str] = {}
        """The devices of the variables, and of other nodes that have moved."""
        self.moved: frozenset[str] = frozenset()
        """The nodes that have moved while the session lives: a former task may have an old counter of theirs."""
        self.leaving: frozenset[str] = frozenset()
        """The tasks that are about to leave, which get no copies any more."""
        self.turn = anyio.Lock()
        """Held by each run that writes variables, and by a move."""
        self._graph = graph
        self._ops: dict[str, Operation] = {variable.op.name: variable.op for variable in variables}
        self._types = {variable.op.name: variable.dtype.base_dtype for variable in variables}
        self._run, self._complete = 0, 0
        self._layouts: dict[int, Layout] = {}
        self._reaches: dict[Any, RunReach] = {}
        self._kept: dict[Any, Operation] = {}
        self._adopted: dict[Any, Operation] = {}
        self._scopes: set[str] = set()
        with self._nodes():
            self._stamps = placeholder(int64, [2], name="stamps")

    @property
    def variables(self) -> Collection[str]:
        """The names of their nodes."""
        return self._types.keys()

    def is_own(self, node: str) -> bool:
        """Whether a node keeps copies or gives them."""
        return node.startswith(tuple(self._scopes))

    @contextmanager
    def _nodes(self) -> Iterator[None]:
        """Nodes are added in the block, also to a graph that is finalized for others."""
        finalized = self._graph.finalized
        self._graph._unsafe_unfinalize()
        try:
            with (
                self._graph.as_default(),
                self._graph.control_dependencies(None),
                self._graph.device(None),
                self._graph.name_scope("copies") as scope,
            ):
                self._scopes.add(scope)
                yield
        finally:
            if finalized:
                self._graph.finalize()

    # ---- taking

    def tasks(self, session: Session) -> Mapping[str, str]:
        """The tasks of the variables, and of nodes that keep something, as a saver takes them."""
        placed = {**session._engine.placements(), **self.homes}
        names = [name for name in (*self._types, *keepers(self._graph)) if name in placed]
        return {name: str(DeviceSpec.parse(placed[name]).task_of()) for name in names}

    def settle(self, session: Session) -> None:
        """Takes the devices that the variables have now."""
        self.homes = {name: session.placement(op) for name, op in self._ops.items()}

    def layout(self, session: Session, moves: Mapping[str, str] | None = None) -> Layout:
        """Which task keeps what beside a run, or where variables are about to move."""
        placed = {**session._engine.placements(), **self.homes}
        present = [device.name for device in session.list_devices() if task_of(device.name) not in self.leaving]
        tasks = list(dict.fromkeys(map(processor, present)))
        at = list(dict.fromkeys(placed[name] for name in keepers(self._graph) if name in placed))
        homes = {name: self.homes[name] for name in self._types}
        layout = laid_out(homes, at, tasks, self.count, moves or {})
        if not self.moved:
            return layout
        tasks_of = {name: task_of(placed[name]) for name in sorted(self.moved) if name in placed}
        return tuple(
            replace(part, away=tuple(name for name, task in tasks_of.items() if task != task_of(part.home)))
            for part in layout
        )

    async def run(
        self,
        session: Session,
        fetches: Any,
        feeds: Mapping[Any, Any] | None,
        begun: float,
        *,
        timeout: float | None = None,
        **options: Any,
    ) -> Any:
        """`Session.run`, and the copies of what it has changed are there when it returns. Runs that write variables take turns.
        A run that only changes positions does not wait for its turn: the next run that has a turn keeps what it has changed.

        Args:
            begun: when the run began, by the clock of the event loop.
            timeout: seconds from then on, the wait for its turn among them.
            session, fetches, feeds, options: see `Session.run`.

        Raises:
            DeadlineExceededError: the time is up before its turn has come.
            OpError: see `Session.run`.
        """
        reach = self._reach(fetches, feeds or {})
        if reach.effect is Effect.NOTHING or (reach.effect is Effect.POSITIONS and self.turn.locked()):
            return await session.run(fetches, feeds, timeout=timeout, **options)
        if self.turn.locked():
            with deadline(timeout, begun, "while another run that writes variables was under way", _TURNS):
                await self.turn.acquire()
            timeout = None if timeout is None else max(0.0, begun + timeout - anyio.current_time())
        else:
            await self.turn.acquire()
        try:
            await self._doubt.over()
            layout = self.layout(session)
            keep = self._keep_behind(reach.names, layout)
            fed = {**(feeds or {}), self._stamps: self._begin(layout)}
            with self._doubt.of_run():
                values, _ = await session.run([fetches, keep], fed, timeout=timeout, **options)
            self._complete = self._run
            return values
        finally:
            self.turn.release()

    def _reach(self, fetches: Any, feeds: Mapping[Any, Any]) -> RunReach:
        key = cache_key(fetches)
        if key is None:
            return reach_of(self._graph, fetches, feeds)
        reach = self._reaches.get((key, *feeds))
        if reach is None:
            reach = self._reaches[key, *feeds] = reach_of(self._graph, fetches, feeds)
        return reach

    async def take(self, session: Session, moves: Mapping[str, str]) -> None:
        """Keeps all variables as they are now, those that are about to move on the tasks to which they go. Called in the turn."""
        layout = self.layout(session, moves)
        key = layout, "move"
        if key not in self._kept:
            self._kept[key] = self._keep(layout, [])
        await session.run(self._kept[key], {self._stamps: self._begin(layout)})
        self._complete = self._run

    def _begin(self, layout: Layout) -> np.ndarray[Any, Any]:
        self._run += 1
        self._layouts = {run: kept for run, kept in self._layouts.items() if run == self._complete}
        self._layouts[self._run] = layout
        return np.array([self._run, self._complete], np.int64)

    def _keep_behind(self, names: tuple[str, ...], layout: Layout) -> Operation:
        """The node that keeps what a run leaves that asks for the nodes `names`."""
        key = names, layout
        if key not in self._kept:
            self._kept[key] = self._keep(layout, [self._graph.get_operation_by_name(name) for name in names])
        return self._kept[key]

    def _keep(self, layout: Layout, behind_all: Sequence[Operation]) -> Operation:
        with self._nodes():
            kept = [node for part in layout for node in self._keep_part(part, behind_all)]
            return group(*kept, name="keep_all")

    def _keep_part(self, part: KeptPart, behind_all: Sequence[Operation]) -> list[Operation]:
        handles = [self._ops[name] for name in part.variables]
        with self._graph.device(part.home), self._graph.control_dependencies([*behind_all, *handles]):
            types = [self._types[name] for name in part.variables]
            taken = take_copies(
                handles=part.variables, dtypes=types, state=part.has_state, away=part.away, name="TakeCopies"
            )
        *values, state = _listed(taken)
        nodes = []
        for place in part.places:
            with self._graph.device(place):
                nodes.append(
                    keep_copies(
                        self._stamps,
                        state,
                        values,
                        owner=self.owner,
                        part=part.name,
                        keys=part.variables,
                        own=place == part.home,
                        name="KeepCopies",
                    )
                )
        return nodes

    # ---- putting back

    def newest(
        self, rows: Mapping[str, Sequence[tuple[int, str, Sequence[str]]]]
    ) -> tuple[int, Mapping[str, str]] | None:
        """The last run of which all parts are kept, and for each part the task that has it.

        Args:
            rows: what each task that is there keeps; see `AskCopies`.
        """
        for run in sorted(self._layouts, reverse=True):
            parts = {
                part.name: next(
                    (task for task, kept in rows.items() if any(row[:2] == (run, part.name) for row in kept)), None
                )
                for part in self._layouts[run]
            }
            holders = {name: task for name, task in parts.items() if task is not None}
            if parts and len(holders) == len(parts):
                return run, holders
        return None

    async def adopt(
        self,
        session: Session,
        run: int,
        holders: Mapping[str, str],
        moved: Collection[str] | None = None,
    ) -> None:
        """Gives variables the values that are kept of a run; and nodes and readers go on from there.

        Args:
            run: as `newest` tells it.
            holders: for each part the task that has it.
            moved: the nodes that have moved, which alone are given something; all unless given.
        """
        layout = self._layouts[run]
        chosen_names = tuple(sorted(name for name in self._types if moved is None or name in moved))
        homes = tuple(self.homes[name] for name in chosen_names)
        placed = {**session._engine.placements(), **self.homes}
        keeping = [name for name in keepers(self._graph) if name in placed]
        if moved is not None and not any(name in moved for name in keeping):
            keeping = []
        at = tuple(dict.fromkeys(processor(placed[name]) for name in keeping))
        key = layout, tuple(holders.items()), chosen_names, homes, at
        if key not in self._adopted:
            self._adopted[key] = self._adopt(layout, holders, chosen_names, at)
        await session.run(self._adopted[key], {self._stamps: np.array([run, run], np.int64)})
        self._complete = run

    def forget(self) -> None:
        """No variables get their values from the present copies any more."""
        self._layouts.clear()

    def last(self) -> tuple[int, Layout]:
        """The last run that is kept on all tasks."""
        return self._complete, self._layouts[self._complete]

    def _adopt(
        self, layout: Layout, holders: Mapping[str, str], chosen_names: Collection[str], at: Sequence[str]
    ) -> Operation:
        with self._nodes():
            values: dict[str, Tensor] = {}
            states = []
            for part in layout:
                names = [name for name in part.variables if name in chosen_names]
                if not names and not (at and part.has_state):
                    continue
                place = next(place for place in part.places if task_of(place) == holders[part.name])
                with self._graph.device(place):
                    types = [self._types[name] for name in names]
                    parts = give_copies(
                        self._stamps[0], owner=self.owner, part=part.name, keys=names, dtypes=types, name="GiveCopies"
                    )
                *tensors, state = _listed(parts)
                values.update(zip(names, tensors, strict=True))
                if part.has_state:
                    states.append(state)
            by_task: dict[str, list[str]] = {device: [] for device in at}
            for name in chosen_names:
                by_task.setdefault(processor(self.homes[name]), []).append(name)
            nodes = []
            for device, names in by_task.items():
                with self._graph.device(device), self._graph.control_dependencies([self._ops[name] for name in names]):
                    nodes.append(
                        adopt_copies(
                            [*(values[name] for name in names), *(states if at else ())],
                            handles=names,
                            name="AdoptCopies",
                        )
                    )
            return group(*nodes, name="adopt_all")


def _listed(outputs: list[Tensor] | Tensor) -> list[Tensor]:
    """The outputs of an op, or its only output."""
    return [outputs] if isinstance(outputs, Tensor) else outputs
