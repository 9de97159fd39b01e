"""Launcher: answers that somebody else takes, or that come for somebody who has gone, hold up and confuse no one."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator

import anyio
import pytest
from anyio.lowlevel import checkpoint
from patience import PATIENCE

from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes.launcher import FORKS, Forked, Launcher
from actorflow.cluster.processes.local_process import LocalProcess
from actorflow.cluster.processes.task_config import TaskConfig

pytestmark = [pytest.mark.timeout(120), pytest.mark.skipif(not FORKS, reason="forking is not to be had")]


@pytest.fixture(scope="module", autouse=True)
def launcher() -> Iterator[Launcher]:
    with Launcher() as found:

        async def warm() -> None:
            await (await begin(found)).over()

        anyio.run(warm)
        yield found


class Begun:
    """A process that waits for its orders."""

    def __init__(self, process: Forked, wire: socket.socket) -> None:
        self.process, self.wire = process, wire

    async def over(self) -> None:
        """Ends it, and waits for its end."""
        self.process.send_signal(9)
        await self.process.ended()
        self.process.close()
        self.wire.close()


async def begin(launcher: Launcher) -> Begun:
    mine, theirs = socket.socketpair()
    with theirs, tempfile.TemporaryFile() as log:
        try:
            found = await launcher.start("task", theirs, log.fileno())
        except BaseException:
            mine.close()
            raise
    assert isinstance(found, Forked)
    return Begun(found, mine)


async def asked(launcher: Launcher) -> None:
    """Returns when somebody has asked for a process, a moment later and before the answer is there."""
    while not launcher._lock.locked():
        await checkpoint()
    for _ in range(3):
        await checkpoint()


def take(launcher: Launcher) -> None:
    """Holds the event loop up until the answer is there, and takes it."""
    assert launcher._lock.locked()
    while not launcher._started:
        launcher.look(10)


async def test_f55_a_start_goes_on_whose_answer_somebody_else_has_taken(launcher: Launcher) -> None:
    """As when one task is started while the end of another is waited for."""
    found: list[Begun] = []

    async def start() -> None:
        found.append(await begin(launcher))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(start)
            await asked(launcher)
            take(launcher)
            assert not found
    await found[0].over()


async def test_f55_an_answer_for_somebody_who_has_gone_is_given_to_nobody(launcher: Launcher) -> None:
    found: list[Begun] = []

    async def start() -> None:
        found.append(await begin(launcher))

    async with anyio.create_task_group() as group:
        group.start_soon(start)
        await asked(launcher)
        take(launcher)
        [(unwanted, _)] = launcher._started
        group.cancel_scope.cancel()
    assert not launcher._started and not launcher._unwanted
    for begun in found:  # it came just in time
        await begun.over()
    next_one = await begin(launcher)
    assert next_one.process.pid != unwanted and not launcher._started
    await next_one.over()


async def test_f55_a_process_that_was_closed_before_it_began_has_ended() -> None:
    spec = ClusterSpec({"worker": ["127.0.0.1:1"]})
    process = LocalProcess(TaskConfig(spec, "worker", 0))
    assert process.returncode is None
    process.close()
    assert process.returncode == -9 == await process.wait()
