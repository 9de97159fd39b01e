"""LocalCluster: processes that come up together, are known by name, can be killed and started again, and leave nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from channels import start_zmq_collector
from patience import PATIENCE, MachineTime

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors
from actorflow.cluster.client.inquiries import query_status, reset
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes import process as processes
from actorflow.cluster.processes.launcher import Launcher
from actorflow.cluster.processes.listening import Reservation, open_descriptors
from actorflow.cluster.processes.local import LocalCluster
from actorflow.cluster.processes.task_config import (
    MessageAssembler,
    TaskConfig,
    from_message,
    receive,
    send,
    to_message,
)

pytestmark = pytest.mark.timeout(120)
PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
LATE = (errors.DeadlineExceededError, errors.UnavailableError)


@pytest.fixture(scope="module", autouse=True)
def collector() -> None:
    start_zmq_collector()


@pytest.fixture(scope="module", autouse=True)
def launcher() -> Iterator[Launcher]:
    """All clusters of this module fork their processes from one."""
    with Launcher({"OPENBLAS_NUM_THREADS": "1"}) as found:

        async def warm() -> None:
            async with LocalCluster({"worker": 1}, launcher=found):
                pass

        anyio.run(warm)  # before a test looks at what there is, or at the time
        yield found


@pytest.fixture
async def cluster(launcher: Launcher) -> AsyncIterator[LocalCluster]:
    async with LocalCluster({"ps": 1, "worker": 1}, launcher=launcher) as found:
        yield found


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(condition: Any, what: str) -> None:
    """The limit of the test is how long it may take."""
    while not condition():
        time.sleep(0.005)


# ---- what it is for


async def test_f58_every_task_is_a_server_and_a_target(cluster: LocalCluster) -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [])
        with af.device("/job:ps/task:0"):
            total = x + 1.0
        with af.device("/job:worker/task:0"):
            total = total * 2.0
    for task in cluster.spec.tasks:
        async with af.Session(cluster.target_of(task), graph) as session:
            assert await session.run(total, {x: 2.0}) == 6.0


async def test_f55_each_task_is_a_process_with_ports_of_its_own(cluster: LocalCluster) -> None:
    pids = {process.pid for process in cluster.processes.values()}
    assert len(pids | {os.getpid()}) == 3 and cluster.target == cluster.spec.address_of(WORKER)
    for task, process in cluster.processes.items():
        found = await query_status(cluster.target_of(task))
        assert (found["task"], found["pid"], found["address"]) == (task, process.pid, process.address)
        assert found["incarnation"] == f"{process.incarnation:x}" and found["state"] == "live"
        listening = [s for s in sockets_of(process.pid) if s in tcp_listeners()]
        ports = {tcp_listeners()[s] for s in listening}
        assert int(process.address.rpartition(":")[2]) in ports and len(ports) == 2, "its own, and one for sealed lanes"
        lines = "\n".join(process.last_log_lines)
        for said in (f"{task} of cluster {cluster.spec.cluster_id} is up", process.address, "versions"):
            assert said in lines
        assert cluster.credentials and cluster.credentials.fingerprint in lines


def sockets_of(pid: int) -> list[str]:
    return [link[len("socket:[") : -1] for link in open_descriptors(pid) if link.startswith("socket:[")]


def tcp_listeners() -> dict[str, int]:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]
    return {row[9]: int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}


def bytes_of(path: str) -> bytes:
    return Path(path).read_bytes()


async def test_f55_keys_stand_in_no_command_line_no_environment_and_no_log(cluster: LocalCluster) -> None:
    assert cluster.credentials is not None
    secret = cluster.credentials.secret.encode()
    for process in cluster.processes.values():
        for place in ("cmdline", "environ"):
            assert secret not in bytes_of(f"/proc/{process.pid}/{place}")
        assert secret.decode() not in "\n".join(process.last_log_lines)
    assert secret.decode() not in repr(cluster) + repr(cluster.target) + repr(cluster.processes) + repr(cluster._config)


async def test_f55_who_lacks_the_keys_is_refused(cluster: LocalCluster) -> None:
    other = af.LocalCluster({"worker": 1}).credentials
    with pytest.raises(errors.OpError):
        await query_status(cluster.target.address, credentials=other, timeout=1.0)
    with pytest.raises(errors.OpError):
        await query_status(cluster.target.address, timeout=1.0)


# ---- ends


async def test_f63_a_killed_task_is_known_and_starts_again_at_its_address(cluster: LocalCluster) -> None:
    first = cluster.processes[PS]
    assert first.returncode is None
    before = await query_status(cluster.target_of(PS))
    await cluster.kill(PS)
    assert first.returncode == -signal.SIGKILL and "was ended by SIGKILL" in first.epitaph() and gone(first.pid)
    await cluster.restart(PS, epoch=3)
    second = cluster.processes[PS]
    after = await query_status(cluster.target_of(PS))
    assert second is not first and second.returncode is None and second.address == first.address
    assert after["incarnation"] != before["incarnation"] and after["epoch"] == 3 and after["pid"] == second.pid
    assert (await query_status(cluster.target_of(WORKER)))["pid"] == cluster.processes[WORKER].pid


async def test_f63_a_task_that_runs_is_ended_before_it_starts_again(cluster: LocalCluster) -> None:
    first = cluster.processes[WORKER]
    await cluster.restart(WORKER)
    assert first.returncode == 0 and cluster.processes[WORKER].returncode is None


async def test_f63_several_wait_for_an_end(cluster: LocalCluster) -> None:
    statuses: list[int] = []

    async def wait() -> None:
        statuses.append(await cluster.processes[PS].wait())

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        cluster.processes[PS].signal(signal.SIGKILL)
    assert statuses == [-signal.SIGKILL] * 3


async def test_f55_sigterm_drains_and_ends_with_status_0(cluster: LocalCluster) -> None:
    process = cluster.processes[PS]
    given = MachineTime()
    process.signal(signal.SIGTERM)
    with anyio.fail_after(PATIENCE):
        assert await process.wait() == 0
    assert given.seconds() < 5.0
    assert any("SIGTERM: waits up to" in line for line in process.last_log_lines)


def waiting_graph() -> tuple[af.Graph, Any, Any]:
    graph = af.Graph()
    with graph.as_default(), af.device("/job:ps/task:0"):
        queue = af.FIFOQueue(1, [af.float32], shapes=[[]], shared_name="q")
        return graph, queue.dequeue(), queue.enqueue(af.constant(7.0))


async def test_f55_a_drain_lets_the_step_in_flight_end(cluster: LocalCluster) -> None:
    graph, dequeue, enqueue = waiting_graph()
    process = cluster.processes[PS]
    results = []
    async with af.Session(cluster.target_of(PS), graph) as session:
        await session.warmup(dequeue)
        await session.warmup(enqueue)

        async def wait() -> None:
            results.append(await session.run(dequeue))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            with anyio.fail_after(PATIENCE):
                while (await query_status(cluster.target_of(PS)))["steps_in_flight"] != 1:
                    pass
                process.signal(signal.SIGTERM)
                while (await query_status(cluster.target_of(PS)))["state"] != "draining":
                    pass
            with pytest.raises(errors.OpError, match="takes no new work"):
                await session.run(enqueue)
            group.cancel_scope.cancel()
    with anyio.fail_after(PATIENCE):
        assert await process.wait() == 0


def test_f55_the_moment_at_which_the_system_ends_a_process_is_not_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = [0.0]
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(signal, "getitimer", lambda which: (timer[0], 0.0))
    monkeypatch.setattr(signal, "setitimer", lambda which, seconds: timer.__setitem__(0, seconds))
    for seconds, left in ((7.0, 7.0), (2.0, 2.0)):
        processes._bound_the_end(seconds)
        assert timer == [left]
    timer[0] = 0.5  # which is left of the seven
    processes._bound_the_end(2.0)
    assert timer == [0.5]


async def test_f55_a_second_sigterm_ends_at_once(cluster: LocalCluster) -> None:
    graph, dequeue, _ = waiting_graph()
    process = cluster.processes[PS]
    async with af.Session(cluster.target_of(PS), graph) as session, anyio.create_task_group() as group:

        async def wait() -> None:
            with pytest.raises(errors.UnavailableError):
                await session.run(dequeue)

        group.start_soon(wait)
        with anyio.fail_after(PATIENCE):
            while (await query_status(cluster.target_of(PS)))["steps_in_flight"] != 1:
                pass
            given = MachineTime()
            process.signal(signal.SIGTERM)
            while not any("another signal ends it at once" in line for line in process.last_log_lines):
                await checkpoint()
            process.signal(signal.SIGTERM)
            assert await process.wait() == 128 + signal.SIGTERM
        assert given.seconds() < 4.0  # less than the drain


async def test_f55_a_stopped_process_ends_with_the_cluster(launcher: Launcher) -> None:
    async with LocalCluster({"worker": 1}, launcher=launcher) as cluster:
        process = cluster.processes[WORKER]
        process.signal(signal.SIGSTOP)
        given = MachineTime()
    assert process.returncode == -signal.SIGKILL and gone(process.pid) and given.seconds() < 4.0
    assert any("is up" in line for line in process.last_log_lines)
    await cluster.aclose()  # once more does nothing


@pytest.mark.parametrize("way", ["awaited", "blocking", "TensorFlow's"])
async def test_a_reset_names_the_task_that_does_not_answer(way: str, launcher: Launcher) -> None:
    """The others are reset all the same. The stopped task holds its links: it has answered before."""
    async with LocalCluster({"ps": 1, "worker": 1}, launcher=launcher) as cluster:
        with af.Graph().as_default() as graph, af.device(PS), af.container("mine"):
            v = af.Variable(1.0)
        async with af.Session(cluster.target_of(PS), graph) as session:
            await session.run(v.initializer)
            await reset(cluster.target_of(PS), ["other"])
            assert await session.run(v) == 1.0
            cluster.processes[WORKER].signal(signal.SIGSTOP)
            given = MachineTime()
            with anyio.fail_after(PATIENCE), pytest.raises(LATE, match=WORKER):
                match way:
                    case "awaited":
                        await reset(cluster.target_of(PS), ["mine"])
                    case "blocking":
                        await anyio.to_thread.run_sync(af.blocking.Session.reset, cluster.target_of(PS), ["mine"])
                    case _:
                        await anyio.to_thread.run_sync(tf.Session.reset, cluster.target_of(PS), ["mine"])
            assert given.seconds() < 12.0
            with pytest.raises(errors.FailedPreconditionError, match="has no value yet"):
                await session.run(v)


async def test_a_reset_waits_no_longer_than_its_limit(launcher: Launcher) -> None:
    async with LocalCluster({"ps": 1, "worker": 1}, launcher=launcher) as cluster:
        await reset(cluster.target_of(PS), [])
        cluster.processes[WORKER].signal(signal.SIGSTOP)
        given = MachineTime()
        with anyio.fail_after(PATIENCE), pytest.raises(errors.DeadlineExceededError, match=r"within 0\.5 s"):
            await reset(cluster.target_of(PS), [], timeout=0.5)
        with pytest.raises(errors.DeadlineExceededError, match=r"within 0\.5 s"):
            limited = tf.ConfigProto(operation_timeout_in_ms=500)
            await anyio.to_thread.run_sync(tf.Session.reset, cluster.target_of(PS), ["mine"], limited)
        assert given.seconds() < 4.0


@pytest.mark.parametrize("fork", [True, False], ids=["forked", "spawned"])
def test_f55_no_task_outlives_its_parent(fork: bool) -> None:
    """The task ends, whatever becomes of the parent, and also if it can't run at that moment."""
    script = f"""
import anyio, signal
from actorflow.cluster.processes.launcher import Launcher
from actorflow.cluster.processes.local import LocalCluster
async def main():
    async with LocalCluster({{"worker": 3}}, launcher=Launcher(fork={fork})) as cluster:
        await cluster.kill("/job:worker/task:2")
        assert cluster.processes["/job:worker/task:2"].returncode == -9
        cluster.processes["/job:worker/task:1"].signal(signal.SIGSTOP)
        print(*(process.pid for process in cluster.processes.values() if process.returncode is None), flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None and parent.stderr is not None
        line = parent.stdout.readline()
        assert line, parent.stderr.read()
        pids = [int(pid) for pid in line.split()]
        assert len(pids) == 2 and not any(map(gone, pids))
        parent.kill()
    wait_until(lambda: all(map(gone, pids)), f"tasks {pids} are gone")


async def test_f55_tasks_end_with_their_launcher_and_nothing_is_left() -> None:
    """A cluster without a launcher of the test's brings one up, twice here."""
    async with LocalCluster({"ps": 1, "worker": 1}) as cluster:
        pids = [process.pid for process in cluster.processes.values()]
        helper = cluster._launcher._helper
        assert helper is not None
        helper.kill()
        with anyio.fail_after(PATIENCE):
            for process in cluster.processes.values():
                assert await process.wait() == -signal.SIGKILL
        await cluster.restart(WORKER)
        pids.append(cluster.processes[WORKER].pid)
    assert all(map(gone, pids)) and [p.returncode for p in cluster.processes.values()] == [-9, 0]


