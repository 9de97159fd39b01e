"""Recorded steps: which are kept, what is written when one fails, and the command that asks all tasks of a cluster."""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import msgpack
import pytest
from clusters import servers
from logged import capture_logs
from patience import PATIENCE

import actorflow as af
from actorflow.base.process import machine
from actorflow.base.records.wire import fields
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.server import Server
from actorflow.engine.runtime.diagnostics.post_mortem import PostMortem
from actorflow.engine.runtime.diagnostics.recorder import RecordedTrace, Recorder
from actorflow.engine.runtime.diagnostics.trace import TraceEvent
from actorflow.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from actorflow.frontends.cli import trace as command
from actorflow.graph.ops.state.mutex import mutex_lock


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


class Ended:
    """A step that is over, as a recorder sees it."""

    def __init__(self, number: int, recorder: Recorder, error: Exception | None = None, events: int = 2) -> None:
        self.id, self.error, self.age = number, error, 0
        self.trace = RecordedTrace() if number % recorder.every == 0 else None
        if self.trace is not None:
            self.trace.events.extend(
                [TraceEvent(f"node of {number}", "Add", "/task:0/device:CPU:0", 1, 2, 0, False)] * events
            )


def test_a_recorder_traces_steps_by_their_numbers_and_keeps_the_last_ones() -> None:
    recorder = Recorder(af.Recording(every=3, seconds=1000, events=8))
    for number in range(1, 19):
        ended: Any = Ended(number, recorder)
        assert (ended.trace is not None) == (number % 3 == 0)
        recorder.ended(ended, ())
    assert [one.number for one in recorder.last()] == [15, 16, 17, 18] and recorder.dropped == 14
    assert [one.number for one in recorder.last() if one.trace is not None] == [15, 18]
    own: Any = Ended(19, recorder)
    own.trace = af.Trace([TraceEvent("mine", "Add", "/task:0/device:CPU:0", 1, 2, 0, False)])
    recorder.ended(own, ())
    assert recorder.last()[-1].trace is None, "a trace that a program asked for is the program's"


def test_what_is_older_than_its_seconds_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000_000_000]
    monkeypatch.setattr("actorflow.engine.runtime.diagnostics.recorder.perf_counter_ns", lambda: now[0])
    recorder = Recorder(af.Recording(every=1, seconds=10))
    for number in range(30):
        ended: Any = Ended(number, recorder)
        recorder.ended(ended, ())
        now[0] += 1_000_000_000
    assert [one.number for one in recorder.last()] == list(range(20, 30))
    assert [one.number for one in recorder.last(3)] == [27, 28, 29] and not recorder.dropped
    waits: Any = Ended(77, recorder)
    (flying,) = [one for one in recorder.last(1, [waits]) if one.number == 77]
    assert flying.error == "under way"


