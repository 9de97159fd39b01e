"""`tf.io.gfile`: the functions of `tf.gfile` by their later names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from actorflow.compat.files import gfile
from actorflow.compat.files.gfile import FileStatistics, GFile, Path
from actorflow.public import public

public("tf.io:gfile")

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]


def copy(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Copies a file. Raises AlreadyExistsError if the target exists, unless it is overwritten."""
    gfile.Copy(src, dst, overwrite)


def exists(path: Path) -> bool:
    """Whether there is such a file or folder."""
    return gfile.Exists(path)


def glob(pattern: Path | Iterable[Path]) -> list[str]:
    """The paths that match a pattern or one of several."""
    return gfile.Glob(pattern)


def isdir(path: Path) -> bool:
    """Whether there is such a folder."""
    return gfile.IsDirectory(path)


def listdir(path: Path) -> list[str]:
    """The names in a folder. Raises NotFoundError for a missing folder."""
    return gfile.ListDirectory(path)


def makedirs(path: Path) -> None:
    """Makes a folder and those above it; it may be there already."""
    gfile.MakeDirs(path)


def mkdir(path: Path) -> None:
    """Makes a folder, which may exist already. Raises NotFoundError if the outer folder is missing."""
    gfile.MkDir(path)


def remove(path: Path) -> None:
    """Removes a file. Raises NotFoundError for a missing file."""
    gfile.Remove(path)


def rename(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Renames a file or folder. Raises AlreadyExistsError if the target exists, unless it is overwritten."""
    gfile.Rename(src, dst, overwrite)


def rmtree(path: Path) -> None:
    """Removes a folder and all that is in it. Raises NotFoundError for a missing folder."""
    gfile.DeleteRecursively(path)


def stat(path: Path) -> FileStatistics:
    """The state of a file or folder. Raises NotFoundError for a missing path."""
    return gfile.Stat(path)


def walk(
    top: Path, topdown: bool = True, onerror: Callable[[OSError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder under `top`, with its folders and files; `onerror` is called with what the system refuses."""
    return os.walk(os.fsdecode(top), topdown, onerror)
