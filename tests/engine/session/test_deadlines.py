"""Deadlines hold in whatever a run waits for, on time, and say what it waited for."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
import virtual
from clusters import servers

import actorflow as af
from actorflow import errors
from actorflow.cluster.wire.rpc import Rpc
from actorflow.engine.session.planning import planner
from actorflow.engine.session.waiting import deadline as told_module
from actorflow.engine.session.waiting.deadline import noted
from actorflow.transports.local_endpoint import LocalEndpoint

LOCAL, REMOTE = 0.05, 0.1
"""How much later than it says a deadline may end a run, in seconds."""


async def by_timeout(session: af.Session, fetch: Any, seconds: float) -> None:
    await session.run(fetch, timeout=seconds)


async def by_fail_after(session: af.Session, fetch: Any, seconds: float) -> None:
    with anyio.fail_after(seconds):
        await session.run(fetch)


async def by_asyncio(session: af.Session, fetch: Any, seconds: float) -> None:
    async with asyncio.timeout(seconds):
        await session.run(fetch)


WAYS = (by_timeout, by_fail_after, by_asyncio)
Way = Callable[[af.Session, Any, float], Awaitable[None]]


async def report_of(way: Way, session: af.Session, fetch: Any, slack: float, seconds: float = 0.5) -> str:
    """The text of the TimeoutError, with all that led to it. It comes in time."""
    begun = anyio.current_time()
    with pytest.raises(TimeoutError) as caught:
        await way(session, fetch, seconds)
    assert seconds <= anyio.current_time() - begun <= seconds + slack
    assert isinstance(caught.value, errors.DeadlineExceededError) == (way is by_timeout)
    return "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("way", WAYS)
def test_a_local_step_says_what_it_waited_for(graph: af.Graph, way: Way) -> None:
    take = af.FIFOQueue(2, [af.float32], shapes=[()]).dequeue(name="take")

    async def main() -> str:
        async with af.Session(graph=graph) as session:
            await session.warmup(take)
            return await report_of(way, session, take, LOCAL)

    report, _ = virtual.run(main)
    assert "take (QueueDequeueV2" in report


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("remote", [False, True])
def test_a_run_that_waits_for_its_turn_says_so(graph: af.Graph, way: Way, remote: bool) -> None:
    go = asyncio.Event()

    async def busy() -> Any:
        await go.wait()

    quick = af.constant(1.0) + 1.0

    async def runs(session: af.Session) -> str:
        await session.warmup(quick)
        assert session._admission.enter_nowait()  # a step that runs
        try:
            return await report_of(way, session, quick, LOCAL)
        finally:
            session._admission.leave()

    async def main() -> str:
        if not remote:
            async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1)) as session:
                return await runs(session)
        async with (
            servers({"worker": 1}) as found,
            af.Session(found[0].target, graph, limits=af.SessionLimits(max_inflight_steps=1)) as session,
        ):
            return await runs(session)

    report, _ = virtual.run(main)
    assert "waited for its turn: 1 steps run" in report


@pytest.mark.parametrize("way", WAYS)
def test_planning_ends_in_time(graph: af.Graph, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    x = af.constant(1.0)
    for _ in range(planner.LARGE_GRAPH):
        x = x + 1.0

    async def never(work: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(planner, "on_thread", never)

    async def main() -> str:
        async with af.Session(graph=graph) as session:
            return await report_of(way, session, x, LOCAL)

    report, _ = virtual.run(main)
    if way is by_timeout:
        assert "while its plan was made" in report and "warmup" in report


@pytest.mark.parametrize("way", WAYS)
def test_a_step_on_a_cluster_says_what_it_waited_for(graph: af.Graph, way: Way) -> None:
    with af.device("/job:ps/task:0"):
        take = af.FIFOQueue(2, [af.float32], shapes=[()]).dequeue(name="take")
    with af.device("/job:worker/task:0"):
        fetch = af.identity(take, name="fetch")

    async def main() -> str:
        async with servers({"worker": 1, "ps": 1}) as found, af.Session(found[0].target, graph) as session:
            await session.warmup(fetch)
            return await report_of(way, session, fetch, REMOTE)

    report, _ = virtual.run(main)
    assert "take" in report


class Frozen:
    """Tasks that take no message while they are `names`; all that came goes on afterwards."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: set[str] = set()
        self.held: list[Callable[[], None]] = []
        take = Rpc._take

        def held(rpc: Rpc, message: Any, channel: Any) -> None:
            if channel.endpoint.me.task in self.names:
                self.held.append(lambda: take(rpc, message, channel))
            else:
                take(rpc, message, channel)

        monkeypatch.setattr(Rpc, "_take", held)

    def thaw(self) -> None:
        self.names.clear()
        for go_on in self.held:
            go_on()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("task", ["/job:worker/task:0", "/job:ps/task:0"])
