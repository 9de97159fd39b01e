"""State and memory: what a run leaves behind is its variables; updates lose nothing, and what was read stays as it was."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import probes
import pytest
from patience import PATIENCE
from probes import Probe, probe

import actorflow as af
from actorflow import errors
from actorflow.devices.cpu import CpuDevice
from actorflow.engine.device.base import AllocatorStatistics
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.graph.graph import Graph
from actorflow.graph.ops.declare import RefLike
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.ops.state import variable as state

__all__ = ["probe"]

LARGE = 1 << 18  # elements of float32: a mebibyte
MIB = 1 << 20
ALL_ON_THREAD = -1.0
LANES = ("coalesced", "inline", "thread")


@af.op("TestHeldAdd", shape=unchanged, gradient=None, stateful=True, writes=True, work=probes.HEAVY)
def held_add(ref: RefLike, *, by: float, name: str | None = None) -> af.Tensor:
    """Adds `by` to a variable on the device's thread, and takes its time between the read and the write."""


@af.kernel("TestHeldAdd")
def _held_add(xp: Any, ref: VariableState, *, by: float) -> Any:
    buffer = ref.writable()
    before = buffer.copy()
    probes.current.held.set()
    probes.current.release.wait(PATIENCE)
    buffer[...] = before + by
    return ref.read()


class Shuffled(list[Any]):
    """A ready queue whose order a seed picks."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def popleft(self) -> Any:
        return self.pop(self._random.randrange(len(self)))


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


@pytest.fixture(params=LANES)
def lane(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The place where kernels run: in generated code, node by node on the loop, or each on the device's thread."""
    if request.param == "thread":
        monkeypatch.setattr("actorflow.engine.runtime.actors.INLINE_LIMIT_NS", ALL_ON_THREAD)
    return str(request.param)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Objects that have to be freed at once must not wait for the garbage collector."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def containers() -> Iterator[Callable[[str], str]]:
    """Names of containers that are empty, and are emptied at the end."""
    used: list[str] = []

    def name(given: str) -> str:
        used.append(f"test_state/{given}")
        return used[-1]

    yield name
    if used:
        af.Session.reset(containers=used)


def memory(session: af.Session) -> AllocatorStatistics:
    (device,) = session.list_devices()
    found = device.allocator.statistics()
    assert isinstance(found, AllocatorStatistics)
    return found


async def peak_of(session: af.Session, fetch: Any, feeds: Any) -> tuple[Any, int]:
    """A run's result, and the most bytes that it had live beyond those that were before."""
    (device,) = session.list_devices()
    device.allocator.reset_peak()  # type: ignore[attr-defined]
    before = memory(session).live_bytes
    value = await session.run(fetch, feeds)
    return value, memory(session).peak_bytes - before


def state_of(session: af.Session, v: af.Variable) -> VariableState:
    """The variable's state in the session's own container."""
    (resources,) = session._engine.resources.values()
    return resources.lookup("", v.op.name, VariableState)


# ---- memory


@pytest.mark.usefixtures("no_collector")
async def test_f07_memory_returns_to_what_it_was(graph: Graph, lane: str) -> None:
    x = af.placeholder(af.float32, [None])
    v = af.Variable(np.ones(LARGE, np.float32))
    y = x
    for _ in range(10):
        y = af.tanh(y * v) + x
    total = af.reduce_sum(y)
    big = np.linspace(0.0, 1.0, LARGE, dtype=np.float32)
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        await session.run(v.initializer)
        await session.run(total, {x: big})
        baseline = memory(session).live_bytes
        assert MIB <= baseline < 2 * MIB, "the variable, and nothing else that is large"
        for _ in range(20):
            held, _ = await session.run([y, total], {x: big})
            assert memory(session).live_bytes == baseline + held.nbytes
            del held
            assert memory(session).live_bytes == baseline
    assert memory(session).live_bytes < MIB, "a closed session keeps no variables"


