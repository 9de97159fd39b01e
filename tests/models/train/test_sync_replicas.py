"""Synchronous training: one update of all workers' gradients, the same bits in each run, and late gradients dropped."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.registry import plugins

Cpu = plugins.load("devices", "CPU")
names = (f"test_sync_replicas_{number}" for number in count())


def tasks(workers: int) -> list[Any]:
    names = [*(f"ps/replica:0/task:{i}" for i in range(2)), *(f"worker/replica:0/task:{i}" for i in range(workers))]
    return [Cpu(f"/job:{name}/device:CPU:0") for name in names]


@dataclass(frozen=True)
class Part:
    """A worker's graph. `place` is where its session finds the devices."""

    graph: af.Graph
    x: af.Tensor
    y: af.Tensor
    optimizer: Any
    train: af.Operation
    variables: list[af.Variable]
    step: af.Variable
    initialize: af.Operation
    dropped: af.Tensor
    workers: int

    def session(self) -> af.Session:
        return af.Session(graph=self.graph, devices=tasks(self.workers))


def linear(dtype: af.DType) -> tuple[af.Tensor, af.Tensor, af.Tensor]:
    """A linear model whose gradients at small integers are small integers."""
    x, y = af.placeholder(dtype, [None, 4]), af.placeholder(dtype, [None])
    w = af.get_variable("w", [4], dtype, initializer=af.zeros_initializer())
    b = af.get_variable("b", [], dtype, initializer=af.zeros_initializer())
    return x, y, af.reduce_mean(af.square(af.reduce_sum(x * w, 1) + b - y))


def rows(dtype: af.DType) -> tuple[af.Tensor, af.Tensor, af.Tensor]:
    """A model of which each batch uses some rows."""
    x, y = af.placeholder(af.int64, [None]), af.placeholder(dtype, [None])
    table = af.get_variable("table", [6, 3], dtype, initializer=af.ones_initializer())
    return x, y, af.reduce_sum(af.square(af.reduce_sum(af.nn.embedding_lookup(table, x), 1) - y))


def build(
    container: str,
    worker: int,
    workers: int,
    wanted: int,
    model: Callable[[af.DType], Any] = linear,
    base: Callable[[], af.train.Optimizer] = lambda: af.train.GradientDescentOptimizer(0.125),
    dtype: af.DType = af.float64,
    **options: Any,
) -> Part:
    graph = af.Graph()
    place = af.train.replica_device_setter(2, worker_device=f"/job:worker/task:{worker}")
    with graph.as_default(), graph.container(container), graph.device(place):
        step = af.train.get_or_create_global_step()
        x, y, loss = model(dtype)
        optimizer = af.train.SyncReplicasOptimizer(base(), wanted, workers, **options)
        train = optimizer.minimize(loss, global_step=step)
        initialize = af.global_variables_initializer()
        dropped = optimizer.dropped_gradients()
        return Part(graph, x, y, optimizer, train, af.trainable_variables(), step, initialize, dropped, workers)


@asynccontextmanager
async def chief_of(part: Part) -> AsyncIterator[af.Session]:
    """A session in which the variables have values and the chief's queue runner runs."""
    async with part.session() as session, af.train.Coordinator() as coordinator:
        await session.run(part.initialize)
        await session.run(part.optimizer.chief_init_op)
        part.optimizer.get_chief_queue_runner().start(session, coordinator)
        yield session
        coordinator.request_stop()


async def trained(parts: Sequence[Part], batches: Any, rng: random.Random | None = None) -> list[Any]:
    """The variables after each worker has worked on its part of each batch. With `rng` gradients come in another order."""
    workers = len(parts)
    async with chief_of(parts[0]) as chief:
        sessions = [chief, *[part.session() for part in parts[1:]]]
        for part, session in zip(parts[1:], sessions[1:]):
            await session.run(part.optimizer.local_step_init_op)

        async def work(worker: int, batch: Any, turns: int) -> None:
            part = parts[worker]
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            x, y = (values[worker::workers] for values in batch)
            await sessions[worker].run(part.train, {part.x: x, part.y: y})

        for batch in batches:
            order = list(range(workers))
            if rng is not None:
                rng.shuffle(order)
            async with anyio.create_task_group() as group:
                for worker in order:
                    group.start_soon(work, worker, batch, rng.randrange(50) if rng else 0)
        found = await chief.run(parts[0].variables)
        for session in sessions[1:]:
            await session.close()
        return list(found)


