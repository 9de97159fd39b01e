"""When Recvs start: peak memory and makespan of the simulated schedule, and that nothing else changes."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engine.runtime.ready_queues import Shuffled
from patience import PATIENCE
from random_graphs import later
from test_partition import CPU, nodes_of, on, parts_of

import actorflow as af
from actorflow.base.registry import plugins
from actorflow.engine.placement import schedule_recvs as scheduling
from actorflow.engine.placement.schedule_recvs import RecvSchedule, schedule_recvs, simulate
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

MB = 1 << 20
SIDE = 512
"""A float32 matrix of SIDE x SIDE takes 1 MB."""


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    with af.Graph().as_default() as made:
        yield made


def chain_and_large_inputs(count: int = 6) -> tuple[Any, Any]:
    """On device 1, `count` matrices that are there at once; on device 0 a chain of products that takes one after the other."""
    x = af.placeholder(af.float32, [SIDE, SIDE])
    with on(1):
        matrices = [x + float(i) for i in range(count)]
    with on(0):
        state = af.tanh(x)
        for matrix in matrices:
            state = af.matmul(state, state) + matrix
    return x, state


def recvs_of(parts: Mapping[str, Subgraph]) -> list[tuple[str, Node]]:
    return [(device, n) for device, part in parts.items() for n in part.nodes.values() if n.op == "_Recv"]


def mean_wait(parts: Mapping[str, Subgraph], schedule: RecvSchedule) -> float:
    """How long, on average, what was received lies about before its first use."""
    waits = []
    for device, recv in recvs_of(parts):
        users = [n.name for n in parts[device].nodes.values() if any(e.node == recv.name for e in n.inputs)]
        if users:
            first = min(schedule.begin[device, user] for user in users)
            waits.append(first - schedule.end[device, recv.name])
    return float(np.mean(waits)) if waits else 0.0


# ---- the simulation


def test_f87_peak_memory_of_a_chain_is_two_tensors(graph: af.Graph) -> None:
    """Each is there from the beginning of what makes it to the end of its last user; views take nothing."""
    x = af.placeholder(af.float32, [SIDE, SIDE])
    a = af.sin(x)
    b = af.reshape(a, [-1])
    c = af.cos(b)
    d = af.exp(c)
    assert simulate(parts_of(graph, [d], [x])).peak == {f"{CPU}0": 2 * MB}
    assert simulate(parts_of(graph, [a, d], [x])).peak == {f"{CPU}0": 3 * MB}, "what is fetched stays"


def test_f87_a_device_does_one_thing_at_a_time_and_transfers_go_on_meanwhile(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [SIDE, SIDE])
    with on(0):
        a, b = af.sin(x), af.cos(x)
    with on(1):
        c = af.exp(a)
    parts = parts_of(graph, [b, c], [x])
    schedule = simulate(parts)
    here, there = parts
    first, second = sorted([schedule.begin[here, t.op.name], schedule.end[here, t.op.name]] for t in (a, b))
    assert first[1] <= second[0]
    (recv,) = [n.name for _, n in recvs_of(parts)]
    (send,) = [n.name for n in nodes_of(parts, "_Send")]
    assert schedule.begin[there, recv] == schedule.end[here, send]
    assert schedule.begin[there, c.op.name] == schedule.end[there, recv] > schedule.begin[there, recv]
    assert schedule.makespan == max(schedule.end.values())


# ---- the pass


def test_f87_recvs_start_just_before_they_are_needed(graph: af.Graph) -> None:
    x, y = chain_and_large_inputs()
    before = parts_of(graph, [y], [x])
    after = schedule_recvs(before)
    off, now = simulate(before), simulate(after)
    assert now.makespan <= off.makespan
    assert all(now.peak[device] <= off.peak[device] for device in off.peak)
    assert now.peak[f"{CPU}0"] <= off.peak[f"{CPU}0"] - 2 * MB
    assert mean_wait(after, now) < mean_wait(before, off) / 2


def test_f87_a_recv_on_the_critical_path_is_left_alone(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [SIDE, SIDE])
    with on(1):
        a = af.matmul(x, x)
    with on(0):
        y = af.matmul(a, a) + af.sin(x)
    parts = parts_of(graph, [y], [x])
    assert {d: str(p) for d, p in schedule_recvs(parts).items()} == {d: str(p) for d, p in parts.items()}


def test_f87_small_tensors_are_not_worth_it(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [16])
    with on(1):
        values = [x + float(i) for i in range(6)]
    with on(0):
        state = af.tanh(x)
        for value in values:
            state = af.sin(state) + value
    parts = parts_of(graph, [state], [x])
    made = schedule_recvs(parts)
    assert all(made[device] is parts[device] for device in parts)


def test_f87_recvs_in_loops_keep_what_starts_them(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "SMALLEST", 1)
    x, n = af.placeholder(af.float32, [SIDE, SIDE]), af.placeholder(af.int32, [])

    def body(i: Any, y: Any) -> Any:
        with on(1):
            z = af.sin(y)
        return i + 1, af.matmul(y, y) + z

    with on(0):
        _, y = af.while_loop(lambda i, y: i < n, body, (0, x))
    before = parts_of(graph, [y], [x, n])
    for (_, was), (_, made) in zip(recvs_of(before), recvs_of(schedule_recvs(before)), strict=True):
        assert was.controls == made.controls


def test_f87_a_merge_waits_for_one_input_only_so_no_recv_waits_for_the_other(graph: af.Graph) -> None:
    """The branch that is not taken may wait for a queue that never fills; what the other one brings must come."""
    x, p = af.placeholder(af.float32, [SIDE, SIDE]), af.placeholder(af.bool, [])
    with on(1):
        large = x + 1.0
    with on(0):
        long = af.matmul(x, x)
        for _ in range(4):
            long = af.matmul(long, long)
        merged = af.cond(p, lambda: af.matmul(long, long), lambda: x)
        y = merged * large
    parts = parts_of(graph, [y], [x, p])
    made = schedule_recvs(parts)
    (recv,) = [n for _, n in recvs_of(made) if n.attrs["key"].endswith(f"{large.op.name}:0")]
    ancestors = _ancestors(made[f"{CPU}0"], merged.op.name)
    assert not ancestors.intersection(recv.controls)


def _ancestors(part: Subgraph, name: str) -> set[str]:
    seen: set[str] = set()
    stack = [name]
    while stack:
        for need in part.predecessors(part.nodes[stack.pop()]):
            if need not in seen:
                seen.add(need)
                stack.append(need)
    return seen


# ---- any graph


def random_chains(seed: int, side: int, devices: int = 3) -> tuple[af.Graph, Any, list[Any]]:
    """Matrices that are made early, on any device, and taken by chains of products, on any device, one after the other. Some
    wait for the event loop on their way. With `devices` 1 the same graph is on one."""
    rng, places = random.Random(seed), random.Random(~seed)
    with af.Graph().as_default() as graph:

        def somewhere() -> Any:
            return on(places.randrange(devices))

        x = af.placeholder(af.float32, [side, side])
        early: list[Any] = [x]
        for i in range(rng.randint(3, 9)):
            with somewhere():
                made = af.sin(rng.choice(early)) + float(i)
                early.append(later(made, turns=rng.randrange(3)) if rng.random() < 0.2 else made)
        ends = []
        for _ in range(rng.randint(1, 2)):
            state = rng.choice(early)
            home = places.randrange(devices)
            for _ in range(rng.randint(2, 8)):
                with on(home) if places.random() < 0.8 else somewhere():
                    product = af.tanh(af.matmul(state, state) / float(side))
                    taken = rng.choice(early)
                    if rng.random() < 0.3:
                        product = af.cond(product[0, 0] < 0.5, lambda p=product: p + 1.0, lambda p=product: p * 2.0)
                    state = rng.choice((product - taken, product + af.transpose(taken)))
                if rng.random() < 0.3:
                    early.append(state)
            ends.append(state)
    return graph, x, ends


def test_f87_no_graph_gets_slower_larger_or_stuck() -> None:
    """Only Recvs get edges, from nodes on their device that all their users waited for before; there is no cycle over all
    parts; neither makespan nor any device's peak grows, and over all graphs the waits and peaks fall."""
    waits, peaks, changed = np.zeros(2), np.zeros(2), 0
    for seed in range(40):
        graph, x, ends = random_chains(seed, SIDE)
        before = parts_of(graph, ends, [x])
        after = schedule_recvs(before)
        off, now = simulate(before), simulate(after)
        assert now.makespan <= off.makespan, f"seed {seed}"
        assert all(now.peak[d] <= off.peak[d] for d in off.peak), f"seed {seed}"
        waits += mean_wait(before, off), mean_wait(after, now)
        peaks += sum(off.peak.values()), sum(now.peak.values())
        _check_order(after, seed)
        for device, part in after.items():
            for name, node in part.nodes.items():
                was = before[device].nodes[name]
                if node != was:
                    changed += 1
                    assert node.op == "_Recv" and replace(node, controls=was.controls) == was, f"seed {seed}"
                    (added,) = set(node.controls) - set(was.controls)
                    users = [n for n in before[device].nodes.values() if TensorId(name, 0) in n.inputs]
                    assert users and all(added in _all_ancestors(before, device, n.name) for n in users), f"seed {seed}"
    assert changed > 10 and waits[1] < waits[0] and peaks[1] < peaks[0]


