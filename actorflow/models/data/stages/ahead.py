"""Stages that pull their input in a task of their own, up to a bound, while those that pull from them do something else."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from actorflow.errors import InvalidArgumentError
from actorflow.models.data.node import DatasetNode
from actorflow.models.data.spec import Element, size_of
from actorflow.models.data.stage import (
    BLOCK,
    EndOfSequence,
    OneInput,
    Stage,
    pack,
    pack_error,
    stage,
    unpack,
    unpack_error,
)

AUTOTUNE = -1
_MOST = 64


class AheadSlot:
    """The place of an element that was pulled ahead: what was pulled, what it became, or the error that stands at its place."""

    __slots__ = ("element", "error", "ready", "result")

    def __init__(self, element: Element | None, error: Exception | None = None) -> None:
        self.element, self.error = element, error
        self.result: Element | None = None
        self.ready = error is not None

    def state(self) -> Any:
        """In terms of msgpack. The result of a call is kept; a call that has not ended is made again."""
        if self.error is not None:
            return ["error", pack_error(self.error)]
        if self.ready:
            assert self.result is not None
            return ["result", pack(self.result)]
        assert self.element is not None
        return ["element", pack(self.element)]


class Ahead(OneInput):
    """A stage with a queue of slots, which a task fills."""

    def setup(self) -> None:
        super().setup()
        self.slots: deque[AheadSlot] = deque()
        self.ended = False
        self.begun = False
        self.news = asyncio.Event()
        self.space = asyncio.Event()

    def room(self) -> int:
        """How many elements to pull now: none for a full stage."""
        raise NotImplementedError

    def enter(self, slot: AheadSlot) -> None:
        """Takes what was pulled."""
        self.slots.append(slot)
        self.news.set()

    def leave(self, slot: AheadSlot) -> None:
        """Called with what was given."""

    def first_ready(self) -> int | None:
        """Which slot is to be given next, or None before that slot is ready."""
        return 0 if self.slots and self.slots[0].ready else None

    async def next(self, most: int) -> list[Element]:
        if not self.begun:
            self.begun = True
            self.running.start(self._fill())
        while self.first_ready() is None:
            if self.ended and not self.slots:
                raise EndOfSequence
            self.starved()
            self.news.clear()
            await self.news.wait()
        elements: list[Element] = []
        while len(elements) < most and (index := self.first_ready()) is not None:
            slot = self.slots[index]
            if slot.error is not None and elements:
                break
            del self.slots[index]
            self.leave(slot)
            self.space.set()
            if slot.error is not None:
                raise slot.error
            assert slot.result is not None
            elements.append(slot.result)
        return elements

    def starved(self) -> None:
        """Called where someone has to wait."""

    async def _fill(self) -> None:
        while not self.ended:
            while (room := self.room()) < 1:
                self.space.clear()
                await self.space.wait()
            try:
                for element in await self.input.block(room):
                    self.enter(AheadSlot(element))
            except EndOfSequence:
                self.ended = True
                self.news.set()
            except Exception as error:
                self.enter(AheadSlot(None, error))

    def own(self) -> Any:
        return [[slot.state() for slot in self.slots], self.ended]

    def set_own(self, state: Any) -> None:
        slots, self.ended = state
        for kind, content in slots:
            if kind == "error":
                slot = AheadSlot(None, unpack_error(content))
            else:
                slot = AheadSlot(unpack(content))
                if kind == "result":
                    slot.result, slot.ready = slot.element, True
            if slot.ready:
                Ahead.enter(self, slot)
            else:
                self.enter(slot)


@stage("prefetch")
class PrefetchStage(Ahead):
    """Elements ahead of those who pull, up to a number of them and of bytes. With `AUTOTUNE` the number grows: it is doubled
    whenever someone had to wait."""

    @classmethod
    def check(cls, node: DatasetNode) -> None:
        if node.number(0) < AUTOTUNE:
            raise InvalidArgumentError(
                f"buffer_size must be greater than or equal to 0, or {AUTOTUNE} (AUTOTUNE); it is {node.number(0)}."
            )

    def setup(self) -> None:
        super().setup()
        self.limit, self.bytes_limit = self.node.number(0), self.node.number(1)
        self.grows = self.limit == AUTOTUNE
        if self.grows:
            self.limit = 2
        self.bytes = 0

    def room(self) -> int:
        free = self.limit - len(self.slots)
        if self.bytes_limit < 0:
            return min(free, BLOCK)
        return (
            min(free, 1) if self.bytes < self.bytes_limit or not self.slots else 0
        )  # the size of one tells of the next

    def enter(self, slot: AheadSlot) -> None:
        slot.result, slot.ready = slot.element, True
        self.bytes += size_of(slot.result or ())
        super().enter(slot)

    def leave(self, slot: AheadSlot) -> None:
        self.bytes -= size_of(slot.result or ())

    def starved(self) -> None:
        if self.grows and self.given and self.limit < _MOST:
            self.limit *= 2

    async def next(self, most: int) -> list[Element]:
        return await (super().next(most) if self.limit else self.input.block(most))

    def set_own(self, state: Any) -> None:
        super().set_own(state)
        self.bytes = sum([size_of(slot.result or ()) for slot in self.slots])


def prefetched(below: Stage, count: int) -> Stage:
    """A stage whose elements are pulled ahead, `count` of them."""
    import numpy as np

    node = DatasetNode(
        "prefetch", below.node.spec, (below.node,), (np.int64(count), np.int64(-1)), where=below.node.where
    )
    return below.running.stage(node)
