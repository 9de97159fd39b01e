"""Kernels that call a continuation: they wait without a thread and without a task."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.base.process import lanes
from actorflow.graph.ops.shape_rules import scalar, unchanged
from actorflow.graph.tensor import Tensor, TensorLike

waiting: list[Callable[[Any, BaseException | None], None]] = []
ended: list[str] = []
copies: list[weakref.ref[Any]] = []
arrived = asyncio.Event()


@af.op("TestContinue", shape=unchanged, gradient=None, stateful=True, asynchronous=True)
def goes_on(x: TensorLike, *, how: str, name: str | None = None) -> Tensor:
    """`x` itself: "now", when the test calls what is in `waiting` ("later"), or never ("raise", "fail")."""


@af.kernel("TestContinue")
def _goes_on(xp: Any, x: Any, *, how: str, step: Any, done: Callable[[Any, BaseException | None], None]) -> None:
    if how == "raise":
        raise ValueError("not even begun")
    if how == "fail":
        done(None, ValueError("no luck"))
    elif how == "now":
        done(x, None)
    else:
        calls = [lambda value, error: done(x if value is None else value, error)]
        step.on_cancel(lambda: calls and (ended.append("stopped"), calls.pop()(None, errors.CancelledError("stopped"))))
        waiting.append(lambda value, error: calls.pop()(value, error))
        arrived.set()


@af.op("TestTracked", shape=unchanged, gradient=None, stateful=True)
def tracked(x: TensorLike, *, name: str | None = None) -> Tensor:
    """A copy of `x`, whose life the test watches."""


@af.kernel("TestTracked")
def _tracked(xp: Any, x: Any) -> Any:
    copy = x + 0
    copies.append(weakref.ref(copy))
    return copy


@af.op("TestAlive", shape=scalar, result=af.bool, gradient=None, stateful=True, asynchronous=True)
def alive(x: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether a tracked copy is there when the kernel is launched."""


@af.kernel("TestAlive")
def _alive(xp: Any, x: Any, *, step: Any, done: Callable[[Any, BaseException | None], None]) -> None:
    done(np.bool_(any(copy() is not None for copy in copies)), None)


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    global arrived
    waiting.clear()
    ended.clear()
    copies.clear()
    arrived = asyncio.Event()
    with af.Graph().as_default() as made:
        yield made


async def until_waiting(count: int = 1) -> None:
    """Returns when `count` wait."""
    while len(waiting) < count:
        arrived.clear()
        await arrived.wait()


@pytest.mark.parametrize("coalesce", [True, False])
async def test_f88_the_result_goes_on_when_the_continuation_is_called(graph: af.Graph, coalesce: bool) -> None:
    x = af.placeholder(af.float32, [])
    y = goes_on(x + 1.0, how="now") * goes_on(x, how="later")
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        run = asyncio.ensure_future(session.run(y, {x: 2.0}, timeout=PATIENCE))
        await until_waiting()
        assert "waits in its asynchronous kernel" in session.pending() and not run.done()
        waiting.pop()(None, None)
        assert await run == 6.0


@pytest.mark.parametrize("how", ["raise", "fail"])
async def test_f88_an_error_is_the_nodes(graph: af.Graph, how: str) -> None:
    x = af.placeholder(af.float32, [])
    y = goes_on(x, how=how, name="unlucky") + goes_on(x, how="later")
    async with af.Session(graph=graph) as session:
        with pytest.raises(
            errors.InvalidArgumentError, match="not even begun" if how == "raise" else "no luck"
        ) as caught:
            await session.run(y, {x: 2.0}, timeout=PATIENCE)
        assert "unlucky" in str(caught.value) and ended == ["stopped"]
        assert session.pending() == "no step is in flight"


async def test_f88_a_deadline_ends_the_wait(graph: af.Graph) -> None:
    y = goes_on(af.placeholder(af.float32, [], name="x"), how="later")
    async with af.Session(graph=graph) as session:
        await session.warmup(y, ["x:0"])
        with pytest.raises(errors.DeadlineExceededError):
            await session.run(y, {"x:0": 1.0}, timeout=0.3)
    assert ended == ["stopped"]


async def test_f88_thousands_wait_without_thread_or_task(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [])
    total = af.add_n([goes_on(x, how="later") for _ in range(2000)])
    async with af.Session(graph=graph) as session:
        run = asyncio.ensure_future(session.run(total, {x: 1.0}, timeout=PATIENCE))
        await until_waiting(2000)
        assert len(asyncio.all_tasks()) <= 3
        assert lanes.BUSY not in {t.name for t in threading.enumerate()}
        for call in waiting:
            call(None, None)
        assert await run == 2000.0


async def test_f88_continuations_in_loops(graph: af.Graph) -> None:
    n = af.placeholder(af.int32, [])
    i = af.while_loop(lambda i: i < n, lambda i: goes_on(i, how="later") + 1, (0,), parallel_iterations=3)
    async with af.Session(graph=graph) as session:
        run = asyncio.ensure_future(session.run(i, {n: 5}, timeout=PATIENCE))
        for _ in range(5):
            await until_waiting()
            waiting.pop()(None, None)
        assert await run == 5


@pytest.mark.parametrize("coalesce", [True, False])
async def test_a_nodes_inputs_are_gone_when_its_consumers_are_launched(graph: af.Graph, coalesce: bool) -> None:
    """A consumer may take memory at once, such as a copy that comes back from the host."""
    x = af.placeholder(af.float32, [64])
    y = alive(-tracked(x))
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        for _ in range(6):  # the first runs of a node are measured
            assert not await session.run(y, {x: [1.0] * 64}, timeout=PATIENCE)
    assert len(copies) == 6
