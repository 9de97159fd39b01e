"""`KeptCopies`: what a task keeps in its memory of the variables of others and of its own, by the number of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.errors import NotFoundError

NAME = "copies of variables"
"""The name under which a device has its copies."""


@dataclass(frozen=True, slots=True)
class CopiesPart:
    """The variables of one task at one instant, by name, and what its nodes and readers keep."""

    values: Mapping[str, Any]
    state: bytes


class KeptCopies:
    """The parts of an owner: at most those of two steps. The parts of the older step are complete on all tasks."""

    def __init__(self) -> None:
        self._owner = ""
        self._steps: dict[int, dict[str, CopiesPart]] = {}

    def keep(self, owner: str, stamp: int, complete: int, part: str, content: CopiesPart) -> None:
        """Keeps a part of the step `stamp`. Parts of steps other than that and `complete` are dropped, and so are
        those of another owner."""
        if owner != self._owner:
            self._owner, self._steps = owner, {}
        self._steps = {step: parts for step, parts in self._steps.items() if step in (stamp, complete)}
        self._steps.setdefault(stamp, {})[part] = content

    def give(self, owner: str, stamp: int, part: str) -> CopiesPart:
        """A part. Raises NotFoundError for a part that is not kept."""
        content = self._steps.get(stamp, {}).get(part) if owner == self._owner else None
        if content is None:
            raise NotFoundError(f"Copies of {part} after run {stamp} are not kept here.")
        return content

    def rows(self, owner: str) -> list[tuple[int, str, list[str]]]:
        """The steps of an owner by number, with the names of their parts and of the parts' variables."""
        if owner != self._owner:
            return []
        return [
            (stamp, part, list(content.values))
            for stamp, parts in self._steps.items()
            for part, content in parts.items()
        ]

    def drop(self, owner: str) -> None:
        """Drops all that is kept for an owner."""
        if owner == self._owner:
            self._steps = {}

    @property
    def nbytes(self) -> int:
        """The bytes of all that is kept."""
        return sum(
            getattr(value, "nbytes", 0)
            for parts in self._steps.values()
            for content in parts.values()
            for value in content.values.values()
        )
