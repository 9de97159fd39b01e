"""The waits of a cluster's steps, over all tasks: in errors, in `pending`, and in the log of the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
from channels import until
from clusters import servers

import actorflow as af
from actorflow.cluster.server import Server
from actorflow.errors import DeadlineExceededError


@pytest.fixture
async def cluster() -> AsyncIterator[list[Server]]:
    async with servers({"ps": 1, "worker": 2}, "auto") as found:
        yield found


def start(awaited: Any) -> asyncio.Task[Any]:
    return asyncio.get_running_loop().create_task(awaited)


async def stopped(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def crossing() -> tuple[af.Tensor, af.Tensor, af.Operation]:
    """A dequeue on the ps, whose element a worker takes, and an enqueue."""
    with af.device("/job:ps"):
        queue = af.FIFOQueue(10, [af.float32], [[]], name="input")
        take = queue.dequeue(name="take")
        put = queue.enqueue(1.0, name="put")
    with af.device("/job:worker/task:1"):
        return take, af.multiply(take, 2.0, name="twice"), put


@pytest.mark.parametrize("master", [0, 1, 2])
async def test_f83_a_deadline_has_the_views_of_all_tasks(cluster: list[Server], graph: af.Graph, master: int) -> None:
    take, twice, put = crossing()
    async with af.Session(cluster[master].target, graph) as session:
        await session.warmup(twice)
        for _ in range(3):
            with pytest.raises(DeadlineExceededError) as caught:
                await session.run(twice, timeout=0.5)
            text = str(caught.value)
            assert (
                f"take (QueueDequeueV2, {take.where}, /job:ps/task:0) waits for an element of queue 'input', "
                "which is empty (0 of 10 elements, open)"
            ) in text
            assert f"filled by: put ({put.where}), in no step that is under way" in text
            assert "/job:worker/task:1) waits for take:0 from /job:ps/" in text
            assert text.index("QueueDequeueV2") < text.index("_Recv")
            assert text.count("QueueDequeueV2") == text.count("_Recv") == 1


async def test_f83_pending_of_a_cluster_lists_steps_nodes_and_lines(
    cluster: list[Server], graph: af.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    take, twice, put = crossing()
    async with af.Session(cluster[0].target, graph) as session:
        assert session.pending() == "no step is in flight"
        await session.run(put)
        assert await session.run(twice) == 2.0
        waiting = [start(session.run(twice)), start(session.run(take))]
        await until(lambda: session.pending().count("step ") == 2)
        assert f"twice (Mul, {twice.where}) wanted for" in session.pending()
        await until(lambda: session.pending().count("queue 'input'") == 2)
        report = session.pending()
        assert report.startswith("step 3:\n") and "\nstep 4:\n" in report
        assert f"take (QueueDequeueV2, {take.where}, /job:ps/task:0) waits for an element of queue 'input'" in report
        assert f"filled by: put ({put.where}), in no step that is under way" in report
        assert "drained by: take" not in report
        assert "/job:worker/task:1) waits for take:0 from /job:ps/" in report
        await until(lambda: any("a step waits" in record.getMessage() for record in caplog.records))
        told = [record for record in caplog.records if "a step waits" in record.getMessage()]
        assert {record.step for record in told} == {3, 4}  # type: ignore[attr-defined]
        assert all("queue 'input'" in record.getMessage() for record in told)
        await stopped(*waiting)
        assert session.pending() == "no step is in flight"


async def test_f83_a_blocking_session_asks_the_tasks_at_once(cluster: list[Server], graph: af.Graph) -> None:
    _, twice, put = crossing()

    def work() -> str:
        with af.blocking.Session(cluster[0].target, graph) as session, ThreadPoolExecutor(1) as other:
            session.warmup(twice)
            waiting = other.submit(session.run, twice)
            told = ""
            while "queue 'input'" not in told:
                told = session.pending()
                assert "have not been asked" not in told
            session.run(put)
            assert waiting.result() == 2.0
        return told

    told = await anyio.to_thread.run_sync(work)
    assert f"filled by: put ({put.where}), in no step that is under way" in told


async def test_f83_a_user_that_came_later_and_one_that_waits(cluster: list[Server], graph: af.Graph) -> None:
    with af.device("/job:ps"):
        one = af.FIFOQueue(1, [af.float32], [[]], name="one")
        take = one.dequeue(name="take")
    async with af.Session(cluster[1].target, graph) as session:
        await session.warmup(take)
        with pytest.raises(DeadlineExceededError, match="filled by: nothing in this graph"):
            await session.run(take, timeout=0.5)
        with af.device("/job:ps"):
            other = af.FIFOQueue(1, [af.float32], [[]], name="other")
            put = one.enqueue(other.dequeue(name="before"), name="put")
        waiting = start(session.run(put))
        await until(lambda: "queue 'other'" in session.pending())
        with pytest.raises(DeadlineExceededError) as caught:
            await session.run(take, timeout=0.3)
        assert f"filled by: put ({put.where}), waits in step 2" in str(caught.value)
        assert str(caught.value).startswith("Step 3 was not done after 0.3 s.")
        await stopped(waiting)


async def test_a_device_of_no_task_is_refused_with_what_a_cluster_can_do(
    cluster: list[Server], graph: af.Graph
) -> None:
    with af.device("/job:trainer"):
        nowhere = af.constant(1.0) + 1.0
    async with af.Session(cluster[0].target, graph) as session:
        with pytest.raises(af.errors.InvalidArgumentError, match="start the cluster with the jobs, tasks") as caught:
            await session.run(nowhere)
    assert "Session(devices" not in str(caught.value)


async def test_a_task_that_does_not_tell_is_named(
    cluster: list[Server], graph: af.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, twice, _ = crossing()

    def broken(*_: Any) -> Any:
        raise af.errors.InternalError("it is broken")

    monkeypatch.setattr(cluster[0].worker, "look", broken)
    async with af.Session(cluster[1].target, graph) as session:
        waiting = start(session.run(twice))
        await until(lambda: "does not tell" in session.pending())
        assert "/job:ps/task:0 does not tell: it is broken" in session.pending()
        await stopped(waiting)
