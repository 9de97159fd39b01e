"""Loops over several devices of a session: a control loop keeps each device in step, and no one coordinates them.

`ACTORFLOW_FLOW_FUZZ` sets how many random programs a run takes (30; half of them here), `ACTORFLOW_TEST_SEED` the first
one's seed; a failure names the seed of its program.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import probes
import pytest
from channels import start_zmq_collector
from clusters import servers
from engine.runtime.ready_queues import Lifo, Shuffled
from patience import PATIENCE
from probes import Probe, probe
from random_graphs import later
from random_programs import Built, Run, random_program
from test_flow_fuzz import objective
from test_partition import nodes_of, on, parts_of
from test_recv_scheduling import delay_all

import actorflow as af
from actorflow import blocking, errors
from actorflow.base.registry import opdef, plugins
from actorflow.engine.passes.coalesce_loops import coalesce_loops
from actorflow.engine.runtime.actors import ExecutorState
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.graph.node import Node
from actorflow.graph.ops.flow.primitives import enter, exit_, loop_cond, next_iteration, switch

__all__ = ["probe"]

PROGRAMS = int(os.environ.get("ACTORFLOW_FLOW_FUZZ", "30")) // 2
FIRST = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0)
RunGraph: TypeAlias = "Callable[..., Any]"
DEVICES = 3
CONTROL = "while/control_loop_on_CPU_1"


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


@pytest.fixture(params=[True, False], ids=["coalesced", "plain"])
def run(request: pytest.FixtureRequest) -> Iterator[RunGraph]:
    """`run(fetches, feeds)` of the default graph, on three devices."""
    plugins.load_kernels()
    with (
        af.Graph().as_default() as graph,
        on(0),
        blocking.Session(
            graph=graph, devices={"CPU": DEVICES}, options=af.PlanOptions(coalesce=request.param)
        ) as session,
    ):
        yield lambda fetches, feeds=None, timeout=PATIENCE, trace=None: session.run(
            fetches, feeds, timeout=timeout, trace=trace
        )


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    with af.Graph().as_default() as made, on(0):
        yield made


def integer() -> Any:
    return af.placeholder(af.int32, [])


def doubling(n: Any, device: int = 1, **options: Any) -> Any:
    """`n` iterations of `x = 2 * x + i` from 1, the product on another device."""

    def body(i: Any, x: Any) -> Any:
        with on(device):
            twice = x * 2
        return i + 1, twice + i

    return af.while_loop(lambda i, x: i < n, body, (0, 1), **options)


def doubled(n: int) -> int:
    x = 1
    for i in range(n):
        x = 2 * x + i
    return x


# ---- what comes out


@pytest.mark.parametrize("trips", [0, 1, 2, 25])
@pytest.mark.parametrize("parallel", [1, 2, 10])
def test_f80_a_body_on_another_device(run: RunGraph, trips: int, parallel: int) -> None:
    n = integer()
    assert run(list(doubling(n, parallel_iterations=parallel)), {n: trips}) == [trips, doubled(trips)]


@pytest.mark.parametrize("trips", [0, 1, 7])
def test_f80_state_predicate_and_body_on_a_device_each(run: RunGraph, trips: int) -> None:
    n = integer()

    def goes_on(i: Any, x: Any) -> Any:
        with on(2):
            return i < n

    def body(i: Any, x: Any) -> Any:
        with on(1):
            return i + 1, x * 2 + i

    i, x = af.while_loop(goes_on, body, (0, 1))
    assert run([i, x], {n: trips}) == [trips, doubled(trips)]


def test_f80_a_loop_whose_condition_waits_and_whose_body_waits(run: RunGraph) -> None:
    n = integer()

    def goes_on(i: Any, x: Any) -> Any:
        with on(1):
            return later(i, turns=3) < n

    def body(i: Any, x: Any) -> Any:
        with on(2):
            slow = later(x, turns=2)
        return later(i, turns=1) + 1, slow * 2 + i

    i, x = af.while_loop(goes_on, body, (0, 1), parallel_iterations=4)
    assert run([i, x], {n: 12}) == [12, doubled(12)]


@pytest.mark.parametrize("outer", [0, 1, 4])
def test_f80_loops_in_loops_stack_their_control_loops(run: RunGraph, outer: int) -> None:
    """The inner loop's body is on a device that the outer loop does not touch otherwise; its length changes."""
    n = integer()

    def inner(i: Any, total: Any) -> Any:
        def add(j: Any, t: Any) -> Any:
            with on(2):
                return j + 1, t + i * j

        with on(1):
            return af.while_loop(lambda j, t: j < i, add, (0, total))[1]

    i, total = af.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, inner(i, t)), (0, 0))
    assert run([i, total], {n: outer}) == [outer, sum(i * j for i in range(outer) for j in range(i))]


