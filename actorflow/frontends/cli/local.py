"""The common part of `up` and `run`: a local cluster from a command line, its key file, and the output of its tasks."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio

from actorflow.cluster.config.credentials import VARIABLE, write_keys
from actorflow.cluster.processes.local import LocalCluster
from actorflow.engine.transport.base import Reach
from actorflow.engine.transport.installed import AUTO, find
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.cli.worker import add_log_level, read_counts

_LOOK_SECONDS = 0.1
_JOBS = "worker=2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the jobs, and the options of each task."""
    parser.add_argument(
        "--jobs",
        metavar="JOB=N,...",
        help=f"the number of tasks of each job, such as ps=1,worker=2; default: {_JOBS}",
    )
    parser.add_argument(
        "--transport",
        metavar="NAME",
        default=AUTO,
        help="how tensors travel between tasks: the name of a transport that is installed; default: auto",
    )
    parser.add_argument(
        "--devices", metavar="KIND=N,...", help="the devices of each task, such as CPU=2; default: one CPU"
    )
    parser.add_argument("--memory", type=int, metavar="BYTES", help="the maximum memory of each device's tensors")
    parser.add_argument(
        "--files",
        action="append",
        metavar="FOLDER",
        help="a folder in which ops may read and write; may be repeated; default: none",
    )
    parser.add_argument(
        "--import",
        action="append",
        dest="imports",
        metavar="MODULE",
        help="a module to import first, with ops and kernels of your own; may be repeated",
    )
    parser.add_argument("--log-dir", metavar="FOLDER", help="write the output of each task to FOLDER/JOB-N.log")
    add_log_level(parser)


def jobs_of(arguments: argparse.Namespace, more: Sequence[str] = ()) -> dict[str, int]:
    """The jobs of `--jobs`, and those that the command line names besides. Raises InvalidArgumentError."""
    return read_counts(",".join([arguments.jobs] * bool(arguments.jobs) + [*more]) or _JOBS, "--jobs")


def cluster_of(arguments: argparse.Namespace, more: Sequence[str] = ()) -> LocalCluster:
    """The cluster that a command line describes. Raises InvalidArgumentError."""
    if arguments.transport != AUTO and find(arguments.transport).reach is Reach.PROCESS:
        raise InvalidArgumentError(
            f"--transport {arguments.transport} joins tasks of one process only, and each task is a process of its own."
        )
    return LocalCluster(
        jobs_of(arguments, more),
        transport=arguments.transport,
        devices=read_counts(arguments.devices, "--devices") if arguments.devices else None,
        memory_budget=arguments.memory,
        file_roots=arguments.files,
        imports=arguments.imports or (),
        log_dir=arguments.log_dir,
        log_level=arguments.log_level,
    )


def is_job(word: str) -> bool:
    """Whether a word is meant as `ps=1`, and names no file."""
    return re.fullmatch(r"[A-Za-z]\w*=\d+(,.*)?", word) is not None and not os.path.exists(word)


@asynccontextmanager
async def key_file(cluster: LocalCluster) -> AsyncIterator[dict[str, str]]:
    """Writes the cluster's keys, if it has some, to a file in a folder of its own, for as long as the block lasts; gives the
    environment that clients need."""
    if cluster.credentials is None:
        yield {"ACTORFLOW_TARGET": cluster.target.address}
        return
    folder = _own_folder()
    try:
        path = os.path.join(folder, "keys.toml")
        write_keys(path, cluster.credentials)
        yield {"ACTORFLOW_TARGET": cluster.target.address, VARIABLE: path}
    finally:
        shutil.rmtree(folder)


def _own_folder() -> str:
    """A new folder that only this user may look into."""
    mine = os.environ.get("XDG_RUNTIME_DIR", "")
    return tempfile.mkdtemp(prefix="actorflow-", dir=mine if os.path.isdir(mine) else None)


async def first_signal(signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope) -> None:
    """Cancels `scope` when a signal comes."""
    async for _ in signals:
        scope.cancel()
        return


async def show_logs(cluster: LocalCluster) -> None:
    """Copies to stderr what the tasks write, each line under its task's name, until it is cancelled."""
    positions: dict[int, int] = {}
    while True:
        show_new_lines(cluster, positions)
        await anyio.sleep(_LOOK_SECONDS)


def show_new_lines(cluster: LocalCluster, positions: dict[int, int]) -> None:
    """One look. `positions` has how far each process's output was shown."""
    for task, process in cluster.processes.items():
        lines, positions[process.pid] = process.new_log_lines(positions.get(process.pid, 0))
        for line in lines:
            print(f"{task}: {line}", file=sys.stderr, flush=True)
