"""The parts of the supervisor, each by itself: the gate, the judge, the keeper, the monitor, epochs and attempts."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from logged import capture_logs
from patience import PATIENCE
from training.supervisor.supervised_chief import program
from virtual import run

import actorflow as af
from actorflow.cluster.client.engine import RemoteEngine
from actorflow.engine.transport.heartbeat import Heartbeat
from actorflow.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    ResourceExhaustedError,
    UnavailableError,
)
from actorflow.supervisor import LoopStalled, RestartPolicy, Rules, StepAborted, TaskRestarted, WorkerEnded, WorkerLost
from actorflow.training.supervisor.events import DeathReport, Events
from actorflow.training.supervisor.liveness import Life, State
from actorflow.training.supervisor.model_state import ModelState, folder_path
from actorflow.training.supervisor.monitor import Monitor
from actorflow.training.supervisor.recovery.attempts import Attempt
from actorflow.training.supervisor.recovery.epochs import EpochStore
from actorflow.training.supervisor.recovery.failure_classifier import FailureClassifier
from actorflow.training.supervisor.recovery.manager import STEPS, RecoveryManager
from actorflow.training.supervisor.recovery.restarts import Restarts
from actorflow.training.supervisor.recovery.run_gate import RunGate
from actorflow.training.supervisor.slow_tasks import TaskWaits

LOST = UnavailableError("the worker is gone")
UP, DOWN = Life(State.LIVE, incarnation=1), Life(State.LOST, incarnation=1)


def nearby() -> af.LocalCluster:
    """Three tasks on this event loop."""
    return af.LocalCluster({"ps": 1, "worker": 2}, transport="local")


def attempt(step: int = 7, generation: int = 0) -> Attempt:
    return Attempt(SimpleNamespace(), step, generation)  # type: ignore[arg-type]


async def never() -> None:
    await anyio.sleep_forever()


# ---- the gate


async def test_f65_a_loss_turns_back_what_is_inside_and_who_comes_waits_for_the_next_opening() -> None:
    gate, inside, done = RunGate(), attempt(), []
    gate.open()

    async def outside() -> None:
        async def act() -> None:
            done.append(gate.generation)

        await gate.through(None, act)

    async with anyio.create_task_group() as group:

        async def turned_back() -> None:
            with pytest.raises(AbortedError, match="the worker is gone") as caught:
                await gate.through(inside, never)
            assert caught.value in inside.failures

        group.start_soon(turned_back)
        await checkpoint()
        await checkpoint()
        gate.turn_back(LOST)
        assert not gate.is_open and gate.generation == 1
        group.start_soon(outside)
        for _ in range(5):
            await checkpoint()
        with pytest.raises(AbortedError, match="the worker is gone"):  # what the attempt still begins
            await gate.through(inside, never)
        assert done == [] and len(inside.failures) == 2
        gate.open()
    assert done == [1] and gate.is_open


async def test_f65_after_a_failure_all_runs_fail_with_it() -> None:
    gate = RunGate()
    wrong = ResourceExhaustedError("no way to go on")
    async with anyio.create_task_group() as group:

        async def fails(start: Callable[[], Awaitable[Any]]) -> None:
            with pytest.raises(ResourceExhaustedError) as caught:
                await start()
            assert caught.value is wrong

        group.start_soon(fails, gate.wait)
        await checkpoint()
        gate.fail(wrong)
        group.start_soon(fails, gate.wait)
        group.start_soon(fails, lambda: gate.through(attempt(), never))
        group.start_soon(fails, lambda: gate.through(None, never))
    assert not gate.is_open and gate.generation == 1


async def test_f65_a_wait_ends_with_a_loss() -> None:
    gate = RunGate()
    async with anyio.create_task_group() as group:
        group.start_soon(gate.until_turned_back, never)
        await checkpoint()
        await checkpoint()
        gate.turn_back(LOST)
    with anyio.fail_after(PATIENCE):
        await gate.until_turned_back(checkpoint)


# ---- the judge


class SilentEngine(RemoteEngine):
    """The engine of a cluster whose chief has not failed."""

    async def chief_failure(self) -> str:
        return ""


class World:
    """The answers for a judge, under the control of a test. `lacking` are the variables without a value."""

    def __init__(self, *, remote: bool = True, is_chief: bool = True, recovery: str = "all", most: int = 3) -> None:
        self.lives = {"/job:ps/task:0": UP, "/job:worker/task:0": UP}
        self.lacking: list[str] = []
        self.answers_after: float | None = None
        """When all tasks have answered; None where one does not."""
        self.taken_back: list[Exception] = []
        self.gate = RunGate()
        self.gate.open()
        self.events = Events(lambda: 0.0)
        self.change = anyio.Event()
        self.up = anyio.Event()
        engine = SilentEngine.__new__(SilentEngine) if remote else None

        async def missing(session: Any) -> list[str]:
            return self.lacking

        async def follow(session: Any) -> bool:
            return not self.lacking

        self.manager = SimpleNamespace(monitor=self, take_back=self._take_back)
        self.restarts = Restarts(RestartPolicy(most=most, first_seconds=2.0, factor=1.0), lambda: 1.0)
        self.judge = FailureClassifier(
            self.gate,
            SimpleNamespace(missing=missing, follow=follow),  # type: ignore[arg-type]
            SimpleNamespace(_engine=engine),  # type: ignore[arg-type]
            self.restarts,
            self.events,
            is_chief,
            recovery,
            Heartbeat(0.5),
            60.0,
            self.manager if is_chief else None,  # type: ignore[arg-type]
        )

    # of a monitor

    @property
    def missing(self) -> list[str]:
        return [task for task, life in self.lives.items() if not life.is_up]

    async def next_change(self) -> None:
        await self.change.wait()

    async def all_up(self, seconds: float = math.inf) -> None:
        await self.up.wait()

    async def all_answer(self) -> None:
        await anyio.sleep(math.inf if self.answers_after is None else self.answers_after)

    def _take_back(self, error: Exception) -> None:
        self.taken_back.append(error)
        self.gate.turn_back(error)

    def lose(self) -> None:
        self.lives["/job:worker/task:0"] = DOWN
        self.change.set()

    @property
    def aborted(self) -> list[int]:
        return [event.step for event in self.events.past if isinstance(event, StepAborted)]


def judged(error: BaseException, step: int = 7, prepare: Callable[[World], Any] = id, **options: Any) -> Any:
    """The verdict, the seconds that it took, and the world afterwards."""

    async def main() -> Any:
        world = World(**options)
        prepare(world)
        begin = anyio.current_time()
        return await world.judge.is_loss(error, attempt(step)), anyio.current_time() - begin, world

    return run(main)[0]


def test_f65_without_a_cluster_no_error_is_a_loss() -> None:
    assert judged(LOST, remote=False)[:2] == (False, 0.0)


@pytest.mark.parametrize("error", [ValueError("mine"), ExceptionGroup("", [LOST, ValueError("mine")])])
def test_f65_errors_of_another_kind_are_the_program_s(error: Exception) -> None:
    assert judged(error)[:2] == (False, 0.0)


@pytest.mark.parametrize("error", [LOST, ExceptionGroup("", [LOST, AbortedError("as well")])])
def test_f65_with_evidence_a_loss_is_one_at_once(error: Exception) -> None:
    verdict, seconds, world = judged(error, prepare=World.lose)
    assert verdict and seconds == 0.0 and world.aborted == [7] and not world.taken_back


def test_f65_what_nobody_can_explain_is_tried_again_after_a_pause_and_all_goes_back() -> None:
    verdict, seconds, world = judged(LOST)
    assert verdict and seconds == 4 * 0.5 + 2.0, "four heartbeats for evidence, and the pause"
    assert "the worker is gone" in str(world.taken_back[0]) and world.aborted == [7]


def test_f65_where_all_tasks_have_answered_since_nothing_is_waited_for_the_first_time() -> None:
    def answer(world: World) -> None:
        world.answers_after = 0.25

    verdict, seconds, world = judged(LOST, prepare=answer)
    assert verdict and seconds == 0.25 + 2.0 and world.aborted == [7]

    def again(world: World) -> None:
        answer(world)
        world.restarts.next_pause(STEPS, 0.0)

    assert judged(LOST, prepare=again)[1] == 4 * 0.5 + 2.0


def test_f65_between_steps_no_step_is_aborted() -> None:
    verdict, _, world = judged(LOST, step=-1)
    assert verdict and world.aborted == []


def test_f65_step_zero_can_be_aborted() -> None:
    assert judged(LOST, step=0)[2].aborted == [0]


def test_f65_what_fails_again_and_again_is_the_program_s() -> None:
    assert not judged(LOST, most=0)[0]


def test_f65_a_deadline_that_passes_while_nothing_is_lost_is_the_program_s() -> None:
    verdict, seconds, _ = judged(DeadlineExceededError("too slow"))
    assert not verdict and seconds == 2.0
    assert judged(DeadlineExceededError("too slow"), prepare=World.lose)[0]


def test_f65_a_variable_without_value_is_a_loss_where_it_is_so() -> None:
    error = FailedPreconditionError("v has no value")
    assert judged(error)[:2] == (False, 0.0)
    assert judged(error, prepare=lambda world: world.lacking.append("v"))[0]


def test_f69_with_recovery_task_only_the_lost_task_is_waited_for() -> None:
    async def main() -> Any:
        world = World(recovery="task")
        world.lose()
        async with anyio.create_task_group() as group:
            group.start_soon(_after, 3.0, world.up.set)
            verdict = await world.judge.is_loss(LOST, attempt())
            return verdict, anyio.current_time(), world.taken_back

    begin_to_end = run(main)[0]
    assert begin_to_end[0] and begin_to_end[2] == [] and begin_to_end[1] >= 3.0


async def _after(seconds: float, act: Callable[[], Any]) -> None:
    await anyio.sleep(seconds)
    act()


def test_f107_who_is_not_the_chief_waits_for_it_after_a_loss_and_not_for_ever() -> None:
    async def main(seconds: float) -> Any:
        world = World(is_chief=False)
        world.lacking.append("v")
        begin = anyio.current_time()
        with capture_logs() as logs:
            async with anyio.create_task_group() as group:
                group.start_soon(_after, seconds, world.lacking.clear)
                verdict = await world.judge.is_loss(LOST, attempt())
        return verdict, anyio.current_time() - begin, [log for log in logs if "waiting for the chief" in log["event"]]

    verdict, seconds, logs = run(lambda: main(10.0))[0]
    assert verdict and 10.0 <= seconds <= 11.0 and len(logs) == 1
    verdict, seconds, logs = run(lambda: main(5.0))[0]
    assert verdict and logs == [], "after the pause it has waited for three seconds, which is no news"
    with pytest.raises(ExceptionGroup) as caught:
        run(lambda: main(100.0))
    (error,) = caught.value.exceptions
    assert isinstance(error, DeadlineExceededError) and "within 60 s" in str(error)


# ---- the keeper


class Store(EpochStore):
    """Keeps the last epoch in memory."""

    def __init__(self) -> None:
        super().__init__(None)
        self.epoch = 0

    async def read(self) -> int:
        return self.epoch

    async def write(self, epoch: int) -> None:
        self.epoch = epoch


class Cluster:
    """A cluster of two tasks, a monitor of it, and what a keeper has asked of them."""

    def __init__(self, *, restarts: bool = True, most: int = 3, state: str = "ps") -> None:
        self.tasks = ("/job:ps/task:0", "/job:worker/task:0")
        self.lives = dict.fromkeys(self.tasks, UP)
        self.done: list[Any] = []
        self.errors: list[Exception] = []
        self.failing_restores: list[Exception] = []
        self.failing_starts = 0
        self.in_order = False
        self.epochs = dict.fromkeys(self.tasks, 0)
        self.restoring: anyio.Event | None = None
        self._changed = anyio.Event()
        self.events = Events(lambda: 0.0)
        self.store = Store()
        policy = RestartPolicy(most=most, first_seconds=1.0, factor=1.0)
        self.manager = RecoveryManager(
            self.store,
            Restarts(policy, lambda: 1.0),
            self.events,
            cluster=self if restarts else None,  # type: ignore[arg-type]
            client=lambda: "me",
            restore=self._restore,
            holds_state=lambda task: state in task,
            on_abort=lambda error: self.done.append("abort"),
            on_up=lambda: self.done.append("up"),
            on_failure=self.errors.append,
        )

    # of a monitor

    def start(self) -> None:
        self.manager.monitor = self  # type: ignore[assignment]

    async def close(self) -> None:
        self.done.append("closed")

    def report(self, task: str) -> DeathReport:
        return DeathReport(task, f"{task} died", 1, 1, in_order=self.in_order)

    def counts(self, task: str) -> bool:
        return True

    def incarnation(self, task: str) -> int | None:
        return self.lives[task].incarnation if self.lives[task].is_up else None

    async def all_up(self, seconds: float = math.inf) -> None:
        while not all(life.is_up for life in self.lives.values()):
            await self._changed.wait()

    async def next_change(self) -> None:
        await self._changed.wait()

    async def call(self, task: str, request: Any) -> None:
        if request.epoch < self.epochs[task]:
            raise ValueError("an old epoch")
        assert self.store.epoch == request.epoch, "it is written down before any task hears of it"
        self.epochs[task] = request.epoch
        self.done.append((request.epoch, task[5:].replace("/task", ""), request.only))

    async def ask_status(self, task: str) -> dict[str, Any]:
        return {"epoch": self.epochs[task]}

    def started_again(self, task: str) -> None:
        incarnation = (self.lives[task].incarnation or 0) + 1
        self.see(task, Life(State.LIVE, incarnation=incarnation))

    # of a cluster

    def runs(self, task: str) -> bool:
        return True

    async def kill(self, task: str) -> None:
        self.done.append("kill")

    async def restart(self, task: str, *, epoch: int) -> None:
        self.done.append("restart")
        self.epochs[task] = epoch
        if self.failing_starts:
            self.failing_starts -= 1
            raise UnavailableError("it did not start")

    # what happens

    async def _restore(self) -> None:
        self.done.append("restore")
        if self.failing_restores:
            raise self.failing_restores.pop(0)
        if self.restoring is not None:
            await self.restoring.wait()

    def see(self, task: str, life: Life) -> None:
        before, self.lives[task] = self.lives[task], life
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        self.manager.changed(task, before, life)

    def lose(self, task: str) -> None:
        self.see(task, Life(State.LOST, incarnation=self.lives[task].incarnation))

    @property
    def acts(self) -> list[str]:
        """The actions, less what tasks were told."""
        return [one for one in self.done if isinstance(one, str)]

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.events.past if isinstance(event, kind)]


def kept(what: Callable[[Cluster], Awaitable[Any]], **options: Any) -> tuple[Cluster, float]:
    """A cluster that is kept for a minute after `what` has happened to it."""

    async def main() -> tuple[Cluster, float]:
        cluster = Cluster(**options)
        cluster.manager.start(cluster)  # type: ignore[arg-type]
        begin = anyio.current_time()
        await what(cluster)
        await anyio.sleep(60)
        await cluster.manager.close()
        return cluster, begin

    return run(main)[0]


async def nothing(cluster: Cluster) -> None:
    pass


def test_f65_an_epoch_begins_above_all_former_ones_and_tasks_are_told_before_and_after_the_restore() -> None:
    async def before(cluster: Cluster) -> None:
        cluster.epochs["/job:worker/task:0"] = 5

    cluster, _ = kept(before)
    assert cluster.manager.epoch == 6 and cluster.acts == ["restore", "up", "closed"]
    told = [one for one in cluster.done if one == "restore" or isinstance(one, tuple)]
    assert sorted(told[:2]) == [(6, "ps:0", "me"), (6, "worker:0", "me")] and told[2] == "restore"
    assert sorted(told[3:]) == [(6, "ps:0", ""), (6, "worker:0", "")], "now they take steps of all clients"


def test_f65_an_epoch_that_was_written_down_is_not_given_again_though_no_task_knows_it() -> None:
    async def before(cluster: Cluster) -> None:
        cluster.store.epoch = 8

    assert kept(before)[0].manager.epoch == 9


def test_f65_a_lost_task_with_state_is_started_again_and_all_goes_back_to_the_next_epoch() -> None:
    async def lose(cluster: Cluster) -> None:
        await anyio.sleep(1)
        cluster.done.clear()
        cluster.lose("/job:ps/task:0")

    cluster, _ = kept(lose)
    assert cluster.acts == ["abort", "kill", "restart", "restore", "up", "closed"]
    assert cluster.manager.epoch > 1 and not cluster.errors
    assert [event.task for event in cluster.told(WorkerLost)] == ["/job:ps/task:0"]
    assert [event.seconds for event in cluster.told(TaskRestarted)] == [1.0]


def test_f69_a_lost_task_without_state_is_only_started_again() -> None:
    async def lose(cluster: Cluster) -> None:
        await anyio.sleep(1)
        cluster.done.clear()
        cluster.lose("/job:worker/task:0")

    cluster, _ = kept(lose)
    assert cluster.acts == ["kill", "restart", "closed"] and cluster.manager.epoch == 1
    assert len(cluster.told(WorkerLost)) == 1


def test_f65_a_task_that_does_not_start_is_tried_again_within_the_budget() -> None:
    async def lose(cluster: Cluster) -> None:
        await anyio.sleep(1)
        cluster.failing_starts = 2
        cluster.lose("/job:ps/task:0")

    cluster, _ = kept(lose)
    assert cluster.acts.count("restart") == 3 and not cluster.errors
    assert [event.seconds for event in cluster.told(TaskRestarted)] == [3.0]
    cluster, _ = kept(lose, most=2)
    (error,) = cluster.errors
    assert isinstance(error, ResourceExhaustedError) and "after 2 restarts" in str(error)
    assert "/job:ps/task:0 died" in str(error) and not cluster.told(TaskRestarted)


def test_f65_a_loss_amid_a_restore_ends_it_and_another_one_begins() -> None:
    async def lose(cluster: Cluster) -> None:
        cluster.restoring = anyio.Event()
        await anyio.sleep(1)
        assert cluster.acts == ["restore"]
        cluster.lose("/job:ps/task:0")
        await anyio.sleep(30)
        assert cluster.acts.count("restore") == 2 and "up" not in cluster.acts
        cluster.restoring.set()

    cluster, _ = kept(lose)
    assert cluster.acts[-2:] == ["up", "closed"] and cluster.acts.count("up") == 1


def test_f65_a_restore_that_fails_for_a_passing_reason_is_tried_again_and_another_ends_all() -> None:
    async def failing(cluster: Cluster) -> None:
        cluster.failing_restores = [UnavailableError("not now"), AbortedError("nor now")]

    cluster, _ = kept(failing)
    assert cluster.acts == ["restore"] * 3 + ["up", "closed"] and not cluster.errors

    async def wrong(cluster: Cluster) -> None:
        cluster.failing_restores = [FailedPreconditionError("never")]

    cluster, _ = kept(wrong)
    assert cluster.acts == ["restore", "closed"] and [str(error)[:5] for error in cluster.errors] == ["never"]

    async def always(cluster: Cluster) -> None:
        cluster.failing_restores = [UnavailableError("not now") for _ in range(99)]

    cluster, _ = kept(always)
    assert cluster.acts.count("restore") == 4 and len(cluster.errors) == 1, "three more tries"


def test_f107_a_later_epoch_that_a_task_is_in_is_another_chief_s() -> None:
    async def other(cluster: Cluster) -> None:
        await anyio.sleep(1)
        cluster.manager.heard_epoch("/job:ps/task:0", 1)
        assert not cluster.errors
        cluster.manager.heard_epoch("/job:ps/task:0", 2)

    cluster, _ = kept(other)
    assert "another chief has taken over" in str(cluster.errors[0])

    async def amid(cluster: Cluster) -> None:
        await anyio.sleep(1)
        cluster.epochs["/job:worker/task:0"] = 9
        cluster.lose("/job:ps/task:0")

    cluster, _ = kept(amid)
    assert "another chief has taken over" in str(cluster.errors[0]) and cluster.acts.count("up") == 1


def test_f64_a_task_whose_loop_is_held_up_is_told_with_the_seconds_and_nothing_is_done() -> None:
    async def busy(cluster: Cluster) -> None:
        await anyio.sleep(1)
        cluster.see("/job:ps/task:0", Life(State.BUSY, incarnation=1, heard=3.0, looked=8.0))

    cluster, _ = kept(busy)
    assert [event.seconds for event in cluster.told(LoopStalled)] == [5.0]
    assert cluster.acts == ["restore", "up", "closed"]


def test_f65_where_a_scheduler_restarts_tasks_the_keeper_only_waits() -> None:
    async def lose(cluster: Cluster) -> None:
        await anyio.sleep(1)
        cluster.lose("/job:ps/task:0")
        await anyio.sleep(20)
        assert cluster.acts == ["restore", "up", "abort"]
        cluster.started_again("/job:ps/task:0")

    cluster, _ = kept(lose, restarts=False)
    assert cluster.acts == ["restore", "up", "abort", "restore", "up", "closed"]


# ---- the monitor


def test_f65_who_waits_for_tasks_hears_which_are_missing_but_not_all_the_time() -> None:
    async def main() -> list[Any]:
        class Links:
            async def to(self, *arguments: Any, **options: Any) -> Any:
                raise UnavailableError("nobody is there")

            async def aclose(self) -> None:
                pass

        monitor = Monitor(
            {"/job:ps/task:0": "nowhere"},
            Links(),  # type: ignore[arg-type]
            None,
            process=lambda task: None,
            restarts=False,
            on_change=lambda *change: None,
            on_epoch=lambda task, epoch: None,
            epoch=lambda: 0,
            rules=Rules(),
        )
        monitor.start()
        with capture_logs() as logs, anyio.move_on_after(100):
            await monitor.all_up()
        with pytest.raises(UnavailableError, match="is not connected"):
            await monitor.ask_status("/job:ps/task:0")
        assert monitor.incarnation("/job:ps/task:0") is None
        await monitor.close()
        return logs

    logs = run(main)[0]
    assert [log["tasks"] for log in logs] == [["/job:ps/task:0"]] * 3, "after 4, 44 and 84 seconds"


class Process:
    """A process of a task, as a monitor sees it."""

    pid = 77

    def __init__(self) -> None:
        self.returncode: int | None = None
        self.ended = anyio.Event()
        self.last_log_lines = ["a last word"]

    async def wait(self) -> None:
        await self.ended.wait()

    def epitaph(self) -> str:
        return f"it exited with status {self.returncode}"


class Connections:
    """Links to one task, which ends them when the test says so."""

    def __init__(self) -> None:
        self.ends: list[Callable[[BaseException], object]] = []
        self.made = 0
        self.status = {
            "epoch": 4,
            "resident_bytes": 5,
            "kernels": ["a node"],
            "devices": [{"live_bytes": 6}, {"live_bytes": 7}],
            "links": [
                {"peer": "/job:worker/task:0", "awaited_tokens": tokens, "awaited_seconds": seconds}
                for tokens, seconds in ((2, 1.0), (1, 0.5))
            ],
            "steps": 7,
        }

    async def to(self, *arguments: Any, **options: Any) -> Any:
        self.made += 1
        control = SimpleNamespace(
            on_end=self.ends.append, statistics=lambda: SimpleNamespace(last_heard=anyio.current_time())
        )
        identity = SimpleNamespace(incarnation=self.made)
        return SimpleNamespace(identity=identity, control=control, tokens=control, call=self._call, close=lambda: None)

    async def _call(self, request: Any) -> Any:
        return self.status

    async def aclose(self) -> None:
        pass


def watched(
    what: Callable[[Connections, Process], Any], *, process: bool = True
) -> tuple[list[State], DeathReport | None, list[int]]:
    """The states of a task to which `what` happens after some seconds, the report of its death, and the epochs that it told."""

    async def main() -> tuple[list[State], DeathReport | None, list[int]]:
        links, of = Connections(), Process()
        states: list[State] = []
        epochs: list[int] = []
        monitor = Monitor(
            {"/job:ps/task:0": "somewhere"},
            links,  # type: ignore[arg-type]
            None,
            process=lambda task: of if process else None,  # type: ignore[arg-type, return-value]
            restarts=process,
            on_change=lambda task, before, after: states.append(after.state),
            on_epoch=lambda task, epoch: epochs.append(epoch),
            epoch=lambda: 9,
            rules=Rules(busy_seconds=1e6),
        )
        monitor.start()
        await anyio.sleep(5)
        assert monitor.waits == {"/job:ps/task:0": TaskWaits(7, {"/job:worker/task:0": 3}, {"/job:worker/task:0": 1.5})}
        what(links, of)
        await anyio.sleep(5)
        report = monitor.report("/job:ps/task:0")
        await monitor.close()
        return states, report, epochs

    return run(main)[0]


def test_f64_the_end_of_a_process_is_the_loss_of_its_task_though_the_connection_seems_to_live() -> None:
    def die(links: Connections, process: Process) -> None:
        process.returncode = -9
        process.ended.set()

    states, report, epochs = watched(die)
    assert states == [State.LIVE, State.LOST] and set(epochs) == {4} and len(epochs) >= 5
    assert report == DeathReport(
        "/job:ps/task:0", "it exited with status -9", 9, 1, 77, -9, 5, 13, "a node", ("a last word",)
    )


def test_f64_the_end_of_a_connection_is_a_loss_though_the_process_is_there() -> None:
    states, report, _ = watched(lambda links, process: links.ends[0](OSError("no heartbeat")))
    assert states == [State.LIVE, State.LOST] and report is not None and report.status is None
    assert "(pid 77) does not answer any more, though its process is there: no heartbeat" in report.how


def test_f64_a_task_that_has_closed_its_connection_has_ended_in_good_order_unless_its_exit_status_says_otherwise() -> (
    None
):
    for status, in_order in ((0, True), (1, False), (None, False)):

        def end(links: Connections, process: Process, status: int | None = status) -> None:
            links.ends[0](anyio.EndOfStream())
            process.returncode = status
            if status is not None:
                process.ended.set()

        states, report, _ = watched(end)
        assert states == [State.LIVE, State.LOST] and report is not None and report.in_order is in_order, status
    _, report, _ = watched(lambda links, process: links.ends[0](anyio.EndOfStream()), process=False)
    assert report is not None and report.in_order


def test_f64_a_task_that_ends_in_good_order_is_not_told_as_a_loss() -> None:
    async def end(cluster: Cluster) -> None:
        await anyio.sleep(1)
        cluster.in_order = True
        cluster.lose("/job:worker/task:0")

    cluster, _ = kept(end)
    assert [event.task for event in cluster.told(WorkerEnded)] == ["/job:worker/task:0"] and not cluster.told(
        WorkerLost
    )
    assert "restart" in cluster.acts, "where tasks are ours they are wanted"


def test_f64_a_task_of_others_that_is_lost_is_looked_for_again() -> None:
    states, report, _ = watched(lambda links, process: links.ends[0](OSError("no\n heartbeat")), process=False)
    assert states == [State.LIVE, State.LOST, State.LIVE] and report is not None
    assert report.how == "/job:ps/task:0 is lost: no heartbeat" and report.pid is None and report.log_lines == ()


# ---- the model


async def test_f67_checkpoints_of_a_supervisor_are_taken_between_steps() -> None:
    asked: list[Any] = []

    class Saves(af.train.Saver):
        async def save(self, *arguments: Any, **options: Any) -> str:
            asked.append((*arguments[1:], options))
            return "path"

    made = program(on_cluster=False)
    with made.graph.as_default():
        model = ModelState(made.graph, "memory://models/", saver=Saves())
    assert await model.save(None, 7, list) == "path"  # type: ignore[arg-type]
    assert asked == [("memory://models/model.ckpt", 7, {"consistent": True, "taken": list})]


# ---- epochs and attempts, in a supervisor


async def test_f65_an_error_that_the_program_raises_itself_is_no_loss_whatever_its_name() -> None:
    made = program()
    async with nearby() as cluster, af.Supervisor(cluster, made.graph) as supervisor:
        wrong = AbortedError("mine")
        with pytest.raises(AbortedError) as caught:
            async for attempt in supervisor.steps(until=1):
                async with attempt:
                    await supervisor.run(made.train, made.feeds(0))
                    raise wrong
        assert caught.value is wrong


def test_f65_a_step_that_went_well_lets_the_next_failure_count_as_the_first() -> None:
    restarts = Restarts(RestartPolicy(most=2, first_seconds=1.0, factor=2.0), lambda: 1.0)
    assert [restarts.next_pause(STEPS, 0.0) for _ in range(3)] == [1.0, 2.0, None]
    restarts.forget(STEPS)
    assert restarts.next_pause(STEPS, 0.0) == 1.0


def test_f67_a_checkpoint_folder_is_absolute_unless_it_is_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder_path("models") == folder_path(Path("models")) == str(tmp_path / "models")
    assert folder_path("memory://models") == "memory://models" and folder_path(None) is None
