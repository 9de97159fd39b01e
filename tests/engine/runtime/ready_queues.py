"""Orders for the ready queue of a dispatcher: `Dispatcher.of(loop).queue = Shuffled(seed)`. Any order is right."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeAlias

Item: TypeAlias = "tuple[Context, Callable[[], Any]]"


class Lifo(list[Item]):
    """The youngest first."""

    popleft = list.pop  # type: ignore[assignment]


class Shuffled(list[Item]):
    """Any order, by a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def popleft(self) -> Item:
        at = self._rng.randrange(len(self))
        self[at], self[-1] = self[-1], self[at]
        return self.pop()
