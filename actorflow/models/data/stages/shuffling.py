"""`shuffle`: a buffer of which one element is drawn at a time, by TensorFlow's rule and its random numbers."""

from __future__ import annotations

from collections import deque
from typing import Any

from actorflow.base.process import machine
from actorflow.errors import InvalidArgumentError
from actorflow.models.data.node import DatasetNode
from actorflow.models.data.random import Numbers
from actorflow.models.data.spec import Element
from actorflow.models.data.stage import BLOCK, EndOfSequence, OneInput, pack, stage, unpack

ALL = -2
"""A buffer for all elements of the input."""


class Seeds:
    """The seeds of one round after another, drawn from the seeds of the stage."""

    def __init__(self, first: int, second: int, changes: bool) -> None:
        if (first, second) == (0, 0):
            drawn = machine.current().random_bytes(16)
            first, second = int.from_bytes(drawn[:8], "little"), int.from_bytes(drawn[8:], "little")
        self.seeds, self.changes = (first, second), changes
        self.numbers = Numbers(first, second)

    def next(self) -> tuple[int, int]:
        """The seeds of the next round: the same seeds if it is not shuffled again."""
        if not self.changes:
            return self.seeds
        return self.numbers.next(), self.numbers.next()


@stage("shuffle")
class Shuffle(OneInput):
    """Elements of a buffer, which is filled up before an element of it is drawn."""

    @classmethod
    def check(cls, node: DatasetNode) -> None:
        if (size := node.number(0)) < 1 and size != ALL:
            raise InvalidArgumentError(f"buffer_size must be greater than zero, but it is {size}.")

    def setup(self) -> None:
        super().setup()
        self.size, first, second = (self.node.number(index) for index in range(3))
        shared = self.node.shared
        if "seeds" not in shared:
            shared["seeds"] = Seeds(first, second, bool(self.node.tensors[3]))
        self.generator: Seeds = shared["seeds"]
        self.seeds: tuple[int, int] | None = None
        self.numbers: Numbers | None = None
        self.ring: list[Element] = []
        self.start = self.count = 0
        """The place in the ring at which the buffer's elements begin, and their number."""
        self.pulled: deque[Element] = deque()
        """Elements that come into the buffer once there is a place."""
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        if self.numbers is None:
            self._begin(self.generator.next())
        try:
            while (missing := self._missing()) > 0:
                self.pulled.extend(await self.input.block(min(missing + most - 1, BLOCK)))
                if self.size == ALL:
                    self._fill()
        except EndOfSequence:
            self.ended = True
        assert self.numbers is not None
        drawn: list[Element] = []
        while len(drawn) < most and self._missing() <= 0:
            self._fill()
            if not self.count:
                break
            if self.count == self.size:
                self._exchange(self.numbers.several(min(most - len(drawn), len(self.pulled) + 1)), drawn)
            else:
                drawn.append(self._draw(self.numbers.next() % self.count))
        if not drawn:
            raise EndOfSequence
        return drawn

    def _missing(self) -> int:
        """How many elements have to be pulled before one may be drawn."""
        if self.ended:
            return 0
        return BLOCK if self.size == ALL else self.size - self.count - len(self.pulled)

    def _fill(self) -> None:
        while self.pulled and (self.size == ALL or self.count < self.size):
            self._put(self.pulled.popleft())

    def _put(self, element: Element) -> None:
        place = self.start + self.count
        if self.size != ALL:
            place %= self.size
        if place == len(self.ring):
            self.ring.append(element)
        else:
            self.ring[place] = element
        self.count += 1

    def _exchange(self, numbers: list[int], drawn: list[Element]) -> None:
        """Draws elements of the full buffer, each of which makes a place for the next element that was pulled."""
        ring, start, size, pulled = self.ring, self.start, self.size, self.pulled
        for number in numbers:
            place = start + number % size
            if place >= size:
                place -= size
            drawn.append(ring[place])
            ring[place] = ring[start]
            if pulled:
                ring[start] = pulled.popleft()
            else:
                ring[start] = ()
                self.count -= 1
            start += 1
            if start == size:
                start = 0
        self.start = start

    def _draw(self, offset: int) -> Element:
        """The element `offset` places after the first element, which takes its place."""
        ring, start = self.ring, self.start
        place = (start + offset) % len(ring)
        element, ring[place] = ring[place], ring[start]
        ring[start] = ()
        self.start, self.count = (start + 1) % len(ring), self.count - 1
        return element

    def _begin(self, seeds: tuple[int, int]) -> None:
        self.seeds, self.numbers = seeds, Numbers(*seeds)

    def own(self) -> Any:
        drawn = None if self.numbers is None else self.numbers.drawn
        shared = [*self.generator.seeds, self.generator.numbers.drawn]
        buffer = [self.ring[(self.start + index) % len(self.ring)] for index in range(self.count)]
        pulled = [pack(element) for element in self.pulled]
        return [[pack(element) for element in buffer], pulled, self.ended, self.seeds, drawn, shared]

    def set_own(self, state: Any) -> None:
        buffer, pulled, self.ended, seeds, drawn, (first, second, rounds) = state
        self.pulled = deque([unpack(element) for element in pulled])
        self.ring, self.start, self.count = [unpack(element) for element in buffer], 0, len(buffer)
        if seeds is not None:
            self._begin((seeds[0], seeds[1]))
            assert self.numbers is not None
            self.numbers.skip(drawn)
        self.generator.seeds, self.generator.numbers = (first, second), Numbers(first, second)
        self.generator.numbers.skip(rounds)
