"""`SummaryQueue`: events on their way to the file, and the thread that writes them."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from actorflow.base.process import forks
from actorflow.base.reports import logs
from actorflow.models.summary.event_file import EventFile

_LOG = logs.get_logger("summary")
_PAUSE = 0.1
"""Seconds between two writes, so that many small events go in a single write."""
_RETRY = 1.0
"""Seconds after a failed write until the next write."""


@dataclass(frozen=True, slots=True)
class WriterStatistics:
    """A writer's life so far.

    written: events that are in files. bytes: their size there.
    pending: events that wait to be written.
    lost: events that were given up because writing failed for too long.
    failures: writes that failed.
    path: the file that is written now, or None.
    """

    written: int
    bytes: int
    pending: int
    lost: int
    failures: int
    path: str | None


class SummaryQueue:
    """Takes serialised events from any thread, and never waits for the disk.

    Args:
        file: the file that they go to.
        max_queue: as many events that wait are written at once.
        flush_secs: seconds after which an event is written at the latest.
        max_pending: bytes that may wait while writing fails; beyond them the oldest events are given up, and counted.
    """

    def __init__(self, file: EventFile, max_queue: int, flush_secs: float, max_pending: int) -> None:
        self._file = file
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._max_pending = max_pending
        self._written = self._bytes = self._lost = self._failures = 0
        self._failing = False
        self._reset()
        forks.register(self)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._pending: deque[bytes] = deque()
        self._size = 0
        self._urgent = self._closing = False
        self._thread: threading.Thread | None = None

    def put(self, event: bytes) -> None:
        """Adds an event."""
        with self._changed:
            self._pending.append(event)
            self._size += len(event)
            while self._size > self._max_pending and len(self._pending) > 1:
                self._size -= len(self._pending.popleft())
                self._lost += 1
            if self._thread is None:
                self._closing = False
                self._thread = threading.Thread(target=self._run, name="actorflow summaries", daemon=True)
                self._thread.start()
            elif len(self._pending) == self._max_queue:
                self._changed.notify_all()

    def flush(self) -> None:
        """Writes what there is, in this thread. If that fails it stays, and the failure is logged once."""
        with self._writing:
            with self._changed:
                batch, lost = list(self._pending), self._lost
            if batch:
                self._write(batch, lost)
                with self._changed:
                    self._changed.notify_all()

    def close(self) -> None:
        """Writes what there is, and ends the thread. Events that can't be written are lost, and the log says so."""
        with self._changed:
            self._closing, thread = True, self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join()
        self.flush()
        with self._changed:
            left = len(self._pending)
            self._lost += left
            self._pending.clear()
            self._size = 0
        file = self._file.path
        self._file.leave()
        if left:
            _LOG.warning("summaries were lost", events=left, file=str(file))

    def statistics(self) -> WriterStatistics:
        """Counts of what was written, waits and was lost."""
        with self._changed:
            path = None if self._file.path is None else str(self._file.path)
            return WriterStatistics(self._written, self._bytes, len(self._pending), self._lost, self._failures, path)

    def _run(self) -> None:
        """Writes what comes, and ends when nothing has come for a while."""
        while True:
            with self._changed:
                wait = min(_RETRY, self._flush_secs) if self._failing else self._flush_secs
                self._changed.wait_for(
                    lambda: (
                        self._closing
                        or not self._pending
                        or (len(self._pending) >= self._max_queue and not self._failing)
                    ),
                    wait,
                )
            if not self._closing:
                self.flush()
            with self._changed:
                self._changed.wait_for(lambda: self._closing, _PAUSE)
                if self._closing or not self._pending:  # close writes the rest
                    self._thread = None
                    return

    def _write(self, batch: list[bytes], lost: int) -> None:
        """Writes a batch; `lost` counts what had been given up when it was taken."""
        try:
            size = self._file.append(batch)
        except OSError as error:
            self._failures += 1
            if not self._failing:
                self._failing = True
                _LOG.warning(
                    "summaries can't be written, and wait in memory",
                    error=str(error),
                    waiting=len(batch),
                    bound_bytes=self._max_pending,
                )
            return
        with self._changed:
            # The events that were given up since then were at the front, and are in the file all the same.
            spared = min(self._lost - lost, len(batch))
            self._lost -= spared
            for _ in range(len(batch) - spared):
                self._size -= len(self._pending.popleft())
            self._written += len(batch)
            self._bytes += size
        if self._failing:
            self._failing = False
            _LOG.warning("summaries are written again", lost=self._lost, file=str(self._file.path))

    def forked(self) -> None:
        """In a child process: what waits is the parent's to write, and so is the file."""
        self._file.leave()
        self._reset()
