"""The command `actorflow`: tasks as processes, the looks at a running cluster, and what is said when something is wrong."""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from channels import start_zmq_collector
from clusters import free_port

import actorflow as af
from actorflow import errors
from actorflow.cluster.config.credentials import Credentials, Target, read_keys, write_keys
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes import listening
from actorflow.frontends.cli import local, worker
from actorflow.frontends.cli import main as cli
from actorflow.frontends.cli.main import main, parser

pytestmark = pytest.mark.timeout(120)
ENVIRON = {k: v for k, v in os.environ.items() if not k.startswith(("ACTORFLOW_", "TF_CONFIG", "SLURM_"))}


@pytest.fixture(autouse=True, scope="module")
def collector() -> None:
    start_zmq_collector()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ.keys() - ENVIRON.keys():
        monkeypatch.delenv(name)


@contextmanager
def command(*arguments: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process; killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "actorflow", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRON | environ,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lines_until(stream: Any, last: str) -> list[str]:
    found: list[str] = []
    for line in stream:
        found.append(line.rstrip("\n"))
        if last in line:
            return found
    raise AssertionError("the output ended:\n" + "\n".join(found))


# ---- a task


def test_f55_a_worker_from_its_start_to_sigterm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_keys(tmp_path / "keys", Credentials.make())
    keys = read_keys(tmp_path / "keys")
    ports = [free_port(), free_port()]
    cluster = {"ps": [f"localhost:{ports[0]}"], "worker": [f"localhost:{ports[1]}"]}
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
    write_keys(tmp_path / "mine", Credentials.make(server=keys.public))
    (tmp_path / "allowed").write_text(f"{read_keys(tmp_path / 'mine').public}  me\n")
    arguments = ["worker", "--devices", "CPU=2", "--allow", str(tmp_path / "allowed")]
    with command(*arguments, TF_CONFIG=config, ACTORFLOW_KEYS=str(tmp_path / "keys")) as process:
        banner = lines_until(process.stderr, "versions")
        identity = ClusterSpec(cluster).cluster_id
        assert re.fullmatch(
            rf"actorflow \S+: /job:worker/task:0 of cluster {identity} is up \(pid {process.pid}\)", banner[0]
        )
        for said in (f"tcp://localhost:{ports[1]}", keys.fingerprint, "1 keys", "CPU:1", "libzmq", "epoch 0"):
            assert said in "\n".join(banner)
        assert keys.secret not in "\n".join(banner)
        address = f"localhost:{ports[1]}"

        # a program finds it
        graph = af.Graph()
        with graph.as_default(), af.device("/job:worker/task:0/cpu:1"):
            seven = af.constant(3.0) + 4.0
        with pytest.raises(errors.OpError):
            with af.blocking.Session(Target(f"tcp://{address}"), graph, connect_timeout=0.5) as session:
                session.run(seven)

        # --check tells what is there and what is missing
        check = ["worker", "--cluster", str(tmp_path / "cluster.json"), "--job", "ps", "--check"]
        assert main([*check, "--keys", str(tmp_path / "keys")]) == 0
        assert "2 of 2 tasks are there." in capsys.readouterr().out
        write_keys(tmp_path / "others", Credentials.make())
        monkeypatch.setattr("actorflow.frontends.cli.check.CHECK_SECONDS", 0.7)
        assert main([*check, "--keys", str(tmp_path / "others")]) == 1
        said = capsys.readouterr().out
        assert "1 of 2 tasks are there." in said
        (row,) = (line.split() for line in said.splitlines() if line.startswith("/job:worker/task:0"))
        assert row[2:6] == ["yes", "yes", "no", "-"]
        assert main(["worker", *check[1:-3], "--job", "worker", "--check", "--keys", str(tmp_path / "keys")]) == 1
        said = capsys.readouterr().out
        assert (
            re.search(rf"port {ports[1]} is in use by \S+ \(pid {process.pid}\)", said)
            and "this task can't start" in said
        )

        # the same task again
        assert main(["worker", *check[1:-3], "--job", "worker", "--keys", str(tmp_path / "keys")]) == 1
        assert f"(pid {process.pid})" in capsys.readouterr().err

        # status, for people, programs and container schedulers
        ask = ["--keys", str(tmp_path / "keys"), "--timeout", "0.7"]
        assert main(["status", address, *ask]) == 1
        rows = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert rows[0][:3] == ["task", "state", "address"] and rows[1][:2] == ["/job:ps/task:0", "lost"]
        assert rows[2][:3] == ["/job:worker/task:0", "live", address] and rows[2][5:9] == ["1", "CPU", "×", "2"]
        assert rows[3][0] == "/job:ps/task:0:"
        assert main(["status", address, "--json", *ask]) == 1
        found = json.loads(capsys.readouterr().out)
        assert found["/job:worker/task:0"]["pid"] == process.pid and found["/job:ps/task:0"]["state"] == "lost"
        assert main(["status", address, "--live", "--keys", str(tmp_path / "mine")]) == 0  # a person's own keys
        assert main(["status", address, "--live", *ask]) == 0 == main(["status", address, "--ready", *ask])
        assert main(["status", f"localhost:{ports[0]}", "--ready", "--timeout", "0.3"]) == 1
        assert main(["dump", address, *ask]) == 1
        said = capsys.readouterr().out
        assert "==== /job:worker/task:0" in said and "lost:" in said and f'"pid": {process.pid}' in said

        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert process.stderr is not None and "SIGTERM: waits up to" in process.stderr.read()


def test_f55_up_runs_a_cluster_until_it_is_told_to_end() -> None:
    with command("up", "ps=1", "worker=1") as process:
        out = lines_until(process.stdout, "Ctrl-C to stop them")
        lines_until(process.stderr, "/job:worker/task:0:   versions")
        environ = dict(line.removeprefix("export ").split("=", 1) for line in out if line.startswith("export "))
        path = Path(environ["ACTORFLOW_KEYS"])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        graph = af.Graph()
        with graph.as_default(), af.device("/job:ps/task:0"):
            seven = af.constant(3.0) + 4.0
        with af.blocking.Session(environ["ACTORFLOW_TARGET"], graph, credentials=path) as session:
            assert session.run(seven) == 7.0
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        assert not path.parent.exists()


@pytest.mark.parametrize("words", [["--jobs", "ps=1,worker=1"], ["ps=1", "worker=1"], ["--jobs", "ps=1", "worker=1"]])
def test_up_and_run_name_jobs_alike(words: list[str]) -> None:
    asked = parser(["up"]).parse_args(["up", *words])
    assert local.jobs_of(asked, asked.words) == {"ps": 1, "worker": 1}
    script = parser(["run"]).parse_args(["run", "--jobs", "ps=1,worker=1", "script.py", "x=1"])
    assert local.jobs_of(script) == {"ps": 1, "worker": 1} and script.arguments == ["x=1"]


@pytest.mark.parametrize("words", [["ps=1", "worker=1", "s.py", "a b"], ["--jobs", "ps=1", "worker=1", "s.py", "a b"]])
def test_run_says_how_jobs_are_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *words]) == 1
    said = capsys.readouterr().err
    assert "is no script" in said and "actorflow run --jobs ps=1,worker=1 s.py 'a b'" in said


