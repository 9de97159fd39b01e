"""A server's processes: started on one core, watched, and ended. All of them have a mark in their environment."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compare.server import NotThereError

_MARK = "COMPARE_MARK"
ONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ACTORFLOW_THREADS": "1"}
_GRACE = 10.0
_SERVERS, _CLIENTS = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
"""The core of the servers and the core of the clients, which are the same core if the process may use a single core."""


class Processes:
    """The processes of a server, its children too, wherever they were moved to.

    Args:
        command: what starts it.
        folder: its working folder, with the file of its output.
        environment: variables beside those of this process.
    """

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._mark = f"{_MARK}={secrets.token_hex(8)}"
        self._log = folder / "output.log"
        name, _, value = self._mark.partition("=")
        with self._log.open("ab") as log:
            self._first = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: os.sched_setaffinity(0, {_SERVERS}),
                env={**os.environ, **ONE, **environment, name: value},
            )
        self._known: set[tuple[int, str]] = set()
        self.first = self._first.pid

    def output(self) -> str:
        """The end of what it wrote."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-1500:]

    def pids(self) -> list[int]:
        """The processes that live now. Some hide their environment by a new title, so children of a known process count too."""
        there = {int(entry): _status(int(entry)) for entry in os.listdir("/proc") if entry.isdecimal()}
        living = {pid: status for pid, status in there.items() if status is not None}
        mark = self._mark.encode()
        for pid, status in living.items():
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes():
                    self._known.add((pid, status.begun))
        size = -1
        while len(self._known) != size:
            size = len(self._known)
            known = {pid for pid, begun in self._known if pid in living and living[pid].begun == begun}
            self._known |= {(pid, status.begun) for pid, status in living.items() if status.parent in known}
        return [pid for pid, status in living.items() if (pid, status.begun) in self._known]

    def memory(self) -> float:
        """The proportional memory of all of them, in MB."""
        total = 0
        for pid in self.pids():
            with contextlib.suppress(OSError, StopIteration):
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                total += int(next(line for line in lines if line.startswith("Pss:")).split()[1])
        return total / 1024

    def seconds(self) -> float:
        """The processor time of all threads that live now."""
        total = 0
        for pid in self.pids():
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with contextlib.suppress(OSError):
                        total += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
        return total / 1e9

    def until(self, answers: Callable[[], bool], seconds: float) -> float:
        """Waits until it answers; returns the seconds.

        Raises:
            NotThereError: if it ends or does not answer in time; with the end of its output.
        """
        begun = time.monotonic()
        while not answers():
            took = time.monotonic() - begun
            if self._first.poll() is not None or took > seconds:
                ended = self._first.returncode
                what = f"does not answer after {took:.0f} s" if ended is None else f"has ended with status {ended}"
                raise NotThereError(f"It {what}: {self.output()}")
            time.sleep(0.01)
        return time.monotonic() - begun

    def end(self) -> None:
        """Asks it to end, and kills what is left of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._first.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._first.wait(_GRACE)
        for way in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, way)
            until = time.monotonic() + 3.0
            while self.pids() and time.monotonic() < until:
                self._first.poll()
                time.sleep(0.05)
        self._first.wait()


@dataclass(frozen=True, slots=True)
class _Status:
    parent: int
    begun: str


def _status(pid: int) -> _Status | None:
    """The parent of a process and when it began; None for a process that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else _Status(int(fields[1]), fields[19])


@contextlib.contextmanager
def clients_core() -> Iterator[None]:
    """While it lasts, this process, the clients', has the last core; servers that are started have the first one."""
    there = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {_CLIENTS})
    try:
        yield
    finally:
        os.sched_setaffinity(0, there)
