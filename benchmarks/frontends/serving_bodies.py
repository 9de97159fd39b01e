"""The time that other clients wait while one client sends the worst bodies that a server takes, one after the other.

Each body is sent again and again by a process of its own. p99 and the longest answer of two other clients, who send small
requests, stand beside those of a quiet server.
"""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frontends.serving import free_port, load, p99, run, serve, stop
from benchmarks.harness.definitions import Figure, Measurement, Options

Body = tuple[str, bytes, dict[str, str]]
"""The path, the body and its headers."""

PREDICT, TEXTS, INFER, INFER_TEXTS = (
    *("/v1/models/line:predict", "/v1/models/words:predict"),
    *("/v2/models/line/infer", "/v2/models/words/infer"),
)
OTHERS = 2
SECONDS = 6.0


def write_models(folder: Path) -> None:
    """A model of rows of numbers, and one of texts."""
    import actorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.saved_model.simple_save(session, str(folder / "line" / "1"), {"x": x}, {"y": x * 3.0})
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, [None], name="text")
        tf.saved_model.simple_save(session, str(folder / "words" / "1"), {"text": text}, {"same": tf.identity(text)})


def _rest(path: str, instances: bytes) -> Body:
    return path, b'{"instances":[%b]}' % instances, {}


def _tensor(path: str, name: str, kind: str, count: int, raw: bytes) -> Body:
    entry = {"name": name, "shape": [count], "datatype": kind, "parameters": {"binary_data_size": len(raw)}}
    head = json.dumps({"inputs": [entry], "parameters": {"binary_data_output": True}}).encode()
    return path, head + raw, {"Inference-Header-Content-Length": str(len(head))}


def _packed(body: Body) -> Body:
    path, data, _ = body
    return path, gzip.compress(data, 9), {"Content-Encoding": "gzip"}


def _numbers(count: int) -> bytes:
    return b",".join([b"%.4f" % value for value in np.random.default_rng(0).random(count).tolist()])


def _texts(count: int) -> Body:
    return _tensor(INFER_TEXTS, "text", "BYTES", count, (struct.pack("<I", 1) + b"a") * count)


BODIES: dict[str, tuple[str, Callable[[], Body]]] = {
    "bomb": ("64 KB of gzip, 21 M empty lists", lambda: _packed(_rest(PREDICT, b"[]," * (21 << 20) + b"[]"))),
    "packed": ("gzip of 60 MB of numbers", lambda: _packed(_rest(PREDICT, _numbers(8_500_000)))),
    "numbers": ("10 MB of numbers as JSON", lambda: _rest(PREDICT, _numbers(1_450_000))),
    "many": ("60 MB of numbers as JSON", lambda: _rest(PREDICT, _numbers(8_500_000))),
    "columns": ("60 MB of numbers as JSON of /v2", lambda: _columns(8_500_000)),
    "strings": ("3 M short strings", lambda: _rest(TEXTS, b'"a",' * 3_000_000 + b'"a"')),
    "words": ("260 k short strings", lambda: _rest(TEXTS, b'"a",' * 260_000 + b'"a"')),
    "base64": ("40 MB of base64", lambda: _rest(TEXTS, b'{"b64":"%b"}' % base64.b64encode(bytes(30_000_000)))),
    "bytes": ("10 M BYTES", lambda: _texts(10_000_000)),
    "some_bytes": ("260 k BYTES", lambda: _texts(260_000)),
    "digits": ("60 MB of digits", lambda: _rest(PREDICT, b"1" * 60_000_000)),
    "deep": ("60 MB of nested lists", lambda: _rest(PREDICT, b"[" * 30_000_000 + b"]" * 30_000_000)),
    "keys": ("3 M keys", lambda: (PREDICT, b"{%b}" % b",".join([b'"%d":1' % n for n in range(3_000_000)]), {})),
    "tensor": ("60 MB of FP32", lambda: _tensor(INFER, "x", "FP32", 15_000_000, bytes(60_000_000))),
}


def _columns(count: int) -> Body:
    entry = b'{"name":"x","shape":[%d],"datatype":"FP32","data":[%b]}' % (count, _numbers(count))
    return INFER, b'{"inputs":[%b]}' % entry, {}


@contextmanager
def _sending(port: int, file: Path) -> Iterator[None]:
    """A process that sends the request of a file again and again."""
    sender = subprocess.Popen([sys.executable, "-m", "benchmarks.frontends.serving_bodies", str(port), str(file)])
    try:
        yield
    finally:
        sender.terminate()
        sender.wait()


def send(port: int, file: str) -> None:
    """Sends the request of a file again and again, whatever is answered."""
    path, headers = json.loads(Path(file).read_text())
    body = Path(file + ".body").read_bytes()
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            connection.request("POST", path, body, headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)  # refused before all of the body was sent
        finally:
            connection.close()


def waits(options: Options) -> dict[str, float]:
    """p99 of the others for each body, and the server's memory behind all of them."""
    seconds, names = (1.0, ["bomb", "numbers"]) if options.quick else (SECONDS, list(BODIES))
    small = b'{"instances":[1.0,2.0,3.0]}'
    request = f"POST {PREDICT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(small)}\r\n\r\n".encode() + small
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "models").mkdir()
        write_models(folder / "models")
        port = free_port()
        command = [sys.executable, "-m", "actorflow", "serve", str(folder / "models"), "--port", str(port)]
        server = serve(command, port, None)
        try:
            run(load(port, lambda: request, OTHERS, 0.5))
            quiets = [p99(run(load(port, lambda: request, OTHERS, seconds)))]
            for kind in names:
                path, body, headers = BODIES[kind][1]()
                file = folder / kind
                file.write_text(json.dumps([path, headers]))
                Path(f"{file}.body").write_bytes(body)
                del body
                with _sending(port, file):
                    time.sleep(1.0)
                    times = run(load(port, lambda: request, OTHERS, seconds))
                figures[kind], figures[f"{kind}_longest"] = p99(times), 1e3 * max(times)
                Path(f"{file}.body").unlink()
            quiets.append(p99(run(load(port, lambda: request, OTHERS, seconds))))
            figures["quiet"] = statistics.median(quiets)
            figures["memory"] = _resident(server.pid)
        finally:
            stop(server)
    figures["worst"] = max(figures[kind] for kind in names)
    return figures


def _resident(pid: int) -> float:
    """In MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _figures() -> tuple[Any, ...]:
    return (
        Figure("quiet", f"p99 of {OTHERS} clients, alone", "ms"),
        *(Figure(kind, f"p99 beside {text}", "ms") for kind, (text, _) in BODIES.items()),
        *(Figure(f"{kind}_longest", f"the longest answer beside {text}", "ms") for kind, (text, _) in BODIES.items()),
        Figure("worst", "the worst of these p99", "ms"),
        Figure("memory", "memory of the server behind all of it", "MB"),
    )


BENCHMARKS = (
    Measurement(
        "waits",
        ours=waits,
        figures=_figures(),
        processes=1,
        note="Server, sender and clients share all cores.",
    ),
)

if __name__ == "__main__":
    send(int(sys.argv[1]), sys.argv[2])
