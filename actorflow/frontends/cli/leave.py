"""`actorflow leave`: takes tasks out of a running cluster, each in good order, or as lost."""

from __future__ import annotations

import argparse

import anyio

from actorflow.cluster.client.membership import leave
from actorflow.cluster.config.spec import parse_task, task_name
from actorflow.frontends.cli import queries
from actorflow.frontends.cli.main import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", help="the task that leaves, such as worker:3")
    queries.add_arguments(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--saved",
        action="store_const",
        const="saved",
        dest="how",
        help="the task may hold variables: their values are in a checkpoint",
    )
    how.add_argument(
        "--lost",
        action="store_const",
        const="lost",
        dest="how",
        help="the task does not live any more and will not come back; nothing is asked of it",
    )


def _run(arguments: argparse.Namespace) -> int:
    task = task_name(*parse_task(arguments.task))
    target = next(iter(queries.targets(arguments).values()))
    view = anyio.run(leave, target, task, arguments.how or "drained")
    print(f"{task} has left: view {view.epoch} of the cluster has {len(view.tasks)} tasks")
    return 0


COMMAND = Command("take a task out of a running cluster", _arguments, _run)
