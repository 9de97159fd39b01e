"""The records that a session takes beside its graph, and the places of arguments that are fields of records now."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import ParamSpec

from actorflow.engine.passes.options import PlanOptions
from actorflow.public import public

P = ParamSpec("P")


@public("af")
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """Limits of a session: `Session(limits=af.SessionLimits(...))`.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> async with af.Session(limits=af.SessionLimits(max_inflight_steps=8, threads=1)) as session:
        ...     print(await session.run(x + 1.0, {x: 1.0}))
        2.0

    Args:
        memory_budget: the maximum number of bytes of the tensors of each device; unlimited unless given. A cluster has
            its own.
        threads: the maximum number of threads that compute one kernel, of those that all sessions of the process share
            (`ACTORFLOW_THREADS`); all of them unless given. With 1, large kernels are not divided.
        file_roots: the folders in which ops may read and write files; anywhere unless given. A cluster's servers have
            theirs.
        max_inflight_steps: the maximum number of steps that run concurrently; others wait for their turn. A step whose
            `py_func` is busy on a thread counts as running.
        max_queued_steps: the maximum number of steps that wait for their turn; more are refused with
            `errors.Overloaded`.
        max_waiting_steps: the maximum number of steps that only wait in asynchronous kernels, for a queue for example.
            Such a step gives up its place among the running steps. A further step is stopped with `errors.Overloaded`.

    Raises:
        ValueError: a number is too small.
    """

    memory_budget: int | None = None
    threads: int | None = None
    file_roots: Sequence[str | os.PathLike[str]] | None = None
    max_inflight_steps: int = 256
    max_queued_steps: int = 4096
    max_waiting_steps: int = 4096

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"SessionLimits(threads={self.threads}): a kernel takes one thread or more.")
        if self.max_inflight_steps < 1 or self.max_queued_steps < 0 or self.max_waiting_steps < 0:
            raise ValueError(
                "max_inflight_steps is 1 or more, max_queued_steps and max_waiting_steps are 0 or more; "
                f"got {self.max_inflight_steps}, {self.max_queued_steps}, {self.max_waiting_steps}."
            )


@public("af")
@dataclass(frozen=True, slots=True, kw_only=True)
class ValueOptions:
    """How a session takes feeds and gives values: `Session(values=af.ValueOptions(...))`.

    Example:
        >>> x = af.placeholder(af.int32)
        >>> async with af.Session(values=af.ValueOptions(exact_feeds=True)) as session:
        ...     print(await session.run(x + 1, {x: 2.0}))
        3

    Args:
        writable: whether to return arrays that the caller may write, each a copy; otherwise they are read-only.
        exact_feeds: whether to take feeds of another kind of type, if all their values convert exactly: whole floats for
            integers, 0 and 1 for bools, numbers in arrays of objects or in text.
    """

    writable: bool = False
    exact_feeds: bool = False


MOVED = {
    field.name: f"{argument}=af.{record.__name__}({field.name}=...)"
    for argument, record in (("options", PlanOptions), ("limits", SessionLimits), ("values", ValueOptions))
    for field in fields(record)
}
"""The fields of the records, which were arguments of sessions; and what a program writes now."""


def in_records(init: Callable[P, None]) -> Callable[P, None]:
    """The `__init__` of a session that says of an argument, if it is a field of a record, in which record it belongs."""

    @functools.wraps(init)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> None:
        if moved := [name for name in keywords if name in MOVED]:
            raise TypeError(
                f"Session(...) takes no argument {moved[0]}: it is a field of a record. "
                f"Write Session({', '.join(_joined(moved))})."
            )
        init(*arguments, **keywords)

    return checked


def _joined(moved: Sequence[str]) -> list[str]:
    """The text to write for these arguments, each record once."""
    records: dict[str, list[str]] = {}
    for name in moved:
        record, _, field = MOVED[name].partition("(")
        records.setdefault(record, []).append(field.removesuffix(")"))
    return [f"{record}({', '.join(parts)})" for record, parts in records.items()]


def check_target(target: object) -> None:
    """Raises TypeError for a target that is no text."""
    if not isinstance(target, str):
        raise TypeError(
            f"`target` is the address of a task, such as tcp://host:7070, or nothing, but it is {target!r:.60}, of type "
            f"{type(target).__name__}."
        )
