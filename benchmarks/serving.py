"""Requests a second of a served MLP 784-128-10, at 1, 8 and 64 clients, beside onnxruntime behind a plain ASGI application.

python -m benchmarks.serving --seconds 5

Each server has one core, and the clients another one. `BENCH_SERVING_PYTHON` names an interpreter with onnx, onnxruntime,
uvicorn, httptools and uvloop for the peer; without it only our side is measured. Our side should have the extra `serving`.
"binary, ids" are requests whose JSON has another `id` each time, so that it is parsed each time.

Then p99 of other requests is measured while versions of 500 MB are reloaded, in turns with quiet phases (`--reloads`).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent


def write_models(folder: Path) -> None:
    """The MLP as a saved model, and its weights for the peer."""
    import actorflow.compat.v1 as tf

    rng = np.random.default_rng(0)
    arrays = {
        "w1": rng.normal(0, 0.05, (784, 128)).astype(np.float32),
        "b1": np.zeros(128, np.float32),
        "w2": rng.normal(0, 0.1, (128, 10)).astype(np.float32),
        "b2": np.zeros(10, np.float32),
    }
    np.savez(folder / "weights.npz", **arrays)  # type: ignore[arg-type]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 784], name="x")
        w1, b1, w2, b2 = (tf.get_variable(name, initializer=value) for name, value in arrays.items())
        y = tf.nn.softmax(tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / "models" / "mlp" / "1"), {"x": x}, {"y": y}, format="standard")


def write_large(folder: Path, megabytes: int) -> None:
    """A version with weights of this size, of the same signature."""
    import actorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 784], name="x")
        large = tf.get_variable("large", [megabytes, 1 << 18], initializer=tf.ones_initializer())
        y = x[:, :10] * large[0, 0]
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y}, format="standard")


KINDS = ("JSON", "binary", "binary, ids")
Request = Callable[[], bytes]


def requests(kind: str) -> tuple[Request, Request]:
    """Functions that give the requests for our server, and the same for the peer."""
    row = np.random.default_rng(1).random((1, 784), np.float32)
    if kind == "JSON":
        body = json.dumps({"instances": row.round(4).tolist()}).encode()
        ours, peer = _http("/v1/models/mlp:predict", body), _http("/json", body)
        return lambda: ours, lambda: peer
    raw = row.tobytes()
    tensor = {"name": "x", "shape": [1, 784], "datatype": "FP32", "parameters": {"binary_data_size": len(raw)}}
    content = {"inputs": [tensor], "parameters": {"binary_data_output": True}}
    if kind == "binary, ids":
        content = {"id": "-" * 8, **content}
    head = json.dumps(content).encode()
    more = f"Inference-Header-Content-Length: {len(head)}\r\n"
    ours, peer = _http("/v2/models/mlp/infer", head + raw, more), _http("/bytes", raw)
    if kind == "binary":
        return lambda: ours, lambda: peer
    before, after = ours.split(b"-" * 8)
    numbers = itertools.count()
    return lambda: b"%s%08d%s" % (before, next(numbers), after), lambda: peer


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


def serve(command: list[str], port: int, core: int) -> subprocess.Popen[bytes]:
    """A server on one core, when it listens."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        env={**os.environ, **ONE},
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


def row(name: str, times: list[float], seconds: float) -> str:
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    return f"{name:<28}{len(times) / seconds:>8.0f} /s  p50 {p50:>7.2f} ms  p99 {p99:>7.2f} ms"


def reload(port: int, folder: Path, rounds: int, seconds: float, megabytes: int) -> None:
    """p99 of requests for one model while versions of another one come and go, beside p99 in between.

    Each round has a quiet phase, and one in which a version is loaded, begins to answer, and the version before it is drained and
    closed. So what slows the machine for a while is in both.
    """
    request, large = requests("binary")[0], folder / "large"
    write_large(large, megabytes)
    (folder / "models" / "big").mkdir()
    phases: list[tuple[list[float], list[float]]] = []
    for version in range(1, rounds + 2):
        quiet = run(load(port, request, 8, seconds))
        fresh = folder / "fresh"
        shutil.copytree(large, fresh, copy_function=os.link)  # the same files, which lie in memory
        begun = time.perf_counter()
        fresh.rename(folder / "models" / "big" / str(version))
        reloading = run(load(port, request, 8, 60, f"/v2/models/big/versions/{version}/ready"))
        took = time.perf_counter() - begun
        if version == 1:
            continue  # nothing was closed, and much has run for the first time
        print(row(f"quiet, 8 clients, {version - 1}", quiet, seconds))
        print(row(f"a reload of {megabytes} MB, {version - 1}", reloading, took), f" in {took:.1f} s", flush=True)
        phases.append((quiet, reloading))
    quiets = [float(np.percentile(quiet, 99)) for quiet, _ in phases]
    ratios = [float(np.percentile(reloading, 99)) / quiet for (_, reloading), quiet in zip(phases, quiets)]
    pooled = [np.percentile(np.concatenate([phase[side] for phase in phases]), 99) for side in range(2)]
    print(f"{'ratio of p99, each round':<28}{np.median(ratios):>10.2f}  ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"{'ratio of p99, all rounds':<28}{pooled[1] / pooled[0]:>10.2f}")
    spread = [quiet / np.median(quiets) for quiet in quiets]
    print(f"{'quiet p99 by its median':<28}{'':>10}  ({min(spread):.2f} to {max(spread):.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description="Requests a second of a served MLP.")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each load lasts (5)")
    parser.add_argument("--rounds", type=int, default=3, help="how many rounds, ours and the peer's in turns (3)")
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS, help="of requests (all)")
    parser.add_argument("--clients", nargs="*", type=int, default=[1, 8, 64], help="how many there are (1 8 64)")
    parser.add_argument("--reloads", type=int, default=8, help="how many reloads; 0 for none (8)")
    parser.add_argument("--megabytes", type=int, default=500, help="how large the version is that is loaded (500)")
    options = parser.parse_args()
    cores: list[Any] = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})
    peer = os.environ.get("BENCH_SERVING_PYTHON")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder)
        ports = {"ours": free_port(), "peer": free_port()}
        servers = [
            serve(
                [sys.executable, "-m", "actorflow", "serve", str(folder / "models"), "--port", str(ports["ours"])],
                ports["ours"],
                cores[0],
            )
        ]
        if peer:
            servers.append(
                serve([peer, str(ROOT / "serving_peer.py"), name, str(ports["peer"])], ports["peer"], cores[0])
            )
        sides = ["ours", *(["peer"] if peer else [])]
        try:
            for kind in options.kinds:
                for clients in options.clients:
                    times: dict[str, list[float]] = {side: [] for side in sides}
                    for _ in range(options.rounds):
                        for side, request in zip(sides, requests(kind)):
                            run(load(ports[side], request, clients, 0.3))
                            times[side] += run(load(ports[side], request, clients, options.seconds))
                    for side in sides:
                        what = f"{side}, {kind}, {clients}"
                        print(row(what, times[side], options.seconds * options.rounds), flush=True)
                    if peer:
                        print(f"{'ratio':<28}{len(times['ours']) / len(times['peer']):>10.2f}")
            if options.reloads:
                reload(ports["ours"], folder, options.reloads, options.seconds, options.megabytes)
        finally:
            for server in servers:
                stop(server)


if __name__ == "__main__":
    main()
