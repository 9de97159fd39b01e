"""One side of a suite, in a process of its own: opens a case when it is told to, answers, and times its rounds.

The parent sends `{"open": name}` and gets the answer of that case, or `{"error": text}` where the case can't be opened;
then `{"seconds": s}` for each round, and `{"nodes": true}` for the times of its kinds of nodes. The next `open` closes the case
before.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.engine import node_times
from benchmarks.harness.definitions import Build, Call, Side, Suite
from benchmarks.harness.sides import our_library, peer_library

if TYPE_CHECKING:
    from benchmarks.harness.worker import Protocol

WARM_SECONDS = 0.25
AT_LEAST = 3
BASE = 0.25
"""The part of a round in which the first copy alone is timed."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A case whose session is open: what both sides have to agree on, and the calls that are timed.

    `base` is a call of the first copy alone, where there are several `copies`. `nodes` measures the kinds of nodes.
    """

    answer: Any
    call: Call
    nodes: Call
    base: Call | None = None
    copies: int = 1

    def sample(self, whole: dict[str, float], base: dict[str, float] | None) -> dict[str, float]:
        """Of one copy, in µs. If noise hides the time of the copies, a call by their number."""
        if base is None:
            return whole
        more = {key: whole[key] - base[key] for key in ("median", "mean", "min")}
        if any(value <= 0.1 * whole[key] for key, value in more.items()):
            return whole | {key: whole[key] / self.copies for key in more}
        return whole | {key: value / (self.copies - 1) for key, value in more.items()}


@asynccontextmanager
async def ours(build: Build) -> AsyncIterator[Opened]:
    """Our side of a case, through callables of an asynchronous session."""
    work = build(our_library())
    async with our_library().Session(graph=work.graph) as session:
        if work.init is not None:
            await session.run(work.init)
        batches = itertools.cycle(work.batches)
        for _ in range(work.steps - 1):
            await session.run(work.fetches, dict(zip(work.placeholders, next(batches), strict=True)))
        feeds = dict(zip(work.placeholders, next(batches), strict=True))
        answer = await session.run(work.fetches if work.answer is None else work.answer, feeds)
        call = await session.make_callable(work.fetches, list(work.placeholders))
        nodes = functools.partial(node_times.ours, session, work.fetches, feeds)
        if not work.copies:
            yield Opened(answer, lambda: call(*next(batches)), nodes)
            return
        before = session.statistics().nodes or 0
        await call(*next(batches))
        if (session.statistics().nodes or 0) - before < len(work.copies):
            raise RuntimeError(f"Of {len(work.copies)} copies not all were executed.")
        base = await session.make_callable(work.copies[0], list(work.placeholders))
        yield Opened(answer, lambda: call(*next(batches)), nodes, lambda: base(*next(batches)), len(work.copies))


@contextmanager
def peer(build: Build) -> Iterator[Opened]:
    """The peer's side of a case.

    No one reads the values of copies, and a pass of the peer makes no-ops of such nodes. That pass is off, and a traced
    run shows that all copies were executed; all else is as it comes.
    """
    tf = peer_library()
    work = build(tf)
    config = tf.ConfigProto()
    if work.copies:
        rewriting = config.graph_options.rewrite_options
        rewriting.dependency_optimization = type(rewriting).OFF
    with tf.Session(graph=work.graph, config=config) as session:
        if work.init is not None:
            session.run(work.init)
        batches = itertools.cycle(work.batches)
        for _ in range(work.steps - 1):
            session.run(work.fetches, dict(zip(work.placeholders, next(batches), strict=True)))
        feeds = dict(zip(work.placeholders, next(batches), strict=True))
        answer = session.run(work.fetches if work.answer is None else work.answer, feeds)
        call = session.make_callable(work.fetches, list(work.placeholders))
        nodes = functools.partial(node_times.peer, tf, session, work.fetches, feeds)
        if not work.copies:
            yield Opened(answer, lambda: call(*next(batches)), nodes)
            return
        options, traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        session.run(work.fetches, feeds, options=options, run_metadata=traced)
        executed = {node.node_name for device in traced.step_stats.dev_stats for node in device.node_stats}
        missing = [op.name for op in work.copies if op.name not in executed]
        if missing:
            raise RuntimeError(f"Of {len(work.copies)} copies {len(missing)} were not executed, such as {missing[0]}.")
        base = session.make_callable(work.copies[0], list(work.placeholders))
        yield Opened(answer, lambda: call(*next(batches)), nodes, lambda: base(*next(batches)), len(work.copies))


def bound(cores: int | None) -> None:
    """Keeps this process on `cores` processors. Both libraries count them when they are loaded."""
    if cores is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def serve(protocol: Protocol, suite: Suite, side: Side) -> None:
    """Answers the parent until its commands end."""
    bound(suite.cores)
    if side == "ours":
        asyncio.run(_serve_ours(protocol, suite))
    else:
        _serve_peer(protocol, suite)


def _refused(error: Exception) -> dict[str, str]:
    return {"error": "".join(traceback.format_exception(error)[-1:]).strip() or repr(error)}


def _serve_peer(protocol: Protocol, suite: Suite) -> None:
    from benchmarks.harness.worker import flat, timed

    command = protocol.receive()
    while command is not None:
        try:
            case = suite.case(command["open"])
            with peer(case.build) if case.peer is None else case.peer() as opened:
                timed(opened.call, WARM_SECONDS, AT_LEAST)
                protocol.send({"answer": flat(opened.answer)})
                while (command := protocol.receive()) is not None and "open" not in command:
                    if "nodes" in command:
                        protocol.send({"nodes": opened.nodes()})
                        continue
                    base = timed(opened.base, BASE * command["seconds"], AT_LEAST) if opened.base else None
                    whole = timed(opened.call, command["seconds"], AT_LEAST)
                    protocol.send(opened.sample(whole, base))
        except Exception as error:
            protocol.send(_refused(error))
            command = protocol.receive()


async def _serve_ours(protocol: Protocol, suite: Suite) -> None:
    from anyio import to_thread

    from benchmarks.harness.worker import flat, timed_async

    command = protocol.receive()
    while command is not None:
        try:
            async with ours(suite.case(command["open"]).build) as opened:
                await timed_async(opened.call, WARM_SECONDS, AT_LEAST)
                protocol.send({"answer": flat(opened.answer)})
                while (command := await to_thread.run_sync(protocol.receive)) is not None and "open" not in command:
                    if "nodes" in command:
                        protocol.send({"nodes": await opened.nodes()})
                        continue
                    base = await timed_async(opened.base, BASE * command["seconds"], AT_LEAST) if opened.base else None
                    whole = await timed_async(opened.call, command["seconds"], AT_LEAST)
                    protocol.send(opened.sample(whole, base))
        except Exception as error:
            protocol.send(_refused(error))
            command = await to_thread.run_sync(protocol.receive)
