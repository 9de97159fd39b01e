"""Clusters that are set up wrongly: each mistake is named within five seconds, by a sentence that helps; starts and stops that
leave nothing; and small messages that get through while large tensors stream.

`ACTORFLOW_CLUSTER_STARTS` sets how often a cluster is started and stopped (20).
"""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from channels import start_zmq_collector, until
from clusters import free_port, make_spec, servers
from patience import PATIENCE, MachineTime

import actorflow as af
from actorflow import errors
from actorflow.base.process import machine
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.config.credentials import Credentials
from actorflow.cluster.processes.launcher import Launcher
from actorflow.cluster.processes.local import LocalCluster
from actorflow.cluster.server import Server
from actorflow.engine.transport.base import ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected
from actorflow.errors import UnavailableError
from actorflow.transports.protocol import handshake
from actorflow.transports.shm import endpoint as shm

pytestmark = pytest.mark.timeout(120)
STARTS = int(os.environ.get("ACTORFLOW_CLUSTER_STARTS", "20"))
SECONDS = 5.0


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher({"OPENBLAS_NUM_THREADS": "1"}) as found:

        async def warm() -> None:
            async with LocalCluster({"worker": 1}, launcher=found):
                pass

        anyio.run(warm)
        yield found


@contextmanager
def told(*said: str, kinds: tuple[type[BaseException], ...] = (errors.OpError,)) -> Iterator[None]:
    """The block fails within five seconds, and the error has all these words."""
    given = MachineTime()
    with pytest.raises(kinds) as caught:
        yield
    assert given.seconds() < SECONDS
    text = str(caught.value)
    assert all(word in text for word in said), text


@contextmanager
def listener(backlog: int = 16) -> Iterator[socket.socket]:
    """A port of this machine where somebody listens who speaks no word of our protocol."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen(backlog)
        yield found


async def ask(target: str, timeout: float = 2.0, credentials: Any = None) -> None:
    graph = af.Graph()
    with graph.as_default():
        one = af.constant(1.0)
    async with af.Session(target, graph, connect_timeout=timeout, credentials=credentials) as session:
        assert await session.run(one) == 1.0


# ---- the way to a server


async def test_f55_another_program_listens_at_the_port() -> None:
    """It takes connections, and answers in its own language."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        with told(f"127.0.0.1:{port}", "something else listens there"):
            await ask(f"tcp://127.0.0.1:{port}")
    finally:
        server.close()
        await server.wait_closed()


async def test_f55_a_program_takes_the_connection_and_never_speaks() -> None:
    with listener() as silent:
        port = silent.getsockname()[1]
        with told(f"127.0.0.1:{port}", "got as far as: connected", kinds=(UnavailableError,)):
            await ask(f"tcp://127.0.0.1:{port}")


async def test_f55_packets_are_swallowed_on_the_way() -> None:
    """As by a firewall: a full backlog takes no connection, and refuses none."""
    with listener(0) as full:
        address = full.getsockname()
        crowd = [socket.socket() for _ in range(4)]
        try:
            for one in crowd:
                one.setblocking(False)
                one.connect_ex(address)
            with told(f"127.0.0.1:{address[1]}", "got as far as:", kinds=(UnavailableError,)):
                await ask(f"tcp://127.0.0.1:{address[1]}", timeout=1.0)
        finally:
            for one in crowd:
                one.close()


async def test_f55_a_worker_hangs_at_its_socket_and_is_named_in_the_table() -> None:
    with listener() as silent:
        spec = {"ps": [f"127.0.0.1:{free_port()}"], "worker": [f"127.0.0.1:{silent.getsockname()[1]}"]}
        async with Server(spec, "ps", 0, transport="zmq") as server:
            with told("1 of 2 tasks are there", "/job:worker/task:0", "it listens, but did not greet"):
                graph = af.Graph()
                async with af.Session(server.target, graph, connect_timeout=3.0) as session:
                    await session.warmup([])
                    await session.run([])
                    with graph.as_default():
                        await session.run(af.constant(1.0))


async def test_f55_the_hosts_name_is_unknown() -> None:
    with told("The host 'no-such-host.invalid' is unknown", kinds=(UnavailableError,)):
        await ask("tcp://no-such-host.invalid:7000")


@pytest.mark.parametrize("transport", ["zmq", "auto"])
async def test_f55_the_key_is_another_one(transport: str) -> None:
    async with servers({"worker": 1}, transport, keys=True) as (server,):
        with told("key", "refuses the connection"):
            await ask(server.target.address, credentials=Credentials.make())
        with told("key"):
            await ask(server.target.address)
        await ask(server.target)