async def test_f55_a_task_writes_its_stacks_on_sigusr1(cluster: LocalCluster) -> None:
    process = cluster.processes[PS]
    process.signal(signal.SIGUSR1)
    with anyio.fail_after(PATIENCE):
        while not any("run_until_complete" in line for line in process.last_log_lines):
            await checkpoint()
    assert process.returncode is None


# ---- starts that fail


async def test_f55_a_start_that_fails_says_why(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "broken_ops.py").write_text("print('about to fail')\nimport no_such_module\n")
    sys.path.append(str(tmp_path))
    try:
        with pytest.raises(errors.UnavailableError) as caught:
            async with LocalCluster({"worker": 2}, launcher=launcher, imports=["broken_ops"]):
                raise AssertionError("it came up")
    finally:
        sys.path.remove(str(tmp_path))
    said = str(caught.value)
    assert "did not come up" in said and "'broken_ops' could not be imported" in said
    assert "no_such_module" in said and "| about to fail" in said and "/job:worker/task:" in said


async def test_f55_a_start_that_takes_too_long_says_so(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "slow_ops.py").write_text("import threading\nprint('waits', flush=True)\nthreading.Event().wait()\n")
    sys.path.append(str(tmp_path))
    try:
        cluster = LocalCluster(
            {"worker": 1}, launcher=launcher, imports=["slow_ops"], startup_seconds=1.0, log_dir=tmp_path
        )
        with pytest.raises(errors.UnavailableError, match=r"1 of 1 tasks were not up after 1\.\d s") as caught:
            await cluster.start()
    finally:
        sys.path.remove(str(tmp_path))
    assert "has not said that it is up" in str(caught.value) and str(tmp_path) in str(caught.value)
    (process,) = cluster.processes.values()
    assert gone(process.pid) and process.last_log_lines == ["waits"]


