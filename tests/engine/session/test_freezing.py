"""Freezing: variables that nothing writes become constants, and are variables again before the first write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest

import actorflow as af
from actorflow.engine.runtime.codegen.background import background
from actorflow.engine.session.planning import builder as builder_module
from actorflow.engine.session.planning import freezing as freezing_module

PATIENCE = 30.0
RUNS = 8
"""More than a plan has to run before its variables are frozen."""
ONES = np.ones((2, 3), np.float32)


async def frozen(session: af.Session, fetches: Any, feeds: dict[Any, Any], signatures: int = 1) -> Any:
    """Runs until the signature is frozen. Gives its values."""
    with anyio.fail_after(PATIENCE):
        while session.statistics().frozen < signatures:
            await session.run(fetches, feeds)
            await anyio.to_thread.run_sync(background.wait)
    return await session.run(fetches, feeds)


async def stays(session: af.Session, fetches: Any, feeds: dict[Any, Any]) -> bool:
    """Whether no number of runs freezes a signature."""
    for _ in range(3 * RUNS):
        await session.run(fetches, feeds)
        await anyio.to_thread.run_sync(background.wait)
    return session.statistics().frozen == 0


@pytest.fixture
def layer(graph: af.Graph) -> tuple[af.Tensor, af.Tensor, af.Variable]:
    """Rows of three, their product with a variable of ones, and the variable."""
    x = af.placeholder(af.float32, [None, 3], name="x")
    w = af.Variable(np.ones((3, 2), np.float32), name="w")
    return x, af.matmul(x, w, name="y"), w


Layer = tuple[af.Tensor, af.Tensor, af.Variable]


async def test_a_signature_that_runs_often_is_frozen(graph: af.Graph, layer: Layer) -> None:
    x, y, w = layer
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        np.testing.assert_array_equal(await frozen(session, y, {x: ONES}), np.full((2, 2), 3.0))
        assert session.statistics().plans == 2, "the plan of a frozen signature is counted once"
        before = session.statistics().nodes
        await session.run(y, {x: ONES})
        assert session.statistics().nodes == (before or 0) + 3, "all nodes of the program count"


def _by(amount: float) -> Callable[[af.Variable], Any]:
    return lambda w: w.assign_add(np.full((3, 2), amount, np.float32))


WRITES: dict[str, Callable[[af.Variable], Any]] = {
    "assign": lambda w: w.assign(np.full((3, 2), 2.0, np.float32)),
    "assign_add": _by(1.0),
    "assign_sub": lambda w: w.assign_sub(np.full((3, 2), -1.0, np.float32)),
    "scatter": lambda w: w.scatter_add(af.IndexedSlices(af.ones([3, 2]), af.constant([0, 1, 2]))),
    "descent": lambda w: af.train.GradientDescentOptimizer(1.0).minimize(-af.reduce_sum(w), var_list=[w]),
    "adam": lambda w: af.group(af.train.AdamOptimizer(0.5).minimize(-af.reduce_sum(w), var_list=[w]), _by(0.5)(w)),
}


@pytest.mark.parametrize("write", WRITES)
async def test_the_run_after_a_write_sees_it(graph: af.Graph, layer: Layer, write: str) -> None:
    x, y, w = layer
    change = WRITES[write](w)
    async with af.Session(graph=graph) as session:
        await session.run(af.global_variables_initializer())
        await frozen(session, y, {x: ONES})
        await session.run(change)
        assert session.statistics().frozen == 0
        np.testing.assert_allclose(await session.run(y, {x: ONES}), np.full((2, 2), 6.0), rtol=1e-5)
        np.testing.assert_allclose(await frozen(session, y, {x: ONES}), np.full((2, 2), 6.0), rtol=1e-5)


async def test_a_restored_checkpoint_is_seen(graph: af.Graph, layer: Layer, tmp_path: Path) -> None:
    x, y, w = layer
    saver, change = af.train.Saver([w]), _by(1.0)(w)
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        path = await saver.save(session, str(tmp_path / "model"))
        await session.run(change)
        np.testing.assert_array_equal(await frozen(session, y, {x: ONES}), np.full((2, 2), 6.0))
        await saver.restore(session, path)
        np.testing.assert_array_equal(await session.run(y, {x: ONES}), np.full((2, 2), 3.0))


@pytest.mark.parametrize("seed", range(10))
async def test_random_reads_and_writes_give_what_variables_give(graph: af.Graph, seed: int) -> None:
    """Sums and products of whole numbers, which are exact in whatever order they are computed."""
    rng = np.random.default_rng(seed)
    x = af.placeholder(af.float32, [1, 4])
    variables = [af.Variable(rng.integers(-3, 4, (4, 4)).astype(np.float32)) for _ in range(3)]
    first = af.matmul(x, variables[0])
    fetches = [first, af.nn.relu(af.matmul(first, variables[1])), af.matmul(x, variables[1] + variables[2])]
    given, froze = af.placeholder(af.float32, [4, 4]), False
    writes = [w.assign(given) for w in variables] + [w.assign_add(given) for w in variables]
    async with (
        af.Session(graph=graph) as session,
        af.Session(graph=graph, options=af.PlanOptions(freeze=False)) as plain,
    ):
        for each in (session, plain):
            await each.run(af.global_variables_initializer())
        for _ in range(30):
            if rng.random() < 0.3:
                write, value = writes[rng.integers(6)], rng.integers(-3, 4, (4, 4))
                for each in (session, plain):
                    await each.run(write, {given: value})
            some = [fetch for fetch in fetches if rng.random() < 0.7] or fetches
            for _ in range(rng.integers(1, 2 * RUNS)):
                feeds = {x: rng.integers(-3, 4, (1, 4))}
                for ours, theirs in zip(await session.run(some, feeds), await plain.run(some, feeds), strict=True):
                    np.testing.assert_array_equal(ours, theirs, err_msg=f"seed {seed}")
            if rng.random() < 0.5:
                await anyio.to_thread.run_sync(background.wait)
            froze = froze or session.statistics().frozen > 0
    assert froze, f"seed {seed}: nothing was frozen"


async def test_a_write_while_the_plan_is_made_is_seen(
    graph: af.Graph, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, w = layer
    change = _by(1.0)(w)
    begun, go_on = threading.Event(), threading.Event()
    freeze = freezing_module.Freezing._freeze

    def slow(self: Any, values: Any, number: int) -> None:
        make = self._make

        def made(values: Any) -> Any:
            plan = make(values)
            begun.set()
            assert go_on.wait(PATIENCE)
            return plan

        self._make = made
        freeze(self, values, number)

    monkeypatch.setattr(freezing_module.Freezing, "_freeze", slow)
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        with anyio.fail_after(PATIENCE):
            while not begun.is_set():
                await session.run(y, {x: ONES})
                await anyio.lowlevel.checkpoint()
        await session.run(change)
        go_on.set()
        await anyio.to_thread.run_sync(background.wait)
        np.testing.assert_array_equal(await session.run(y, {x: ONES}), np.full((2, 2), 6.0))
        assert session.statistics().frozen == 0


async def test_a_write_takes_no_copy_of_a_frozen_variable(graph: af.Graph, layer: Layer) -> None:
    """The constants go before the write, so it is done in place."""
    x, y, w = layer
    change = _by(1.0)(w)
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        await session.run(change.op)
        await frozen(session, y, {x: ONES})
        state = session._engine.builder._variable("w")  # type: ignore[attr-defined]
        before = state.copies
        await session.run(change.op)
        assert state.copies == before


async def test_signatures_that_share_a_variable_all_see_a_write(graph: af.Graph, layer: Layer) -> None:
    x, y, w = layer
    z, change = af.matmul(x, w * 2.0), _by(1.0)(w)
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        await frozen(session, y, {x: ONES})
        await frozen(session, z, {x: ONES}, 2)
        await session.run(change)
        assert session.statistics().frozen == 0
        np.testing.assert_array_equal(await session.run(z, {x: ONES}), np.full((2, 2), 12.0))
        np.testing.assert_array_equal(await session.run(y, {x: ONES}), np.full((2, 2), 6.0))


async def test_a_write_on_a_thread_is_seen(graph: af.Graph) -> None:
    """Large writes are done by the device's thread, of which the event loop learns later."""
    size = 1024
    x = af.placeholder(af.float32, [1, size])
    w, other = (af.Variable(np.ones((size, size), np.float32)) for _ in range(2))
    y, z = af.matmul(x, w), af.matmul(x, other)
    change = af.group(w.assign_add(af.tanh(w) * 0.0 + 1.0), other.assign_add(af.ones([size, size])))
    ones = np.ones((1, size), np.float32)
    async with af.Session(graph=graph) as session:
        await session.run(af.global_variables_initializer())
        for value in range(1, 6):
            for fetch in (y, z):
                for _ in range(RUNS):
                    assert (await session.run(fetch, {x: ones}))[0, 0] == value * size
                await anyio.to_thread.run_sync(background.wait)
            async with anyio.create_task_group() as group:
                group.start_soon(session.run, change)
                for _ in range(3):
                    await session.run(y, {x: ones})
            assert (await session.run(y, {x: ones}))[0, 0] == (value + 1) * size


