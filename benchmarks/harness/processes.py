"""Worker processes, seen from the parent: started fresh, driven over pipes, ended whatever happens."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import IO, Any

from benchmarks.harness import environment
from benchmarks.harness.definitions import Side

PATIENCE = 300.0
"""Seconds after which a worker that does not answer is killed."""


class WorkerError(RuntimeError):
    """A worker ended or hung instead of answering; the message holds the end of what it wrote."""


class CaseError(WorkerError):
    """A worker could not do one case of a suite; it goes on with the next."""


class Worker:
    """One side of one benchmark in a process of its own. A context manager: its end is the process's end."""

    def __init__(self, side: Side, benchmark: str, *, quick: bool = False, own_session: bool = False) -> None:
        self.side = side
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 closed in __exit__
        command = [
            environment.interpreter(side, benchmark.partition("/")[0]),
            "-m",
            "benchmarks.harness.worker",
            side,
            benchmark,
        ]
        self._process = subprocess.Popen(
            command + ["--quick"] * quick,
            cwd=environment.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            start_new_session=own_session,
        )
        self.pid = self._process.pid

    def receive(self) -> dict[str, Any]:
        """The next line. Raises WorkerError where there is none."""
        assert self._process.stdout is not None
        started = time.monotonic()
        watchdog = threading.Timer(PATIENCE, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            silent = time.monotonic() - started >= PATIENCE
            how = f"was silent for {PATIENCE:.0f} s" if silent else f"ended with code {self._process.wait()}"
            raise WorkerError(f"The worker of {self.side} {how}:\n{self.log_tail()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **command: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() says why
        return self.receive()

    def settle(self, limit: float = 0.3, pause: float = 0.02) -> None:
        """Waits until the process rests.

        Threads of linear algebra spin for a while after their work; they would run into the other side's round.
        """
        end = time.monotonic() + limit
        before = environment.cpu_seconds(self.pid)
        while time.monotonic() < end:
            time.sleep(pause)
            now = environment.cpu_seconds(self.pid)
            if now == before:
                return
            before = now

    def log_tail(self, lines: int = 12) -> str:
        self._log.seek(0)
        return "\n".join(self._log.read().decode("utf-8", "replace").splitlines()[-lines:])

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(BrokenPipeError):
            assert self._process.stdin is not None
            self._process.stdin.close()  # a worker ends with its input
        try:
            self._process.wait(5 if kind is None else 0.5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()
