"""Kernels that touch files, and how they may: below the roots that the process was given, and on threads.

The resource manager's `file_roots` holds the roots; None leaves all files open. With roots, a path is resolved once and
then opened from its root down without following links, so no one can put one into the way meanwhile.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from actorflow import machine
from actorflow.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)
from actorflow.records.roots import FileRoots, check, root_of
from actorflow.registry.kernel import kernel
from actorflow.runtime.context import KernelContext, StepHandle

R = TypeVar("R")

_KINDS: dict[int, type[OpError]] = {
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


@contextmanager
def _os_errors(path: str, doing: str) -> Iterator[None]:
    """Gives an error of the operating system its name here."""
    try:
        yield
    except OSError as error:
        kind = _KINDS.get(error.errno or 0, UnknownError)
        raise kind(f"{doing} {path!r} failed: {error.strerror or error}.") from error


def roots_of(ctx: KernelContext) -> FileRoots:
    """The folders in which this process may touch files."""
    return ctx.resources.file_roots


def text(value: Any) -> str:
    """The one path in a tensor."""
    return os.fsdecode(np.asarray(value, object).item())


@contextmanager
def opened(path: str, roots: FileRoots, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor of the file, which is a regular one.

    Raises:
        NotFoundError: there is none.
        PermissionDeniedError: it is outside of the roots, or the system says so.
        FailedPreconditionError: it is a directory.
        InvalidArgumentError: it is no regular file, or the path holds a NUL.
    """
    if "\0" in path:
        raise InvalidArgumentError(f"The path {path!r} holds a NUL.")
    with _os_errors(path, "Opening the file"):
        fd = _open(path, roots, flags | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not hold up its opener
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            raise FailedPreconditionError(f"{path!r} is a directory.")
        if not stat.S_ISREG(mode):
            raise InvalidArgumentError(f"{path!r} is no regular file.")
        with _os_errors(path, "Access to the file"):
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
        part = os.read(fd, max(count, 4096) if to_end else count)
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def on_thread(function: Callable[..., R], *arguments: Any) -> R:
    """`function` of the arguments on a thread; when the step is stopped it is left behind, and its result dropped."""
    return await machine.on_thread(function, *arguments, abandon_on_cancel=True)


@kernel("ReadFile")
async def read_file(xp: Any, filename: Any, *, ctx: KernelContext, step: StepHandle) -> bytes:
    path = text(filename)
    with step.waits_for(f"reads the file {path!r}"):
        return await on_thread(read_all, path, roots_of(ctx))


@kernel("WriteFile")
async def write_file(xp: Any, filename: Any, contents: Any, *, ctx: KernelContext, step: StepHandle) -> None:
    # Waits for its end even if the step is stopped: a file half written is worse.
    content = np.asarray(contents, object).item()
    path = text(filename)
    with step.waits_for(f"writes the file {path!r}"):
        await machine.on_thread(_write, path, content, roots_of(ctx))


def _write(path: str, contents: bytes, roots: FileRoots) -> None:
    if roots is None and (folder := os.path.dirname(path)):
        with _os_errors(path, "Making the folder of"):
            os.makedirs(folder, exist_ok=True)
    with opened(path, roots, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
        left = memoryview(contents)
        while left:
            left = left[os.write(fd, left) :]


@kernel("MatchingFiles")
async def matching_files(xp: Any, pattern: Any, *, ctx: KernelContext, step: StepHandle) -> Any:
    patterns = [os.fsdecode(p) for p in np.asarray(pattern, object).reshape(-1)]
    with step.waits_for(f"looks for files like {', '.join(map(repr, patterns))}"):
        found = await on_thread(_match, patterns, roots_of(ctx))
    result = np.empty(len(found), object)
    result[:] = found
    return result


def _match(patterns: list[str], roots: FileRoots) -> list[bytes]:
    found: list[bytes] = []
    for pattern in patterns:
        if roots is not None:
            fixed = next((i for i, c in enumerate(pattern) if c in "*?["), len(pattern))
            check(os.path.dirname(pattern[:fixed]) if fixed < len(pattern) else pattern, roots)
        # as in TensorFlow, where a pattern without a folder is looked for in "."
        here = "" if os.path.dirname(pattern) or not glob.has_magic(pattern) else "./"
        for path in glob.glob(here + pattern, include_hidden=True):
            if roots is None or root_of(os.path.realpath(path), roots) is not None:
                found.append(os.fsencode(path))
    return sorted(found)
