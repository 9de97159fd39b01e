"""The commands of the guide on clusters of several machines: by a stand-in for Slurm's `srun`, and on two network namespaces."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from patience import PATIENCE

from actorflow.cluster.config.credentials import Credentials, write_keys

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
pytestmark = [pytest.mark.timeout(240), pytest.mark.allow_leaks("children")]
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
SRUN = """#!/bin/sh
# Starts four tasks on this host, and hands a signal on.
while [ "${1#--}" != "$1" ]; do shift; done
tasks=
trap 'kill -TERM $tasks' TERM
for number in 0 1 2 3; do
    SLURM_STEP_NODELIST=localhost SLURM_STEP_TASKS_PER_NODE=4 SLURM_PROCID=$number "$@" & tasks="$tasks $!"
done
while kill -0 $tasks 2>/dev/null; do wait; done
"""
PROGRAM = """
import sys
import numpy as np
import actorflow as af
with af.device("/job:ps"):
    weights = af.Variable(np.ones(1000, np.float32))
with af.device(sys.argv[1]):
    total = af.reduce_sum(weights) * 2.0
with af.blocking.Session(connect_timeout=60.0) as session:
    session.run(af.global_variables_initializer())
    print("total", session.run(total), session.placement(total))
"""


def test_f55_the_slurm_script_runs_a_program_and_ends_its_tasks(tmp_path: Path) -> None:
    first = ports_in_a_row(4)
    for name, text in (("srun", SRUN), ("hostname", "#!/bin/sh\necho localhost\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "slurm.sh").write_text((DEPLOY / "slurm.sh").read_text().replace("7070", str(first)))
    write_keys(tmp_path / "keys.toml", Credentials.make())
    environ = os.environ | {"PATH": f"{tmp_path}:{PATH}", "ACTORFLOW_KEYS": str(tmp_path / "keys.toml")}
    done = subprocess.run(
        ["sh", "slurm.sh", "train.py", "/job:worker/task:2"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=PATIENCE * 4, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "total 2000.0 /job:worker/replica:0/task:2/device:CPU:0" in done.stdout
    assert done.stderr.count("is up (pid") == 4 == done.stderr.count("SIGTERM: waits up to")


def ports_in_a_row(count: int) -> int:
    """The first of some free ports, below those that the system hands out itself: a task takes further ports of those."""
    while True:
        first = random.randrange(10_000, 32_000)
        with ExitStack() as stack, suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("", port))
            return first


@contextmanager
def namespaces() -> Iterator[dict[str, list[str]]]:
    """Two hosts with a cable between them: for each address, what stands before a command that runs there."""
    ip = shutil.which("ip")
    if ip is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and the command ip")
    names = {f"10.77.{os.getpid() % 250}.{end}": f"actorflow-{os.getpid()}-{end}" for end in (1, 2)}
    with ExitStack() as stack:
        for name in names.values():
            made = subprocess.run([ip, "netns", "add", name], capture_output=True, text=True, check=False)
            if made.returncode:
                pytest.skip(f"network namespaces can't be made here: {made.stderr.strip()}")
            stack.callback(subprocess.run, [ip, "netns", "del", name], check=False)
        one, other = names.values()
        orders = [["link", "add", "eth0", "netns", one, "type", "veth", "peer", "name", "eth0", "netns", other]]
        for address, name in names.items():
            orders += [["-n", name, "addr", "add", f"{address}/24", "dev", "eth0"]]
            orders += [["-n", name, "link", "set", device, "up"] for device in ("lo", "eth0")]
        for order in orders:
            subprocess.run([ip, *order], check=True, capture_output=True)
        yield {address: [ip, "netns", "exec", name] for address, name in names.items()}


def test_f55_two_machines_are_a_cluster_with_one_key_file(tmp_path: Path) -> None:
    with namespaces() as hosts, ExitStack() as stack:
        (one, first), (other, second) = hosts.items()
        for machine in ("a", "b"):
            (tmp_path / machine).mkdir()
            (tmp_path / machine / "cluster.json").write_text(f'{{"ps": ["{one}:7070"], "worker": ["{other}:7070"]}}')
        write_keys(tmp_path / "a" / "keys.toml", Credentials.make())
        shutil.copy2(tmp_path / "a" / "keys.toml", tmp_path / "b" / "keys.toml")
        (tmp_path / "b" / "train.py").write_text(PROGRAM)
        environ = os.environ | {"PATH": PATH, "ACTORFLOW_KEYS": "keys.toml", "ACTORFLOW_TARGET": f"tcp://{one}:7070"}
        for before, machine, job in ((first, "a", "ps"), (second, "b", "worker")):
            command = [
                "actorflow",
                "worker",
                "--cluster",
                "cluster.json",
                "--job",
                job,
                "--task",
                "0",
                "--keys",
                "keys.toml",
            ]
            log = stack.enter_context((tmp_path / f"{job}.log").open("w"))
            task = subprocess.Popen([*before, *command], cwd=tmp_path / machine, env=environ, stdout=log, stderr=log)
            stack.callback(task.wait)
            stack.callback(task.terminate)

        def there(*command: str) -> str:
            done = subprocess.run(
                [*second, *command], cwd=tmp_path / "b", env=environ, capture_output=True, text=True, check=False,
                timeout=PATIENCE * 2,
            )  # fmt: skip
            logs = "".join((tmp_path / f"{job}.log").read_text() for job in ("ps", "worker"))
            assert done.returncode == 0, done.stderr + logs
            return done.stdout

        assert "total 2000.0 /job:worker/" in there("python", "train.py", "/job:worker")
        told = there("actorflow", "status", f"tcp://{one}:7070")
        assert f"{one}:7070" in told and f"{other}:7070" in told and told.count(" live ") == 2
        assert "127.0.0.1" not in told
