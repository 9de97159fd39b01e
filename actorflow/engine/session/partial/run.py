"""Partial runs: one step that is fed and fetched in several calls (TensorFlow's `partial_run`)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from actorflow.base.unpicklable import unpicklable
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.session.partial.execution import PartialExecution
from actorflow.engine.session.planning.builder import CompiledPlans
from actorflow.engine.session.step_runner import StepRunner
from actorflow.engine.session.waiting.deadline import note, noted
from actorflow.engine.transport.base import Callback
from actorflow.errors import CancelledError, InvalidArgumentError, OpError
from actorflow.graph.analysis.inline import inline
from actorflow.graph.node import Node, TensorId
from actorflow.graph.structure.composites import spread_feeds
from actorflow.graph.structure.feeds import Feed, fed_tensor
from actorflow.graph.structure.fetches import Fetches

if TYPE_CHECKING:
    from actorflow.engine.session.session import Session


class PartialStep(ABC):
    """A step that is fed and fetched in parts, as its client has it. Feeds go by their place in the signature. Fetches come each
    when it is there, by theirs; behind them its targets are numbered.

    A task of `root` runs the step, because no part of it is there from its beginning to its end.
    """

    def __init__(self, signature: RunSignature, root: BackgroundTasks) -> None:
        self.finished = False
        """Whether nothing of it goes on."""
        self._places = {tensor_id: index for index, tensor_id in enumerate(signature.feeds)}
        self._values: dict[int, Any] = {}
        self._error: BaseException | None = None
        self._waited: Sequence[str] = ()
        """The things that the step waited for when it was stopped."""
        self._changed = anyio.Event()
        self._task = root.start(self._hold())

    @abstractmethod
    async def run(self) -> None:
        """Runs the step to its end; cancelled, it stops it. Raises the step's error."""

    @abstractmethod
    def feed(self, index: int, value: Any) -> None:
        """Brings a feed to the step. Raises UnavailableError where that is out of reach."""

    def give(self, index: int, value: Any) -> None:
        """A fetch is there; an error where its branch was not taken."""
        self._values[index] = value
        self._wake()

    async def part(self, feeds: Mapping[TensorId, Any], places: Sequence[int]) -> list[Any]:
        """Feeds it, and waits for some of its fetches. Cancelled, it ends the step. Raises the step's error."""
        try:
            if not self.finished:
                for tensor_id, value in feeds.items():
                    self.feed(self._places[tensor_id], value)
            while not self.finished and any(index not in self._values for index in places):
                await self._changed.wait()
        except BaseException as error:
            await self._stop()
            if isinstance(error, asyncio.CancelledError):
                note(error, self._waited)
            raise
        if self._error is not None:
            raise self._error
        return [_value(self._values.pop(index)) for index in places]

    async def _hold(self) -> None:
        """Waits for the step's end, whoever else waits for what."""
        try:
            await self.run()
        except asyncio.CancelledError as error:
            self._waited = noted(error)
            self._error = CancelledError(
                "The operation was cancelled: the session was closed while the step was running."
            )
            raise
        except Exception as error:
            self._error = error
        finally:
            self.finished = True
            self._wake()

    async def _stop(self) -> None:
        """Ends the step, and waits for that."""
        if self._task is not None and not self._task.done():
            with anyio.CancelScope(shield=True):
                await asyncio.sleep(0)  # a task that is cancelled before it begins would not stop its step
                self._task.cancel()
                await asyncio.wait([self._task])

    def _wake(self) -> None:
        """Wakes all parts that wait for something."""
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


def _value(value: Any) -> Any:
    if value is DEAD:
        raise InvalidArgumentError("A fetch has no value: it lies on a branch that this run did not take.")
    if isinstance(value, OpError):
        raise value
    return value[()] if getattr(value, "ndim", None) == 0 else value


class LocalPartialStep(PartialStep):
    """A partial run of a session in this process."""

    def __init__(
        self, steps: StepRunner, compiled: CompiledPlans, signature: RunSignature, root: BackgroundTasks
    ) -> None:
        super().__init__(signature, root)
        self._steps = steps
        self._expected: dict[int, Callback] = {}
        self._under_way = 0
        """How many parts wait for their fetches, each with a place."""
        self._lent = 0
        """How many of them have given that up, because the step only waits."""
        self._step = PartialExecution(steps, compiled, tuple(signature.feeds), self, accounting=self)

    async def run(self) -> None:
        """See `PartialStep.run`."""
        await self._step.wait()

    def expect(self, index: int, callback: Callback) -> None:
        """The step wants a feed."""
        self._expected[index] = callback

    def feed(self, index: int, value: Any) -> None:
        """Brings it."""
        self._expected.pop(index)(value, None)

    async def part(self, feeds: Mapping[TensorId, Any], places: Sequence[int]) -> list[Any]:
        """See `PartialStep.part`."""
        self._under_way += 1
        self._step.count_again()
        try:
            return await super().part(feeds, places)
        finally:
            self._under_way -= 1
            if self._lent:
                self._lent -= 1
                self._steps.end_waiting()

    def begin_waiting(self) -> OpError | None:
        """The step only waits, and so do its parts that are under way."""
        while self._lent < self._under_way:
            if (refused := self._steps.begin_waiting()) is not None:
                self.end_waiting()
                return refused
            self._lent += 1
        return None

    def end_waiting(self) -> None:
        """The step goes on, or is over."""
        while self._lent:
            self._lent -= 1
            self._steps.end_waiting()


