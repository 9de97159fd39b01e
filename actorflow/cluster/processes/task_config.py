"""`TaskConfig`: what a process needs to be a task. A parent hands them to its child through a socket that both inherit.

So keys stand neither in a command line, which all users of a machine can read, nor in a file. The socket lives as long as
the two do: the child tells by it that it is up, and each learns by its end that the other is gone.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from actorflow.cluster.config.credentials import Credentials
from actorflow.cluster.config.spec import ClusterSpec, task_name
from actorflow.cluster.membership.view import View, decode_view
from actorflow.engine.runtime.diagnostics.recorder import Recording

_LENGTH = struct.Struct("!I")
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class TaskConfig:
    """Which task of which cluster a process is, and what it is made of. The fields after `index` are those of `Server`.

    `imports` are modules that are imported before the server starts: they register ops and kernels of a program's own.
    `log_level` is the least that its log shows. `metrics_port` is a port for Prometheus, at the address `metrics_host`.
    `view` is the membership of the cluster, if that has changed since its description was written.
    """

    cluster: ClusterSpec
    job: str
    index: int
    credentials: Credentials | None = None
    allowed: frozenset[str] = frozenset()
    devices: Mapping[str, int] | None = None
    memory_budget: int | None = None
    transport: str = "auto"
    arena_bytes: int | None = None
    file_roots: tuple[str, ...] | None = None
    listen: str | None = None
    advertise: str | None = None
    epoch: int = 0
    incarnation: int | None = None
    recording: Recording | None = None
    imports: tuple[str, ...] = ()
    log_level: str = "info"
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    view: View | None = None

    @property
    def task(self) -> str:
        """The task's name."""
        return task_name(self.job, self.index)

    @property
    def address(self) -> str:
        """The address at which others reach the task."""
        return self.cluster.address_of(self.task)


def to_message(config: TaskConfig) -> dict[str, Any]:
    """The configuration, secrets included, as JSON has them."""
    plain = {name: getattr(config, name) for name in TaskConfig.__dataclass_fields__}
    plain["cluster"] = [[job, list(map(list, _tasks(config.cluster, job)))] for job in config.cluster.jobs]
    plain["credentials"] = None if config.credentials is None else asdict(config.credentials)
    plain["recording"] = None if config.recording is None else asdict(config.recording)
    plain["allowed"] = sorted(config.allowed)
    plain["view"] = None if config.view is None else config.view.encode().hex()
    return plain


def from_message(message: Mapping[str, Any]) -> TaskConfig:
    """The way back."""
    fields = {name: message[name] for name in TaskConfig.__dataclass_fields__}
    config = TaskConfig(
        **{**fields, "cluster": ClusterSpec({job: dict(map(tuple, tasks)) for job, tasks in fields["cluster"]})}
    )
    return replace(
        config,
        credentials=None if config.credentials is None else Credentials(**fields["credentials"]),
        allowed=frozenset(config.allowed),
        recording=None if config.recording is None else Recording(**fields["recording"]),
        file_roots=None if config.file_roots is None else tuple(config.file_roots),
        imports=tuple(config.imports),
        view=None if fields["view"] is None else decode_view(bytes.fromhex(fields["view"])),
    )


def _tasks(cluster: ClusterSpec, job: str) -> list[tuple[int, str]]:
    return [(index, cluster.task_address(job, index)) for index in cluster.task_indices(job)]


def send(wire: socket.socket, message: Mapping[str, Any]) -> None:
    """Sends a message of JSON's types. Raises OSError when the other side is gone."""
    data = json.dumps(message).encode()
    wire.sendall(_LENGTH.pack(len(data)) + data)


class MessageAssembler:
    """Puts together the messages that arrive in pieces."""

    def __init__(self) -> None:
        self._data = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete after `data`. Raises ValueError for what is no message."""
        self._data += data
        messages: list[dict[str, Any]] = []
        while len(self._data) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._data)
            if size > _MOST_BYTES:
                raise ValueError(f"a message of {size:,} bytes")
            if len(self._data) < _LENGTH.size + size:
                break
            messages.append(json.loads(self._data[_LENGTH.size : _LENGTH.size + size]))
            self._data = self._data[_LENGTH.size + size :]
        return messages


def receive(wire: socket.socket) -> dict[str, Any]:
    """The next message, waited for. Raises EOFError when the other side is gone."""
    messages = MessageAssembler()
    while True:
        data = wire.recv(1 << 16)
        if not data:
            raise EOFError("the other process is gone")
        for message in messages.feed(data):
            return message
