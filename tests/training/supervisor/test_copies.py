"""Which runs keep copies, which take turns, and what is left of the copies at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.registry import opdef
from actorflow.base.registry.plugins import import_ops
from actorflow.cluster.master.graph_partitioner import task_of
from actorflow.graph.ops.state.copies import give_copies, keep_copies, take_copies
from actorflow.supervisor import Restored
from actorflow.training.supervisor.moving import effects
from actorflow.training.supervisor.moving.effects import Effect, effect_of, reach_of

JOBS = {"ps": 2, "worker": 1}
QUEUE = "/job:worker/task:0"


class Model:
    """A counter on the servers, a queue that is on the worker, and runs of each kind."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph, af.device("/job:ps"):
            self.step = af.train.get_or_create_global_step()
            self.x = af.Variable(0.0, name="x")
            with af.device(QUEUE):
                queue = af.FIFOQueue(3, [af.float32], shapes=[[]], name="waiting")
                self.fill, self.taken, self.size = queue.enqueue(7.0), queue.dequeue(), queue.size()
                self.close = queue.close()
            self.noise = af.random_uniform([], seed=3)
            with af.device(QUEUE):
                self.fill_noise = queue.enqueue(self.noise)
            self.add_taken = self.x.assign_add(self.taken)
            self.add = self.x.assign_add(1.0)

            @af.Defun(af.float32)
            def add_to_x(amount: Any) -> Any:
                return self.x.assign_add(amount)

            self.called = add_to_x(af.constant(2.0))
            table = af.lookup.MutableHashTable(af.int64, af.int64, af.constant(-1, af.int64))
            self.learn = table.insert(af.constant([1], af.int64), af.constant([2], af.int64))
            self.look_up = table.lookup(af.constant([1], af.int64))
            self.summed = self.x + 1.0


ROWS: dict[str, tuple[Callable[[Model], Any], Callable[[Model], Any], Effect]] = {
    "a read": (lambda m: [m.x, m.summed], lambda m: {}, Effect.NOTHING),
    "an update": (lambda m: m.add, lambda m: {}, Effect.VARIABLES),
    "a function that updates": (lambda m: [m.summed, m.called], lambda m: {}, Effect.VARIABLES),
    "an update whose result is fed": (lambda m: m.add, lambda m: {m.add: 1.0}, Effect.NOTHING),
    "a call whose result is fed": (lambda m: m.called, lambda m: {m.called: 1.0}, Effect.NOTHING),
    "behind an update that is fed": (lambda m: m.add * 2.0, lambda m: {m.add: 1.0}, Effect.NOTHING),
    "an update beside what is fed": (lambda m: [m.taken, m.add_taken], lambda m: {m.taken: 5.0}, Effect.VARIABLES),
    "an operation is not fed": (lambda m: m.add.op, lambda m: {m.add: 1.0}, Effect.VARIABLES),
    "enqueue": (lambda m: m.fill, lambda m: {}, Effect.NOTHING),
    "dequeue": (lambda m: m.taken, lambda m: {}, Effect.NOTHING),
    "size and close": (lambda m: [m.size, m.close], lambda m: {}, Effect.NOTHING),
    "insert": (lambda m: m.learn, lambda m: {}, Effect.NOTHING),
    "look up": (lambda m: m.look_up, lambda m: {}, Effect.NOTHING),
    "a random number": (lambda m: m.noise, lambda m: {}, Effect.POSITIONS),
    "enqueue a random number": (lambda m: m.fill_noise, lambda m: {}, Effect.POSITIONS),
    "a fed random number": (lambda m: m.fill_noise, lambda m: {m.noise: 0.5}, Effect.NOTHING),
}


@pytest.mark.parametrize("row", ROWS)
def test_what_a_run_changes(row: str) -> None:
    model, (fetches, feeds, effect) = Model(), ROWS[row]
    assert reach_of(model.graph, fetches(model), feeds(model)).effect is effect


def test_ops_whose_elements_are_elsewhere_are_stateful_ops() -> None:
    import_ops()
    stateful = [name for name, definition in opdef.registered().items() if definition.stateful]
    for beginning in effects._ELSEWHERE:
        assert any(name.startswith(beginning) for name in stateful), beginning


def test_each_op_that_writes_changes_variables() -> None:
    import_ops()
    graph = Model().graph
    written = {node.op for node in graph.nodes.values() if effect_of(node) is Effect.VARIABLES}
    assert written == {node.op for node in graph.nodes.values() if opdef.lookup(node.op).writes} != set()


