"""`actorflow trace`: records steps of a running cluster for some seconds, and writes their timeline."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import msgpack

from actorflow.cli import queries
from actorflow.cli.main import Command
from actorflow.cluster.config.credentials import Target
from actorflow.errors import InvalidArgumentError, OpError

_MOST = 100_000


def _arguments(parser: argparse.ArgumentParser) -> None:
    queries.add_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="trace.pftrace",
        help="the file for https://ui.perfetto.dev; JSON for Chrome if its name ends in .json; default: trace.pftrace",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=2.0, metavar="SECONDS", help="how long to record; default: 2")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="record each step whose number is a multiple of N; default: 1"
    )


def _run(arguments: argparse.Namespace) -> int:
    from actorflow.cluster.client import query_status

    if arguments.every < 1 or not 0 < arguments.seconds < math.inf:
        raise InvalidArgumentError("--every is 1 or more, and --seconds more than 0.")
    return anyio.run(
        _record,
        queries.targets(arguments),
        partial(query_status, timeout=arguments.timeout),
        arguments,
    )


async def _record(found: dict[str, Target], status: queries.Query, arguments: argparse.Namespace) -> int:
    from actorflow.runtime.diagnostics.trace import Trace

    states = await queries.whole_cluster(found, status)
    keys = next(iter(found.values())).credentials
    live = {name: Target(state["address"], keys) for name, state in states.items() if not isinstance(state, OpError)}
    for name in states.keys() - live.keys():
        print(f"actorflow trace: {name} is left out: {states[name]}", file=sys.stderr)
    trace = Trace(detail="plan")
    told = await _recorded(live, arguments, trace)
    steps = {step for _, numbers in told.values() for step in numbers}
    dropped = sum(count for count, _ in told.values())
    trace.keep_causality()
    trace.save(arguments.output)
    print(f"{len(steps)} steps, {len(trace.events)} events of {len(live)} tasks: {arguments.output}")
    if dropped:
        print(f"{dropped} older traces were left out, since a task keeps {_MOST:,} events; try --every 10")
    if not trace.events:
        print("No step ran meanwhile.")
    return int(len(live) < len(states))


async def _recorded(
    live: Mapping[str, Target], arguments: argparse.Namespace, trace: Any
) -> dict[str, tuple[int, list[int]]]:
    """Records on all tasks at the same time and puts their events into `trace`; for each task how many traces were dropped, and
    the numbers of the steps."""
    from actorflow.cluster.client import connect
    from actorflow.cluster.wire.messages import Record
    from actorflow.runtime.diagnostics.causality import SAME_CLOCK, ClockOffset

    told: dict[str, tuple[int, list[int]]] = {}

    async def one(name: str, target: Target) -> None:
        links = connect(target)
        try:
            key = None if target.credentials is None else target.credentials.peer_key()
            link = await links.to("", target.address, key=key, timeout=arguments.timeout)
            await link.call(Record(arguments.every, _MOST), timeout=arguments.timeout)
            try:
                await anyio.sleep(arguments.seconds)
            finally:
                with anyio.CancelScope(shield=True):
                    packed = await link.call(Record(0, 0), timeout=arguments.timeout)
            dropped, recorded = msgpack.unpackb(packed)
            beats = link.control.statistics()
            ahead = SAME_CLOCK
            if beats.clock_offset is not None and beats.clock_error is not None:
                ahead = ClockOffset(round(beats.clock_offset * 1e9), math.ceil(beats.clock_error * 1e9))
            for _, events in recorded:
                trace.take(events, ahead)
            told[name] = dropped, [step for step, _ in recorded]
        except OpError as error:
            print(f"actorflow trace: {name} is left out: {error}", file=sys.stderr)
        finally:
            with anyio.CancelScope(shield=True):
                await links.aclose()

    async with anyio.create_task_group() as group:
        for name, target in live.items():
            group.start_soon(one, name, target)
    return told


COMMAND = Command("record steps of a running cluster and write their timeline for Perfetto", _arguments, _run)
