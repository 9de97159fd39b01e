"""Supervisor: training that goes on across deaths, with the result of training that nothing has disturbed."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from channels import start_zmq_collector, until
from clusters import servers
from patience import PATIENCE, MachineTime
from probes import Probe, hold, probe, wait
from training.supervisor.supervised_chief import CHIEF, OTHER, PS, Program, bits, program
from virtual import run

import actorflow as af
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.config.credentials import write_keys
from actorflow.cluster.processes import local_process
from actorflow.cluster.processes.launcher import Launcher
from actorflow.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnavailableError,
)
from actorflow.supervisor import (
    CheckpointSaved,
    LoopStalled,
    RestartPolicy,
    Restored,
    Rules,
    StepAborted,
    TaskRestarted,
    WorkerEnded,
    WorkerLost,
)
from actorflow.training.supervisor.liveness import State
from actorflow.training.supervisor.recovery import manager

__all__ = ["probe"]

QUICK = RestartPolicy(most=50, first_seconds=0.01, longest_seconds=0.02)


def undisturbed(steps: int) -> list[str]:
    """The book after `steps` steps in one process."""
    made = program(on_cluster=False)
    with af.blocking.Session(graph=made.graph) as session:
        with made.graph.as_default():
            session.run(af.global_variables_initializer())
        for step in range(steps):
            session.run(made.train, made.feeds(step))
        return bits(session.run(made.book))


async def training(
    supervisor: af.Supervisor, made: Program, steps: int, before: Callable[[int], Any] = int
) -> list[int]:
    """Trains, and gives the steps in the order in which they were begun."""
    begun = []
    async for attempt in supervisor.steps(until=steps):
        async with attempt as step:
            begun.append(step)
            before(step)
            await supervisor.run(made.train, made.feeds(step))
    return begun


async def reading(supervisor: af.Supervisor, made: Program) -> list[str]:
    """The book, also where a task dies meanwhile."""
    async for attempt in supervisor.steps():
        async with attempt:
            return bits(await supervisor.run(made.book))
    raise AssertionError("there is always another attempt")


def files(folder: Path) -> list[str]:
    """The files of checkpoints in a folder."""
    return [name for name in os.listdir(folder) if name.startswith("model.ckpt-")]


def told(supervisor: Any, *kinds: Any) -> list[Any]:
    return [event for event in supervisor.history if isinstance(event, kinds)]


@pytest.fixture(scope="module", autouse=True)
def collector() -> None:
    start_zmq_collector()


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    """All clusters of this module fork their processes from one."""
    with Launcher({"OPENBLAS_NUM_THREADS": "1"}) as found:

        async def warm() -> None:
            async with af.LocalCluster({"worker": 1}, launcher=found):
                pass

        anyio.run(warm)
        yield found


@pytest.fixture
async def cluster(launcher: Launcher) -> AsyncIterator[af.LocalCluster]:
    """Three processes."""
    async with af.LocalCluster({"ps": 1, "worker": 2}, launcher=launcher) as found:
        yield found


def nearby() -> af.LocalCluster:
    """Three tasks on this event loop."""
    return af.LocalCluster({"ps": 1, "worker": 2}, transport="local")


# ---- in one process


async def test_f67_every_ten_steps_and_at_the_end(tmp_path: Path) -> None:
    made = program(on_cluster=False)
    async with af.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=10, max_to_keep=3) as supervisor:
        assert await training(supervisor, made, 95) == list(range(95))
        assert bits(await supervisor.run(made.book)) == undisturbed(95)
    assert [event.step for event in told(supervisor, CheckpointSaved)] == [*range(0, 100, 10), 95]
    state = af.train.get_checkpoint_state(tmp_path)
    assert state is not None and [path.rpartition("-")[2] for path in state.all_model_checkpoint_paths] == [
        "80",
        "90",
        "95",
    ]
    assert {name.split("-")[1].split(".")[0] for name in files(tmp_path)} == {"80", "90", "95"}


def test_f67_every_second() -> None:
    made = program(on_cluster=False)

    async def main() -> list[int]:
        async with af.Supervisor("", made.graph, checkpoint_dir="memory://f67", save_seconds=1.0) as supervisor:
            async for attempt in supervisor.steps(until=44):
                async with attempt as step:
                    await supervisor.run(made.train, made.feeds(step))
                    await anyio.sleep(0.125)
        return [event.step for event in told(supervisor, CheckpointSaved)]

    assert run(main)[0] == [0, 8, 16, 24, 32, 40, 44]


async def test_f68_f107_a_chief_that_is_started_again_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def die(step: int) -> None:
        if step == 57:
            raise Killed

    made = program(on_cluster=False)
    with pytest.raises(Killed):
        async with af.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=10) as first:
            await training(first, made, 80, die)
    made = program(on_cluster=False)
    async with af.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=10) as second:
        assert await training(second, made, 80) == list(range(50, 80))
        assert bits(await second.run(made.book)) == undisturbed(80)
    assert [(event.path.rpartition("-")[2], event.step) for event in told(second, Restored)] == [("50", 50)]
    assert [e.step for e in told(first, CheckpointSaved)] == [0, 10, 20, 30, 40, 50], "none when it dies"


async def test_f68_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
    made = program(on_cluster=False)
    async with af.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=10) as supervisor:
        await training(supervisor, made, 20)
    [shard] = [name for name in files(tmp_path) if name.startswith("model.ckpt-20") and name.endswith(".safetensors")]
    os.truncate(tmp_path / shard, 100)
    async with af.Supervisor("", made.graph, checkpoint_dir=tmp_path) as supervisor:
        assert [event.step for event in told(supervisor, Restored)] == [10]


async def test_f65_errors_of_the_program_are_no_losses() -> None:
    made = program(on_cluster=False)
    with made.graph.as_default():
        bad = af.check_numerics(1.0 / af.cast(made.x, af.float32), "division")
    async with af.Supervisor("", made.graph) as supervisor:
        for wrong in (ValueError("mine"), AbortedError("somebody else's"), KeyboardInterrupt()):
            with pytest.raises(type(wrong)) as caught:
                async for attempt in supervisor.steps(until=1):
                    async with attempt:
                        raise wrong
            assert caught.value is wrong
        with pytest.raises(InvalidArgumentError, match="division"):
            async for attempt in supervisor.steps(until=1):
                async with attempt:
                    await supervisor.run(bad, made.feeds(0))
        assert await training(supervisor, made, 2) == [0, 1]
        assert not told(supervisor, StepAborted)


async def test_f67_what_cannot_be_is_told(tmp_path: Path) -> None:
    made = program(on_cluster=False)
    with pytest.raises(InvalidArgumentError, match="nowhere to save"):
        af.Supervisor("", made.graph, save_steps=1)
    with pytest.raises(InvalidArgumentError, match="recovery='some'"):
        af.Supervisor("", made.graph, recovery="some")
    supervisor = af.Supervisor("", made.graph)
    with pytest.raises(FailedPreconditionError, match="has not been started"):
        await supervisor.run(made.book)
    async with supervisor:
        with pytest.raises(FailedPreconditionError, match="no checkpoint_dir"):
            await supervisor.save()
        with pytest.raises(FailedPreconditionError, match="started already"):
            await supervisor.start()
    with af.Graph().as_default() as empty:
        v = af.get_variable("v", [], initializer=af.zeros_initializer())
        later = af.get_variable("later", [], initializer=af.zeros_initializer())
    async with af.Supervisor("", empty) as supervisor:
        with pytest.raises(FailedPreconditionError, match="no global step"):
            await anext(supervisor.steps(until=3))
        assert await supervisor.run(v) == 0.0
    with pytest.raises(FailedPreconditionError, match="1 variables have no value after the init_op: later"):
        await af.Supervisor("", empty, init_op=v.initializer).start()
    del later


def test_f67_f104_a_script_without_await(tmp_path: Path) -> None:
    made = program(on_cluster=False)
    with af.blocking.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=4) as supervisor:
        for attempt in supervisor.steps(until=10):
            with attempt as step:
                supervisor.run(made.train, made.feeds(step))
        assert bits(supervisor.run(made.book)) == undisturbed(10)
    assert [e.step for e in supervisor.events() if isinstance(e, CheckpointSaved)] == [0, 4, 8, 10]


# ---- losses, on one event loop


@pytest.mark.parametrize("number", range(3))
async def test_f65_f68_random_kills_leave_no_trace_in_the_result(tmp_path: Path, seed: int, number: int) -> None:
    """An integer ledger and floats: each step's update is there once, whenever a ps or worker is killed."""
    rng, made = random.Random(seed + number), program()
    done = anyio.Event()

    async def kill(cluster: af.LocalCluster) -> None:
        for _ in range(3):
            for _ in range(rng.randrange(1500)):
                if done.is_set():
                    return
                await checkpoint()
            await cluster.kill(rng.choice([PS, CHIEF, OTHER]))

    every = rng.choice([1, 3, 7])
    async with (
        nearby() as cluster,
        af.Supervisor(
            cluster, made.graph, checkpoint_dir=tmp_path, save_steps=every, restarts=QUICK, seed=seed
        ) as supervisor,
    ):
        async with anyio.create_task_group() as group:
            group.start_soon(kill, cluster)
            begun = await training(supervisor, made, 40)
            done.set()
        assert await reading(supervisor, made) == undisturbed(40)
    assert set(begun) == set(range(40))
    epochs = [event.epoch for event in told(supervisor, Restored)]
    assert epochs == sorted(set(epochs)), "an epoch is used once"


