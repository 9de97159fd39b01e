"""Actors can be seen: with `coalesce=False` each node that runs or waits is an asyncio task of its name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anyio
import numpy as np
import probes
import pytest
from clusters import servers
from probes import HEAVY, Probe, probe

import actorflow as af
from actorflow import blocking, errors
from actorflow.base.process.interpreter import TASKS_START_EAGERLY
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike

__all__ = ["probe"]


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


@af.op("TestHeavyHold", shape=unchanged, gradient=None, stateful=True, work=HEAVY)
def heavy_hold(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x, once the test lets it go."""


@af.kernel("TestHeavyHold")
def _heavy_hold(xp: Any, x: Any) -> Any:
    probes.current.held.set()
    probes.current.release.wait()
    return x


def names() -> set[str]:
    """The tasks of the loop that are no test's."""
    return {task.get_name() for task in asyncio.all_tasks() if not task.get_name().startswith(("Task-", "tests"))}


# ---- what runs


async def test_within_a_kernel_the_current_task_is_that_of_the_node(probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    y = probes.log(probes.log(x, tag="a", name="first"), tag="b", name="second")
    caller = asyncio.current_task()
    seen: list[tuple[str, bool, str]] = []

    def note(value: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None and task is not caller
        (state,) = [one for one in session.tasks() if one.state == "runs"]
        assert state.task is task and state.op == "TestLog" and state.where is not None
        seen.append((task.get_name(), task in asyncio.all_tasks(), state.name))
        return value

    probe.does.update(a=note, b=note)
    async with af.Session(options=af.PlanOptions(coalesce=False)) as session:
        assert await session.run(y, {x: 2.0}) == 2.0
        assert session.tasks() == []
    assert seen == [("first", True, "first"), ("second", True, "second")]
    assert asyncio.current_task() is caller


async def test_a_node_that_is_ready_is_seen_beside_the_one_that_runs(probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    both = [probes.log(x, tag=tag, name=tag) for tag in ("one", "two")]
    seen: list[dict[str, str]] = []

    def note(value: Any) -> Any:
        states = {state.name: state.state for state in session.tasks()}
        begun = {name for name, state in states.items() if state != "ready" or not TASKS_START_EAGERLY}
        assert {"one", "two"} & names() == begun  # a task that starts eagerly is made in its first turn
        seen.append(states)
        return value

    probe.does.update(one=note, two=note)
    async with af.Session(options=af.PlanOptions(coalesce=False, optimize=False)) as session:
        await session.run(both, {x: 1.0})
    assert seen == [{"one": "runs", "two": "ready"}, {"two": "runs"}]


async def test_primitives_of_branches_and_loops_are_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    from actorflow.engine.runtime import frames

    ran: dict[str, str] = {}

    def noting(op: str, primitive: frames.Primitive) -> frames.Primitive:
        def run(part: Any, node: Any) -> bool:
            task = asyncio.current_task()
            assert task is not None and task in asyncio.all_tasks() and task.get_name() == node.node.name
            ran[node.node.op] = task.get_name()
            return primitive(part, node)

        return run

    monkeypatch.setattr(
        "actorflow.engine.runtime.plan_building.PRIMITIVES", {op: noting(op, p) for op, p in frames.PRIMITIVES.items()}
    )
    x = af.placeholder(af.int32, [])
    end = af.while_loop(lambda i: i < 3, lambda i: af.cond(af.equal(i, 1), lambda: i + 1, lambda: i + 1), [x])
    async with af.Session(options=af.PlanOptions(coalesce=False)) as session:
        assert await session.run(end, {x: 0}) == 3
    assert ran.keys() >= {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}


# ---- what waits


async def test_what_waits_has_a_task_of_its_name(probe: Probe) -> None:
    """An asynchronous kernel, a queue, a tensor of another device, and a kernel on a thread."""
    x = af.placeholder(af.float32, [4])
    waits = probes.wait(x, tag="gate", name="an_async_kernel")
    queue = af.FIFOQueue(1, [af.float32], shapes=[[4]])
    taken = queue.dequeue(name="a_queue")
    held = heavy_hold(x, name="a_heavy_kernel")
    with af.device("/cpu:1"):
        total = af.add(waits, 1.0, name="elsewhere")
    fill = queue.enqueue([x])
    async with af.Session(options=af.PlanOptions(coalesce=False), devices={"CPU": 2}) as session:
        running = asyncio.create_task(session.run([taken, held, total], {x: np.ones(4)}), name="Task-run")
        await probe.arrived("gate").wait()
        await asyncio.to_thread(probe.held.wait, 30)
        states = {state.name: state for state in session.tasks()}
        found = {name: state.state for name, state in states.items()}
        assert found["an_async_kernel"] == found["a_queue"] == "waits" and found["a_heavy_kernel"] == "on a thread"
        (recv,) = [state for state in states.values() if state.op == "_Recv"]
        assert recv.state == "waits"
        for state in states.values():
            assert state.task is not None and state.task.get_name() == state.name
            assert state.task in asyncio.all_tasks()
        assert states.keys() <= names()
        probe.release.set()
        probe.gate("gate").set()
        await session.run(fill, {x: np.ones(4)})
        assert [list(value) for value in await running] == [[1.0] * 4, [1.0] * 4, [2.0] * 4]
        assert session.tasks() == [] and not names() & states.keys()


async def test_a_node_is_waited_for_and_not_cancelled(probe: Probe) -> None:
    """The cancellation of all tasks by asyncio as it ends does no harm."""
    x = af.placeholder(af.float32, [4])
    y = heavy_hold(x, name="held") * 2.0
    async with af.Session(options=af.PlanOptions(coalesce=False)) as session:
        running = asyncio.create_task(session.run(y, {x: np.ones(4)}))
        await asyncio.to_thread(probe.held.wait, 30)
        (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "held"]
        assert task.get_loop() is asyncio.get_running_loop() and not task.cancel() and "held" in repr(task)
        early = asyncio.create_task(asyncio.wait([task], timeout=0))
        assert await early == (set(), {task})
        waiting = asyncio.gather(task, asyncio.shield(task))
        probe.release.set()
        assert await waiting == [None, None] and list(await running) == [2.0] * 4


async def test_a_step_that_is_stopped_leaves_no_task(probe: Probe) -> None:
    x = af.placeholder(af.float32, [4])
    queue = af.FIFOQueue(1, [af.float32], shapes=[[4]])
    total = probes.wait(x, tag="gate", name="waiting") + queue.dequeue(name="taking")
    async with af.Session(options=af.PlanOptions(coalesce=False)) as session:
        with anyio.move_on_after(0.05) as scope:
            await session.run(total, {x: np.ones(4)})
        assert scope.cancelled_caught
        assert session.tasks() == [] and not names() & {"waiting", "taking"}


# ---- sessions that coalesce, clusters, blocking sessions


async def test_a_session_that_coalesces_shows_what_waits(probe: Probe) -> None:
    x = af.placeholder(af.float32, [4])
    waits = probes.wait(x, tag="gate", name="waiting")
    held = heavy_hold(x, name="held")
    async with af.Session() as session:
        running = asyncio.create_task(session.run([waits, held], {x: np.ones(4)}))
        await probe.arrived("gate").wait()
        await asyncio.to_thread(probe.held.wait, 30)
        found = {state.name: (state.state, state.task is not None) for state in session.tasks()}
        assert found == {"waiting": ("waits", True), "held": ("on a thread", False)}
        probe.release.set()
        probe.gate("gate").set()
        await running


async def test_a_cluster_says_where_its_tasks_are() -> None:
    async with servers({"worker": 1}) as tasks, af.Session(tasks[0].target) as session:
        with pytest.raises(errors.UnimplementedError, match="other processes"):
            session.tasks()


def test_a_blocking_session_shows_them_too() -> None:
    with blocking.Session(options=af.PlanOptions(coalesce=False)) as session:
        assert session.tasks() == []
