"""Conditional accumulators: TensorFlow's answers, and takers that wait without a thread and leave nothing behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.graph.graph import Graph


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


def test_tensorflow_agrees_on_dense_gradients(graph: Graph) -> None:
    mean, total = (af.ConditionalAccumulator(af.float32, [2], reduction_type=r) for r in ("MEAN", "SUM"))
    assert mean.name == "conditional_accumulator" and mean.dtype is af.float32
    assert mean.accumulator_ref.dtype.name == "resource"
    g, step = af.placeholder(af.float32), af.placeholder(af.int64, [])
    apply, take, count = mean.apply_grad(g, step), mean.take_grad(2), mean.num_accumulated()
    apply_total, take_total = total.apply_grad([1.0, 2.0]), total.take_grad(1)
    assert take.shape.as_list() == [2] and count.dtype is af.int32
    with af.blocking.Session(graph=graph) as session:
        for gradient in ([1.0, 2.0], [3.0, 5.0], [3.0, 5.0]):
            session.run(apply, {g: gradient, step: 0})
        assert session.run(count) == 3
        np.testing.assert_allclose(session.run(take), [2.3333333, 4.0], rtol=1e-6)
        assert session.run(count) == 0
        session.run(apply, {g: [1.0, 2.0], step: 0})  # stale: taking has counted the step up
        assert session.run(count) == 0
        session.run(apply, {g: [1.0, 2.0], step: 1})
        assert session.run(count) == 1
        session.run(mean.set_global_step(5))
        session.run(apply, {g: [1.0, 2.0], step: 4})
        assert session.run(count) == 1
        session.run(mean.set_global_step(3))
        session.run(apply, {g: [1.0, 2.0], step: 4})
        assert session.run(count) == 2
        session.run(apply_total)
        session.run(apply_total)
        np.testing.assert_array_equal(session.run(take_total), [2.0, 4.0])


@pytest.mark.parametrize(("reduction", "row"), [("MEAN", [15.5, 21.0]), ("SUM", [31.0, 42.0])])
def test_tensorflow_agrees_on_rows(graph: Graph, reduction: str, row: list[float]) -> None:
    rows = af.SparseConditionalAccumulator(af.float32, [4, 2], reduction_type=reduction)
    first = rows.apply_grad([1, 3], [[1.0, 2.0], [3.0, 4.0]], [4, 2])
    second = rows.apply_indexed_slices_grad(
        af.IndexedSlices(af.constant([[10.0, 20.0], [30.0, 40.0]]), af.constant([0, 1]))
    )
    take = rows.take_grad(2)
    assert [t.shape.as_list() for t in take] == [[None], [None, 2], [2]]
    with af.blocking.Session(graph=graph) as session:
        session.run(first)
        session.run(second)
        assert session.run(rows.num_accumulated()) == 2
        indices, values, shape = session.run(list(take))
    assert indices.tolist() == [0, 1, 3] and shape.tolist() == [4, 2]
    np.testing.assert_array_equal(values, [[10.0, 20.0], row, [3.0, 4.0]])


def test_rows_of_one_gradient_are_summed_and_put_in_order(graph: Graph) -> None:
    rows = af.SparseConditionalAccumulator(af.float32)
    apply = rows.apply_grad([3, 1, 3], [[1.0], [2.0], [4.0]])
    taken = rows.take_indexed_slices_grad(1)
    assert isinstance(taken, af.IndexedSlices)
    with af.blocking.Session(graph=graph) as session:
        session.run(apply)
        found = session.run(taken)
    assert found.indices.tolist() == [1, 3] and found.values.tolist() == [[2.0], [5.0]]
    assert found.dense_shape.tolist() == [-1, 1]


async def test_takers_wait_in_their_order(graph: Graph) -> None:
    accumulator = af.ConditionalAccumulator(af.float64, [])
    g = af.placeholder(af.float64, [])
    apply = accumulator.apply_grad(g, np.int64(100))
    many, one = accumulator.take_grad(3), accumulator.take_grad(1)
    async with af.Session(graph=graph) as session:
        first = asyncio.ensure_future(session.run(many))
        while "AccumulatorTakeGradient" not in session.pending():  # noqa: ASYNC110
            await asyncio.sleep(0)
        second = asyncio.ensure_future(session.run(one))
        for value in (1.0, 2.0, 6.0):
            assert not first.done() and not second.done()
            await session.run(apply, {g: value})
        assert await first == 3.0
        await session.run(apply, {g: 9.0})
        assert await second == 9.0


async def test_a_taker_that_is_cancelled_leaves_its_place(graph: Graph) -> None:
    accumulator = af.ConditionalAccumulator(af.float64, [])
    apply = accumulator.apply_grad(5.0, np.int64(100))
    many, one = accumulator.take_grad(9), accumulator.take_grad(1)
    async with af.Session(graph=graph) as session:
        waiting = asyncio.ensure_future(session.run(many))
        while "AccumulatorTakeGradient" not in session.pending():  # noqa: ASYNC110
            await asyncio.sleep(0)
        behind = asyncio.ensure_future(session.run(one))
        await session.run(apply)
        assert not behind.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await behind == 5.0
        await session.run(apply)
        assert await session.run(one) == 5.0


def test_f97_sessions_on_other_threads_share_an_accumulator(graph: Graph) -> None:
    """Four threads apply what a fifth waits for: the mean over all is that of one large batch."""
    with af.container("test_accumulators"):
        accumulator = af.ConditionalAccumulator(af.float64, [], shared_name="shared")
    g = af.placeholder(af.float64, [])
    apply, take = accumulator.apply_grad(g, np.int64(100)), accumulator.take_grad(40)
    taken: list[Any] = []

    def chief() -> None:
        with af.blocking.Session(graph=graph) as session:
            taken.append(session.run(take))

    def worker(number: int) -> None:
        with af.blocking.Session(graph=graph) as session:
            for k in range(10):
                session.run(apply, {g: 10.0 * number + k})

    threads = [threading.Thread(target=chief), *(threading.Thread(target=worker, args=(n,)) for n in range(4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == [np.mean(np.arange(40.0))]


def test_mistakes(graph: Graph) -> None:
    with pytest.raises(ValueError, match="MEAN or SUM, not 'X'"):
        af.ConditionalAccumulator(af.float32, reduction_type="X")
    accumulator = af.ConditionalAccumulator(af.float32, [2])
    with pytest.raises(ValueError, match="not compatible"):
        accumulator.apply_grad([1.0, 2.0, 3.0])
    g, open_ = af.placeholder(af.float32), af.ConditionalAccumulator(af.float32)
    rows = af.SparseConditionalAccumulator(af.float32, [4, 2])
    with af.blocking.Session(graph=graph) as session:
        with pytest.raises(errors.InvalidArgumentError, match=r"takes gradients of shape \[2\], but one of \[1\]"):
            session.run(accumulator.apply_grad(g), {g: [1.0]})
        with pytest.raises(errors.InvalidArgumentError, match="num_required must be positive"):
            session.run(accumulator.take_grad(0))
        session.run(open_.apply_grad(g), {g: [1.0, 2.0]})
        with pytest.raises(errors.InvalidArgumentError):
            session.run(open_.apply_grad(g), {g: [1.0]})
        for wrong, message in (
            (rows.apply_grad([4], [[1.0, 2.0]]), r"not in \[0, 4\)"),
            (rows.apply_grad([1], [[1.0, 2.0, 3.0]]), "takes gradients of shape"),
            (rows.apply_grad([1], [[1.0, 2.0]], [5, 2]), "takes gradients of shape"),
            (rows.apply_grad([1, 2], [[1.0, 2.0]]), "one index each"),
        ):
            with pytest.raises(errors.InvalidArgumentError, match=message):
                session.run(wrong)
        session.run(rows.apply_grad(np.zeros(0, np.int64), np.zeros((0, 2), np.float32)))
        assert session.run(rows.num_accumulated()) == 1


@pytest.mark.parametrize("dtype", [af.int32, af.int64, af.int16])
def test_steps_are_integers_of_any_type(graph: Graph, dtype: Any) -> None:
    dense, sparse = af.ConditionalAccumulator(af.float32, []), af.SparseConditionalAccumulator(af.float32, [2, 1])
    step = af.placeholder(dtype, [])
    at = [dense.set_global_step(step), sparse.set_global_step(step)]
    rows = af.IndexedSlices(af.constant([[1.0]]), af.constant([0]), af.constant([2, 1]))
    apply = [dense.apply_grad(1.0, step), sparse.apply_indexed_slices_grad(rows, step)]
    with af.blocking.Session(graph=graph) as session:
        session.run(at, {step: 5})
        for local, count in ((4, 0), (5, 1)):
            session.run(apply, {step: local})
            assert session.run([dense.num_accumulated(), sparse.num_accumulated()]) == [count] * 2
