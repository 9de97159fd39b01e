"""The events that must not happen in a cluster: code from the wire, strangers at a handler, files outside of the roots, secrets
in sight.
"""

from __future__ import annotations

import ast
import asyncio
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from channels import start_zmq_collector, until
from clusters import free_port, servers
from logged import capture_logs

import actorflow as af
from actorflow import errors
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.config.credentials import Credentials, Target, write_keys
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes.task_config import TaskConfig, to_message
from actorflow.cluster.server import Server
from actorflow.engine.transport.base import Channel, ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected
from actorflow.errors import PermissionDeniedError, UnavailableError
from actorflow.transports.shm.endpoint import ShmEndpoint
from actorflow.transports.zmq import auth
from actorflow.transports.zmq.endpoint import ZmqEndpoint

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("actorflow", "transports", "devices", "kernels", "checkpoint")
FORBIDDEN = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}
RUNS_CODE = {"exec", "compile", "eval"}


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


# ---- code


def sources() -> Iterator[tuple[str, ast.Module]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0], node.lineno


REWRITES = {("actorflow/compat/autograph/conversion.py", "compile")}
"""Modules that compile syntax trees of the program's own functions, and no text."""


def test_f62_no_pickle_no_eval_and_nothing_that_runs_text() -> None:
    found: list[str] = []
    seen = 0
    for path, tree in sources():
        seen += 1
        found += [f"{path}:{line} imports {name}" for name, line in imported(tree) if name in FORBIDDEN]
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in RUNS_CODE and (str(path), node.id) not in REWRITES:
                found.append(f"{path}:{node.lineno} names {node.id}")
            elif isinstance(node, ast.Attribute) and node.attr in ("exec", "eval") and _is_builtins(node.value):
                found.append(f"{path}:{node.lineno} names {node.attr}")
            elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and _truth(node.value) is not False:
                found.append(f"{path}:{node.value.lineno} allows pickles")
            elif isinstance(node, ast.keyword) and node.arg == "shell" and _truth(node.value) is not False:
                found.append(f"{path}:{node.value.lineno} asks a shell")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "load" and isinstance(node.func.value, ast.Name) and node.func.value.id == "np":
                    if not any(keyword.arg == "allow_pickle" for keyword in node.keywords):
                        found.append(f"{path}:{node.lineno} loads with numpy, and does not say allow_pickle=False")
                if node.func.attr in ("system", "popen") and isinstance(node.func.value, ast.Name):
                    if node.func.value.id == "os":
                        found.append(f"{path}:{node.lineno} asks a shell")
    assert not found and seen > 300