@pytest.mark.usefixtures("no_collector")
async def test_f07_an_intermediate_dies_at_its_last_use(graph: Graph, probe: Probe, lane: str) -> None:
    x = af.placeholder(af.float32, [LARGE])
    seen: list[weakref.ref[Any]] = []
    alive_at_the_end: list[int] = []

    def watch(value: Any) -> Any:
        seen.append(weakref.ref(value))
        return value

    def look(value: Any) -> Any:
        alive_at_the_end.append(sum(ref() is not None for ref in seen))
        return value

    y = x
    for i in range(20):
        y = probes.log(y + 1.0, tag=f"big{i}")
        probe.does[f"big{i}"] = watch
    end = probes.log(af.reduce_sum(y), tag="end")
    probe.does["end"] = look
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        _, peak = await peak_of(session, end, {x: np.zeros(LARGE, np.float32)})
        assert len(seen) == 20 and alive_at_the_end == [0]
        assert peak <= 2 * MIB, f"a chain of 20 tensors of 1 MiB had {peak:,} bytes live"


@pytest.mark.usefixtures("no_collector")
async def test_f07_a_slow_thread_keeps_no_results(graph: Graph, probe: Probe) -> None:
    """The thread may get to run again long after the loop has gone on with what it computed."""
    x = af.placeholder(af.float32, [LARGE])
    y = probes.hold(x + 1.0)
    probe.release.set()
    lingers, goes_on = threading.Event(), threading.Event()

    class Lingering(CpuDevice):
        def submit(self, work: Callable[[], None], done: Callable[[], None]) -> None:
            def done_and_linger() -> None:
                done()
                lingers.set()
                goes_on.wait(PATIENCE)

            super().submit(work, done_and_linger)

    async with af.Session(graph=graph, devices=[Lingering("/job:localhost/replica:0/task:0/device:CPU:0")]) as session:
        value = await session.run(y, {x: np.zeros(LARGE, np.float32)})
        assert await asyncio.to_thread(lingers.wait, 10)
        assert memory(session).live_bytes == value.nbytes
        del value
        assert memory(session).live_bytes == 0
        goes_on.set()


@pytest.mark.usefixtures("no_collector")
async def test_f07_failed_cancelled_and_late_steps_free_their_tensors(graph: Graph, probe: Probe, lane: str) -> None:
    x = af.placeholder(af.float32, [LARGE])
    y = x + 1.0
    failing = af.reduce_sum(probes.log(y * 2.0, tag="fails") + y)
    waiting = af.reduce_sum(probes.wait(y * 2.0, tag="gate") + y)
    feeds = {x: np.zeros(LARGE, np.float32)}

    def fail(value: Any) -> Any:
        raise ValueError("on purpose")

    probe.does["fails"] = fail
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        baseline = memory(session).live_bytes
        with contextlib.suppress(errors.InvalidArgumentError):
            await session.run(failing, feeds)
        assert probe.ran["fails"] == 1
        assert memory(session).live_bytes == baseline
        with contextlib.suppress(errors.DeadlineExceededError):
            await session.run(waiting, feeds, timeout=0.05)
        assert memory(session).live_bytes == baseline
        probe.arrived("gate").clear()
        task = asyncio.create_task(session.run(waiting, feeds))
        await asyncio.wait_for(probe.arrived("gate").wait(), PATIENCE)
        assert memory(session).live_bytes > baseline
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert memory(session).live_bytes == baseline


async def test_f07_buffers_are_reused(graph: Graph) -> None:
    x = af.placeholder(af.float32, [LARGE])
    total = af.reduce_sum(af.sqrt(x + 1.0) * (x + 2.0))
    feeds = {x: np.zeros(LARGE, np.float32)}
    async with af.Session(graph=graph) as session:
        await session.run(total, feeds)
        first = memory(session)
        for _ in range(10):
            await session.run(total, feeds)
        last = memory(session)
    made = last.allocations - first.allocations
    assert made >= 30 and last.reuses - first.reuses == made, "after the first run no block is fresh"
    assert last.pooled_bytes == first.pooled_bytes and last.live_bytes == first.live_bytes