def test_a_recording_refuses_numbers_that_mean_nothing() -> None:
    for options in (
        {"every": -1},
        {"seconds": 0.0},
        {"events": 0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
    ):
        with pytest.raises(ValueError, match="every is 0 or more"):
            af.Recording(**options)  # type: ignore[arg-type]
    assert not Recorder(af.Recording(seconds=1e308)).last()
    with pytest.raises(InvalidArgumentError, match="nan seconds"):
        Recorder(af.Recording()).last(float("nan"))
    never = Recorder(af.Recording(every=0)).every
    assert all(number % never for number in (1, 100, 1 << 50))


# ---- by itself, when a step fails or waits for long


def files_written() -> None:
    """Waits for those that are under way."""
    for thread in machine._behind:
        thread.join()


def saved(folder: Path, word: str) -> Path:
    """The file whose name has `word` in it, waited for."""
    deadline = time.monotonic() + PATIENCE
    while True:
        for path in sorted(folder.glob(f"*{word}*.pftrace")):
            files_written()
            return path
        assert time.monotonic() < deadline, os.listdir(folder)
        time.sleep(0.01)


def test_f96_a_session_leaves_the_last_seconds_before_a_failure(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.int32, [], name="x")
        y = af.identity(af.check_numerics(1.0 / af.cast(x, af.float32), "no"), name="y")
    recording = af.Recording(every=1, folder=str(tmp_path / "made"))
    with af.blocking.Session(graph=graph, recording=recording) as session:
        for _ in range(3):
            session.run(y, {x: 2})
        with pytest.raises(InvalidArgumentError):
            session.run(y, {x: 0})
        trace = session.recent()
        assert [span.name for span in trace.spans] == ["step 1", "step 2", "step 3", "step 4: InvalidArgumentError"]
        assert "no" in trace.spans[-1].about and len(trace.events) >= 4
        with pytest.raises(InvalidArgumentError):
            session.run(y, {x: 0})
    path = saved(tmp_path / "made", "step4-InvalidArgumentError")
    assert b"step 3" in path.read_bytes() and b"step 4: InvalidArgumentError" in path.read_bytes()
    assert len(os.listdir(tmp_path / "made")) == 1, "a failure right after another one has no file of its own"


def test_the_end_of_the_input_is_no_failure(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        queue = af.FIFOQueue(3, [af.float32], shapes=[[]])
        end, take = queue.close(), queue.dequeue()
    with af.blocking.Session(graph=graph, recording=af.Recording(folder=str(tmp_path))) as session:
        session.run(end)
        with pytest.raises(OutOfRangeError):
            session.run(take)
        assert session.recent().spans[-1].name.endswith("OutOfRangeError")
    assert not os.listdir(tmp_path)


async def test_f83_f96_a_step_that_waits_for_long_is_written_with_what_it_waits_for(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        take = af.FIFOQueue(3, [af.float32], shapes=[[]], name="letters").dequeue(name="take")
    recording = af.Recording(seconds=0.05, folder=str(tmp_path))
    async with servers({"worker": 1}, recording=recording) as (server,):
        async with af.Session(server.target, graph=graph) as session, anyio.create_task_group() as group:
            group.start_soon(session.run, take)
            path = await anyio.to_thread.run_sync(saved, tmp_path, "waits")
            group.cancel_scope.cancel()
    assert b"letters" in path.read_bytes() and path.name.startswith("worker-0-")


async def test_a_folder_for_traces_does_not_change_which_steps_fail(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        handle = af.CriticalSection(name="section")._handle
        with af.control_dependencies([mutex_lock(handle)]):
            stuck = mutex_lock(handle)
    recording = af.Recording(seconds=0.05, folder=str(tmp_path))
    async with servers({"worker": 1}, recording=recording) as (server,):
        async with af.Session(server.target, graph=graph) as session, anyio.create_task_group() as group:
            group.start_soon(session.run, stuck)
            await anyio.to_thread.run_sync(saved, tmp_path, "waits")
            (step,) = server.worker.steps.running.values()
            assert not step.stopped, "without a folder it would wait for its deadline, too"
            group.cancel_scope.cancel()


def test_a_failure_waits_for_no_file(tmp_path: Path) -> None:
    post_mortem = PostMortem(str(tmp_path), "/job:worker/task:0", 0.0)
    may_go, waited = threading.Event(), []
    machine.behind(lambda: waited.append(may_go.wait(PATIENCE)))
    post_mortem.write(list, 1, "first")
    post_mortem.write(lambda: pytest.fail("a failure without a file was looked at"), 2, "second")
    assert not waited and post_mortem.skipped == 1
    may_go.set()
    files_written()
    post_mortem.write(list, 3, "third")
    files_written()
    assert [path.name.rpartition("-")[2] for path in sorted(tmp_path.iterdir())] == ["first.pftrace", "third.pftrace"]


def test_failures_in_a_row_are_not_looked_at(tmp_path: Path) -> None:
    recorder = Recorder(af.Recording(), PostMortem(str(tmp_path), "", 1000.0))
    looked = []

    class Running:
        def __iter__(self) -> Any:
            looked.append(1)
            return iter(())

    for number in range(1, 5):
        failed: Any = Ended(number, recorder, ValueError("no"))
        recorder.ended(failed, Running())
        recorder.stalled(number, ["waits"], Running())
    files_written()
    assert len(looked) == 1 and recorder.post_mortem is not None and recorder.post_mortem.skipped == 7


@pytest.mark.parametrize("error", [OSError("the disk is full"), ValueError("no span")])
def test_a_file_that_is_not_whole_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def save(trace: af.Trace, path: str) -> None:
        Path(path).write_bytes(b"half")
        raise error

    post_mortem = PostMortem(str(tmp_path), "", 0.0)
    with monkeypatch.context() as broken, capture_logs() as logs:
        broken.setattr(af.Trace, "save", save)
        post_mortem.write(list, 1, "first")
        files_written()
    assert [str(error) in one["error"] for one in logs] == [True] and not os.listdir(tmp_path)
    post_mortem.write(list, 2, "second")
    files_written()
    assert len(os.listdir(tmp_path)) == 1


def test_a_folder_that_can_not_be_written_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with af.Graph().as_default() as graph:
        y = af.check_numerics(1.0 / af.placeholder(af.float32, [], name="x"), "no")
    recording = af.Recording(seconds=1e-9, folder=str(tmp_path / "file" / "below"))
    with capture_logs() as logs, af.blocking.Session(graph=graph, recording=recording) as session:
        for _ in range(3):
            with pytest.raises(InvalidArgumentError):
                session.run(y, {"x:0": 0.0})
            files_written()
        assert session.run(y, {"x:0": 1.0}) == 1.0
    said = [one["event"] for one in logs if "before a failure" in one["event"]]
    assert said == ["the last seconds before a failure can't be written"]


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with af.Graph().as_default() as graph:
        y = af.check_numerics(1.0 / af.placeholder(af.float32, [], name="x"), "no")
    with af.blocking.Session(graph=graph) as session:
        with pytest.raises(FailedPreconditionError, match="does not record"):
            session.recent()
    monkeypatch.setenv("ACTORFLOW_TRACES", str(tmp_path))
    with af.blocking.Session(graph=graph) as session:
        with pytest.raises(InvalidArgumentError):
            session.run(y, {"x:0": 0.0})
    assert saved(tmp_path, "step1").name.startswith("session-")


async def test_times_of_tokens_are_noted_where_somebody_asks_for_steps() -> None:
    graph = af.Graph()
    with graph.as_default():
        y = af.square(af.placeholder(af.float32, [], name="x"), name="y")
    async with af.Session(graph=graph, recording=af.Recording(every=1)) as session:
        assert await session.run(y, {"x:0": 3.0}) == 9.0
        (usual,) = session.recent().events
        engine: Any = session._engine
        engine.steps.recorder.record(1, 100)
        assert await session.run(y, {"x:0": 3.0}) == 9.0
        asked = session.recent().events[-1]
    assert usual.node == asked.node == "y"
    assert usual.arrived == usual.ready == usual.begun and asked.ready < asked.begun


# ---- of clusters


async def test_steps_are_recorded_on_all_tasks(pair: list[Server]) -> None:
    graph, two = two_tasks()
    async with af.Session(pair[0].target, graph=graph) as session:
        assert await session.run(two, {"x:0": 0.0}) == 0.0
        for server in pair:
            server.worker.record(1, 1000)
        for _ in range(3):
            assert await session.run(two, {"x:0": 0.0}) == 0.0
        found = [msgpack.unpackb(server.worker.record(0, 0))[1] for server in pair]
        await session.run(two, {"x:0": 0.0})
        last = [msgpack.unpackb(server.worker.recent(10.0))[1] for server in pair]
    numbers = [[step for step, *_ in rows] for rows in found]
    assert numbers[0] == numbers[1] and len(numbers[0]) == 3, "both tasks choose the same steps"
    assert {event[0] for rows in found for *_, events in rows for event in events} >= {"one", "two"}
    others = [row for rows in last for row in rows if row[0] not in numbers[0]]
    assert all(not events or step % 100 == 0 for step, *_, events in others), "then as few as usual"


def arguments(path: Path, **more: Any) -> argparse.Namespace:
    return argparse.Namespace(
        **{"timeout": PATIENCE, "every": 1, "seconds": 0.05, "output": str(path), "last": None, **more}
    )


async def status(target: Any) -> Any:
    return await query_status(target, timeout=PATIENCE)


async def test_the_command_writes_the_timeline_of_a_running_cluster(
    pair: list[Server], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, two = two_tasks()
    path = tmp_path / "run.pftrace"
    async with af.Session(pair[0].target, graph=graph) as session, anyio.create_task_group() as group:

        async def steps() -> None:
            while True:
                await session.run(two, {"x:0": 1.0})

        group.start_soon(steps)
        address = pair[0].address
        assert await command._write({address: Target(address, None)}, status, arguments(path)) == 0
        group.cancel_scope.cancel()
    said = capsys.readouterr().out
    assert "events of 2 tasks" in said and str(path) in said
    assert b"worker 0" in path.read_bytes() and sum(1 for _ in fields(path.read_bytes())) > 10


async def test_f96_the_command_looks_back(
    pair: list[Server], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, two = two_tasks()
    path = tmp_path / "last.json"
    async with af.Session(pair[0].target, graph=graph) as session:
        for _ in range(250):
            await session.run(two, {"x:0": 1.0})
    address = pair[0].address
    assert await command._write({address: Target(address, None)}, status, arguments(path, last=1000.0)) == 0
    assert " events of 2 tasks" in capsys.readouterr().out
    rows = [row for row in json.loads(path.read_text())["traceEvents"] if row["ph"] == "X"]
    traced = [row for row in rows if row["cat"] == "run" and row["name"] == "two"]
    assert 2 <= len(traced) <= 3, "of them one in a hundred is traced"
    steps = [row["name"] for row in rows if row["cat"] == "step"]
    assert all(steps.count(name) <= 2 for name in steps) and len(steps) >= 2 * len(traced), "on both tasks"


def test_the_command_refuses_numbers_that_mean_nothing(tmp_path: Path) -> None:
    for every, seconds in ((0, 1.0), (1, 0.0), (1, float("inf"))):
        with pytest.raises(InvalidArgumentError, match="--every is 1 or more"):
            command._run(arguments(tmp_path, every=every, seconds=seconds))
    with pytest.raises(InvalidArgumentError, match="--last is more than 0"):
        command._run(arguments(tmp_path, last=0.0))
    assert [command._seconds(text) for text in ("10", "10s", "500ms", "2min")] == [10, 10, 0.5, 120]


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


async def test_status_tells_of_datasets(pair: list[Server]) -> None:
    with af.Graph().as_default() as graph, af.device("/job:worker/task:1"):
        numbers = af.data.Dataset.range(10).map(lambda x: x * 2).batch(4)
        iterator = numbers.make_initializable_iterator(shared_name="numbers")
        x = iterator.get_next()
    async with af.Session(pair[0].target, graph=graph) as session:
        await session.run(iterator.initializer)
        await session.run(x)
        (found,) = pair[1].status()["datasets"]
        assert not pair[0].status()["datasets"]
    assert found["name"] == "numbers" and found["waited"] is None
    assert [(stage["kind"], stage["depth"]) for stage in found["stages"]] == [("batch", 0), ("map", 1), ("range", 2)]
    assert found["stages"][0]["elements"] == 1 and "test_recording.py" in found["stages"][0]["where"]
    assert found["stages"][found["slowest"]]["seconds"] >= 0.0
