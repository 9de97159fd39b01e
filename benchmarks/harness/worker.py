"""One side of one benchmark in a process of its own: `python -m benchmarks.harness.worker ours chains/adds_run`.

The parent drives it over pipes with one JSON object a line. A comparison answers each command with one line, and so does
a suite (`suite_worker`); a measurement runs once and prints its figures. Only the protocol goes to the real standard
output; whatever a library prints lands on standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TextIO, cast

from benchmarks.harness import catalog, environment, suite_worker
from benchmarks.harness.definitions import Call, Comparison, Measurement, Options, Side, Suite
from benchmarks.harness.sides import our_library

CHECKED_CALLS = 20
"""The value of this call is reported, so that the parent can compare what both sides computed."""

WARM_SECONDS = 0.5
AT_LEAST = 5
AT_MOST = 100_000


class Protocol:
    """JSON lines, on copies of standard input and output that nothing else writes to."""

    def __init__(self) -> None:
        self._in: TextIO = os.fdopen(os.dup(0), encoding="utf-8")
        self._out: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        sys.stdout = sys.stderr

    def send(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def receive(self) -> dict[str, Any] | None:
        line = self._in.readline()
        return json.loads(line) if line else None


def flat(value: Any) -> list[float]:
    """The first numbers of a fetched value, for a check that both sides agree."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in flat(part)][:16]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "ravel"):
        return [float(number) for number in value.ravel()[:16]]
    return [float(value)]


def summary(times: list[int], before: float) -> dict[str, float]:
    """Of the calls of one round: median, mean and minimum in µs, and the machine's speed around them."""
    return {
        "median": statistics.median(times) / 1e3,
        "mean": statistics.fmean(times) / 1e3,
        "min": min(times) / 1e3,
        "calls": len(times),
        "before": before,
        "after": probe(),
    }


def probe() -> float:
    """µs that a fixed piece of work takes now: how fast this processor is at the moment."""
    clock = time.perf_counter_ns
    times: list[int] = []
    for _ in range(3):
        start = clock()
        for _ in range(10_000):
            pass
        times.append(clock() - start)
    return min(times) / 1e3


def timed(call: Call, seconds: float, at_least: int = AT_LEAST) -> dict[str, float]:
    """Calls for so long, and at least so often, and times each call."""
    before = probe()
    clock = time.perf_counter_ns
    times: list[int] = []
    end = clock() + int(seconds * 1e9)
    while len(times) < at_least or (clock() < end and len(times) < AT_MOST):
        start = clock()
        call()
        times.append(clock() - start)
    return summary(times, before)


async def timed_async(call: Call, seconds: float, at_least: int = AT_LEAST) -> dict[str, float]:
    """`timed` with an `await`."""
    before = probe()
    clock = time.perf_counter_ns
    times: list[int] = []
    end = clock() + int(seconds * 1e9)
    while len(times) < at_least or (clock() < end and len(times) < AT_MOST):
        start = clock()
        await call()
        times.append(clock() - start)
    return summary(times, before)


def serve(protocol: Protocol, opened: AbstractContextManager[Call]) -> None:
    """A blocking side."""
    with opened as call:
        value = None
        for _ in range(CHECKED_CALLS):
            value = call()
        timed(call, WARM_SECONDS)
        protocol.send({"answer": flat(value)})
        while (command := protocol.receive()) is not None:
            protocol.send(timed(call, command["seconds"]))


async def serve_async(protocol: Protocol, opened: AbstractAsyncContextManager[Call]) -> None:
    """An asynchronous side. The loop stays alive between rounds: a thread waits for the next command."""
    from anyio import to_thread

    async with opened as call:
        value = None
        for _ in range(CHECKED_CALLS):
            value = await call()
        await timed_async(call, WARM_SECONDS)
        protocol.send({"answer": flat(value)})
        while (command := await to_thread.run_sync(protocol.receive)) is not None:
            protocol.send(await timed_async(call, command["seconds"]))


async def _awaited(result: Awaitable[Mapping[str, float]]) -> Mapping[str, float]:
    return await result


def measure(protocol: Protocol, measurement: Measurement, side: Side, options: Options) -> None:
    function = measurement.function(side)
    result = function(options)
    figures = asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
    unknown = set(figures) - {figure.name for figure in measurement.figures}
    if unknown:
        raise KeyError(f"{measurement.name} returned figures that it does not declare: {sorted(unknown)}.")
    protocol.send({"figures": {name: float(value) for name, value in figures.items()}})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness.worker", description=__doc__)
    parser.add_argument("side", choices=("ours", "peer"))
    parser.add_argument("benchmark", help="family/name")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    side = cast("Side", arguments.side)
    environment.prepare()
    protocol = Protocol()
    found = catalog.benchmark(arguments.benchmark)
    if isinstance(found, Comparison):
        opened = found.opener(side)()
        if isinstance(opened, AbstractAsyncContextManager):
            with asyncio.Runner(loop_factory=our_library().new_event_loop if found.polls else None) as runner:
                runner.run(serve_async(protocol, opened))
        else:
            serve(protocol, opened)
    elif isinstance(found, Suite):
        suite_worker.serve(protocol, found, side)
    else:
        measure(protocol, found, side, Options.quickly() if arguments.quick else Options())


if __name__ == "__main__":
    main()
