"""`actorflow status`: a line for each task of a running cluster, or JSON; also probes for container schedulers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio

from actorflow.cluster.processes.startup import columns
from actorflow.errors import OpError
from actorflow.frontends.cli import queries
from actorflow.frontends.cli.main import Command

_HEADER = ("task", "state", "address", "incarnation", "epoch", "view", "devices", "steps", "in flight", "sessions")


def _arguments(parser: argparse.ArgumentParser) -> None:
    queries.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print all details of each task as JSON")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--live", action="store_true", help="probe this task alone: exit status 0 if it answers")
    kind.add_argument(
        "--ready", action="store_true", help="probe this task alone: exit status 0 if it accepts new steps"
    )


def _run(arguments: argparse.Namespace) -> int:
    from actorflow.cluster.client.inquiries import query_status

    targets = queries.targets(arguments)
    query = partial(query_status, timeout=arguments.timeout)
    alone = arguments.live or arguments.ready
    answers = anyio.run(queries.ask if alone else queries.whole_cluster, targets, query)
    if arguments.json:
        print(json.dumps({name: _plain(answer) for name, answer in answers.items()}, indent=2))
    else:
        for line in report(answers):
            print(line)
    accepted = ("live",) if arguments.ready else ("joining", "live", "draining")
    return int(any(isinstance(answer, OpError) or answer["state"] not in accepted for answer in answers.values()))


def report(answers: Mapping[str, Any]) -> list[str]:
    """The table, and below it why tasks did not answer."""
    rows: list[tuple[str, ...]] = [_HEADER]
    silent = []
    for name, answer in answers.items():
        if isinstance(answer, OpError):
            rows.append((name, "lost", *[""] * (len(_HEADER) - 2)))
            silent.append(f"{name}: {answer}")
            continue
        kinds = [str(device["type"]) for device in answer["devices"]]
        devices = ", ".join(f"{kind} × {kinds.count(kind)}" for kind in dict.fromkeys(kinds))
        numbers = (answer[field] for field in ("steps", "steps_in_flight", "sessions"))
        rows.append(
            (answer["task"], answer["state"], answer["address"].rpartition("://")[2], answer["incarnation"])
            + (str(answer["epoch"]), str(answer["view"]), devices, *map(str, numbers))
        )
    return [*columns(rows), *silent]


def _plain(answer: Any) -> Any:
    return {"state": "lost", "error": str(answer)} if isinstance(answer, OpError) else answer


COMMAND = Command("show the tasks of a running cluster", _arguments, _run)
