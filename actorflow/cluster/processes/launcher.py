"""`Launcher`: starts the processes of local clusters, on Linux by a fork of a process that has imported everything.

A thread may keep a launcher and give it to several clusters: then only the first start takes a second.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping

import anyio

from actorflow.errors import UnavailableError, UnimplementedError

FORKS = sys.platform == "linux" and hasattr(os, "pidfd_open")
_POLL = 0.02
_STATUS_SECONDS = 5.0
_TURN_SECONDS = 0.05


def require_python() -> None:
    """Raises UnimplementedError in a frozen program: it has no Python for other processes, and would start itself again."""
    if getattr(sys, "frozen", False):
        raise UnimplementedError(
            "A frozen program can't start processes for tasks: it has no Python to run them with.",
            hint="Take LocalCluster(..., transport='local'), which has no processes, or connect to tasks that run elsewhere.",
        )


class Forked:
    """A process that the launcher has forked. It is not this process's child, so the launcher tells how it ended."""

    def __init__(self, launcher: Launcher, pid: int, number: int) -> None:
        self.pid = pid
        self._launcher = launcher
        self._number = number
        self._status: int | None = None

    def poll(self) -> int | None:
        """None while it runs, then its exit status, negative for a signal."""
        if self._status is None:
            self._launcher.look()
            self._status = self._launcher.ended.pop(self.pid, None)
            if self._status is None and self._launcher.gone and select.select([self._number], [], [], 0)[0]:
                self._status = -int(signal.SIGKILL)  # no parent is left to tell; that is what the system did
        return self._status

    def send_signal(self, number: int) -> None:
        """Sends it a signal; nothing happens when it has ended."""
        if self.poll() is None:
            try:
                signal.pidfd_send_signal(self._number, number)
            except ProcessLookupError:
                pass

    async def ended(self) -> int:
        """Waits for its end and gives its status."""
        while (status := self.poll()) is None:
            number = os.dup(self._number)  # a number for each waiter
            try:
                await anyio.wait_readable(number)
            finally:
                os.close(number)
            if self.poll() is None:  # the launcher tells in a moment
                await anyio.sleep(0.001)
        return status

    def kill(self) -> int:
        """Kills the process if it runs, and waits for its end."""
        self.send_signal(signal.SIGKILL)
        while (status := self.poll()) is None:
            self._launcher.look(_STATUS_SECONDS)
        return status

    def close(self) -> None:
        """Lets go of the descriptor."""
        os.close(self._number)


class Spawned:
    """A process of its own from the start, where forking is not to be had."""

    def __init__(self, wire: int, log: int, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "actorflow", "worker", "--orders-from", str(wire)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[wire],
            start_new_session=True,  # a Ctrl-C in the terminal is for the parent, who then ends it
            env=dict(os.environ) | dict(environ),
        )
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """None while it runs, then its exit status, negative for a signal."""
        return self._process.poll()

    def send_signal(self, number: int) -> None:
        """Sends it a signal; nothing happens when it has ended."""
        self._process.send_signal(number)

    async def ended(self) -> int:
        """Waits for its end and gives its status."""
        while (status := self._process.poll()) is None:  # noqa: ASYNC110  (nothing tells)
            await anyio.sleep(_POLL)
        return status

    def kill(self) -> int:
        """Kills the process if it runs, and waits for its end."""
        if self._process.poll() is None:
            self._process.kill()
        return self._process.wait()

    def close(self) -> None:
        """There is nothing to let go of."""


def _end(number: int) -> None:
    """Kills the process that no one wants, by its descriptor."""
    try:
        signal.pidfd_send_signal(number, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.close(number)


class Launcher:
    """Starts processes that are tasks. `environ` is added to their environment.

    The first start brings a helper process up, which ends with `close`, or with this process. `fork=False` starts each
    task by itself, as on a system without a reliable fork.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, *, fork: bool = FORKS) -> None:
        self.ended: dict[int, int] = {}
        """The exit statuses of processes that no caller has asked about yet."""
        self.gone = False
        self._environ = dict(environ or {})
        self._fork = fork
        self._helper: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._started: list[tuple[int, int]] = []
        self._unwanted = 0
        """Answers that are on their way to somebody who was cancelled."""
        self._lock = anyio.Lock()

    async def start(self, name: str, wire: socket.socket, log: int) -> Forked | Spawned:
        """Starts a task that reads its configuration from `wire` and writes to the descriptor `log`; both stay the caller's.

        Raises:
            UnavailableError: the helper process ended; has what it wrote.
        """
        if not self._fork:
            return Spawned(wire.fileno(), log, self._environ)
        self.bring_up()
        assert self._control is not None
        async with self._lock:
            try:
                socket.send_fds(self._control, [name.encode()[:200] or b"task"], [wire.fileno(), log])
            except OSError:
                self.gone = True
            try:
                while not self._started and not self.gone:
                    with anyio.move_on_after(_TURN_SECONDS):  # somebody else's look may have taken the answer
                        await anyio.wait_readable(self._control)
                    self.look()
            except BaseException:
                if self._started:
                    _end(self._started.pop(0)[1])
                else:
                    self._unwanted += 1
                raise
            if not self._started:
                raise UnavailableError(
                    "The process that starts the tasks ended.", details=self._last_words().splitlines()[-8:]
                )
            return Forked(self, *self._started.pop(0))

    def look(self, seconds: float = 0.0) -> None:
        """Takes what the helper has said, and waits at most so long for something."""
        control = self._control
        while control is not None and not self.gone and select.select([control], [], [], seconds)[0]:
            seconds = 0.0
            try:
                data, numbers, _, _ = socket.recv_fds(control, 4096, 1)
            except OSError:
                data, numbers = b"", []
            if not data:
                self.gone = True
                return
            message = json.loads(data)
            if "started" in message and self._unwanted:
                self._unwanted -= 1
                _end(numbers[0])
            elif "started" in message:
                self._started.append((message["started"], numbers[0]))
            else:
                self.ended[message["ended"]] = message["status"]

    def close(self) -> None:
        """Ends the helper process, and with it all tasks that still run."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._helper is not None:
            self._helper.kill()
            self._helper.wait()
            self._helper = None
            self._log.close()
        for _, number in self._started:
            os.close(number)
        self._started = []
        self._unwanted = 0
        self.gone = True

    def bring_up(self) -> None:
        """Starts the helper process unless it runs. `start` does so too; it is ready a second later."""
        if not self._fork or (self._helper is not None and not self.gone):
            return
        require_python()
        self.close()
        self.gone = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the helper)
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0
        with theirs:
            try:
                self._helper = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        "actorflow.cluster.processes.fork_server",
                        str(theirs.fileno()),
                        str(parent),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # a Ctrl-C in the terminal is for this process, which then ends the tasks
                    env=dict(os.environ) | self._environ,
                )
            except BaseException:
                mine.close()
                self._log.close()
                raise
        self._control = mine

    def _last_words(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), 8192, max(0, size - 8192)).decode(errors="replace")

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
