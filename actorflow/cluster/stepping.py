"""A step asked of another task: its feeds go there as tokens, the request behind them, and its fetches come back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import msgpack

from actorflow.cluster.links import Link
from actorflow.cluster.messages import Request, RunPart, RunPlan
from actorflow.cluster.partial import FEED, FETCH, Caller, FarCaller
from actorflow.cluster.signatures import Form, check_feeds
from actorflow.errors import UnavailableError
from actorflow.graph.node import Endpoint
from actorflow.runtime.trace import Trace


async def call_step(
    link: Link, request: Request, step: int, feeds: Sequence[Any], fetches: int, trace: Trace | None = None
) -> list[Any]:
    """Runs a step there. Cancelled, it returns when the step has stopped there, or after a moment."""
    tokens = link.tokens
    try:
        try:
            for index, value in enumerate(feeds):
                tokens.send(FEED + index, step, b"", value)
        except anyio.ClosedResourceError as error:
            raise UnavailableError(f"The link to {link.task} is being closed.") from error
        rows = await link.call(request)
        if trace is not None and rows is not None:
            ahead = link.control.statistics().clock_offset or 0.0
            trace.take(msgpack.unpackb(rows), round(ahead * 1e9))
        return [await tokens.recv(FETCH + index, step) for index in range(fetches)]
    finally:
        tokens.finish(step)


@dataclass(frozen=True, slots=True)
class Served:
    """What a step needs that is asked for here: the tensors that are fed with their forms, and what runs it; or, of a partial
    run, `in_parts`, which takes the feeds and gives the fetches one by one."""

    feeds: Sequence[Endpoint]
    forms: Sequence[Form]
    run: Callable[[list[Any], Trace | None], Awaitable[Sequence[Any]]]
    in_parts: Callable[[Caller], Awaitable[None]] | None = None


async def serve_step(link: Link, request: RunPlan | RunPart, find: Callable[[], Served]) -> bytes | None:
    """Serves such a request: takes the feeds, and sends what `run` gives for them. Its result is the reply.

    Whatever `find` raises, the feeds are let go of, which may be here before the request.
    """
    tokens, step = link.tokens, request.step
    trace = Trace() if request.trace else None
    try:
        found = find()
        if found.in_parts is not None:
            await found.in_parts(FarCaller(tokens, step))
            return None
        values = [await tokens.recv(FEED + index, step) for index in range(len(found.feeds))]
        check_feeds(values, found.forms, found.feeds)
        for index, value in enumerate(await found.run(values, trace)):
            tokens.send(FETCH + index, step, b"", value)
        return None if trace is None else msgpack.packb(trace.rows())
    finally:
        tokens.finish(step)
