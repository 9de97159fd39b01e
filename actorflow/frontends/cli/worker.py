"""`actorflow worker`: runs one task of a cluster as a process. It starts every kind of task, parameter servers too."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from actorflow.base.reports import logs
from actorflow.cluster.config import credentials, environment
from actorflow.cluster.processes import process
from actorflow.cluster.processes.listening import check_files, check_listen, listen_address
from actorflow.cluster.processes.task_config import TaskConfig
from actorflow.cluster.processes.task_main import _configure_logs, banner, run_child
from actorflow.engine.runtime.diagnostics.recorder import Recording
from actorflow.engine.transport.base import Reach
from actorflow.engine.transport.installed import AUTO, find
from actorflow.errors import InvalidArgumentError, PermissionDeniedError
from actorflow.frontends.cli.main import Command

if TYPE_CHECKING:
    pass


def _arguments(parser: argparse.ArgumentParser) -> None:
    _task_arguments(parser)
    _network_arguments(parser)
    _resource_arguments(parser)
    parser.add_argument(
        "--check", action="store_true", help="start nothing; check whether this task could start and reach all others"
    )
    parser.add_argument("--orders-from", type=int, help=argparse.SUPPRESS)


def _task_arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("task")
    where.add_argument(
        "--cluster",
        metavar="FILE",
        help="a JSON file of jobs and addresses, or TF_CONFIG for the variable of that name; "
        "default: the variable ACTORFLOW_CONFIG, else TF_CONFIG",
    )
    where.add_argument("--job", help="the job of this task, such as worker")
    where.add_argument(
        "--task",
        metavar="N",
        help="the number of this task in its job; `hostname` takes it from the end of this host's name",
    )
    where.add_argument(
        "--from-slurm",
        action="store_true",
        help="take the cluster, the job and the number from Slurm's environment (srun)",
    )
    where.add_argument(
        "--jobs",
        metavar="JOB=N,...",
        help="with --from-slurm: the number of tasks of each job, in the order of Slurm's processes",
    )
    where.add_argument("--first-port", type=int, metavar="PORT", help="with --from-slurm: the first port on each host")


def _network_arguments(parser: argparse.ArgumentParser) -> None:
    network = parser.add_argument_group("network")
    network.add_argument(
        "--listen",
        metavar="HOST[:PORT]",
        help="the address or interface (such as eth0) to listen on; default: the task's address",
    )
    network.add_argument(
        "--advertise", metavar="HOST:PORT", help="the address that others connect to; default: the task's address"
    )
    network.add_argument(
        "--transport",
        metavar="NAME",
        default=AUTO,
        help="how tensors travel between tasks: the name of a transport that is installed; default: auto",
    )
    network.add_argument(
        "--keys", metavar="FILE", help=f"the cluster's key file; default: the variable {credentials.VARIABLE}"
    )
    network.add_argument(
        "--allow", metavar="FILE", help="a file of the public keys of others that may connect, one per line"
    )


def _resource_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("resources")
    what.add_argument(
        "--devices", metavar="KIND=N,...", help="the devices of this task, such as CPU=2; default: one CPU"
    )
    what.add_argument("--memory", type=int, metavar="BYTES", help="the maximum memory of each device's tensors")
    what.add_argument("--shared-memory", type=int, metavar="BYTES", help="the size of the task's shared memory")
    what.add_argument(
        "--files",
        action="append",
        metavar="FOLDER",
        help="a folder in which ops may read and write; may be repeated; default: none",
    )
    what.add_argument(
        "--import",
        action="append",
        dest="imports",
        metavar="MODULE",
        help="a module to import first, with ops and kernels of your own; may be repeated",
    )
    what.add_argument(
        "--traces",
        metavar="FOLDER",
        help="the folder where a step that fails leaves a timeline of the last seconds; default: the variable "
        "ACTORFLOW_TRACES, else none",
    )
    what.add_argument(
        "--trace-every",
        type=int,
        default=100,
        metavar="N",
        help="trace each step whose number is a multiple of N, for `actorflow trace --last`; 0 traces none; default: 100",
    )
    what.add_argument(
        "--metrics-port",
        type=int,
        metavar="PORT",
        help="serve the metrics of this task for Prometheus; 0 takes a free port",
    )
    what.add_argument(
        "--metrics-host",
        metavar="HOST",
        default="127.0.0.1",
        help="the address for --metrics-port; metrics have no login; default: 127.0.0.1",
    )
    what.add_argument("--epoch", type=int, default=0, help=argparse.SUPPRESS)
    what.add_argument(
        "--log-dir", metavar="FOLDER", help="write the output to FOLDER/JOB-N.log instead of the terminal"
    )
    add_log_level(what)


def add_log_level(parser: argparse._ActionsContainer) -> None:
    """The option `--log-level`."""
    parser.add_argument(
        "--log-level", choices=logs.LEVELS, default="info", help="the lowest level that the log shows; default: info"
    )


def _run(arguments: argparse.Namespace) -> int:
    if arguments.orders_from is not None:
        return run_child(arguments.orders_from)
    config = read_config(arguments)
    listen = listen_address(config.address, arguments.listen)
    config = replace(config, listen=listen)
    check_files(config.cluster)
    if arguments.check:
        from actorflow.frontends.cli.check import check

        return check(config)
    check_listen(listen)
    if arguments.log_dir is not None:
        _log_to(arguments.log_dir, f"{config.job}-{config.index}.log")
    _configure_logs(config.log_level)
    return process.run_task(config, up=lambda server: print(banner(config, server), file=sys.stderr, flush=True))


def read_config(arguments: argparse.Namespace, environ: Mapping[str, str] | None = None) -> TaskConfig:
    """The configuration in the command line and the environment. Raises OpError if they are invalid."""
    if arguments.transport != AUTO and find(arguments.transport).reach is Reach.PROCESS:
        raise InvalidArgumentError(
            f"--transport {arguments.transport} joins tasks of one process only, and a worker is a process of its own."
        )
    place = _place(arguments, environ)
    place.task  # noqa: B018  (raises if it is not in the cluster)
    keys = credentials.read_keys(arguments.keys) if arguments.keys else credentials.from_environment(environ)
    assert place.job is not None and place.index is not None
    return TaskConfig(
        place.cluster,
        place.job,
        place.index,
        credentials=keys,
        allowed=credentials.read_allowed(arguments.allow) if arguments.allow else frozenset(),
        devices=read_counts(arguments.devices, "--devices") if arguments.devices else None,
        memory_budget=arguments.memory,
        transport=arguments.transport,
        arena_bytes=arguments.shared_memory,
        file_roots=None if arguments.files is None else tuple(arguments.files),
        advertise=arguments.advertise,
        epoch=arguments.epoch,
        recording=Recording(every=arguments.trace_every, folder=arguments.traces),
        imports=tuple(arguments.imports or ()),
        log_level=arguments.log_level,
        metrics_port=arguments.metrics_port,
        metrics_host=arguments.metrics_host,
    )


def _place(arguments: argparse.Namespace, environ: Mapping[str, str] | None) -> environment.TaskEnvironment:
    if arguments.from_slurm:
        from actorflow.cluster.config import slurm

        jobs = read_counts(arguments.jobs, "--jobs") if arguments.jobs else None
        place = slurm.from_slurm(jobs, arguments.first_port or slurm.FIRST_PORT, environ)
    elif arguments.cluster is not None and arguments.cluster != environment.TF_CONFIG:
        place = environment.read_file(arguments.cluster)
    else:
        variables = os.environ if environ is None else environ
        if arguments.cluster is not None:
            variables = {environment.TF_CONFIG: variables.get(environment.TF_CONFIG, "")}
        task_place = environment.from_environment(variables)
        if task_place is None:
            raise InvalidArgumentError(
                "No cluster is given.",
                hint="Give --cluster FILE or --from-slurm, or set ACTORFLOW_CONFIG or TF_CONFIG.",
            )
        place = task_place
    if arguments.job is not None:
        place = replace(place, job=arguments.job)
    if arguments.task is not None:
        place = replace(place, index=environment.own_number(arguments.task))
    elif arguments.job is not None and place.index is None and place.cluster.task_indices(arguments.job) == [0]:
        place = replace(place, index=0)
    return place


def read_counts(text: str, option: str) -> dict[str, int]:
    """`CPU=2,GPU=1` as a dictionary; a name alone counts 1. Raises InvalidArgumentError."""
    counts: dict[str, int] = {}
    for part in text.split(","):
        name, _, count = part.strip().partition("=")
        if not name or name in counts or not (count or "1").isdigit() or len(count) > 6:
            raise InvalidArgumentError(f"{option} {text}: {part!r} is not of the form NAME=COUNT, or is given twice.")
        counts[name] = int(count or 1)
    return counts


def _log_to(folder: str, name: str) -> None:
    from actorflow.cluster.processes.local import prepare_folder

    prepare_folder(folder)
    path = os.path.join(folder, name)
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise PermissionDeniedError(f"Cannot write the log {path}: {error.strerror}.") from None
    print(f"actorflow: further output goes to {path}", file=sys.stderr, flush=True)
    os.dup2(number, 1)
    os.dup2(number, 2)
    os.close(number)


COMMAND = Command("run one task of a cluster", _arguments, _run)
