"""Requests a second of a served MLP 784-128-10, at 1, 8 and 64 clients, beside onnxruntime behind a plain ASGI application.

The server of a side has one core, and the clients another one. `BENCH_SERVING_PYTHON` names an interpreter with onnx,
onnxruntime, uvicorn, httptools and uvloop for the peer. Our side should have the extra `serving`. "binary, ids" are requests
whose JSON has another `id` each time, so that it is parsed each time.

Then p99 of other requests is measured while versions of 500 MB are reloaded, in turns with quiet phases.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.definitions import Figure, Measurement, Options, Side

ROOT = Path(__file__).resolve().parent
KINDS = {"json": "JSON", "binary": "binary", "ids": "binary, ids"}
CLIENTS = (1, 8, 64)
SECONDS, WARM_SECONDS = 5.0, 0.3
RELOADS, MEGABYTES = 8, 500
RELOADING_CLIENTS = 8


def weights() -> dict[str, Any]:
    """Those of the MLP."""
    rng = np.random.default_rng(0)
    return {
        "w1": rng.normal(0, 0.05, (784, 128)).astype(np.float32),
        "b1": np.zeros(128, np.float32),
        "w2": rng.normal(0, 0.1, (128, 10)).astype(np.float32),
        "b2": np.zeros(10, np.float32),
    }


def write_model(folder: Path) -> None:
    """The MLP as a saved model."""
    import actorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 784], name="x")
        w1, b1, w2, b2 = (tf.get_variable(name, initializer=value) for name, value in weights().items())
        y = tf.nn.softmax(tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / "mlp" / "1"), {"x": x}, {"y": y}, format="standard")


def write_large(folder: Path, megabytes: int) -> None:
    """A version with weights of this size, of the same signature."""
    import actorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 784], name="x")
        large = tf.get_variable("large", [megabytes, 1 << 18], initializer=tf.ones_initializer())
        y = x[:, :10] * large[0, 0]
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y}, format="standard")


Request = Callable[[], bytes]


def request_of(side: Side, kind: str) -> Request:
    """A function that gives the requests for a side's server."""
    row = np.random.default_rng(1).random((1, 784), np.float32)
    if kind == "json":
        body = json.dumps({"instances": row.round(4).tolist()}).encode()
        whole = _http("/v1/models/mlp:predict" if side == "ours" else "/json", body)
        return lambda: whole
    raw = row.tobytes()
    if side == "peer":
        whole = _http("/bytes", raw)
        return lambda: whole
    tensor = {"name": "x", "shape": [1, 784], "datatype": "FP32", "parameters": {"binary_data_size": len(raw)}}
    content = {"inputs": [tensor], "parameters": {"binary_data_output": True}}
    if kind == "ids":
        content = {"id": "-" * 8, **content}
    head = json.dumps(content).encode()
    more = f"Inference-Header-Content-Length: {len(head)}\r\n"
    whole = _http("/v2/models/mlp/infer", head + raw, more)
    if kind == "binary":
        return lambda: whole
    before, after = whole.split(b"-" * 8)
    numbers = itertools.count()
    return lambda: b"%s%08d%s" % (before, next(numbers), after)


def _http(path: str, body: bytes, more: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


class _Client(asyncio.Protocol):
    """Sends a request, and again as soon as its answer is there. It takes less time than the servers do."""

    def __init__(self, request: Request, end: list[float], times: list[float]) -> None:
        self._request, self._end, self._times = request, end, times
        self._got = b""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._begun = time.perf_counter()
        self._transport.write(self._request())

    def data_received(self, data: bytes) -> None:
        self._got = self._got + data if self._got else data
        head, found, body = self._got.partition(b"\r\n\r\n")
        if not found:
            return
        size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < size:
            return
        now = time.perf_counter()
        self._times.append(now - self._begun)
        self._got = b""
        if not head.startswith(b"HTTP/1.1 200"):
            self.ended.set_exception(RuntimeError(head.decode()))
        elif now < self._end[0]:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


async def load(port: int, request: Request, clients: int, seconds: float, until: str = "") -> list[float]:
    """The times of all requests that clients made one after the other, in seconds: for some seconds, or until a path answers
    with status 200 and half a second more."""
    times: list[float] = []
    end, loop = [time.perf_counter() + seconds], asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: _Client(request, end, times), "127.0.0.1", port) for _ in range(clients)
    ]
    while until and time.perf_counter() < end[0]:
        await asyncio.sleep(0.05)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {until} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        if b" 200 " in await reader.readline():
            end[0], until = time.perf_counter() + 0.5, ""
        writer.close()
    await asyncio.gather(*(client.ended for _, client in made))
    return times


