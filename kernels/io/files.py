"""Kernels that touch files. The resource manager's `file_roots` holds the roots below which they may."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from actorflow.base.process import machine
from actorflow.base.records.reading.opening import matching, on_thread, opened, os_errors, read_all
from actorflow.base.records.roots import FileRoots
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.diagnostics.waits import at_work


def roots_of(ctx: KernelContext) -> FileRoots:
    """The folders in which this process may touch files."""
    return ctx.resources.file_roots


def text(value: Any) -> str:
    """The one path in a tensor."""
    return os.fsdecode(np.asarray(value, object).item())


@kernel("ReadFile")
async def read_file(xp: Any, filename: Any, *, ctx: KernelContext, step: StepHandle) -> bytes:
    path = text(filename)
    with step.waits_for(at_work(f"reads the file {path!r}")):
        return await on_thread(read_all, path, roots_of(ctx))


@kernel("WriteFile")
async def write_file(xp: Any, filename: Any, contents: Any, *, ctx: KernelContext, step: StepHandle) -> None:
    # Waits for its end even if the step is stopped: a file half written is worse.
    content = np.asarray(contents, object).item()
    path = text(filename)
    with step.waits_for(at_work(f"writes the file {path!r}")):
        await machine.on_thread(_write, path, content, roots_of(ctx))


def _write(path: str, contents: bytes, roots: FileRoots) -> None:
    if roots is None and (folder := os.path.dirname(path)):
        with os_errors(path, "Making the folder of"):
            os.makedirs(folder, exist_ok=True)
    with opened(path, roots, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
        left = memoryview(contents)
        while left:
            left = left[os.write(fd, left) :]


@kernel("MatchingFiles")
async def matching_files(xp: Any, pattern: Any, *, ctx: KernelContext, step: StepHandle) -> Any:
    patterns = [os.fsdecode(p) for p in np.asarray(pattern, object).reshape(-1)]
    with step.waits_for(at_work(f"looks for files like {', '.join(map(repr, patterns))}")):
        paths = await on_thread(matching, patterns, roots_of(ctx))
    result = np.empty(len(paths), object)
    result[:] = paths
    return result
