"""One step: what fires and when, what dead tokens do, and what is said when nothing can go on."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
import probes
import pytest
from engine.runtime.ready_queues import Shuffled
from patience import PATIENCE
from probes import Probe, probe
from random_graphs import later

import actorflow as af
from actorflow import errors
from actorflow.base.registry import plugins
from actorflow.base.registry.opdef import Inference
from actorflow.engine.runtime.context import KernelContext
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.engine.runtime.plan import SINK, Plan
from actorflow.engine.runtime.plan_building import build_plan
from actorflow.engine.runtime.state.resources import ResourceManager
from actorflow.engine.runtime.step import Step
from actorflow.engine.runtime.tokens import DEAD, EMPTY
from actorflow.engine.session import step_runner as steps_module
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import TensorId
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import TensorLike

__all__ = ["probe"]

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    made = af.Graph()
    with made.as_default():
        yield made


async def until(condition: Callable[[], bool]) -> None:
    """Gives the loop turns until `condition` holds, which it has to soon."""
    async with asyncio.timeout(PATIENCE):
        for _ in iter(condition, True):
            await asyncio.sleep(0)


# ---- ops that kill and revive


def _both(c: Inference) -> list[Any]:
    return [c.shapes[0], c.shapes[0]]


@af.op(
    "TestSwitch",
    shape=_both,
    result=(lambda c: c.dtypes[0], lambda c: c.dtypes[0]),
    types={"which": af.bool},
    gradient=None,
    emits_dead=True,
)
def switch(data: TensorLike, which: TensorLike, *, name: str | None = None) -> list[af.Tensor]:
    """`data` on output 1 where `which` is true, else on output 0; the other one is dead."""


@af.kernel("TestSwitch")
def _switch(xp: Any, data: Any, which: Any) -> Any:
    return (DEAD, data) if which else (data, DEAD)


@af.op("TestMerge", shape=lambda c: c.shapes[0], gradient=None, fires_dead=True)
def merge(data: Sequence[TensorLike], *, name: str | None = None) -> af.Tensor:  # type: ignore[empty-body]
    """The first of `data` that is alive; dead if none is."""


@af.kernel("TestMerge")
def _merge(xp: Any, data: Any) -> Any:
    return next((value for value in data if value is not DEAD), DEAD)


@af.op("TestOutputs", shape=_both, result=(lambda c: c.dtypes[0], lambda c: c.dtypes[0]), gradient=None, stateful=True)
def outputs(x: TensorLike, *, count: int, name: str | None = None) -> list[af.Tensor]:
    """Has two outputs; its kernel returns `count`, or for 0 an array."""


@af.kernel("TestOutputs")
def _outputs(xp: Any, x: Any, *, count: int) -> Any:
    return (x,) * count if count else x


@af.op("TestTuple", shape=unchanged, gradient=None, stateful=True)
def a_tuple(x: TensorLike, *, name: str | None = None) -> af.Tensor:
    """Has one output; its kernel returns a tuple."""


@af.kernel("TestTuple")
def _a_tuple(xp: Any, x: Any) -> Any:
    return (x, x)


@af.op("TestCancels", shape=unchanged, gradient=None, stateful=True, asynchronous=True)
def cancels(x: TensorLike, *, name: str | None = None) -> af.Tensor:
    """Its kernel waits for something that was cancelled."""


@af.kernel("TestCancels")
async def _cancels(xp: Any, x: Any) -> Any:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


@af.op("TestStubborn", shape=unchanged, gradient=None, stateful=True, asynchronous=True)
def stubborn(x: TensorLike, *, name: str | None = None) -> af.Tensor:
    """Its kernel does not let itself be cancelled before the gate `stubborn` opens."""


@af.kernel("TestStubborn")
async def _stubborn(xp: Any, x: Any) -> Any:
    with anyio.CancelScope(shield=True):
        probes.current.note("stubborn")
        await probes.current.gate("stubborn").wait()
    return x


# ---- a step by itself, without a session


class Alone:
    """A step of one device over a plan that the test may spoil."""

    def __init__(
        self,
        graph: af.Graph,
        fetches: Sequence[af.Tensor],
        feeds: Sequence[af.Tensor] = (),
        fill_constants: bool = False,
    ) -> None:
        self.device = plugins.load("devices", "CPU")(CPU)
        self.resources = ResourceManager()
        nodes = {n.name: replace(n, device=CPU) for n in graph.nodes.values() if n.op != "Placeholder"}
        known = {t.tensor_id: (t.dtype, t.static_shape) for t in feeds}
        self.plan: Plan = build_plan(
            Subgraph(nodes, known, tuple(t.tensor_id for t in fetches)),
            self.device,
            lambda node: KernelContext(node, self.device, self.resources),
            fill_constants,
        )

    def index(self, name: str) -> int:
        return next(node.index for node in self.plan.nodes if node.node.name == name)

    async def run(self, feeds: dict[TensorId, Any] | None = None, **options: Any) -> Step:
        loop = asyncio.get_running_loop()
        transport = plugins.load("rendezvous", "local")()
        step = Step(1, [self.plan], Dispatcher.of(loop), loop, copy_context(), transport, **options)
        step.start(feeds or {})
        step.dispatcher.pump()
        async with asyncio.timeout(PATIENCE):
            await step.wait()
        return step


def test_f40_pending_counts_are_numbers_of_edges(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    a = af.add(x, x, name="a")
    with af.control_dependencies([a]):
        b = af.negative(x, name="b")
    c = af.multiply(b, a, name="c")
    alone = Alone(graph, [c, c], [x])
    counts = {node.node.name: alone.plan.pending[node.index] for node in alone.plan.nodes}
    assert counts == {"_Sink": 2, "a": 2, "b": 2, "c": 2}


async def test_f40_a_finished_step_holds_its_fetches_and_nothing_else(graph: af.Graph) -> None:
    a = af.constant(2.0, name="a")
    b = af.square(a, name="b")
    left, right = af.split(af.stack([b, a]), 2)
    c = af.concat([left, right], 0, name="c")
    alone = Alone(graph, [c, b])
    step = await alone.run()
    assert step.finished and step.error is None and step.live == step.waiting == 0
    (part,) = step.executors
    assert not any(part.pending) and part.done
    fetched = len(alone.plan.fetches)
    assert [v.tolist() for v in part.slots[:fetched]] == [[4.0, 2.0], 4.0]
    assert part.slots[fetched:] == [None] * (len(part.slots) - fetched)
    assert all(value is EMPTY for value in alone.plan.slots), "the plan itself stays as it was"


async def test_a_variable_is_fresh_after_a_reset_though_its_node_kept_the_place(graph: af.Graph) -> None:
    v = af.Variable([1.0, 2.0], name="v")
    handle = v.handle
    alone = Alone(graph, [handle])
    held = []
    for _ in range(2):
        for _ in range(2):
            (executor,) = (await alone.run()).executors
            held.append(executor.slots[0])
        alone.resources.reset()
    assert held[0] is held[1] and held[2] is held[3] and held[0] is not held[2]
    names = [name for _, _, name in alone.resources.names()]
    assert names == [], "nothing brings back what was dropped"


# ---- what runs, and in which order


def random_dag(rng: random.Random, size: int, devices: int) -> tuple[af.Graph, list[af.Tensor]]:
    """Additions with random data and control edges."""
    graph = af.Graph()
    with graph.as_default():
        made: list[af.Tensor] = [af.constant(1.0, name="n0")]
        for i in range(1, size):
            inputs = rng.sample(made, min(len(made), rng.randint(1, 3)))
            controls = rng.sample(made, min(len(made), rng.choice((0, 0, 1, 2))))
            with af.control_dependencies(controls), af.device(f"/device:CPU:{rng.randrange(devices)}"):
                made.append(later(inputs[0], turns=1) if rng.random() < 0.08 else af.add_n(inputs, name=f"n{i}"))
    return graph, made


def needed(graph: af.Graph, fetches: Sequence[af.Tensor], fed: Sequence[af.Tensor]) -> set[str]:
    """By the definition: what a fetch that is not fed needs, and what that needs."""
    cut = {t.tensor_id for t in fed}
    found: set[str] = set()
    waiting = [t.op.name for t in fetches if t.tensor_id not in cut]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            node = graph.nodes[name]
            waiting += [e.node for e in node.inputs if e not in cut] + list(node.controls)
    return found


@pytest.mark.parametrize("batch", range(10))
async def test_f14_f17_f25_f26_a_thousand_random_graphs(batch: int, seed: int) -> None:
    """Just the needed nodes run, once each, and each after the end of all that it waits for."""
    Dispatcher.of(asyncio.get_running_loop()).queue = Shuffled(seed)
    for number in range(batch * 100, batch * 100 + 100):
        rng = random.Random(seed + number)
        devices = rng.choice((1, 1, 3))
        graph, made = random_dag(rng, rng.randint(2, 14), devices)
        fetches, fed = rng.sample(made, min(len(made), 3)), rng.sample(made, rng.choice((0, 0, 1, 2)))
        trace = af.Trace()
        async with af.Session(graph=graph, devices={"CPU": devices}, options=af.PlanOptions(optimize=False)) as session:
            await session.run(fetches, {t: 1.0 for t in fed}, trace=trace)
        where = f"seed {seed + number}\n{graph}"
        ran = [event for event in trace.events if event.op not in ("_Send", "_Recv")]
        assert sorted(event.node for event in ran) == sorted(needed(graph, fetches, fed)), where
        assert sum(e.op == "_Send" for e in trace.events) == sum(e.op == "_Recv" for e in trace.events), where
        events = {event.node: event for event in ran}
        cut = {t.tensor_id for t in fed}
        for event in ran:
            node = graph.nodes[event.node]
            for source in (*[e.node for e in node.inputs if e not in cut], *node.controls):
                assert events[source].ended <= event.begun, f"{source} ends after {event.node} begins: {where}"
                assert events[source].order < event.order, where


async def test_f24_nothing_runs_that_was_not_asked_for(graph: af.Graph, probe: Probe) -> None:
    x = af.constant(1.0)
    fetched, other = probes.log(x, tag="fetched"), probes.log(x, tag="other")
    assert not probe.ran
    async with af.Session(graph=graph) as session:
        assert not probe.ran
        await session.run(fetched)
        assert probe.ran == {"fetched": 1}
        await session.run(other.op)
    assert probe.ran == {"fetched": 1, "other": 1}


@pytest.mark.parametrize("coalesce", [True, False])
async def test_f26_a_fed_tensor_keeps_the_value_that_was_fed(graph: af.Graph, probe: Probe, coalesce: bool) -> None:
    """Also where its node runs, because a control edge or another output asks for it; be it a constant."""
    x = af.placeholder(af.float32, [], name="x")
    gate = af.add(x, 1.0, name="gate")
    with af.control_dependencies([gate]):
        c = af.constant(10.0, name="c")
    one, two = probes.two(x, tag="two")
    with af.control_dependencies([one, two]):
        s = af.add(one, two) + c + gate
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        found = await session.run([s, c, one, two, c.op], {x: 3.0, c: 100.0, one: 5.0})
        assert found == [106.0, 100.0, 5.0, -3.0, None]
        assert probe.ran == {"two": 1}
        assert await session.run([s, c], {x: 3.0, one: 5.0}) == [16.0, 10.0]


# ---- dead tokens


SETTINGS = [(coalesce, devices) for coalesce in (True, False) for devices in (1, 3)]


def on(index: int) -> Any:
    return af.device(f"/device:CPU:{index}")


@pytest.mark.parametrize(("coalesce", "devices"), SETTINGS)
@pytest.mark.parametrize("which", [True, False])
async def test_f77_the_untaken_side_does_not_run(
    graph: af.Graph, probe: Probe, which: bool, coalesce: bool, devices: int
) -> None:
    """Death travels along data and control edges, and from device to device; a trigger comes alive."""
    last = devices - 1
    p = af.placeholder(af.bool, [], name="p")
    x = af.constant(2.0, name="x")
    no, yes = switch(x, p)
    with on(last):
        a = probes.log(probes.log(yes, tag="yes") * 3.0, tag="yes, then")
    with on(0):
        pivot = af.identity(no)  # a control edge from the switch itself would be alive either way
    with on(devices // 2), af.control_dependencies([pivot]):
        b = probes.log(x, tag="no")
    with af.control_dependencies([b, a]):
        probes.target(tag="never")
    with on(last), af.control_dependencies([a]):
        alive = af.control_trigger()
    with on(0), af.control_dependencies([alive]):
        always = probes.log(x, tag="always")
    with on(last):
        merged = merge([a, b])
    targets = [op for op in graph.get_operations() if op.type == "TestTarget"]
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce), devices={"CPU": devices}) as session:
        found = await session.run([merged, always, *targets], {p: which}, timeout=PATIENCE)
        assert found[:2] == [6.0 if which else 2.0, 2.0]
        assert probe.ran == {"always": 1, **({"yes": 1, "yes, then": 1} if which else {"no": 1})}
        with pytest.raises(errors.InvalidArgumentError, match="it lies on a branch that this run did not take"):
            await session.run(b if which else a, {p: which})
        assert await session.run(a if which else b, {p: which}) == found[0]


@pytest.mark.parametrize("coalesce", [True, False])
async def test_f77_a_dead_node_does_not_write_or_wait(graph: af.Graph, probe: Probe, coalesce: bool) -> None:
    p = af.placeholder(af.bool, [])
    v = af.Variable(1.0)
    no, yes = switch(af.constant(5.0), p)
    updates = [v.assign_add(no, read_value=False), v.assign(yes * 2.0, read_value=False)]
    blocked = probes.wait(no, tag="gate")
    held = merge([blocked, yes])
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        await session.run(v.initializer)
        await session.run(updates, {p: True})
        assert await session.run(v) == 10.0
        await session.run(updates, {p: False})
        assert await session.run(v) == 15.0
        assert await session.run(held, {p: True}, timeout=PATIENCE) == 5.0 and not probe.ran


async def test_f77_a_dead_node_waits_for_all_its_tokens(graph: af.Graph, probe: Probe) -> None:
    """Nothing that was dead is late: what a step starts has ended when it returns."""
    p = af.placeholder(af.bool, [])
    no, _ = switch(af.constant(5.0), p)
    slow = later(af.constant(1.0), turns=20)
    dead = af.add(no, slow)
    with af.control_dependencies([dead]):
        after = af.control_trigger()
    async with af.Session(graph=graph) as session:
        trace = af.Trace()
        await session.run(after, {p: True}, trace=trace)
    assert slow.op.name in trace.names() and dead.op.name not in trace.names()


def deadness(seed: int) -> tuple[af.Graph, af.Tensor, list[tuple[af.Tensor, bool]], set[str]]:
    """A random graph with switches: for each tensor whether it is alive when `p` is true, and the tags that run."""
    rng = random.Random(seed)
    graph = af.Graph()
    tags: set[str] = set()
    with graph.as_default():
        p = af.placeholder(af.bool, [], name="p")
        not_p = af.logical_not(p)
        values: list[tuple[af.Tensor, bool]] = [(af.constant(1.0), True), (af.constant(2.0), True)]
        for i in range(40):
            picked = [rng.choice(values) for _ in range(rng.randint(1, 3))]
            controls = [rng.choice(values) for _ in range(rng.choice((0, 0, 0, 1)))]
            controls = [c for c in controls if c[0].op.type != "Const"]
            # a tensor's death is its own: a control edge waits for the whole node, which is dead only if it did not run
            controls = [c for c in controls if c[0].op.type != "TestSwitch"]
            alive = all(a for _, a in picked + controls)
            with af.control_dependencies([t for t, _ in controls]), on(rng.randrange(3)):
                kind = rng.random()
                if kind < 0.2:
                    chosen, is_true = rng.choice(((p, True), (not_p, False)))
                    no, yes = switch(picked[0][0], chosen)
                    alive = picked[0][1] and all(a for _, a in controls)
                    values += [(no, alive and not is_true), (yes, alive and is_true)]
                elif kind < 0.35:
                    # a merge fires whatever is dead, its control edges too
                    values.append((merge([t for t, _ in picked]), any(a for _, a in picked)))
                elif kind < 0.42:
                    values.append((later(picked[0][0], turns=rng.randrange(3)), picked[0][1] and _all(controls)))
                else:
                    values.append((probes.log(af.add_n([t for t, _ in picked]), tag=f"n{i}"), alive))
                    tags |= {f"n{i}"} if alive else set()
    return graph, p, values, tags


def _all(values: Sequence[tuple[af.Tensor, bool]]) -> bool:
    return all(alive for _, alive in values)


@pytest.mark.parametrize("number", range(60))
async def test_f77_deadness_of_random_graphs(number: int, probe: Probe) -> None:
    """Exactly the live nodes run, in regions and outside, on one device and on three."""
    graph, p, values, tags = deadness(number)
    with graph.as_default():
        default = af.constant(-1e6)
        lives = [merge([t, default]) for t, _ in values]
    loop = asyncio.get_running_loop()
    for coalesce in (True, False):
        Dispatcher.of(loop).queue = Shuffled(number)
        probe.ran.clear()
        async with af.Session(
            graph=graph, devices={"CPU": 3}, options=af.PlanOptions(coalesce=coalesce, optimize=False)
        ) as session:
            found = await session.run(lives, {p: True}, timeout=PATIENCE)
        for (tensor, alive), value in zip(values, found, strict=True):
            assert (value != -1e6) == alive, f"seed {number}, coalesce {coalesce}: {tensor}\n{graph}"
        assert set(probe.ran) == tags and set(probe.ran.values()) <= {1}, f"seed {number}"


# ---- kernels that break their promise


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("count", [0, 1, 3])
async def test_a_wrong_number_of_outputs_names_its_node(graph: af.Graph, coalesce: bool, count: int) -> None:
    x = af.placeholder(af.float32, [])
    made = outputs(x, count=count)[0] + 1.0
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        with pytest.raises(errors.OpError) as caught:
            await session.run(made, {x: 1.0})
        assert caught.value.node == "TestOutputs" and "made at" in str(caught.value)
        if not coalesce:
            returned = {0: "a float32", 1: "1 values", 3: "3 values"}[count]
            assert f"The kernel of TestOutputs returned {returned}, but the op has 2 outputs." in str(caught.value)
        assert await session.run(x + 1.0, {x: 1.0}) == 2.0


async def test_a_tuple_for_one_output_is_an_error(graph: af.Graph) -> None:
    made = af.negative(a_tuple(af.constant(1.0)))
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=False)) as session:
        with pytest.raises(errors.InternalError, match="returned 2 values, but the op has 1 output"):
            await session.run(made)


async def test_a_kernel_that_was_cancelled_inside_does_not_cancel_its_caller(graph: af.Graph) -> None:
    made = cancels(af.constant(1.0))
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.CancelledError, match="The kernel of TestCancels failed") as caught:
            await session.run(made)
        assert caught.value.node == made.op.name
    task = asyncio.current_task()
    assert task is not None and not task.cancelling()


@pytest.mark.parametrize("coalesce", [True, False])
async def test_the_first_error_stops_the_step(graph: af.Graph, probe: Probe, coalesce: bool) -> None:
    x = af.placeholder(af.float32, [])
    bad = probes.log(x, tag="bad")
    waits = probes.wait(x, tag="gate")
    after = [probes.log(bad + 1.0, tag="after"), probes.log(waits + 1.0, tag="after")]

    def fail(value: Any) -> Any:
        raise ValueError("on purpose")

    probe.does["bad"] = fail
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        with pytest.raises(errors.InvalidArgumentError, match="on purpose") as caught:
            await session.run(after, {x: 1.0}, timeout=PATIENCE)
        assert caught.value.node == bad.op.name
        assert isinstance(caught.value.__cause__, ValueError)
        assert probe.ran["after"] == 0 and session.statistics().inflight == 0
        probe.gate("gate").set()
        del probe.does["bad"]
        assert await session.run(after, {x: 1.0}) == [2.0, 2.0]


# ---- starvation


async def test_a_step_that_can_not_go_on_says_so_at_once(graph: af.Graph) -> None:
    """A plan with one edge that no one fills, as a wrong pass would leave it."""
    a = af.constant(1.0, name="a")
    b = af.negative(a, name="b")
    c = af.square(b, name="c")
    alone = Alone(graph, [c])
    alone.plan.pending[alone.index("b")] += 1
    step = await alone.run()
    assert isinstance(step.error, errors.StarvationError)
    report = str(step.error)
    assert "2 nodes still wait" in report
    assert f"b (Neg, {b.where}) waits for a token that nobody sends" in report
    assert f"c (Square, {c.where}) waits for input b:0" in report
    assert report.index("b (Neg") < report.index("c (Square"), "the cause comes first"


async def test_the_report_names_the_empty_channels(graph: af.Graph) -> None:
    """A feed that never comes, a control input, and a constant that no one waits for."""
    x = af.placeholder(af.float32, [], name="x")
    a = af.constant(1.0, name="a")
    b = af.add(x, a, name="b")
    with af.control_dependencies([b, a]):
        c = af.constant(2.0, name="c")
    alone = Alone(graph, [c], [x], fill_constants=True)
    step = await alone.run()
    report = str(step.error)
    assert f"b (Add, {b.where}) waits for a feed of x:0" in report
    assert f"c (Const, {c.where}) waits for control input ^b" in report
    assert step.finished and alone.plan.pending[SINK] == 1


async def test_a_report_stays_short(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    many = [af.add(x, float(i)) for i in range(200)]
    alone = Alone(graph, many, [x], fill_constants=True)
    step = await alone.run()
    assert "200 nodes still wait" in str(step.error) and len(str(step.error).splitlines()) <= 25
    assert len(step.pending().splitlines()) <= 25


async def test_a_deadline_says_what_had_not_finished(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    blocked = probes.wait(x, tag="gate", name="blocked")
    with af.control_dependencies([af.constant(1.0)]):
        after = af.negative(blocked, name="after")
    async with af.Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        await session.warmup(after, [x])
        running = asyncio.create_task(session.run(after, {x: 1.0}, timeout=1.0))
        await asyncio.wait_for(probe.arrived("gate").wait(), PATIENCE)
        lines = session.pending().splitlines()
        assert lines[0] == "step 1:"
        assert lines[1] == f"blocked (TestWait, {blocked.where}) waits in its asynchronous kernel"
        assert lines[2] == f"after (Neg, {after.where}) waits for input blocked:0"
        with pytest.raises(errors.DeadlineExceededError, match=r"was not done after 1\.0 s") as caught:
            await running
        assert all(line in str(caught.value) for line in lines[1:])
        assert session.pending() == "no step is in flight"


async def test_a_deadline_names_the_kernel_on_the_thread(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [2])
    held = probes.hold(x, name="held")
    async with af.Session(graph=graph) as session:
        await session.warmup(held, [x])
        running = asyncio.create_task(session.run(held, {x: [1.0, 2.0]}, timeout=1.0))
        await until(probe.held.is_set)
        assert f"held (TestHold, {held.where}) runs on the thread of {CPU}" in session.pending()
        asyncio.get_running_loop().call_later(1.1, probe.release.set)
        with pytest.raises(errors.DeadlineExceededError, match=r"held .* runs on the thread"):
            await running


# ---- asynchronous kernels


async def test_f88_ten_thousand_blocked_kernels_hold_no_thread(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    blocked = [probes.wait(x, tag="gate") for _ in range(10_000)]
    total = af.add_n(blocked)
    async with af.Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        await session.warmup(total, [x])
        threads = threading.active_count()
        running = asyncio.create_task(session.run(total, {x: 1.0}, timeout=PATIENCE))
        await until(lambda: probe.ran["gate"] == 10_000)
        assert threading.active_count() <= threads
        assert session.statistics().inflight == 0, "a step that only waits gives its place up"
        assert len(session.pending().splitlines()) <= 25
        probe.gate("gate").set()
        assert await running == 10_000.0
        assert session.statistics().inflight == 0


async def test_f88_blocked_steps_take_no_place(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    blocked, quick = probes.wait(x, tag="gate") + 1.0, x * 2.0
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=2, max_queued_steps=100)) as session:
        running = [asyncio.create_task(session.run(blocked, {x: float(i)}, timeout=PATIENCE)) for i in range(80)]
        await until(lambda: probe.ran["gate"] == 80)
        assert session.statistics().inflight == 0 and session.statistics().queued == 0
        assert await session.run(quick, {x: 4.0}, timeout=PATIENCE) == 8.0
        probe.gate("gate").set()
        assert await asyncio.gather(*running) == [i + 1.0 for i in range(80)]
        assert session.statistics().inflight == 0


async def test_f88_a_stopped_step_wakes_its_kernels(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    blocked = af.add_n([probes.wait(x, tag="gate") for _ in range(1000)])
    async with af.Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        mine = asyncio.all_tasks()
        running = asyncio.create_task(session.run(blocked, {x: 1.0}))
        await until(lambda: probe.ran["gate"] == 1000)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, PATIENCE)
        assert asyncio.all_tasks() == mine and session.statistics().inflight == 0


async def test_f88_an_asynchronous_kernel_that_will_not_end_is_left_behind(
    graph: af.Graph, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps no place, neither while it waits nor when it ends, and its output is dropped."""
    monkeypatch.setattr(steps_module, "GRACE", 0.02)
    x = af.placeholder(af.float32, [])
    after = probes.log(stubborn(x), tag="after")
    async with af.Session(graph=graph) as session:
        mine = asyncio.all_tasks()
        for number in (1, 2):
            running = asyncio.create_task(session.run(after, {x: 1.0}))
            await until(lambda number=number: probe.ran["stubborn"] == number)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert session.statistics().abandoned == number
            assert session.statistics().inflight == 0 and session.pending().count("goes on") == number
        probe.gate("stubborn").set()
        await until(lambda: asyncio.all_tasks() == mine and session.pending() == "no step is in flight")
        assert session.statistics().inflight == 0 and probe.ran["after"] == 0
        assert await session.run(after, {x: 3.0}) == 3.0


