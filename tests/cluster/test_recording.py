"""Recording steps of a cluster that runs: which steps, how many events, and the command that asks all tasks."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from clusters import servers
from patience import PATIENCE

import actorflow as af
from actorflow.cli import trace as command
from actorflow.cluster.client import query_status
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.server import Server
from actorflow.errors import InvalidArgumentError
from actorflow.records.wire import fields
from actorflow.runtime.diagnostics.recorder import Recorder
from actorflow.runtime.diagnostics.trace import Event


@pytest.fixture
async def pair() -> AsyncIterator[list[Server]]:
    async with servers({"worker": 2}, "auto") as found:
        yield found


def two_tasks() -> tuple[af.Graph, af.Tensor]:
    with af.Graph().as_default() as graph:
        with af.device("/job:worker/task:0"):
            one = af.square(af.placeholder(af.float32, [], name="x"), name="one")
        with af.device("/job:worker/task:1"):
            two = af.tanh(one, name="two")
    return graph, two


def test_a_recorder_chooses_steps_by_their_numbers_and_keeps_the_last_events() -> None:
    recorder = Recorder(every=3, most=5)
    for step in range(1, 19):
        trace = recorder.trace_for(step)
        assert (trace is not None) == (step % 3 == 0)
        if trace is not None:
            trace.events += [Event(f"node of {step}", "Add", "/task:0/device:CPU:0", 1, 2, 0, False)] * 2
            recorder.ended(step, trace)
    assert [step for step, _ in recorder.rows()] == [15, 18] and recorder.dropped == 4
    recorder.ended(21, af.Trace())
    assert len(recorder.rows()) == 2, "a trace that a program asked for is the program's"


async def test_steps_are_recorded_on_all_tasks_while_a_recorder_is_on(pair: list[Server]) -> None:
    graph, two = two_tasks()
    async with af.Session(pair[0].target, graph=graph) as session:
        assert await session.run(two, {"x:0": 0.0}) == 0.0
        for server in pair:
            server.worker.record(1, 1000)
        for _ in range(3):
            assert await session.run(two, {"x:0": 0.0}) == 0.0
        found = [server.worker.steps.recorder.rows() for server in pair]  # type: ignore[union-attr]
        for server in pair:
            server.worker.record(0, 0)
        await session.run(two, {"x:0": 0.0})
    numbers = [[step for step, _ in rows] for rows in found]
    assert numbers[0] == numbers[1] and len(numbers[0]) == 3, "both tasks choose the same steps"
    assert {event[0] for rows in found for _, events in rows for event in events} >= {"one", "two"}
    assert all(server.worker.steps.recorder is None for server in pair)


async def test_the_command_writes_the_timeline_of_a_running_cluster(
    pair: list[Server], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, two = two_tasks()
    path = tmp_path / "run.pftrace"
    arguments = argparse.Namespace(timeout=PATIENCE, every=1, seconds=0.05, output=str(path))

    async def status(target: Any) -> Any:
        return await query_status(target, timeout=PATIENCE)

    async with af.Session(pair[0].target, graph=graph) as session, anyio.create_task_group() as group:

        async def steps() -> None:
            while True:
                await session.run(two, {"x:0": 1.0})

        group.start_soon(steps)
        address = pair[0].address
        assert await command._record({address: Target(address, None)}, status, arguments) == 0
        group.cancel_scope.cancel()
    said = capsys.readouterr().out
    assert "events of 2 tasks" in said and str(path) in said
    assert b"worker 0" in path.read_bytes() and sum(1 for _ in fields(path.read_bytes())) > 10
    assert all(server.worker.steps.recorder is None for server in pair)


def test_the_command_refuses_numbers_that_mean_nothing() -> None:
    for every, seconds in ((0, 1.0), (1, 0.0), (1, float("inf"))):
        with pytest.raises(InvalidArgumentError, match="--every is 1 or more"):
            command._run(argparse.Namespace(every=every, seconds=seconds))


async def test_status_tells_of_devices_queues_links_and_what_steps_wait_for(pair: list[Server]) -> None:
    with af.Graph().as_default() as graph, af.device("/job:worker/task:1"):
        queue = af.FIFOQueue(3, [af.float32], shapes=[[]], name="letters")
        put, take = queue.enqueue(1.0), queue.dequeue(name="take")
    async with af.Session(pair[0].target, graph=graph) as session:
        await session.run(put)
        await session.run(take)
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, take)
            with anyio.fail_after(PATIENCE):
                while not (told := pair[1].status())["waiting"]:  # noqa: ASYNC110
                    await anyio.sleep(0.005)
            group.cancel_scope.cancel()
    (found,) = told["queues"]
    assert (found["name"], found["capacity"], found["size"], found["waiting_to_take"]) == ("letters", 3, 0, 1)
    assert "take" in told["waiting"][0]["lines"][0]
    assert told["devices"][0]["kernels_inline"] + told["devices"][0]["kernels_threaded"] >= 0
    assert {"peer", "direction", "transport", "bytes_sent", "wait_seconds"} <= told["links"][0].keys()