def alone(
    batches: Any, model: Callable[[af.DType], Any] = linear, dtype: af.DType = af.float64, rate: float = 0.125
) -> Any:
    """The variables after one worker has worked on all of each batch."""
    with af.Graph().as_default() as graph:
        x, y, loss = model(dtype)
        train = af.train.GradientDescentOptimizer(rate).minimize(loss)
        with af.blocking.Session(graph=graph) as session:
            session.run(af.global_variables_initializer())
            for xs, ys in batches:
                session.run(train, {x: xs, y: ys})
            return session.run(af.trainable_variables())


def drawn(steps: int, size: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(size, 4)), rng.normal(size=size)) for _ in range(steps)]


# ---- one update of all


@pytest.mark.parametrize(("workers", "steps"), [(2, 100), (3, 10)])
async def test_f97_workers_are_one_worker_with_the_whole_batch(workers: int, steps: int) -> None:
    container, batches = next(names), drawn(steps, 4 * workers, workers)
    found = await trained([build(container, i, workers, workers) for i in range(workers)], batches)
    for one, other in zip(found, alone(batches)):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


async def test_f97_small_integers_give_the_same_bits() -> None:
    rng = np.random.default_rng(5)
    batches = [(rng.integers(-3, 4, (8, 4)).astype(float), rng.integers(-3, 4, 8).astype(float)) for _ in range(8)]
    container = next(names)
    found = await trained([build(container, i, 4, 4) for i in range(4)], batches)
    for one, other in zip(found, alone(batches)):
        np.testing.assert_array_equal(one, other)


async def test_f97_the_order_in_which_gradients_come_does_not_matter() -> None:
    """Sums of float32 that differ in their last bits when they are added in another order."""
    batches = [(x.astype(np.float32), y.astype(np.float32)) for x, y in drawn(12, 15, 1)]
    seed = random.randrange(1 << 30)
    ends = []
    for number in range(3):
        container = next(names)
        parts = [build(container, i, 5, 5, dtype=af.float32) for i in range(5)]
        ends.append(await trained(parts, batches, random.Random(seed + number) if number else None))
    for end in ends[1:]:
        for one, other in zip(end, ends[0]):
            np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}")


async def test_f97_rows_are_summed_too() -> None:
    rng = np.random.default_rng(2)
    batches = [(rng.integers(0, 6, 6), rng.integers(-2, 3, 6).astype(float)) for _ in range(10)]
    container = next(names)
    base = lambda: af.train.GradientDescentOptimizer(1 / 64)  # noqa: E731
    parts = [build(container, i, 2, 2, rows, base) for i in range(2)]
    (found,) = await trained(parts, batches)

    def whole(dtype: af.DType) -> Any:
        """The mean of a row is over the workers whose batch has it, as in TensorFlow."""
        x, y, _ = rows(dtype)
        table = af.trainable_variables()[0]
        grads = []
        for worker in range(2):
            taken = af.reduce_sum(af.nn.embedding_lookup(table, x[worker::2]), 1) - y[worker::2]
            slope = af.gradients(af.reduce_sum(af.square(taken)), table)[0]
            seen = af.minimum(af.unsorted_segment_sum(af.ones_like(slope.indices), slope.indices, 6), 1)
            grads.append((af.unsorted_segment_sum(slope.values, slope.indices, 6), af.cast(seen, dtype)))
        mean = sum(g for g, _ in grads) / af.maximum(sum(n for _, n in grads), 1.0)[:, None]
        return x, y, table.assign_sub(mean / 64, read_value=False), table

    with af.Graph().as_default() as graph:
        x, y, train, table = whole(af.float64)
        with af.blocking.Session(graph=graph) as session:
            session.run(af.global_variables_initializer())
            for xs, ys in batches:
                session.run(train, {x: xs, y: ys})
            np.testing.assert_allclose(found, session.run(table), rtol=1e-9)


async def test_slots_and_averages(graph: af.Graph) -> None:
    """Adam inside, averages of the variables outside."""
    container, batches = next(names), drawn(5, 4, 0)
    average = [af.train.ExponentialMovingAverage(0.5) for _ in range(2)]
    parts = [build(container, i, 2, 2, base=af.train.AdamOptimizer, variable_averages=average[i]) for i in range(2)]
    part = parts[0]
    slot = part.optimizer.get_slot(part.variables[0], "m")
    assert (
        part.optimizer.get_slot_names() == ["m", "v"] and slot.op.name == "w/Adam" and slot.device == "/job:ps/task:1"
    )
    assert len(part.optimizer.variables()) == 6
    shadow = average[0].average(part.variables[0])
    assert shadow is not None and shadow.device == part.variables[0].device
    found = await trained(parts, batches)
    async with part.session() as session:
        averaged = await session.run(shadow)
    assert averaged.any() and not np.array_equal(averaged, found[0])


