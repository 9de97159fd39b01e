"""`interleave`: a dataset of each element, several of them in turn; `flat_map` goes through a single dataset at a time."""

from __future__ import annotations

from collections import deque
from typing import Any

from actorflow.models.data.functions.callers import caller
from actorflow.models.data.spec import Element
from actorflow.models.data.stage import EndOfSequence, OneInput, Stage, pack, stage, unpack
from actorflow.models.data.stages.ahead import prefetched


class CyclePlace:
    """A place of the cycle: the element, the values that its dataset is made of, that dataset at work, and elements that were
    taken of it for its next turns."""

    __slots__ = ("element", "stage", "taken", "values")

    def __init__(self, element: Element, values: Element, below: Stage) -> None:
        self.element, self.values, self.stage = element, values, below
        self.taken: deque[Element] = deque()


@stage("interleave")
class Interleave(OneInput):
    """Blocks of the datasets of several elements in turn, in TensorFlow's order. With `ahead` each of them is pulled ahead."""

    def setup(self) -> None:
        super().setup()
        self.call = caller(self.node, self.running)
        self.cycle, self.length = self.node.number(0), self.node.number(1)
        self.ahead = self.node.number(2)
        self.places: list[CyclePlace | None] = [None] * self.cycle
        self.at = self.in_turn = 0
        self.ended = False
        self.taken: Element | None = None

    async def next(self, most: int) -> list[Element]:
        while not self.ended or any(self.places):
            place = self.places[self.at]
            if place is not None:
                if not place.taken:
                    try:
                        place.taken.extend(await place.stage.block(self._share(most)))
                    except EndOfSequence:
                        self.places[self.at] = None
                        self.inputs = [self.input, *(p.stage for p in self.places if p)]
                        self._advance()
                        continue
                return self._dealt(most)
            if self.ended:
                self._advance()
                continue
            await self._open()
        raise EndOfSequence

    def _share(self, most: int) -> int:
        """How many of `most` elements are those of this place."""
        if self.cycle == 1:
            return most
        rounds = -(-most // (self.cycle * self.length))
        return min(most, rounds * self.length - self.in_turn)

    def _dealt(self, most: int) -> list[Element]:
        """Elements of one place after another, as far as they have been taken."""
        elements: list[Element] = []
        while len(elements) < most and (place := self.places[self.at]) is not None and place.taken:
            elements.append(place.taken.popleft())
            self.in_turn += 1
            if self.in_turn == self.length:
                self._advance()
        return elements

    def _advance(self) -> None:
        self.at, self.in_turn = (self.at + 1) % self.cycle, 0

    async def _open(self) -> None:
        """Puts the dataset of the next element into this place of the cycle."""
        if self.taken is None:
            try:
                self.taken = await self.input.pull()
            except EndOfSequence:
                self.ended = True
                return
        try:
            values = tuple(await self.call.values(self.taken))
            self.places[self.at] = self._place(self.taken, values)
        finally:
            self.taken = None if self.places[self.at] is not None else self.taken

    def _place(self, element: Element, values: Element) -> CyclePlace:
        (node,) = self.call.result(element, values)
        below = self.running.stage(node)
        if self.ahead:
            below = prefetched(below, self.ahead)
        self.inputs.append(below)
        return CyclePlace(element, values, below)

    def state(self) -> Any:
        places = [
            p and [pack(p.element), pack(p.values), [pack(element) for element in p.taken], p.stage.state()]
            for p in self.places
        ]
        taken = None if self.taken is None else pack(self.taken)
        return [self.input.state(), places, self.at, self.in_turn, self.ended, taken]

    def restore(self, state: Any) -> None:
        below, places, self.at, self.in_turn, self.ended, taken = state
        self.input.restore(below)
        self.taken = None if taken is None else unpack(taken)
        for index, saved in enumerate(places):
            if saved is not None:
                place = self.places[index] = self._place(unpack(saved[0]), unpack(saved[1]))
                place.taken.extend([unpack(element) for element in saved[2]])
                place.stage.restore(saved[3])
