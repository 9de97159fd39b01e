"""`cluster_apart`: a cluster of three `actorflow worker`s on what is two machines to them, 1 ms away from each other."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.cable import Cable

from actorflow.cluster.config.credentials import VARIABLE, Credentials, write_keys

DELAY_SECONDS = 0.001
_PORT = 7000
_ENDS = {"ps": [0], "worker": [1, 1]}
"""On which machine each task is. A client is on the one of the parameter server; the master, the first worker, is not."""


@dataclass(frozen=True, slots=True)
class Apart:
    """`client` stands before a command that runs beside the parameter server; `environ` says where the cluster is."""

    client: Sequence[str]
    environ: Mapping[str, str]
    cable: Cable


@contextmanager
def _worker(command: Sequence[str], environ: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A task that ends in good order with the block."""
    task = subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield task
        task.terminate()
        said, _ = task.communicate()
        assert task.returncode == 0, said
    finally:
        task.kill()
        task.wait()
        assert task.stdout is not None
        task.stdout.close()


@contextmanager
def cluster_apart(
    folder: Path, transport: str, environ: Mapping[str, str], options: Sequence[str] = ()
) -> Iterator[Apart]:
    """The cluster, with keys, for as long as the block lasts; what it needs is written to `folder`."""
    with Cable(DELAY_SECONDS) as cable, ExitStack() as stack:
        spec = {
            job: [f"{cable.hosts[end]}:{_PORT + task}" for task, end in enumerate(ends)] for job, ends in _ENDS.items()
        }
        (folder / "cluster.json").write_text(json.dumps(spec))
        write_keys(folder / "keys.toml", Credentials.make())
        environ = {**environ, VARIABLE: str(folder / "keys.toml")}
        common = ("--cluster", str(folder / "cluster.json"), "--transport", transport, *options)
        tasks = [
            stack.enter_context(
                _worker(
                    [*cable.command(end), sys.executable, "-m", "actorflow", "worker"]
                    + ["--job", job, "--task", str(task), *common],
                    environ,
                )
            )
            for job, ends in _ENDS.items()
            for task, end in enumerate(ends)
        ]
        for task in tasks:
            assert task.stdout is not None
            said = []
            while not (said and " is up " in said[-1]):
                line = task.stdout.readline()
                assert line, "".join(said)
                said.append(line)
        yield Apart(cable.command(0), {**environ, "ACTORFLOW_TARGET": "tcp://" + spec["worker"][0]}, cable)
