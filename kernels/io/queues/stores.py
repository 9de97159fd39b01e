"""The orders in which queues give their elements back: first in first out, at random, by priority.

A store hands out *tickets*; `element(ticket)` is the element, and `put_back(tickets)` undoes `take`s.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

Element: TypeAlias = "tuple[Any, ...]"
Draw: TypeAlias = Callable[[int], int]


class QueueStore(Protocol):
    """The elements of a queue, in its order."""

    def __len__(self) -> int: ...

    def add(self, element: Element) -> None: ...

    def available(self, closed: bool) -> int:
        """How many may be taken now."""

    def take(self) -> Any:
        """The ticket of the next element, which is no longer there."""

    def element(self, ticket: Any) -> Element: ...

    def put_back(self, tickets: Sequence[Any]) -> None:
        """Undoes `take`s, given in the order in which they happened."""


class Fifo:
    """First in, first out."""

    def __init__(self) -> None:
        self._elements: deque[Element] = deque()

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, element: Element) -> None:
        self._elements.append(element)

    def available(self, closed: bool) -> int:
        return len(self._elements)

    def take(self) -> Element:
        return self._elements.popleft()

    def element(self, ticket: Element) -> Element:
        return ticket

    def put_back(self, tickets: Sequence[Element]) -> None:
        self._elements.extendleft(reversed(tickets))


class Shuffled:
    """At random: `draw(n)` says which of n. While the queue is open, `min_after_take` elements stay behind, so that
    each choice is among more than that."""

    def __init__(self, draw: Draw, min_after_take: int) -> None:
        self._draw = draw
        self._min_after_take = min_after_take
        self._elements: list[Element] = []

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, element: Element) -> None:
        self._elements.append(element)

    def available(self, closed: bool) -> int:
        return max(0, len(self._elements) - (0 if closed else self._min_after_take))

    def take(self) -> Element:
        elements = self._elements
        at = self._draw(len(elements))
        elements[at], elements[-1] = elements[-1], elements[at]
        return elements.pop()

    def element(self, ticket: Element) -> Element:
        return ticket

    def put_back(self, tickets: Sequence[Element]) -> None:
        self._elements.extend(tickets)


class Prioritized:
    """The smallest first component first; equals in the order in which they came."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Element]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, element: Element) -> None:
        heapq.heappush(self._heap, (int(element[0]), next(self._numbers), element))

    def available(self, closed: bool) -> int:
        return len(self._heap)

    def take(self) -> tuple[int, int, Element]:
        return heapq.heappop(self._heap)

    def element(self, ticket: tuple[int, int, Element]) -> Element:
        return ticket[2]

    def put_back(self, tickets: Sequence[tuple[int, int, Element]]) -> None:
        for ticket in tickets:
            heapq.heappush(self._heap, ticket)
