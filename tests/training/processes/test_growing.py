"""Tasks join a training as processes, are killed and drain; the machine may be as busy as it likes, and no bit changes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from training.processes.growing import Phase, Tasks, servers, trained_through, workers

from actorflow.supervisor import Restored

pytestmark = pytest.mark.timeout(300)


def and_has_left(phase: Phase, process: subprocess.Popen[bytes]) -> Phase:
    """The phase, and a process has ended by itself, in good order."""
    return lambda supervisor: phase(supervisor) and process.poll() == 0


def workers_come_and_go(tasks: Tasks) -> Iterator[Phase]:
    yield workers(1)
    first, second = tasks.join("worker"), tasks.join("worker")
    yield workers(3)
    first.kill()
    yield workers(2)
    second.terminate()
    yield and_has_left(workers(1), second)


def workers_go_together(tasks: Tasks) -> Iterator[Phase]:
    first, second, third = (tasks.join("worker") for _ in range(3))
    yield workers(4)
    first.kill()
    second.kill()
    third.terminate()  # while no task knows that the others never come back
    yield and_has_left(workers(1), third)


def servers_come_and_go(tasks: Tasks) -> Iterator[Phase]:
    yield servers(1)
    first = tasks.join("ps")
    yield servers(2)
    first.kill()
    yield servers(1)
    second = tasks.join("ps")
    yield servers(2)
    second.terminate()
    yield and_has_left(servers(1), second)


async def test_workers_join_are_killed_and_drain(tmp_path: Path) -> None:
    await trained_through(workers_come_and_go, tmp_path)


async def test_two_workers_are_killed_while_another_drains(tmp_path: Path) -> None:
    await trained_through(workers_go_together, tmp_path)


async def test_a_server_joins_is_killed_and_another_drains_and_no_step_is_lost(tmp_path: Path) -> None:
    supervisor = await trained_through(servers_come_and_go, tmp_path, copies=1)
    restored = [event.from_copies for event in supervisor.history if isinstance(event, Restored)]
    assert restored == [False] + [True] * (len(restored) - 1), supervisor.history