async def test_f107_workers_wait_for_the_chief() -> None:
    container = next(names)
    parts = [build(container, i, 2, 2) for i in range(2)]
    async with parts[1].session() as worker:
        assert len(await worker.run(parts[1].optimizer.ready_for_local_init_op)) == 3
        with pytest.raises(errors.FailedPreconditionError, match="no value yet"):
            await worker.run(parts[1].optimizer.local_step_init_op)
        async with chief_of(parts[0]) as chief:
            assert len(await worker.run(parts[1].optimizer.ready_for_local_init_op)) == 0
            await worker.run(parts[1].optimizer.local_step_init_op)
            feeds = [{part.x: np.ones((1, 4)), part.y: np.ones(1)} for part in parts]
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run, parts[1].train, feeds[1])
                while "AccumulatorLaterStep" not in worker.pending():
                    await anyio.lowlevel.checkpoint()
                assert await chief.run(parts[0].step) == 0, "the update waits for all"
                group.start_soon(chief.run, parts[0].train, feeds[0])
            assert await worker.run(parts[1].step) == 1


# ---- backups


async def test_f100_a_late_gradient_is_dropped_and_its_worker_goes_on(graph: af.Graph) -> None:
    """Two of three are waited for. The third brings a gradient of step 0 in step 2, and one of step 2 then."""
    container = next(names)
    parts = [build(container, i, 3, 2) for i in range(3)]
    batch = np.ones((1, 4)), np.ones(1)
    async with chief_of(parts[0]) as chief, parts[1].session() as second, parts[2].session() as third:
        sessions = [chief, second, third]
        for part, session in zip(parts[1:], sessions[1:]):
            await session.run(part.optimizer.local_step_init_op)

        async def together(*workers: int, feeds: Any = batch) -> None:
            async with anyio.create_task_group() as group:
                for i in workers:
                    group.start_soon(sessions[i].run, parts[i].train, {parts[i].x: feeds[0], parts[i].y: feeds[1]})

        await together(0, 1)
        await together(0, 1)
        before = await chief.run([parts[0].variables, parts[0].step, parts[0].dropped])
        assert before[1:] == [2, 0]
        wild = np.full((1, 4), 1e6), np.ones(1)
        await together(2, feeds=wild)  # does not wait: step 2 is there
        after = await chief.run([parts[0].variables, parts[0].step, parts[0].dropped])
        assert after[1:] == [2, 2], "one gradient of each variable"
        for one, other in zip(before[0], after[0]):
            np.testing.assert_array_equal(one, other)
        await together(1, 2)  # it counts again
        assert await chief.run([parts[0].step, parts[0].dropped]) == [3, 2]


async def test_f100_a_step_takes_as_long_as_the_second_of_three(graph: af.Graph) -> None:
    """The delays are kernels that wait for the test: the step is there when two gates of three are open."""
    container = next(names)
    parts = [build(container, i, 3, 2) for i in range(3)]
    gates = [anyio.Event() for _ in range(3)]
    done: list[int] = []
    async with chief_of(parts[0]) as chief, parts[1].session() as second, parts[2].session() as third:
        sessions = [chief, second, third]
        for part, session in zip(parts[1:], sessions[1:]):
            await session.run(part.optimizer.local_step_init_op)

        async def work(worker: int) -> None:
            await gates[worker].wait()
            part = parts[worker]
            await sessions[worker].run(part.train, {part.x: np.ones((1, 4)), part.y: np.ones(1)})
            done.append(worker)

        async with anyio.create_task_group() as group:
            for worker in range(3):
                group.start_soon(work, worker)
            gates[2].set()
            while "AccumulatorLaterStep" not in third.pending():
                await anyio.lowlevel.checkpoint()
            assert not done
            gates[1].set()
            while len(done) < 2:
                await anyio.lowlevel.checkpoint()
            assert sorted(done) == [1, 2] and await chief.run(parts[0].step) == 1
            gates[0].set()
        assert await chief.run(parts[0].dropped) == 2


