"""All figures of one server with one model."""

from __future__ import annotations

import array
import asyncio
import contextlib
import importlib
import re
import shutil
import tempfile
import time
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.compare import environments, loads
from benchmarks.compare.client import Connection, connected
from benchmarks.compare.models import Model
from benchmarks.compare.running import Processes
from benchmarks.compare.server import NotThereError, Place, Server, status
from benchmarks.frontends.serving import free_port

CLIENTS, FEW_CLIENTS, LEAVING = 64, 8, 1000
PATIENCE = 1.0
_ANSWER_SECONDS = 60.0
_START_SECONDS = 120.0
_QUIET, _MOST_SECONDS = 0.02, 30.0
_LOOK, _PATIENT = 0.2, 6
"""How often the processor time of a server is read, and how many times its share of a load may last."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long the parts of a measure take: in seconds of the server's processor, and the overload in seconds."""

    warm: float = 0.5
    steady: float = 1.5
    overload: float = 4.0


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Runs clients on the quickest event loop that is installed."""
    factory = None
    with contextlib.suppress(ImportError):
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def figures(server: Server, path: Path, model: Model, lengths: Lengths, storms: bool) -> dict[str, float]:
    """The figures of a server by their names; `storms`: those of overload, leaving clients and a reload too.

    Raises:
        NotThereError: if it can't be installed or started.
    """
    row = model.rows()
    requests = {kind: body(row).request() for kind, body in server.bodies.items()}
    values: dict[str, float] = {}
    with _place(server, path) as place:
        with _started(server, place, requests["json"], {}) as (processes, seconds):
            values["cold_start_s"] = seconds
            for kind, request in requests.items():
                run(_steady(processes, place.port, request, CLIENTS, lengths.warm))
                steady = run(_steady(processes, place.port, request, CLIENTS, lengths.steady))
                count = len(steady.answers.seconds)
                values[f"{kind}_per_s"], values[f"{kind}_per_cpu_s"] = count / steady.seconds, count / steady.cpu
                values[f"{kind}_failed"] = sum(steady.answers.others.values())
                values |= _percentiles(kind, steady.answers.seconds)
            alone = run(_steady(processes, place.port, requests["json"], 1, lengths.warm / 2)).answers
            values["alone_p50_ms"] = _percentiles("", alone.seconds).get("_p50_ms", float("nan"))
            values["memory_mb"] = processes.memory()
            if storms:
                kind = next(reversed(requests))
                request, rate = requests[kind], max(1.0, values[f"{kind}_per_s"])
                ended = run(loads.overload(place.port, request, 2 * rate, lengths.overload, PATIENCE))
                values |= _overloaded(ended, rate, lengths)
                values["left_ms"] = _left(processes, place.port, request)
        if storms:
            values |= run(_reloaded(server, place, requests["json"]))
        if server.has_loop:
            values["loop_p99_ms"] = _delay(server, place, requests[next(reversed(requests))], lengths)
    return values


@dataclass(frozen=True, slots=True)
class _Steady:
    """The answers that clients got, in how many seconds, and the processor time that it took the server."""

    answers: loads.Answers
    seconds: float
    cpu: float


async def _steady(processes: Processes, port: int, request: bytes, clients: int, cpu: float) -> _Steady:
    """Clients that ask until the server has had its seconds of the processor: beside other processes it gets them slowly."""
    first, begun = processes.seconds(), time.monotonic()

    async def until() -> None:
        for _ in range(int(_PATIENT * cpu / _LOOK)):
            await asyncio.sleep(_LOOK)
            if processes.seconds() - first >= cpu:
                return

    answers = await loads.Clients(port, request).run(clients, until)
    return _Steady(answers, time.monotonic() - begun, processes.seconds() - first)


def scores(server: Server, path: Path, model: Model) -> list[float]:
    """The ten numbers that a server answers, as a check that all run the same model.

    Raises:
        NotThereError: if it can't be installed or started.
    """
    request = server.bodies["json"](model.rows()).request()
    with _place(server, path) as place, _started(server, place, request, {}):
        body = run(_body(place.port, request))
    return [float(word) for word in re.findall(rb"\d+\.\d+(?:[eE][-+]?\d+)?", body)[-10:]]


async def _body(port: int, request: bytes) -> bytes:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answered(connection: Connection, code: int, seconds: float) -> None:
        done.set_result(None)

    connection = await connected(port, request, answered)
    connection.ask()
    try:
        await asyncio.wait_for(done, _ANSWER_SECONDS)
    except TimeoutError:
        raise NotThereError(f"It has not answered a request within {_ANSWER_SECONDS:.0f} s.") from None
    connection.close()
    return connection.body


def _percentiles(kind: str, seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {}
    p50, p99 = np.percentile(seconds, [50, 99])
    return {f"{kind}_p50_ms": 1e3 * float(p50), f"{kind}_p99_ms": 1e3 * float(p99)}


def _overloaded(ended: loads.Overload, rate: float, lengths: Lengths) -> dict[str, float]:
    """The good answers by what the server can bear, and the shares of requests that ended otherwise."""
    p99 = _percentiles("overload", ended.seconds).get("overload_p99_ms", float("nan"))
    return {
        "overload_good": len(ended.seconds) / lengths.overload / rate,
        "overload_p99_ms": p99,
        "overload_refused": ended.refused / ended.requests,
        "overload_late": (ended.late + ended.lost) / ended.requests,
    }


def _left(processes: Processes, port: int, request: bytes) -> float:
    """The processor time that goes on from 50 ms after many clients left until the server is at rest, in milliseconds."""
    time.sleep(2.0)
    first, begun = processes.seconds(), time.monotonic()
    time.sleep(1.0)
    idle = (processes.seconds() - first) / (time.monotonic() - begun)
    run(loads.leave(port, request, LEAVING, 0.1))
    first, begun = processes.seconds(), time.monotonic()
    work = last = 0.0
    while (passed := time.monotonic() - begun) < _MOST_SECONDS:
        time.sleep(0.25)
        now = processes.seconds() - first
        if now - last < _QUIET * 0.25 + 1.5 * idle * 0.25:
            break
        last, work = now, max(0.0, now - idle * passed)
    return 1e3 * work


async def _reloaded(server: Server, place: Place, request: bytes) -> dict[str, float]:
    """The answers to clients while the server takes its file again, or is restarted."""
    with contextlib.ExitStack() as stack:
        processes = stack.enter_context(_started(server, place, request, {}))[0]
        begun = time.monotonic()

        async def reloading() -> None:
            await asyncio.sleep(1.0)
            if server.reload is not None:
                await asyncio.to_thread(server.reload, place, processes.first)
            else:
                await asyncio.to_thread(processes.end)
                stack.enter_context(await asyncio.to_thread(_entered, server, place, request))
            await asyncio.sleep(1.0)

        answers = await loads.Clients(place.port, request).run(FEW_CLIENTS, reloading)
    return {
        "reload_failed": sum(answers.others.values()),
        "reload_gap_ms": 1e3 * answers.gap(begun),
        **_percentiles("reload", answers.seconds),
    }


def _delay(server: Server, place: Place, request: bytes, lengths: Lengths) -> float:
    """How late a ticker of a millisecond gets in the server's event loop (p99), in milliseconds."""
    path = place.folder / "delays"
    with _started(server, place, request, {"COMPARE_DELAYS": str(path)}) as (processes, _):
        run(_steady(processes, place.port, request, CLIENTS, lengths.warm))
        begun = time.monotonic()
        run(_steady(processes, place.port, request, CLIENTS, lengths.steady))
        end = time.monotonic()
    delays: list[float] = []
    for file in place.folder.glob("delays.*"):
        pairs = array.array("d", file.read_bytes())
        delays += [late for at, late in zip(pairs[::2], pairs[1::2]) if begun <= at <= end]
    return 1e3 * float(np.percentile(delays, 99)) if delays else float("nan")


@contextlib.contextmanager
def _place(server: Server, path: Path) -> Iterator[Place]:
    python = environments.interpreter(server)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(path, folder / "model.onnx")
        place = Place(python, folder, free_port())
        if server.prepare is not None:
            server.prepare(place)
        yield place


def _entered(server: Server, place: Place, request: bytes) -> Any:
    """A server that has started, as a context that ends it."""
    stack = contextlib.ExitStack()
    stack.enter_context(_started(server, place, request, {}))
    return stack


@contextlib.contextmanager
def _started(
    server: Server, place: Place, request: bytes, environment: Mapping[str, str]
) -> Iterator[tuple[Processes, float]]:
    """A server that answers, and the seconds from its start to the first answer."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    variables = {"MODEL": str(place.model), **(server.environment or {}), **environment}
    processes = Processes(server.command(place), place.folder, variables)
    try:
        path = first.split()[1]
        seconds = processes.until(lambda: status(place.port, "POST", path, body, headers) == 200, _START_SECONDS)
        yield processes, seconds
    finally:
        processes.end()
