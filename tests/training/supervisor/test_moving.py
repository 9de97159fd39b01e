"""Variables go to other tasks while a training lives, and come back from copies, and the bits are those of an undisturbed one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.graph.device_spec import DeviceSpec
from actorflow.supervisor import Restored, StateMoved, StepAborted
from actorflow.training.supervisor.moving.balance import balanced
from actorflow.training.supervisor.moving.move import StepsUnderWay
from actorflow.training.supervisor.moving.state_groups import StateGroup

REPLICAS, STEPS = 2, 9
SIZES = (40, 30, 20)


class Model:
    """Variables with slots on whatever servers there are, logical workers, and a random number of the servers with a counter."""

    def __init__(self, device: str = "/job:ps", table: bool = False) -> None:
        with af.Graph().as_default() as self.graph, af.device(device):
            step = af.train.get_or_create_global_step()
            noise = af.random_uniform([], seed=3)
            variables = [af.Variable(np.linspace(-1, 1, size, dtype=np.float32), name=f"v{size}") for size in SIZES]
            if table:
                queue = af.FIFOQueue(3, [af.int64], shapes=[[]], name="waiting")
                self.fill = queue.enqueue(step)

            def tower() -> af.Operation:
                loss = af.add_n([af.reduce_sum(af.square(v - noise)) for v in variables])
                return af.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=step)

            self.train = af.train.Replicas(REPLICAS).build(tower)
            self.values = af.global_variables()


class Trained:
    """A training; `scales` and `kills` say what happens behind a step, and within a step."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.options = {"checkpoint_dir": folder, "replicas": REPLICAS, "seed": 1, **options}
        self.steps: list[int] = []
        self.history: list[Any] = []

    async def run(
        self,
        jobs: dict[str, int],
        scales: dict[int, dict[str, int]],
        kills: dict[int, str] | None = None,
        steps: int = STEPS,
    ) -> list[bytes]:
        model, kills = Model(), kills or {}
        async with af.LocalCluster(jobs, transport="local") as cluster:
            async with af.Supervisor(cluster, model.graph, **self.options) as supervisor:
                async for attempt in supervisor.steps(until=steps):
                    async with attempt as step:
                        if step in kills:
                            await cluster.kill(kills.pop(step))
                        await supervisor.run(model.train)
                        self.steps.append(step)
                    if step in scales:
                        await supervisor.scale(**scales.pop(step))
                values = await supervisor.run(model.values)
                self.loads: dict[str, int] = {}
                for variable, value in zip(model.values, values):
                    place = supervisor.session.placement(variable.op)
                    self.loads[place] = self.loads.get(place, 0) + value.nbytes
            self.history = list(supervisor.history)
        assert not scales and not kills
        return [np.asarray(value).tobytes() for value in values]

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.history if isinstance(event, kind)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return anyio.run(Trained(tmp_path_factory.mktemp("undisturbed")).run, {"ps": 1, "worker": 1}, {})


@pytest.mark.parametrize("copies", [0, 1])
async def test_variables_move_to_tasks_that_join_and_from_tasks_that_leave(
    tmp_path: Path, copies: int, undisturbed: list[bytes]
) -> None:
    changed = Trained(tmp_path, copies=copies)
    scales = {1: {"ps": 3}, 3: {"ps": 2, "worker": 3}, 5: {"ps": 1}}
    assert await changed.run({"ps": 1, "worker": 1}, scales) == undisturbed
    assert changed.steps == list(range(STEPS)), "no step is lost or made twice"
    assert len(changed.told(StateMoved)) == 3 and len(changed.told(Restored)) == 1, changed.history


async def test_servers_get_about_as_many_bytes_and_only_what_has_to_move_moves(tmp_path: Path) -> None:
    changed = Trained(tmp_path)
    await changed.run({"ps": 1, "worker": 1}, {2: {"ps": 2}})
    first, second = changed.loads.values()
    (event,) = changed.told(StateMoved)
    assert abs(first - second) <= 160, "the smallest variable with its slot"
    assert event.nbytes == min(first, second)


@pytest.mark.parametrize("victim", ["/job:ps/task:0", "/job:ps/task:1"])
async def test_a_server_is_lost_and_no_step_with_copies(tmp_path: Path, victim: str, undisturbed: list[bytes]) -> None:
    changed = Trained(tmp_path, copies=1)
    bits = await changed.run({"ps": 2, "worker": 1}, {0: {"ps": 1}, 2: {"ps": 2}}, {4: victim, 7: victim})
    assert bits == undisturbed
    assert changed.steps == list(range(STEPS))
    assert [(event.from_copies, event.step) for event in changed.told(Restored)] == [(False, 0), (True, 4), (True, 7)]
    assert {event.step for event in changed.told(StepAborted)} == {4, 7}


