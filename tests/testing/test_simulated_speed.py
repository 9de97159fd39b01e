"""A training with logical workers on hosts of which one is slow: the supervisor tells which, and replaces it if asked."""

from __future__ import annotations

import itertools
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow.base.process import machine
from actorflow.cluster.client.membership import reserve
from actorflow.cluster.config.spec import parse_task
from actorflow.cluster.server import Server
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.supervisor import ReplicasMapped, RestartPolicy, Rules, StepAborted, TaskSlow
from actorflow.testing import World, simulate
from actorflow.training.supervisor.slow_tasks import SlowTasks, TaskWaits

CLUSTER = {"ps": ["ps0:1"], "worker": ["w0:1", "w1:1"]}
FOUNDERS = {"ps0": ("ps", 0), "w0": ("worker", 0), "w1": ("worker", 1)}
SLOW, SPARE, FOLDER = "j0", "j1", "/models"
REPLICAS, STEPS, SECONDS = 8, 80, 0.1


@af.op("TestHostSpeed", shape=unchanged, gradient=None, asynchronous=True)
def at_host_speed(x: af.Tensor, *, tag: int, name: str | None = None) -> af.Tensor:
    """`x` itself, after a tenth of a second, and on the slow host after five."""


@af.kernel("TestHostSpeed")
async def _at_host_speed(xp: Any, x: Any, *, tag: int) -> Any:
    await anyio.sleep(SECONDS * (5 if machine.host() == SLOW else 1))
    return x


class Model:
    def __init__(self) -> None:
        tags = itertools.count()
        with af.Graph().as_default() as self.graph, af.device("/job:ps"):
            step = af.train.get_or_create_global_step()
            self.x = af.placeholder(af.float32, [None, 3])

            def tower(x: af.Tensor) -> af.Operation:
                weights = af.get_variable("weights", [3, 1], initializer=af.ones_initializer())
                loss = af.reduce_mean(af.square(at_host_speed(x, tag=next(tags)) @ weights - 1.0))
                return af.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)

            self.train = af.train.Replicas(REPLICAS, seed=2).build(tower, self.x)


async def founder(job: str, index: int) -> None:
    async with Server(CLUSTER, job, index, file_roots=[FOLDER]) as server:
        await server.join()


async def joiner(world: World, name: str, after: float) -> None:
    """Joins once; when it is asked to leave, it is over."""
    await anyio.sleep(after)
    task, view = await reserve("tcp://w0:1", None, "worker", None, f"{name}:1")
    async with Server(view, *parse_task(task), file_roots=[FOLDER]) as server:
        await server.join()
        await server.drain(10.0)


async def chief(results: dict[str, Any], policy: RestartPolicy, factor: float) -> None:
    model = Model()
    async with af.Supervisor(
        "tcp://w0:1",
        model.graph,
        checkpoint_dir=FOLDER,
        seed=1,
        replicas=REPLICAS,
        restarts=policy,
        rules=Rules(slow_factor=factor),
    ) as supervisor:
        async for attempt in supervisor.steps(until=STEPS):
            async with attempt as step:
                rows = np.random.default_rng(step).normal(size=(16, 3)).astype(np.float32)
                await supervisor.run(model.train, {model.x: rows})
        results["history"], results["tasks"] = list(supervisor.history), set(supervisor.replicas)


def run(joiners: dict[str, float], *, replaces_slow: bool = False, factor: float = 3.0) -> dict[str, Any]:
    results: dict[str, Any] = {}

    async def main(world: World) -> None:
        world.share_files(*FOUNDERS, *joiners, "chief")
        for name, place in FOUNDERS.items():
            world.spawn(name, founder, *place)
        for name, after in joiners.items():
            world.spawn(name, joiner, world, name, after)
        await world.spawn("chief", chief, results, RestartPolicy(replaces_slow=replaces_slow), factor)

    simulate(main, seed=1, hosts=[*FOUNDERS, *joiners, "chief"], limit=1000)
    return results


def slow_tasks(results: dict[str, Any]) -> list[TaskSlow]:
    return [event for event in results["history"] if isinstance(event, TaskSlow)]


def test_a_slow_task_is_told_once() -> None:
    results = run({SLOW: 0.5})
    (event,) = slow_tasks(results)
    assert event.task == "/job:worker/task:2" and 7 < event.factor < 8
    assert event.task in results["tasks"], "it was not asked to leave"


@pytest.mark.parametrize(("joiners", "factor"), [({SPARE: 0.5}, 3.0), ({SLOW: 0.5}, 9.0)])
def test_tasks_that_are_not_slow_by_the_factor_are_not_told(joiners: dict[str, float], factor: float) -> None:
    assert not slow_tasks(run(joiners, factor=factor))


