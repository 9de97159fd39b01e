"""Partial runs over tasks: a step is fed and fetched while its request is being answered (`Session.partial_run`).

The messages are those of any other step. Feeds are tokens that come when the client has them, at any time until the reply;
fetches are sent when they are there. Between client and workers the master hands both on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import anyio

from actorflow.cluster.client.in_flight import InFlightSteps
from actorflow.cluster.wire.failures import link_is_closed
from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.wire.messages import RunPart, RunPlan
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.session.partial.execution import StepCaller
from actorflow.engine.session.partial.run import PartialStep
from actorflow.engine.transport.base import Callback, Channel
from actorflow.errors import OpError, UnavailableError
from actorflow.graph.node import TensorId

FEED = 1 << 31
"""The edges of feeds; those of graphs have smaller numbers."""
FETCH = FEED + (1 << 30)


class RemoteStepCaller:
    """A caller at the other end of a link."""

    def __init__(self, tokens: Channel, step: int) -> None:
        self._tokens = tokens
        self._step = step

    def expect(self, index: int, callback: Callback) -> object:
        return self._tokens.expect(FEED + index, self._step, b"", callback)

    def give(self, index: int, value: Any) -> None:
        try:
            self._tokens.send(FETCH + index, self._step, b"", DEAD if isinstance(value, OpError) else value)
        except anyio.ClosedResourceError as error:
            raise link_is_closed(self._tokens.peer.identity.task, error) from error


class StepMember(Protocol):
    """From a master to one member of a partial run."""

    def feed(self, index: int, value: Any) -> None:
        """Brings a feed."""

    async def run(self) -> None:
        """Runs the member's part, and returns when all its fetches have come. Raises what it raises there."""


class RemoteStepMember:
    """To a member at the other end of a link."""

    def __init__(self, link: TaskLink, request: RunPart, fetches: int, give: Callable[[int, Any], None]) -> None:
        self._link = link
        self._tokens = link.tokens
        self._request = request
        self._arrivals = RemoteFetches(link.tokens, request.step, fetches, give)

    def feed(self, index: int, value: Any) -> None:
        try:
            self._tokens.send(FEED + index, self._request.step, b"", value)
        except anyio.ClosedResourceError:
            pass  # its request fails by the same

    async def run(self) -> None:
        try:
            await self._link.call(self._request)
            await self._arrivals.wait()
        finally:
            self._tokens.finish(self._request.step)


class LocalStepMember:
    """To the worker beside the master, of which it is the caller."""

    def __init__(self, start: Callable[[StepCaller], Awaitable[None]], give: Callable[[int, Any], None]) -> None:
        self.give = give
        self._start = start
        self._here: dict[int, Any] = {}
        self._wanted: dict[int, Callback] = {}

    async def run(self) -> None:
        await self._start(self)

    def feed(self, index: int, value: Any) -> None:
        """Brings a feed, which somebody expects or will."""
        callback = self._wanted.pop(index, None)
        if callback is None:
            self._here[index] = value
        else:
            callback(value, None)

    def expect(self, index: int, callback: Callback) -> object:
        if index in self._here:
            callback(self._here.pop(index), None)
        else:
            self._wanted[index] = callback
        return None


class RemoteFetches:
    """The fetches of a step that come over a link, each when it is there. `failure` is why others won't."""

    def __init__(self, tokens: Channel, step: int, count: int, came: Callable[[int, Any], None]) -> None:
        self.failure: BaseException | None = None
        self._left = set(range(count))
        self._came = came
        self._changed = anyio.Event()
        for index in range(count):
            tokens.expect(FETCH + index, step, b"", partial(self._take, index))

    def _take(self, index: int, value: Any, error: BaseException | None) -> None:
        self._left.discard(index)
        if error is None:
            try:
                self._came(index, value)
            except UnavailableError as lost:
                error = lost
        if error is not None:
            self.failure = self.failure or error
        if not self._left or self.failure is not None:
            self._changed.set()

    async def wait(self) -> None:
        """Returns when all have come. Raises the error for which one won't."""
        if self._left and self.failure is None:
            await self._changed.wait()
        if self.failure is not None:
            raise self.failure


class RemotePartialStep(PartialStep):
    """A partial run at the client: its request is open until the step has ended."""

    def __init__(
        self, link: TaskLink, request: RunPlan, signature: RunSignature, in_flight: InFlightSteps, root: BackgroundTasks
    ) -> None:
        super().__init__(signature, root)
        self._link = link
        self._request = request
        self._signature = signature
        self._flights = in_flight
        fetches = len(signature.fetches) + len(signature.targets)
        self._arrivals = RemoteFetches(link.tokens, request.step, fetches, self.give)

    async def run(self) -> None:
        """See `PartialStep.run`."""
        try:
            await self._link.call(self._request)
            await self._arrivals.wait()
        finally:
            self._link.tokens.finish(self._request.step)

    async def part(self, feeds: Mapping[TensorId, Any], fetches: Sequence[int]) -> list[Any]:
        """See `PartialStep.part`."""
        with anyio.CancelScope() as scope:
            entry = self._flights.begin(self._request.step, self._signature, scope)
            try:
                return await super().part(feeds, fetches)
            finally:
                self._flights.end(entry)
        assert entry.refused is not None
        raise entry.refused.located(details=self._waited)

    def feed(self, index: int, value: Any) -> None:
        """Sends it."""
        try:
            self._link.tokens.send(FEED + index, self._request.step, b"", value)
        except anyio.ClosedResourceError as error:
            raise link_is_closed(self._link.task, error) from error