async def test_f55_imports_register_ops_of_a_program(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "my_ops_of_test.py").write_text("import sys\nprint('imported', file=sys.stderr)\n")
    sys.path.append(str(tmp_path))
    try:
        async with LocalCluster({"worker": 1}, launcher=launcher, imports=["my_ops_of_test"]) as cluster:
            assert cluster.processes[WORKER].last_log_lines[0] == "imported"
    finally:
        sys.path.remove(str(tmp_path))


async def test_f55_a_cancelled_start_leaves_nothing(launcher: Launcher) -> None:
    for turns in range(0, 40, 5):
        cluster = LocalCluster({"worker": 2}, launcher=launcher)
        async with anyio.create_task_group() as group:
            group.start_soon(cluster.start)
            for _ in range(turns):
                await checkpoint()
            group.cancel_scope.cancel()
        assert all(gone(p.pid) for p in cluster.processes.values() if p.pid > 0)
    async with LocalCluster({"worker": 1}, launcher=launcher) as cluster:  # no answer was mistaken for another
        assert (await query_status(cluster.target))["pid"] == cluster.processes[WORKER].pid


async def test_f55_logs_go_to_a_folder(launcher: Launcher, tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "here"
    async with LocalCluster({"ps": 1, "worker": 1}, launcher=launcher, log_dir=folder) as cluster:
        await cluster.restart(PS)
        lines, position = cluster.processes[PS].new_log_lines(0)
        assert "is up" in lines[0] and cluster.processes[PS].new_log_lines(position) == ([], position)
        assert lines == cluster.processes[PS].last_log_lines  # those of this incarnation
    text = (folder / "ps-0.log").read_text()
    assert text.count("is up") == 2 and (folder / "worker-0.log").read_text().count("is up") == 1


async def test_f55_a_folder_for_logs_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.InvalidArgumentError, match="can't be made"):
        await LocalCluster({"worker": 1}, log_dir=tmp_path / "file" / "below").start()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs the tests may be root
    with pytest.raises(errors.PermissionDeniedError, match="may not be written"):
        await LocalCluster({"worker": 1}, log_dir=tmp_path).start()