def waiting(made: Program, task: str) -> tuple[Any, Any]:
    """A wait for a queue on a task, and the op that fills the queue."""
    with made.graph.as_default(), af.device(task):
        queue = af.FIFOQueue(1, [af.float32], [[]], shared_name="q")
        return queue.dequeue(), queue.enqueue(af.constant(1.0))


async def test_f65_a_loss_ends_all_steps_everywhere_and_all_who_wait_know() -> None:
    made = program()
    waits, _ = waiting(made, PS)
    async with nearby() as cluster, af.Supervisor(cluster, made.graph, restarts=QUICK) as supervisor:

        async def wait() -> None:
            async for attempt in supervisor.steps():
                async with attempt:
                    await supervisor.run(waits)
                return

        before = dict(cluster._here)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(wait)
            await until(lambda: len(before[PS].server.worker.steps.running) == 3)
            await cluster.kill(OTHER)
            await until(lambda: len(told(supervisor, StepAborted)) == 3)
        await until(lambda: not any(here.server.worker.steps.running for here in cluster._here.values()))
        assert {event.reason for event in told(supervisor, StepAborted)} == {f"{OTHER} is lost, and the step with it."}
        await supervisor.run(made.train, made.feeds(0))
        statuses = [await query_status(cluster.target_of(task)) for task in (PS, CHIEF, OTHER)]
        assert {status["epoch"] for status in statuses} == {supervisor.epoch} == {3}, (
            "one that the task which came back cannot know of"
        )


