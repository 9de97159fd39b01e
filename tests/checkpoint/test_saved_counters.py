"""Counters of random numbers are in a checkpoint whatever task they are on, also one without variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clusters import servers

import actorflow as af

TASKS = ("/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1")
STEPS = 4


class Program:
    """A variable on the parameter server, and random numbers on all tasks."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            with af.device(TASKS[0]):
                variable = af.Variable(1.0, name="v")
            self.draws = []
            for number, task in enumerate(TASKS):
                with af.device(task):
                    self.draws.append(af.random_uniform([2], seed=number + 1))
            self.saver = af.train.Saver()
            self.init = variable.initializer

    async def drawn(self, session: af.Session) -> list[Any]:
        """The numbers that the next steps draw."""
        return [[value.tolist() for value in await session.run(self.draws)] for _ in range(STEPS)]


async def test_f68_random_numbers_of_tasks_without_variables_go_on(tmp_path: Path) -> None:
    made, path = Program(), str(tmp_path / "model")
    async with servers({"ps": 1, "worker": 2}, file_roots=[tmp_path]) as found:
        async with af.Session(found[0].target, made.graph) as session:
            await session.run(made.init)
            before = await made.drawn(session)
            await made.saver.save(session, path)
            expected = await made.drawn(session)
            await made.saver.restore(session, path)
            assert await made.drawn(session) == expected != before
    again = Program()
    async with servers({"ps": 1, "worker": 2}, file_roots=[tmp_path]) as found:
        async with af.Session(found[0].target, again.graph) as session:
            await again.saver.restore(session, path)
            assert await again.drawn(session) == expected


async def test_f68_what_a_task_was_told_by_a_restore_is_no_news_of_the_nodes_of_others(tmp_path: Path) -> None:
    made, first, second = Program(), str(tmp_path / "first"), str(tmp_path / "second")
    async with servers({"ps": 1, "worker": 2}, file_roots=[tmp_path]) as found:
        async with af.Session(found[0].target, made.graph) as session:
            await session.run(made.init)
            await made.drawn(session)
            await made.saver.save(session, first)
            await made.saver.restore(session, first)  # each task hears of the counters of all
            await made.drawn(session)
            await made.saver.save(session, second)
            expected = await made.drawn(session)
            await made.saver.restore(session, second)
            assert await made.drawn(session) == expected