@pytest.mark.parametrize("jobs", [{}, {"worker": 0}, {"worker": 2, "ps": -1}])
def test_f56_a_cluster_needs_tasks(jobs: dict[str, int]) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="needs a task or more"):
        LocalCluster(jobs)


def test_f56_other_mistakes_are_told() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="auto, local, shm, zmq"):
        LocalCluster({"worker": 1}, transport="tcp")
    with pytest.raises(errors.FailedPreconditionError, match="has not been started"):
        LocalCluster({"worker": 1}).target  # noqa: B018


async def test_f56_unknown_tasks_are_told(cluster: LocalCluster) -> None:
    for act in (cluster.kill, cluster.restart):
        with pytest.raises(errors.NotFoundError, match=f"no task '/job:ps/task:1' in this cluster; it has {PS}"):
            await act("/job:ps/task:1")
    with pytest.raises(errors.FailedPreconditionError, match="started already"):
        await cluster.start()


# ---- in this process, and without await


async def test_f54_a_cluster_in_this_process_has_no_sockets() -> None:
    before = set(sockets_of(os.getpid()))
    graph = af.Graph()
    with graph.as_default():
        with af.device(PS):
            v = af.get_variable("v", initializer=af.constant(1.0))
        update = v.assign_add(1.0)
    async with LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:
        assert not cluster.processes and repr(cluster.target).endswith("no keys)")
        async with af.Session(cluster.target, graph) as session:
            await session.run(v.initializer)
            assert await session.run(update) == 2.0
            assert set(sockets_of(os.getpid())) == before
        await cluster.kill(PS)
        await cluster.restart(PS)
        async with af.Session(cluster.target, graph) as session:
            with pytest.raises(errors.FailedPreconditionError):
                await session.run(v)  # another incarnation knows nothing
            await session.run(v.initializer)


