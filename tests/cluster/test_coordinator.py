"""The turns of a coordinator by themselves: members that answer as told, and what callers hear."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.membership.coordinator import Coordinator
from actorflow.cluster.membership.rounds import Rounds
from actorflow.cluster.membership.view import View, founded
from actorflow.cluster.wire.messages import AskView
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import UnavailableError

FIRST, SECOND, THIRD = (f"/job:ps/task:{number}" for number in range(3))


class Cluster:
    """A coordinator at the first of three tasks; the others have its view, and answer at once."""

    def __init__(self) -> None:
        self.view = founded(ClusterSpec({"ps": ["p0:1", "p1:1", "p2:1"]}))
        self.root = BackgroundTasks()
        self.coordinator = Coordinator(self, FIRST, self.reach, self.root)

    async def install(self, view: View) -> None:
        self.view = view

    async def reach(self, task: str, address: str) -> Any:
        return self

    async def call(self, request: Any, timeout: float | None = None) -> Any:
        await anyio.lowlevel.checkpoint()
        return self.view.encode() if isinstance(request, AskView) else None


async def test_who_waits_for_turns_that_were_cancelled_before_they_began_hears_so() -> None:
    cluster = Cluster()

    async def ask() -> None:
        with pytest.raises(UnavailableError, match="is about to end"):
            await cluster.coordinator.reserve("ps", None, "p3:1")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.lowlevel.checkpoint()  # the caller has begun, and its turn has not
            await cluster.root.close()
        await ask()


@pytest.mark.parametrize("how", ["lost", "saved"])
async def test_a_task_that_came_back_under_its_name_stays_when_its_loss_is_declared_twice(how: str) -> None:
    cluster, answers = Cluster(), []
    cluster.view = founded(ClusterSpec({"ps": ["p0:1", "p1:1", "p2:1"]}))

    async def change(request: Callable[[], Awaitable[View]]) -> None:
        answers.append((await request()).members)

    async with anyio.create_task_group() as group:
        async with cluster.coordinator.turn:
            for request in (
                lambda: cluster.coordinator.leave(SECOND, how),
                lambda: cluster.coordinator.join(SECOND, "tcp://p9:1"),
                lambda: cluster.coordinator.leave(SECOND, how),
            ):
                group.start_soon(change, request)
                await anyio.wait_all_tasks_blocked()
    assert cluster.view.members == {FIRST: "tcp://p0:1", THIRD: "tcp://p2:1", SECOND: "tcp://p9:1"}
    assert [SECOND in members for members in answers] == [False, True, True]
    await cluster.root.close()


@pytest.mark.parametrize("is_doubted", [False, True])
async def test_a_member_is_not_asked_that_is_declared_lost_as_the_round_begins(is_doubted: bool) -> None:
    rounds, asked = Rounds(), []
    if is_doubted:
        rounds.doubt(SECOND)

    async def question(task: str, address: str) -> None:
        asked.append(task)
        await anyio.sleep_forever()

    async def declare() -> None:
        rounds.give_up(SECOND)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(rounds.ask, [(SECOND, "p1:1")], question)
            group.start_soon(declare)  # between the round's start and the first step of its question
    assert asked == []