def _needs(parts: Mapping[str, Subgraph]) -> dict[tuple[str, str], set[tuple[str, str]]]:
    sends = {n.attrs["key"]: (d, n.name) for d, p in parts.items() for n in p.nodes.values() if n.op == "_Send"}
    found = {}
    for device, part in parts.items():
        for node in part.nodes.values():
            found[device, node.name] = {(device, need) for need in part.predecessors(node)}
            if node.op == "_Recv":
                found[device, node.name].add(sends[node.attrs["key"]])
    return found


def _all_ancestors(parts: Mapping[str, Subgraph], device: str, name: str) -> set[str]:
    """Those on its own device, over all devices."""
    needs = _needs(parts)
    seen: set[tuple[str, str]] = set()
    stack = [(device, name)]
    while stack:
        for need in needs[stack.pop()]:
            if need not in seen:
                seen.add(need)
                stack.append(need)
    return {n for d, n in seen if d == device}


def _check_order(parts: Mapping[str, Subgraph], seed: int) -> None:
    needs = _needs(parts)
    done: set[tuple[str, str]] = set()
    while len(done) < len(needs):
        ready = {name for name, wanted in needs.items() if name not in done and wanted <= done}
        assert ready, f"seed {seed}: a cycle over the parts"
        done |= ready


