"""`tf.gfile`: files by TensorFlow's names, over Python's own; of this machine only.

Paths are text, bytes or path objects. A refusal of the system is an error of `tf.errors`.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

from actorflow import errors
from actorflow.public import public

public("tf:gfile")

Path: TypeAlias = "str | bytes | os.PathLike[Any]"

_CLASSES: dict[type[OSError], type[errors.OpError]] = {
    FileNotFoundError: errors.NotFoundError,
    FileExistsError: errors.AlreadyExistsError,
    PermissionError: errors.PermissionDeniedError,
    NotADirectoryError: errors.FailedPreconditionError,
    IsADirectoryError: errors.FailedPreconditionError,
}


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """The system's errors as those of `tf.errors`."""
    try:
        yield
    except OSError as error:
        kind = next((_CLASSES[c] for c in type(error).__mro__ if c in _CLASSES), errors.UnknownError)
        raise kind(f"{os.fsdecode(path)}; {error.strerror or error}") from error


class GFile:
    """A file, opened at its first use as by `open` (text is UTF-8).

    Raises NotFoundError at the first use of a missing file.
    """

    def __init__(self, name: Path, mode: str = "r") -> None:
        self._name = os.fsdecode(name)
        self._mode = mode
        self._opened: IO[Any] | None = None

    @property
    def name(self) -> str:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """How it is opened."""
        return self._mode

    @property
    def _file(self) -> IO[Any]:
        if self._opened is None:
            with _translated(self._name):
                text = None if "b" in self._mode else "utf-8"
                self._opened = open(self._name, self._mode, encoding=text)  # noqa: SIM115 -- closed by `close`
        return self._opened

    def size(self) -> int:
        """How many bytes the file has."""
        if self._opened is not None and self._opened.writable():
            self._opened.flush()
        return Stat(self._name).length

    def read(self, n: int = -1) -> Any:
        """The next `n` characters or bytes; all that follow unless given."""
        return self._file.read(n)

    def readline(self) -> Any:
        """The next line with its end; empty at the end of the file."""
        return self._file.readline()

    def readlines(self) -> list[Any]:
        """The lines that follow."""
        return self._file.readlines()

    def write(self, file_content: Any) -> None:
        """Appends text, or bytes in a binary mode."""
        self._file.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to an offset: from the start, from here (1), or from the end (2). `position` is an older name of `offset`."""
        place = offset if position is None else position
        if place is None:
            raise TypeError("seek() takes an offset.")
        self._file.seek(place, whence)

    def seekable(self) -> bool:
        """Whether `seek` works, which it does."""
        return True

    def readable(self) -> bool:
        """Whether `read` works."""
        return self._file.readable()

    def writable(self) -> bool:
        """Whether `write` works."""
        return self._file.writable()

    def tell(self) -> int:
        """The offset of what comes next."""
        return self._file.tell()

    def flush(self) -> None:
        """Gives what was written to the system."""
        if self._opened is not None:
            self._opened.flush()

    def close(self) -> None:
        """Closes the file; a later use opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def next(self) -> Any:
        """The next line. Raises StopIteration at the end."""
        return next(self._file)

    __next__ = next

    def __iter__(self) -> Iterator[Any]:
        return self

    def __enter__(self) -> GFile:
        if "r" not in self._mode:
            _ = self._file  # is there, though nothing be written
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


FastGFile = Open = GFile


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """The answer of `Stat` about a file: its size in bytes, when it was changed, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def Stat(filename: Path) -> FileStatistics:
    """The state of a file or folder. Raises NotFoundError for a missing path."""
    with _translated(filename):
        status = os.stat(filename)
    return FileStatistics(status.st_size, status.st_mtime_ns, os.path.isdir(filename))


def Exists(filename: Path) -> bool:
    """Whether there is such a file or folder."""
    return os.path.exists(filename)


def IsDirectory(dirname: Path) -> bool:
    """Whether there is such a folder."""
    return os.path.isdir(dirname)


def MakeDirs(dirname: Path) -> None:
    """Makes a folder and those above it; it may be there already."""
    with _translated(dirname):
        os.makedirs(dirname, exist_ok=True)


def MkDir(dirname: Path) -> None:
    """Makes a folder, which may exist already. Raises NotFoundError if the outer folder is missing."""
    with _translated(dirname):
        if not os.path.isdir(dirname):
            os.mkdir(dirname)


def ListDirectory(dirname: Path) -> list[str]:
    """The names in a folder. Raises NotFoundError for a missing folder."""
    with _translated(dirname):
        return os.listdir(os.fsdecode(dirname))


def Glob(filename: Path | Iterable[Path]) -> list[str]:
    """The paths that match a pattern or one of several, in the order of the patterns."""
    patterns = [filename] if isinstance(filename, (str, bytes, os.PathLike)) else list(filename)
    return [path for pattern in patterns for path in sorted(glob.glob(os.fsdecode(pattern)))]


def Copy(oldpath: Path, newpath: Path, overwrite: bool = False) -> None:
    """Copies a file. Raises AlreadyExistsError if the target exists, unless it is overwritten."""
    _check_target(newpath, overwrite)
    with _translated(oldpath):
        shutil.copyfile(oldpath, newpath)


def Rename(oldname: Path, newname: Path, overwrite: bool = False) -> None:
    """Renames a file or folder. Raises AlreadyExistsError if the target exists, unless it is overwritten."""
    _check_target(newname, overwrite)
    with _translated(oldname):
        os.replace(oldname, newname)


def _check_target(path: Path, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise errors.AlreadyExistsError(f"There is a {os.fsdecode(path)!r} already; overwrite=True replaces it.")


def Remove(filename: Path) -> None:
    """Removes a file. Raises NotFoundError for a missing file."""
    with _translated(filename):
        os.remove(filename)


def DeleteRecursively(dirname: Path) -> None:
    """Removes a folder and all that is in it. Raises NotFoundError for a missing folder."""
    with _translated(dirname):
        shutil.rmtree(dirname)


def Walk(top: Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder under `top`, with its folders and files; a folder before those in it unless told otherwise."""
    return os.walk(os.fsdecode(top), topdown=in_order)
