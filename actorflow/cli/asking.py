"""What `status` and `dump` share: which tasks are asked, with which keys, and asking all at once."""

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
    """Which tasks, which keys, how long."""
    parser.add_argument("target", nargs="?", help=f"the address of a task; without it: {TARGET}")
    parser.add_argument("--cluster", metavar="FILE", help="ask all tasks of the cluster in this JSON file")
    parser.add_argument("--keys", metavar="FILE", help=f"without it: {credentials.VARIABLE}")
    parser.add_argument("--timeout", type=float, default=4.0, metavar="SECONDS", help="per task; 4 by default")


def targets(arguments: argparse.Namespace) -> dict[str, Target]:
    """The tasks to ask, by name, or by address where only that is known. Raises OpError."""
    keys = credentials.read_keys(arguments.keys) if arguments.keys else credentials.from_environment()
    if arguments.cluster:
        if arguments.target:
            raise InvalidArgumentError("Give an address or --cluster, not both.")
        cluster = environment.read_file(arguments.cluster).cluster
        return {task: Target(cluster.address_of(task), keys) for task in cluster.tasks}
    address = arguments.target or os.environ.get(TARGET)
    if not address:
        raise InvalidArgumentError(
            "It is not said whom to ask.", hint=f"Give an address, --cluster FILE, or set {TARGET}."
        )
    address = canonical(address)
    return {address: Target(address, keys)}


async def ask(found: dict[str, Target], query: Query) -> dict[str, Any]:
    """What each answered; an OpError where it did not."""
    answers: dict[str, Any] = dict.fromkeys(found)

    async def one(name: str, target: Target) -> None:
        try:
            answers[name] = await query(target)
        except OpError as error:
            answers[name] = error

    async with anyio.create_task_group() as group:
        for name, target in found.items():
            group.start_soon(one, name, target)
    return answers


async def whole_cluster(found: dict[str, Target], status: Query) -> dict[str, Any]:
    """The status of the tasks, and of the others of their cluster where a single address was given."""
    answers = await ask(found, status)
    if len(found) > 1:
        return answers
    ((address, answer),) = answers.items()
    if isinstance(answer, OpError):
        return answers
    keys = found[address].credentials
    others = {task: Target(where, keys) for task, where in answer.get("tasks", {}).items() if task != answer["task"]}
    mine = {str(answer["task"]): answer}
    return dict(sorted({**mine, **await ask(others, status)}.items()))