@af.op("TestTwoOutputs", shape=lambda c: [c.shapes[0], ()], result=(lambda c: c.dtypes[0],) * 2, gradient=None)
def two_outputs(x: af.Tensor, *, name: str | None = None) -> tuple[af.Tensor, af.Tensor]:
    """One more than each element, and the first element."""


@af.kernel("TestTwoOutputs")
def _(xp: Any, x: Any, *, out: Any = None) -> Any:
    return np.add(x, 1, out=out), x[0]


@pytest.mark.parametrize("coalesce", [True, False])
async def test_the_first_of_several_outputs_is_in_a_buffer_that_is_reused(graph: Graph, coalesce: bool) -> None:
    x = af.placeholder(af.float32, [LARGE])
    total = af.reduce_sum(two_outputs(two_outputs(x)[0])[0])
    feeds = {x: np.ones(LARGE, np.float32)}
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        assert await session.run(total, feeds) == 3 * LARGE
        first = memory(session)
        for _ in range(10):
            await session.run(total, feeds)
        last = memory(session)
    made = last.allocations - first.allocations
    assert made >= 20 and last.reuses - first.reuses == made, "after the first run no block is fresh"


async def test_a_budget_counts_the_first_of_several_outputs(graph: Graph) -> None:
    x = af.placeholder(af.float32, [LARGE])
    both = two_outputs(x)
    for budget, fits in ((4 * LARGE + 4096, True), (4 * LARGE - 4096, False)):
        async with af.Session(graph=graph, limits=af.SessionLimits(memory_budget=budget)) as session:
            if fits:
                assert (await session.run(both[1], {x: np.ones(LARGE, np.float32)})) == 1
            else:
                with pytest.raises(errors.ResourceExhaustedError, match="budget"):
                    await session.run(both[1], {x: np.ones(LARGE, np.float32)})


async def test_f15_control_edges_that_serialise_a_wide_graph_lower_its_peak(graph: Graph) -> None:
    x = af.placeholder(af.float32, [LARGE])
    width = 16
    wide = [af.reduce_sum(af.reverse(x * float(i), [0])) for i in range(width)]
    narrow: list[af.Tensor] = []
    for i in range(width):
        with graph.control_dependencies(narrow[-1:]):
            narrow.append(af.reduce_sum(af.reverse(x * float(i), [0])))
    feeds = {x: np.linspace(0.0, 1.0, LARGE, dtype=np.float32)}
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=False, optimize=False)) as session:
        values, peak = await peak_of(session, wide, feeds)
        paced, paced_peak = await peak_of(session, narrow, feeds)
    assert [v.tobytes() for v in values] == [v.tobytes() for v in paced]
    assert peak >= width * MIB
    assert paced_peak <= 2 * MIB