async def test_f69_with_recovery_task_the_loss_of_a_worker_ends_only_its_own_steps() -> None:
    made = program()
    waits, fill = waiting(made, PS)
    with made.graph.as_default(), af.device(CHIEF):
        mine = af.placeholder_with_default(1.0, []) + 1.0
    async with (
        nearby() as cluster,
        af.Supervisor(cluster, made.graph, recovery="task", restarts=QUICK) as supervisor,
    ):
        begun = await training(supervisor, made, 5)
        results: list[Any] = []

        async def wait() -> None:
            results.append(await supervisor.run(waits))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await until(lambda: cluster._here[PS].server.worker.steps.running)
            await cluster.kill(OTHER)
            assert await supervisor.run(mine) == 2.0, "it does not wait for the lost one"
            begun += await training(supervisor, made, 9)
            assert not results
            await supervisor.run(fill)
        assert results == [1.0] and set(begun) == set(range(9)), "nothing was taken back"
        assert supervisor.epoch == 1 and len(told(supervisor, TaskRestarted)) == 1 == len(told(supervisor, Restored))
        await cluster.kill(PS)  # which holds variables
        begun = await training(supervisor, made, 12)
        assert begun == list(range(12)) and supervisor.epoch == 3


async def test_f107_others_wait_for_the_chief_and_follow_it(tmp_path: Path) -> None:
    """Workers are started first; then the chief dies, and another one takes its place."""
    chiefs, theirs = [program(), program()], program()
    made: list[int] = []
    over = anyio.Event()

    async def follow(target: Any) -> None:
        async with af.Supervisor(target, theirs.graph, is_chief=False) as supervisor:
            while not over.is_set():
                async for attempt in supervisor.steps(until=None):
                    async with attempt as step:
                        await supervisor.run(theirs.train, {theirs.x: 0})
                        made.append(step)
                    if over.is_set():
                        break

    roots = {"file_roots": [tmp_path]}
    async with servers({"ps": 1, "worker": 2}, **roots) as found, anyio.create_task_group() as group:
        group.start_soon(follow, found[2].target)
        await until(lambda: found[2].worker.steps.count + found[0].worker.steps.count > 2)  # it asks, and waits
        assert not made
        async with af.Supervisor(found[1].target, chiefs[0].graph, checkpoint_dir=tmp_path, save_steps=5) as first:
            await until(lambda: len(made) > 10)
            assert made[0] == 0 and made == sorted(made)
            path = await first.save()
            first.session._engine.abandon()  # as if it were killed
            first._saves.is_changed = False
        count = len(made)
        await until(lambda: len(made) > count + 5)  # they go on without it
        saved = int(path.rpartition("-")[2])
        async with af.Supervisor(found[1].target, chiefs[1].graph, checkpoint_dir=tmp_path, save_steps=5) as second:
            [restored] = told(second, Restored)
            assert restored.step >= saved and second.epoch == first.epoch + 1
            count = len(made)
            await until(lambda: len(made) > count + 5)
            assert min(made[count:]) >= saved
            over.set()