async def test_f55_the_protocol_has_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    async with servers({"worker": 1}, "zmq") as (server,):
        with monkeypatch.context() as patched:
            made = handshake.make_hello

            def newer(*arguments: Any) -> Any:
                from dataclasses import replace

                found = made(*arguments)
                return replace(found, versions=(7, 9)) if found.identity.task.startswith("/client") else found

            from actorflow.transports import channel

            patched.setattr(channel, "make_hello", newer)
            with told("speaks versions 1 to 1 of the protocol", "versions 7 to 9", kinds=(HandshakeRejected,)):
                await query_status(server.target)
        await ask(server.target)


async def test_f55_two_clusters_are_mixed_up() -> None:
    """The file that names the tasks differs from process to process."""
    spec = make_spec({"ps": 1, "worker": 1}, "zmq")
    other = {"ps": [spec.task_address("ps", 0)], "worker": [spec.task_address("worker", 0), "127.0.0.1:1"]}
    async with Server(spec, "ps", 0, transport="zmq") as server, Server(other, "worker", 0, transport="zmq"):
        with told("/job:worker/task:0 belongs to cluster", "/job:ps/task:0 to"):
            await ask(server.target, timeout=4.0)


async def test_f55_tasks_are_started_at_each_others_addresses() -> None:
    spec = make_spec({"ps": 1, "worker": 2}, "zmq")
    crossed = [f"tcp://{spec.task_address('worker', other)}" for other in (1, 0)]
    async with (
        Server(spec, "ps", 0, transport="zmq") as server,
        Server(spec, "worker", 0, transport="zmq", listen=crossed[0]),
        Server(spec, "worker", 1, transport="zmq", listen=crossed[1]),
    ):
        with told("is /job:worker/task:", "was to be there", "--task"):
            await ask(server.target, timeout=4.0)


# ---- the way to a port


async def test_f55_a_task_is_started_twice() -> None:
    async with servers({"worker": 1}, "zmq") as (server,):
        again = Server(server.cluster, "worker", 0, transport="zmq")
        with told("Cannot listen on", server.address.rpartition(":")[2], "in use", kinds=(UnavailableError,)):
            await again.__aenter__()
    spec = make_spec({"worker": 1}, "local")
    async with Server(spec, "worker", 0, transport="local"):
        with told("listens at local://", kinds=(errors.AlreadyExistsError,)):
            await Server(spec, "worker", 0, transport="local").__aenter__()


async def test_f55_the_interface_is_not_this_machines() -> None:
    server = Server({"worker": ["192.0.2.9:7000"]}, "worker", 0, transport="zmq", credentials=Credentials.make())
    with told("Cannot listen on tcp://192.0.2.9:7000", kinds=(UnavailableError,)):
        await server.__aenter__()


# ---- what a process has


def test_f55_too_few_file_descriptors_are_told_at_the_start() -> None:
    script = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90))
import anyio, time
import actorflow as af
async def main():
    begun = time.monotonic()
    try:
        async with af.LocalCluster({"worker": 2}):
            print("it came up")
    except af.errors.OpError as error:
        print(error)
anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    assert "may open 90 files" in done.stdout and "ulimit -n" in done.stdout, done.stdout + done.stderr


async def test_f55_a_process_out_of_descriptors_does_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that can't be accepted is tried again later, and not in each turn of the event loop."""
    monkeypatch.setattr(shm, "_PAUSE_SECONDS", 0.05)
    tried: list[float] = []

    class Full:
        def __init__(self, listener: Any) -> None:
            self.listener = listener

        def accept(self) -> Any:
            tried.append(time.monotonic())
            if len(tried) <= 3:
                raise OSError(errno.EMFILE, "Too many open files")
            return self.listener.accept()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.listener, name)

    there = shm.ShmEndpoint(ProcessIdentity("c", "/job:ps/task:0", 1), listen=True, accept=lambda channel: None)
    here = shm.ShmEndpoint(ProcessIdentity("c", "/job:ps/task:1", 2), listen=False)
    there._listener = Full(there._listener)  # type: ignore[assignment]
    try:
        assert await here.connect(there.address, timeout=5.0)
    finally:
        here.close()
        there.close()
    assert len(tried) < 10 and tried[3] - tried[0] >= 0.1