async def test_an_op_over_the_budget_is_refused_before_its_kernel_runs(graph: Graph, probe: Probe, lane: str) -> None:
    x = af.placeholder(af.float32, [None])
    logged = af.reduce_sum(probes.log(x, tag="kernel"))
    computed = af.reduce_sum(af.sqrt(x + 1.0))
    small, large = np.ones(1000, np.float32), np.ones(LARGE, np.float32)
    async with af.Session(
        graph=graph,
        limits=af.SessionLimits(memory_budget=MIB // 2),
        options=af.PlanOptions(coalesce=lane == "coalesced"),
    ) as session:
        assert await session.run(logged, {x: small}) == 1000.0
        assert probe.ran["kernel"] == 1
        for fetch in (logged, computed, [logged, computed]):
            baseline = memory(session).live_bytes
            with pytest.raises(errors.ResourceExhaustedError, match="memory budget of 524,288 bytes") as caught:
                await session.run(fetch, {x: large})
            assert caught.value.node and caught.value.where
            assert probe.ran["kernel"] == 1
            assert memory(session).live_bytes == baseline and memory(session).peak_bytes <= MIB // 2
            assert session.statistics().inflight == 0
            assert abs(await session.run(computed, {x: small}) - 2.0**0.5 * 1000) < 0.01
        assert await session.run(logged, {x: small}) == 1000.0


# ---- atomic updates


async def test_f27_sixteen_loops_of_a_thousand_additions_make_sixteen_thousand(graph: Graph) -> None:
    v = af.Variable(0, name="v")
    add = v.assign_add(1, read_value=False)
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)

        async def count() -> None:
            for _ in range(1000):
                await session.run(add)

        await asyncio.gather(*[count() for _ in range(16)])
        assert await session.run(v) == 16_000
        assert session.statistics().inflight == 0


async def test_f27_each_addition_gives_the_sum_after_itself(graph: Graph, lane: str) -> None:
    v = af.Variable(np.zeros(100, np.int64))
    add = v.assign_add(np.ones(100, np.int64))
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        await session.run(v.initializer)
        sums = await asyncio.gather(*[session.run(add) for _ in range(300)])
    assert all((s == s[0]).all() for s in sums)
    assert sorted(int(s[0]) for s in sums) == list(range(1, 301))


async def test_f31_two_additions_that_race_lose_nothing(graph: Graph, lane: str, seed: int) -> None:
    rng = random.Random(seed)
    size = 4 if lane != "thread" else 1 << 14
    start, a, b = (af.placeholder(af.float32, []) for _ in range(3))
    v = af.Variable(np.zeros(size, np.float32))
    with graph.control_dependencies([v.assign(af.fill([size], start), read_value=False)]):
        adds = [v.assign_add(af.fill([size], by), read_value=False) for by in (a, b)]
    with graph.control_dependencies(adds):
        after = v.read_value()
    Dispatcher.of(asyncio.get_running_loop()).queue = Shuffled(seed)
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        await session.run(v.initializer)
        for trial in range(1000):
            x, p, q = (float(rng.randrange(1000)) for _ in range(3))
            value = await session.run(after, {start: x, a: p, b: q})
            assert (value == x + p + q).all(), f"trial {trial}: {x} + {p} + {q} gave {value}"


async def test_f31_additions_of_concurrent_runs_lose_nothing(graph: Graph, lane: str, seed: int) -> None:
    rng = random.Random(seed)
    size = 4 if lane != "thread" else 1 << 14
    v = af.Variable(np.zeros(size, np.float32))
    adds = [v.assign_add(np.full(size, by, np.float32), read_value=False) for by in (1.0, 100.0)]
    Dispatcher.of(asyncio.get_running_loop()).queue = Shuffled(seed)
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        await session.run(v.initializer)
        for batch in range(1, 11):
            both = adds * 50
            rng.shuffle(both)
            await asyncio.gather(*[session.run(add) for add in both])
            value = await session.run(v)
            assert (value == 50.0 * 101.0 * batch).all()


@pytest.mark.parametrize("coalesce", [True, False])
async def test_f31_an_update_on_the_thread_is_atomic_to_those_on_the_loop(
    graph: Graph, probe: Probe, coalesce: bool
) -> None:
    """While the kernel on the thread is between its read and its write, all others wait for it."""
    v, w = af.Variable(np.zeros(100, np.float32)), af.Variable(np.zeros(100, np.float32))
    slow = held_add(v, by=1000.0)
    add, other = v.assign_add(np.ones(100, np.float32), read_value=False), w.assign_add(np.ones(100, np.float32))
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        await session.run([v.initializer, w.initializer])
        held = await session.run(v)
        slowly = asyncio.create_task(session.run(slow))
        assert await asyncio.to_thread(probe.held.wait, 10)
        adds = [asyncio.create_task(session.run(add)) for _ in range(10)]
        read = asyncio.create_task(session.run(v))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not any(task.done() for task in (*adds, read, slowly))
        assert (await session.run(other) == 1.0).all(), "another variable is free"
        probe.release.set()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(slowly, *adds)
            assert (await read)[0] >= 1000.0
        assert (await session.run(v) == 1010.0).all()
        assert (held == 0.0).all()