@pytest.mark.parametrize("planned", [False, True])
def test_a_frozen_task_is_named_in_time(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch, way: Way, task: str, planned: bool
) -> None:
    frozen = Frozen(monkeypatch)
    with af.device("/job:ps/task:0"):
        v = af.Variable(1.0, name="v")
        more = v.assign_add(1.0)
    with af.device("/job:worker/task:0"):
        fetch = af.identity(more, name="fetch")

    async def main() -> str:
        async with servers({"ps": 1, "worker": 1}) as found, af.Session(found[1].target, graph) as session:
            await session.run(v.initializer)
            if planned:
                assert await session.run(fetch) == 2
            frozen.names.add(task)
            report = await report_of(way, session, fetch, REMOTE)
            frozen.thaw()
            assert await session.run(v) >= 1
            return report

    report, _ = virtual.run(main)
    assert f"{task} does not answer" in report
    assert "warmup" not in report


async def no_answer(endpoint: Any, *args: Any, progress: Callable[[str], object], **options: Any) -> Any:
    """Takes the place of `Endpoint.connect` where nothing listens."""
    progress("resolved")
    await asyncio.Event().wait()


@pytest.mark.parametrize("way", WAYS)
def test_a_cluster_that_is_gone_is_named_in_time(graph: af.Graph, monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    """Nothing listens at the target. The run does not advise to plan beforehand."""
    monkeypatch.setattr(LocalEndpoint, "connect", no_answer)
    c = af.constant(1.0)

    async def main() -> str:
        async with af.Session("local://nowhere:7", graph) as session:
            return await report_of(way, session, c, REMOTE)

    report, _ = virtual.run(main)
    assert "waited for a connection to local://nowhere:7" in report and "warmup" not in report


@pytest.mark.parametrize("way", WAYS)
def test_replanning_after_a_loss_ends_in_time(graph: af.Graph, monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    """A task ends; the next run of a plan that is known has to find it again, and is ended by its own time."""
    with af.device("/job:worker/task:1"):
        far = af.random_uniform([])
    with af.device("/job:worker/task:0"):
        fetch = far + 1.0

    async def main() -> str:
        async with servers({"worker": 2}) as found, af.Session(found[0].target, graph) as session:
            assert await session.run(fetch) >= 1
            await found[1].__aexit__()
            monkeypatch.setattr(LocalEndpoint, "connect", no_answer)
            return await report_of(way, session, fetch, REMOTE)

    report, _ = virtual.run(main)
    assert "/job:worker/task:1 at local://" in report and "warmup" not in report


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("how", ["run", "callable", "part"])
async def test_what_a_cancelled_run_waited_for_is_in_the_log(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch, how: str, remote: bool
) -> None:
    told: list[Any] = []

    class Log:
        def info(self, text: str, waited_for: Any) -> None:
            told.append((text, waited_for))

    monkeypatch.setattr(told_module, "get_logger", lambda part: Log())
    take = af.FIFOQueue(2, [af.float32], shapes=[()]).dequeue(name="take")
    async with servers({"worker": 1}, "local") as cluster, AsyncExitStack() as stack:
        target = cluster[0].target if remote else ""
        session = await stack.enter_async_context(
            af.Session(target, graph, limits=af.SessionLimits(max_inflight_steps=1))
        )
        if how == "run":
            awaited = session.run(take)
        elif how == "callable":
            awaited = (await session.make_callable(take))()
        else:
            awaited = session.partial_run(await session.partial_run_setup([take]), take)
        run = asyncio.create_task(awaited)
        await asyncio.sleep(0)
        await session.run(af.constant(1))  # it has its turn when the other one waits
        assert session.statistics().waiting == 1
        run.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await run
        assert any("take (QueueDequeueV2" in line for line in noted(caught.value))
    ((text, lines),) = told
    assert text == "a run was cancelled" and any("take (QueueDequeueV2" in line for line in lines)
    assert lines[0] == "Step 1 was not done:"
