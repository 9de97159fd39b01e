"""Small models on the disk, and a client that calls an ASGI application as a server does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import numpy as np

import actorflow as af
import actorflow.compat.v1 as tf


def write_line(folder: Path, factor: float, *, format: str = "standard", width: int = 3) -> Path:
    """A saved model of y = factor · x and the sum of each row. Its rows are of one width."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, width], name="x")
        w = tf.get_variable("w", initializer=np.float32(factor))
        session.run(tf.global_variables_initializer())
        outputs = {"y": x * w, "total": tf.reduce_sum(x * w, axis=1)}
        tf.saved_model.simple_save(session, str(folder), {"x": x}, outputs, format=format)
    return folder


def write_words(folder: Path) -> Path:
    """A saved model of one text input that gives it back as bytes and as text, and its length."""
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, [None], name="text")
        outputs = {"same": tf.identity(text), "raw_bytes": tf.identity(text), "size": tf.strings.length(text)}
        tf.saved_model.simple_save(session, str(folder), {"text": text}, outputs)
    return folder


class Client:
    """Sends requests to an ASGI application.

    Args:
        app: the application.
        headers: headers of each request.
    """

    def __init__(self, app: Any, headers: dict[str, str] | None = None) -> None:
        self._app, self._headers = app, headers or {}

    async def call(
        self, method: str, path: str, body: Any = b"", headers: dict[str, str] | None = None, *, gone: Any = None
    ) -> tuple[int, dict[str, str], bytes]:
        """The status, headers and body of an answer. The client goes away when the event `gone` is set."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        told = {"host": "127.0.0.1:1", "content-length": str(len(data)), **self._headers, **(headers or {})}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(k.lower().encode(), v.encode()) for k, v in told.items()],
        }
        parts = [{"type": "http.request", "body": data, "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            if parts:
                return parts.pop()
            await (anyio.sleep_forever() if gone is None else gone.wait())
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start = sent[0]
        whole = b"".join(message["body"] for message in sent[1:])
        return start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, whole

    async def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        """The status and the JSON of an answer."""
        status, _, data = await self.call("POST", path, body, headers)
        return status, json.loads(data)

    async def get(self, path: str) -> tuple[int, Any]:
        """The status and the JSON of an answer."""
        status, _, data = await self.call("GET", path)
        return status, json.loads(data)


def application(models: Any, **options: Any) -> af.serving.Application:
    """An application that looks for versions only when it is told to."""
    return af.serving.app(models, poll_seconds=0, **options)
