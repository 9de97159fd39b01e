"""`actorflow worker`: runs one task of a cluster as a process. It starts every kind of task, parameter servers too."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace

import anyio

from actorflow.base.reports import logs
from actorflow.cluster.client.membership import reserve
from actorflow.cluster.config import credentials, environment
from actorflow.cluster.config.credentials import resolve
from actorflow.cluster.config.spec import ClusterSpec, canonical, parse_task
from actorflow.cluster.membership.view import founded
from actorflow.cluster.processes import process
from actorflow.cluster.processes.listening import (
    Reservation,
    check_files,
    check_listen,
    listen_address,
    own_address_toward,
)
from actorflow.cluster.processes.task_config import TaskConfig
from actorflow.cluster.processes.task_main import _configure_logs, banner, run_child
from actorflow.engine.runtime.diagnostics.recorder import Recording
from actorflow.engine.transport.base import Reach
from actorflow.engine.transport.installed import AUTO, find
from actorflow.errors import InvalidArgumentError, PermissionDeniedError
from actorflow.frontends.cli.main import Command


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
        "--join",
        metavar="TARGET",
        help="join the running cluster of this task, tcp://host:port; --job is needed, and --task for a certain number",
    )
    where.add_argument(
        "--limits",
        metavar="JOB=LEAST:MOST,...",
        help="how many tasks a job has at least and at most while tasks join and leave, such as worker=1:8; "
        "for the tasks that begin a cluster",
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
    with contextlib.ExitStack() as stack:
        config = read_config(arguments) if arguments.join is None else joining(arguments, stack)
        return _start(arguments, config)


def _start(arguments: argparse.Namespace, config: TaskConfig) -> int:
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


def joining(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> TaskConfig:
    """The configuration of a task that joins a running cluster, whose coordinator gives it its number. Its port is kept until
    `stack` is closed. Raises OpError where the cluster does not take it."""
    if arguments.job is None or arguments.cluster is not None or arguments.limits is not None:
        raise InvalidArgumentError(
            "--join takes --job, and no --cluster or --limits: the running cluster has these.",
            hint="actorflow worker --join tcp://host:port --job worker",
        )
    keys = _keys(arguments, None)
    target = resolve(arguments.join, keys)
    address = arguments.advertise
    if address is None:
        host = own_address_toward(target.address)
        reservation = Reservation(host)
        stack.callback(reservation.close)
        address = f"{f'[{host}]' if ':' in host else host}:{reservation.port}"
    address = canonical(address, "--advertise")
    number = None if arguments.task is None else environment.own_number(arguments.task)
    task, view = anyio.run(reserve, target, None, arguments.job, number, address)
    return replace(_configured(arguments, view.spec, *parse_task(task), keys), view=view, advertise=address)


def read_config(arguments: argparse.Namespace, environ: Mapping[str, str] | None = None) -> TaskConfig:
    """The configuration in the command line and the environment. Raises OpError if they are invalid."""
    place = _place(arguments, environ)
    place.task  # noqa: B018  (raises if it is not in the cluster)
    assert place.job is not None and place.index is not None
    config = _configured(arguments, place.cluster, place.job, place.index, _keys(arguments, environ))
    if arguments.limits is None:
        return config
    return replace(config, view=founded(place.cluster, read_limits(arguments.limits)))


def _keys(arguments: argparse.Namespace, environ: Mapping[str, str] | None) -> credentials.Credentials | None:
    return credentials.read_keys(arguments.keys) if arguments.keys else credentials.from_environment(environ)


def _configured(
    arguments: argparse.Namespace,
    cluster: ClusterSpec,
    job: str,
    index: int,
    keys: credentials.Credentials | None,
) -> TaskConfig:
    if arguments.transport != AUTO and find(arguments.transport).reach is Reach.PROCESS:
        raise InvalidArgumentError(
            f"--transport {arguments.transport} joins tasks of one process only, and a worker is a process of its own."
        )
    return TaskConfig(
        cluster,
        job,
        index,
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


def read_limits(text: str) -> dict[str, tuple[int, int | None]]:
    """`worker=1:8,ps=1:` as a dictionary; no greatest number stands for any. Raises InvalidArgumentError."""
    limits: dict[str, tuple[int, int | None]] = {}
    for part in text.split(","):
        match = re.fullmatch(r"(\w[\w\-]*)=(\d{1,6}):(\d{1,6})?", part.strip())
        if match is None or match[1] in limits:
            raise InvalidArgumentError(
                f"--limits {text}: {part!r} is not of the form JOB=LEAST:MOST, or is given twice.", hint="worker=1:8"
            )
        limits[match[1]] = int(match[2]), None if match[3] is None else int(match[3])
    return limits


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
