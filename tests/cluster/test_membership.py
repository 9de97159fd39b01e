"""Tasks join and leave a cluster while its sessions live."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
from channels import until
from cluster.test_cli import command, lines_until
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.cluster.client.inquiries import ask, query_status
from actorflow.cluster.client.membership import leave, query_view, reserve
from actorflow.cluster.config.credentials import Credentials, write_keys
from actorflow.cluster.config.spec import ClusterSpec, parse_task
from actorflow.cluster.membership.rounds import Rounds
from actorflow.cluster.membership.view import (
    GUEST,
    View,
    decode_view,
    differ,
    founded,
    guest,
    joined,
    left,
    newer,
    place_for,
)
from actorflow.cluster.processes.metrics import render
from actorflow.cluster.processes.task_config import TaskConfig, from_message, to_message
from actorflow.cluster.wire.messages import Join
from actorflow.frontends.cli.main import main
from actorflow.frontends.cli.worker import read_limits

SPEC = ClusterSpec({"ps": ["p0:1", "p1:1"], "worker": ["w0:1"]})
LIMITS = {"worker": (1, 4), "ps": (1, None)}


# ---- views are values


@pytest.mark.parametrize("seed", range(20))
def test_any_row_of_changes_keeps_what_every_view_has(seed: int) -> None:
    draw = random.Random(seed)
    view, seen = founded(SPEC, LIMITS), {}
    for number in range(60):
        job = draw.choice(["ps", "worker", "other"])
        former = view
        try:
            if draw.random() < 0.6:
                index = draw.choice([None, None, draw.randrange(5)])
                address = f"tcp://h{draw.randrange(9)}:1"
                view = joined(view, place_for(view, job, index, address), address)
            else:
                view = left(view, draw.choice([*view.members, f"/job:{job}/task:{draw.randrange(9)}"]))
        except errors.OpError:
            assert view == former, f"seed {seed}: a refused change changed the view"
        assert view.epoch - former.epoch in (0, 1) and (view.epoch == former.epoch) == (view == former), seed
        assert len(set(view.members.values())) == len(view.tasks) == len(view.members), f"seed {seed}, change {number}"
        assert 1 <= view.count("worker") <= 4 and view.count("ps") >= 1, seed
        assert view.coordinator == "/job:ps/task:0" in view.members and view.cluster == SPEC.cluster_id, seed
        assert decode_view(view.encode()) == view, seed
        assert seen.setdefault(view.epoch, view) == view, f"seed {seed}: two views {view.epoch}"
        came, went = differ(former, view)
        assert len(came) + len(went) == view.epoch - former.epoch, seed


@pytest.mark.parametrize(
    ("job", "index", "address", "error", "sentence"),
    [
        (
            "worker",
            0,
            "x:1",
            errors.AlreadyExistsError,
            "The number 0 of job 'worker' is taken by a task at tcp://w0:1.",
        ),
        ("worker", None, "p1:1", errors.AlreadyExistsError, "/job:ps/task:1 has the address tcp://p1:1 in view 1"),
        ("worker", 2, "x:1", errors.AlreadyExistsError, "is taken by a task which is about to join"),
        ("9", None, "x:1", errors.InvalidArgumentError, "names no task"),
        ("worker", None, "x", errors.InvalidArgumentError, "is not an address"),
    ],
)
def test_a_place_that_cannot_be_is_refused_with_the_sentence_that_tells_which(
    job: str, index: int | None, address: str, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        place_for(founded(SPEC), job, index, address, {"/job:worker/task:2"})


def test_places_are_the_least_free_numbers_and_a_task_may_come_back_to_its_own() -> None:
    view = founded(ClusterSpec({"worker": {0: "a:1", 2: "b:1"}}))
    assert place_for(view, "worker", None, "c:1") == "/job:worker/task:1"
    assert place_for(view, "worker", None, "c:1", ["/job:worker/task:1"]) == "/job:worker/task:3"
    assert place_for(view, "worker", 2, "tcp://b:1") == "/job:worker/task:2"
    assert joined(view, "/job:worker/task:2", "b:1") is view
    assert place_for(view, "evaluator", None, "c:1") == "/job:evaluator/task:0"


def test_limits_are_kept() -> None:
    view = founded(SPEC, {"worker": (1, 2)})
    view = joined(view, "/job:worker/task:1", "w1:1")
    with pytest.raises(
        errors.ResourceExhaustedError, match="Job 'worker' has 2 tasks in view 2 of the cluster, as many"
    ):
        place_for(view, "worker", None, "w2:1")
    view = left(view, "/job:worker/task:0")
    with pytest.raises(
        errors.FailedPreconditionError, match="Job 'worker' has 1 tasks in view 3 of the cluster, and needs 1"
    ):
        left(view, "/job:worker/task:1")
    for limits in ({"worker": (2, 1)}, {"worker": (-1, None)}, {"ps": (0, 1)}):
        with pytest.raises(errors.InvalidArgumentError):
            founded(SPEC, limits)  # type: ignore[arg-type]


def test_the_coordinator_and_strangers_do_not_leave() -> None:
    with pytest.raises(errors.FailedPreconditionError, match="is the coordinator of the cluster"):
        left(founded(SPEC), "/job:ps/task:0")
    with pytest.raises(errors.NotFoundError, match="is no member of view 1"):
        left(founded(SPEC), "/job:worker/task:7")


def test_a_view_follows_older_views_only() -> None:
    view = founded(SPEC)
    later = joined(view, "/job:worker/task:1", "w1:1")
    assert newer(view, later) and not newer(later, later)
    assert newer(guest(view, "/job:worker/task:1", "w1:1"), view)
    for other, sentence in [
        (view, "View 1 of the cluster is older than view 2"),
        (replace(later, tasks=view.tasks), "two views 2"),
        (replace(later, cluster="else"), "is of cluster 'else'"),
    ]:
        with pytest.raises(errors.FailedPreconditionError, match=sentence):
            newer(later, other)


@pytest.mark.parametrize("data", [b"", b"\xc0", b"\x90", View("c", 1, "a", (("x", "y:1"),)).encode(), b"\xff" * 9])
def test_what_is_no_view_is_refused(data: bytes) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="can't be read"):
        decode_view(data)


def test_a_process_gets_its_view_with_its_configuration() -> None:
    view = guest(founded(SPEC, LIMITS), "/job:worker/task:1", "w1:1")
    config = TaskConfig(view.spec, "worker", 1, view=view)
    assert from_message(to_message(config)) == config and view.epoch == GUEST


# ---- clusters


def graph_on(tasks: int) -> tuple[af.Graph, Any, list[Any]]:
    """A graph with a tensor on each of some workers."""
    with af.Graph().as_default() as graph:
        with af.device("/job:worker/task:0"):
            x = af.placeholder(af.float32, [], name="x")
        outputs = []
        for index in range(tasks):
            with af.device(f"/job:worker/task:{index}"):
                outputs.append(x * float(index + 1))
    return graph, x, outputs


@contextmanager
def refused(error: type[Exception], sentence: str) -> Iterator[None]:
    with pytest.raises(error, match=re.escape(sentence)):
        yield


async def test_an_open_session_uses_tasks_that_join_and_plans_without_those_that_leave() -> None:
    graph, x, (first, second, third) = graph_on(3)
    async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
        async with af.Session(cluster.target, graph) as session:
            assert await session.run(first, {x: 1.0}) == 1.0
            with refused(errors.InvalidArgumentError, "No device fits"):
                await session.run(second, {x: 1.0})
            await cluster.scale(worker=3)
            assert list(await session.run([first, second, third], {x: 1.0})) == [1.0, 2.0, 3.0]
            await cluster.scale(worker=2)
            assert list(await session.run([first, second], {x: 2.0})) == [2.0, 4.0]
            with refused(errors.InvalidArgumentError, "No device fits"):
                await session.run(third, {x: 1.0})
            await cluster.scale(worker=3)
            assert await session.run(third, {x: 2.0}) == 6.0
        assert cluster.spec.tasks == [f"/job:worker/task:{index}" for index in range(3)]


async def test_a_plan_whose_free_nodes_were_on_a_task_that_left_is_made_anew() -> None:
    graph, x, (first, second) = graph_on(2)
    with graph.as_default():
        total = af.add_n([first, second]) + 1.0
    async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        async with af.Session(cluster.target, graph) as session:
            run = await session.make_callable(first, [x])
            assert await run(3.0) == 3.0 and await session.run(total, {x: 1.0}) == 4.0
            await cluster.scale(worker=1)
            assert await run(4.0) == 4.0
            await cluster.scale(worker=2)
            assert await session.run(total, {x: 2.0}) == 7.0 and await run(5.0) == 5.0


async def test_random_numbers_of_a_task_that_left_do_not_begin_again_without_a_word() -> None:
    with af.Graph().as_default() as graph:
        with af.device("/job:worker/task:1"):
            x = af.random_uniform([], seed=1)
        noise = af.random_uniform([], seed=2) + x * 0.0
        with af.device("/job:worker/task:0"):
            other = af.constant(1.0) + 1.0
        total = noise + 1.0
    async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        async with af.Session(cluster.target, graph) as session:
            await session.run(total)
            await cluster.scale(worker=1)
            assert await session.run(other) == 2.0
            with refused(errors.InvalidArgumentError, "No device fits"):
                await session.run(total)
            await cluster.scale(worker=2)
            with refused(errors.AbortedError, "counters of random numbers"):
                await session.run(total)
            assert await session.run(total) >= 1.0, "told once, the run begins them again"


async def test_steps_in_flight_on_tasks_that_stay_go_on() -> None:
    with af.Graph().as_default() as graph, af.device("/job:worker/task:0"):
        queue = af.FIFOQueue(1, [af.float32], shapes=[[]])
        put, take = queue.enqueue([af.constant(7.0)]), queue.dequeue()
    async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
        async with af.Session(cluster.target, graph) as session:
            await session.warmup(put)
            results: list[Any] = []

            async def wait() -> None:
                results.append(await session.run(take))

            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await cluster.scale(worker=3)
                await cluster.scale(worker=1)
                assert not results
                await session.run(put)
            assert results == [7.0]


async def test_members_are_told_first_as_they_are_and_then_each_change() -> None:
    async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
        async with af.Session(cluster.target, af.Graph()) as session:
            told = []
            async for change in session.members():
                told.append((change.epoch, change.joined, change.left, len(session.list_devices())))
                if change.epoch == 3:
                    break
                await cluster.scale(worker={1: 2, 2: 1}[change.epoch])
            task = "/job:worker/task:1"
            assert told == [(1, ("/job:worker/task:0",), (), 1), (2, (task,), (), 2), (3, (), (task,), 1)]
    async with af.Session(graph=af.Graph()) as session:
        with refused(errors.FailedPreconditionError, "has no cluster"):
            session.members()


async def test_a_task_that_holds_variables_leaves_only_when_they_are_saved() -> None:
    with af.Graph().as_default() as graph, af.device("/job:ps/task:1"):
        weights = af.Variable(np.zeros(3, np.float32), name="weights")
    async with af.LocalCluster({"ps": 2}, transport="local") as cluster:
        async with af.Session(cluster.target, graph) as session:
            await session.run(weights.initializer)
        with refused(errors.FailedPreconditionError, "/job:ps/task:1 holds the only copy of weights"):
            await cluster.scale(ps=1)
        assert cluster.spec.num_tasks("ps") == 2
        await cluster.scale(ps=1, saved=True)
        assert cluster.spec.tasks == ["/job:ps/task:0"]


@pytest.mark.parametrize(
    ("jobs", "error", "sentence"),
    [
        ({"worker": 0}, errors.FailedPreconditionError, "/job:worker/task:0 is the coordinator"),
        ({"worker": 4}, errors.ResourceExhaustedError, "has 3 tasks in view 3 of the cluster, as many as it may have"),
        ({"worker": -1}, errors.InvalidArgumentError, "can't have -1 tasks"),
        ({"9": 1}, errors.InvalidArgumentError, "names no task"),
    ],
)
async def test_what_cannot_be_is_refused_and_leaves_the_cluster_as_it_is(
    jobs: dict[str, int], error: type[Exception], sentence: str
) -> None:
    async with af.LocalCluster({"worker": 3}, transport="local", limits={"worker": (1, 3)}) as cluster:
        await cluster.scale(worker=2)
        await cluster.scale(worker=3)
        with refused(error, sentence if "view" not in sentence else "as many as it may have"):
            await cluster.scale(**jobs)
        assert {0} <= set(cluster.spec.task_indices("worker"))
        graph, x, outputs = graph_on(1)
        async with af.Session(cluster.target, graph) as session:
            assert await session.run(outputs[0], {x: 1.0}) == 1.0


async def test_a_task_of_another_release_is_refused() -> None:
    async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        target = cluster.target_of("/job:worker/task:1")  # any task hands the question on
        with refused(errors.FailedPreconditionError, "and the task that wants to join actorflow 9.9"):
            await reserve(target, None, "worker", None, "local://x", release="9.9")
        task, view = await reserve(target, None, "worker", None, "local://x")
        assert task == "/job:worker/task:2" and view.epoch == GUEST
        assert (await query_view(target)).epoch == 1, "who has a place is no member yet"


async def test_a_task_says_that_it_joins_until_the_members_know_it() -> None:
    async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
        coordinator = cluster._here["/job:worker/task:0"].server
        task, view = await reserve(cluster.target, None, "worker", None, "local://newcomer")
        newcomer = af.Server(view, "worker", 1, transport="local")
        states: list[str] = []

        async def serve() -> None:
            async with newcomer:
                states.append((await query_status("local://newcomer"))["state"])

        async with anyio.create_task_group() as group:
            async with coordinator.membership.coordinator.turn:
                group.start_soon(serve)
                await until(lambda: task in (link.task for link in coordinator.links.inbound.values()))
                states.append((await query_status("local://newcomer"))["state"])
        assert states == ["joining", "live"]


@pytest.mark.parametrize("address", ["x:0", "nonsense", "tcp://", "sim://a:1", "local://nobody", ""])
async def test_who_joins_at_an_address_that_leads_nowhere_is_refused(address: str) -> None:
    async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
        with pytest.raises((errors.InvalidArgumentError, errors.UnavailableError)):
            await ask(cluster.target, None, 5.0, Join("/job:worker/task:1", address))
        assert (await query_view(cluster.target)).epoch == 1


async def test_nobody_joins_while_a_member_does_not_answer_until_it_is_declared_lost() -> None:
    async with af.LocalCluster({"worker": 3}, transport="local") as cluster:
        await cluster.kill("/job:worker/task:1")
        with refused(errors.UnavailableError, "No task joins or leaves now, since /job:worker/task:1 does not answer"):
            await cluster.scale(worker=4)
        view = await leave(cluster.target, "/job:worker/task:1", "lost")
        assert list(view.members) == ["/job:worker/task:0", "/job:worker/task:2"]
        await cluster.scale(worker=3)
        assert cluster.spec.task_indices("worker") == [0, 1, 2]


async def test_two_tasks_that_are_lost_at_once_are_declared_so_in_any_order() -> None:
    async with af.LocalCluster({"worker": 4}, transport="local") as cluster:
        first, second = "/job:worker/task:1", "/job:worker/task:3"
        await cluster.kill(first)
        await cluster.kill(second)
        with refused(errors.UnavailableError, f"since {second} does not answer"):
            await leave(cluster.target, first, "lost")
        await leave(cluster.target, second, "lost")
        view = await leave(cluster.target, first, "lost")
        assert list(view.members) == ["/job:worker/task:0", "/job:worker/task:2"]
        await cluster.scale(worker=4)


async def test_a_task_that_is_declared_lost_and_lives_hears_of_it_and_ends() -> None:
    async with af.LocalCluster({"worker": 3}, transport="local") as cluster:
        server = cluster._here["/job:worker/task:1"].server
        await leave(cluster.target, "/job:worker/task:1", "lost")
        with anyio.fail_after(PATIENCE):
            await server.join()
        assert server.draining


async def test_while_a_task_waits_to_leave_with_its_variables_another_is_declared_lost() -> None:
    with af.Graph().as_default() as graph, af.device("/job:ps/task:1"):
        weights = af.Variable(np.zeros(3, np.float32), name="weights")
    async with af.LocalCluster({"ps": 2, "worker": 1}, transport="local") as cluster:
        async with af.Session(cluster.target, graph) as session:
            await session.run(weights.initializer)
        worker = cluster._here["/job:ps/task:1"].server.worker
        worker.has_supervisor = True  # which may need the loss of the other task to go on
        async with anyio.create_task_group() as group:

            async def drain() -> None:
                with refused(errors.FailedPreconditionError, "holds the only copy of weights"):
                    await leave(coordinator, "/job:ps/task:1")
                ends.append("drained")

            ends: list[str] = []
            coordinator = cluster.target_of("/job:ps/task:0")
            group.start_soon(drain)
            while not worker.leaving:
                await anyio.lowlevel.checkpoint()
            await cluster.kill("/job:worker/task:0")
            await leave(coordinator, "/job:worker/task:0", "lost")
            ends.append("lost")
            worker.has_supervisor = False
        assert ends == ["lost", "drained"]


async def test_a_round_waits_no_more_for_a_member_that_is_declared_lost() -> None:
    rounds, asked, answered = Rounds(), [], anyio.Event()

    async def question(task: str, address: str) -> None:
        asked.append(task)
        if task == "lost":
            await anyio.sleep_forever()
        if task == "slow":
            await answered.wait()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(rounds.ask, [("lost", "a:1"), ("slow", "b:1"), ("here", "c:1")], question)
            await anyio.wait_all_tasks_blocked()
            rounds.give_up("lost")
            answered.set()
        await rounds.ask([("lost", "a:1"), ("here", "c:1")], question)
        rounds.trust("lost")
        with anyio.move_on_after(0.0):
            await rounds.ask([("lost", "a:1")], question)
    assert asked == ["lost", "slow", "here", "here", "lost"]


async def test_a_member_that_is_doubted_is_asked_and_trusted_once_it_answers() -> None:
    rounds, answers = Rounds(), True

    async def question(task: str, address: str) -> None:
        if task == "quiet" or not answers:
            raise errors.UnavailableError(f"{task} does not answer")

    members = [("quiet", "a:1"), ("back", "b:1"), ("here", "c:1")]
    for task in ("quiet", "back"):
        rounds.give_up(task)
        rounds.doubt(task)
    await rounds.ask(members, question)
    assert rounds.doubts("quiet") and not rounds.doubts("back") and not rounds.is_lost("quiet")
    answers = False
    with pytest.raises(BaseExceptionGroup) as raised:
        await rounds.ask(members[:2], question)
    assert [str(error) for error in raised.value.exceptions[0].exceptions] == ["back does not answer"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("waits_for_another", [False, True])
async def test_a_member_whose_loss_is_not_declared_after_all_has_the_next_views(waits_for_another: bool) -> None:
    limits = None if waits_for_another else {"worker": (3, None)}
    async with af.LocalCluster({"worker": 3}, transport="local", limits=limits) as cluster:
        alive, dead = "/job:worker/task:1", "/job:worker/task:2"
        if waits_for_another:
            await cluster.kill(dead)
            with refused(errors.UnavailableError, f"since {dead} does not answer"):
                await leave(cluster.target, alive, "lost")
            view = await leave(cluster.target, dead, "lost")
        else:
            with refused(errors.FailedPreconditionError, "and needs 3"):
                await leave(cluster.target, alive, "lost")
            await cluster.scale(worker=4)
            view = await query_view(cluster.target)
        assert view.epoch == 2
        assert await query_view(cluster.target_of(alive)) == view


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_task_whose_leave_fails_does_not_leave(is_cancelled: bool) -> None:
    async with af.LocalCluster({"worker": 3}, transport="local") as cluster:
        leaver = cluster._here["/job:worker/task:1"].server
        if is_cancelled:
            coordinator = cluster._here["/job:worker/task:0"].server
            async with coordinator.membership.coordinator.turn, anyio.create_task_group() as group:
                group.start_soon(coordinator.membership.leave, "/job:worker/task:1")
                await until(lambda: leaver.worker.leaving)
                group.cancel_scope.cancel()
        else:
            await cluster.kill("/job:worker/task:2")
            with refused(errors.UnavailableError, "No task joins or leaves now"):
                await leave(cluster.target, "/job:worker/task:1")
        assert not leaver.worker.leaving


async def test_steps_go_on_without_the_coordinator_and_one_that_starts_again_learns_the_view() -> None:
    graph, x, (first, _) = graph_on(2)
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:
        await cluster.scale(worker=2)
        founding = founded(ClusterSpec({job: [cluster.spec.task_address(job, 0)] for job in ("ps", "worker")}))
        await cluster.kill("/job:ps/task:0")
        with refused(errors.UnavailableError, "The coordinator of the cluster, /job:ps/task:0, can't be reached"):
            await leave(cluster.target, "/job:worker/task:1")
        config = cluster._config["/job:ps/task:0"]
        cluster._config["/job:ps/task:0"] = replace(
            config, view=founding, cluster=founding.spec
        )  # as a scheduler would
        await cluster.restart("/job:ps/task:0")
        assert (await leave(cluster.target, "/job:worker/task:1")).epoch == 3
        async with af.Session(cluster.target, graph) as session:
            assert await session.run(first, {x: 2.0}) == 2.0


async def test_a_member_that_has_left_is_refused_as_master() -> None:
    graph, x, outputs = graph_on(1)
    async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        config = cluster._config["/job:worker/task:1"]
        target = cluster.target_of("/job:worker/task:1")
        await cluster.scale(worker=1)
        cluster._config["/job:worker/task:1"] = config
        assert cluster._group is not None
        await cluster._group.start(cluster._serve, "/job:worker/task:1")  # it knows of the first view only
        async with af.Session(target, graph) as session:
            with refused(errors.FailedPreconditionError, "/job:worker/task:1 is no member of view 2 of the cluster"):
                await session.run(outputs[0], {x: 1.0})


async def test_tasks_that_join_at_once_get_different_numbers_and_one_view() -> None:
    async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
        target = cluster.target

        async def join(number: int) -> None:
            task, _ = await reserve(target, None, "worker", None, f"local://{number}")
            tasks.append(task)

        tasks: list[str] = []
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(join, number)
        assert sorted(tasks) == [f"/job:worker/task:{index}" for index in range(1, 7)]


@asynccontextmanager
async def one_turn(cluster: af.LocalCluster, count: int) -> AsyncIterator[None]:
    """A block whose requests, of that number, are carried out in one turn of the coordinator at its end."""
    coordinator = cluster._here["/job:worker/task:0"].server.membership.coordinator
    async with coordinator.turn:
        yield
        await until(lambda: len(coordinator._queue) == count)


async def test_what_waits_for_a_turn_is_carried_out_in_one_view() -> None:
    newcomers = {f"/job:worker/task:{index}": f"local://newcomer{index}" for index in range(1, 7)}
    async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
        views = {task: await reserve(cluster.target, None, "worker", None, newcomers[task]) for task in newcomers}
        ends: dict[str, int | str] = {}

        async def serve(task: str) -> None:
            _, view = views[task]
            async with af.Server(view, "worker", parse_task(task)[1], transport="local") as server:
                ends[task] = server.membership.view.epoch
                await server.join()

        async def go(task: str) -> None:
            try:
                ends[task] = (await leave(cluster.target, task)).epoch
            except errors.OpError as error:
                ends[task] = error.message

        async with anyio.create_task_group() as group:
            async with one_turn(cluster, 6):
                for task in newcomers:
                    group.start_soon(serve, task)
            await until(lambda: len(ends) == 6)
            assert ends == dict.fromkeys(newcomers, 2)
            ends.clear()
            leaving = [*newcomers, "/job:worker/task:0", "/job:worker/task:9"]
            async with one_turn(cluster, len(leaving)):
                for task in leaving:
                    group.start_soon(go, task)
        assert [ends.pop(task) for task in newcomers] == [3] * 6
        assert ends == {
            "/job:worker/task:0": "/job:worker/task:0 is the coordinator of the cluster, which is the last to leave.",
            "/job:worker/task:9": "/job:worker/task:9 is no member of view 2 of the cluster.",
        }


async def test_two_changes_of_a_task_are_two_views() -> None:
    async with af.LocalCluster({"worker": 3}, transport="local") as cluster:
        task = "/job:worker/task:1"
        coordinator = cluster._here["/job:worker/task:0"].server.membership
        ends: list[int | str] = []

        async def go(how: str) -> None:
            try:
                ends.append((await leave(cluster.target, task, how)).epoch)
            except errors.NotFoundError as error:
                ends.append(error.message)

        async with anyio.create_task_group() as group:
            async with one_turn(cluster, 2):
                group.start_soon(go, "saved")
                await until(lambda: coordinator.coordinator._queue)
                group.start_soon(go, "drained")
        assert ends == [2, f"{task} is no member of view 2 of the cluster."]


async def test_a_request_that_is_withdrawn_before_its_turn_is_not_carried_out() -> None:
    async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        membership = cluster._here["/job:worker/task:0"].server.membership
        async with membership.coordinator.turn, anyio.create_task_group() as group:
            group.start_soon(membership.leave, "/job:worker/task:1", "saved")
            await until(lambda: membership.coordinator._queue)
            group.cancel_scope.cancel()
        await cluster.scale(worker=3)
        assert membership.view.epoch == 2 and len(membership.view.tasks) == 3


# ---- processes


def test_processes_join_and_leave_a_running_cluster() -> None:
    graph, x, outputs = graph_on(3)
    with af.blocking.LocalCluster({"worker": 1}) as cluster, af.blocking.Session(cluster.target, graph) as session:
        assert session.run(outputs[0], {x: 1.0}) == 1.0
        members = session.members()
        assert next(members).epoch == 1
        cluster.scale(worker=3)
        joined_now: list[str] = []
        while len(joined_now) < 2:  # in one view or in two
            joined_now += next(members).joined
        assert list(session.run(outputs, {x: 1.0})) == [1.0, 2.0, 3.0]
        (gone,) = [process for task, process in cluster.processes.items() if task == "/job:worker/task:2"]
        cluster.scale(worker=2)
        assert gone.returncode == 0, gone.last_log_lines
        assert list(session.run(outputs[:2], {x: 1.0})) == [1.0, 2.0]
        cluster.kill("/job:worker/task:1")
        cluster.restart("/job:worker/task:1")
        assert list(session.run(outputs[:2], {x: 2.0})) == [2.0, 4.0]


def test_a_command_joins_a_cluster_another_takes_it_out_and_sigterm_leaves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, x, outputs = graph_on(2)
    with af.blocking.LocalCluster({"worker": 1}, limits={"worker": (1, 2)}) as cluster:
        assert cluster._inner.credentials is not None
        keys = str(tmp_path / "keys")
        write_keys(keys, cluster._inner.credentials)
        target = cluster.target.address
        join = ["worker", "--join", target, "--job", "worker"]
        with af.blocking.Session(cluster.target, graph) as session:
            for ending in ("leave", "SIGTERM"):
                with command(*join, ACTORFLOW_KEYS=keys) as process:
                    lines_until(process.stderr, "versions")
                    assert list(session.run(outputs, {x: 1.0})) == [1.0, 2.0]
                    assert main([*join, "--keys", keys]) == 1
                    assert "Job 'worker' has 2 tasks" in capsys.readouterr().err
                    if ending == "leave":
                        assert main(["leave", "worker:1", target, "--keys", keys]) == 0
                        assert re.search("has left: view . of the cluster has 1 tasks", capsys.readouterr().out)
                    else:
                        process.terminate()
                    assert process.wait(60) == 0, process.stderr.read()
                assert session.run(outputs[0], {x: 2.0}) == 2.0
                assert len(anyio.run(query_view, cluster.target).tasks) == 1
        write_keys(tmp_path / "others", Credentials.make())
        assert main([*join, "--keys", str(tmp_path / "others")]) == 1
        assert main(["worker", "--join", target]) == 1
        assert "--join takes --job" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["worker", "worker=1", "worker=2:x", "worker=1:2,worker=1:3", "=1:2"])
def test_limits_of_a_command_line_that_cannot_be(text: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="is not of the form JOB=LEAST:MOST"):
        read_limits(text)
    assert read_limits("worker=1:8,ps=1:") == {"worker": (1, 8), "ps": (1, None)}


async def test_metrics_tell_the_view_and_the_members_by_job() -> None:
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:
        await cluster.scale(worker=2)
        await cluster.scale(worker=3)
        status = await query_status(cluster.target)
    text = render({status["task"]: status})
    assert 'actorflow_cluster_view{task="/job:worker/task:0"} 3' in text
    assert 'actorflow_cluster_members{task="/job:worker/task:0",job="worker"} 3' in text
    assert 'actorflow_cluster_members{task="/job:worker/task:0",job="ps"} 1' in text


async def test_a_task_that_leaves_before_its_master_has_reached_it_is_forgotten() -> None:
    """The master tries again in a while; the task may be gone by then."""
    task, address = "/job:worker/task:9", "local://left:1"
    async with af.Server({"worker": ["local://first:1"]}, "worker", 0, transport="local") as server:
        master = server.master
        master._addresses[task] = address
        async with anyio.create_task_group() as group:
            group.start_soon(master._follow_later, task, address)
            await anyio.wait_all_tasks_blocked()
            del master._addresses[task]
