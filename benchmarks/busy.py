"""A process that keeps one processor busy beside what is measured, as another program on the machine does."""

from __future__ import annotations

import os
import subprocess
import sys
from types import TracebackType

# Ends by itself where the parent has gone without ending it.
_CODE = """
import os
while os.getppid() == {parent}:
    for _ in range(1_000_000):
        pass
"""


class Busy:
    """A context manager: the process runs as long as the block."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-S", "-c", _CODE.format(parent=os.getpid())])
        self.pid = self._process.pid

    def __enter__(self) -> Busy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