async def test_f107_who_is_not_the_chief_says_whom_it_waits_for() -> None:
    made = program()
    async with servers({"ps": 1, "worker": 2}) as found:
        with pytest.raises(DeadlineExceededError, match=r"chief has not given all variables .* within 0.1 s"):
            await af.Supervisor(found[2].target, made.graph, is_chief=False, wait_seconds=0.1).start()


async def test_f107_during_a_restore_nobody_else_takes_steps(probe: Probe) -> None:
    """Else their updates would be made of values that are about to go, or fall between two restored variables."""
    made, theirs = program(), program()
    with made.graph.as_default(), af.device(PS):
        slow = wait(af.constant(1.0), tag="init")
        init = af.group(af.global_variables_initializer(), slow.op)
    async with servers({"ps": 1, "worker": 2}) as found, af.Session(found[2].target, theirs.graph) as session:
        chief = af.Supervisor(found[1].target, made.graph, init_op=init)
        async with anyio.create_task_group() as group:
            group.start_soon(chief.start)
            await probe.arrived("init").wait()
            with pytest.raises(UnavailableError, match="takes no steps now: the chief's supervisor restores"):
                await session.run(theirs.train, theirs.feeds(0))
            probe.gate("init").set()
        await session.run(theirs.train, theirs.feeds(0))
        assert (await chief.run(made.book))[0] == 1
        await chief.close()


async def test_f65_what_a_stopped_step_still_computes_is_dropped(probe: Probe) -> None:
    """A kernel on a thread goes on while its step is aborted and variables are restored. Its update never comes."""
    made = program()
    with made.graph.as_default():
        ledger = made.graph.get_collection(af.GraphKeys.GLOBAL_VARIABLES)[1]
        with af.device(PS):
            late = ledger.assign_add(af.cast(hold(af.constant(100.0)), af.int64)).op
    async with nearby() as cluster, af.Supervisor(cluster, made.graph, restarts=QUICK) as supervisor:
        async with anyio.create_task_group() as group:

            async def stumble() -> None:
                with pytest.raises(AbortedError):
                    await supervisor.run(late)

            group.start_soon(stumble)
            await until(probe.held.is_set)
            await cluster.kill(OTHER)
        assert await training(supervisor, made, 5) == list(range(5))
        probe.release.set()
        await training(supervisor, made, 10)
        assert bits(await supervisor.run(made.book)) == undisturbed(10)


