"""`actorflow up --jobs ps=1,worker=2`: a cluster on this machine, in the foreground, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys

import anyio

from actorflow.cluster.processes.local import LocalCluster
from actorflow.cluster.processes.local_process import LocalProcess
from actorflow.frontends.cli import local
from actorflow.frontends.cli.main import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    local.add_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="do not show the output of the tasks")
    parser.add_argument("words", nargs="*", metavar="JOB=N", help="`up ps=1 worker=2` is `up --jobs ps=1,worker=2`")


def _run(arguments: argparse.Namespace) -> int:
    return anyio.run(_up, local.cluster_of(arguments, arguments.words), arguments.quiet)


async def _up(cluster: LocalCluster, quiet: bool) -> int:
    """Runs until a signal, or until all tasks have ended: 0, or 1 when a task ended by itself."""
    ended: list[str] = []

    async def watch(process: LocalProcess, scope: anyio.CancelScope) -> None:
        await process.wait()
        ended.append(process.task)
        print(f"actorflow up: {process.epitaph()}", file=sys.stderr, flush=True)
        if len(ended) == len(cluster.processes):
            scope.cancel()

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as whole:
            whole.start_soon(local.first_signal, signals, whole.cancel_scope)
            async with cluster, local.key_file(cluster) as environ:
                for name, value in environ.items():
                    print(f"export {name}={value}")
                print(f"# {len(cluster.spec)} tasks are up; press Ctrl-C to stop them", flush=True)
                async with anyio.create_task_group() as group:
                    for process in cluster.processes.values():
                        group.start_soon(watch, process, group.cancel_scope)
                    if not quiet:
                        group.start_soon(local.show_logs, cluster)
            whole.cancel_scope.cancel()
    return int(bool(ended))


COMMAND = Command("run a cluster on this machine until Ctrl-C", _arguments, _run)