async def test_fewer_workers_than_gradients_give_several_each() -> None:
    """One worker, two gradients for an update: two batches with the same variables, then the step."""
    part = build(next(names), 0, 1, 2)
    batches = drawn(6, 4, 3)
    async with chief_of(part) as chief:
        for number, (x, y) in enumerate(batches, 1):
            await chief.run(part.train, {part.x: x, part.y: y})
            assert await chief.run(part.step) == number // 2
        found = await chief.run(part.variables)
    pairs = [tuple(np.concatenate(both) for both in zip(*batches[i : i + 2])) for i in (0, 2, 4)]
    for one, other in zip(found, alone(pairs)):
        np.testing.assert_allclose(one, other, rtol=1e-9)


# ---- with threads, as TensorFlow's scripts have it


def test_a_blocking_script_with_threads() -> None:
    part = build(next(names), 0, 1, 1)
    batches = drawn(3, 4, 4)
    coordinator = af.train.Coordinator()
    with af.blocking.Session(graph=part.graph, devices=tasks(1)) as session:
        session.run(part.initialize)
        session.run(part.optimizer.chief_init_op)
        threads = part.optimizer.get_chief_queue_runner().create_threads(session, coordinator, start=True, daemon=True)
        session.run(part.optimizer.get_init_tokens_op())
        for x, y in batches:
            session.run(part.train, {part.x: x, part.y: y})
        found = session.run(part.variables)
        coordinator.request_stop()
        coordinator.join(threads)
    for one, other in zip(found, alone(batches)):
        np.testing.assert_allclose(one, other, rtol=1e-9)


async def test_a_chief_that_starts_again_goes_on(graph: af.Graph) -> None:
    """Stopping closes the accumulators; starting opens them."""
    container, batches = next(names), drawn(6, 4, 5)
    part = build(container, 0, 1, 1)
    async with part.session() as session:
        await session.run(part.initialize)
        for half in (batches[:3], batches[3:]):
            async with af.train.Coordinator() as coordinator:
                await session.run(part.optimizer.chief_init_op)
                part.optimizer.get_chief_queue_runner().start(session, coordinator)
                for x, y in half:
                    await session.run(part.train, {part.x: x, part.y: y})
                coordinator.request_stop()
        found = await session.run(part.variables)
    for one, other in zip(found, alone(batches)):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize(
    ("device", "options", "number"),
    [
        ("/job:worker/task:2", {}, 2),
        ("/job:chief/task:0", {}, 3),
        ("/job:worker/task:2", {"worker_index": 1}, 1),
        ("/cpu:0", {}, -1),
    ],
)
def test_a_workers_number_is_its_task(graph: af.Graph, device: str, options: Any, number: int) -> None:
    with af.device(device):
        optimizer = af.train.SyncReplicasOptimizer(af.train.GradientDescentOptimizer(0.1), 4, **options)
        optimizer.minimize(af.square(af.Variable(1.0)), af.train.get_or_create_global_step())
    (apply,) = [o for o in graph.get_operations() if o.type == "AccumulatorApplyGradient"]
    assert apply.get_attr("worker") == number and apply.get_attr("most") == 1


# ---- the accumulators' part


async def test_one_gradient_of_a_worker_counts(graph: af.Graph) -> None:
    accumulator = af.ConditionalAccumulator(af.float64, [], reduction_type="SUM")
    g = af.placeholder(af.float64, [])
    apply = [accumulator.apply_grad(g, np.int64(9), worker=i) for i in range(3)]
    twice = accumulator.apply_grad(g, np.int64(9), worker=7, most=2)
    counts, take = [accumulator.num_accumulated(), accumulator.num_dropped()], accumulator.take_grad(1)
    async with af.Session(graph=graph) as session:
        for node, value in (
            (apply[1], 1.0),
            (apply[1], 50.0),
            (apply[0], 2.0),
            (twice, 4.0),
            (twice, 8.0),
            (twice, 50.0),
        ):
            await session.run(node, {g: value})
        assert await session.run(counts) == [4, 2]
        assert await session.run(take) == 15.0
        await session.run(apply[1], {g: 3.0})
        assert await session.run(take) == 3.0, "after the taking it may give again"


