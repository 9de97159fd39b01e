"""`Wait`: what an asynchronous kernel waits for, as it says itself when it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from actorflow.reports import Users


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a kernel has not gone on.

    what: goes on after the node's name: "waits for an element of queue 'q', which is empty (0 of 10 elements, open)".
    resource: the name of the resource that it waits at; empty where there is none.
    users: who else uses that resource. The event that ends the wait comes first.
    holders: the steps that have the resource for themselves until they let go of it, where it is such a resource.
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
