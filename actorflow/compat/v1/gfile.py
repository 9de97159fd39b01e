"""`tf.gfile`: files by TensorFlow's names, over Python's own; of this machine only."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from typing import IO, Any

from actorflow import errors
from actorflow.public import public

public("tf:gfile")


def _missing(path: str) -> errors.NotFoundError:
    return errors.NotFoundError(f"There is no {path!r}.")


def GFile(name: str, mode: str = "r") -> IO[Any]:
    """A file, opened as by `open` (text is UTF-8). Raises NotFoundError where it can't be found."""
    try:
        return open(name, mode, encoding=None if "b" in mode else "utf-8")
    except FileNotFoundError:
        raise _missing(name) from None


FastGFile = Open = GFile


def Exists(filename: str) -> bool:
    """Whether there is such a file or folder."""
    return os.path.exists(filename)


def IsDirectory(dirname: str) -> bool:
    """Whether there is such a folder."""
    return os.path.isdir(dirname)


def MakeDirs(dirname: str) -> None:
    """Makes a folder and those above it; it may be there already."""
    os.makedirs(dirname, exist_ok=True)


def MkDir(dirname: str) -> None:
    """Makes a folder in one that is there. Raises NotFoundError where that is not."""
    try:
        os.mkdir(dirname)
    except FileNotFoundError:
        raise _missing(os.path.dirname(dirname)) from None


def ListDirectory(dirname: str) -> list[str]:
    """The names in a folder. Raises NotFoundError where there is none."""
    try:
        return os.listdir(dirname)
    except FileNotFoundError:
        raise _missing(dirname) from None


def Glob(filename: str) -> list[str]:
    """The paths that match a pattern, in order."""
    return sorted(glob.glob(filename))


def Copy(oldpath: str, newpath: str, overwrite: bool = False) -> None:
    """Copies a file. Raises AlreadyExistsError where there is one, unless it is overwritten."""
    _check_target(newpath, overwrite)
    try:
        shutil.copyfile(oldpath, newpath)
    except FileNotFoundError:
        raise _missing(oldpath) from None


def Rename(oldname: str, newname: str, overwrite: bool = False) -> None:
    """Renames a file or folder. Raises AlreadyExistsError where there is one, unless it is overwritten."""
    _check_target(newname, overwrite)
    try:
        os.replace(oldname, newname)
    except FileNotFoundError:
        raise _missing(oldname) from None


def _check_target(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise errors.AlreadyExistsError(f"There is a {path!r} already; overwrite=True replaces it.")


def Remove(filename: str) -> None:
    """Removes a file. Raises NotFoundError where there is none."""
    try:
        os.remove(filename)
    except FileNotFoundError:
        raise _missing(filename) from None


def DeleteRecursively(dirname: str) -> None:
    """Removes a folder and all that is in it. Raises NotFoundError where there is none."""
    try:
        shutil.rmtree(dirname)
    except FileNotFoundError:
        raise _missing(dirname) from None


def Walk(top: str, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder under `top`, with its folders and files; a folder before those in it unless told otherwise."""
    return os.walk(top, topdown=in_order)
