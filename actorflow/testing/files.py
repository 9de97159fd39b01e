"""`SimulatedFiles`: a file system in memory that forgets what was not flushed when its machine stops, and fails on demand.

It has the operations of `actorflow.checkpoint.stores.files.FileOperations`. Faults come from the seed (`FileFaults`), or at an
operation of one's choice (`fail_at`).
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SECTOR = 512


class Crash(Exception):
    """The machine has stopped."""


@dataclass(frozen=True, slots=True)
class FileFaults:
    """How often operations go wrong, as probabilities.

    Args:
        short_write: a write takes only a part, as the operating system may.
        failed_write: a write takes a part and fails with EIO.
        failed_sync: flushing fails with EIO, and what was to be flushed is lost.
        bit_flip: a read gives one bit that was never written, and so do all further reads.
        capacity: the bytes that the disk has; beyond them writes take a part and fail with ENOSPC.
    """

    short_write: float = 0.0
    failed_write: float = 0.0
    failed_sync: float = 0.0
    bit_flip: float = 0.0
    capacity: int | None = None


@dataclass
class _File:
    content: bytearray = field(default_factory=bytearray)
    flushed: bytes = b""


Change = tuple[tuple[str, "_File | None"], ...]


"""The effect of one operation on names, all of it or nothing."""


class SimulatedFiles:
    """Files of one machine. The operations raise OSError as the operating system does, and Crash when the machine stands.

    Args:
        fail_at: operation number `fail_at` (from 1) does nothing, or half of a write, and raises: a `Crash`, as do all
            later operations, or with `error` this OSError, once.
        error: an `errno`.
        faults: what goes wrong by chance.
        chance: draws it.
    """

    def __init__(
        self,
        fail_at: int = 0,
        error: int | None = None,
        *,
        faults: FileFaults | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self.fail_at, self.error = fail_at, error
        self.faults = faults or FileFaults()
        self.operations: list[str] = []
        self.crashed = False
        self.on_crash: Callable[[], object] | None = None
        """Told when `fail_at` stops the machine."""
        self.on_fault: Callable[[], object] | None = None
        """Told when chance lets an operation fail."""
        self._chance = chance or random.Random(0)
        self._names: dict[str, _File] = {}
        self._flushed_names: dict[str, _File] = {}
        self._changes: list[Change] = []
        self._open: dict[int, _File] = {}

    # ---- crashes

    def stop(self) -> None:
        """The machine stops: each further operation raises `Crash`, until `reboot`."""
        self.crashed = True

    def stop_after(self, operations: int) -> None:
        """Lets the machine stop in the middle of one of the next operations."""
        self.fail_at, self.error = len(self.operations) + max(operations, 1), None

    def reboot(self, *, lose: bool = True) -> None:
        """The machine is up again. With `lose`, chance decides what is left of what was not flushed: of the names any of
        the changes, of each file any prefix, of whose last part any sectors were never written."""
        chance = self._chance
        names = dict(self._flushed_names)
        for change in self._changes if lose else ():
            if chance.random() < 0.5:
                _apply(names, change)
        self._names = names if lose else self._names
        for file in {id(file): file for file in self._names.values()}.values():
            if lose and bytes(file.content) != file.flushed:
                file.content = bytearray(self._torn(file))
        if lose:
            for file in self._names.values():
                file.flushed = bytes(file.content)
            self._flushed_names, self._changes = dict(self._names), []
        self._open.clear()
        self.crashed, self.fail_at = False, 0

    def _torn(self, file: _File) -> bytes:
        chance, content, kept = self._chance, file.content, len(file.flushed)
        how = chance.randrange(4)
        if how == 0:
            return file.flushed
        if how == 1:
            return bytes(content)
        torn = bytearray(content[: chance.randint(min(kept, len(content)), len(content))])
        if how == 2:
            return bytes(torn)
        for start in range(kept - kept % SECTOR, len(torn), SECTOR):
            if chance.random() < 0.5:
                begin, end = max(start, kept), min(start + SECTOR, len(torn))
                torn[begin:end] = bytes(end - begin)
        return bytes(torn)

    def rebooted(self, names: str, contents: str) -> SimulatedFiles:
        """The files after a crash, for tests that leave nothing to chance. Of the names that were not flushed, `names`
        keeps "all", "none" or the "last" name; of a file whose content was not flushed, `contents` keeps "all", "half"
        or "none"."""
        after = SimulatedFiles()
        changes = [(entry,) for change in self._changes for entry in change]
        kept = {"all": changes, "none": [], "last": changes[-1:]}[names]
        by_path = dict(self._flushed_names)
        for change in kept:
            _apply(by_path, change)
        for path, file in by_path.items():
            content = bytes(file.content)
            if content != file.flushed and contents != "all":
                content = content[: len(content) // 2] if contents == "half" else file.flushed
            after._names[path] = after._flushed_names[path] = _File(bytearray(content), content)
        return after

    def flip(self, path: str, bit: int | None = None) -> int:
        """Turns a bit of a file over, which chance draws unless it is given. The result is its number."""
        file = self._found(path)
        bit = self._chance.randrange(8 * len(file.content)) if bit is None else bit
        file.content[bit // 8] ^= 1 << bit % 8
        return bit

    @property
    def used(self) -> int:
        """The bytes of all files."""
        return sum(len(file.content) for file in {id(file): file for file in self._names.values()}.values())

    # ---- what every operation does

    def _operation(self, what: str) -> None:
        if self.crashed:
            raise Crash(what)
        self.operations.append(what)
        if len(self.operations) == self.fail_at:
            if self.error is not None:
                raise _error(self.error)
            self.crashed = True
            if self.on_crash is not None:
                self.on_crash()
            raise Crash(what)

    def _happens(self, probability: float) -> bool:
        happens = bool(probability) and self._chance.random() < probability
        if happens and self.on_fault is not None:
            self.on_fault()
        return happens

    def _change(self, *change: tuple[str, _File | None]) -> None:
        _apply(self._names, change)
        self._changes.append(change)

    def _found(self, path: str) -> _File:
        if path not in self._names:
            raise _error(errno.ENOENT, path)
        return self._names[path]

    def _descriptor(self, file: _File) -> int:
        fd = 1000 + len(self.operations)
        self._open[fd] = file
        return fd

    def _file(self, fd: int) -> _File:
        if fd not in self._open:
            raise _error(errno.EBADF)
        return self._open[fd]

    # ---- the operations

    def make_folder(self, path: str) -> None:
        self._operation("make_folder")

    def create(self, path: str) -> int:
        self._operation("create")
        if path in self._names:
            raise _error(errno.EEXIST, path)
        self._change((path, _File()))
        return self._descriptor(self._names[path])

    def write(self, fd: int, data: Any) -> int:
        content = bytes(data)
        try:
            self._operation("write")
        except (Crash, OSError):
            if fd in self._open:
                self._open[fd].content += content[: len(content) // 2]
            raise
        file = self._file(fd)
        part = len(content)
        failure = None
        if self.faults.capacity is not None and self.used + part > self.faults.capacity:
            part = max(self.faults.capacity - self.used, 0)
            failure = None if part else _error(errno.ENOSPC)  # what fits is taken; the next write fails
        elif part and self._happens(self.faults.failed_write):
            part, failure = self._chance.randrange(part), _error(errno.EIO)
        elif part > 1 and self._happens(self.faults.short_write):
            part = self._chance.randrange(1, part)
        file.content += content[:part]
        if failure is not None:
            raise failure
        return part

    def sync(self, fd: int) -> None:
        self._operation("sync")
        file = self._file(fd)
        if self._happens(self.faults.failed_sync):
            file.content = bytearray(file.flushed)
            raise _error(errno.EIO)
        file.flushed = bytes(file.content)

    def close(self, fd: int) -> None:
        self._operation("close")
        self._file(fd)
        del self._open[fd]

    def rename(self, old: str, new: str) -> None:
        self._operation("rename")
        self._change((old, None), (new, self._found(old)))

    def sync_folder(self, path: str) -> None:
        self._operation("sync_folder")
        self._flushed_names = dict(self._names)
        self._changes = []

    def remove(self, path: str) -> None:
        self._operation("remove")
        self._found(path)
        self._change((path, None))

    def list(self, folder: str) -> list[str]:
        self._operation("list")
        return [os.path.basename(path) for path in self._names if os.path.dirname(path) == folder]

    def open(self, path: str) -> int:
        self._operation("open")
        return self._descriptor(self._found(path))

    def size(self, fd: int) -> int:
        self._operation("size")
        return len(self._file(fd).content)

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        self._operation("read_into")
        file = self._file(fd)
        if file.content and self._happens(self.faults.bit_flip):
            bit = self._chance.randrange(8 * len(file.content))
            file.content[bit // 8] ^= 1 << bit % 8
        part = file.content[offset : offset + buffer.nbytes]
        buffer[: len(part)] = part
        return len(part)


def _apply(names: dict[str, _File], change: Change) -> None:
    for path, file in change:
        if file is None:
            names.pop(path, None)
        else:
            names[path] = file


def _error(code: int, path: str | None = None) -> OSError:
    return OSError(code, os.strerror(code), path)


# ---- `SharedFiles`: one file system for several machines, as they see it over a network.


class SharedSimulatedFiles(SimulatedFiles):
    """The view that one machine has of the files `names`, which others see too.

    A machine that keeps them never stops: names are there for good at once, as is what was flushed. A machine that stops leaves a
    random part of the files that it was writing.
    """

    def __init__(
        self, names: dict[str, _File], *, faults: FileFaults | None = None, chance: random.Random | None = None
    ) -> None:
        super().__init__(faults=faults, chance=chance)
        self._names = names
        self._writing: list[_File] = []

    def create(self, path: str) -> int:
        fd = super().create(path)
        self._writing.append(self._file(fd))
        return fd

    def close(self, fd: int) -> None:
        file = self._open.get(fd)
        super().close(fd)
        if bytes(file.content) == file.flushed:  # type: ignore[union-attr]
            self._writing = [other for other in self._writing if other is not file]

    def reboot(self, *, lose: bool = True) -> None:
        writing, self._writing = self._writing, []
        for file in writing:
            if lose and bytes(file.content) != file.flushed:
                file.content = bytearray(self._torn(file))
            file.flushed = bytes(file.content)
        self._open.clear()
        self.crashed, self.fail_at = False, 0

    def sync_folder(self, path: str) -> None:
        self._operation("sync_folder")

    def _change(self, *change: tuple[str, _File | None]) -> None:
        changes: Change = change
        _apply(self._names, changes)