def _is_builtins(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("builtins", "__builtins__")


def _truth(node: ast.expr) -> Any:
    return node.value if isinstance(node, ast.Constant) else None


async def test_f62_objects_of_python_are_not_sent() -> None:
    async with servers({"ps": 1}) as (server,):
        graph = af.Graph()
        with graph.as_default():
            x = af.placeholder(af.string, [None])
        async with af.Session(server.target, graph) as session:
            with pytest.raises(errors.InvalidArgumentError, match="byte strings are needed"):
                await session.run(x, {x: np.array([{}], object)})
        for secret in (server.target, Credentials.make()):
            with pytest.raises(TypeError, match="not pickled"):
                pickle.dumps(secret)


# ---- strangers


@pytest.mark.parametrize("stranger", ["other keys", "no keys"])
async def test_f62_a_client_with_another_key_reaches_no_handler(stranger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    made = Server._handlers

    def handlers(self: Server, link: Any) -> Any:
        asked.append(link.task)
        return made(self, link)

    monkeypatch.setattr(Server, "_handlers", handlers)
    async with servers({"worker": 1}, "zmq", keys=True) as (server,):
        accepted: list[Any] = []
        monkeypatch.setattr(server.links, "_accept", accepted.append)
        other = None if stranger == "no keys" else Credentials.make(server=server._credentials.public)  # type: ignore[union-attr]
        with pytest.raises((UnavailableError, HandshakeRejected)) as caught:
            await query_status(server.target.address, credentials=other, timeout=2.0)
        assert "key" in str(caught.value)
        assert not asked and not accepted and not server.links.endpoints.control.channels
        assert not server.links.endpoints.control._pending  # type: ignore[attr-defined]
        monkeypatch.undo()
        status = await query_status(server.target)
        assert status["task"] == server.task


async def test_f62_a_log_that_fails_shuts_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal of a stranger is logged; if that fails, as on a full disk, friends are let in all the same."""
    tried: list[str] = []

    class Full:
        def __getattr__(self, name: str) -> Any:
            tried.append(name)
            raise OSError(28, "No space left on device")

    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context["exception"]))
    monkeypatch.setattr(auth, "_LOG", Full())
    async with servers({"worker": 1}, "zmq", keys=True) as (server,):
        for _ in range(2):
            other = Credentials.make(server=server._credentials.public)  # type: ignore[union-attr]
            with pytest.raises(errors.OpError):
                await query_status(server.target.address, credentials=other, timeout=2.0)
            assert (await query_status(server.target))["task"] == server.task
    assert tried and 0 < len(reported) < 50 and all(isinstance(error, OSError) for error in reported)


@pytest.mark.parametrize("transport", ["zmq", "auto"])
async def test_f62_a_server_without_keys_stays_on_this_machine(transport: str) -> None:
    for host in ("0.0.0.0", "[::]", "192.0.2.1"):
        listen = f"tcp://{host}:{free_port()}"
        server = Server({"ps": ["host:7070"]}, "ps", 0, transport=transport, listen=listen)
        with pytest.raises(PermissionDeniedError, match="no keys to tell friend from foe"):
            await server.__aenter__()
    server = Server({"ps": [f"127.0.0.1:{free_port()}"]}, "ps", 0, transport=transport, listen="tcp://0.0.0.0:0")
    with pytest.raises(PermissionDeniedError, match="actorflow keys init"):
        await server.__aenter__()


async def test_f62_a_process_of_another_user_is_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over shared memory the system tells whose process it is."""
    accepted: list[Channel] = []
    there = ShmEndpoint(ProcessIdentity("c", "/job:ps/task:0", 1), listen=True, accept=accepted.append)
    here = ShmEndpoint(ProcessIdentity("c", "/job:ps/task:1", 2), listen=False)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "geteuid", lambda: 4242)
            with pytest.raises((UnavailableError, anyio.BrokenResourceError)):
                await here.connect(there.address, timeout=0.5)
        assert not accepted
        assert await here.connect(there.address, timeout=5.0)
        await until(lambda: accepted)
    finally:
        here.close()
        there.close()


async def test_f62_a_process_of_another_cluster_is_not_let_in() -> None:
    async with servers({"worker": 1}, "zmq") as (server,):
        here = ZmqEndpoint(ProcessIdentity("another", "/job:worker/task:1", 7))
        try:
            with pytest.raises(HandshakeRejected, match="belongs to cluster"):
                await here.connect(server.address, timeout=5.0)
        finally:
            here.close()
        assert not server.links.inbound


async def test_f62_a_task_cannot_be_taken_for_another() -> None:
    """The process that answers at a task's address has to be that task."""
    async with servers({"worker": 2}, "zmq") as (first, second):
        with pytest.raises(errors.FailedPreconditionError, match="is /job:worker/task:1, but /job:worker/task:0"):
            await first.links.to("/job:worker/task:0", second.address, timeout=5.0)


async def test_f62_the_parts_and_steps_of_one_master_are_not_anothers() -> None:
    from actorflow.cluster.wire.messages import AbortStep, RunPart

    graph = af.Graph()
    with graph.as_default(), af.device("/job:worker/task:1"):
        queue = af.FIFOQueue(1, [af.float32], [[]])
        waits = queue.dequeue()
    async with servers({"worker": 2}) as (first, second):
        async with af.Session(first.target, graph) as session:
            async with anyio.create_task_group() as group:
                group.start_soon(session.run, waits)
                await until(lambda: second.worker.steps.running)
                ((step, _),) = second.worker.steps.running.items()
                ((_, part),) = second.worker._parts
                async with af.Session(second.target) as stranger:
                    link = await stranger._engine.connected()  # type: ignore[attr-defined]
                    with pytest.raises(errors.NotFoundError, match="is not registered here"):
                        await link.call(RunPart(part, step + 1, None, False, 0, []))
                    with pytest.raises(errors.AlreadyExistsError, match="is under way here"):
                        await link.call(RunPart(part, step, None, False, 0, []))
                    await link.call(AbortStep(step, {"message": "mine"}))
                    assert not second.worker.steps.running[step].stopped
                group.cancel_scope.cancel()


# ---- files


def file_ops(folder: Path) -> list[Any]:
    """An op of each kind that touches files, each told a path in `folder`."""
    path = str(folder / "file")
    queue = af.FIFOQueue(1, [af.string], [[]])
    readers = [af.WholeFileReader(), af.TextLineReader(), af.TFRecordReader(), af.FixedLengthRecordReader(4)]
    names = af.train.string_input_producer
    assert names is not None
    with af.control_dependencies([queue.enqueue(path)]):
        read = [af.identity(reader.read(queue)[1]) for reader in readers]
    v = af.Variable([1.0], name="kept")
    saver = af.train.Saver([v])
    assert saver is not None
    return [
        af.io.read_file(path),
        af.io.write_file(path, "x"),
        af.io.matching_files(str(folder / "*")),
        *read,
    ]


async def test_f62_ops_on_a_server_touch_files_below_its_roots_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_bytes(b"four")
    (inside / "link").symlink_to(outside / "file")
    graph = af.Graph()
    with graph.as_default():
        allowed, refused = file_ops(inside), file_ops(outside)
        refused += [af.io.read_file(str(inside / "link")), af.io.read_file(str(inside / ".." / "outside" / "file"))]
        refused += [af.io.read_file("/etc/passwd"), af.io.read_file("/proc/self/environ")]
        v = af.Variable([1.0], name="saved")
        saver = af.train.Saver([v])
    async with servers({"worker": 1}, file_roots=[inside]) as (server,):
        async with af.Session(server.target, graph) as session:
            await session.run(v.initializer)
            for op in refused:
                with pytest.raises(PermissionDeniedError, match="outside of the roots"):
                    await session.run(op)
            with pytest.raises(PermissionDeniedError, match="outside of the roots"):
                await saver.save(session, str(outside / "model"))
            assert sorted(path.name for path in outside.iterdir()) == ["file"]
            assert (outside / "file").read_bytes() == b"four"
            assert await session.run(allowed[0]) == b"four"
            await session.run(allowed[1])
            assert (inside / "file").read_bytes() == b"x"
    async with servers({"worker": 1}) as (server,):
        async with af.Session(server.target, graph) as session:
            for op in [*allowed[:3], *refused]:
                with pytest.raises(PermissionDeniedError, match="which are: none"):
                    await session.run(op)


# ---- secrets


async def test_f62_secrets_show_in_no_repr_log_or_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    credentials = Credentials.make()
    spec = ClusterSpec({"worker": [f"127.0.0.1:{free_port()}"]})
    shown = io.StringIO()
    with capture_logs() as logs:
        async with Server(spec, "worker", 0, transport="zmq", credentials=credentials) as server:
            graph = af.Graph()
            with graph.as_default():
                y = af.check_numerics(af.placeholder_with_default(1.0, []) / 0.0, "no")
            session = af.Session(server.target, graph)
            async with session:
                with pytest.raises(errors.InvalidArgumentError) as caught:
                    await session.run(y)
            with pytest.raises(errors.OpError) as refused:
                await query_status(server.target.address, credentials=Credentials.make(), timeout=0.5)
            for one in (
                server, session, session._engine, server.target, [server.target], credentials, server.links,
                server.status(), TaskConfig(spec, "worker", 0, credentials=credentials), vars(type(credentials)),
                caught.value, refused.value, caught.getrepr(showlocals=False),
            ):  # fmt: skip
                print(one, repr(one), f"{one!s} {one!r}", file=shown)
    path = tmp_path / "keys"
    write_keys(path, credentials)
    out, err = capfd.readouterr()
    for text in (shown.getvalue(), repr(logs), out, err):
        assert credentials.secret not in text
    assert credentials.secret in str(
        to_message(TaskConfig(spec, "worker", 0, credentials=credentials))
    )  # it was looked for


def test_f62_children_have_no_secret_in_sight() -> None:
    """All users of a machine can see its processes while a cluster runs: none of them shows the secret key."""
    script = """
import anyio, os, sys
import actorflow as af
async def main():
    async with af.LocalCluster({"worker": 1}) as cluster:
        secret = cluster.credentials.secret.encode()
        pids = [p.pid for p in cluster.processes.values()] + [cluster._launcher._helper.pid, os.getpid()]
        for pid in pids:
            for place in ("cmdline", "environ", "comm"):
                assert secret not in open(f"/proc/{pid}/{place}", "rb").read(), (pid, place)
        for process in cluster.processes.values():
            assert secret.decode() not in "".join(process.last_log_lines)
        print("looked at", len(pids))
anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0 and done.stdout == "looked at 3\n", done.stderr


def test_f62_a_target_is_its_address_alone() -> None:
    target = Target("tcp://127.0.0.1:1", Credentials.make())
    assert f"{target}|{target!s}|{target:s}" == "|".join(["tcp://127.0.0.1:1"] * 3)
