"""`TaskPartialStep`: a task's part of a partial run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from actorflow.cluster.partial_run import StepCaller
from actorflow.cluster.wire.signatures import Form, check_feeds
from actorflow.errors import CancelledError, OpError
from actorflow.graph.node import TensorId
from actorflow.runtime.tokens import DEAD, EMPTY
from actorflow.session.planning.planner import CompiledPlans
from actorflow.session.step_runner import StepRunner
from actorflow.session.structure.values import result_of
from actorflow.session.waiting.deadline import note
from actorflow.transport.rendezvous import Rendezvous


class TaskPartialStep:
    """A step that takes its feeds from `caller` as they come, and gives it each fetch when that is there."""

    def __init__(
        self,
        steps: StepRunner,
        compiled: CompiledPlans,
        feeds: Sequence[TensorId],
        forms: Sequence[Form],
        caller: StepCaller,
        rendezvous: Rendezvous,
        number: int,
    ) -> None:
        self._steps = steps
        self._caller = caller
        self._fed: dict[TensorId, Any] = {}
        self._wanted = dict(enumerate(compiled.places))
        """The fetches that are not there yet: in which part, and which slot."""
        self._step = steps.start(compiled, {}, expected_feeds=len(feeds), rendezvous=rendezvous, number=number)
        self._step.listeners.append(self._look)
        for index, (tensor_id, form) in enumerate(zip(feeds, forms, strict=True)):
            caller.expect(index, partial(self._take, tensor_id, form))
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
        finally:
            self._steps.left(step)
        if step.error is not None:
            self._steps.failed += 1
            raise step.release().with_traceback(None)  # type: ignore[union-attr]
        step.release()

    def _take(self, tensor_id: TensorId, form: Form, value: Any, error: BaseException | None) -> None:
        step = self._step
        if step.stopped or step.finished:
            return
        if error is None:
            try:
                check_feeds([value], [form], [tensor_id])
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
            if value is not EMPTY:
                del self._wanted[index]
                try:
                    self._caller.give(
                        index, value if value is DEAD else result_of(step, part, position, value, self._fed)
                    )
                except OpError as error:
                    step.stop(error)
                    return
