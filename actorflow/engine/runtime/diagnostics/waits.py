"""The wait of a step: `Wait`, what an asynchronous kernel waits for, as it says itself when it is asked; and `StepReport`, a
record of it that travels between tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Users: TypeAlias = "tuple[tuple[str, tuple[str, ...]], ...]"
"""The ops that do something with a resource, by what they do: `(("filled by", ("QueueEnqueueV2",)),)`."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a kernel has not gone on.

    what: goes on after the node's name: "waits for an element of queue 'q', which is empty (0 of 10 elements, open)".
    resource: the name of the resource that it waits at; empty without a resource.
    users: who else uses that resource. The event that ends the wait comes first.
    holders: of a resource that steps have for themselves until they let go of it, these steps.
    is_at_work: whether a thread of this process works for the kernel, and so ends the wait: its step does not stand still.
    """

    what: str
    resource: str = ""
    users: Users = ()
    holders: tuple[object, ...] = ()
    is_at_work: bool = False


Reason: TypeAlias = Callable[[], Wait]
"""Tells what is waited for now. It is called on the event loop of the step, and only for reports."""


def at_work(what: str) -> Reason:
    """The reason of a kernel that a thread of this process works for: "reads the file 'words.txt'"."""
    return lambda: Wait(what, is_at_work=True)


def several(count: int, noun: str) -> str:
    """`an element`, `2 elements`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}" if count == 1 else f"{count} {noun}s"


def behind(count: int) -> str:
    """How many wait before, if any, as the end of a sentence."""
    return f"; {count} before it in line" if count else ""


@dataclass(frozen=True, slots=True)
class WaitingNode:
    """A node that waits, and the line that says for what. `resource` and `users` are those of its `Wait`."""

    node: str
    line: str
    resource: str = ""
    users: Users = ()


@dataclass(frozen=True, slots=True)
class StepReport:
    """The things that a step, or the part of it on this task, waits for.

    waiting: its nodes; what waits for others that wait comes last.
    more: how many were left out.
    unfinished: the nodes with a resource that have not run yet.
    idle: for how many seconds nothing of it has run, so that only something from outside makes it go on; None while it runs.
    """

    step: int
    waiting: tuple[WaitingNode, ...]
    more: int = 0
    unfinished: frozenset[str] = frozenset()
    idle: float | None = None