async def test_f31_read_then_write_is_not_atomic(graph: Graph, probe: Probe) -> None:
    """The reason for assign_add: two runs that read, add and assign lose an update when both read first."""
    v = af.Variable(10.0)
    split = []
    for tag, by in (("a", 1.0), ("b", 2.0)):
        split.append(v.assign(probes.wait(v.read_value() + by, tag=tag)))
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        runs = [asyncio.create_task(session.run(one)) for one in split]
        for tag in "ab":
            await asyncio.wait_for(probe.arrived(tag).wait(), PATIENCE)
        for tag, run, value in zip("ab", runs, (11.0, 12.0)):
            probe.gate(tag).set()
            assert await asyncio.wait_for(run, PATIENCE) == value
        assert await session.run(v) == 12.0, "10 + 1 + 2 is 13"


async def test_f32_the_order_of_additions_is_of_no_matter(graph: Graph) -> None:
    steps = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    v = af.Variable(0.5)
    adds = [v.assign_add(by, read_value=False) for by in steps]
    assert graph.lint() == []
    async with af.Session(graph=graph) as session:
        for order in itertools.permutations(adds):
            await session.run(v.initializer)
            for add in order:
                await session.run(add)
            assert await session.run(v) == 63.5


async def test_f32_the_order_of_a_product_and_a_sum_matters_and_is_flagged(graph: Graph) -> None:
    x = af.placeholder(af.float32, [])
    v = af.Variable(0.0, name="v")
    ends = []
    for multiply_first in (True, False):
        with graph.control_dependencies([v.assign(x, read_value=False)]):
            first = state.assign_mul_target(v, 3.0) if multiply_first else v.assign_add(4.0, read_value=False)
        with graph.control_dependencies([first]):
            second = v.assign_add(4.0, read_value=False) if multiply_first else state.assign_mul_target(v, 3.0)
        with graph.control_dependencies([second]):
            ends.append(v.read_value())
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        assert [await session.run(end, {x: 1.0}) for end in ends] == [7.0, 15.0]

    for ordered in (False, True):
        with Graph().as_default() as other:
            w = af.Variable(0.0, name="w")
            add = w.assign_add(4.0, read_value=False)
            with other.control_dependencies([add] if ordered else []):
                multiply = state.assign_mul_target(w, 3.0)
        found = other.lint()
        if ordered:
            assert found == []
        else:
            (race,) = found
            assert race.kind == "write/write" and race.variable == "w"
            assert {race.first.name, race.second.name} == {add.name, multiply.name}


# ---- reads


async def test_f33_a_read_after_a_write_sees_it_ten_thousand_times(graph: Graph, lane: str, seed: int) -> None:
    a, b = af.placeholder(af.float32, []), af.placeholder(af.float32, [])
    v = af.Variable(0.0)
    with graph.control_dependencies([v.assign(a, read_value=False)]):
        write = v.assign(b, read_value=False)
    with graph.control_dependencies([write]):
        read = v.read_value()
    Dispatcher.of(asyncio.get_running_loop()).queue = Shuffled(seed)
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        call = await session.make_callable(read, [a, b])
        for i in range(10_000 if lane != "thread" else 500):
            assert await call(-1.0, float(i)) == float(i)


