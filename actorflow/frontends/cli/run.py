"""`actorflow run script.py`: runs a script with a cluster on this machine, which ends with the script.

The script finds the address in `ACTORFLOW_TARGET` and the keys in the file that `ACTORFLOW_KEYS` names.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import signal
import subprocess
import sys

import anyio
import anyio.to_thread

from actorflow.cluster.processes.local import LocalCluster
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.cli import local
from actorflow.frontends.cli.main import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    local.add_arguments(parser)
    parser.add_argument("script", help="the Python file to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def _run(arguments: argparse.Namespace) -> int:
    words = [arguments.script, *arguments.arguments]
    jobs = list(itertools.takewhile(local.is_job, words))
    if jobs:
        named = ",".join([arguments.jobs] * bool(arguments.jobs) + jobs)
        rest = shlex.join(words[len(jobs) :]) or "SCRIPT"
        hint = f"Name all jobs in one word, before the script: actorflow run --jobs {named} {rest}"
        raise InvalidArgumentError(f"{jobs[0]} is no script.", hint=hint)
    return anyio.run(_with, local.cluster_of(arguments), words)


async def _with(cluster: LocalCluster, command: list[str]) -> int:
    """The exit status of the script. A signal for us is passed on to it; before it runs, it ends the start."""
    script: subprocess.Popen[bytes] | None = None

    async def pass_on() -> None:
        async for number in signals:
            if script is None:
                group.cancel_scope.cancel()
            elif number != signal.SIGINT or not sys.stdin.isatty():  # a terminal tells all its processes itself
                script.send_signal(number)

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            group.start_soon(pass_on)
            async with cluster, local.key_file(cluster) as environ:
                script = subprocess.Popen([sys.executable, *command], env=os.environ | environ)  # noqa: ASYNC220  (a few ms)
                try:
                    await anyio.to_thread.run_sync(script.wait)
                finally:
                    if script.poll() is None:
                        script.kill()
                        script.wait()
            group.cancel_scope.cancel()
    if script is None:
        return 130
    return script.returncode if script.returncode >= 0 else 128 - script.returncode


COMMAND = Command("start a cluster on this machine, run a script with it, and stop it", _arguments, _run)
