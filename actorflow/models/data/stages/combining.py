"""Stages that join several inputs, or go through one several times."""

from __future__ import annotations

from collections import deque
from typing import Any

from actorflow.models.data.spec import Element
from actorflow.models.data.stage import EndOfSequence, Entry, Stage, pack_entries, stage, unpack_entries


@stage("zip")
class Zip(Stage):
    """One element of each input, side by side, until an input ends."""

    def setup(self) -> None:
        self.inputs = [self.open(index) for index in range(len(self.node.inputs))]
        self.taken: list[deque[Entry]] = [deque() for _ in self.inputs]
        """The entries that were taken of each input, and are not given yet."""
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        for source, taken in zip(self.inputs, self.taken):
            if not taken and not self.ended:
                try:
                    taken.extend(await source.block(most))
                except EndOfSequence:
                    self.ended = True
                except Exception as failure:
                    taken.append(failure)
            most = min(most, len(taken))
        rows: list[Element] = []
        while len(rows) < most:
            row = [taken[0] for taken in self.taken]
            error = next((entry for entry in row if isinstance(entry, Exception)), None)
            if error is not None and rows:
                break
            for taken in self.taken:
                taken.popleft()
            if error is not None:  # what is beside it goes with it
                raise error
            rows.append(tuple([leaf for element in row for leaf in element]))  # type: ignore[union-attr]
        if not rows:
            raise EndOfSequence
        return rows

    def own(self) -> Any:
        return [[pack_entries(taken) for taken in self.taken], self.ended]

    def set_own(self, state: Any) -> None:
        taken, self.ended = state
        self.taken = [deque(unpack_entries(entries)) for entries in taken]


@stage("concatenate")
class Concatenate(Stage):
    """The elements of the first input, then those of the second."""

    def setup(self) -> None:
        self.set_own(0)

    async def next(self, most: int) -> list[Element]:
        while True:
            try:
                return await self.inputs[0].block(most)
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
class RepeatStage(Stage):
    """Its input from the beginning, a number of times; without end where the number is negative."""

    def setup(self) -> None:
        self.round, self.any = 0, False
        self.inputs = [self.open()]

    async def next(self, most: int) -> list[Element]:
        count = self.node.number(0)
        while count < 0 or self.round < count:
            try:
                elements = await self.inputs[0].block(most)
            except EndOfSequence:
                if not self.any and count < 0:
                    raise  # an empty input would go round forever
                self.round, self.any = self.round + 1, False
                if count < 0 or self.round < count:
                    self.inputs = [self.open()]
                continue
            self.any = True
            return elements
        raise EndOfSequence

    def own(self) -> Any:
        return [self.round, self.any]

    def set_own(self, state: Any) -> None:
        self.round, self.any = state
