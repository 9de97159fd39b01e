"""Processes that keep processors busy beside what is measured, as other programs on the machine do."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from types import TracebackType

# Ends by itself where the parent has gone without ending it.
_CODE = """
import os
while os.getppid() == {parent}:
    for _ in range(1_000_000):
        pass
"""


class Busy:
    """A context manager: the processes run as long as the block.

    Args:
        processes: how many there are.
        own_sessions: each process has a session of its own, as the programs of other users do. Linux then divides the processors
            among sessions, and all threads of one share what a single thread would get.
    """

    def __init__(self, processes: int = 1, *, own_sessions: bool = False) -> None:
        command = [sys.executable, "-S", "-c", _CODE.format(parent=os.getpid())]
        self._processes = [subprocess.Popen(command, start_new_session=own_sessions) for _ in range(processes)]
        self.pids = tuple(process.pid for process in self._processes)

    def __enter__(self) -> Busy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.kill()
        for process in self._processes:
            process.wait()
