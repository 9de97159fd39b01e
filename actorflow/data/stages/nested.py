"""`interleave`: a dataset of each element, several of them in turn; with one at a time it is `flat_map`."""

from __future__ import annotations

from typing import Any

from actorflow.data.calling import caller
from actorflow.data.spec import Element
from actorflow.data.stage import EndOfSequence, OneInput, Stage, pack, stage, unpack
from actorflow.data.stages.ahead import prefetched


class Place:
    """A place of the cycle: the element, the values that its dataset is made of, and that dataset at work."""

    __slots__ = ("element", "stage", "values")

    def __init__(self, element: Element, values: Element, below: Stage) -> None:
        self.element, self.values, self.stage = element, values, below


@stage("interleave")
class Interleave(OneInput):
    """Blocks of the datasets of several elements in turn, in TensorFlow's order. With `ahead` each of them is pulled ahead."""

    def setup(self) -> None:
        super().setup()
        self.call = caller(self.node, self.running)
        self.cycle, self.block = self.node.number(0), self.node.number(1)
        self.ahead = self.node.number(2)
        self.places: list[Place | None] = [None] * self.cycle
        self.at = self.in_block = 0
        self.ended = False
        self.taken: Element | None = None

    async def next(self) -> Element:
        while not self.ended or any(self.places):
            place = self.places[self.at]
            if place is not None:
                try:
                    element = await place.stage.pull()
                except EndOfSequence:
                    self.places[self.at] = None
                    self.inputs = [self.input, *(p.stage for p in self.places if p)]
                    self._advance()
                    continue
                self.in_block += 1
                if self.in_block == self.block:
                    self._advance()
                return element
            if self.ended:
                self._advance()
                continue
            await self._open()
        raise EndOfSequence

    def _advance(self) -> None:
        self.at, self.in_block = (self.at + 1) % self.cycle, 0

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

    def _place(self, element: Element, values: Element) -> Place:
        (node,) = self.call.result(element, values)
        below = self.running.stage(node)
        if self.ahead:
            below = prefetched(below, self.ahead)
        self.inputs.append(below)
        return Place(element, values, below)

    def state(self) -> Any:
        places = [p and [pack(p.element), pack(p.values), p.stage.state()] for p in self.places]
        taken = None if self.taken is None else pack(self.taken)
        return [self.input.state(), places, self.at, self.in_block, self.ended, taken]

    def restore(self, state: Any) -> None:
        below, places, self.at, self.in_block, self.ended, taken = state
        self.input.restore(below)
        self.taken = None if taken is None else unpack(taken)
        for index, saved in enumerate(places):
            if saved is not None:
                place = self.places[index] = self._place(unpack(saved[0]), unpack(saved[1]))
                place.stage.restore(saved[2])