async def test_f64_the_report_of_a_death_names_the_kernel_that_ran(probe: Probe) -> None:
    made = program()
    with made.graph.as_default(), af.device(OTHER):
        held = hold(af.constant(1.0), name="heavy")
    async with nearby() as cluster, af.Supervisor(cluster, made.graph, restarts=QUICK) as supervisor:
        async with anyio.create_task_group() as group:

            async def fail() -> None:
                with pytest.raises(AbortedError, match="is lost"):
                    await supervisor.run(held)

            group.start_soon(fail)
            await until(lambda: supervisor._manager and supervisor._manager.monitor._tasks[OTHER].last_node)
            await cluster.kill(OTHER)
    [lost] = told(supervisor, WorkerLost)
    assert lost.report.last_node == "heavy" and "its last node: heavy" in lost.report.lines()


async def test_f65_steps_of_a_former_epoch_are_refused() -> None:
    """A client or master that has missed the beginning of an epoch may think that it goes on as before."""
    made = program()
    async with servers({"ps": 1, "worker": 2}) as found, af.Session(found[1].target, made.graph) as session:
        with made.graph.as_default():
            await session.run(af.global_variables_initializer())
        await session.run(made.train, made.feeds(0))
        await found[0].set_epoch(3)  # the master, worker:0, has not heard of it
        with pytest.raises(AbortedError, match=r"belongs to epoch 0 .* but this task is in epoch 3"):
            await session.run(made.train, made.feeds(0))
        with pytest.raises(ValueError, match="cannot follow"):
            await found[0].set_epoch(2)
        await found[1].set_epoch(3)
        await found[2].set_epoch(3)
        with pytest.raises(UnavailableError, match="has begun epoch 3"):  # the client learns it by the end of its link
            await session.run(made.train, made.feeds(0))
        await session.run(made.train, made.feeds(0))
        assert (await session.run(made.book))[0] == 2


async def test_f65_a_task_that_comes_back_learns_the_epoch_from_those_who_reach_it() -> None:
    made = program()
    async with servers({"ps": 1, "worker": 2}) as found:
        for server in found[:2]:
            await server.set_epoch(4)
        async with af.Session(
            found[1].target, made.graph
        ) as session:  # ps:0 and worker:0 are in epoch 4, worker:1 in 0
            with made.graph.as_default():
                await session.run(af.global_variables_initializer())
            await session.run(made.train, made.feeds(0))
        assert [server.epoch for server in found] == [4, 4, 4]


async def test_f65_an_epoch_that_is_heard_of_late_takes_nothing_back() -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    async with servers({"ps": 1}) as (server,):
        server.links.on_epoch(3)
        await server.set_epoch(4)
        await until(lambda: not server._root._tasks)
        assert server.epoch == 4 and not reported


async def test_f107_of_two_chiefs_the_former_one_is_told() -> None:
    first, second = program(), program()
    async with servers({"ps": 1, "worker": 2}) as found:
        async with af.Supervisor(found[1].target, first.graph, heartbeat_seconds=0.1) as former:
            async with af.Supervisor(found[1].target, second.graph) as present:
                assert present.epoch == former.epoch + 1
                with (
                    anyio.fail_after(PATIENCE),
                    pytest.raises(FailedPreconditionError, match="another chief has taken over"),
                ):
                    async for _ in former.steps():
                        await checkpoint()
                assert await training(present, second, 5) == list(range(5))


# ---- losses of processes