def test_f97_sums_have_the_bits_of_the_workers_order(graph: af.Graph) -> None:
    """Random values, orders of arrival and absent workers: the sum is that of a loop over those who came."""
    seed = random.randrange(1 << 30)
    rng = np.random.default_rng(seed)
    dense = af.ConditionalAccumulator(af.float32, [5])
    sparse = af.SparseConditionalAccumulator(af.float32, [4, 2], reduction_type="SUM")
    g, indices, values = af.placeholder(af.float32, [5]), af.placeholder(af.int64), af.placeholder(af.float32)
    step = np.int64(1 << 40)
    give = [dense.apply_grad(g, step, worker=i) for i in range(6)]
    hand = [sparse.apply_grad(indices, values, [4, 2], step, worker=i) for i in range(6)]
    number = af.placeholder(af.int32, [])
    take, pick = dense.take_grad(number), sparse.take_grad(number)
    with af.blocking.Session(graph=graph) as session:
        for _ in range(25):
            came = rng.permutation(6)[: rng.integers(1, 7)]
            grads = {i: (rng.normal(size=5) * 10.0 ** rng.integers(-4, 5)).astype(np.float32) for i in came}
            parts = {i: (rng.permutation(4)[:2], rng.normal(size=(2, 2)).astype(np.float32)) for i in came}
            for i in came:
                session.run(give[i], {g: grads[i]})
                session.run(hand[i], {indices: parts[i][0], values: parts[i][1]})
            total, table = np.zeros(5, np.float32), np.zeros((4, 2), np.float32)
            for i in sorted(came):
                total = total + grads[i]
                table[parts[i][0]] += parts[i][1]
            mean = session.run(take, {number: len(came)})
            np.testing.assert_array_equal(
                mean, (total / np.float32(len(came))).astype(np.float32), err_msg=f"seed {seed}"
            )
            at, found, _ = session.run(list(pick), {number: len(came)})
            np.testing.assert_array_equal(found, table[at], err_msg=f"seed {seed}")


async def test_waits_for_a_later_step_end(graph: af.Graph) -> None:
    """By the step, by a taking, by a close, by a cancellation; and a close holds until the step is set."""
    accumulator = af.ConditionalAccumulator(af.float32, [])
    to = af.placeholder(af.int64, [])
    later, set_step, close = accumulator.later_step(to), accumulator.set_global_step(to), accumulator.close()
    take, apply = accumulator.take_grad(1), accumulator.apply_grad(1.0, np.int64(99))
    async with af.Session(graph=graph) as session:

        async def waits_until(act: Any, feeds: Any = None, after: int = 0) -> Any:
            result: list[Any] = []

            async def wait() -> None:
                try:
                    result.append(await session.run(later, {to: after}))
                except errors.CancelledError as error:
                    result.append(error)

            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                while "AccumulatorLaterStep" not in session.pending():
                    await anyio.lowlevel.checkpoint()
                await session.run(act, feeds)
            return result[0]

        assert await session.run(later, {to: -1}) == 0
        assert await waits_until(set_step, {to: 3}) == 3
        await session.run(apply)
        assert await waits_until(take, after=3) == 4
        assert isinstance(await waits_until(close, after=4), errors.CancelledError)
        for closed in (later, take):
            with pytest.raises(errors.CancelledError, match="has been cancelled"):
                await session.run(closed, {to: 9})
        await session.run(set_step, {to: 5})
        assert await session.run(later, {to: 4}) == 5
        with pytest.raises(errors.DeadlineExceededError):
            await session.run(later, {to: 5}, timeout=0.01)
        assert await waits_until(set_step, {to: 6}, after=5) == 6, "who gave up is forgotten"


# ---- mistakes


def test_mistakes(graph: af.Graph) -> None:
    base = af.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="At least one gradient"):
        af.train.SyncReplicasOptimizer(base, 0)
    optimizer = af.train.SyncReplicasOptimizer(base, 3, total_num_replicas=2)
    v = af.Variable(1.0)
    for call in (optimizer.get_chief_queue_runner, optimizer.get_init_tokens_op, optimizer.dropped_gradients):
        with pytest.raises(ValueError, match="after apply_gradients"):
            call()
    with pytest.raises(ValueError, match="Must supply at least one variable"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.apply_gradients([(af.constant(1.0), v)])
    step = af.train.get_or_create_global_step()
    with pytest.raises(ValueError, match="No gradients provided"):
        optimizer.apply_gradients([(None, v)], step)
    optimizer.minimize(af.square(v), step)
    with pytest.raises(ValueError, match=r"Too few tokens to finish the first step: 0 \(given\) vs 1 \(needed\)"):
        optimizer.get_init_tokens_op(0)
