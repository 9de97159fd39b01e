"""The place of checkpoints: a flat folder of named files, each of which is there in full or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

from actorflow.base.process import machine
from actorflow.errors import InvalidArgumentError, OpError

from ..format.layout import Buffer
from .files import FileOperations, SystemFiles, named_errors


class StoredFile(Protocol):
    """An open file."""

    size: int

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fills `buffer` from `offset` on; returns how much there was."""


class FileStore(Protocol):
    """A folder. `where(name)` is how its files are called in messages. Raises `OpError`s by the kind of failure."""

    def where(self, name: str) -> str: ...

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        """Makes the file. When this returns it survives a crash; until then readers see the file that was there before,
        or none."""

    def open(self, name: str) -> AbstractContextManager[StoredFile]:
        """Opens a file for reading. Raises NotFoundError if the file does not exist."""

    def list(self) -> list[str]:
        """The names of all files; none if the folder does not exist."""

    def remove(self, name: str, *, flush: bool = False) -> None:
        """Removes a file, if the file exists. With `flush`, it stays removed after a crash."""


class LocalStore:
    """A folder of the file system.

    A file is written under a temporary name, flushed to the disk, renamed, and the folder flushed."""

    def __init__(self, folder: str, files: FileOperations | None = None) -> None:
        self.folder = folder or "."
        self._files: FileOperations = files or machine.current().files or SystemFiles()

    def where(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        files, path = self._files, self.where(name)
        temporary = self.where(f".{name}.{fresh_name()}.tmp")
        with named_errors("Writing", path):
            files.make_folder(self.folder)
            fd = files.create(temporary)
            try:
                try:
                    for part in parts:
                        left = memoryview(part)
                        while left:
                            left = left[files.write(fd, left) :]
                    files.sync(fd)
                finally:
                    files.close(fd)
                files.rename(temporary, path)
            except BaseException:
                try:
                    files.remove(temporary)
                except OSError:
                    pass  # the error that led here says more
                raise
            files.sync_folder(self.folder)

    @contextmanager
    def open(self, name: str) -> Iterator[StoredFile]:
        path = self.where(name)
        with named_errors("Opening", path):
            fd = self._files.open(path)
        try:
            yield _LocalSource(path, fd, self._files)
        finally:
            with suppress(OSError):  # what was read is good
                self._files.close(fd)

    def list(self) -> list[str]:
        try:
            return self._files.list(self.folder)
        except FileNotFoundError:
            return []
        except OSError:
            with named_errors("Listing", self.folder):
                raise

    def remove(self, name: str, *, flush: bool = False) -> None:
        path = self.where(name)
        with named_errors("Removing", path):
            try:
                self._files.remove(path)
            except FileNotFoundError:
                return
            if flush:
                self._files.sync_folder(self.folder)


class _LocalSource:
    def __init__(self, path: str, fd: int, files: FileOperations) -> None:
        self._path, self._fd, self._files = path, fd, files
        with named_errors("Reading", path):
            self.size = files.size(fd)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        done = 0
        with named_errors("Reading", self._path):
            while done < buffer.nbytes:
                count = self._files.read_into(self._fd, buffer[done:], offset + done)
                if not count:
                    break
                done += count
        return done


def fresh_name() -> str:
    """A part of a file's name that no other file has."""
    return machine.fresh_hex(6)


_MAKERS: dict[str, Callable[[str], FileStore]] = {}


def register_store(scheme: str, make: Callable[[str], FileStore]) -> None:
    """Lets paths that begin with `scheme://` be kept in `make(folder)`; others with a scheme go to `fsspec`."""
    _MAKERS[scheme] = make


def locate(prefix: str) -> tuple[FileStore, str]:
    """The store and the name in it of the checkpoint `prefix`, a path or a URL. The name is empty where that ends in `/`: the
    folder's files then begin as their endings do.

    Raises:
        InvalidArgumentError: the name can't be a file's name, or name and folder are both missing.
    """
    folder, _, name = prefix.rpartition("/")
    if not prefix.strip("/") or name in (".", "..") or "\0" in prefix or "\n" in prefix:
        raise InvalidArgumentError(f"{prefix!r} does not end in a name for a checkpoint.")
    return open_store(folder or ("/" if prefix.startswith("/") else ".")), name


def open_store(folder: str) -> FileStore:
    """The store of a folder, a path or a URL."""
    scheme, separator, _ = folder.partition("://")
    if not separator:
        return LocalStore(folder)
    make = _MAKERS.get(scheme)
    if make is not None:
        return make(folder)
    from .remote import RemoteStore

    return RemoteStore(folder)


def read_all(store: FileStore, name: str, limit: int) -> bytes:
    """A small file. Raises InvalidArgumentError for a file larger than `limit`, NotFoundError if it does not exist."""
    with store.open(name) as source:
        if source.size > limit:
            raise InvalidArgumentError(f"{store.where(name)!r} has {source.size} bytes; at most {limit} are read.")
        buffer = bytearray(source.size)
        return bytes(buffer[: source.read_into(memoryview(buffer), 0)])


def remove_quietly(store: FileStore, names: Iterable[str]) -> list[OpError]:
    """Removes files, and gives the errors of those that can't be."""
    errors: list[OpError] = []
    for name in names:
        try:
            store.remove(name)
        except OpError as error:
            errors.append(error)
    return errors