def test_f59_a_blocking_script_has_one_too(launcher: Launcher) -> None:
    graph = af.Graph()
    with graph.as_default(), af.device(PS):
        doubled = af.constant(4.0) * 2.0
    with af.blocking.LocalCluster({"ps": 1, "worker": 1}, launcher=launcher) as cluster:
        with af.blocking.Session(cluster.target, graph) as session:
            assert session.run(doubled) == 8.0
        cluster.kill(PS)
        assert cluster.processes[PS].returncode == -signal.SIGKILL
        cluster.restart(PS)
        with af.blocking.Session(cluster.target_of(PS), graph) as session:
            assert session.run(doubled) == 8.0
    assert [p.returncode for p in cluster.processes.values()] == [0, 0]
    with pytest.raises(errors.InvalidArgumentError, match="event loop that runs all the time"):
        af.blocking.LocalCluster({"worker": 1}, transport="local")


# ---- the pieces


def test_f55_a_reserved_port_is_ours_alone() -> None:
    held = Reservation()
    try:
        with socket.socket() as stranger, pytest.raises(OSError):
            stranger.bind(("127.0.0.1", held.port))
        with socket.socket() as mine:
            mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            mine.bind(("127.0.0.1", held.port))
            mine.listen()
    finally:
        held.close()


