"""`FreeBlocks`: which blocks of a pool are free."""

from __future__ import annotations

from collections.abc import Sequence


class FreeBlocks:
    """The free blocks of a pool. The last that came back are given first, because they are still in a cache.

    Args:
        count: how many blocks there are, with the numbers from 0.
    """

    __slots__ = ("_free", "count")

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = list(range(count - 1, -1, -1))

    @property
    def free(self) -> int:
        """How many blocks are free."""
        return len(self._free)

    def take(self, count: int) -> tuple[int, ...] | None:
        """`count` blocks; None if fewer are free."""
        if count > len(self._free):
            return None
        return tuple([self._free.pop() for _ in range(count)])

    def give(self, blocks: Sequence[int]) -> None:
        """Makes blocks free that were taken."""
        self._free.extend(reversed(blocks))
