"""Addresses that are wrong: each kind of wrongness, as the target of each entry point and as another task's of a cluster.

An absent task is told of when the session's time is over, which is less than five seconds, and one that is there but wrong at
once. The error names the task and its address.
"""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from clusters import free_port, free_ports
from patience import MachineTime

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import blocking, errors
from actorflow.cluster.client import inquiries
from actorflow.cluster.config.credentials import Credentials, Target
from actorflow.cluster.server import Server
from actorflow.cluster.wire import connect_all, links

SECONDS = 5.0
WAIT = 3.0
"""For so long the tests wait for what is absent: the doors of a test wait side by side."""
MINE, OTHERS = Credentials.make(), Credentials.make()
WRONG = "/job:worker/task:0"

Place = AsyncIterator[str]
Kind = Callable[[], Any]


# ---- what may be at a wrong address


@asynccontextmanager
async def nobody() -> Place:
    yield f"127.0.0.1:{free_port()}"


@asynccontextmanager
async def an_unknown_host() -> Place:
    yield "no-such-host.invalid:7000"


@asynccontextmanager
async def a_host_that_swallows_packets() -> Place:
    """As a firewall does, or a machine that is off: a full backlog takes no connection, and refuses none."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        crowd = [socket.socket() for _ in range(4)]
        try:
            for caller in crowd:
                caller.setblocking(False)
                caller.connect_ex(full.getsockname())
            yield f"127.0.0.1:{full.getsockname()[1]}"
        finally:
            for caller in crowd:
                caller.close()


@asynccontextmanager
async def a_silent_program() -> Place:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        yield f"127.0.0.1:{silent.getsockname()[1]}"


def speaks(banner: bytes, answer: bytes) -> Kind:
    """A program that says its banner to who connects, and its answer to the first words."""

    @asynccontextmanager
    async def place() -> Place:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(banner)
            if await reader.read(1):
                writer.write(answer)
            writer.close()

        server = await asyncio.start_server(speak, "127.0.0.1", 0)
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            await server.wait_closed()

    return place


def is_task(job: str, index: int, credentials: Credentials | None = MINE, **jobs: int) -> Kind:
    """A task of actorflow that is another one than is looked for."""

    @asynccontextmanager
    async def place() -> Place:
        here, *ports = free_ports(1 + sum(jobs.values()))
        spec = {name: [f"127.0.0.1:{ports.pop()}" for _ in range(count)] for name, count in jobs.items()}
        spec.setdefault(job, []).insert(index, f"127.0.0.1:{here}")
        async with Server(spec, job, index, transport="zmq", credentials=credentials):
            yield f"127.0.0.1:{here}"

    return place


ABSENT: dict[str, tuple[Kind, str]] = {
    "nobody": (nobody, ""),
    "a host that swallows packets": (a_host_that_swallows_packets, ""),
    "a silent program": (a_silent_program, ""),
}
UNKNOWN: dict[str, tuple[Kind, str]] = {"an unknown host": (an_unknown_host, "'no-such-host.invalid' is unknown")}
FOREIGN: dict[str, tuple[Kind, str]] = {
    "HTTP": (speaks(b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(64)), "something else listens there"),
    "SSH": (speaks(b"SSH-2.0-OpenSSH_9.6\r\n", b""), "something else listens there"),
    "SMTP": (speaks(b"220 mail ESMTP\r\n", b"500 what?\r\n"), "something else listens there"),
    "another key": (is_task("worker", 0, OTHERS), "its key is another one"),
    "no key": (is_task("worker", 0, None), "it has no keys"),
}
ANOTHER_TASK: dict[str, tuple[Kind, str]] = {
    "another cluster": (is_task("worker", 0), "is only in that of"),
    "another job": (is_task("ps", 0), "belongs to cluster"),
}


def rows(*tables: dict[str, tuple[Kind, str]]) -> Any:
    return [pytest.param(*row, id=name) for table in tables for name, row in table.items()]


# ---- who asks


def graph() -> af.Graph:
    with af.Graph().as_default() as made:
        af.train.get_or_create_global_step()
    return made


async def session(target: Target) -> None:
    async with af.Session(target, graph(), connect_timeout=WAIT) as opened:
        await opened.run(opened.graph.get_tensor_by_name("global_step:0"))


async def blocking_session(target: Target) -> None:
    def work() -> None:
        with blocking.Session(target, graph(), connect_timeout=WAIT) as opened:
            opened.run("global_step:0")

    await asyncio.to_thread(work)


async def session_of_tensorflow(target: Target) -> None:
    def work() -> None:
        with tf.Session(target, graph(), connect_timeout=WAIT) as opened:
            opened.run("global_step:0")

    await asyncio.to_thread(work)


async def callable_of_a_session(target: Target) -> None:
    async with af.Session(target, graph(), connect_timeout=WAIT) as opened:
        await (await opened.make_callable("global_step:0"))()


async def reset(target: Target) -> None:
    await inquiries.reset(target, [])


async def supervisor(target: Target) -> None:
    async with af.Supervisor(target, graph(), start_seconds=WAIT):
        pass


async def worker_under_a_supervisor(target: Target) -> None:
    async with af.Supervisor(target, graph(), is_chief=False, start_seconds=WAIT):
        pass


async def session_manager(target: Target) -> None:
    made = graph()
    with made.as_default():
        init = af.global_variables_initializer()
    manager = af.train.SessionManager(graph=made)
    async with await manager.prepare_session(target, init, config={"connect_timeout": WAIT}):
        pass


async def status(target: Target) -> None:
    await inquiries.query_status(target, timeout=WAIT)


async def pending(target: Target) -> None:
    await inquiries.query_pending(target, timeout=WAIT)


Door = Callable[[Target], Awaitable[None]]
OF_A_CLUSTER: list[Door] = [
    session,
    blocking_session,
    session_of_tensorflow,
    callable_of_a_session,
    reset,
    supervisor,
    worker_under_a_supervisor,
    session_manager,
]
DOORS: list[Door] = [*OF_A_CLUSTER, status, pending]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (inquiries, connect_all):
        monkeypatch.setattr(module, "CONNECT_SECONDS", WAIT)
    monkeypatch.setattr(connect_all.connect_all, "__defaults__", (WAIT, None))


async def refused(doors: list[Door], target: Target) -> dict[str, str]:
    """The errors of all doors, which come in time."""

    async def ask(door: Door) -> str:
        try:
            await door(target)
        except errors.OpError as error:
            assert time.seconds() < SECONDS, door.__name__
            return str(error)
        raise AssertionError(f"{door.__name__} has reached a wrong address.")

    time = MachineTime()
    return dict(zip([door.__name__ for door in doors], await asyncio.gather(*map(ask, doors)), strict=True))


@pytest.mark.parametrize("kind, said", rows(ABSENT, UNKNOWN, FOREIGN))
async def test_a_wrong_target_is_named_at_each_door(kind: Kind, said: str) -> None:
    async with kind() as place:
        answers = await refused(DOORS, Target(f"tcp://{place}", MINE))
    host = place.partition(":")[0]
    assert not {door: text for door, text in answers.items() if said not in text or host not in text}


@pytest.mark.parametrize("kind, said", rows(ABSENT, UNKNOWN, FOREIGN, ANOTHER_TASK))
async def test_another_task_at_a_wrong_address_is_named_at_each_door(kind: Kind, said: str) -> None:
    async with kind() as place:
        spec = {"ps": [f"127.0.0.1:{free_port()}"], "worker": [place]}
        async with Server(spec, "ps", 0, transport="zmq", credentials=MINE) as server:
            answers = await refused(OF_A_CLUSTER, server.target)
    assert not {door: text for door, text in answers.items() if WRONG not in text or place not in text}
    assert said in answers["session"]


def test_sessions_wait_less_than_five_seconds_and_supervisors_more_than_a_minute() -> None:
    waits = [inspect.signature(kind).parameters["connect_timeout"].default for kind in (af.Session, blocking.Session)]
    assert waits == [links.CONNECT_SECONDS] * 2 and links.CONNECT_SECONDS < SECONDS
    assert inspect.signature(af.Supervisor).parameters["start_seconds"].default == links.START_SECONDS > 60
