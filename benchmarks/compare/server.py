"""The description of a server of the comparison."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_RELOAD_SECONDS = 120.0


class NotThereError(Exception):
    """A server can't be installed or started, or has stopped to answer; the message says why."""


def await_reload(is_there: Callable[[], bool]) -> None:
    """Waits until a server has its new model.

    Args:
        is_there: whether it has.

    Raises:
        NotThereError: if that takes minutes.
    """
    until = time.monotonic() + _RELOAD_SECONDS
    while not is_there():
        if time.monotonic() > until:
            raise NotThereError(f"Its new model was not there after {_RELOAD_SECONDS:.0f} s.")
        time.sleep(0.02)


_OF_THE_MEASURE = "# for the measure"
PROGRAMS = Path(__file__).resolve().parent / "programs"


@dataclass(frozen=True, slots=True)
class Body:
    """How an array is sent to a server.

    Args:
        path: the path of the request.
        headers: lines of the head beside the length, each with its end of line.
        content: the bytes of the body.
    """

    path: str
    headers: str
    content: bytes

    def request(self) -> bytes:
        """The bytes of the request."""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(self.content)}\r\n{self.headers}\r\n"
        )
        return head.encode() + self.content


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a server: the interpreter of its environment, a folder for its files, and its port."""

    python: Path
    folder: Path
    port: int

    @property
    def model(self) -> Path:
        """The ONNX file that the server answers with."""
        return self.folder / "model.onnx"

    @property
    def script(self) -> Path:
        """The folder of the commands of its environment."""
        return self.python.parent


@dataclass(frozen=True, slots=True)
class Server:
    """A server of the comparison.

    Args:
        name: the name, on the command line too.
        title: the name in tables.
        packages: what pip installs for it; none for the interpreter that runs the comparison.
        about: the way it is set up, in a sentence for the page.
        command: the command that starts it.
        bodies: what is sent for an array, by the kind `json` or `binary`.
        program: the file in `programs` that its user writes; empty where a command is enough.
        prepare: writes files beside the model, before the start.
        reload: makes the running server take its file again, by its first process if need be; blocks until it is done. None where
            one restarts it.
        environment: variables of its processes.
        has_actorflow: whether its environment has, beside its packages, what the interpreter of the comparison has.
        has_loop: whether its program runs code of its own in an event loop.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    about: str
    command: Callable[[Place], list[str]]
    bodies: Mapping[str, Callable[[Any], Body]]
    program: str = ""
    prepare: Callable[[Place], None] | None = None
    reload: Callable[[Place, int], None] | None = None
    environment: Mapping[str, str] | None = None
    has_actorflow: bool = False
    has_loop: bool = False

    def lines(self) -> int:
        """The lines of code that a user writes: without blanks, comments, docstrings and what is for the measure."""
        if not self.program:
            return 0
        texts = [line.strip() for line in (PROGRAMS / self.program).read_text(encoding="utf-8").splitlines()]
        return sum(
            bool(text) and not text.startswith(("#", '"""')) and not text.endswith(_OF_THE_MEASURE) for text in texts
        )


JSON = "Content-Type: application/json\r\n"
BYTES = "Content-Type: application/octet-stream\r\n"


def rounded(array: Any) -> Any:
    """The rows of an array as lists, with four digits, as clients send them."""
    return [[round(value, 4) for value in row] for row in array.reshape(len(array), -1).tolist()]


def instances(path: str) -> Callable[[Any], Body]:
    """Bodies of JSON with the flat rows under `instances`."""
    return lambda array: Body(path, JSON, json.dumps({"instances": rounded(array)}).encode())


def raw(path: str) -> Callable[[Any], Body]:
    """Bodies that are the bytes of the array."""
    return lambda array: Body(path, BYTES, array.tobytes())


def status(port: int, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> int:
    """The status of a request of its own connection, 0 where there is no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, dict(headers or {}))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
