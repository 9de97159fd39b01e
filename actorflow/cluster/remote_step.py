"""A step asked of another task: feeds go there and fetches come back; small tensors are in the request and the reply,
others go as tokens.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeAlias, TypeVar

import anyio
import msgpack

from actorflow.cluster.partial_run import FEED, FETCH, RemoteStepCaller
from actorflow.cluster.wire.failures import link_is_closed
from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.wire.messages import RunPart, RunPlan, Within
from actorflow.cluster.wire.rpc import WaitingForReply
from actorflow.cluster.wire.signatures import Form, check_feeds, decode_inline, encode_inline
from actorflow.engine.runtime.diagnostics import step_spans
from actorflow.engine.runtime.diagnostics.causality import ClockOffset, ahead_of
from actorflow.engine.runtime.diagnostics.trace import Trace, task_of
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.session.partial.execution import StepCaller
from actorflow.engine.transport.base import Channel
from actorflow.errors import InternalError, InvalidArgumentError
from actorflow.graph.node import TensorId

_DEVICE, _BEGUN, _ENDED, _ARRIVED, _READY = 2, 3, 4, 6, 7
"""The columns of an event's row that hold its times."""


class _ReplyBy(NamedTuple):
    """By which fetches go: the channel for tokens, and what gives their forms in the reply if that takes tensors."""

    tokens: Channel
    enclosed: Callable[[Any], Any] | None


class _Served(Trace):
    """The trace of a step that another task has asked for, and since when."""

    __slots__ = ("begun",)

    def __init__(self) -> None:
        super().__init__()
        self.begun = perf_counter_ns()


async def call_step(
    link: TaskLink,
    request: RunPlan | RunPart,
    feeds: Sequence[Any],
    fetches: int,
    trace: Trace | None = None,
    waiting: WaitingForReply | None = None,
    begun: int = 0,
) -> list[Any]:
    """Runs a step there; the request has the small tensors of `feeds` in it. Cancelled, it returns when the step has
    stopped there, or after a moment. See `Rpc.call` for `waiting`; `begun` is since when a traced step is made ready to
    be asked for."""
    tokens, step = link.tokens, request.step
    all_told = False
    try:
        if step_spans.installed is not None and (context := step_spans.current()):
            await link.call(Within(step, context))
        sent = _send_others(tokens, FEED, step, feeds, request.values)
        sent_at = 0
        if trace is not None:
            sent_at = perf_counter_ns()
            trace.span("request", "rpc", begun or sent_at, sent_at)
        forms, traced = _reply(await link.rpc.call(request, waiting=waiting), link)
        if trace is not None and traced is not None:
            _take_trace(trace, traced, link, sent_at)
        values = [decode_inline(form) for form in forms if form is not None]
        if len(values) == len(forms) == fetches:
            all_told = not sent
            return values
        return [await _value(tokens, FETCH + index, step, forms, index) for index in range(fetches)]
    finally:
        if not all_told:
            tokens.finish(step)


_Run: TypeAlias = Callable[[list[Any], Trace | None], StepResult[list[Any]]]
"""Runs a step for its feeds."""


_Request = TypeVar("_Request", RunPlan, RunPart)


def begin_step(
    link: TaskLink, request: _Request, begin: Callable[[_Request, TaskLink], StepResult[Any]]
) -> StepResult[Any]:
    """Begins a step by `begin`. If that fails, drops the feeds, which may be here before the request."""
    try:
        return begin(request, link)
    except BaseException:
        link.tokens.finish(request.step)
        raise


def serve_step(
    link: TaskLink,
    request: RunPlan | RunPart,
    feeds: Sequence[TensorId],
    forms: Sequence[Form],
    run: _Run,
) -> StepResult[list[Any]]:
    """Serves such a request: takes the feeds, whose forms are known, and sends what `run` gives for them. The result is the
    reply, which is awaited where feeds are still to come, or the step takes its time."""
    values, reply_by = request.values, _ReplyBy(link.tokens, link.enclosed)
    if len(values) > len(feeds):
        raise InvalidArgumentError(f"The step has {len(feeds)} feeds, but {len(values)} came with the request.")
    trace = _Served() if request.trace else None
    if trace is not None:
        run = _noting_feeds(run, trace)
    inputs = [decode_inline(form) for form in values if form is not None]
    if len(inputs) < len(feeds):
        return StepResult.later(lambda: _serve_with_tokens(reply_by, request, feeds, forms, run, trace))
    check_feeds(inputs, forms, feeds)
    return run(inputs, trace).then(partial(_answer, reply_by, request.step, trace))