def delay_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each Recv waits for the last node that it may wait for, whether that is any use or not."""
    monkeypatch.setattr(scheduling, "SMALLEST", 1)
    monkeypatch.setattr(scheduling, "_better", lambda trial, known: True)
    monkeypatch.setattr(scheduling._Net, "alap", lambda self, makespan: [math.inf] * len(self.nodes))


def test_f87_random_chains_give_the_same_bits_with_delayed_recvs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Recv that can be delayed is, whether that is any use or not: nothing gets stuck."""
    delay_all(monkeypatch)
    delayed: list[int] = []
    original = scheduling._accepted
    monkeypatch.setattr(scheduling, "_accepted", lambda *args: _noted(delayed, original(*args)))
    value = np.random.default_rng(7).normal(size=(4, 4)).astype(np.float32)
    for seed in range(24):
        results = []
        for devices in (1, 3):
            try:
                results.append(asyncio.run(_results(*random_chains(seed, 4, devices), value, seed)))
            except Exception as error:
                raise AssertionError(f"seed {seed} on {devices} devices fails: {error!r}") from error
        for x, y in zip(*results, strict=True):
            assert x.tobytes() == y.tobytes(), f"seed {seed}"
    assert sum(delayed) > 10, "few Recvs were delayed, so this shows little"


def _noted(delayed: list[int], found: dict[int, int]) -> dict[int, int]:
    delayed.append(len(found))
    return found


async def _results(graph: af.Graph, x: Any, ends: list[Any], value: Any, seed: int) -> list[Any]:
    Dispatcher.of(asyncio.get_running_loop()).queue = Shuffled(seed)
    async with af.Session(graph=graph, devices={"CPU": 3}, options=af.PlanOptions(coalesce=seed % 2 == 0)) as session:
        return await session.run(ends, {x: value}, timeout=PATIENCE)


def test_f87_a_run_receives_late(graph: af.Graph) -> None:
    """In a session: a Recv begins after the node that it was made to wait for."""
    x, y = chain_and_large_inputs(4)
    trace = af.Trace()
    parts = schedule_recvs(parts_of(graph, [y], [x]))
    late = {n.name: n.controls[0] for _, n in recvs_of(parts) if n.controls}
    assert late

    async def run() -> Any:
        async with af.Session(graph=graph, devices={"CPU": 2}, options=af.PlanOptions(coalesce=False)) as session:
            return await session.run(y, {x: np.eye(SIDE, dtype=np.float32) / 2}, trace=trace, timeout=PATIENCE)

    value = asyncio.run(run())
    assert np.isfinite(value).all()
    events = {event.node: event for event in trace.events}
    held = [recv for recv, source in late.items() if source in events]
    assert held and all(events[late[recv]].ended <= events[recv].begun for recv in held)


async def test_f96_a_trace_marks_transfers_that_are_lossy_or_put_off(graph: af.Graph) -> None:
    with af.lossy_sends():
        x, state = chain_and_large_inputs()
    with on(1):
        plain = af.identity(af.cast(state, af.int32))
    trace = af.Trace()
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        await session.run(plain, {x: np.zeros((SIDE, SIDE))}, trace=trace)
    marks = {event.op: set[str]() for event in trace.events if event.key}
    for event in trace.events:
        if event.key:
            marks[event.op].add(event.marks)
    assert any("lossy" in some for some in marks["_Recv"]) and "lossy" in marks["_Send"]
    assert any("scheduled" in some for some in marks["_Recv"]) and not any(
        "scheduled" in some for some in marks["_Send"]
    )
    taken = af.Trace()
    taken.take(*trace.rows()[:1])
    assert [event.marks for event in taken.events] == [event.marks for event in trace.events]
    shown = [row for row in json.loads(trace.to_chrome())["traceEvents"] if row.get("cat") == "transfer"]
    assert any("lossy" in row.get("args", {}).get("marks", "") for row in shown)
