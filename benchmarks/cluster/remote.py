"""A client and its servers in processes of their own on loopback. The peer's talk gRPC, neither encrypted nor authenticated.

A read fetches a variable that lives on the server; a push feeds as much and adds it to the variable there. CURVE is ZeroMQ's
encryption, which a cluster has unless its keys are taken away. Over shared memory the requests still take ZeroMQ with CURVE.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Any

import numpy as np

from benchmarks.harness.definitions import Build, Call, Comparison, Work
from benchmarks.harness.sides import our_library, peer_library

SIZES = {"4b": 1, "1mb": 262_144, "100mb": 26_214_400}
LABELS = {"4b": "4 bytes", "1mb": "1 MB", "100mb": "100 MB"}


@contextmanager
def servers(side: str, count: int = 1, keys: str | None = None) -> Iterator[list[int]]:
    """The servers of a cluster, in processes of their own; gives their ports."""
    ports = []
    with ExitStack() as stack:
        for _ in range(count):
            free = stack.enter_context(socket.socket())
            free.bind(("127.0.0.1", 0))
            ports.append(int(free.getsockname()[1]))
    environ = {name: value for name, value in os.environ.items() if name != "ACTORFLOW_KEYS"}
    if keys is not None:
        environ["ACTORFLOW_KEYS"] = keys
    with ExitStack() as stack:
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.cluster.remote_server", side, str(index), *map(str, ports)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environ,
            )
            for index in range(count)
        ]
        for process in started:
            stack.callback(_end, process)
        for process in started:
            assert process.stdout is not None
            while "up" not in (line := process.stdout.readline()):
                if not line:
                    raise RuntimeError(f"A server of {side} did not start.")
        yield ports


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.wait(10)
    process.stdout.close()


def no_op(library: Any) -> Work:
    """Nothing at all."""
    graph = library.Graph()
    with graph.as_default():
        return Work(graph, library.no_op())


def read(elements: int) -> Build:
    """The fetch of a variable of `elements` floats."""

    def build(library: Any) -> Work:
        graph = library.Graph()
        with graph.as_default():
            initial = np.float32(1) if elements == 1 else library.ones([elements])
            variable = library.get_variable("v", initializer=initial, use_resource=True)
            return Work(graph, variable.read_value(), init=variable.initializer)

    return build


def push(elements: int) -> Build:
    """Adds the feed to a variable of `elements` floats, and fetches it."""

    def build(library: Any) -> Work:
        graph = library.Graph()
        with graph.as_default():
            variable = library.get_variable("v", initializer=library.zeros([elements]), use_resource=True)
            fed = library.placeholder(library.float32, [elements])
            with library.control_dependencies([library.assign_add(variable, fed)]):
                value = variable.read_value()
            return Work(graph, value, [fed], [(np.ones(elements, np.float32),)], variable.initializer)

    return build


def null_step(library: Any) -> Work:
    """A step that reads four bytes of each of two tasks."""
    graph = library.Graph()
    with graph.as_default():
        some = []
        for task in range(2):
            with library.device(f"/job:worker/task:{task}"):
                some.append(library.get_variable(f"v{task}", initializer=np.float32(1), use_resource=True))
        return Work(graph, [v.read_value() for v in some], init=library.global_variables_initializer())


@asynccontextmanager
async def targets(count: int, curve: bool) -> AsyncIterator[list[Any]]:
    """Our servers, in processes of their own; gives what sessions take to have each of them as their master."""
    from actorflow.cluster.config.credentials import Credentials, Target, write_keys

    with tempfile.TemporaryDirectory() as folder:
        keys = Credentials.make() if curve else None
        path = os.path.join(folder, "keys.toml")
        if keys is not None:
            write_keys(path, keys)
        with servers("ours", count, path if curve else None) as ports:
            yield [Target(f"tcp://127.0.0.1:{port}", keys) for port in ports]


@asynccontextmanager
async def _ours(build: Build, transport: str, curve: bool, consume: bool) -> AsyncIterator[Call]:
    af = our_library()
    work = build(af)
    async with targets(1, curve) as found:
        async with af.Session(found[0], graph=work.graph, transport=transport) as session:
            if work.init is not None:
                await session.run(work.init)
            feeds = dict(zip(work.placeholders, work.batches[0], strict=True))

            async def call() -> Any:
                value = await session.run(work.fetches, feeds)
                return np.sum(value) if consume else _first(value)

            yield call


@contextmanager
def _peer(build: Build, consume: bool) -> Iterator[Call]:
    tf = peer_library()
    work = build(tf)
    with servers("peer") as ports, tf.Session(f"grpc://127.0.0.1:{ports[0]}", graph=work.graph) as session:
        if work.init is not None:
            session.run(work.init)
        feeds = dict(zip(work.placeholders, work.batches[0], strict=True))

        def call() -> Any:
            value = session.run(work.fetches, feeds)
            return np.sum(value) if consume else _first(value)

        yield call


@asynccontextmanager
async def _our_workers(count: int) -> AsyncIterator[Call]:
    """`count` clients that step together; each has its own session, at one server or the other."""
    import anyio

    af = our_library()
    work = null_step(af)
    async with targets(2, True) as found, AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(af.Session(found[i % 2], graph=work.graph)) for i in range(count)]
        await sessions[0].run(work.init)

        async def call() -> Any:
            async with anyio.create_task_group() as group:
                for session in sessions:
                    group.start_soon(session.run, work.fetches)

        yield call


@contextmanager
def _peer_workers(count: int) -> Iterator[Call]:
    tf = peer_library()
    work = null_step(tf)
    with servers("peer", 2) as ports, ExitStack() as stack, ThreadPoolExecutor(count) as pool:
        sessions = [
            stack.enter_context(tf.Session(f"grpc://127.0.0.1:{ports[i % 2]}", graph=work.graph)) for i in range(count)
        ]
        sessions[0].run(work.init)

        def call() -> Any:
            list(pool.map(lambda session: session.run(work.fetches), sessions))

        yield call


def _workers(count: int) -> Comparison:
    return Comparison(
        f"null_step_{count}",
        f"null step of {count} synchronous workers with two servers",
        lambda: _our_workers(count),
        lambda: _peer_workers(count),
        polls=True,
    )


def _first(value: Any) -> Any:
    """A number for the check that both sides agree, at no cost."""
    return value[0] if isinstance(value, np.ndarray) and value.ndim else value


def _compare(
    name: str, work: str, build: Build, transport: str, *, curve: bool = True, consume: bool = False
) -> Comparison:
    how = {"shm": "shared memory", "zmq": "ZeroMQ with CURVE" if curve else "ZeroMQ"}[transport]
    return Comparison(
        f"{name}_{transport}{'_curve' if curve and transport == 'zmq' else ''}{'_summed' if consume else ''}",
        f"{work}, {how}",
        lambda: _ours(build, transport, curve, consume),
        lambda: _peer(build, consume),
        polls=True,
    )


BENCHMARKS = (
    _compare("no_op", "a remote no-op", no_op, "zmq"),
    *(
        _compare(
            f"read_{size}", f"read of a remote variable of {LABELS[size]}", read(SIZES[size]), transport, curve=curve
        )
        for size in SIZES
        for transport, curve in (("shm", True), ("zmq", False), ("zmq", True))
    ),
    _compare("read_100mb", "the same of 100 MB, summed by the receiver", read(SIZES["100mb"]), "shm", consume=True),
    _compare("push_100mb", "push and fetch of 100 MB", push(SIZES["100mb"]), "shm"),
    *map(_workers, (1, 4, 16)),
)