def test_f55_orders_survive_their_message() -> None:
    credentials = LocalCluster({"worker": 1}).credentials
    assert credentials is not None
    orders = TaskConfig(
        ClusterSpec({"ps": ["a:1"], "worker": {3: "b:1"}}),
        "worker",
        3,
        credentials=credentials,
        allowed=frozenset({credentials.public}),
        devices={"CPU": 2},
        file_roots=("/a", "/b"),
        imports=("x",),
        epoch=4,
        incarnation=1 << 62,
    )
    mine, theirs = socket.socketpair()
    with mine, theirs:
        send(mine, to_message(orders))
        assert from_message(receive(theirs)) == orders
        mine.close()
        with pytest.raises(EOFError):
            receive(theirs)
    bare = TaskConfig(ClusterSpec({"ps": ["a:1"]}), "ps", 0)
    assert from_message(json.loads(json.dumps(to_message(bare)))) == bare
    assert credentials.secret not in repr(orders)


def test_f55_messages_arrive_in_any_pieces() -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs:
        for k in range(3):
            send(mine, {"k": k})
        data = theirs.recv(1 << 16)
    for size in (1, 2, 3, 7, len(data)):
        messages = MessageAssembler()
        found = [m for at in range(0, len(data), size) for m in messages.feed(data[at : at + size])]
        assert found == [{"k": 0}, {"k": 1}, {"k": 2}]
    with pytest.raises(ValueError, match="bytes"):
        MessageAssembler().feed(b"\xff\xff\xff\xff")


async def test_a_frozen_program_starts_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "frozen", True, raising=False
    )  # what PyInstaller and others set; they would start themselves again
    with pytest.raises(errors.UnimplementedError, match="transport='local'"):
        async with LocalCluster({"worker": 1}):
            raise AssertionError("it has no Python to run them with")


# ---- the live page

needs_page = pytest.mark.skipif(
    importlib.util.find_spec("actorflow.frontends.dashboard") is None, reason="the live page was taken out"
)


def answered(link: str, path: str = "") -> tuple[int, str]:
    """The answer of a page to a browser, which keeps its cookies."""
    where, _, token = link.partition("?")
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    try:
        with browser.open(f"{where}{path}?{token}", timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


@needs_page
async def test_a_cluster_opens_its_live_page_when_it_is_asked(launcher: Launcher) -> None:
    async with LocalCluster({"worker": 2}, launcher=launcher) as cluster:
        assert cluster.dashboard_link is None and "page" not in repr(cluster) + cluster._repr_html_()
        threads = threading.active_count()
        link = cluster.open_dashboard()
        assert cluster.open_dashboard() == link == cluster.dashboard_link
        assert threading.active_count() == threads + 1
        address, _, token = link.partition("?token=")
        assert address in repr(cluster) and token not in repr(cluster), "a log may have the repr, and no token"
        assert f'href="{link}"' in cluster._repr_html_()
        assert answered(link)[0] == 200, "it answers while the loop of the program is blocked"
        assert set(json.loads(answered(link, "snapshot.json")[1])["tasks"]) >= {WORKER}
        assert answered(address)[0] == 401
        watching = socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1].strip("/"))), timeout=PATIENCE)
        watching.sendall(f"GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert watching.recv(12) == b"HTTP/1.1 200"
    with watching:
        while watching.recv(1 << 16):
            pass  # the page ends its connections
    assert cluster.dashboard_link is None and threading.active_count() == threads
    with pytest.raises(errors.FailedPreconditionError, match="has ended"):
        cluster.open_dashboard()


@needs_page
async def test_a_cluster_opens_its_live_page_at_a_port_at_its_start(launcher: Launcher) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cluster = LocalCluster({"worker": 1}, launcher=launcher, dashboard_port=taken.getsockname()[1])
        with pytest.raises(errors.UnavailableError, match="can't be listened on"):
            await cluster.start()
    assert not cluster.runs(WORKER)
    async with LocalCluster({"worker": 1}, launcher=launcher, dashboard_port=0) as cluster:
        assert cluster.dashboard_link is not None


@needs_page
def test_a_blocking_cluster_has_a_live_page_too(launcher: Launcher) -> None:
    with af.blocking.LocalCluster({"worker": 1}, launcher=launcher) as cluster:
        link = cluster.open_dashboard()
        assert cluster.dashboard_link == link and answered(link)[0] == 200


async def test_tasks_of_one_process_have_no_live_page() -> None:
    async with LocalCluster({"worker": 1}, transport="local") as cluster:
        with pytest.raises(errors.FailedPreconditionError, match="no processes"):
            cluster.open_dashboard()