def test_f59_run_gives_a_script_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        """
import os, sys
import actorflow as af
with af.device("/job:ps/task:0"):
    total = af.constant(3.0) + float(sys.argv[1])
with af.blocking.Session(os.environ["ACTORFLOW_TARGET"]) as session:
    print("total", session.run(total))
sys.exit(7)
"""
    )
    with command("run", "--jobs", "ps=1,worker=1", str(tmp_path / "script.py"), "4.5") as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (7, "total 7.5\n"), err


# ---- keys


def test_keys_init_and_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert main(["keys", "init"]) == 0
    path = tmp_path / "config" / "actorflow" / "keys.toml"
    keys = read_keys(path)
    made = capsys.readouterr().out
    assert main(["keys", "show"]) == 0
    shown = capsys.readouterr().out
    assert (
        keys.fingerprint in made
        and f"export ACTORFLOW_KEYS={path}" in made
        and shown == f"{path}  {keys.fingerprint}\n"
    )
    assert main(["keys", "init", str(tmp_path / "mine"), "--for", str(path)]) == 0
    mine = read_keys(tmp_path / "mine")
    assert mine.server == keys.public and mine.public in capsys.readouterr().out
    assert main(["keys", "show", str(tmp_path / "mine"), "--public"]) == 0
    shown = capsys.readouterr().out
    assert mine.public in shown and keys.fingerprint in shown
    assert keys.secret not in made + shown and mine.secret not in made + shown
    assert main(["keys", "init", str(path)]) == 1 and "never overwritten" in capsys.readouterr().err
    path.chmod(0o644)
    assert main(["keys", "show"]) == 1 and "chmod 600" in capsys.readouterr().err