async def test_f63_f65_a_killed_worker_or_ps_is_seen_at_once_by_all_who_wait(
    cluster: af.LocalCluster, tmp_path: Path
) -> None:
    made = program()
    waits, _ = waiting(made, PS)
    given = MachineTime()
    seen: list[float] = []
    async with af.Supervisor(cluster, made.graph, checkpoint_dir=tmp_path, save_steps=5) as supervisor:

        async def wait_for_it() -> None:
            with pytest.raises((AbortedError, UnavailableError), match="is lost"):
                await supervisor.run(waits)
            seen.append(given.seconds())

        begun = await training(supervisor, made, 13)
        for task, steps in ((OTHER, 27), (PS, 33), (CHIEF, 40)):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(wait_for_it)
                await until_async(lambda: steps_in_flight(cluster), 3)
                killed = given.seconds()
                cluster.processes[task].signal(signal.SIGKILL)
            assert max(seen) - killed < 1.0
            begun += await training(supervisor, made, steps)
        assert bits(await supervisor.run(made.book)) == undisturbed(40)
    deaths = [event.report for event in told(supervisor, WorkerLost)]
    assert [(d.task, d.status, d.epoch) for d in deaths] == [(OTHER, -9, 1), (PS, -9, 3), (CHIEF, -9, 5)]
    for death in deaths:
        text = "\n".join(death.lines())
        assert f"{death.task} (pid {death.pid}) was ended by SIGKILL." in text and "is up" in text
        assert death.resident_bytes and death.resident_bytes > 10 << 20 and "its memory, when last seen" in text
    assert [event.step for event in told(supervisor, Restored)] == [0, 13, 27, 33], "the ends of loops are saved"
    assert {task: life.state for task, life in supervisor.lives.items()} == dict.fromkeys(
        (PS, CHIEF, OTHER), State.LIVE
    )


async def test_f63_f68_random_kills_of_processes_leave_no_trace_either(
    cluster: af.LocalCluster, tmp_path: Path, seed: int
) -> None:
    rng, made = random.Random(seed), program()
    done = anyio.Event()

    async def kill() -> None:
        while not done.is_set() and len(told(supervisor, WorkerLost)) < 5:
            with anyio.move_on_after(rng.uniform(0.0, 0.4)):
                await done.wait()
            cluster.processes[rng.choice([PS, CHIEF, OTHER])].signal(signal.SIGKILL)

    async with af.Supervisor(
        cluster, made.graph, checkpoint_dir=tmp_path, save_steps=5, restarts=QUICK, seed=seed
    ) as supervisor:
        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            begun = await training(supervisor, made, 100)
            done.set()
        assert await reading(supervisor, made) == undisturbed(100)
    assert set(begun) == set(range(100)) and told(supervisor, WorkerLost)


async def test_f65_where_a_scheduler_restarts_tasks_they_are_waited_for(tmp_path: Path) -> None:
    made = program()
    async with servers({"ps": 1, "worker": 2}, file_roots=[tmp_path]) as found:
        async with af.Supervisor(found[1].target, made.graph, checkpoint_dir=tmp_path, save_steps=5) as supervisor:
            begun = await training(supervisor, made, 8)
            found[0].links.close()
            await found[0].__aexit__(None, None, None)
            await until(lambda: told(supervisor, WorkerLost))
            async with af.Server(found[0].cluster, "ps", 0, transport="local", file_roots=[tmp_path]) as again:
                begun += await training(supervisor, made, 12)
                assert bits(await supervisor.run(made.book)) == undisturbed(12)
                assert again.epoch == found[1].epoch == supervisor.epoch == 3
            given = MachineTime()
            await supervisor.close()  # which does not wait for it
            assert given.seconds() < 5
        await found[0].__aenter__()
    assert begun == [*range(8), *range(8, 12)]
    lost = told(supervisor, WorkerLost)[0]
    assert lost.task == PS and f"{PS} is lost" in lost.report.how and lost.report.status is None


async def test_f65_events_are_followed_as_they_come(tmp_path: Path) -> None:
    made = program()
    followed: list[Any] = []

    async def follow(supervisor: af.Supervisor) -> None:
        async for event in supervisor.events():
            followed.append(event)

    async with anyio.create_task_group() as group, nearby() as cluster:
        async with af.Supervisor(cluster, made.graph, checkpoint_dir=tmp_path, restarts=QUICK) as supervisor:
            group.start_soon(follow, supervisor)
            await training(supervisor, made, 3)
            await cluster.kill(OTHER)
            await training(supervisor, made, 4)
        await until(lambda: len(followed) == len(supervisor.history))
    kinds = [type(event) for event in followed]
    assert followed == supervisor.history and kinds.index(WorkerLost) < kinds.index(TaskRestarted)
    assert [kind for kind in kinds if kind not in (StepAborted, TaskRestarted)] == [
        Restored,
        CheckpointSaved,
        CheckpointSaved,
        WorkerLost,
        Restored,
        CheckpointSaved,
    ]