def in_span(link: TaskLink, step: int, name: str, task: str, run: _Run) -> _Run:
    """`run` in a span of its own, if the task that asks has told its context."""
    context = link.spans.pop(step, "") if link.spans else ""
    if not context or step_spans.installed is None:
        return run
    about = {"task": task, "step": step}

    async def awaited(values: list[Any], trace: Trace | None) -> list[Any]:
        return await run(values, trace)

    def noted(values: list[Any], trace: Trace | None) -> StepResult[list[Any]]:
        return StepResult.later(lambda: step_spans.within(name, context, about, awaited(values, trace)))

    return noted


def _noting_feeds(run: _Run, trace: _Served) -> _Run:
    def noted(values: list[Any], step_trace: Trace | None) -> StepResult[list[Any]]:
        trace.span("feeds", "rpc", trace.begun, perf_counter_ns())
        return run(values, step_trace)

    return noted


def serve_partial_step(
    tokens: Channel, request: RunPlan | RunPart, run: Callable[[StepCaller], Awaitable[None]]
) -> StepResult[None]:
    """Serves such a request of a partial run, which takes its feeds and gives its fetches in turn."""
    return StepResult.later(lambda: _serve_parts(tokens, request, run))


async def _serve_parts(
    tokens: Channel, request: RunPlan | RunPart, run: Callable[[StepCaller], Awaitable[None]]
) -> None:
    try:
        await run(RemoteStepCaller(tokens, request.step))
    finally:
        tokens.finish(request.step)


async def _serve_with_tokens(
    reply_by: _ReplyBy,
    request: RunPlan | RunPart,
    feeds: Sequence[TensorId],
    forms: Sequence[Form],
    run: _Run,
    trace: _Served | None,
) -> list[Any]:
    tokens, step = reply_by.tokens, request.step
    try:
        inputs = [await _value(tokens, FEED + index, step, request.values, index) for index in range(len(feeds))]
        check_feeds(inputs, forms, feeds)
        return _answer(reply_by, step, trace, await run(inputs, trace))
    finally:
        tokens.finish(step)


def _answer(reply_by: _ReplyBy, step: int, trace: _Served | None, results: list[Any]) -> list[Any]:
    """The reply; what is not in it is on its way."""
    tokens, enclosed = reply_by
    forms = encode_inline(results, enclosed)
    if len(forms) < len(results) or None in forms:
        try:
            _send_others(tokens, FETCH, step, results, forms)
        finally:
            tokens.finish(step)
    if trace is None:
        return [forms, None]
    trace.rest("answer", "rpc")
    trace.span("serve", "rpc", trace.begun, perf_counter_ns())
    return [forms, msgpack.packb([trace.clock_error, *trace.rows()])]


def _take_trace(trace: Trace, traced: bytes, link: TaskLink, sent: int) -> None:
    """Adds the events of the task that was asked then and has answered now."""
    answered = perf_counter_ns()
    error, rows, spans = msgpack.unpackb(traced)
    trace.clock_error = max(trace.clock_error, error)
    statistics = link.control.statistics()
    estimate = None
    if statistics.clock_offset is not None and statistics.clock_error is not None:
        estimate = ClockOffset(round(statistics.clock_offset * 1e9), math.ceil(statistics.clock_error * 1e9))
    times = [time for row in rows for time in (row[_BEGUN], row[_ENDED], row[_ARRIVED], row[_READY]) if time]
    times += [time for *_, begun, ended, _ in spans for time in (begun, ended)]
    ahead = ahead_of(estimate, sent, answered, min(times) + error, max(times) - error)
    ahead = ClockOffset(ahead.offset, ahead.error and ahead.error + error)
    trace.take(rows, ahead, spans, task_of(rows[0][_DEVICE]) if rows else link.task)
    trace.span(f"ask {link.task.lstrip('/')}", "rpc", sent, answered)


def _send_others(tokens: Channel, first: int, step: int, values: Sequence[Any], forms: Sequence[Any]) -> bool:
    """Sends those values as tokens that have no form. Whether there are any."""
    if len(forms) == len(values) and None not in forms:
        return False
    try:
        for index, value in enumerate(values):
            if index >= len(forms) or forms[index] is None:
                tokens.send(first + index, step, b"", value)
    except anyio.ClosedResourceError as error:
        raise link_is_closed(tokens.peer.identity.task, error) from error
    return True


async def _value(tokens: Channel, edge: int, step: int, forms: Sequence[Any], index: int) -> Any:
    if index < len(forms) and forms[index] is not None:
        return decode_inline(forms[index])
    return await tokens.recv(edge, step)


def _reply(reply: Any, link: TaskLink) -> tuple[list[Any], bytes | None]:
    match reply:
        case [list(forms), None | bytes() as rows]:
            return forms, rows
    raise InternalError(f"{link.task} has answered a step with something that is no reply to it.")
