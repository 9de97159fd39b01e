"""Partial runs over tasks: a step is fed and fetched while its request is being answered (`Session.partial_run`).

The messages are those of any other step. Feeds are tokens that come when the client has them, at any time until the reply;
fetches are sent when they are there. Between client and workers the master hands both on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import anyio

from actorflow.cluster.in_flight import InFlightSteps
from actorflow.cluster.wire.links import Link
from actorflow.cluster.wire.messages import RunPart, RunPlan
from actorflow.errors import CancelledError, InvalidArgumentError, UnavailableError
from actorflow.graph.node import TensorId
from actorflow.passes.compile import Signature
from actorflow.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.runtime.tokens import DEAD
from actorflow.session.waiting.deadline import note, noted
from actorflow.transport.base import Callback, Channel

FEED = 1 << 31
"""The edges of feeds; those of graphs have smaller numbers."""
FETCH = FEED + (1 << 30)


class StepCaller(Protocol):
    """Who feeds a partial run and takes its fetches, both by their place in the signature or the part."""

    def expect(self, index: int, callback: Callback) -> object:
        """Calls `callback` with a feed when it comes, or with the error for which it won't."""

    def give(self, index: int, value: Any) -> None:
        """Hands a fetch over, which is DEAD where its branch was not taken. Raises UnavailableError where nobody takes it."""


class RemoteStepCaller:
    """A caller at the other end of a link."""

    def __init__(self, tokens: Channel, step: int) -> None:
        self._tokens = tokens
        self._step = step

    def expect(self, index: int, callback: Callback) -> object:
        return self._tokens.expect(FEED + index, self._step, b"", callback)

    def give(self, index: int, value: Any) -> None:
        try:
            self._tokens.send(FETCH + index, self._step, b"", value)
        except anyio.ClosedResourceError as error:
            raise UnavailableError(f"The link to {self._tokens.peer.identity.task} is being closed.") from error


class StepMember(Protocol):
    """From a master to one member of a partial run."""

    def feed(self, index: int, value: Any) -> None:
        """Brings a feed."""

    async def run(self) -> None:
        """Runs the member's part, and returns when all its fetches have come. Raises what it raises there."""


class RemoteStepMember:
    """To a member at the other end of a link."""

    def __init__(self, link: Link, request: RunPart, fetches: int, give: Callable[[int, Any], None]) -> None:
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


class RemotePartialStep:
    """A partial run at the client: its request is open until the step has ended."""

    def __init__(
        self, link: Link, request: RunPlan, signature: Signature, in_flight: InFlightSteps, root: BackgroundTasks
    ) -> None:
        self.finished = False
        self._signature = signature
        self._flights = in_flight
        self._tokens = link.tokens
        self._step = request.step
        self._feeds = {tensor_id: index for index, tensor_id in enumerate(signature.feeds)}
        self._values: dict[int, Any] = {}
        self._error: BaseException | None = None
        self._changed = anyio.Event()
        self._waited: Sequence[str] = ()
        """The waits of the step when its request was taken back."""
        fetches = len(signature.fetches) + len(signature.targets)
        self._arrivals = RemoteFetches(link.tokens, request.step, fetches, self._came)
        self._task = root.start(self._hold(link, request))

    async def _hold(self, link: Link, request: RunPlan) -> None:
        """Waits for the step's end, whoever else waits for what."""
        try:
            await link.call(request)
            await self._arrivals.wait()
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
            self._tokens.finish(self._step)
            self._tell()

    def _came(self, index: int, value: Any) -> None:
        self._values[index] = value
        self._tell()

    def _tell(self) -> None:
        """Wakes all parts that wait for something."""
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def part(self, feeds: Mapping[TensorId, Any], wanted: Sequence[int]) -> list[Any]:
        """Feeds, and waits for fetches. Cancelled, it ends the step. Raises the step's error."""
        with anyio.CancelScope() as scope:
            entry = self._flights.begin(self._step, self._signature, scope)
            try:
                return await self._part(feeds, wanted)
            finally:
                self._flights.end(entry)
        assert entry.refused is not None
        raise entry.refused.located(details=self._waited)

    async def _part(self, feeds: Mapping[TensorId, Any], wanted: Sequence[int]) -> list[Any]:
        try:
            if not self.finished:
                for tensor_id, value in feeds.items():
                    self._tokens.send(FEED + self._feeds[tensor_id], self._step, b"", value)
            while not self.finished and any(index not in self._values for index in wanted):
                await self._changed.wait()
        except anyio.ClosedResourceError as error:
            raise UnavailableError("The link to the master is being closed.") from error
        except BaseException as error:
            await self._stop()
            if isinstance(error, asyncio.CancelledError):
                note(error, self._waited)
            raise
        if self._error is not None and (self.finished or any(index not in self._values for index in wanted)):
            raise self._error
        return [_value(self._values.pop(index)) for index in wanted]

    async def _stop(self) -> None:
        """Takes the request back, and waits until the step has ended."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([self._task])

    def end(self) -> None:
        """All is used; the request ends by itself."""


def _value(value: Any) -> Any:
    if value is DEAD:
        raise InvalidArgumentError("A fetch has no value: it lies on a branch that this run did not take.")
    return value[()] if getattr(value, "ndim", None) == 0 else value
