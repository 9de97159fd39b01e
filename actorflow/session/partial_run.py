"""Partial runs: one step that is fed and fetched in several calls (TensorFlow's `partial_run`)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from actorflow.errors import CancelledError, InvalidArgumentError, OpError
from actorflow.graph.node import Node, TensorId
from actorflow.passes.inline import inline
from actorflow.runtime.tokens import EMPTY
from actorflow.session.planning.planner import CompiledPlans
from actorflow.session.structure.composites import spread_feeds
from actorflow.session.structure.feeds import Feed
from actorflow.session.structure.fetches import Fetches
from actorflow.session.structure.values import result_of
from actorflow.session.waiting.deadline import note
from actorflow.unpicklable import unpicklable

if TYPE_CHECKING:
    from actorflow.session.session import Session
    from actorflow.session.step_runner import StepRunner


class PartialStep(Protocol):
    """A step that is fed and fetched in parts, wherever it runs."""

    @property
    def finished(self) -> bool:
        """Whether nothing of it goes on."""

    async def part(self, feeds: Mapping[TensorId, Any], wanted: Sequence[int]) -> list[Any]:
        """Feeds it, and waits for some of its signature's fetches, behind which its targets are numbered.

        Cancelled, it ends the step. Raises the step's error.
        """

    def end(self) -> None:
        """Lets go of it: all is used, or it has failed."""


class LocalPartialStep:
    """A partial run of a session in this process."""

    def __init__(self, steps: StepRunner, compiled: CompiledPlans, feeds: int) -> None:
        self._steps = steps
        self._places = compiled.places
        self._fed: dict[TensorId, Any] = {}
        self._under_way = 0
        """How many parts wait for their fetches, each with a place."""
        self._lent = 0
        """How many of them have given that up, because the step only waits."""
        self._step = step = steps.start(compiled, {}, expected_feeds=feeds, places=self)
        step.on_end(lambda: steps.left(step))

    @property
    def finished(self) -> bool:
        return self._step.finished

    async def part(self, feeds: Mapping[TensorId, Any], wanted: Sequence[int]) -> list[Any]:
        step = self._step
        places = [self._places[index] for index in wanted]
        self._fed.update(feeds)
        self._under_way += 1
        try:
            if step.error is None:
                step.feed(feeds)
                step.dispatcher.pump()
            await self._wait_for(places)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and not step.finished:
                note(error, [f"Step {step.id} was not done:", *self._steps.report(step)])
            try:
                await self._steps.drain(step, CancelledError("The partial run was cancelled."))
            finally:
                self.end()
            raise
        finally:
            self._under_way -= 1
            if self._lent:
                self._lent -= 1
                self._steps.end_waiting()
        if step.error is not None:
            await self._steps.drain(step, step.error)
            self._steps.running.pop(step.id, None)
            raise step.release().with_traceback(None)  # type: ignore[union-attr]
        return [result_of(step, part, slot, step.executors[part].slots[slot], self._fed) for part, slot in places]

    async def _wait_for(self, places: Sequence[tuple[int, int]]) -> None:
        """Returns when there is something in these places, or the step has ended."""
        step = self._step
        while not step.finished:
            if all(step.executors[part].slots[position] is not EMPTY for part, position in places):
                return
            waiter = step.loop.create_future()

            def wake(waiter: Any = waiter) -> None:
                if not waiter.done():
                    waiter.set_result(None)

            step.listeners.append(wake)
            try:
                await waiter
            finally:
                step.listeners.remove(wake)

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

    def end(self) -> None:
        self._steps.running.pop(self._step.id, None)
        self._step.release()


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
            tensor = session._fed_tensor(name)
            tensor_id = tensor.tensor_id
            converter = self._missing.get(tensor_id)
            if converter is None:
                why = "was fed already" if tensor_id in self._feeds else "was not named when the partial run was set up"
                raise InvalidArgumentError(
                    f"{tensor_id} can't be fed: it {why}.", node=tensor.op.name, where=tensor.where
                )
            values[tensor_id] = converter(value)
        structure = Fetches(graph, fetches, session.writable)
        self._check_fetches(structure, values)
        for tensor_id in values:
            del self._missing[tensor_id]
        wanted = [self._places[tensor_id] for tensor_id in structure.tensor_ids]
        done = [self._targets[target] for target in structure.targets]
        try:
            results = await self._parts.part(values, wanted + done)
        except BaseException:
            self._ended = True
            raise
        for tensor_id in structure.tensor_ids:
            del self._places[tensor_id]
        for target in structure.targets:
            del self._targets[target]
        if not self._places and not self._missing and (self._parts.finished or not self._targets):
            self._ended = True
            if self._parts.finished:
                self._parts.end()
        return structure.build(results[: len(wanted)])

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
    """Those of the `missing` feeds that the fetches hang on."""
    found: dict[TensorId, None] = {}
    seen: set[str] = set()
    stack: list[TensorId] = [*fetches, *(TensorId(target, -1) for target in targets)]
    while stack:
        tensor_id = stack.pop()
        if tensor_id in feeds:
            if tensor_id in missing:
                found[tensor_id] = None
            continue
        if tensor_id.node not in seen:
            seen.add(tensor_id.node)
            node = nodes[tensor_id.node]
            stack.extend(node.inputs)
            stack.extend(TensorId(control, -1) for control in node.controls)
    return list(found)
