"""The queue's entries that wait for a coordinator's next turn: a place for a task, a task that joins, a task that leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from actorflow.cluster.membership.view import View, joined, left


@dataclass(slots=True, eq=False, kw_only=True)
class Entry:
    """A request, from its arrival to its end."""

    view: View | None = None
    """The view that all members have, once the request is granted."""
    error: Exception | None = None
    """Why it is refused."""
    is_decided: bool = False
    """Whether it belongs to the next view, also if whoever asked for it has gone."""
    over: anyio.Event = field(default_factory=anyio.Event)

    def grant(self, view: View) -> None:
        """The request is granted."""
        self.view = view
        self.over.set()

    def refuse(self, error: Exception) -> None:
        """The request is refused, unless it is over."""
        if not self.over.is_set():
            self.error = error
            self.over.set()


@dataclass(slots=True, eq=False)
class Place(Entry):
    """A place for a task that is about to join.

    Args:
        job: its job.
        index: its number; None for any.
        address: its address.
        task: the place, once it is granted.
    """

    job: str
    index: int | None
    address: str
    task: str = ""


@dataclass(slots=True, eq=False)
class Change(Entry):
    """A task that joins, or leaves.

    Args:
        task: the task.
        address: of a task that joins; None for a task that leaves.
        how: the task leaves; a member of `LEAVING`.
        member: the address of the task that leaves, when that was asked for.
    """

    task: str
    address: str | None = None
    how: str = ""
    member: str | None = None

    def apply(self, view: View) -> View:
        """The view after it. Raises what `joined` or `left` raises.

        A task that another process has followed under its name has left already: two who see a loss may both declare it."""
        present = view.members.get(self.task)
        if self.address is None and present is not None and self.member not in (None, present):
            return view
        return left(view, self.task) if self.address is None else joined(view, self.task, self.address)

    def touches(self, view: View) -> set[str]:
        """The names and addresses that it changes: another change of any of them belongs to another view."""
        return {self.task, self.address or view.members.get(self.task, self.task)}
