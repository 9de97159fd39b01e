"""The common part of `status` and `dump`: the choice of tasks and keys, and queries to all tasks at once."""

from __future__ import annotations

import argparse
import os
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from actorflow.cluster.config import credentials, environment
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.config.spec import canonical
from actorflow.errors import InvalidArgumentError, OpError

TARGET = "ACTORFLOW_TARGET"
Query = Callable[[Target], Awaitable[Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments for the tasks, the keys and the time."""
    parser.add_argument(
        "target", nargs="?", help=f"the address of one task of the cluster; default: the variable {TARGET}"
    )
    parser.add_argument(
        "--cluster", metavar="FILE", help="query all tasks of the cluster that this JSON file describes"
    )
    parser.add_argument(
        "--keys", metavar="FILE", help=f"the cluster's key file; default: the variable {credentials.VARIABLE}"
    )
    parser.add_argument(
        "--timeout", type=float, default=4.0, metavar="SECONDS", help="how long to wait for each task; default: 4"
    )


def targets(arguments: argparse.Namespace) -> dict[str, Target]:
    """The tasks to query, by name, or by address where only that is known. Raises OpError."""
    keys = credentials.read_keys(arguments.keys) if arguments.keys else credentials.from_environment()
    if arguments.cluster:
        if arguments.target:
            raise InvalidArgumentError("Give an address or --cluster, not both.")
        cluster = environment.read_file(arguments.cluster).cluster
        return {task: Target(cluster.address_of(task), keys) for task in cluster.tasks}
    address = arguments.target or os.environ.get(TARGET)
    if not address:
        raise InvalidArgumentError(
            "No target given.", hint=f"Give the address of a task or --cluster FILE, or set {TARGET}."
        )
    address = canonical(address)
    return {address: Target(address, keys)}


async def ask(tasks: dict[str, Target], query: Query) -> dict[str, Any]:
    """The answer of each task; an OpError if it did not answer."""
    answers: dict[str, Any] = dict.fromkeys(tasks)

    async def query_one(name: str, target: Target) -> None:
        try:
            answers[name] = await query(target)
        except OpError as error:
            answers[name] = error

    async with anyio.create_task_group() as group:
        for name, target in tasks.items():
            group.start_soon(query_one, name, target)
    return answers


async def whole_cluster(tasks: dict[str, Target], status: Query) -> dict[str, Any]:
    """The status of the tasks, and of the others of their cluster where a single address was given."""
    answers = await ask(tasks, status)
    if len(tasks) > 1:
        return answers
    ((address, answer),) = answers.items()
    if isinstance(answer, OpError):
        return answers
    keys = tasks[address].credentials
    others = {task: Target(where, keys) for task, where in answer.get("tasks", {}).items() if task != answer["task"]}
    mine = {str(answer["task"]): answer}
    return dict(sorted({**mine, **await ask(others, status)}.items()))