async def test_without_copies_training_goes_back_to_the_checkpoint(tmp_path: Path, undisturbed: list[bytes]) -> None:
    changed = Trained(tmp_path, save_steps=3, save_beside=False)
    bits = await changed.run({"ps": 1, "worker": 1}, {1: {"ps": 2}}, {5: "/job:ps/task:1"})
    assert bits == undisturbed
    assert not any(event.from_copies for event in changed.told(Restored))
    assert changed.steps == [*range(5), *range(3, STEPS)]


@pytest.mark.parametrize(
    ("device", "table", "sentence"),
    [
        ("/job:ps/task:1", False, "which asks for /job:ps/task:1 by its number"),
        ("/job:ps", True, "waiting .*, whose elements belong to its task"),
    ],
    ids=["a variable with a number", "a queue"],
)
async def test_state_that_cannot_move_is_named_and_training_goes_on(
    tmp_path: Path, device: str, table: bool, sentence: str
) -> None:
    model = Model(device, table)
    async with af.LocalCluster({"worker": 1, "ps": 2}, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=REPLICAS) as supervisor:
            await supervisor.run([model.train, *([model.fill] if table else [])])
            places = {DeviceSpec.parse(supervisor.session.placement(v.op)).task for v in model.values}
            leaving = [f"/job:ps/task:{task}" for task in places]
            with pytest.raises(errors.FailedPreconditionError, match=f"can't leave, for the last copy .*{sentence}"):
                await supervisor.level(leaving=leaving)
            await supervisor.run(model.train)


async def test_servers_that_join_and_leave_by_themselves_get_and_give_variables(tmp_path: Path) -> None:
    model, steps, left = Model(), 0, anyio.Event()
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:

        async def change() -> None:
            await cluster.scale(ps=2)
            async for event in supervisor.events():
                if isinstance(event, StateMoved):
                    break
            await cluster.scale(ps=1)  # waits until its variables are elsewhere
            left.set()

        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=REPLICAS) as supervisor:
            async with anyio.create_task_group() as group:
                group.start_soon(change)
                async for attempt in supervisor.steps():
                    async with attempt as step:
                        await supervisor.run(model.train)
                    steps = step + 1
                    if left.is_set():
                        break
            values = await supervisor.run(model.values)
            moved = [event for event in supervisor.history if isinstance(event, StateMoved)]
    assert [{device for _, device in event.nodes.values()} for event in moved] == [{server(1)}, {server(0)}]
    undisturbed = await Trained(tmp_path / "one").run({"ps": 1, "worker": 1}, {}, steps=steps)
    assert [np.asarray(value).tobytes() for value in values] == undisturbed


@pytest.mark.parametrize("why", ["a loss", "a step that waits"])
async def test_a_server_whose_first_move_fails_gets_its_share_later(tmp_path: Path, why: str) -> None:
    model, tries = Model(), 0
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=REPLICAS) as supervisor:
            moves: Any = supervisor._roles.moves
            move = moves.move

            async def failing(*wishes: Any) -> Any:
                nonlocal tries
                tries += 1
                if tries > 1:
                    return await move(*wishes)
                if why == "a step that waits":
                    raise StepsUnderWay("A step waits.")
                moves.manager.take_back(errors.AbortedError("A loss."))
                raise errors.AbortedError("A loss.")

            moves.move = failing
            async for attempt in supervisor.steps():
                async with attempt as step:
                    await supervisor.run(model.train)
                if step == 0 and cluster.spec.num_tasks("ps") == 1:
                    await cluster.scale(ps=2)
                if any(isinstance(event, StateMoved) for event in supervisor.history):
                    break
            places = {supervisor.session.placement(variable.op) for variable in model.values}
    assert places == {server(0), server(1)} and tries == 2


