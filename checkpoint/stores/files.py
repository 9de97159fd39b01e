"""The requests of a local store to the operating system: few operations, so that a test or a simulation can stand in for it."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from actorflow.base.records.reading.opening import KINDS, os_errors
from actorflow.errors import (
    DataLossError,
    InvalidArgumentError,
    OpError,
    UnknownError,
)

from ..format.layout import Buffer

_KINDS: Mapping[int, type[OpError]] = {
    **KINDS,
    errno.EEXIST: UnknownError,
    errno.EISDIR: InvalidArgumentError,
    errno.ENOTDIR: InvalidArgumentError,
    errno.EIO: DataLossError,
}


def named_errors(doing: str, path: str) -> AbstractContextManager[None]:
    """Gives an error of the operating system its name here."""
    return os_errors(path, doing, _KINDS)


class FileOperations(Protocol):
    """Operations on files by path; each raises OSError as the operating system does."""

    def make_folder(self, path: str) -> None: ...

    def create(self, path: str) -> int:
        """A descriptor of a new file; there may be none of that name."""

    def write(self, fd: int, data: Buffer) -> int: ...

    def sync(self, fd: int) -> None: ...

    def close(self, fd: int) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def sync_folder(self, path: str) -> None: ...

    def remove(self, path: str) -> None: ...

    def list(self, folder: str) -> list[str]: ...

    def open(self, path: str) -> int:
        """A descriptor for reading a regular file that is no link."""

    def size(self, fd: int) -> int: ...

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int: ...


_MUCH = 1 << 20
_SYNC_FILE_RANGE_WRITE = 2
_sync_file_range = getattr(ctypes.CDLL(None), "sync_file_range", None) if os.name == "posix" else None
if _sync_file_range is not None:
    _sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)


def _begin_to_flush(fd: int) -> None:
    """Lets the disk begin with what was written, where the system can do so (Linux): or all of it waits for `sync`. Whether
    that works is of no concern, since `sync` waits for the disk and reports its errors."""
    if _sync_file_range is not None:
        _sync_file_range(fd, 0, 0, _SYNC_FILE_RANGE_WRITE)  # all of the file that the disk has not yet begun with


class SystemFiles:
    """The operating system's own."""

    def make_folder(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def create(self, path: str) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)

    def write(self, fd: int, data: Buffer) -> int:
        count = os.write(fd, data)
        if count >= _MUCH:
            _begin_to_flush(fd)
        return count

    def sync(self, fd: int) -> None:
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def sync_folder(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def list(self, folder: str) -> list[str]:
        return os.listdir(folder)

    def open(self, path: str) -> int:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)  # a pipe must not hold us up
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EISDIR, "it is no regular file")
        return fd

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        return os.preadv(fd, [buffer], offset)
