"""Of what waits for a device's thread, the runtime takes the node with the longest way to the end, as the simulation does."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
from engine.placement.workloads import LINKS, Record, posed, step
from patience import PATIENCE

import actorflow as af
from actorflow.cluster.master.graph_partitioner import RemoteDevice
from actorflow.cluster.worker.task_partition import TaskPartition, decode_partition, encode_partition
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.passes.partition import partition
from actorflow.engine.placement.cost_model import Measurements
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.placement.ranking import ranked
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.runtime.event_loops.polling import at_work
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike

HERE = "/job:localhost/replica:0/task:0/device:CPU:0"
ran: list[str] = []
gate = threading.Event()


@af.op("TestNoted", shape=unchanged, gradient=None, work=lambda c: 1e8)
def noted(x: TensorLike, *, label: str, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """`x` itself; the thread that does it notes the label. Its work says that it is not for the event loop."""


@af.kernel("TestNoted")
def _noted(xp: Any, x: Any, *, label: str) -> Any:
    if label == "gate":
        assert gate.wait(60)
    ran.append(label)
    return x + 0


loop: list[asyncio.AbstractEventLoop] = []


@af.op("TestYielded", shape=unchanged, gradient=None, work=lambda c: 1e8)
def yielded(x: TensorLike, *, label: str, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """`x` itself, when the event loop has had some turns. Its work says that it is not for the event loop."""


@af.kernel("TestYielded")
def _yielded(xp: Any, x: Any, *, label: str) -> Any:
    ran.append(label)
    for _ in range(4):
        turned = threading.Event()
        loop[0].call_soon_threadsafe(turned.set)
        assert turned.wait(60)
    return x + 0


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    ran.clear()
    gate.clear()
    yield
    gate.set()


def fan(waits: str = "") -> tuple[Tensor, Tensor]:
    """Behind `first`: `short`, and `way` that leads to `far`."""
    x = af.placeholder(af.float32, [4], name="x")
    first = noted(x, label=waits or "first", name="first")
    short = noted(first, label="short", name="short")
    far = noted(noted(first, label="way", name="way"), label="far", name="far")
    return x, af.add_n([short, far], name="sum")


BATCH = np.ones(4, np.float32)
COSTS = {"first": 1e6, "short": 5e6, "way": 1e6, "far": 9e6}
MEASURED = [NodeMeasurement((name,), HERE, ns, 50, ()) for name, ns in COSTS.items()]


async def replan(session: af.Session, found: list[NodeMeasurement]) -> None:
    """As if runs had shown these costs."""

    async def observed() -> list[NodeMeasurement]:
        return found

    session._engine.observed = observed  # type: ignore[method-assign]
    await session.replan()


async def order(session: af.Session, total: Tensor, x: Tensor) -> list[str]:
    gate.set()
    ran.clear()
    await session.run(total, {x: BATCH})
    return list(ran)


async def test_f43_the_longest_way_is_first_where_costs_are_known(graph: af.Graph) -> None:
    x, total = fan()
    async with af.Session(graph=graph) as session:
        assert await order(session, total, x) == ["first", "short", "way", "far"], (
            "nothing is known: first come, first served"
        )
        await replan(session, MEASURED)
        assert await order(session, total, x) == ["first", "way", "far", "short"]
        other = [m._replace(nanoseconds=30e6) if m.names == ("short",) else m for m in MEASURED]
        await replan(session, other)
        assert await order(session, total, x) == ["first", "short", "way", "far"]


async def test_f43_steps_take_turns_whatever_the_ranks_are(graph: af.Graph) -> None:
    """While a step holds the thread, two others come. Neither overtakes the one that was there before it."""
    x, total = fan()
    closed = noted(x, label="gate", name="closed")
    async with af.Session(graph=graph) as session:
        await replan(session, [*MEASURED, NodeMeasurement(("closed",), HERE, 1e9, 50, ())])
        alone = noted(x, label="alone", name="alone")
        async with anyio.create_task_group() as group:
            for fetch in (closed, total, alone):
                before = len(at_work)
                group.start_soon(session.run, fetch, {x: BATCH})
                with anyio.fail_after(PATIENCE):
                    while len(at_work) == before:  # until the kernel is in line for the thread
                        await anyio.lowlevel.checkpoint()
            gate.set()
        assert ran[:3] == ["gate", "first", "alone"]
        assert sorted(ran[3:]) == ["far", "short", "way"]


async def test_f43_a_thread_runs_200_random_graphs_in_the_simulated_order(graph: af.Graph, seed: int) -> None:
    """Each kernel lets the loop hand on all that is ready before it ends: then only ranks decide."""
    rng = random.Random(seed)
    x = af.placeholder(af.float32, [4], name="x")
    expected: list[list[str]] = []
    ends: list[Any] = []
    found: list[NodeMeasurement] = []
    for number in range(200):
        count = rng.randint(4, 10)
        seconds = [rng.uniform(1e-3, 20e-3) for _ in range(count)]
        needs = [rng.sample(range(i), min(i, rng.choice((0, 1, 1, 2)))) for i in range(count)]
        made: list[Tensor] = []
        for i, some in enumerate(needs):
            with af.control_dependencies([made[need] for need in some]):
                made.append(yielded(x, label=f"n{i}", name=f"g{number}n{i}"))
        ends.append(af.group(*made))
        found += [NodeMeasurement((f"g{number}n{i}",), HERE, s * 1e9, 50, ()) for i, s in enumerate(seconds)]
        work = step(seconds, [(need, i) for i, some in enumerate(needs) for need in some])
        alone = posed(work, [Record(0)], LINKS["bus"])
        line = Simulator(work, alone.machine, range(count)).run([0] * count)
        expected.append([f"n{i}" for i in sorted(range(count), key=lambda i: line.begun[i])])
    loop.append(asyncio.get_running_loop())
    try:
        async with af.Session(graph=graph) as session:
            await replan(session, found)
            for number, end in enumerate(ends):
                ran.clear()
                await session.run(end, {x: BATCH})
                assert ran == expected[number], f"graph {number}"
    finally:
        loop.clear()


def test_f43_a_transfer_is_as_urgent_as_what_it_is_for() -> None:
    """Two parts: `a` is sent for a long way, `b` for a short one."""
    made = af.Graph()
    there = HERE.replace("CPU:0", "CPU:1")
    with made.as_default():
        x = af.placeholder(af.float32, [4], name="x")
        a, b = (noted(x, label=name, name=name) for name in "ab")
        long, quick = noted(a, label="long", name="long"), noted(b, label="quick", name="quick")
    whole = Subgraph(
        {n.name: replace(n, device=there if n.name in ("long", "quick") else HERE) for n in made.nodes.values()},
        {x.tensor_id: (af.float32, (4,))},
        (long.tensor_id, quick.tensor_id),
    )
    parts = partition(whole, HERE)
    records = [RemoteDevice(name, "CPU", DeviceSpec.parse(name), "one") for name in (HERE, there)]
    links = LinkCosts(process=LinkCost(1e-3))
    measured = Measurements({"a": 1e-3, "b": 1e-3, "long": 9e-3, "quick": 2e-3}, {}, dict.fromkeys("ab", HERE))
    found = ranked(parts, made.nodes, records, measured, links)
    sends = {n.inputs[0].node: found[HERE].ranks[n.name] for n in parts[HERE].nodes.values() if n.op == "_Send"}
    assert sends == pytest.approx({"a": 9e-3, "b": 2e-3})
    assert found[HERE].ranks["a"] == pytest.approx(11e-3) and found[HERE].ranks["b"] == pytest.approx(4e-3)
    assert ranked(parts, made.nodes, records, Measurements(), links) is parts
    part = TaskPartition(1, 1, found, (), (), (), PlanOptions())
    assert {d: dict(g.ranks) for d, g in decode_partition(encode_partition(part)).graphs.items()} == {
        d: dict(g.ranks) for d, g in found.items()
    }
