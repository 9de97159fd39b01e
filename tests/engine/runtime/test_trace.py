"""Traces: what each node of a step waited for, and how long; one for all tasks of a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from clusters import servers

import actorflow as af
from actorflow.cluster.server import Server
from actorflow.engine.runtime.actors import ExecutorState


@pytest.fixture(params=["local", "auto"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[list[Server]]:
    async with servers({"worker": 2}, request.param) as found:
        yield found


async def test_f96_a_node_waits_is_ready_and_runs(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    early = af.add(x, 1.0, name="early")
    late = af.exp(early, name="late")
    with af.control_dependencies([late]):
        both = af.multiply(x, early, name="both")
    trace = af.Trace()
    async with af.Session(graph=graph) as session:
        assert await session.run(both, {x: 2.0}, trace=trace) == 6.0
    events = {event.node: event for event in trace.events}
    assert list(events) == ["early", "late", "both"]
    for event in trace.events:
        assert event.arrived <= event.ready <= event.begun <= event.ended
        assert event.waiting + event.queued + event.running == event.ended - event.arrived
    assert events["early"].ended <= events["late"].arrived <= events["late"].ready
    assert events["both"].arrived < events["early"].ended <= events["late"].ended <= events["both"].ready
    assert not trace.transfers()


async def test_f96_what_waits_for_nothing_has_no_first_input(graph: af.Graph) -> None:
    state = af.Variable(1.0, name="v")
    trace = af.Trace()
    async with af.Session(graph=graph) as session:
        await session.run(state.initializer)
        assert await session.run(af.identity(state), trace=trace) == 1.0
    (handle,) = [event for event in trace.events if event.node == "v"]
    assert handle.arrived == 0 and handle.waiting == 0 and handle.ready <= handle.begun


async def test_f96_f45_iterations_of_a_loop_have_times_of_their_own(graph: af.Graph) -> None:
    limit = af.placeholder(af.int32, [])
    _, total = af.while_loop(lambda i, s: i < limit, lambda i, s: (i + 1, af.add(s, i, name="sum")), (0, 0))
    trace = af.Trace()
    async with af.Session(graph=graph) as session:
        assert await session.run(total, {limit: 4}, trace=trace) == 6
    runs = [event for event in trace.events if event.node.endswith("sum")]
    assert len(runs) == 4
    assert all(a.ended <= b.ready <= b.begun for a, b in pairwise(runs))


async def test_f96_a_trace_of_tasks_shows_transfers(cluster: list[Server], graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [])
    with af.device("/job:worker/task:0"):
        one = af.add(x, 1.0, name="one")
    with af.device("/job:worker/task:1"):
        two = af.multiply(one, 2.0, name="two")
    trace = af.Trace()
    async with af.Session(cluster[0].target, graph) as session:
        assert await session.run(two, {x: 1.0}, trace=trace) == 4.0
    events = {event.node: event for event in trace.events}
    (transfer,) = trace.transfers()
    assert transfer.tensor == "one:0"
    assert (transfer.source, transfer.destination) == (events["one"].device, events["two"].device)
    assert events["one"].ended <= transfer.sent <= transfer.received <= events["two"].ready
    assert all(event.arrived <= event.ready <= event.begun <= event.ended for event in trace.events)


async def test_f96_steps_that_nobody_traces_note_nothing(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = set()
    fire = ExecutorState.fire
    monkeypatch.setattr(ExecutorState, "fire", lambda part, index: (kinds.add(type(part)), fire(part, index))[1])
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=False)) as session:
        await session.run(af.exp(af.placeholder(af.float32, [], name="x")), {"x:0": 1.0})
    assert kinds == {ExecutorState}
