"""A client and one server in two processes on loopback; the peer's talk gRPC, which is neither encrypted nor authenticated.

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
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import numpy as np

from benchmarks.definitions import Build, Call, Comparison, Work
from benchmarks.sides import our_library, peer_library

SIZES = {"4b": 1, "1mb": 262_144, "100mb": 26_214_400}
LABELS = {"4b": "4 bytes", "1mb": "1 MB", "100mb": "100 MB"}


@contextmanager
def server(side: str, keys: str | None = None) -> Iterator[int]:
    """A server in a process of its own; gives its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    environ = {name: value for name, value in os.environ.items() if name != "ACTORFLOW_KEYS"}
    if keys is not None:
        environ["ACTORFLOW_KEYS"] = keys
    command = [sys.executable, "-m", "benchmarks.remote_server", side, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            while "up" not in (line := process.stdout.readline()):
                if not line:
                    raise RuntimeError(f"The server of {side} did not start.")
            yield port
        finally:
            process.stdin.close()
            process.wait(10)


def no_op(library: Any) -> Work:
    """Nothing at all."""
    graph = library.Graph()
    with graph.as_default():
        return Work(graph, library.no_op())


def read(elements: int) -> Build:
    """The fetch of a variable of so many floats."""

    def build(library: Any) -> Work:
        graph = library.Graph()
        with graph.as_default():
            initial = np.float32(1) if elements == 1 else library.ones([elements])
            variable = library.get_variable("v", initializer=initial, use_resource=True)
            return Work(graph, variable.read_value(), init=variable.initializer)

    return build


def push(elements: int) -> Build:
    """Adds what is fed to a variable of so many floats, and fetches it."""

    def build(library: Any) -> Work:
        graph = library.Graph()
        with graph.as_default():
            variable = library.get_variable("v", initializer=library.zeros([elements]), use_resource=True)
            fed = library.placeholder(library.float32, [elements])
            with library.control_dependencies([library.assign_add(variable, fed)]):
                value = variable.read_value()
            return Work(graph, value, [fed], [(np.ones(elements, np.float32),)], variable.initializer)

    return build


@asynccontextmanager
async def _ours(build: Build, transport: str, curve: bool, consume: bool) -> AsyncIterator[Call]:
    from actorflow.cluster.credentials import Credentials, Target, write_keys

    af = our_library()
    work = build(af)
    with tempfile.TemporaryDirectory() as folder:
        keys = Credentials.make() if curve else None
        path = os.path.join(folder, "keys.toml")
        if keys is not None:
            write_keys(path, keys)
        with server("ours", path if curve else None) as port:
            target = Target(f"tcp://127.0.0.1:{port}", keys)
            async with af.Session(target, graph=work.graph, transport=transport) as session:
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
    with server("peer") as port, tf.Session(f"grpc://127.0.0.1:{port}", graph=work.graph) as session:
        if work.init is not None:
            session.run(work.init)
        feeds = dict(zip(work.placeholders, work.batches[0], strict=True))

        def call() -> Any:
            value = session.run(work.fetches, feeds)
            return np.sum(value) if consume else _first(value)

        yield call


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
    )


BENCHMARKS = (
    _compare("no_op", "a remote no-op", no_op, "zmq"),
    *(
        _compare(f"read_{size}", f"read of a remote variable of {LABELS[size]}", read(SIZES[size]), transport, curve=curve)
        for size in SIZES
        for transport, curve in (("shm", True), ("zmq", False), ("zmq", True))
    ),
    _compare("read_100mb", "the same of 100 MB, summed by the receiver", read(SIZES["100mb"]), "shm", consume=True),
    _compare("push_100mb", "push and fetch of 100 MB", push(SIZES["100mb"]), "shm"),
)
