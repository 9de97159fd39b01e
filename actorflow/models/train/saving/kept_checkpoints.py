"""`KeptCheckpoints`: the checkpoints that a saver or a manager has made and not removed, and which become too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class KeptCheckpoints:
    """Paths of checkpoints with the times of their saves, oldest first.

    Args:
        most: the number that is kept; None or 0 keeps all.
        every_hours: of those that would be dropped, one per this many hours stays for good; None lets none stay.
        clock: a function that returns the time in seconds.
    """

    def __init__(self, most: int | None, every_hours: float | None, clock: Callable[[], float]) -> None:
        self.most, self.every_hours, self._clock = most or 0, every_hours, clock
        self._seconds = (every_hours or 0.0) * 3600
        self._next = clock() + self._seconds
        """When the next checkpoint that stays for good is saved, at the earliest."""
        self._saved: list[tuple[str, float]] = []

    @property
    def paths(self) -> list[str]:
        """The paths, oldest first."""
        return [path for path, _ in self._saved]

    def replace(self, saved: Iterable[tuple[str, float]]) -> None:
        """Takes these paths, with their times, in place of all."""
        self._saved = list(saved)

    def add(self, path: str) -> list[str]:
        """Takes a checkpoint that was saved now; gives the paths of those that are to be removed."""
        self._saved = [item for item in self._saved if item[0] != path] + [(path, self._clock())]
        dropped = []
        while self.most and len(self._saved) > self.most:
            old, saved_at = self._saved.pop(0)
            if self.every_hours is not None and saved_at > self._next:
                self._next += self._seconds
            else:
                dropped.append(old)
        return dropped
