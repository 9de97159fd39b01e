"""`EventFile`: the file itself: its name, whole records or none, rotation, and its folder that may disappear."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from actorflow.records.summaries import first_event
from actorflow.records.tfrecord import join

_NUMBERS = itertools.count()


class EventFile:
    """A file of events, to which records are appended. Only one thread uses it.

    Its name is that of TensorFlow's files, with the host, the process and a number in it, so that several processes may write in
    one folder. After a failed write the file ends after the last whole record, and the next write tries again. A file that
    somebody removes is followed by a new one, in a new folder if need be.
    """

    def __init__(self, folder: Path, suffix: str, max_bytes: int) -> None:
        """Opens nothing yet.

        Args:
            folder: where the files are; it is made when it is not there.
            suffix: what stands at the end of their names.
            max_bytes: a file that is as large is followed by another one.
        """
        self._folder = folder
        self._suffix = suffix
        self._max_bytes = max_bytes
        self._fd = -1
        self._end = 0
        self.path: Path | None = None
        """The file that is written now or was written last."""

    def append(self, records: Sequence[bytes]) -> int:
        """Writes whole records; gives the bytes that they took. Raises OSError, and then none of them is in the file."""
        self._open()
        start, data = self._end, join(records)
        try:
            self._write(data)
        except OSError:
            self._cut(start)
            raise
        return len(data)

    def close(self) -> None:
        """Closes the file. A later `append` opens another one."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def forget(self) -> None:
        """In a child process: leaves the file to the parent."""
        self.close()
        self.path = None

    def _open(self) -> None:
        if self._fd >= 0 and (self._end >= self._max_bytes or os.fstat(self._fd).st_nlink == 0):
            self.close()
        if self._fd >= 0:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        path = self._folder / (
            f"events.out.tfevents.{int(now):010}.{socket.gethostname()}.{os.getpid()}.{next(_NUMBERS):04}{self._suffix}"
        )
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.path, self._end = path, 0
        try:
            self._write(join([first_event(now)]))
        except OSError:
            self.close()
            path.unlink(missing_ok=True)
            raise

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        self._end += len(data)

    def _cut(self, size: int) -> None:
        """Takes back what a failed write has left of its records, so that readers find no damage."""
        try:
            os.ftruncate(self._fd, size)
        except OSError:
            self.close()  # the file keeps a damaged end; what follows goes into another one
