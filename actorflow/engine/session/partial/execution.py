"""`PartialExecution`: a step that is fed and fetched while it runs, whoever feeds it: a program in this process, or a master."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from actorflow.engine.runtime.step import StepAccounting
from actorflow.engine.runtime.tokens import DEAD, EMPTY
from actorflow.engine.session.planning.builder import CompiledPlans
from actorflow.engine.session.step_runner import StepRunner
from actorflow.engine.session.waiting.deadline import note
from actorflow.engine.session.waiting.values import result_of
from actorflow.engine.transport.base import Callback
from actorflow.engine.transport.rendezvous import Rendezvous
from actorflow.errors import CancelledError, OpError
from actorflow.graph.node import TensorId


class StepCaller(Protocol):
    """Feeds a partial step and takes its fetches, both by their place in the signature or the part."""

    def expect(self, index: int, callback: Callback) -> object:
        """Calls `callback` with a feed when it comes, or with the error for which it won't."""

    def give(self, index: int, value: Any) -> None:
        """Hands a fetch over; an error where its branch was not taken. Raises UnavailableError where nothing takes it."""


class PartialExecution:
    """A step that takes its feeds from `caller` as they come, and gives it each fetch when that is there.

    Args:
        check: raises OpError for a feed, by its place, that does not fit.
        accounting: counts the step while it only waits.
    """

    def __init__(
        self,
        steps: StepRunner,
        compiled: CompiledPlans,
        feeds: Sequence[TensorId],
        caller: StepCaller,
        *,
        check: Callable[[int, Any], None] | None = None,
        rendezvous: Rendezvous | None = None,
        number: int | None = None,
        accounting: StepAccounting | None = None,
    ) -> None:
        self._steps = steps
        self._caller = caller
        self._check = check
        self._fed: dict[TensorId, Any] = {}
        self._wanted = dict(enumerate(compiled.places))
        """The fetches that are not there yet: in which part, and which slot."""
        self._step = steps.start(
            compiled, {}, expected_feeds=len(feeds), rendezvous=rendezvous, number=number, accounting=accounting
        )
        self._step.on_end(self._over)
        self._step.listeners.append(self._look)
        for index, tensor_id in enumerate(feeds):
            caller.expect(index, partial(self._take, index, tensor_id))
        self._look()
        self._step.dispatcher.pump()

    async def wait(self) -> None:
        """Returns when the step has ended. Cancelled, it stops it. Raises the step's error."""
        step = self._step
        try:
            await step.wait()
        except BaseException as error:
            self._steps.cancelled += 1
            if isinstance(error, asyncio.CancelledError) and not step.finished:
                note(error, [f"Step {step.id} was not done:", *self._steps.report(step)])
            try:
                await self._steps.drain(step, CancelledError("The partial run was cancelled."))
            finally:
                step.release()
            raise
        if step.error is not None:
            self._steps.failed += 1
            raise step.release().with_traceback(None)  # type: ignore[union-attr]
        step.release()

    def _over(self) -> None:
        self._steps.left(self._step)
        self._steps.keep_if_long(self._step)

    def count_again(self) -> None:
        """Another part waits for it now: `accounting` is told again if it only waits."""
        if not self._step.stopped and not self._step.finished:
            self._step.feed({})
            self._step.dispatcher.pump()

    def _take(self, index: int, tensor_id: TensorId, value: Any, error: BaseException | None) -> None:
        step = self._step
        if step.stopped or step.finished:
            return
        if error is None and self._check is not None:
            try:
                self._check(index, value)
            except OpError as wrong:
                error = wrong
        if error is not None:
            step.stop(error)
        else:
            self._fed[tensor_id] = value
            step.feed({tensor_id: value})
        step.dispatcher.pump()

    def _look(self) -> None:
        """Gives what has come since."""
        step = self._step
        if step.stopped:
            return
        for index, (part, position) in list(self._wanted.items()):
            value = step.executors[part].slots[position]
            if value is EMPTY:
                continue
            del self._wanted[index]
            try:
                value = result_of(step, part, position, value, self._fed)
            except OpError as dead:
                assert value is DEAD
                value = dead
            try:
                self._caller.give(index, value)
            except OpError as error:
                step.stop(error)
                return
