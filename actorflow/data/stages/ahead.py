"""Stages that pull their input in a task of their own, up to a bound, while those that pull from them do something else."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from actorflow import errors
from actorflow.data.node import Node
from actorflow.data.spec import Element
from actorflow.data.stage import EndOfSequence, OneInput, Stage, pack, stage, unpack

AUTOTUNE = -1
_MOST = 64


class Entry:
    """An element that was pulled ahead: what was pulled, what it became, or the error that stands at its place."""

    __slots__ = ("element", "error", "ready", "result")

    def __init__(self, element: Element | None, error: Exception | None = None) -> None:
        self.element, self.error = element, error
        self.result: Element | None = None
        self.ready = error is not None

    def state(self) -> Any:
        """In terms of msgpack. The result of a call is kept; a call that has not ended is made again."""
        if self.error is not None:
            code = self.error.code if isinstance(self.error, errors.OpError) else errors.UnknownError.code
            return ["error", code, str(self.error)]
        if self.ready:
            assert self.result is not None
            return ["result", pack(self.result)]
        assert self.element is not None
        return ["element", pack(self.element)]


def _error(code: int, message: str) -> Exception:
    """An error of a state."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.OpError)]
    return next((kind for kind in kinds if kind.code == code), errors.UnknownError)(message)


class Ahead(OneInput):
    """A stage with a queue of entries, which a task fills."""

    def setup(self) -> None:
        super().setup()
        self.entries: deque[Entry] = deque()
        self.ended = False
        self.begun = False
        self.news = asyncio.Event()
        self.space = asyncio.Event()

    def is_full(self) -> bool:
        """Whether to pull no more now."""
        raise NotImplementedError

    def enter(self, entry: Entry) -> None:
        """Takes what was pulled."""
        self.entries.append(entry)
        self.news.set()

    def leave(self, entry: Entry) -> None:
        """Called with what was given."""

    def first_ready(self) -> int | None:
        """Which entry is to be given next, or None where it is not ready."""
        return 0 if self.entries and self.entries[0].ready else None

    async def next(self) -> Element:
        if not self.begun:
            self.begun = True
            self.running.start(self._fill())
        while (index := self.first_ready()) is None:
            if self.ended and not self.entries:
                raise EndOfSequence
            self.starved()
            self.news.clear()
            await self.news.wait()
        entry = self.entries[index]
        del self.entries[index]
        self.leave(entry)
        self.space.set()
        if entry.error is not None:
            raise entry.error
        assert entry.result is not None
        return entry.result

    def starved(self) -> None:
        """Called where someone has to wait."""

    async def _fill(self) -> None:
        while not self.ended:
            while self.is_full():
                self.space.clear()
                await self.space.wait()
            try:
                self.enter(Entry(await self.input.pull()))
            except EndOfSequence:
                self.ended = True
                self.news.set()
            except Exception as error:
                self.enter(Entry(None, error))

    def own(self) -> Any:
        return [[entry.state() for entry in self.entries], self.ended]

    def set_own(self, state: Any) -> None:
        entries, self.ended = state
        for kind, *given in entries:
            if kind == "error":
                entry = Entry(None, _error(*given))
            else:
                entry = Entry(unpack(given[0]))
                if kind == "result":
                    entry.result, entry.ready = entry.element, True
            if entry.ready:
                Ahead.enter(self, entry)
            else:
                self.enter(entry)


@stage("prefetch")
class Prefetch(Ahead):
    """Elements ahead of those who pull, up to a number of them and of bytes. With `AUTOTUNE` the number grows: it is doubled
    whenever someone had to wait."""

    def setup(self) -> None:
        super().setup()
        self.limit, self.bytes_limit = self.node.number(0), self.node.number(1)
        self.grows = self.limit == AUTOTUNE
        if self.grows:
            self.limit = 2
        self.bytes = 0

    def is_full(self) -> bool:
        return len(self.entries) >= self.limit or bool(self.entries) and 0 <= self.bytes_limit <= self.bytes

    def enter(self, entry: Entry) -> None:
        entry.result, entry.ready = entry.element, True
        self.bytes += size_of(entry)
        super().enter(entry)

    def leave(self, entry: Entry) -> None:
        self.bytes -= size_of(entry)

    def starved(self) -> None:
        if self.grows and self.given and self.limit < _MOST:
            self.limit *= 2

    async def next(self) -> Element:
        return await (super().next() if self.limit else self.input.pull())

    def set_own(self, state: Any) -> None:
        super().set_own(state)
        self.bytes = sum(map(size_of, self.entries))


def size_of(entry: Entry) -> int:
    """The bytes of an entry's tensors."""
    total = 0
    for value in entry.result or ():
        if isinstance(value, bytes):
            total += len(value)
        elif not isinstance(value, Node):
            total += sum(map(len, value.flat)) if value.dtype == object else value.nbytes
    return total


def prefetched(below: Stage, count: int) -> Stage:
    """A stage whose elements are pulled ahead, `count` of them."""
    import numpy as np

    node = Node("prefetch", below.node.spec, (below.node,), (np.int64(count), np.int64(-1)), where=below.node.where)
    return below.running.stage(node)
