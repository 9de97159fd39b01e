"""`PostMortem`: the files in which a task leaves what it remembers when a step fails."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.diagnostics.trace import Trace

if TYPE_CHECKING:
    from actorflow.engine.runtime.diagnostics.recorder import RecordedStep

MOST_FILES = 20
_LOG = get_logger("trace")


class PostMortem:
    """Writes timelines to a folder, which never ends a training: a disk that is full is told of in the log, once.

    Files are written behind the event loop, singly and at most one file in `pause` seconds; of a task's files the newest
    `MOST_FILES` stay. The errors of steps are in them, whose texts may carry values.

    Args:
        folder: is made if it does not exist.
        task: such as `/job:worker/task:0`; files begin with its name.
        pause: seconds; a failure that follows another one so soon has no file of its own.
    """

    def __init__(self, folder: str, task: str, pause: float) -> None:
        self.folder = folder
        self.task = task
        self._prefix = task.replace("/job:", "").replace("/task:", "-").replace("/", "-").strip("-") or "session"
        self._pause = pause
        self._last: float | None = None
        self._broken = False
        self._writes = False
        self.skipped = 0
        """Failures that have no file of their own."""

    def write(self, look: Callable[[], Sequence[RecordedStep]], number: int, why: str) -> None:
        """Writes the steps that `look` gives to a file named after the task, the time, the step and what happened to it.
        It does not call `look` for a failure that has no file of its own."""
        now = time.monotonic()
        if self._writes or self._last is not None and now - self._last < self._pause:
            self.skipped += 1
            return
        self._last = now
        steps = look()
        stamp = time.strftime("%Y%m%d-%H%M%S")
        path = os.path.join(self.folder, f"{self._prefix}-{stamp}-step{number}-{why}.pftrace")
        self._writes = True
        try:
            machine.behind(lambda: self._write(steps, path, number, why), at_once=True)
        except RuntimeError as error:  # the system has no thread to give
            self._failed(path, error)

    def _write(self, steps: Sequence[RecordedStep], path: str, number: int, why: str) -> None:
        from actorflow.engine.runtime.diagnostics.recorder import rows, take

        try:
            trace = Trace(detail="plan")
            take(trace, rows(steps), self.task)
            os.makedirs(self.folder, exist_ok=True)
            trace.save(f"{path}.part")
            os.replace(f"{path}.part", path)
            mine = sorted(
                name
                for name in os.listdir(self.folder)
                if name.startswith(f"{self._prefix}-2") and name.endswith(".pftrace")
            )
            for old in mine[:-MOST_FILES]:
                os.unlink(os.path.join(self.folder, old))
        except Exception as error:
            self._failed(path, error)
        else:
            self._broken = False
            _LOG.warning("the last seconds before a failure are written", file=path, step=number, why=why)
            self._writes = False

    def _failed(self, path: str, error: Exception) -> None:
        with suppress(OSError):
            os.unlink(f"{path}.part")
        if not self._broken:
            said = f"{type(error).__name__}: {error}"
            _LOG.warning("the last seconds before a failure can't be written", file=path, error=said)
        self._broken = True
        self._writes = False