# ---- what is said when something is wrong; each of these must be known at once, not after a wait


@pytest.fixture
def cluster_file(tmp_path: Path) -> Path:
    path = tmp_path / "c.json"
    path.write_text(
        json.dumps({"ps": [f"127.0.0.1:{free_port()}"], "worker": ["192.0.2.7:7070", "example.invalid:7071"]})
    )
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "No cluster is given"),
        (["--cluster", "TF_CONFIG"], "No cluster is given"),
        (["--cluster", "nowhere.json", "--job", "ps"], r"nowhere\.json does not exist"),
        (["--cluster", "FILE"], "No task of the cluster is given"),
        (["--cluster", "FILE", "--job", "worker"], "No task of the cluster is given"),
        (["--cluster", "FILE", "--job", "chief", "--task", "0"], "no job 'chief' in the cluster; it has ps, worker"),
        (["--cluster", "FILE", "--job", "worker", "--task", "2"], "no task 2 in job 'worker'; it has 0, 1"),
        (["--cluster", "FILE", "--job", "worker", "--task", "x"], "'x' is not the number of a task"),
        (["--cluster", "FILE", "--job", "worker", "--task", "0"], "192.0.2.7 is not an address of this machine"),
        (
            ["--cluster", "FILE", "--job", "ps", "--listen", "wlan77"],
            "nor a network interface of this machine, which has .*lo",
        ),
        (["--cluster", "FILE", "--job", "ps", "--listen", "127.0.0.1:x"], "'x' is not a port"),
        (["--cluster", "FILE", "--job", "ps", "--listen", "0.0.0.0"], "no keys to tell friend from foe"),
        (["--cluster", "FILE", "--job", "worker", "--task", "1"], "no keys to tell friend from foe"),
        (["--cluster", "FILE", "--job", "ps", "--keys", "nowhere"], "Cannot read nowhere: it does not exist"),
        (["--cluster", "FILE", "--job", "ps", "--allow", "nowhere"], "Cannot read nowhere: it does not exist"),
        (["--cluster", "FILE", "--job", "ps", "--devices", "CPU=x"], "'CPU=x' is not of the form NAME=COUNT"),
        (["--cluster", "FILE", "--job", "ps", "--devices", "TPU=1"], "TPU"),
        (["--cluster", "FILE", "--job", "ps", "--import", "no_such_module"], "'no_such_module' could not be imported"),
        (["--cluster", "FILE", "--job", "ps", "--log-dir", "FILE/logs"], "folder for logs, .* can't be made"),
        (["--from-slurm"], "not started by Slurm"),
    ],
)
def test_f55_a_worker_that_cannot_start_says_why(
    arguments: list[str], said: str, cluster_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", *(word.replace("FILE", str(cluster_file)) for word in arguments)]) == 1
    assert re.search(said, capsys.readouterr().err)


def test_f55_too_few_files_are_told(
    cluster_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (64, 100))
    raised: list[Any] = []
    monkeypatch.setattr(resource, "setrlimit", lambda what, limits: raised.append(limits))
    assert main(["worker", "--cluster", str(cluster_file), "--job", "ps"]) == 1
    assert "may open 100 files, but a task of a cluster of 3 needs up to 176" in capsys.readouterr().err
    assert raised == [(100, 100)]


def test_f55_ports_of_the_system_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(socket.socket):
        def bind(self, address: Any) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(listening.socket, "socket", Refusing)
    with pytest.raises(errors.PermissionDeniedError, match="below 1024 are the system's"):
        listening.check_listen("tcp://127.0.0.1:80")


@pytest.mark.parametrize(
    ("address", "listen", "bound"),
    [
        ("tcp://10.0.0.1:7070", None, "tcp://10.0.0.1:7070"),
        ("tcp://localhost:7070", None, "tcp://localhost:7070"),
        ("tcp://worker-0.workers:7070", None, "tcp://0.0.0.0:7070"),
        ("tcp://worker-0.workers:7070", "*", "tcp://0.0.0.0:7070"),
        ("tcp://worker-0.workers:7070", "10.0.0.1", "tcp://10.0.0.1:7070"),
        ("tcp://worker-0.workers:7070", ":9", "tcp://0.0.0.0:9"),
        ("tcp://worker-0.workers:7070", "tcp://10.0.0.1:9", "tcp://10.0.0.1:9"),
        ("tcp://[::1]:7070", "::1", "tcp://[::1]:7070"),
        ("tcp://a:7070", "[::1]:9", "tcp://[::1]:9"),
        ("tcp://a:7070", "lo", "tcp://127.0.0.1:7070"),
    ],
)
def test_f55_where_a_task_listens(address: str, listen: str | None, bound: str) -> None:
    assert listening.listen_address(address, listen) == bound


def test_f55_slurm_gives_a_worker_its_place(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    worker.COMMAND.arguments(parser)
    step = {"SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_PROCID": "3"}
    orders = worker.read_config(
        parser.parse_args(["--from-slurm", "--jobs", "ps=1,worker=3", "--first-port", "9000"]), step
    )
    assert orders.task == "/job:worker/task:2" and orders.address == "tcp://n2:9001"


def test_f55_the_task_on_the_command_line_goes_before_that_of_the_environment() -> None:
    parser = argparse.ArgumentParser()
    worker.COMMAND.arguments(parser)
    config = {
        "TF_CONFIG": '{"cluster": {"ps": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}}'
    }
    read: Callable[..., Any] = lambda *words: worker.read_config(parser.parse_args(words), config)  # noqa: E731
    assert read().task == "/job:worker/task:1" and read("--task", "0").task == "/job:worker/task:0"
    assert read("--job", "ps", "--task", "0", "--files", "/a", "--files", "/b").file_roots == ("/a", "/b")


def test_whom_to_ask_must_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 1 and "No target given" in capsys.readouterr().err
    assert main(["status", "nowhere"]) == 1 and "'nowhere' is not an address" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main(["no-such-command"])
    assert caught.value.code == 2


FAILURES = {
    "error of actorflow": (errors.InvalidArgumentError("the port is taken"), "the port is taken"),
    "file": (FileNotFoundError(2, "No such file or directory", "/nosuch/x"), "No such file or directory: /nosuch/x"),
    "value": (ValueError("'aes' is no seal"), "'aes' is no seal"),
    "other": (KeyError("job"), "KeyError: 'job'"),
    "group": (ExceptionGroup("two", [ExceptionGroup("one", [ValueError("first")]), ValueError("second")]), "first"),
}


@pytest.mark.parametrize(("error", "sentence"), FAILURES.values(), ids=FAILURES)
def test_a_command_that_fails_says_a_sentence(
    error: Exception, sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(cli, "commands", lambda words=(): {"up": cli.Command("fails", lambda parser: None, fail)})
    assert main(["up"]) == 1 and capsys.readouterr().err == f"actorflow up: {sentence}\n"
    monkeypatch.setenv("ACTORFLOW_TRACEBACK", "full")
    with pytest.raises(type(error)):
        main(["up"])


@pytest.mark.parametrize(("word", "nearest"), [("stauts", "status"), ("wroker", "worker"), ("exlpain", "explain")])
def test_a_misspelt_command_names_the_nearest(word: str, nearest: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([word])
    assert f"Did you mean '{nearest}'?" in capsys.readouterr().err


def test_a_trace_needs_a_folder_before_it_asks_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "127.0.0.1:9", "-o", "/nosuch/x"]) == 1
    assert "There is no folder '/nosuch'" in capsys.readouterr().err


def test_a_command_imports_no_other(tmp_path: Path) -> None:
    """A probe that is run every few seconds should be quick."""
    script = """
import sys
from actorflow.frontends.cli.main import main
assert main(["keys", "show"]) == 1
assert "actorflow.checkpoint" not in sys.modules and "actorflow.cluster.server" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, env=ENVIRON | {"ACTORFLOW_KEYS": str(tmp_path / "no")})


def test_the_version() -> None:
    said = subprocess.run([sys.executable, "-m", "actorflow", "--version"], capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == (f"actorflow {af.__version__}\n", "")


def test_a_session_whose_target_came_from_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    monkeypatch.setenv("ACTORFLOW_TARGET", address)
    with pytest.raises(
        ValueError, match=r"takes no devices: its target is that of the environment's ACTORFLOW_TARGET.*unset"
    ):
        af.Session(devices={"CPU": 2})
    with pytest.raises(
        ValueError, match=r"takes no devices: it has a target, and the servers of the cluster have their own"
    ):
        af.Session(address, devices={"CPU": 2})
    with af.Graph().as_default() as graph, af.blocking.Session(graph=graph, connect_timeout=0.2) as session:
        with pytest.raises(af.errors.UnavailableError) as caught:
            session.run(af.constant(1))
    assert caught.value.__notes__ == ["The environment's ACTORFLOW_TARGET gave this session its target."]
    monkeypatch.setenv("ACTORFLOW_TARGET", "nowhere")
    with pytest.raises(af.errors.InvalidArgumentError, match="is not an address") as refused:
        af.Session()
    assert refused.value.__notes__ == caught.value.__notes__
    with af.Graph().as_default() as graph, pytest.raises(af.errors.InvalidArgumentError) as supervised:
        with af.blocking.Supervisor(graph=graph, init_op=af.no_op()):
            pytest.fail("there is no such address")
    assert supervised.value.__notes__ == caught.value.__notes__
    monkeypatch.delenv("ACTORFLOW_TARGET")
    with pytest.raises(af.errors.InvalidArgumentError) as explicit:
        af.Session("nowhere")
    assert not hasattr(explicit.value, "__notes__")


@pytest.mark.parametrize("level", ["warning", "error"])
def test_a_task_writes_its_log_to_stderr(level: str, tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", Credentials.make())
    write_keys(tmp_path / "stranger", Credentials.make(server=read_keys(tmp_path / "keys").public))
    port = free_port()
    (tmp_path / "cluster.json").write_text(json.dumps({"worker": [f"localhost:{port}"]}))
    arguments = ["worker", "--cluster", str(tmp_path / "cluster.json"), "--keys", str(tmp_path / "keys")]
    with command(*arguments, "--job", "worker", "--log-level", level) as process:
        lines_until(process.stderr, "versions")
        assert main(["status", f"localhost:{port}", "--keys", str(tmp_path / "stranger")]) == 1
        if level == "warning":
            *_, line = lines_until(process.stderr, "refused a client")
            assert re.fullmatch(
                r"\S+ \S+ WARNING  actorflow\.transports: refused a client whose key is not allowed peer=\S+ key=\S+",
                line,
            )
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
    assert out == "" and process.returncode == 0 and (level == "warning" or "refused" not in err)
