"""A supervisor follows the members of its cluster: which tasks it watches, and which of them a training needs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import anyio
import pytest
from virtual import run

from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.membership.view import View, founded, joined, left
from actorflow.cluster.wire.messages import Leave
from actorflow.errors import UnavailableError
from actorflow.training.supervisor.events import DeathReport, Events
from actorflow.training.supervisor.liveness import Life, State
from actorflow.training.supervisor.recovery.epochs import EpochStore
from actorflow.training.supervisor.recovery.manager import RecoveryManager
from actorflow.training.supervisor.recovery.members import Members
from actorflow.training.supervisor.recovery.restarts import RestartPolicy, Restarts

PS, FIRST, SECOND = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


class Followed:
    """A manager that follows views, and what it asks of a monitor: the tasks that are watched, and those that are needed."""

    def __init__(
        self,
        view: View,
        *,
        job: str | None = "worker",
        uses: Callable[[str], bool] = lambda _: False,
        lost_seconds: float | None = None,
        copied: tuple[str, ...] = (),
    ) -> None:
        self.view = view
        self.addresses = view.members
        self.lives = {task: Life(State.LIVE, incarnation=1) for task in view.members}
        self.needed: set[str] = set()
        self.watches: dict[str, object] = {}
        self.leaves: list[float] = []
        self.refusals = 0
        self.taken_back: list[Exception] = []
        self.members = Members(
            lambda task: "ps" in task,
            lambda tasks: None,
            lost_seconds=lost_seconds,
            uses=uses,
            job=job,
            has_copies=copied.__contains__,
        )
        self.manager = RecoveryManager(
            EpochStore(None),
            Restarts(RestartPolicy(), lambda: 0.0),
            Events(lambda: 0.0),
            cluster=None,
            client=lambda: "me",
            restore=anyio.sleep_forever,
            holds_state=lambda task: False,
            on_abort=self.taken_back.append,
            on_up=lambda: None,
            on_failure=self.taken_back.append,
            members=self.members,
        )
        self.manager.monitor = self  # type: ignore[assignment]
        self.manager.follow(view)

    # of a monitor

    def address(self, task: str) -> str:
        return self.addresses[task]

    def add(self, task: str, address: str, *, needed: bool = True) -> None:
        self.addresses[task], self.lives[task] = address, Life(State.STARTING)
        if needed:
            self.needed.add(task)

    def drop(self, task: str) -> None:
        del self.addresses[task], self.lives[task]
        self.watches.pop(task, None)

    def watch(self, task: str) -> object | None:
        return self.watches.setdefault(task, object()) if task in self.lives else None

    def report(self, task: str) -> DeathReport | None:
        return self._report if task == SECOND else None

    _report: DeathReport | None = DeathReport(SECOND, "it died", 1, 1)

    async def call(self, task: str, request: Leave) -> bytes:
        assert task == PS
        self.leaves.append(anyio.current_time())
        if self.refusals:
            self.refusals -= 1
            raise UnavailableError("a change of members is under way")
        self.view = left(self.view, request.task)
        return self.view.encode()

    # what happens

    def see(self, change: Callable[[View], View]) -> None:
        self.view = change(self.view)
        self.manager.follow(self.view)


def view(limits: dict[str, tuple[int, int | None]] | None = None, workers: int = 0) -> View:
    jobs = {"ps": ["p:1"]} | ({"worker": [f"w{number}:1" for number in range(workers)]} if workers else {})
    return founded(ClusterSpec(jobs), limits)


def come(task: str, address: str = "w9:1") -> Callable[[View], View]:
    return lambda former: joined(former, task, address)


def go(task: str) -> Callable[[View], View]:
    return lambda former: left(former, task)


@pytest.mark.parametrize(
    ("former", "job", "changes", "watched"),
    [
        (view({"worker": (1, 8)}), None, [come(FIRST)], {PS, FIRST}),
        (view(), "worker", [come(FIRST)], {PS, FIRST}),
        (view(), None, [come(FIRST)], {PS}),
        (view({"worker": (1, 8)}), "worker", [come("/job:other/task:0")], {PS}),
        (view(workers=1), None, [go(FIRST), come(SECOND)], {PS, SECOND}),
        (view(workers=2), "worker", [go(FIRST), go(SECOND), come(FIRST)], {PS, FIRST}),
    ],
)
async def test_tasks_of_jobs_that_take_part_are_watched_also_if_the_job_had_none(
    former: View, job: str | None, changes: list[Callable[[View], View]], watched: set[str]
) -> None:
    followed = Followed(former, job=job)
    for change in changes:
        followed.see(change)
    assert set(followed.lives) == watched


@pytest.mark.parametrize(
    ("job", "used", "needed"),
    [("worker", False, {SECOND}), (None, True, {SECOND}), (None, False, set()), ("ps", False, set())],
)
async def test_a_training_needs_a_task_that_joins_if_it_has_logical_workers_there_or_the_session_uses_it(
    job: str | None, used: bool, needed: set[str]
) -> None:
    followed = Followed(view(workers=1), job=job, uses=lambda task: used)
    followed.see(come(SECOND))
    assert SECOND in followed.lives and followed.needed == needed


async def test_a_member_under_its_name_at_another_address_is_watched_there() -> None:
    def move(former: View) -> View:
        rows = tuple((task, "tcp://elsewhere:1" if task == FIRST else address) for task, address in former.tasks)
        return replace(former, epoch=former.epoch + 1, tasks=rows)

    followed = Followed(view(workers=2))
    followed.see(move)
    assert followed.addresses[FIRST] == "tcp://elsewhere:1" and followed.lives[FIRST].state is State.STARTING
    assert followed.lives[SECOND].is_up and not followed.taken_back


def lost(followed: Followed) -> None:
    before = followed.lives[SECOND]
    followed.lives[SECOND] = Life(State.LOST, incarnation=1)
    followed.manager.changed(SECOND, before, followed.lives[SECOND])


async def test_a_lost_task_that_could_not_be_spared_is_declared_lost_when_another_joins() -> None:
    followed = Followed(view({"worker": (2, 8)}, workers=2), lost_seconds=0.0)
    lost(followed)
    await anyio.wait_all_tasks_blocked()
    assert SECOND in followed.lives and not followed.leaves
    followed.see(come("/job:worker/task:2"))
    await anyio.wait_all_tasks_blocked()
    assert SECOND not in followed.lives and len(followed.leaves) == 1
    await followed.manager._root.close()


@pytest.mark.parametrize("is_reached", [False, True])
def test_a_task_that_has_died_since_it_joined_and_was_never_reached_is_declared_lost(is_reached: bool) -> None:
    async def main() -> None:
        followed = Followed(view({"worker": (1, 8)}, workers=1), lost_seconds=1.0)
        followed._report = None
        followed.see(come(SECOND))
        await anyio.sleep(5)
        assert SECOND in followed.lives, "a machine may be that slow"
        if is_reached:
            followed.lives[SECOND] = Life(State.LIVE, incarnation=1)
        await anyio.sleep(10)
        assert (SECOND in followed.lives) is is_reached and len(followed.leaves) == 1 - is_reached
        await followed.manager._root.close()

    run(main)


def test_a_task_that_joins_under_the_name_of_a_lost_task_has_its_own_time() -> None:
    async def main() -> None:
        followed = Followed(view({"worker": (1, 8)}, workers=1), lost_seconds=1.0)
        followed._report = None
        followed.see(come(SECOND))
        await anyio.sleep(4)
        followed.see(go(SECOND))
        await anyio.sleep(5)
        followed.see(come(SECOND))  # the first has joined ten seconds ago a second from now
        await anyio.sleep(8)
        assert SECOND in followed.lives and not followed.leaves
        await anyio.sleep(3)
        assert SECOND not in followed.lives and len(followed.leaves) == 1
        await followed.manager._root.close()

    run(main)


@pytest.mark.parametrize(
    ("task", "copied", "can_spare"),
    [
        (PS, ("/job:ps/task:0",), False),
        ("/job:ps/task:1", ("/job:ps/task:1",), True),
        ("/job:ps/task:1", (), False),
        (FIRST, (), True),
        (SECOND, (), False),
    ],
)
async def test_a_task_with_variables_is_spared_if_other_tasks_have_copies(
    task: str, copied: tuple[str, ...], can_spare: bool
) -> None:
    followed = Followed(view(workers=2), copied=copied)
    followed.see(come("/job:ps/task:1"))
    followed.see(go(SECOND))
    followed.see(come("/job:worker/task:2", "w2:1"))
    assert followed.members.can_spare(task) is can_spare


def test_a_coordinator_that_refuses_is_asked_again_after_pauses_that_grow() -> None:
    async def main() -> list[float]:
        followed = Followed(view({"worker": (1, 8)}, workers=2), lost_seconds=1.0)
        followed.refusals = 7
        lost(followed)
        await anyio.sleep(60)
        assert SECOND not in followed.lives
        await followed.manager._root.close()
        return [later - former for former, later in itertools.pairwise(followed.leaves)]

    assert run(main)[0] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])


@pytest.mark.parametrize("fails", [False, True])
async def test_a_task_that_leaves_by_wish_is_watched_no_more_before_it_does(fails: bool) -> None:
    followed = Followed(view(workers=2))
    cluster = SimpleNamespace(view=followed.view, spec=followed.view.spec)
    followed.manager._cluster = cluster  # type: ignore[assignment]

    async def change() -> None:
        assert SECOND not in followed.lives
        followed.see(come("/job:worker/task:2"))  # a view on the way, in which the task is a member yet
        assert SECOND not in followed.lives and "/job:worker/task:2" in followed.lives
        if fails:
            cluster.view, cluster.spec = followed.view, followed.view.spec
            raise UnavailableError("a member does not answer")
        cluster.view = left(followed.view, SECOND)
        cluster.spec = cluster.view.spec

    if fails:
        with pytest.raises(UnavailableError, match="a member does not answer"):
            await followed.manager.let_change([SECOND], change)
    else:
        await followed.manager.let_change([SECOND], change)
    assert (SECOND in followed.lives) is fails and not followed.taken_back
