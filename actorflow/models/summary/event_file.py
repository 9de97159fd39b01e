"""`EventFile`: the file itself: its name, whole records or none, rotation, and its folder that may disappear."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from actorflow.base.records.summaries import first_event
from actorflow.base.records.tfrecord import join

_NUMBERS = itertools.count()


class EventFile:
    """A file of events, to which records are appended. Only one thread uses it at a time.

    Its name is that of TensorFlow's files, with the host, the process and a number in it, so that several processes may write in
    one folder. It is open only while it is written. After a failed write it ends after the last whole record, and the next write
    tries again. A file that somebody removes is followed by a new file, in a new folder if need be.
    """

    def __init__(self, folder: Path, suffix: str, max_bytes: int) -> None:
        """Opens nothing yet.

        Args:
            folder: where the files are; it is made when it is not there.
            suffix: what stands at the end of their names.
            max_bytes: a file that is as large is followed by another file.
        """
        self._folder = folder
        self._suffix = suffix
        self._max_bytes = max_bytes
        self._damaged = False
        self.path: Path | None = None
        """The file that is written now or was written last."""

    def append(self, records: Sequence[bytes]) -> int:
        """Writes whole records; gives the bytes that they took. Raises OSError, and then none of them is in the file."""
        data = join(records)
        fd = self._open()
        try:
            start = os.fstat(fd).st_size
            if start >= self._max_bytes:
                os.close(fd)
                fd = -1
                fd = self._new()
                start = os.fstat(fd).st_size
            try:
                _write(fd, data)
            except OSError:
                self._cut(fd, start)
                raise
        finally:
            if fd >= 0:
                os.close(fd)
        return len(data)

    def leave(self) -> None:
        """The next records go to another file."""
        self.path = None

    def _open(self) -> int:
        if self.path is not None and not self._damaged:
            try:
                return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            except FileNotFoundError:
                pass
        return self._new()

    def _new(self) -> int:
        """A new file, with its first event."""
        self._folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        path = self._folder / (
            f"events.out.tfevents.{int(now):010}.{socket.gethostname()}.{os.getpid()}.{next(_NUMBERS):04}{self._suffix}"
        )
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            _write(fd, join([first_event(now)]))
        except OSError:
            os.close(fd)
            path.unlink(missing_ok=True)
            raise
        self.path, self._damaged = path, False
        return fd

    def _cut(self, fd: int, size: int) -> None:
        """Takes back what a failed write has left of its records, so that readers find no damage."""
        try:
            os.ftruncate(fd, size)
        except OSError:
            self._damaged = True  # what follows goes into another file


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