async def test_a_branch_that_is_fed_is_frozen_too(graph: af.Graph, layer: Layer) -> None:
    x, _, w = layer
    p, change = af.placeholder(af.bool), _by(1.0)(w)
    y = af.cond(p, lambda: af.matmul(x, w), lambda: af.matmul(-x, w))
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        for factor in (3.0, 6.0):
            for sign in (1.0, -1.0):
                found = await frozen(session, y, {x: ONES, p: sign > 0}, 1 if sign > 0 else 2)
                np.testing.assert_array_equal(found, np.full((2, 2), factor * sign))
            await session.run(change)


async def test_a_new_placement_begins_with_variables(graph: af.Graph, layer: Layer) -> None:
    x, y, w = layer
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        await session.run(w.initializer)
        await frozen(session, y, {x: ONES})
        await session.replan()
        assert session.statistics().frozen == 0
        await frozen(session, y, {x: ONES})
        await session.run(_by(1.0)(w))
        np.testing.assert_array_equal(await session.run(y, {x: ONES}), np.full((2, 2), 6.0))


@pytest.mark.parametrize("lossy", [False, True])
async def test_parts_of_several_devices_are_frozen(graph: af.Graph, lossy: bool) -> None:
    x = af.placeholder(af.float32, [None, 3])
    with af.device("/device:CPU:0"):
        w = af.Variable(np.ones((3, 2), np.float32))
        y = af.matmul(x, w)
    with af.device("/device:CPU:1"):
        v = af.Variable(np.ones((2, 2), np.float32))
        z = af.matmul(y, v)
    async with af.Session(graph=graph, devices={"CPU": 2}, options=af.PlanOptions(lossy=lossy)) as session:
        await session.run(af.global_variables_initializer())
        np.testing.assert_array_equal(await frozen(session, z, {x: ONES}), np.full((2, 2), 6.0))
        await session.run(v.assign(np.full((2, 2), 2.0, np.float32)))
        np.testing.assert_array_equal(await session.run(z, {x: ONES}), np.full((2, 2), 12.0))


