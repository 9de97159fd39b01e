"""`MasterSteps`: the steps of one client's session on the tasks that take part in them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter_ns
from typing import Any

import anyio
import msgpack
from anyio.abc import TaskGroup

from actorflow.cluster.master.registration import MasterPlan, RegisteredPartition
from actorflow.cluster.partial_run import LocalStepMember, RemoteStepMember, StepMember
from actorflow.cluster.remote_step import call_step
from actorflow.cluster.wire.failures import encode_error
from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.wire.messages import AbortStep, RunPart, StepWaits
from actorflow.cluster.wire.signatures import encode_inline
from actorflow.cluster.worker.worker import Owner, Worker
from actorflow.engine.runtime.diagnostics import step_spans
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.session.partial.execution import StepCaller
from actorflow.engine.session.waiting.deadline import noted, noted_by, noting
from actorflow.engine.session.waiting.deadlock import WaitingStep, joined
from actorflow.errors import DeadlineExceededError, OpError

_ABORT_SECONDS = 1.0
_MOST_ASKED = 4096
_LOOK_SECONDS = 1.0
_LONG_NUMBER = re.compile(r"\d{9,}")
"""As the numbers of a master's steps are."""


class MasterSteps:
    """Runs steps, each started by one message to each task that takes part, and tells what they wait for.

    Args:
        me: the master's task.
        worker: that of this task.
        owner: the session that the steps belong to.
        ready: registers the parts of a plan that are not registered, or not any more.
    """

    def __init__(self, me: str, worker: Worker, owner: Owner, ready: Callable[[MasterPlan], Awaitable[None]]) -> None:
        self._me = me
        self._worker = worker
        self._owner = owner
        self._ready = ready
        self._flying: dict[int, tuple[int, MasterPlan]] = {}
        """The steps under way: the client's number and the plan of each."""

    def run(
        self,
        plan: MasterPlan,
        step: int,
        feeds: Sequence[Any],
        timeout: float | None,
        trace: Trace | None,
        asked: int = 0,
    ) -> StepResult[list[Any]]:
        """Runs a step, which the client has asked for by the number `asked`. The first error of a task is the step's: it is
        stopped on the others.

        Raises:
            UnavailableError: a task is gone.
            OpError: the error of a node.
        """
        if plan.stale or len(plan.members) != 1 or plan.members[0].link is not None:
            return StepResult.later(lambda: self._run_members(plan, step, feeds, timeout, trace, asked))
        (member,) = plan.members

        def begin() -> StepResult[list[Any]]:
            result = self._worker.run(member.part, step, member.take(feeds), timeout, trace, self._owner)
            return result.then(
                lambda values: plan.fetches([values]), within=partial(self._under_way, step, asked, plan)
            )

        return StepResult.ended(begin, partial(self._worker.finish, step))

    async def _run_members(
        self,
        plan: MasterPlan,
        step: int,
        feeds: Sequence[Any],
        timeout: float | None,
        trace: Trace | None,
        caller_step: int,
    ) -> list[Any]:
        begun = 0 if trace is None else perf_counter_ns()
        await self._ready(plan)
        with self._under_way(step, caller_step, plan):
            results = await self._all(
                plan, step, lambda member: self._run_member(member, step, feeds, timeout, trace, begun)
            )
        if trace is not None:
            trace.rest("gather", "rpc")
            trace.keep_causality()
        return plan.fetches(results)

    async def run_partial(self, plan: MasterPlan, step: int, caller: StepCaller, caller_step: int = 0) -> None:
        """Runs a step that `caller` feeds and fetches meanwhile. Raises as `run`."""
        await self._ready(plan)
        ways = {id(member): self._way(member, index, step, plan, caller) for index, member in enumerate(plan.members)}

        def hand_on(index: int, value: Any, error: BaseException | None) -> None:
            for member in plan.members:
                if error is None and index in member.share.feeds:
                    ways[id(member)].feed(member.share.feeds.index(index), value)

        for index in range(len(plan.partitioned.feeds)):
            caller.expect(index, partial(hand_on, index))
        with self._under_way(step, caller_step, plan):
            await self._all(plan, step, lambda member: ways[id(member)].run())

    @contextmanager
    def _under_way(self, step: int, caller_step: int, plan: MasterPlan) -> Iterator[None]:
        """While a step runs. An error that ends it too early names steps by the client's numbers."""
        self._flying[step] = caller_step, plan
        try:
            yield
        except DeadlineExceededError as error:
            raise self._expired(error) from None
        except anyio.get_cancelled_exc_class() as error:
            error.__notes__ = [self._renumbered(line) for line in noted(error)]
            raise
        finally:
            self._flying.pop(step, None)

    def _way(
        self, member: RegisteredPartition, index: int, step: int, plan: MasterPlan, caller: StepCaller
    ) -> StepMember:
        """The way to a member of a partial run, whose fetches go on to the caller."""
        places = {place: i for i, (share, place) in enumerate(plan.partitioned.places) if share == index}

        def give(place: int, value: Any) -> None:
            caller.give(places[place], value)

        if member.link is None:
            return LocalStepMember(lambda near: self._worker.run_partial(member.part, step, near, self._owner), give)
        request = RunPart(member.part, step, None, False, member.link.tokens.epoch, [])
        return RemoteStepMember(member.link, request, len(places), give)

    async def _all(
        self, plan: MasterPlan, step: int, run: Callable[[RegisteredPartition], Awaitable[Any]]
    ) -> list[Any]:
        """Runs a step's share on each member. If one fails, the others are stopped, and its error is raised."""
        members = plan.members
        results: list[Any] = [None for _ in members]
        failures: list[Exception] = []
        waited: list[Sequence[str]] = []
        waits: list[str] = []

        news = [anyio.Event() for _ in members]
        """Set for a member when all parts are done, when a part has failed, or when its link has ended."""
        unfinished = set(range(len(members)))

        def over() -> None:
            for event in news:
                event.set()

        async def take_part(index: int, group: TaskGroup) -> None:
            member = members[index]
            try:
                with noting(waits):
                    results[index] = await run(member)
                unfinished.discard(index)
                if not unfinished:
                    over()
                elif member.link is not None:  # what it did is lost with its task, as long as the step lasts
                    await news[index].wait()
                    if not member.link.alive and not member.has_left:
                        raise member.link.rpc.gone()
            except Exception as error:
                over()
                failures.append(error)
                waits.extend(getattr(error, "details", ()))
                if len(failures) == 1:
                    for other in members:
                        if other is not member:
                            group.start_soon(self._abort, other, step, error, waited)

        try:
            if len(members) == 1:
                results[0] = await run(members[0])
            else:
                with noted_by(waits):
                    async with anyio.create_task_group() as group:
                        for index, member in enumerate(members):
                            if member.link is not None:
                                member.link.watchers.add(news[index])
                            group.start_soon(take_part, index, group)
                if failures:
                    raise _with_all_waits(failures, waited)
        finally:
            for member, event in zip(members, news, strict=True):
                if member.link is not None:
                    member.link.watchers.discard(event)
            self._worker.finish(step)
        return results

    async def _run_member(
        self,
        member: RegisteredPartition,
        step: int,
        feeds: Sequence[Any],
        timeout: float | None,
        trace: Trace | None,
        begun: int,
    ) -> list[Any]:
        mine = member.take(feeds)
        if member.link is None:
            return await self._run_own(member, step, mine, timeout, trace)
        request = RunPart(member.part, step, timeout, trace is not None, member.link.tokens.epoch, encode_inline(mine))
        return await call_step(member.link, request, mine, len(member.share.places), trace, begun=begun)

    async def _run_own(
        self, member: RegisteredPartition, step: int, feeds: list[Any], timeout: float | None, trace: Trace | None
    ) -> list[Any]:
        """The share of the task that the master is on."""

        async def run() -> list[Any]:
            return await self._worker.run(member.part, step, feeds, timeout, trace, self._owner)

        if step_spans.installed is None:
            return await run()
        about = {"task": self._me, "step": step}
        return await step_spans.within("actorflow.run_part", "", about, run())

    async def _abort(
        self, member: RegisteredPartition, step: int, error: Exception, waited: list[Sequence[str]]
    ) -> None:
        if member.link is None:
            waited.append(self._worker.abort(step, error, self._owner))
            return
        try:
            lines = await member.link.call(AbortStep(step, encode_error(error)), timeout=_ABORT_SECONDS)
            waited.append([str(line) for line in lines or ()])
        except OpError:
            pass  # it is gone, and its part of the step with it; whoever waits for that part hears the same

    async def waits(self, lines: bool = True) -> list[WaitingStep]:
        """The things that the steps in flight wait for, on all tasks, by the client's numbers. Without `lines`, only
        for how long they do."""
        flying = dict(self._flying)
        by_link: dict[TaskLink | None, list[int]] = {}
        for step, (_, plan) in flying.items():
            for member in plan.members:
                by_link.setdefault(member.link, []).append(step)
        reports: dict[int, list[WaitingStep]] = {step: [] for step in flying}
        async with anyio.create_task_group() as group:
            for link, steps in by_link.items():
                for begin in range(0, len(steps), _MOST_ASKED):
                    group.start_soon(self._look, link, steps[begin : begin + _MOST_ASKED], reports, lines)
        result = []
        for step, seen in reports.items():
            idle = [report.idle for report in seen if report.idle is not None]
            only_waits = min(idle) if idle and len(idle) == len(seen) else None
            texts = [self._renumbered(line) for line in joined(report.lines for report in seen)]
            result.append(WaitingStep(flying[step][0], only_waits, texts))
        return result

    def _renumbered(self, text: str) -> str:
        """A text with the client's numbers of steps instead of those that tasks know."""

        def number(match: re.Match[str]) -> str:
            flight = self._flying.get(int(match[0]))
            return match[0] if flight is None else str(flight[0])

        return _LONG_NUMBER.sub(number, text)

    def _expired(self, error: DeadlineExceededError) -> DeadlineExceededError:
        details = [self._renumbered(line) for line in error.details]
        return DeadlineExceededError(self._renumbered(error.message), details=details, hint=error.hint)

    async def _look(
        self, link: TaskLink | None, steps: list[int], reports: dict[int, list[WaitingStep]], lines: bool
    ) -> None:
        if link is None:
            seen = self._worker.look(steps, self._owner, lines)
        else:
            try:
                rows = msgpack.unpackb(await link.call(StepWaits(steps, lines), timeout=_LOOK_SECONDS))
                seen = [WaitingStep(step, idle, texts) for step, idle, texts in rows]
            except OpError as error:
                seen = [WaitingStep(step, None, [f"{link.task} does not tell: {error.message}"]) for step in steps]
        for report in seen:
            reports[report.step].append(report)


def _with_all_waits(failures: Sequence[Exception], waited: Sequence[Sequence[str]]) -> Exception:
    """The first of the members' errors. If a step's time was up, it tells what all members waited for."""
    error = failures[0]
    if not isinstance(error, DeadlineExceededError):
        return error
    details = joined([*(other.details for other in failures if isinstance(other, DeadlineExceededError)), *waited])
    return DeadlineExceededError(error.message, details=details, hint=error.hint)