def test_f80_three_deep_with_branches(run: RunGraph) -> None:
    def level(depth: int, x: Any) -> Any:
        if depth == 3:
            with on(2):
                return af.cond(x % 3 < 2, lambda: x * 3 + 1, lambda: x - 5)

        def body(i: Any, x: Any) -> Any:
            with on(depth):
                return i + 1, level(depth + 1, x + i)

        return af.while_loop(lambda i, x: i < 2 + x % 2, body, (0, x))[1]

    def python(depth: int, x: int) -> int:
        if depth == 3:
            return x * 3 + 1 if x % 3 < 2 else x - 5
        i = 0
        while i < 2 + x % 2:
            i, x = i + 1, python(depth + 1, x + i)
        return x

    start = integer()
    y = level(0, start)
    for value in range(4):
        assert run(y, {start: value}) == python(0, value)


@pytest.mark.parametrize("taken", [True, False])
def test_f80_a_loop_in_a_branch_that_is_not_taken_ends_at_once(run: RunGraph, taken: bool) -> None:
    p, n = af.placeholder(af.bool, []), integer()
    y = af.cond(p, lambda: doubling(n)[1], lambda: n * 100)
    assert run(y, {p: taken, n: 5}) == (doubled(5) if taken else 500)


def test_f80_arrays_are_written_where_they_are_and_read_from_everywhere(run: RunGraph) -> None:
    n = integer()
    values = af.TensorArray(af.float32, size=n)

    def body(i: Any, array: Any) -> Any:
        with on(1):
            value = af.sqrt(af.cast(i, af.float32))
            return i + 1, array.write(i, value)

    _, done = af.while_loop(lambda i, a: i < n, body, (0, values))
    with on(2):
        total = af.reduce_sum(done.stack())
    assert run(total, {n: 9}) == pytest.approx(sum(np.sqrt(range(9))), rel=1e-6)


def test_f80_variables_are_updated_in_each_iteration(run: RunGraph) -> None:
    n = integer()
    with on(1):
        count = af.Variable(0)

    def body(i: Any) -> Any:
        with af.device(None):
            ticked = count.assign_add(i, read_value=False)
        with on(2), af.control_dependencies([ticked]):
            return i + 1

    i = af.while_loop(lambda i: i < n, body, (0,))
    run(af.global_variables_initializer())
    assert run(i, {n: 10}) == 10
    assert run(count.value()) == sum(range(10))


def test_f80_a_variable_is_read_in_the_body_of_another_device(run: RunGraph) -> None:
    n = integer()
    with on(0):
        step = af.Variable(3)

    def body(i: Any, x: Any) -> Any:
        with on(1):
            return i + 1, x + step

    _, x = af.while_loop(lambda i, x: i < n, body, (0, 0))
    run(af.global_variables_initializer())
    assert run(x, {n: 4}) == 12


@pytest.mark.parametrize("trips", [0, 1, 6])
def test_f81_gradients_of_a_loop_over_devices(run: RunGraph, trips: int) -> None:
    """Forward and backward; the stacks are with the loop's state."""
    n, w = integer(), af.placeholder(af.float64, [])

    def body(i: Any, x: Any) -> Any:
        with on(1):
            y = af.sin(x) * w
        return i + 1, y

    start = af.constant(0.7, af.float64)
    _, x = af.while_loop(lambda i, x: i < n, body, (0, start))
    (first,) = af.gradients(x, w)
    (second,) = af.gradients(first, w)

    def python(w: float) -> tuple[float, float, float]:
        x, dx, ddx = 0.7, 0.0, 0.0
        for _ in range(trips):
            s, c = np.sin(x), np.cos(x)
            x, dx, ddx = s * w, c * dx * w + s, (c * ddx - s * dx * dx) * w + 2 * c * dx
        return x, dx, ddx

    got = run([x, first] if second is None else [x, first, second], {n: trips, w: 1.3})
    np.testing.assert_allclose(got, python(1.3)[: len(got)], rtol=1e-12, atol=1e-15)


# ---- how it is done