async def test_f55_a_full_disk_ends_no_task(tmp_path: Path, launcher: Launcher) -> None:
    """Lines that can't be written to a log are lost, and nothing else."""
    (tmp_path / "worker-0.log").symlink_to("/dev/full")
    async with LocalCluster({"worker": 1}, launcher=launcher, log_dir=tmp_path) as cluster:
        await ask(cluster.target)
        (process,) = cluster.processes.values()
        assert process.returncode is None and process.last_log_lines == []


async def test_f55_clocks_that_differ_do_nothing(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is a day ahead of another one works with it: nothing compares times of two machines."""
    here = machine.current()
    real = here.clocks

    def ahead() -> tuple[int, int]:
        monotonic, wall = real()
        return monotonic + 10**15, wall + 86_400 * 10**9

    async with LocalCluster({"ps": 1, "worker": 1}, launcher=launcher) as cluster:
        with monkeypatch.context() as patched:
            patched.setattr(type(here), "clocks", lambda self: ahead())
            graph = af.Graph()
            with graph.as_default(), af.device("/job:ps/task:0"):
                x = af.placeholder(af.float32, [])
                y = x + 1.0
            async with af.Session(cluster.target, graph) as session:
                trace = af.Trace()
                for _ in range(20):
                    assert await session.run(y, {x: 2.0}, timeout=5.0, trace=trace) == 3.0
            assert {event.device for event in trace.events} == {"/job:ps/replica:0/task:0/device:CPU:0"}


# ---- starts and stops


def state() -> dict[str, Any]:
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "shared memory": sorted(os.listdir("/dev/shm")),
        "children": subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(os.getpid())], capture_output=True, text=True
        ).stdout.count("\n"),
    }


async def test_f55_many_starts_and_stops_leave_nothing(launcher: Launcher) -> None:
    graph = af.Graph()
    with graph.as_default():
        with af.device("/job:worker/task:0"):
            v = af.Variable(np.ones(200_000, np.float32), name="v")
        with af.device("/job:worker/task:1"):
            total = af.reduce_sum(v)
    tasks: set[tuple[int, int]] = set()
    before: dict[str, Any] = {}
    for number in range(STARTS):
        async with LocalCluster({"worker": 2}, launcher=launcher) as cluster:
            tasks |= {(process.pid, _started(process.pid)) for process in cluster.processes.values()}
            if number % 2 == 0:
                async with af.Session(cluster.target, graph) as session:
                    await session.run(v.initializer)
                    assert await session.run(total) == 200_000
            if number % 5 == 4:
                await cluster.kill("/job:worker/task:1")
        if number == 1:
            gc.collect()
            before = state()
    gc.collect()
    await until(lambda: state() == before)
    assert not [pid for pid, started in tasks if started and _started(pid) == started]


def _started(pid: int) -> int:
    """When a process began, in the system's ticks; 0 where there is none. Numbers of processes come again."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    except OSError:
        return 0


# ---- small ones beside large ones


@asynccontextmanager
async def streaming(size: int, transport: str = "zmq") -> AsyncIterator[Any]:
    """Two processes of which one sends tensors of `size` bytes (0: none) to the other without a pause; gives a function
    that makes a run without nodes at the second one, and the count of tensors so far."""
    graph, idle = af.Graph(), af.Graph()
    with graph.as_default():
        with af.device("/job:worker/task:0"):
            v = af.Variable(af.fill([size // 4 + 1], np.float32(7.0)), name="v")
        with af.device("/job:worker/task:1"):
            got = af.identity(v.read_value())[0]
    with idle.as_default(), af.device("/job:worker/task:1"):
        nothing = af.no_op()
    async with LocalCluster({"worker": 2}, transport=transport) as cluster:
        first, second = map(cluster.target_of, cluster.spec.tasks)
        async with af.Session(first, graph, transport="zmq") as bulk, af.Session(first, idle, transport="zmq") as small:
            await bulk.run(v.initializer)
            await small.run(nothing)
            assert second != first
            count = [0]

            async def stream() -> None:
                while True:
                    assert await bulk.run(got) == 7.0
                    count[0] += 1

            async with anyio.create_task_group() as group:
                if size:
                    group.start_soon(stream)
                yield (lambda: small.run(nothing)), count
                group.cancel_scope.cancel()


async def test_f51_small_steps_get_through_while_a_large_tensor_streams() -> None:
    async with streaming(64 << 20) as (run, count):
        await until(lambda: count[0] >= 1)
        between = []
        for _ in range(5):
            before = count[0]
            await run()
            await run()
            between.append(count[0] - before)
        assert min(between) == 0, "two small steps took as long as a tensor of 64 MB each time"


def test_the_limit_of_descriptors_is_not_lowered_here() -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 200
