"""Stages that join several inputs, or go through one several times."""

from __future__ import annotations

from typing import Any

from actorflow.data.spec import Element
from actorflow.data.stage import EndOfSequence, Stage, pack, stage, unpack


@stage("zip")
class Zip(Stage):
    """One element of each input, side by side, until one of them ends."""

    def setup(self) -> None:
        self.inputs = [self.open(index) for index in range(len(self.node.inputs))]
        self.taken: list[Element] = []
        self.error: Exception | None = None
        self.ended = False

    async def next(self) -> Element:
        while len(self.taken) < len(self.inputs) and not self.ended:
            try:
                self.taken.append(await self.inputs[len(self.taken)].pull())
            except EndOfSequence:
                self.ended = True
            except Exception as failure:  # what is beside it goes with it
                self.taken.append(())
                self.error = self.error or failure
        if self.ended:
            raise EndOfSequence
        taken, self.taken, error, self.error = self.taken, [], self.error, None
        if error is not None:
            raise error
        return tuple([leaf for element in taken for leaf in element])

    def own(self) -> Any:
        return [[pack(element) for element in self.taken], self.ended]

    def set_own(self, state: Any) -> None:
        taken, self.ended = state
        self.taken = [unpack(element) for element in taken]


@stage("concatenate")
class Concatenate(Stage):
    """The elements of the first input, then those of the second."""

    def setup(self) -> None:
        self.set_own(0)

    async def next(self) -> Element:
        while True:
            try:
                return await self.inputs[0].pull()
            except EndOfSequence:
                if self.which + 1 >= len(self.node.inputs):
                    raise
                self.set_own(self.which + 1)

    def own(self) -> Any:
        return self.which

    def set_own(self, state: Any) -> None:
        self.which = state
        self.inputs = [self.open(self.which)]


@stage("repeat")
class Repeat(Stage):
    """Its input from the beginning, a number of times; without end where the number is negative."""

    def setup(self) -> None:
        self.round, self.any = 0, False
        self.inputs = [self.open()]

    async def next(self) -> Element:
        count = self.node.number(0)
        while count < 0 or self.round < count:
            try:
                element = await self.inputs[0].pull()
            except EndOfSequence:
                if not self.any and count < 0:
                    raise  # an empty input would go round forever
                self.round, self.any = self.round + 1, False
                if count < 0 or self.round < count:
                    self.inputs = [self.open()]
                continue
            self.any = True
            return element
        raise EndOfSequence

    def own(self) -> Any:
        return [self.round, self.any]

    def set_own(self, state: Any) -> None:
        self.round, self.any = state
