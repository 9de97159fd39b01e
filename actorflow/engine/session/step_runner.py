"""The steps of one session: admitted, started, waited for, stopped, and counted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import islice
from typing import Any

import anyio

from actorflow.base.process import forks
from actorflow.engine.runtime import visible_actors
from actorflow.engine.runtime.diagnostics import starvation
from actorflow.engine.runtime.diagnostics.recorder import LONG, Recorder
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.diagnostics.waits import StepReport
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.engine.runtime.event_loops.running import NEXT_TURN, running_loop
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.runtime.kernel_context import kernel_context
from actorflow.engine.runtime.step import Step, StepAccounting
from actorflow.engine.runtime.visible_actors import TaskState
from actorflow.engine.session.planning.builder import CompiledPlans
from actorflow.engine.session.statistics import StepCounts
from actorflow.engine.session.waiting.admission import Admission
from actorflow.engine.session.waiting.deadline import deadline, note
from actorflow.engine.session.waiting.deadlock import DeadlockDetector, WaitingStep
from actorflow.engine.session.waiting.diagnosis import explained, in_a_circle
from actorflow.engine.session.waiting.values import fetched
from actorflow.engine.transport.rendezvous import Rendezvous, Transport
from actorflow.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    OpError,
    StarvationError,
    with_topic,
)
from actorflow.graph.node import Node, TensorId

_FRESH_SECONDS = 0.05
_FRESH_TIMES = 20  # so that looking takes a small part of the time, however many steps end
_MOST_LOOKED = 256
GRACE = 1.0
"""Seconds that a stopped step waits for kernels that can't be stopped."""


