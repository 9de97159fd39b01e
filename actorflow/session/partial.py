"""Partial runs: one step that is fed and fetched in several calls (TensorFlow's `partial_run`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from actorflow.errors import CancelledError, InvalidArgumentError
from actorflow.graph.node import Endpoint, Node
from actorflow.passes.inline import inline
from actorflow.runtime.step import Step
from actorflow.runtime.tokens import EMPTY
from actorflow.session.composites import spread_feeds
from actorflow.session.feeds import Feed
from actorflow.session.fetches import Fetches
from actorflow.session.planner import Compiled
from actorflow.session.values import result_of

if TYPE_CHECKING:
    from actorflow.session.session import Session
    from actorflow.session.steps import Steps


class PartialRun:
    """The handle of a step in parts. Its state is freed when all feeds and fetches are used, or at an error."""

    def __init__(
        self,
        session: Session,
        steps: Steps,
        step: Step,
        compiled: Compiled,
        fetches: Fetches,
        feeds: dict[Endpoint, Feed],
    ) -> None:
        self._session = session
        self._steps = steps
        self._step = step
        self._compiled = compiled
        self._places = dict(zip(fetches.endpoints, compiled.places))
        self._targets = dict(zip(fetches.targets, compiled.places[len(fetches.endpoints) :], strict=True))
        """Where it shows that a target has run."""
        self._missing = dict(feeds)
        self._feeds = feeds
        self._fed: dict[Endpoint, Any] = {}
        self._ended = False

    async def run(self, fetches: Any, feeds: Mapping[Any, Any]) -> Any:
        """One part; see `Session.partial_run`."""
        self._steps.open()
        if self._ended:
            raise InvalidArgumentError("The partial run is over: all its feeds and fetches were used, or it failed.")
        await self._steps.admission.enter()
        try:
            return await self._part(fetches, feeds)
        finally:
            self._steps.admission.leave()

    async def _part(self, fetches: Any, feeds: Mapping[Any, Any]) -> Any:
        session, step = self._session, self._step
        graph = session.graph
        values: dict[Endpoint, Any] = {}
        for name, value in spread_feeds(feeds):
            tensor = session._fed_tensor(name)
            endpoint = tensor.endpoint
            converter = self._missing.get(endpoint)
            if converter is None:
                why = "was fed already" if endpoint in self._feeds else "was not named when the partial run was set up"
                raise InvalidArgumentError(
                    f"{endpoint} can't be fed: it {why}.", node=tensor.op.name, where=tensor.where
                )
            values[endpoint] = converter(value)
        structure = Fetches(graph, fetches)
        self._check_fetches(structure, values)
        for endpoint in values:
            del self._missing[endpoint]
        self._fed.update(values)
        try:
            if step.error is None:
                step.feed(values)
                step.dispatcher.pump()
            await self._wait_for(structure)
        except BaseException:
            self._end()
            try:
                await self._steps.drain(step, CancelledError("The partial run was cancelled."))
            finally:
                step.release()
            raise
        if step.error is not None:
            self._end()
            await self._steps.drain(step, step.error)
            raise step.release().with_traceback(None)  # type: ignore[union-attr]
        results = []
        for endpoint in structure.endpoints:
            part, position = self._places.pop(endpoint)
            results.append(result_of(step, part, position, step.parts[part].slots[position], self._fed))
        for target in structure.targets:
            del self._targets[target]
        if not self._places and not self._missing and step.finished:
            self._end()
            step.release()
        return structure.build(results)

    def _check_fetches(self, structure: Fetches, values: Mapping[Endpoint, Any]) -> None:
        for endpoint in structure.endpoints:
            if endpoint not in self._places:
                raise InvalidArgumentError(
                    f"{endpoint} can't be fetched: it was fetched already, or not named when the partial run was set up."
                )
        for target in structure.targets:
            if target not in self._targets:
                raise InvalidArgumentError(f"{target} was run already, or not named when the partial run was set up.")
        still = [e for e in self._missing if e not in values]
        nodes, fetched = inline(self._session.graph.nodes, tuple(structure.endpoints), self._feeds.keys())
        needs = _needed(nodes, fetched, structure.targets, self._feeds.keys(), still)
        if needs:
            raise InvalidArgumentError(
                f"The fetches need feeds that are still missing: {', '.join(map(str, needs))}.",
                hint="Feed them in this call or an earlier one.",
            )

    async def _wait_for(self, structure: Fetches) -> None:
        """Returns when the fetches of this part are there, and the targets have run, or the step has ended."""
        step = self._step
        while not step.finished:
            places = [self._places[e] for e in structure.endpoints] + [self._targets[t] for t in structure.targets]
            if all(step.parts[part].slots[position] is not EMPTY for part, position in places):
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

    def _end(self) -> None:
        self._ended = True
        self._steps.running.pop(self._step.id, None)


def _needed(
    nodes: Mapping[str, Node],
    fetches: Iterable[Endpoint],
    targets: Iterable[str],
    feeds: Collection[Endpoint],
    missing: Collection[Endpoint],
) -> list[Endpoint]:
    """Those of the `missing` feeds that the fetches hang on."""
    found: dict[Endpoint, None] = {}
    seen: set[str] = set()
    stack: list[Endpoint] = [*fetches, *(Endpoint(target, -1) for target in targets)]
    while stack:
        endpoint = stack.pop()
        if endpoint in feeds:
            if endpoint in missing:
                found[endpoint] = None
            continue
        if endpoint.node not in seen:
            seen.add(endpoint.node)
            node = nodes[endpoint.node]
            stack.extend(node.inputs)
            stack.extend(Endpoint(control, -1) for control in node.controls)
    return list(found)