async def test_an_asynchronous_kernel_sees_the_context_of_its_run(graph: af.Graph, probe: Probe) -> None:
    """numpy's error handling, say, which a run turns off for its kernels alone."""
    x = af.placeholder(af.float32, [])
    seen: list[Any] = []
    probe.does["look"] = lambda value: seen.append(np.geterr()["divide"]) or value  # type: ignore[func-returns-value]
    y = probes.log(later(probes.log(x, tag="look"), turns=1), tag="look")
    async with af.Session(graph=graph) as session:
        with np.errstate(divide="raise"):
            await session.run(y, {x: 1.0})
            assert np.geterr()["divide"] == "raise"
    assert seen == ["ignore", "ignore"]


# ---- devices


@pytest.mark.parametrize("queue_seed", range(5))
async def test_f48_devices_hand_values_over(graph: af.Graph, queue_seed: int) -> None:
    """Three devices, a value back and forth, arrays handed over as they are."""
    Dispatcher.of(asyncio.get_running_loop()).queue = Shuffled(queue_seed)
    x = af.placeholder(af.float32, [100])
    y = x
    for i in range(30):
        with on(i % 3):
            y = y + float(i)
    async with af.Session(graph=graph, devices={"CPU": 3}) as session:
        for _ in range(5):
            found = await session.run(y, {x: np.zeros(100, np.float32)})
            np.testing.assert_array_equal(found, np.full(100, sum(range(30)), np.float32))
        launches = {d.name[-1]: d.statistics().launches for d in session.list_devices()}
    assert all(count >= 50 for count in launches.values()), launches


