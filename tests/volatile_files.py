"""A file system in memory that forgets what was not flushed when it crashes, and fails at an operation of one's choice."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import Any


class Crash(Exception):
    """The machine has stopped."""


@dataclass
class _File:
    content: bytearray = field(default_factory=bytearray)
    flushed: bytes = b""


class VolatileFiles:
    """`actorflow.checkpoint.files.Files`. Operation number `fail_at` (from 1) does nothing, or half of a write, and raises:
    a `Crash`, as do all later ones, or with `error` this OSError, once."""

    def __init__(self, fail_at: int = 0, error: int | None = None) -> None:
        self.fail_at, self.error = fail_at, error
        self.operations: list[str] = []
        self.crashed = False
        self._names: dict[str, _File] = {}
        self._flushed_names: dict[str, _File] = {}
        self._changes: list[tuple[str, _File | None]] = []
        self._open: dict[int, _File] = {}

    def rebooted(self, names: str, contents: str) -> VolatileFiles:
        """What is there after a crash. Of the names that were not flushed, `names` keeps "all", "none" or the "last" one;
        of a file whose content was not flushed, `contents` keeps "all", "half" or "none"."""
        after = VolatileFiles()
        kept = {"all": self._changes, "none": [], "last": self._changes[-1:]}[names]
        found = dict(self._flushed_names)
        for path, file in kept:
            if file is None:
                found.pop(path, None)
            else:
                found[path] = file
        for path, file in found.items():
            content = bytes(file.content)
            if content != file.flushed and contents != "all":
                content = content[: len(content) // 2] if contents == "half" else file.flushed
            after._names[path] = after._flushed_names[path] = _File(bytearray(content), content)
        return after

    def _operation(self, what: str) -> None:
        if self.crashed:
            raise Crash(what)
        self.operations.append(what)
        if len(self.operations) == self.fail_at:
            if self.error is not None:
                raise OSError(self.error, os.strerror(self.error))
            self.crashed = True
            raise Crash(what)

    def _name(self, path: str, file: _File | None) -> None:
        if file is None:
            del self._names[path]
        else:
            self._names[path] = file
        self._changes.append((path, file))

    def _found(self, path: str) -> _File:
        if path not in self._names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._names[path]

    def _descriptor(self, file: _File) -> int:
        fd = 1000 + len(self.operations)
        self._open[fd] = file
        return fd

    def make_folder(self, path: str) -> None:
        self._operation("make_folder")

    def create(self, path: str) -> int:
        self._operation("create")
        assert path not in self._names
        self._name(path, _File())
        return self._descriptor(self._names[path])

    def write(self, fd: int, data: Any) -> int:
        try:
            self._operation("write")
        except (Crash, OSError):
            self._open[fd].content += bytes(data)[: len(data) // 2]
            raise
        self._open[fd].content += bytes(data)
        return len(data)

    def sync(self, fd: int) -> None:
        self._operation("sync")
        self._open[fd].flushed = bytes(self._open[fd].content)

    def close(self, fd: int) -> None:
        self._operation("close")
        del self._open[fd]

    def rename(self, old: str, new: str) -> None:
        self._operation("rename")
        file = self._found(old)
        self._name(old, None)
        self._name(new, file)

    def sync_folder(self, path: str) -> None:
        self._operation("sync_folder")
        self._flushed_names = dict(self._names)
        self._changes = []

    def remove(self, path: str) -> None:
        self._operation("remove")
        self._found(path)
        self._name(path, None)

    def list(self, folder: str) -> list[str]:
        self._operation("list")
        return [os.path.basename(path) for path in self._names if os.path.dirname(path) == folder]

    def open(self, path: str) -> int:
        self._operation("open")
        return self._descriptor(self._found(path))

    def size(self, fd: int) -> int:
        self._operation("size")
        return len(self._open[fd].content)

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        self._operation("read_into")
        part = self._open[fd].content[offset : offset + buffer.nbytes]
        buffer[: len(part)] = part
        return len(part)
