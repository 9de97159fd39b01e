"""`Ledger`: between which numbers a counter in the cluster must be, from what its writers know of each update.

An update is counted once where its run went well, once or not at all where it failed, and not any more when a restore has
taken it back: the epoch that a restore begins keeps out what is older. All is noted at its moment, beside all machines.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Bounds:
    """The least and the most that a counter can be."""

    low: int = 0
    high: int = 0


class Update:
    """A run that adds one, begun in a life of the counter."""

    def __init__(self, life: int) -> None:
        self.life = life


class Ledger:
    """The updates of one counter, and what its checkpoints can hold, by their numbers. Checkpoint 0 has initial values."""

    def __init__(self) -> None:
        self.now = Bounds()
        self._life = 0
        self._in_flight: dict[Update, None] = {}
        self._saves: dict[int, Bounds] = {0: Bounds()}
        self._pending: set[int] = set()

    def begin(self) -> Update:
        """An update is asked for: from now on it can have been counted."""
        update = Update(self._life)
        self._in_flight[update] = None
        self.now.high += 1
        for number in self._pending:
            self._saves[number].high += 1
        return update

    def end(self, update: Update, *, well: bool) -> None:
        """Its run is over. Of one that has seen a restore no one knows whether it came before."""
        del self._in_flight[update]
        if well and update.life == self._life:
            self.now.low += 1

    def save_begins(self, number: int) -> None:
        """A checkpoint may come to be from now on, which has at least what is counted now."""
        before = self._saves.get(number, self.now)  # one of that number, whose end no one has seen, may be there
        self._saves[number] = Bounds(min(before.low, self.now.low), max(before.high, self.now.high))
        self._pending.add(number)

    def save_ends(self, number: int) -> None:
        """It is there, and what comes now is not in it."""
        self._pending.discard(number)

    def restored(self, number: int) -> None:
        """The counter's value is that of a checkpoint. Steps in flight may still be asked of the new epoch."""
        self._life += 1
        self._pending.clear()
        bounds = self._saves[number]
        self.now = Bounds(bounds.low, bounds.high + len(self._in_flight))

    def check(self, value: int, low: int, what: str) -> None:
        """Raises AssertionError where `value`, which was read when at least `low` were there, is not possible."""
        assert value >= low, f"{what}: {low - value} updates are lost; it is {value}, and {low} went well"
        assert value <= self.now.high, f"{what}: updates were applied twice; it is {value}, of {self.now.high} at most"