def test_f80_a_control_loop_for_each_device_without_a_merge_of_the_loop(graph: af.Graph) -> None:
    n = integer()
    _, x = doubling(n)
    parts = parts_of(graph, [x], [n])
    here, there = parts.values()
    assert sum(node.op == "LoopCond" for node in here.nodes.values()) == 1
    assert [str(node) for node in there.nodes.values() if node.op != "Const"] == [
        f"{CONTROL}/Enter = Enter({CONTROL}/Const)",
        f"{CONTROL}/Merge = Merge({CONTROL}/Enter, {CONTROL}/NextIteration)",
        f"while/Identity_1/_0_to_CPU_1/recv = _Recv(^{CONTROL}/Merge)",
        "while/mul = Mul(while/Identity_1/_0_to_CPU_1/recv, while/mul/y)",
        "while/mul/_0_to_CPU_0/send = _Send(while/mul)",
        f"while/LoopCond/_0_to_CPU_1/recv = _Recv(^{CONTROL}/Merge)",
        f"{CONTROL}/Switch = Switch({CONTROL}/Merge, while/LoopCond/_0_to_CPU_1/recv)",
        f"{CONTROL}/NextIteration = NextIteration({CONTROL}/Switch:1)",
    ]
    starts = {c for node in nodes_of(parts, "_Recv") if node in here.nodes.values() for c in node.controls}
    assert starts == {"while/Merge"}, "on the device of the counter, the loop's own Merge starts an iteration's Recvs"


def test_f80_primitives_are_where_they_cross_least(graph: af.Graph) -> None:
    """A variable's circle is on one device; what enters a loop crosses before, and what leaves it after."""
    seen: Counter[str] = Counter()
    for number in range(6):
        built = Built(random_program(number), devices=3)
        for part in parts_of(built.graph, built.results, built.inputs).values():
            for node in part.nodes.values():
                sources = [part.nodes[e.node].op for e in node.inputs if e not in part.feeds]
                seen.update((node.op, source) for source in sources)
                if node.op == "Merge" and "NextIteration" in sources:
                    assert sources == ["Enter", "NextIteration"]
    sent = {source for op, source in seen if op == "_Send"}
    received = {op for op, source in seen if source == "_Recv"}
    assert "Switch" in received and {"Identity", "LoopCond"} <= sent
    assert sent.isdisjoint(("Enter", "NextIteration")) and received.isdisjoint(("Exit", "LoopCond"))


def test_f80_each_recv_runs_once_in_each_iteration_and_dead_in_the_last(run: RunGraph) -> None:
    n, trace = integer(), af.Trace()
    _, x = doubling(n)
    run(x, {n: 8}, trace=trace)
    recvs = Counter(e.node for e in trace.events if e.op == "_Recv")
    sends = Counter(e.node for e in trace.events if e.op == "_Send")
    assert len(recvs) == 3 and set(recvs.values()) == set(sends.values()) == {9}


def test_f80_tags_are_the_numbers_of_the_iterations(monkeypatch: pytest.MonkeyPatch, graph: af.Graph) -> None:
    from actorflow.transports.local import LocalRendezvous

    sent: list[tuple[str, bytes]] = []
    original = LocalRendezvous.send

    def send(self: Any, key: str, token: Any, tag: bytes = b"", **options: Any) -> None:
        sent.append((key.rpartition(";")[2], tag))
        original(self, key, token, tag, **options)

    monkeypatch.setattr(LocalRendezvous, "send", send)
    n = integer()

    def body(i: Any, t: Any) -> Any:
        return i + 1, af.while_loop(lambda j, t: j < 2, lambda j, t: (j + 1, inside(t)), (0, t))[1]

    def inside(t: Any) -> Any:
        with on(1):
            return af.add(t, 1, name="marked")

    _, t = af.while_loop(lambda i, t: i < n, body, (0, 0))
    with on(1):
        outside = af.add(t, 1, name="outside")
    with on(0):
        back = outside + 0
    with blocking.Session(graph=graph, devices={"CPU": 2}) as session:
        assert session.run(back, {n: 2}, timeout=PATIENCE) == 5
    numbers = {tuple(tag[at : at + 8][0] for at in range(0, len(tag), 8)) for key, tag in sent if "marked" in key}
    assert numbers == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0)}, "the last of each are dead"
    assert [tag for key, tag in sent if key == "outside:0"] == [b""]
    assert len(set(sent)) == len(sent) and max(len(tag) for _, tag in sent) == 16