class PartialRun:
    """The handle of a step in parts. Its state is freed when all feeds and fetches are used, or at an error."""

    __reduce_ex__ = unpicklable("A partial run is not pickled: its step waits in the session of this process.")

    def __init__(self, session: Session, parts: PartialStep, fetches: Fetches, feeds: dict[TensorId, Feed]) -> None:
        self._session = session
        self._parts = parts
        self._places = {tensor_id: index for index, tensor_id in enumerate(fetches.tensor_ids)}
        self._targets = {target: len(fetches.tensor_ids) + index for index, target in enumerate(fetches.targets)}
        self._missing = dict(feeds)
        self._feeds = feeds
        self._ended = False

    async def run(self, fetches: Any, feeds: Mapping[Any, Any]) -> Any:
        """One part; see `Session.partial_run`."""
        self._session._engine.open()
        if self._ended:
            raise InvalidArgumentError("The partial run is over: all its feeds and fetches were used, or it failed.")
        admission = self._session._admission
        await admission.enter()
        try:
            return await self._part(fetches, feeds)
        finally:
            admission.leave()

    async def _part(self, fetches: Any, feeds: Mapping[Any, Any]) -> Any:
        session = self._session
        graph = session.graph
        values: dict[TensorId, Any] = {}
        for name, value in spread_feeds(feeds):
            tensor = fed_tensor(graph, name)
            tensor_id = tensor.tensor_id
            converter = self._missing.get(tensor_id)
            if converter is None:
                why = "was fed already" if tensor_id in self._feeds else "was not named when the partial run was set up"
                raise InvalidArgumentError(
                    f"{tensor_id} can't be fed: it {why}.", node=tensor.op.name, where=tensor.where
                )
            values[tensor_id] = converter(value)
        structure = Fetches(graph, fetches, session._values.writable)
        self._check_fetches(structure, values)
        for tensor_id in values:
            del self._missing[tensor_id]
        places = [self._places[tensor_id] for tensor_id in structure.tensor_ids]
        done = [self._targets[target] for target in structure.targets]
        try:
            results = await self._parts.part(values, places + done)
        except BaseException:
            self._ended = True
            raise
        for tensor_id in structure.tensor_ids:
            del self._places[tensor_id]
        for target in structure.targets:
            del self._targets[target]
        if not self._places and not self._missing and (self._parts.finished or not self._targets):
            self._ended = True
        return structure.build(results[: len(places)])

    def _check_fetches(self, structure: Fetches, values: Mapping[TensorId, Any]) -> None:
        for tensor_id in structure.tensor_ids:
            if tensor_id not in self._places:
                raise InvalidArgumentError(
                    f"{tensor_id} can't be fetched: it was fetched already, or not named when the partial run was set up."
                )
        for target in structure.targets:
            if target not in self._targets:
                raise InvalidArgumentError(f"{target} was run already, or not named when the partial run was set up.")
        still = [e for e in self._missing if e not in values]
        nodes, fetched = inline(self._session.graph.nodes, tuple(structure.tensor_ids), self._feeds.keys())
        needs = _needed(nodes, fetched, structure.targets, self._feeds.keys(), still)
        if needs:
            raise InvalidArgumentError(
                f"The fetches need feeds that are still missing: {', '.join(map(str, needs))}.",
                hint="Feed them in this call or an earlier one.",
            )


def _needed(
    nodes: Mapping[str, Node],
    fetches: Iterable[TensorId],
    targets: Iterable[str],
    feeds: Collection[TensorId],
    missing: Collection[TensorId],
) -> list[TensorId]:
    """Those of the `missing` feeds that the fetches depend on."""
    edges: dict[TensorId, None] = {}
    seen: set[str] = set()
    stack: list[TensorId] = [*fetches, *(TensorId(target, -1) for target in targets)]
    while stack:
        tensor_id = stack.pop()
        if tensor_id in feeds:
            if tensor_id in missing:
                edges[tensor_id] = None
            continue
        if tensor_id.node not in seen:
            seen.add(tensor_id.node)
            node = nodes[tensor_id.node]
            stack.extend(node.inputs)
            stack.extend(TensorId(control, -1) for control in node.controls)
    return list(edges)