def test_a_slow_task_is_replaced_where_that_is_asked() -> None:
    results = run({SLOW: 0.5, SPARE: 12.0}, replaces_slow=True)
    (event,) = slow_tasks(results)
    shares = [row.tasks for row in results["history"] if isinstance(row, ReplicasMapped) and row.time > event.time]
    assert event.task not in shares[0], "the logical workers of the slow task go to the others"
    assert len(results["tasks"]) == 3, "and to the task that joined in its place"
    assert not any(isinstance(row, StepAborted) for row in results["history"]), "no step is lost"


# ---- the comparison


@pytest.mark.parametrize("tensors", [1, 100])
@pytest.mark.parametrize(
    ("waits", "replicas", "slow"),
    [
        ({"ps": {"a": 1.0, "b": 1.0, "c": 4.0}}, {"a": (0,), "b": (1,), "c": (2,)}, {"c": 4.0}),
        ({"ps": {"a": 1.0, "b": 1.0, "c": 2.9}}, {"a": (0,), "b": (1,), "c": (2,)}, {}),
        ({"ps": {"a": 1.0, "b": 1.0, "c": 4.0}}, {"a": (0,), "b": (1,), "c": (2, 3, 4, 5)}, {}),
        ({"ps": {"a": 2.0, "c": 4.0}, "qs": {"a": 1.0, "b": 1.0}}, {"a": (0,), "b": (1,), "c": (2,)}, {"c": 4.0}),
        ({"ps": {"c": 4.0}}, {"a": (0,), "b": (1,), "c": (2,)}, {}),
        ({"ps": {"a": 0.01, "b": 0.01, "c": 0.9}}, {"a": (0,), "b": (1,), "c": (2,)}, {}),
        ({"ps": {"c": 4.0}}, {"c": (0, 1, 2)}, {}),
        ({"ps": {"a": 1.0, "b": 5.0}, "b": {"c": 4.0}}, {"a": (0,), "b": (1,), "c": (2,)}, {"c": 4.0}),
        ({"a": {"c": 4.0}, "b": {"a": 5.0}, "c": {"b": 0.5}}, {"a": (0,), "b": (1,), "c": (2,)}, {}),
        ({"c": {"c": 4.0}}, {"a": (0,), "c": (1,)}, {}),
        ({}, {"a": (0,), "c": (1,)}, {}),
        ({"ps": {"a": 1.0}}, {}, {}),
    ],
)
def test_a_task_is_slow_if_others_wait_for_each_of_its_logical_workers(
    waits: dict[str, dict[str, float]], replicas: dict[str, tuple[int, ...]], slow: dict[str, float], tensors: int
) -> None:
    judge = SlowTasks(3.0)
    assert judge.look(waited(waits, 1, tensors), replicas, 10.0) == {}, "one span of time says nothing"
    assert judge.look(waited(waits, 2, tensors), replicas, 10.0) == pytest.approx(slow)
    assert judge.look(waited(waits, 2, tensors), replicas, 10.0) == {}, "no task has waited for another since"


def waited(waits: dict[str, dict[str, float]], spans: int, tensors: int) -> dict[str, TaskWaits]:
    """Waits for several tensors in each of ten steps a span of time, at the same time."""
    names = {"a", "b", "c", *waits}
    return {
        receiver: TaskWaits(
            10 * spans,
            {task: 10 * tensors * spans for task in waits.get(receiver, {})},
            {task: tensors * seconds * spans for task, seconds in waits.get(receiver, {}).items()},
        )
        for receiver in names
    }


def test_a_receiver_that_has_started_again_counts_from_its_start() -> None:
    judge, replicas = SlowTasks(3.0), {"a": (0,), "c": (1,)}
    judge.look(waited({"ps": {"a": 1.0, "c": 4.0}}, 50, 1), replicas, 10.0)
    assert judge.look(waited({"ps": {"a": 1.0, "c": 4.0}}, 1, 1), replicas, 10.0) == {"c": 4.0}


@pytest.mark.parametrize("factor", [1.0, 0.0, -3.0, float("nan")])
def test_a_factor_that_makes_all_tasks_slow_is_refused(factor: float) -> None:
    with pytest.raises(af.errors.InvalidArgumentError, match="slow_factor"):
        Rules(slow_factor=factor)


def test_a_policy_that_would_end_slow_tasks_for_good_is_refused() -> None:
    with pytest.raises(af.errors.InvalidArgumentError, match="never started again"):
        RestartPolicy(when="never", replaces_slow=True)