async def test_what_can_not_be_made_is_not_tried_again(
    graph: af.Graph, layer: Layer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    x, y, w = layer

    def fail(*_: Any) -> Any:
        raise ValueError("no such plan")

    monkeypatch.setattr(builder_module, "freeze", fail)
    async with af.Session(graph=graph) as session:
        for _ in range(3):
            await session.run(w.initializer)
            assert await stays(session, y, {x: ONES})
    assert caplog.text.count("no such plan") == 1


def _is_written(x: af.Tensor, w: af.Variable) -> Any:
    return [af.matmul(x, w), w.assign_add(np.ones((3, 2), np.float32))]


def _is_ordered(x: af.Tensor, w: af.Variable) -> Any:
    with af.control_dependencies([af.identity(x)]):
        return af.matmul(x, w.read_value())


def _is_trained_with(x: af.Tensor, w: af.Variable) -> Any:
    other = af.Variable(np.ones((3, 2), np.float32))
    return [af.matmul(x, w), other.assign(np.ones((3, 2), np.float32))]


NEVER: dict[str, Callable[[af.Tensor, af.Variable], Any]] = {
    "the step writes it": _is_written,
    "the step writes another one": _is_trained_with,
    "the read waits for something": _is_ordered,
    "no kernel gains": lambda x, w: af.reduce_sum(w * 2.0),
    "it is only read": lambda x, w: w,
}


@pytest.mark.parametrize("case", NEVER)
async def test_a_variable_stays_one_where(graph: af.Graph, layer: Layer, case: str) -> None:
    x, _, w = layer
    fetches = NEVER[case](x, w)
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        assert await stays(session, fetches, {x: ONES})


async def test_a_fed_read_stays_fed(graph: af.Graph, layer: Layer) -> None:
    x, y, w = layer
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        feeds = {x: ONES, w.value(): np.zeros((3, 2), np.float32)}
        assert await stays(session, y, feeds)
        np.testing.assert_array_equal(await session.run(y, feeds), np.zeros((2, 2)))


async def test_variables_of_a_named_container_stay(graph: af.Graph) -> None:
    """Sessions on other threads may write them."""
    with graph.container("shared"):
        w = af.Variable(np.ones((3, 2), np.float32))
    x = af.placeholder(af.float32, [None, 3])
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        assert await stays(session, af.matmul(x, w), {x: ONES})
    af.Session.reset(containers=["shared"])


@pytest.mark.parametrize(
    "options",
    [
        {"options": af.PlanOptions(freeze=False)},
        {"options": af.PlanOptions(optimize=False)},
        {"options": af.PlanOptions(fuse=False)},
        {"options": af.PlanOptions(coalesce=False)},
        {"options": af.PlanOptions(lower_peak=True)},
        {"limits": af.SessionLimits(memory_budget=128)},
    ],
    ids=str,
)
async def test_a_session_can_do_without(graph: af.Graph, layer: Layer, options: dict[str, Any]) -> None:
    x, y, w = layer
    async with af.Session(graph=graph, **options) as session:
        await session.run(w.initializer)
        assert await stays(session, y, {x: ONES})


async def test_after_a_write_the_next_time_is_later(
    graph: af.Graph, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables have to stay as they are for longer than the last plan took to make."""
    x, y, w = layer
    now = 1000.0
    monkeypatch.setattr(freezing_module.time, "monotonic", lambda: now)  # type: ignore[attr-defined]
    async with af.Session(graph=graph) as session:
        await session.run(w.initializer)
        await frozen(session, y, {x: ONES})
        found = next(p.freezing for p in session._engine.planner.plans() if p.freezing)  # type: ignore[attr-defined]
        found._took = 0.5
        await session.run(w.initializer)
        assert await stays(session, y, {x: ONES})
        now += 4 * 0.5
        await frozen(session, y, {x: ONES})


async def test_large_variables_stay_beside_frozen_ones(
    graph: af.Graph, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing_module, "_LARGEST", 64)
    x, y, _ = layer
    large = af.Variable(np.ones((2, 64), np.float32))
    z = af.matmul(y, large)
    async with af.Session(graph=graph) as session:
        await session.run(af.global_variables_initializer())
        await frozen(session, z, {x: ONES})
        found = next(p.freezing for p in session._engine.planner.plans() if p.freezing)  # type: ignore[attr-defined]
        assert [state.name for state in found._watched.values()] == ["w"]


# ---- normalizations


def _normalized(x: af.Tensor, depthwise: bool, biased: bool, rng: np.random.Generator) -> Sequence[af.Tensor]:
    def drawn(*shape: int) -> af.Variable:
        return af.Variable(rng.uniform(0.5, 1.5, shape).astype(np.float32))

    if depthwise:
        made = af.nn.depthwise_conv2d(x, drawn(3, 3, 3, 2), [1, 1, 1, 1], "SAME")
    else:
        made = af.nn.conv2d(x, drawn(3, 3, 3, 6), [1, 1, 1, 1], "SAME")
    if biased:
        made = af.nn.bias_add(made, drawn(6))
    return af.nn.fused_batch_norm(made, drawn(6), drawn(6), mean=drawn(6), variance=drawn(6), is_training=False)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("depthwise", [False, True])
async def test_a_frozen_normalization_is_part_of_the_weights(graph: af.Graph, depthwise: bool, biased: bool) -> None:
    rng = np.random.default_rng(1)
    x = af.placeholder(af.float32, [2, 5, 5, 3])
    y, mean, *_ = _normalized(x, depthwise, biased, rng)
    images, activated = rng.normal(size=(2, 5, 5, 3)).astype(np.float32), af.nn.relu(y)
    async with af.Session(graph=graph) as session:
        await session.run(af.global_variables_initializer())
        for fetches in (activated, [y, mean]):  # of the second, somebody takes the moments too
            expected = await session.run(fetches, {x: images})
            before = session.statistics().frozen
            found = await frozen(session, fetches, {x: images}, before + 1)
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
