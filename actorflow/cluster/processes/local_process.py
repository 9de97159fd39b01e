"""`LocalProcess`: one task of a local cluster as a process of its own, from its start to the report of its end."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import threading
from typing import IO

import anyio

from actorflow.cluster.processes.launcher import Forked, Launcher, Spawned
from actorflow.cluster.processes.task_config import MessageAssembler, TaskConfig, send, to_message
from actorflow.errors import PermissionDeniedError, UnavailableError

LOG_LINES = 50
_LOG_TAIL = 64 << 10
_ANSWER_SECONDS = 3.0
"""A process that is silent for so long stands still, is ended or busy: a supervisor judges it from its heartbeats."""


class LocalProcess:
    """A process that is a task. It ends when this object is closed, and when this process ends, in whatever way.

    Its output goes to a file in `log_dir`, or to a file without a name that ends with the process.
    """

    def __init__(self, config: TaskConfig, *, log_dir: str | None = None) -> None:
        self.task = config.task
        self.address = config.address
        self.incarnation: int | None = None
        """Known when it is up."""
        self.pid = -1
        self.log_path = None if log_dir is None else os.path.join(log_dir, f"{config.job}-{config.index}.log")
        self._config = config
        self._messages = MessageAssembler()
        self._log = _open_log(self.log_path)
        self._log_start = os.fstat(self._log.fileno()).st_size
        self._kept: list[str] = []
        self._process: Forked | Spawned | None = None
        self._wire: socket.socket | None = None

    async def start(self, launcher: Launcher) -> None:
        """Starts it, and hands its configuration over. Raises UnavailableError."""
        mine, theirs = socket.socketpair()
        self._wire = mine
        with theirs:
            self._process = await launcher.start(f"{self._config.job}:{self._config.index}", theirs, self._log.fileno())
        self.pid = self._process.pid
        main = threading.current_thread() is threading.main_thread()
        parent = os.getpid() if main and isinstance(self._process, Spawned) else None
        try:
            send(mine, {**to_message(self._config), "path": sys.path, "parent": parent})
        except OSError:  # it ended at once: `ready` tells
            pass
        mine.setblocking(False)

    @property
    def returncode(self) -> int | None:
        """None while it runs, then its exit status, or the negative number of the signal that ended it."""
        if self._process is None:
            return -signal.SIGKILL if self._log.closed else None  # it was closed before it began
        return self._process.poll()

    @property
    def last_log_lines(self) -> list[str]:
        """The last lines of its output, at most fifty."""
        if self._log.closed:
            return self._kept
        size = os.fstat(self._log.fileno()).st_size
        start = max(self._log_start, size - _LOG_TAIL)
        text = os.pread(self._log.fileno(), size - start, start).decode(errors="replace")
        return text.splitlines()[-LOG_LINES:]

    def new_log_lines(self, position: int) -> tuple[list[str], int]:
        """The complete lines from a position on (0 at first), and the position after them."""
        if self._log.closed:
            return [], position
        position = max(position, self._log_start)
        data = os.pread(self._log.fileno(), 1 << 20, position)
        whole = data[: data.rfind(b"\n") + 1] or (data if len(data) == 1 << 20 else b"")
        return whole.decode(errors="replace").splitlines(), position + len(whole)

    async def ready(self) -> None:
        """Waits until it is up. Raises UnavailableError when it says that it can't be, or ends."""
        assert self._wire is not None
        while self.incarnation is None:
            await anyio.wait_readable(self._wire)
            try:
                data = self._wire.recv(1 << 16)
            except BlockingIOError:
                continue
            except ConnectionError:
                data = b""
            if not data:
                await self.wait()
                raise UnavailableError(self.epitaph())
            for message in self._messages.feed(data):
                if "failed" in message:
                    await self.wait()
                    raise UnavailableError(f"{self.task}: {message['failed']}")
                self.incarnation = int(message["incarnation"])

    async def allow_files(self, folder: str) -> None:
        """Lets its ops read and write files in one more folder. Nothing happens after the end of the process; a process
        that stands still does it when it goes on."""
        assert self._wire is not None
        with anyio.move_on_after(_ANSWER_SECONDS):
            try:
                send(self._wire, {"allow_files": folder})
                while True:
                    await anyio.wait_readable(self._wire)
                    data = self._wire.recv(1 << 16)
                    if not data or any(message.get("allowed") == folder for message in self._messages.feed(data)):
                        return
            except OSError:  # it is gone
                return

    def signal(self, number: int) -> None:
        """Sends it a signal; nothing happens when it has ended."""
        if self._process is not None and not self._log.closed:
            self._process.send_signal(number)

    def let_go(self) -> None:
        """Tells it to end now, without waiting for steps."""
        if self._wire is not None:
            try:
                self._wire.shutdown(socket.SHUT_WR)
            except OSError:  # it is gone
                pass

    async def wait(self) -> int:
        """Waits for its end and gives `returncode`."""
        if self._process is None:
            return -signal.SIGKILL
        return await self._process.ended()

    async def stop(self, seconds: float) -> None:
        """Lets it go, waits for its end, and kills it when that takes more than `seconds`."""
        self.let_go()
        with anyio.CancelScope(shield=True):
            if self._process is not None and not self._log.closed:
                with anyio.move_on_after(seconds):
                    await self.wait()
            self.close()

    def close(self) -> None:
        """Kills it if it runs, and lets go of all that belongs to it but its last lines."""
        if self._log.closed:
            return
        if self._process is not None:
            self._process.kill()
            self._process.close()
        self._kept = self.last_log_lines
        if self._wire is not None:
            self._wire.close()
        self._log.close()

    def epitaph(self) -> str:
        """How it ended, in a sentence."""
        status = self.returncode
        if self._process is None:
            return f"{self.task} has not been started."
        if status is None:
            return f"{self.task} (pid {self.pid}) runs."
        if status < 0:
            return f"{self.task} (pid {self.pid}) was ended by {signal.Signals(-status).name}."
        return f"{self.task} (pid {self.pid}) ended with status {status}."

    def __repr__(self) -> str:
        return f"<{self.epitaph()[:-1]}>"


def _open_log(path: str | None) -> IO[bytes]:
    """The file, or a file that has no name and goes with its last user. Raises PermissionDeniedError."""
    try:
        return tempfile.TemporaryFile() if path is None else open(path, "a+b")
    except OSError as error:
        raise PermissionDeniedError(
            f"The log {path or 'in the temporary folder'} can't be written: {error.strerror}."
        ) from None