async def test_tasks_that_cannot_leave_keep_no_newcomer_from_its_share_and_are_tried_again_when_another_joins(
    tmp_path: Path,
) -> None:
    model = Model()
    async with af.LocalCluster({"ps": 2, "worker": 1}, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=REPLICAS) as supervisor:
            await supervisor.run(model.train)
            manager, wishes, level = supervisor._manager, [], af.Supervisor.level
            stays, steps = server(0).replace("/replica:0", "").partition("/device")[0], 0

            async def stuck(leaving: Any, jobs: Any) -> None:
                wishes.append((set(leaving), set(jobs)))
                if leaving:
                    raise errors.FailedPreconditionError(f"{stays} can't leave.")
                await level(supervisor, leaving, jobs)

            supervisor.level = stuck  # type: ignore[method-assign]
            manager.monitor._tasks[stays].leaving = True  # type: ignore[union-attr]
            for tries, count in enumerate([3, 4], 1):
                await cluster.scale(ps=count)
                async for attempt in supervisor.steps():
                    async with attempt:
                        await supervisor.run(model.train)
                    manager.monitor._tasks[stays].leaving = True  # type: ignore[union-attr]
                    steps += 1
                    if len(wishes) >= 2 * tries and wishes[-1] == (set(), {"ps"}) or steps == 100:
                        break
    assert [leaving for leaving, _ in wishes].count({stays}) == 2 and wishes[-1] == (set(), {"ps"})


def server(task: int) -> str:
    return f"/job:ps/replica:0/task:{task}/device:CPU:0"


def groups(*rows: tuple[int, int], tasks: int = 3) -> list[StateGroup]:
    options = tuple(server(task) for task in range(tasks))
    return [StateGroup((f"v{at}",), nbytes, server(task), options) for at, (task, nbytes) in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "leaving", "jobs", "moved"),
    [
        ([(0, 100), (1, 100)], [], ["ps"], {}),
        ([(0, 100)] * 3, [], ["ps"], {"v0": 1, "v1": 2}),
        ([(0, 50), (0, 30), (0, 20), (1, 100), (2, 100)], [], ["ps"], {}),
        ([(0, 100), (1, 60), (1, 40), (2, 10)], ["/job:ps/task:1"], [], {"v1": 2, "v2": 2}),
        ([(0, 8), (0, 300)], [], ["ps"], {"v1": 1}),
        ([(0, 0), (0, 0)], [], ["ps"], {}),
        ([(0, 900), *[(1, 100)] * 6], [], ["ps"], {"v1": 2, "v2": 2, "v3": 2}),
        ([(0, 900), (0, 400), *[(1, 100)] * 6], [], ["ps"], {"v0": 2, "v2": 0}),
        ([(0, 900), (1, 500), (2, 100), (2, 100)], [], ["ps"], {}),
    ],
)
def test_which_groups_move(
    rows: list[tuple[int, int]], leaving: list[str], jobs: list[str], moved: dict[str, int]
) -> None:
    result = balanced(groups(*rows), leaving, jobs)
    assert result.devices == {name: server(task) for name, task in moved.items()} and not result.stuck


def test_a_group_with_no_other_task_is_stuck() -> None:
    result = balanced(groups((0, 10), tasks=1), ["/job:ps/task:0"], [])
    assert result.stuck == ("v0, for which no other task is there",) and not result.devices


@pytest.mark.parametrize(("jobs", "copies"), [({"ps": 2, "worker": 1}, 0), ({"ps": 1, "worker": 2}, 1)])
async def test_a_task_that_leaves_before_a_move_or_a_copy_begins_disturbs_nothing(
    tmp_path: Path, jobs: dict[str, int], copies: int
) -> None:
    model, steps = Model("/job:ps"), 0
    fewer = {job: 1 for job, count in jobs.items() if count == 2}
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local", file_roots=[tmp_path]) as cluster:
        options = {"checkpoint_dir": tmp_path, "replicas": REPLICAS, "copies": copies}
        async with af.Supervisor(cluster.target_of("/job:ps/task:0"), model.graph, **options) as supervisor:
            over, has_left = supervisor._doubt.over, anyio.Event()

            async def leave() -> None:
                await over()
                if not has_left.is_set() and cluster.spec.num_tasks("ps") + cluster.spec.num_tasks("worker") == 3:
                    has_left.set()
                    await cluster.scale(**fewer)

            supervisor._doubt.over = leave
            async for attempt in supervisor.steps():
                async with attempt as step:
                    await supervisor.run(model.train)
                steps = step + 1
                if step == 1:
                    await cluster.scale(**jobs)
                if has_left.is_set() and step > 3:
                    break
            values = await supervisor.run(model.values)
            restored = [event for event in supervisor.history if isinstance(event, Restored)]
    undisturbed = await Trained(tmp_path / "one").run({"ps": 1, "worker": 1}, {}, steps=steps)
    assert [np.asarray(value).tobytes() for value in values] == undisturbed
    assert len(restored) == 1, supervisor.history
