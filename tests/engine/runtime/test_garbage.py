"""Steps free all they held when they end: nothing is left to the garbage collector, which would hold the event loop up."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import actorflow as af

TIMES = 40


async def left_behind(call: Callable[[], Awaitable[Any]]) -> float:
    """The objects in circles that a call leaves in the mean."""
    for _ in range(TIMES):  # plans are made, and what is kept is there
        await call()
    gc.collect()
    gc.disable()
    try:
        for _ in range(TIMES):
            await call()
        return gc.collect() / TIMES
    finally:
        gc.enable()


@pytest.fixture
def graph() -> af.Graph:
    with af.Graph().as_default() as made:
        x = af.placeholder(af.float32, [], name="x")
        w = af.Variable(2.0, name="w")
        af.train.GradientDescentOptimizer(0.1).minimize(af.square(w * x - 6.0), name="train")
        af.while_loop(lambda i: i < 10.0, lambda i: i + x, [0.0], name="loop")
        af.py_func(lambda v: v, [x], af.float32, name="python")
        af.FIFOQueue(1, [af.float32], [[]]).dequeue(name="waits")
        af.data.Dataset.range(10**9).batch(4).prefetch(1).make_one_shot_iterator().get_next(name="element")
    return made


@pytest.mark.parametrize("name", ["train", "loop/Exit", "python", "element"])
async def test_steps_leave_no_garbage(graph: af.Graph, name: str) -> None:
    async with af.Session(graph=graph) as session:
        await session.run([v.initializer for v in graph.get_collection("variables")])
        fetch = graph.as_graph_element(name)
        assert await left_behind(lambda: session.run(fetch, {"x:0": 1.0})) < 1


async def test_steps_that_end_early_leave_no_garbage(graph: af.Graph) -> None:
    async with af.Session(graph=graph) as session:

        async def late() -> None:
            with pytest.raises(af.errors.DeadlineExceededError):
                await session.run("waits:0", timeout=0.001)

        async def cancelled() -> None:
            with anyio.move_on_after(0.001):
                await session.run("waits:0")

        assert await left_behind(late) < 1 and await left_behind(cancelled) < 1


async def test_functions_tapes_and_datasets_leave_no_garbage() -> None:
    with af.eager():
        w = af.Variable([1.0, 2.0])

        def train(x: Any) -> af.Tensor:
            with af.GradientTape() as tape:
                loss = af.reduce_sum(af.square(w * x))
            w.assign_sub(tape.gradient(loss, w) * 0.01)
            return loss

        async def eagerly() -> None:
            train(1.0)

        assert await left_behind(eagerly) < 1
        step = af.function(train)
        assert await left_behind(lambda: step.run(1.0)) < 1

    async def same(x: Any) -> Any:
        return x

    numbers = af.data.Dataset.range(10**9)
    for dataset in (numbers.map(lambda x: x * 2).shuffle(10).batch(4).prefetch(2), numbers.map(same, 8)):
        async with dataset.iterate() as elements:
            assert await left_behind(elements.__anext__) < 1