async def test_f65_an_error_on_one_device_stops_all(graph: af.Graph, probe: Probe) -> None:
    def fail(value: Any) -> Any:
        raise ValueError("on purpose")

    probe.does["bad"] = fail
    x = af.placeholder(af.float32, [])
    with on(1):
        bad = probes.log(x, tag="bad")
    with on(0):
        after = probes.log(bad, tag="after")
    with on(2):
        also = probes.log(probes.wait(x, tag="gate"), tag="after")
    async with af.Session(graph=graph, devices={"CPU": 3}) as session:
        for _ in range(3):
            with pytest.raises(errors.InvalidArgumentError, match="on purpose") as caught:
                await session.run([after, also], {x: 1.0}, timeout=PATIENCE)
            assert caught.value.device == CPU.replace("CPU:0", "CPU:1")
        assert probe.ran["after"] == 0 and session.statistics().inflight == 0


def test_f49_a_tensor_is_sent_once_to_each_device(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [4])
    with on(0):
        a = af.square(x)
    with on(1):
        uses = [probes.log(a + float(i), tag="use") for i in range(10)]
    trace = af.Trace()
    with af.blocking.Session(graph=graph, devices={"CPU": 2}) as session:
        session.run(uses, {x: [1.0, 2.0, 3.0, 4.0]}, trace=trace)
    assert [event.op for event in trace.events].count("_Send") == 1


def test_a_step_needs_no_particular_queue() -> None:
    """The methods that the queues of these tests share with a deque."""
    queue = Shuffled(3)
    items: list[Callable[[], int]] = [lambda i=i: i for i in range(5)]  # type: ignore[misc]
    for item in items:
        queue.append((copy_context(), item))
    assert sorted(queue.popleft()[1]() for _ in range(len(queue))) == [0, 1, 2, 3, 4]
