"""Files, and how a process may touch them: below the roots that it was given, and on threads.

With roots, a path is resolved once and then opened from its root down without following links, so no other process can put a
link into the way meanwhile. Without, all files are open.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from actorflow.base.process import machine
from actorflow.base.records.roots import FileRoots, check, root_of
from actorflow.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)

R = TypeVar("R")

KINDS: Mapping[int, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.ELOOP: PermissionDeniedError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.EEXIST: FailedPreconditionError,
    errno.ENAMETOOLONG: InvalidArgumentError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
    errno.ENFILE: ResourceExhaustedError,
}
"""The errors here that stand for those of the operating system; others are unknown."""


_MOST_AT_ONCE = 16 << 20
"""Bytes that are read at once: memory is taken for those that are there, whatever a file says of itself."""


@contextmanager
def os_errors(path: str, doing: str, kinds: Mapping[int, type[OpError]] = KINDS) -> Iterator[None]:
    """Gives an error of the operating system its name here."""
    try:
        yield
    except OSError as error:
        kind = kinds.get(error.errno or 0, UnknownError)
        raise kind(f"{doing} {path!r} failed: {error.strerror or error}.") from error


@contextmanager
def opened(path: str, roots: FileRoots, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor of the file, which is a regular file.

    Raises:
        NotFoundError: there is none.
        PermissionDeniedError: it is outside of the roots, or the system says so.
        FailedPreconditionError: it is a directory.
        InvalidArgumentError: it is no regular file, or the path holds a NUL.
    """
    if "\0" in path:
        raise InvalidArgumentError(f"The path {path!r} holds a NUL.")
    with os_errors(path, "Opening the file"):
        fd = _open(path, roots, flags | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not hold up its opener
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            raise FailedPreconditionError(f"{path!r} is a directory.")
        if not stat.S_ISREG(mode):
            raise InvalidArgumentError(f"{path!r} is no regular file.")
        with os_errors(path, "Access to the file"):
            yield fd
    finally:
        os.close(fd)


def _open(path: str, roots: FileRoots, flags: int) -> int:
    if roots is None:
        return os.open(path, flags, 0o666)
    real = check(path, roots)
    root = root_of(real, roots)
    assert root is not None
    parts = [part for part in os.path.relpath(real, root).split(os.sep) if part != "."]
    if not parts:
        return os.open(root, flags)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            if flags & os.O_CREAT:
                try:
                    os.mkdir(part, dir_fd=folder)
                except FileExistsError:
                    pass
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(parts[-1], flags | os.O_NOFOLLOW, 0o666, dir_fd=folder)
    finally:
        os.close(folder)


def read_all(path: str, roots: FileRoots) -> bytes:
    """The whole file."""
    with opened(path, roots) as fd:
        return read_fully(fd, os.fstat(fd).st_size + 1, to_end=True)


def read_fully(fd: int, count: int, *, to_end: bool = False) -> bytes:
    """`count` bytes, or fewer at the end of the file; with `to_end` all that come, `count` being a guess."""
    parts: list[bytes] = []
    while count > 0 or to_end:
        part = os.read(fd, min(max(count, 4096), _MOST_AT_ONCE) if to_end else min(count, _MOST_AT_ONCE))
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def on_thread(function: Callable[..., R], *arguments: Any) -> R:
    """`function` of the arguments on a thread; when the caller is cancelled it is left behind, and its result dropped."""
    return await machine.on_thread(function, *arguments, abandon_on_cancel=True)


def matching(patterns: Sequence[str], roots: FileRoots) -> list[bytes]:
    """The files like any of the patterns, sorted. Raises PermissionDeniedError where one leads outside of the roots."""
    paths: list[bytes] = []
    for pattern in patterns:
        if roots is not None:
            fixed = next((i for i, c in enumerate(pattern) if c in "*?["), len(pattern))
            check(os.path.dirname(pattern[:fixed]) if fixed < len(pattern) else pattern, roots)
        # as in TensorFlow, where a pattern without a folder is looked for in "."
        here = "" if os.path.dirname(pattern) or not glob.has_magic(pattern) else "./"
        for path in glob.glob(here + pattern, include_hidden=True):
            if roots is None or root_of(os.path.realpath(path), roots) is not None:
                paths.append(os.fsencode(path))
    return sorted(paths)