async def test_f33_a_read_before_a_write_keeps_what_it_saw(graph: Graph, lane: str) -> None:
    fed = af.placeholder(af.float32, [100])
    v = af.Variable(np.zeros(100, np.float32))
    before = v.read_value()
    with graph.control_dependencies([before]):
        write = v.assign(fed, read_value=False)
    with graph.control_dependencies([write]):
        late, after = before + 0.0, v.read_value()
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        await session.run(v.initializer)
        for i in range(200):
            values = await session.run([before, late, after], {fed: np.full(100, i + 1.0, np.float32)})
            assert [set(value.tolist()) for value in values] == [{float(i)}, {float(i)}, {i + 1.0}]


async def test_f30_snapshots_never_change_while_they_are_held(graph: Graph, lane: str, seed: int) -> None:
    """Views of them and views of these views are held too, after the snapshot itself is gone."""
    rng = random.Random(seed)
    v = af.Variable(np.arange(600, dtype=np.float32).reshape(20, 30))
    ones = np.ones((20, 30), np.float32)
    writes = [
        v.assign_add(ones, read_value=False),
        v.assign_add(ones),
        v.assign(ones * 7.0),
        v.assign_sub(ones * 2.0, read_value=False),
        state.assign_mul_value(v, ones * -1.0),
    ]
    reads = [v.read_value(), af.transpose(v.read_value()), v.read_value()[3], af.reshape(v.read_value(), [-1])]
    held: list[tuple[Any, bytes]] = []
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        await session.run(v.initializer)
        for _ in range(200):
            asked = rng.choice(reads)
            one, two = await asyncio.gather(session.run(asked), session.run([rng.choice(writes), rng.choice(reads)]))
            for value in (one, two[1], *([] if two[0] is None else [two[0]])):
                assert not value.flags.writeable
                view = value[1:][::2] if rng.random() < 0.5 else value
                held.append((view, view.tobytes()))
            if len(held) > 30:
                del held[rng.randrange(len(held))]
            for view, was in held:
                assert view.tobytes() == was
    for view, was in held:
        assert view.tobytes() == was, "it outlives the session"


