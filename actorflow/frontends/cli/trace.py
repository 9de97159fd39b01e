"""`actorflow trace`: writes a timeline of steps of a running cluster: of the next or the last seconds."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import anyio

from actorflow.cluster.config.credentials import Target
from actorflow.errors import InvalidArgumentError, OpError
from actorflow.frontends.cli import queries
from actorflow.frontends.cli.main import Command

if TYPE_CHECKING:
    from actorflow.cluster.wire.links import TaskLink

_MOST = 100_000


def _arguments(parser: argparse.ArgumentParser) -> None:
    queries.add_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="trace.pftrace",
        help="the file for https://ui.perfetto.dev; JSON for Chrome if its name ends in .json; default: trace.pftrace",
    )  # fmt: skip
    parser.add_argument(
        "--last", type=_seconds, metavar="TIME",
        help="look back instead: the steps of the last seconds, such as 10s, of which tasks trace one in 100",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=2.0, metavar="SECONDS", help="how long to record; default: 2")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="record each step whose number is a multiple of N; default: 1"
    )


def _run(arguments: argparse.Namespace) -> int:
    from actorflow.cluster.client.inquiries import query_status

    if arguments.last is not None and not 0 < arguments.last < math.inf:
        raise InvalidArgumentError("--last is more than 0 seconds, such as 10s.")
    if arguments.every < 1 or not 0 < arguments.seconds < math.inf:
        raise InvalidArgumentError("--every is 1 or more, and --seconds more than 0.")
    folder = os.path.dirname(arguments.output) or "."
    if not os.path.isdir(folder):  # said before the cluster is asked
        raise InvalidArgumentError(f"There is no folder {folder!r} for the trace {arguments.output!r}.")
    return anyio.run(
        _write,
        queries.targets(arguments),
        partial(query_status, timeout=arguments.timeout),
        arguments,
    )


async def _write(targets: dict[str, Target], status: queries.Query, arguments: argparse.Namespace) -> int:
    from actorflow.cluster.client.inquiries import connect
    from actorflow.cluster.wire.recorded import of_the_last, recorded_by

    states = await queries.whole_cluster(targets, status)
    keys = next(iter(targets.values())).credentials
    live = {name: Target(state["address"], keys) for name, state in states.items() if not isinstance(state, OpError)}
    for name in states.keys() - live.keys():
        _leave_out(name, states[name])
    if arguments.last is None:
        ask = _watching(arguments)
    else:
        ask = of_the_last(arguments.last, arguments.timeout)
    recording = await recorded_by(live, connect, ask, arguments.timeout)
    for name, error in recording.failures.items():
        _leave_out(name, error)
    recording.trace.save(arguments.output)
    print(
        f"{len(recording.steps)} steps, {len(recording.trace.events)} events of {len(live)} tasks: {arguments.output}"
    )
    if recording.dropped:
        print(f"{recording.dropped} older steps were left out, since a task keeps {_MOST:,} events; try --every 10")
    if not recording.steps:
        print("No step ran meanwhile.")
    return int(len(live) < len(states))


def _leave_out(name: str, why: OpError) -> None:
    print(f"actorflow trace: {name} is left out: {why}", file=sys.stderr)


def _watching(arguments: argparse.Namespace) -> Callable[[TaskLink], Awaitable[bytes]]:
    """Records on a task for some seconds, for `recorded_by`."""
    from actorflow.cluster.wire.messages import Record

    async def ask(link: TaskLink) -> bytes:
        await link.call(Record(arguments.every, _MOST), timeout=arguments.timeout)
        try:
            await anyio.sleep(arguments.seconds)
        finally:
            with anyio.CancelScope(shield=True):
                reply: bytes = await link.call(Record(0, 0), timeout=arguments.timeout)
        return reply

    return ask


def _seconds(text: str) -> float:
    """`10`, `10s` and `500ms` as seconds."""
    for unit, size in (("ms", 0.001), ("s", 1.0), ("min", 60.0), ("", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * size
    raise AssertionError


COMMAND = Command("write a timeline of the steps of a running cluster for Perfetto", _arguments, _run)