def run(work: Coroutine[Any, Any, list[float]]) -> list[float]:
    """Clients on the quickest loop that is installed."""
    factory = None
    with contextlib.suppress(ImportError):
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def serve(command: list[str], port: int, core: int | None) -> subprocess.Popen[bytes]:
    """A server on one core, or on any, when it listens."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        preexec_fn=None if core is None else lambda: os.sched_setaffinity(0, {core}),
        env={**os.environ, **({} if core is None else ONE)},
    )
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{command} has ended")


ONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ACTORFLOW_THREADS": "1"}


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    process.wait(30)


def p99(times: list[float]) -> float:
    """In milliseconds."""
    return float(np.percentile(times, 99)) * 1e3


@contextlib.contextmanager
def served(side: Side, folder: Path) -> Iterator[int]:
    """The port of a side's server, which has one core; this process, the clients', is on another one."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})
    port = free_port()
    if side == "ours":
        write_model(folder)
        command = [sys.executable, "-m", "actorflow", "serve", str(folder), "--port", str(port)]
    else:
        np.savez(folder / "weights.npz", **weights())
        command = [sys.executable, str(ROOT / "serving_peer.py"), str(folder), str(port)]
    server = serve(command, port, cores[0])
    try:
        yield port
    finally:
        stop(server)


def answered(options: Options, side: Side) -> dict[str, float]:
    """Requests a second of each kind, by the number of clients, and p99 of the most."""
    seconds, found = SECONDS / 5 if options.quick else SECONDS, {}
    with tempfile.TemporaryDirectory() as name, served(side, Path(name)) as port:
        for kind in KINDS:
            request = request_of(side, kind)
            for clients in CLIENTS:
                run(load(port, request, clients, WARM_SECONDS))
                times = run(load(port, request, clients, seconds))
                found[f"{kind}_{clients}"] = len(times) / seconds
            found[f"{kind}_{clients}_p99_ms"] = p99(times)
    return found


def reloaded(options: Options) -> dict[str, float]:
    """p99 of requests for one model while versions of another one come and go, by p99 in between.

    Each round has a quiet phase, and one in which a version is loaded, begins to answer, and the version before it is drained and
    closed. So what slows the machine for a while is in both.
    """
    seconds, reloads = (1.0, 2) if options.quick else (SECONDS, RELOADS)
    quiets, reloadings, longest = [], [], 0.0
    request = request_of("ours", "binary")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models, large, fresh = folder / "models", folder / "large", folder / "fresh"
        models.mkdir()
        with served("ours", models) as port:
            write_large(large, MEGABYTES)
            (models / "big").mkdir()
            for version in range(1, reloads + 2):
                quiet = run(load(port, request, RELOADING_CLIENTS, seconds))
                shutil.copytree(large, fresh, copy_function=os.link)  # the same files, which lie in memory
                fresh.rename(models / "big" / str(version))
                ready = f"/v2/models/big/versions/{version}/ready"
                reloading = run(load(port, request, RELOADING_CLIENTS, 60, ready))
                if version == 1:
                    continue  # nothing was closed, and much has run for the first time
                quiets.append(p99(quiet))
                reloadings.append(p99(reloading))
                longest = max(longest, 1e3 * max(reloading))
    return {
        "usual_p99_ms": statistics.median(quiets),
        "reload_p99_ms": statistics.median(reloadings),
        "reload_by_usual": statistics.median(some / usual for some, usual in zip(reloadings, quiets)),
        "reload_longest_ms": longest,
    }


BENCHMARKS = (
    Measurement(
        "answers",
        ours=partial(answered, side="ours"),
        peer=partial(answered, side="peer"),
        figures=(
            *(
                Figure(f"{kind}_{clients}", f"requests, {told}, {clients} clients", "/s")
                for kind, told in KINDS.items()
                for clients in CLIENTS
            ),
            *(
                Figure(f"{kind}_{CLIENTS[-1]}_p99_ms", f"p99, {told}, {CLIENTS[-1]} clients", "ms")
                for kind, told in KINDS.items()
            ),
        ),
        processes=3,
        note="More requests are better. The peer of `serving` is onnxruntime behind uvicorn; each side's server has one core.",
    ),
    Measurement(
        "reloads",
        ours=reloaded,
        figures=(
            Figure("usual_p99_ms", f"p99 of {RELOADING_CLIENTS} clients, no reload", "ms"),
            Figure("reload_p99_ms", f"p99 of {RELOADING_CLIENTS} clients during a reload of {MEGABYTES} MB", "ms"),
            Figure("reload_by_usual", "p99 during a reload, by the usual p99", "×"),
            Figure("reload_longest_ms", "the longest answer during a reload", "ms"),
        ),
        processes=1,
    ),
)
