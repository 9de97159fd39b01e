"""The wait of a step, as a record that travels between tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


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
    idle: for how many seconds nothing of it has run, so that only something from outside makes it go on; None where it runs.
    """

    step: int
    waiting: tuple[WaitingNode, ...]
    more: int = 0
    unfinished: frozenset[str] = frozenset()
    idle: float | None = None


Users: TypeAlias = "tuple[tuple[str, tuple[str, ...]], ...]"
"""The ops that do something with a resource, by what they do: `(("filled by", ("QueueEnqueueV2",)),)`."""
