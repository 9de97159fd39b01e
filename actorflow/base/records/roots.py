"""Which files a graph's nodes may touch: all, or those below some roots."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

from actorflow.errors import PermissionDeniedError

# Directories, and beginnings of paths, which end with `*`; None stands for no confinement, an empty sequence for no file at all.
FileRoots: TypeAlias = "Sequence[str | os.PathLike[str]] | None"


def check(path: str | bytes, roots: FileRoots) -> str:
    """The real path of `path`, with links and `..` resolved, if it is among `roots` or below a root.

    A path need not exist. Without roots, `path` itself.

    Raises:
        PermissionDeniedError: the path leads outside of all roots.
    """
    text = os.fsdecode(path)
    if roots is None:
        return text
    real = os.path.realpath(text)
    if root_of(real, roots) is None:
        names = ", ".join([os.fspath(root) for root in roots]) or "none"
        raise PermissionDeniedError(
            f"The file {text!r} is outside of the roots that nodes may touch, which are: {names}.",
            hint="Move the file below a root, or start the task with another one: `actorflow worker --files FOLDER`, "
            "`Server(file_roots=[FOLDER])`, `Session(limits=af.SessionLimits(file_roots=[FOLDER]))`.",
        )
    return real


def root_of(real: str, roots: Sequence[str | os.PathLike[str]]) -> str | None:
    """The real path of the root that `real` is in."""
    for root in [os.fspath(root) for root in roots]:
        if root.endswith("*"):
            beginning = os.path.realpath(root[:-1])
            if real.startswith(beginning):
                return os.path.dirname(beginning)
            continue
        real_root = os.path.realpath(root)
        if real == real_root or real.startswith(real_root.rstrip(os.sep) + os.sep):
            return real_root
    return None