async def until_async(number: Callable[[], Any], wanted: int) -> None:
    with anyio.fail_after(PATIENCE):
        while await number() != wanted:
            await checkpoint()


async def steps_in_flight(cluster: af.LocalCluster) -> int:
    return int((await query_status(cluster.target_of(PS)))["steps_in_flight"])


async def test_f64_a_stopped_process_is_lost_and_a_busy_one_is_not(launcher: Launcher, tmp_path: Path) -> None:
    """SIGSTOP: nothing answers any more, not even ZeroMQ's own thread. A kernel that keeps the interpreter to itself, for
    much longer than the heartbeats' patience: the task is busy, and its step ends as ever."""
    (tmp_path / "hog_ops_of_test.py").write_text(HOG)
    sys.path.append(str(tmp_path))
    made = program()
    with made.graph.as_default(), af.device(OTHER):
        import hog_ops_of_test

        seconds = af.placeholder(af.float64, [])
        hog = hog_ops_of_test.hog(seconds)
    rules = Rules(busy_seconds=1.7, look_seconds=0.1)
    try:
        async with (
            af.LocalCluster({"ps": 1, "worker": 2}, launcher=launcher, imports=["hog_ops_of_test"]) as cluster,
            af.Supervisor(
                cluster, made.graph, checkpoint_dir=tmp_path, save_steps=2, heartbeat_seconds=0.5, rules=rules
            ) as supervisor,
        ):
            assert await supervisor.run(hog, {seconds: 3.0}) == 3.0
            [stall] = told(supervisor, LoopStalled)
            assert stall.task == OTHER and 1.7 <= stall.seconds < 3.0 and not told(supervisor, WorkerLost)
            stopped: list[MachineTime] = []

            def stop(step: int) -> None:
                if step == 3 and not stopped:
                    stopped.append(MachineTime())
                    cluster.processes[OTHER].signal(signal.SIGSTOP)

            begun = await training(supervisor, made, 6, stop)
            [lost] = told(supervisor, WorkerLost)
            assert begun == [0, 1, 2, 3, 2, 3, 4, 5] and stopped[0].seconds() < 4.0
            assert bits(await supervisor.run(made.book)) == undisturbed(6)
            assert "does not answer any more, though its process is there" in lost.report.how
    finally:
        sys.path.remove(str(tmp_path))