async def until_waiting(supervisor: af.Supervisor) -> None:
    """Returns when a step only waits, by the word of its tasks."""
    while not await supervisor.session._engine._waiting():  # type: ignore[attr-defined]
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("waits", ["taken", "add_taken"])
@pytest.mark.parametrize("fills", ["fill", "fill_noise"])
async def test_a_run_that_waits_for_a_queue_holds_back_none_that_fills_it(
    tmp_path: Path, waits: str, fills: str
) -> None:
    model, taken = Model(), []
    async with af.LocalCluster(JOBS, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, copies=1) as supervisor:
            await supervisor.run(model.add)
            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:

                    async def take() -> None:
                        taken.append(await supervisor.run(getattr(model, waits)))

                    group.start_soon(take)
                    await until_waiting(supervisor)
                    await supervisor.run(getattr(model, fills))
    assert len(taken) == 1


async def test_the_wait_for_a_turn_counts_into_the_time_of_a_run(tmp_path: Path) -> None:
    model = Model()
    async with af.LocalCluster(JOBS, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, copies=1) as supervisor:
            await supervisor.run(model.add)
            async with anyio.create_task_group() as group:
                group.start_soon(supervisor.run, model.add_taken)
                await until_waiting(supervisor)
                with pytest.raises(errors.DeadlineExceededError, match=r"0\.1 s was up while another run that writes"):
                    await supervisor.run(model.add, timeout=0.1)
                await supervisor.run(model.fill)
            assert await supervisor.run(model.add, timeout=60) == 9.0


async def test_a_fed_node_does_not_run(tmp_path: Path) -> None:
    model = Model()
    async with af.LocalCluster(JOBS, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, copies=1) as supervisor:
            await supervisor.run(model.fill)
            assert await supervisor.run([model.taken, model.add_taken], {model.taken: 5.0}) == [5.0, 5.0]
            assert await supervisor.run(model.size) == 1
            assert await supervisor.run([model.taken, model.add_taken]) == [7.0, 12.0]
            assert await supervisor.run(model.size) == 0


@pytest.mark.parametrize("update", ["add", "called"])
async def test_no_update_is_lost_with_a_server(tmp_path: Path, update: str) -> None:
    model = Model()
    async with af.LocalCluster(JOBS, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, copies=1) as supervisor:
            before = [await supervisor.run(getattr(model, update)) for _ in range(3)][-1]
            await cluster.kill(task_of(supervisor.session.placement(model.x.op)))
            async for event in supervisor.events():
                if isinstance(event, Restored) and event.from_copies:
                    break
            assert await supervisor.run(model.x) == before


async def test_a_task_without_variables_keeps_a_text_alone() -> None:
    with af.Graph().as_default() as graph:
        taken = take_copies(handles=(), dtypes=(), state=True, name="take")
        kept = keep_copies(af.constant([1, 0], af.int64), taken, [], owner="a", part="p", keys=(), name="keep")
        with af.control_dependencies([kept]):
            back = give_copies(af.constant(1, af.int64), owner="a", part="p", keys=(), dtypes=(), name="give")
    async with af.Session("", graph) as session:
        assert [type(value) for value in await session.run([taken, back])] == [bytes, bytes]


async def test_a_task_that_is_about_to_leave_gets_no_copies_and_no_step_needs_it(tmp_path: Path) -> None:
    model, leaving = Model(), "/job:ps/task:1"
    async with af.LocalCluster({"ps": 3, "worker": 1}, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, copies=1) as supervisor:
            await supervisor.run(model.add)
            await supervisor.level(leaving=[leaving])
            copies = supervisor._roles.moves.copies  # type: ignore[union-attr]
            assert copies is not None
            places = {task_of(place) for part in copies.layout(supervisor.session) for place in part.places}
            assert leaving not in places and len(places) >= 2, places
            assert await supervisor.run(model.add) == 2.0
            async for attempt in supervisor.steps(until=0):
                async with attempt:
                    pass
            places = {task_of(place) for part in copies.layout(supervisor.session) for place in part.places}
            assert leaving in places, "it stays after all"


@pytest.mark.parametrize("copies", [0, 1])
async def test_no_task_keeps_copies_when_the_supervisor_has_ended(tmp_path: Path, copies: int) -> None:
    model = Model()
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:
        supervisor = af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, copies=copies)
        async with supervisor:
            await supervisor.run(model.add)
            await supervisor.scale(ps=2)
            await supervisor.run(model.add)
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1) as other:
            for task in cluster.spec.tasks:
                status = await other._manager.monitor.ask_status(task)  # type: ignore[union-attr]
                assert status["copied_bytes"] == 0, task
