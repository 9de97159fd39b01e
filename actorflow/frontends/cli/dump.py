"""`actorflow dump`: the state of each task of a running cluster and the operations that wait there, for problem reports.

A task that does not answer writes the stacks of its threads to its log on SIGUSR1.
"""

from __future__ import annotations

import argparse
import json
from functools import partial

import anyio

from actorflow.cluster.config.credentials import Target
from actorflow.errors import OpError
from actorflow.frontends.cli import queries
from actorflow.frontends.cli.main import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    queries.add_arguments(parser)


def _run(arguments: argparse.Namespace) -> int:
    from actorflow.cluster.client.inquiries import query_pending, query_status

    return anyio.run(
        _dump,
        queries.targets(arguments),
        partial(query_status, timeout=arguments.timeout),
        partial(query_pending, timeout=arguments.timeout),
    )


async def _dump(targets: dict[str, Target], status: queries.Query, pending: queries.Query) -> int:
    states = await queries.whole_cluster(targets, status)
    keys = next(iter(targets.values())).credentials
    live = {name: state for name, state in states.items() if not isinstance(state, OpError)}
    reports = await queries.ask({n: Target(state["address"], keys) for n, state in live.items()}, pending)
    for name, state in states.items():
        print(f"==== {name}")
        if isinstance(state, OpError):
            print(f"lost: {state}")
            continue
        print(json.dumps(state, indent=2))
        print(str(reports[name]).strip() or "no operation is waiting")
    return int(len(live) < len(states))


COMMAND = Command(
    "show what each task is waiting for; if a task does not answer, send it SIGUSR1 and read its log", _arguments, _run
)
