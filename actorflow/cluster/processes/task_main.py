"""The main function of a task's process, and how it logs."""

from __future__ import annotations

import os
import platform
import socket
import sys
from importlib.metadata import distributions
from typing import TYPE_CHECKING, Any, TextIO, cast

from actorflow.base.registry import plugins
from actorflow.base.reports import logs
from actorflow.cluster.processes import process
from actorflow.cluster.processes.fork_server import die_with
from actorflow.cluster.processes.listening import check_files
from actorflow.cluster.processes.task_config import TaskConfig, from_message, receive
from actorflow.errors import OpError

if TYPE_CHECKING:
    from actorflow.cluster.server import Server


def banner(config: TaskConfig, server: Server) -> str:
    """The message of a process that is up."""
    import numpy

    import actorflow
    from actorflow.cluster.wire.endpoints import chosen
    from actorflow.engine.transport.installed import for_target

    keys = config.credentials
    rows = {
        "listens on": config.listen or server.address,
        "is reached at": server.address,
        "key": "none: only this machine can connect" if keys is None else keys.fingerprint,
        "others allowed": f"{len(config.allowed)} keys" if config.allowed else "",
        "devices": ", ".join(str(device["name"]) for device in server.status()["devices"]),
        "incarnation": f"{server.identity.incarnation:x}, epoch {config.epoch}",
        "versions": ", ".join(
            [
                f"python {platform.python_version()}",
                f"numpy {numpy.__version__}",
                *(
                    implementation.versions()
                    for implementation in chosen(for_target(config.transport, config.address))
                    if implementation is not None and implementation.versions is not None
                ),
                f"{platform.system()} {platform.machine()}",
            ]
        ),
    }
    first = f"actorflow {actorflow.__version__}: {config.task} of cluster {config.cluster.cluster_id} is up (pid {os.getpid()})"
    return "\n".join([first, *(f"  {name:<15}{value}" for name, value in rows.items() if value)])


def run_child(number: int) -> int:
    """A task of a LocalCluster: its parent says all else through the socket `number`."""
    os.set_inheritable(number, False)
    wire = socket.socket(fileno=number)
    parent = process.Parent(wire)
    message: dict[str, Any] = receive(wire)
    if message["parent"] is not None:
        die_with(message["parent"])
    added = [path for path in message["path"] if path not in sys.path]
    if added:
        sys.path += added
        if any(distributions(path=added)):  # a look reads a file of each package, which takes longer than all else here
            plugins.look_again()
    config = from_message(message)
    _configure_logs(config.log_level)
    try:
        check_files(config.cluster)
        return process.run_task(
            config, parent=parent, up=lambda server: print(banner(config, server), file=sys.stderr, flush=True)
        )
    except OpError as error:
        print(error, file=sys.stderr)
        parent.tell({"failed": str(error)})
        return 1


class Unfailing:
    """A stream whose writes may be lost: a full disk for its log ends no task."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _configure_logs(level: str) -> None:
    """The log of this process, on stderr."""
    sys.stderr = cast(TextIO, Unfailing(sys.stderr))
    logs.configure(level)