async def test_f64_a_process_that_stands_still_at_the_start_is_restarted(
    launcher: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_process, "_ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(manager, "_SILENT_SECONDS", 1.0)
    made = program()
    async with af.LocalCluster({"ps": 1, "worker": 2}, launcher=launcher) as cluster:
        cluster.processes[OTHER].signal(signal.SIGSTOP)
        async with af.Supervisor(cluster, made.graph, checkpoint_dir=tmp_path, restarts=QUICK) as supervisor:
            await training(supervisor, made, 2)
            assert [event.task for event in told(supervisor, TaskRestarted)] == [OTHER]


HOG = '''
import ctypes
import numpy as np
import actorflow as af
from actorflow.graph.ops.shape_rules import unchanged

@af.op("TestHog", shape=unchanged, gradient=None, stateful=True)
def hog(seconds: af.TensorLike, *, name: str | None = None) -> af.Tensor:
    """Holds the interpreter for so long."""

@af.kernel("TestHog")
def _hog(xp, seconds):
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # which does not let others have the interpreter, as CDLL would
    return seconds
'''


async def test_f65_a_task_that_dies_again_and_again_ends_the_training(cluster: af.LocalCluster) -> None:
    made = program()
    policy = RestartPolicy(most=1, first_seconds=0.01)

    def kill(step: int) -> None:
        if step in (3, 1):
            cluster.processes[OTHER].signal(signal.SIGKILL)

    async with af.Supervisor(cluster, made.graph, restarts=policy) as supervisor:
        with pytest.raises(ResourceExhaustedError) as caught:
            await training(supervisor, made, 10, kill)
        text = str(caught.value)
        assert f"{OTHER} was lost once more after 1 restarts within 600 s; it stays down." in text
        assert "was ended by SIGKILL" in text and "its memory" in text and "RestartPolicy(most=...)" in text
        with pytest.raises(ResourceExhaustedError):
            await supervisor.run(made.book)
    assert len(text.splitlines()) <= 25


async def test_f68_f107_a_chief_process_is_killed_and_started_again(cluster: af.LocalCluster, tmp_path: Path) -> None:
    """The tasks outlive the chief. The next one goes on from its checkpoint, in an epoch that no other had."""
    assert cluster.credentials is not None
    keys = tmp_path / "keys"
    write_keys(keys, cluster.credentials)
    await cluster.allow_files(str(tmp_path))
    printed = []
    for kill_at in (11, 0):
        command = [
            sys.executable,
            Path(__file__).with_name("supervised_chief.py"),
            cluster.target.address,
            tmp_path,
        ]
        done = await anyio.run_process(
            [*map(str, command), str(kill_at)], env=os.environ | {"ACTORFLOW_KEYS": str(keys)}, check=False
        )
        assert done.returncode == (9 if kill_at else 0), done.stderr.decode()
        printed.append([line.split() for line in done.stdout.decode().splitlines() if line.startswith(">")])
    assert [[int(line[2]) for line in lines if line[1] == "step"] for lines in printed] == [
        list(range(12)),
        list(range(9, 15)),
    ]
    assert [lines[0][1:] for lines in printed] == [["epoch", "1"], ["epoch", "2"]]
    assert printed[-1][-1][2:] == undisturbed(15)


def test_f65_f104_a_script_without_await_goes_on_across_deaths(launcher: Launcher, tmp_path: Path) -> None:
    made, begun = program(), []
    with (
        af.blocking.LocalCluster({"ps": 1, "worker": 2}, launcher=launcher) as cluster,
        af.blocking.Supervisor(cluster, made.graph, checkpoint_dir=tmp_path, save_steps=4) as supervisor,
    ):
        kills = {5: OTHER, 9: PS}
        for attempt in supervisor.steps(until=12):
            with attempt as step:
                begun.append(step)
                if step in kills:
                    cluster.kill(kills.pop(step))
                supervisor.run(made.train, made.feeds(step))
        assert bits(supervisor.run(made.book)) == undisturbed(12)
    assert begun == [*range(6), *range(4, 10), *range(8, 12)]


@pytest.mark.parametrize(
    ("when", "end", "restarts"),
    [
        ("always", signal.SIGKILL, True),
        ("always", signal.SIGTERM, True),
        ("on-failure", signal.SIGKILL, True),
        ("on-failure", signal.SIGTERM, False),
        ("never", signal.SIGKILL, False),
        ("never", signal.SIGTERM, False),
    ],
)
async def test_f65_the_policy_says_which_ends_of_a_task_are_restarted(
    cluster: af.LocalCluster, when: Any, end: signal.Signals, restarts: bool
) -> None:
    made, stops = program(), iter([3])

    def stop(step: int) -> None:
        if step == 3 and next(stops, None):
            cluster.processes[OTHER].signal(end)

    async def start_again(supervisor: af.Supervisor) -> None:
        if not restarts:
            await until(lambda: told(supervisor, WorkerLost if end == signal.SIGKILL else WorkerEnded))
            await cluster.restart(OTHER, epoch=supervisor.epoch)

    policy = RestartPolicy(when=when, first_seconds=0.01)
    async with (
        af.Supervisor(cluster, made.graph, restarts=policy) as supervisor,
        anyio.create_task_group() as group,
    ):
        group.start_soon(start_again, supervisor)
        await training(supervisor, made, 8, stop)
    assert [event.task for event in told(supervisor, TaskRestarted)] == [OTHER] * restarts


def test_f65_a_policy_that_is_none_is_refused() -> None:
    with pytest.raises(
        InvalidArgumentError, match="RestartPolicy\\(when='sometimes'\\): write one of always, on-failure, never"
    ):
        RestartPolicy(when="sometimes")  # type: ignore[arg-type]