class StepRunner(StepCounts):
    """Runs steps on the event loop that it was first used on."""

    def __init__(self, admission: Admission, transport: Transport) -> None:
        super().__init__(admission)
        self.closed = False
        self.running: dict[int, Step] = {}
        self._left_behind: list[Step] = []
        """Steps that are over, with kernels that perhaps go on."""
        self.dispatcher: Dispatcher | None = None
        self.users: Callable[[], Mapping[str, Sequence[Node]]] = dict
        """Gives the nodes that use each resource, as far as they are known here."""
        self.deadlock: DeadlockDetector | None = None
        """Tells of steps that only wait, where somebody wants to know."""
        self.threads: int | None = None
        """How many threads may compute one kernel; None for all that there are."""
        self.recorder: Recorder | None = None
        """Keeps what the last steps did, where that is wanted; see `record_by`."""
        self._next_traced = 0
        """The next step that the recorder traces, of those that have no number of their own. A comparison with it costs less than
        a remainder."""
        self._looking: asyncio.TimerHandle | None = None
        self._looked: tuple[float, list[StepReport], Mapping[str, Sequence[Node]]] | None = None
        """Until when that is taken for fresh, what steps waited for, and the users of resources."""
        self._transport = transport
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0

    @property
    def was_used(self) -> bool:
        """Whether it belongs to an event loop yet."""
        return self._loop is not None

    def open(self) -> None:
        """Binds this to the running loop. Raises FailedPreconditionError after `close`, or if it belongs to another loop."""
        if self.closed:
            raise FailedPreconditionError(
                "The session is closed.",
                hint=with_topic(
                    "Open another one: async with af.Session(graph=graph) as session: ...", "session-is-closed"
                ),
            )
        loop = running_loop()
        if self._loop is None:
            self._loop, self._process = loop, os.getpid()
            self.dispatcher = Dispatcher.of(loop)
        elif self._loop is not loop:
            raise self._wrong_loop()

    def _wrong_loop(self) -> FailedPreconditionError:
        if self._process != os.getpid():
            return forks.refusal("The session", self._process)
        return FailedPreconditionError(
            "The session belongs to another event loop than this one.",
            hint=with_topic("Make one session for each event loop.", "event-loop"),
        )

    async def run(
        self,
        compiled: CompiledPlans,
        feeds: Mapping[TensorId, Any],
        timeout: float | None = None,
        trace: Trace | None = None,
        begun: float | None = None,
        *,
        rendezvous: Rendezvous | None = None,
        number: int | None = None,
    ) -> list[Any]:
        """One step: admitted, started, waited for, and stopped where the caller is cancelled or the time is up.

        A step that other tasks take part in has the `number` that they know it by, and a `rendezvous` with them.
        """
        admission = self.admission
        started = self._loop.time()  # type: ignore[union-attr]
        if begun is None:
            begun = started
        dispatcher = self.dispatcher
        if (dispatcher is not None and not dispatcher.may_start()) or not admission.enter_nowait():
            await self._enter(timeout, begun)
            started = self._loop.time()  # type: ignore[union-attr]
        compiled = compiled.next()
        step = self._begin(compiled, feeds, trace, rendezvous, number, started)
        return await self._end(step, compiled, feeds, timeout, begun, number is None)

    def run_now(
        self,
        compiled: CompiledPlans,
        feeds: Mapping[TensorId, Any],
        timeout: float | None = None,
        trace: Trace | None = None,
        *,
        rendezvous: Rendezvous | None = None,
        number: int | None = None,
    ) -> StepResult[list[Any]]:
        """`run` without a task, for callbacks of the event loop: the values, which are here if the step ends at once."""
        dispatcher = self.dispatcher
        assert dispatcher is not None and self._loop is not None
        begun = self._loop.time()
        if not dispatcher.may_start() or not self.admission.enter_nowait():
            return StepResult.later(
                lambda: self.run(compiled, feeds, timeout, trace, begun, rendezvous=rendezvous, number=number)
            )
        compiled = compiled.next()
        step = self._begin(compiled, feeds, trace, rendezvous, number, begun)
        if not step.finished:
            return StepResult.later(lambda: self._end(step, compiled, feeds, timeout, begun, False))
        self.left(step)
        self.admission.leave()
        return StepResult(self._values(step, compiled, feeds, begun))

    def _begin(
        self,
        compiled: CompiledPlans,
        feeds: Mapping[TensorId, Any],
        trace: Trace | None,
        rendezvous: Rendezvous | None,
        number: int | None,
        begun: float,
    ) -> Step:
        """Starts an admitted step, and runs what is ready of it."""
        step = None
        try:
            step = self.start(
                compiled, feeds, trace, rendezvous=rendezvous, number=number, accounting=self, begun=begun
            )
            if trace is not None:
                trace.rest("begin", "runtime")
            step.dispatcher.pump()
            return step
        except BaseException:
            if step is not None:
                step.stop(CancelledError("The run was cancelled."))
                self.left(step)
            self.admission.leave()
            raise

    async def _end(
        self,
        step: Step,
        compiled: CompiledPlans,
        feeds: Mapping[TensorId, Any],
        timeout: float | None,
        begun: float,
        yields: bool,
    ) -> list[Any]:
        """Waits for a step that has begun; stops it where the caller is cancelled or the time is up. Gives its values."""
        timer = None
        try:
            if step.finished:
                if yields:  # a step that other tasks take part in has waited for them
                    await NEXT_TURN
            else:
                if timeout is not None:
                    left = max(0.0, timeout - (step.loop.time() - begun))
                    timer = step.loop.call_later(left, self._expire, step, timeout)
                await step.wait()
        except BaseException as error:
            self.cancelled += 1
            if isinstance(error, asyncio.CancelledError) and not step.finished:
                note(error, [f"Step {step.id} was not done:", *self.report(step)])
            try:
                await self.drain(step, CancelledError("The run was cancelled."))
            finally:
                step.release()
            raise
        finally:
            if timer is not None:
                timer.cancel()
            self.left(step)
            self.admission.leave()
        return self._values(step, compiled, feeds, begun)

    def _values(self, step: Step, compiled: CompiledPlans, feeds: Mapping[TensorId, Any], begun: float) -> list[Any]:
        """The fetches of a step that has ended. Raises its error."""
        if step.error is not None:
            self.failed += 1
            raise step.release().with_traceback(None)  # type: ignore[union-attr]
        elapsed = step.loop.time() - begun
        if elapsed > LONG:
            self.keep_if_long(step)
        self.admission.seconds_per_step += (elapsed - self.admission.seconds_per_step) * 0.05
        self.nodes += compiled.executed
        try:
            values = fetched(step, compiled.places, feeds)
            if step.trace is not None:
                step.trace.rest("end", "runtime")
            return values
        finally:
            step.release()

    async def _enter(self, timeout: float | None, begun: float) -> None:
        """Waits for a place. Raises DeadlineExceededError if the time is up before a place is free."""
        self.open()
        what = f"before it could start: {self.admission.inflight} steps are running"
        with deadline(timeout, begun, what):
            if self.dispatcher is not None and not self.dispatcher.may_start():
                await self.dispatcher.wait_for_start()
            await self.admission.enter()

    def start(
        self,
        compiled: CompiledPlans,
        feeds: Mapping[TensorId, Any],
        trace: Trace | None = None,
        expected_feeds: int = 0,
        *,
        rendezvous: Rendezvous | None = None,
        number: int | None = None,
        accounting: StepAccounting | None = None,
        begun: float | None = None,
    ) -> Step:
        """Starts a step; `expected_feeds` is how many come later in a partial run. `accounting` counts it while it only waits.
        `begun` is the time by the event loop; now unless given."""
        if self.closed or self._loop is not asyncio._get_running_loop():
            self.open()
        assert self.dispatcher is not None and self._loop is not None
        count = self.count = self.count + 1
        if number is None:
            number = count
            if count == self._next_traced:
                trace = self._recorded(trace)
        elif self.recorder is not None and number % self.recorder.every == 0 and trace is None:
            trace = self.recorder.kind()
        step = Step(
            number,
            compiled.plans,
            self.dispatcher,
            self._loop,
            kernel_context(self.threads),
            self._transport.rendezvous(count) if rendezvous is None else rendezvous,
            trace=trace,
            expected_feeds=expected_feeds,
            grace=GRACE,
            accounting=accounting,
            begun=self._loop.time() if begun is None else begun,
        )
        self.running[step.id] = step
        step.start(feeds)
        return step

    def record_by(self, recorder: Recorder) -> None:
        """Keeps what steps do from now on."""
        self.recorder = recorder
        self._next_traced = self.count + recorder.every - self.count % recorder.every

    def _recorded(self, trace: Trace | None) -> Trace | None:
        """The trace of a step whose number is a multiple of those that are recorded, unless it has one of its own."""
        assert self.recorder is not None
        self._next_traced += self.recorder.every
        return self.recorder.kind() if trace is None else trace

    def left(self, step: Step) -> None:
        """A step is over, or its grace is."""
        if self.running.pop(step.id, None) is None:
            return
        if (step.trace is not None or step.error is not None) and self.recorder is not None:
            self.recorder.ended(step, self.running.values())
        if step.abandoned:
            self.abandoned += 1
            self._left_behind = [former for former in self._left_behind if former.left_behind()] + [step]

    def keep_if_long(self, step: Step) -> None:
        """A step is over. The recorder has those that it traced or that failed already."""
        if self.recorder is not None and step.trace is None and step.error is None and step.age > LONG * 1e9:
            self.recorder.ended(step, self.running.values())

    def _expire(self, step: Step, timeout: float) -> None:
        step.stop(
            DeadlineExceededError(
                f"Step {step.id} was not done after {round(timeout, 3)} s.",
                details=self.report(step),
                hint="The lines name what had not finished and what it waits for.",
            )
        )

    async def drain(self, step: Step, error: BaseException) -> None:
        """Stops a step and waits until its tasks are gone; after the grace a kernel on a thread is left behind. A
        cancellation that comes meanwhile is raised then."""
        step.stop(error)
        cancelled: asyncio.CancelledError | None = None
        with anyio.CancelScope(shield=True):
            while not step.finished:
                try:
                    await step.wait()
                except asyncio.CancelledError as again:
                    cancelled = again
        if cancelled is not None:
            raise cancelled

    def pending(self) -> str:
        """For each step in flight, the nodes that wait, the channels that are empty, and who should fill them; and the kernels
        that go on after their steps."""
        lines = [line for report in self.look() for line in (f"step {report.step}:", *report.lines)]
        for step in self._left_behind:
            if left := starvation.left_behind(step):
                lines += (f"step {step.id} is over, but not all that it began:", *left)
        return "\n".join(lines) or "no step is in flight"

    def tasks(self) -> list[TaskState]:
        """The nodes of the steps in flight that are ready, run or wait."""
        return [state for step in self.running.values() for state in visible_actors.look(step)]

    def look(self, wanted: Container[int] | None = None) -> list[WaitingStep]:
        """The waits of each step in flight, or of each of those that are `wanted`."""
        reports = [starvation.look(step) for step in self.running.values()]
        users = self.users() if reports else {}
        shown = reports if wanted is None else [report for report in reports if report.step in wanted]
        return [WaitingStep(report.step, report.idle, explained(report, reports, users)) for report in shown]

    def report(self, step: Step) -> list[str]:
        """The lines of `pending` for one step. If many end at once, they see the same state of the others."""
        begun = step.loop.time()
        if self._looked is None or begun > self._looked[0]:
            others = [starvation.look(other) for other in islice(self.running.values(), _MOST_LOOKED)]
            users = self.users()
            ended = step.loop.time()
            self._looked = ended + max(_FRESH_SECONDS, _FRESH_TIMES * (ended - begun)), others, users
        return explained(starvation.look(step), *self._looked[1:])

    # ---- steps that only wait

    def begin_waiting(self) -> OpError | None:
        if self.deadlock is not None and self._looking is None and self._loop is not None:
            self._looking = self._loop.call_later(self.deadlock.after, self._look_for_deadlock)
        return self.admission.begin_waiting()

    def end_waiting(self) -> None:
        self.admission.end_waiting()

    def _look_for_deadlock(self) -> None:
        self._looking = None
        assert self._loop is not None and self.deadlock is not None
        waits = any(step.idle is not None for step in self.running.values())  # a report of all takes its time
        if waits and not self.closed and self.deadlock.look(self.look(), self.count):
            self._looking = self._loop.call_later(self.deadlock.after, self._look_for_deadlock)
        stuck = in_a_circle(self.running.values()) if self.deadlock.ends_circles else ()
        if stuck:
            victim = stuck[-1]
            victim.stop(
                StarvationError(
                    f"Step {victim.id} can't go on: it waits for {'itself' if stuck == [victim] else 'steps that wait for it'}.",
                    details=[line for step in stuck for line in self.report(step)],
                    hint=with_topic(
                        "Let all steps take several mutexes in one order, and no step one that it has already.",
                        "step-starves",
                    ),
                )
            )

    async def close(self) -> None:
        """Stops the steps in flight, and waits for their end.

        Raises:
            FailedPreconditionError: it belongs to another event loop, which still runs steps.
        """
        here = self._loop is None or self._loop is asyncio.get_running_loop()
        if not here and self.running and not self._loop.is_closed():  # type: ignore[union-attr]
            raise self._wrong_loop()
        self.closed = True
        if self._looking is not None:
            self._looking.cancel()
        self.admission.refuse(CancelledError("The session was closed while the run waited for its turn."))
        steps = list(self.running.values()) if here else []
        error = CancelledError("The operation was cancelled: the session was closed while the step was running.")
        try:
            for step in steps:
                step.stop(error)
            for step in steps:
                await self.drain(step, error)
        finally:
            for step in steps:
                self.left(step)
            self.running.clear()