async def test_f30_a_training_step_copies_no_weights(graph: Graph, lane: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, labels = af.placeholder(af.float32, [None, 20]), af.placeholder(af.float32, [None, 5])
    layer: Any = x
    weights = []
    for inputs, outputs in ((20, 64), (64, 64), (64, 5)):
        w = af.Variable(rng.normal(0.0, 0.1, (inputs, outputs)).astype(np.float32))
        b = af.Variable(np.zeros(outputs, np.float32))
        layer = af.tanh(layer @ w + b)
        weights += [w, b]
    loss = af.reduce_mean(af.square(layer - labels))
    train = af.train.GradientDescentOptimizer(0.1).minimize(loss)
    feeds = {x: rng.normal(size=(32, 20)), labels: rng.uniform(-0.5, 0.5, (32, 5))}
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        await session.run(af.global_variables_initializer())
        buffers = [state_of(session, w).read().ctypes.data for w in weights]
        losses = [(await session.run([loss, train], feeds))[0] for _ in range(30)]
        assert losses[-1] < losses[0]
        assert [state_of(session, w).copies for w in weights] == [0] * len(weights)
        assert [state_of(session, w).read().ctypes.data for w in weights] == buffers

        held = await session.run(weights)
        kept = [array.tobytes() for array in held]
        await session.run(train, feeds)
        assert [state_of(session, w).copies for w in weights] == [1] * len(weights), "the old ones are in use"
        assert [array.tobytes() for array in held] == kept


# ---- containers


def _program(container: str, value: float) -> tuple[Graph, af.Variable]:
    with Graph().as_default() as made, made.container(container):
        return made, af.Variable([value, value], name="v")


async def test_f35_unrelated_graphs_share_a_container(containers: Callable[[str], str]) -> None:
    name = containers("shared")
    (a, written), (b, read) = _program(name, 3.0), _program(name, -1.0)
    with b.as_default():
        add = read.assign_add([1.0, 2.0])
    async with af.Session(graph=a) as first, af.Session(graph=b) as second:
        with pytest.raises(errors.FailedPreconditionError):
            await second.run(read)
        await first.run(written.initializer)
        assert (await second.run(read)).tolist() == [3.0, 3.0]
        assert (await second.run(add)).tolist() == [4.0, 5.0]
        assert (await first.run(written)).tolist() == [4.0, 5.0]
    async with af.Session(graph=a) as third:
        assert (await third.run(written)).tolist() == [4.0, 5.0], "it outlives the sessions"


@pytest.mark.parametrize("coalesce", [True, False])
async def test_f35_a_reset_clears_the_containers_that_it_names(
    containers: Callable[[str], str], coalesce: bool
) -> None:
    names = [containers("cleared"), containers("kept"), ""]
    with Graph().as_default() as graph:
        made = []
        for name in names:
            with graph.container(name):
                v = af.Variable([1.0, 2.0], name="v")
                made.append((v, v.initializer, v + 1.0))
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        for _, initializer, used in made:
            await session.run(initializer)
            assert (await session.run(used)).tolist() == [2.0, 3.0]
        af.Session.reset(containers=names[:1])
        with pytest.raises(errors.FailedPreconditionError, match="has no value yet"):
            await session.run(made[0][2])
        for _, _, used in made[1:]:
            assert (await session.run(used)).tolist() == [2.0, 3.0]
        await session.run(made[0][1])
        assert (await session.run(made[0][2])).tolist() == [2.0, 3.0]


async def test_f35_the_default_container_is_private_to_its_session() -> None:
    graph, v = _program("", 5.0)
    with graph.as_default():
        add = v.assign_add([1.0, 1.0])
    async with af.Session(graph=graph) as first, af.Session(graph=graph) as second:
        await first.run(v.initializer)
        with pytest.raises(errors.FailedPreconditionError):
            await second.run(v)
        await second.run(v.initializer)
        assert (await first.run(add)).tolist() == [6.0, 6.0]
        assert (await second.run(v)).tolist() == [5.0, 5.0]
        af.Session.reset(containers=[""])
        assert (await first.run(v)).tolist() == [6.0, 6.0]


# ---- counters


async def test_f37_the_counters_of_devices_add_up(graph: Graph, lane: str) -> None:
    with graph.device("/device:CPU:0"):
        x = af.placeholder(af.float32, [10])
        y = x + 1.0
        for _ in range(4):
            y = af.sin(y)
    with graph.device("/device:CPU:1"):
        z = af.reduce_sum(y) * 2.0
    feeds = {x: np.zeros(10, np.float32)}
    async with af.Session(
        graph=graph, devices={"CPU": 2}, options=af.PlanOptions(coalesce=lane == "coalesced")
    ) as session:
        await session.run(z, feeds)
        before = session.statistics()
        for _ in range(10):
            await session.run(z, feeds)
        after = session.statistics()
    assert after.steps - before.steps == 10 and after.failed == after.cancelled == 0
    assert list(after.devices) == [device.name for device in session.list_devices()]
    launches = {name: after.devices[name].launches - before.devices[name].launches for name in after.devices}
    for counted in after.devices.values():
        assert counted.launches == counted.inline + counted.threaded
    cpu0, cpu1 = launches.values()
    if lane == "coalesced":
        assert 0 < cpu0 < 60 and 0 < cpu1 < 30
    else:
        assert (cpu0, cpu1) == (60, 30), "five and two nodes a run, a Send and a Recv"
    threaded, inline = (sum(getattr(c, kind) for c in after.devices.values()) for kind in ("threaded", "inline"))
    if lane == "thread":
        assert threaded > 0
    elif lane == "inline":  # a busy machine makes a node or a region look long, which then goes to a thread
        assert inline > threaded
    assert (after.nodes - before.nodes) % 10 == 0 and after.nodes - before.nodes >= 70
