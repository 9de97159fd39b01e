"""`actorflow worker --check`: checks whether a task could start and reach the others. It starts nothing."""

from __future__ import annotations

import secrets

import anyio

from actorflow.cluster.processes.listening import check_listen
from actorflow.cluster.processes.startup import ConnectProgress, TaskReachability, missing, table
from actorflow.cluster.processes.task_config import TaskConfig
from actorflow.cluster.wire.endpoints import open_endpoints
from actorflow.cluster.wire.links import Links
from actorflow.engine.transport.base import ProcessIdentity
from actorflow.engine.transport.installed import for_target
from actorflow.errors import OpError

CHECK_SECONDS = 4.0


def check(config: TaskConfig) -> int:
    """Prints a table of all tasks and the problems of this task; returns 0 without problems, else 1."""
    troubles = []
    assert config.listen is not None
    try:
        check_listen(config.listen)
    except OpError as error:
        troubles.append(str(error))
    if config.credentials is None and not config.listen.partition("://")[2].startswith(
        ("127.", "localhost:", "[::1]:")
    ):
        troubles.append(f"{config.listen} can be reached from other machines, but no keys are given: give --keys FILE.")
    states = anyio.run(probe, config)
    states[config.task] = TaskReachability(
        ConnectProgress.ACCEPTED, None, "this task" if not troubles else "this task can't start"
    )
    print(table(config.cluster, states, most=1000))
    for trouble in troubles:
        print(trouble)
    return int(bool(troubles or missing(config.cluster, states)))


async def probe(config: TaskConfig, seconds: float | None = None) -> dict[str, TaskReachability]:
    """How far each other task is reached, all tried at once."""
    states = {task: TaskReachability() for task in config.cluster.tasks if task != config.task}
    me = ProcessIdentity("", f"/client:check-{secrets.token_hex(4)}", secrets.randbits(63))
    transport = for_target(config.transport, config.address)
    links = Links(me, open_endpoints(transport, credentials=config.credentials, control_only=True))

    async def reach(task: str) -> None:
        def progress(word: str) -> None:
            states[task] = states[task].told(word)

        try:
            await links.to(task, config.cluster.address_of(task), timeout=seconds or CHECK_SECONDS, progress=progress)
        except OpError as error:
            if states[task].reached is ConnectProgress.ACCEPTED:  # it greeted, and is another task than it should be
                states[task] = TaskReachability(ConnectProgress.AUTHENTICATED, states[task].version)
            states[task] = states[task].failed(error.message)

    try:
        async with anyio.create_task_group() as group:
            for task in states:
                group.start_soon(reach, task)
    finally:
        with anyio.CancelScope(shield=True):
            await links.aclose()
    return states