def test_f80_a_long_loop_leaves_nothing_at_the_rendezvous(run: RunGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    from actorflow.transports.local import LocalRendezvous

    made: list[Any] = []
    original = LocalRendezvous.__init__
    monkeypatch.setattr(LocalRendezvous, "__init__", lambda self: (made.append(self), original(self))[1])
    n = integer()
    i, _ = doubling(n)
    assert run(i, {n: 300}) == 300
    assert made and all(len(meeting._entries) < 10 and not meeting._waiting for meeting in made)


def test_f80_loops_over_devices_keep_their_frames_and_loops_of_one_device_do_not(graph: af.Graph) -> None:
    n = integer()

    def body(i: Any, x: Any) -> Any:
        _, y = af.while_loop(lambda j, y: j < 3, lambda j, y: (j + 1, y + j), (0, x))
        with on(1):
            return i + 1, y * 2

    _, x = af.while_loop(lambda i, x: i < n, body, (0, 1))
    parts = parts_of(graph, [x], [n])
    made = {device: coalesce_loops(part, _mergeable) for device, part in parts.items()}
    assert [len(nodes_of({d: p}, "_Loop")) for d, p in made.items()] == [1, 0]
    assert nodes_of(made, "LoopCond") and nodes_of(made, "_Recv")


def _mergeable(node: Node) -> bool:
    definition = opdef.lookup(node.op)
    return not (definition.asynchronous or definition.fires_dead or definition.emits_dead)


@pytest.mark.parametrize("transport", ["local", "zmq", "shm"])
async def test_f80_a_loop_over_three_tasks_ends_and_says_nothing_to_its_client_meanwhile(transport: str) -> None:
    """The tasks send each other a token for each edge and iteration; the client and the master hear of none."""

    def task(number: int) -> Any:
        return af.device(f"/job:worker/task:{number}")

    with af.Graph().as_default() as graph:
        n = integer()

        def body(i: Any, x: Any) -> Any:
            with task(1):
                twice = x * 2
            with task(2):
                return i + 1, twice + i

        with task(0):
            _, x = af.while_loop(lambda i, x: i < n, body, (0, 1))
    tokens, traffic = [0], [0]
    async with servers({"worker": 3}, transport) as cluster, af.Session(cluster[0].target, graph) as session:
        for trips in (2, 2, 12):
            assert await session.run(x, {n: trips}, timeout=PATIENCE) == doubled(trips)
            tokens.append(sum(edge.tokens for edge in await session.channels()))
            counts = session._engine.remote.link.control.statistics()  # type: ignore[attr-defined]
            traffic.append(counts.bytes_sent + counts.bytes_received)
    crossing = [b - a for a, b in pairwise(tokens)]
    assert crossing[0] == crossing[1] and crossing[2] - crossing[1] == 10 * crossing[1] / 3
    assert traffic[3] - traffic[2] <= traffic[2] - traffic[1] + 600, "no more than a heartbeat's difference"


# ---- when it goes wrong


def test_f80_an_error_in_a_body_ends_the_loop_on_all_devices(run: RunGraph, probe: Probe) -> None:
    n = integer()

    def fail(x: Any) -> Any:
        if x > 20:
            raise ValueError("too large")
        return x

    probe.does["there"] = fail

    def body(i: Any, x: Any) -> Any:
        with on(1):
            y = probes.log(x * 2, tag="there")
        return i + 1, y

    _, x = af.while_loop(lambda i, x: i < n, body, (0, 1))
    with pytest.raises(errors.InvalidArgumentError, match="too large") as caught:
        run(x, {n: 100})
    assert "device:CPU:1" in str(caught.value)
    assert run(x, {n: 4}) == 16


async def test_f80_an_endless_loop_ends_at_its_deadline(graph: af.Graph) -> None:
    n = integer()
    i, _ = doubling(n)
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        with pytest.raises(errors.DeadlineExceededError):
            await session.run(i, {n: 2**31 - 1}, timeout=0.1)
        assert await session.run(i, {n: 3}) == 3


async def test_f80_the_report_of_a_loop_that_waits_names_iteration_and_edge(graph: af.Graph, probe: Probe) -> None:
    n = integer()

    def body(i: Any, x: Any) -> Any:
        with on(1):
            y = probes.wait(x, tag="gate")
        return i + 1, y + 1

    _, x = af.while_loop(lambda i, x: i < n, body, (0, 1), name="turns")
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        running = asyncio.ensure_future(session.run(x, {n: 2}, timeout=PATIENCE))
        await probe.arrived("gate").wait()
        report = session.pending()
        assert "iteration 0 of turns: " in report and "waits in its asynchronous kernel" in report
        assert "from /job:localhost/replica:0/task:0/device:CPU:1" in report
        probe.gate("gate").set()
        assert await running == 3


def test_f80_a_loop_over_devices_needs_a_loop_cond(graph: af.Graph) -> None:
    start, less = af.constant(1.0), af.placeholder(af.bool, [])
    merged = graph.create_op("Merge", [(entered := enter(start, frame_name="f")), entered], {}).outputs[0]
    pred = enter(less, frame_name="f", is_constant=True)
    stays, goes_on = switch(merged, pred)
    with on(1):
        there = goes_on + 1.0
    graph.close_loop(merged.op, next_iteration(there))
    with pytest.raises(errors.InvalidArgumentError, match="has 0 nodes LoopCond"):
        parts_of(graph, [exit_(stays)], [less])


def test_f80_what_is_there_in_the_first_iteration_only_cannot_cross(graph: af.Graph) -> None:
    start, n = af.placeholder(af.float32, []), af.placeholder(af.float32, [])
    first = enter(start, frame_name="f")
    limit = enter(n, frame_name="f", is_constant=True)
    once = af.square(first, name="once")
    merged = graph.create_op("Merge", [first, first], {}).outputs[0]
    pred = loop_cond(merged < limit)
    stays, goes_on = switch(merged, pred)
    with on(1):
        there = goes_on + once
    graph.close_loop(merged.op, next_iteration(there))
    with pytest.raises(errors.InvalidArgumentError, match="in some iterations of a loop only") as caught:
        parts_of(graph, [exit_(stays)], [start, n])
    assert "once" in str(caught.value) and "constant Enter" in str(caught.value)


# ---- random programs


async def check(program: Any, built: Built, coalesce: bool, optimize: bool, queue: Any) -> None:
    if queue is not None:
        Dispatcher.of(asyncio.get_running_loop()).queue = queue(program.seed)
    ticks = 0
    async with af.Session(
        graph=built.graph, devices={"CPU": DEVICES}, options=af.PlanOptions(coalesce=coalesce, optimize=optimize)
    ) as session:
        await session.run(built.initializer)
        for number in range(2):
            inputs = program.inputs(number)
            want = Run(program, inputs)
            ticks += want.ticks
            got = await session.run(built.results, dict(zip(built.inputs, inputs)), timeout=PATIENCE)
            for name, x, y in zip(built.results, want.results, got, strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-14, err_msg=f"run {number}: {name}")
            assert await session.run(built.ticks.value()) == ticks, f"side effects of run {number}"
        assert session.pending() == "no step is in flight"
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("batch", range(2))
def test_f77_f78_f80_random_programs_on_random_devices(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They give what Python gives, in any order of the ready queue, with and without passes; each Recv that can be delayed is."""
    delay_all(monkeypatch)
    for seed in range(FIRST + batch, FIRST + PROGRAMS, 2):
        rng = random.Random(seed)
        program = random_program(seed)
        built = Built(program, known_shapes=seed % 3 > 0, devices=rng.choice((2, 3)))
        queue = rng.choice((None, lambda seed: Lifo(), Shuffled))
        for setting in ((True, True, queue), (False, rng.random() < 0.5, Shuffled)):
            try:
                asyncio.run(check(program, built, *setting))
            except Exception as error:
                raise AssertionError(f"seed {seed} with {setting} fails: {error}") from error


def test_f81_gradients_of_random_programs_on_random_devices() -> None:
    """They are those of the same program on one device."""
    for seed in range(FIRST, FIRST + max(PROGRAMS // 3, 1)):
        program = random_program(seed)
        inputs = program.inputs(0)
        try:
            alone, spread = (asyncio.run(_gradients(program, devices, inputs)) for devices in (1, DEVICES))
        except Exception as error:
            raise AssertionError(f"seed {seed} fails: {error}") from error
        assert objective(program, inputs)[0] == pytest.approx(spread[0], rel=1e-9)
        for x, y in zip(alone, spread, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-12, err_msg=f"seed {seed}")


async def _gradients(program: Any, devices: int, inputs: list[Any]) -> list[Any]:
    built = Built(program, devices=devices)
    with built.graph.as_default():
        floats = [t for t, kind in zip(built.results, program.result_kinds, strict=True) if kind != "i"]
        xs = [t for t in built.inputs if t.dtype is af.float64]
        total = af.add_n([af.reduce_mean(t) for t in floats])
        found = [g for g in af.gradients(total, xs) if g is not None]
    Dispatcher.of(asyncio.get_running_loop()).queue = Shuffled(program.seed)
    async with af.Session(graph=built.graph, devices={"CPU": devices}) as session:
        await session.run(built.initializer)
        return await session.run([total, *found], dict(zip(built.inputs, inputs)), timeout=PATIENCE)


def test_f80_a_tag_fits_its_record_for_loops_128_deep() -> None:
    class Outer:
        tag = bytes(8 * 127)

    class Inner:
        parent = Outer

    part = object.__new__(ExecutorState)
    part.frame, part.number = Inner, 2**40  # type: ignore[assignment]
    assert len(part.tag) == 1024 and part.tag.endswith((2**40).to_bytes(8, "little"))
