"""`Trace`: what happened in a simulation, a line for each event that matters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

_MOST_MORE = 1000
"""So many lines more than asked for may be kept for a while."""


class Trace:
    """The events of a simulation. Equal seeds give equal lines, in every process.

    Args:
        show: called with each line as it is made; `print` follows a simulation.
        keep: how many of the last lines are kept.
    """

    def __init__(self, show: Callable[[str], object] | None = None, *, keep: int = 100_000) -> None:
        self.lines: list[str] = []
        self.count = 0
        self._show = show
        self._keep = keep
        self._hash = hashlib.sha256()
        self._hashed = 0
        """So many of `lines` are in the hash; they get into it many at a time."""

    def add(self, now: float, what: str) -> None:
        """Notes `what` at the virtual second `now`."""
        line = f"{now:14.9f} {what}"
        self.count += 1
        self.lines.append(line)
        if len(self.lines) > self._keep + _MOST_MORE:
            self._fold()
            del self.lines[: -self._keep]
            self._hashed = self._keep
        if self._show is not None:
            self._show(line)

    def _fold(self) -> None:
        self._hash.update("".join(f"{line}\n" for line in self.lines[self._hashed :]).encode())
        self._hashed = len(self.lines)

    @property
    def digest(self) -> str:
        """A hash of all lines, also of those that are not kept."""
        self._fold()
        return self._hash.hexdigest()
