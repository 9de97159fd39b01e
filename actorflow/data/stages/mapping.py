"""`map` and `filter`: a function of each element, traced or a coroutine function."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import Any

from actorflow.data.calling import caller
from actorflow.data.spec import Element
from actorflow.data.stage import EndOfSequence, OneInput, pack, stage, unpack
from actorflow.data.stages.ahead import Ahead, Entry

CHEAP = 3e-4
"""Seconds below which a call is not worth a task of its own."""


@stage("map")
class Map(OneInput):
    """The function of each element, one after another."""

    def setup(self) -> None:
        super().setup()
        self.call = caller(self.node, self.running)
        self.taken: Element | None = None
        """An element that was pulled, and whose call has not ended."""

    async def next(self) -> Element:
        taken = self.taken
        if taken is None:
            taken = self.taken = await self.input.pull()
        try:
            found: Element = await self.call(taken)
        except Exception:
            self.taken = None
            raise
        self.taken = None
        return found

    def own(self) -> Any:
        return None if self.taken is None else pack(self.taken)

    def set_own(self, state: Any) -> None:
        self.taken = None if state is None else unpack(state)


@stage("parallel_map")
class ParallelMap(Ahead):
    """The function of several elements at once, their results in the order of the elements unless it is not `ordered`.

    A traced function is called in turn while its calls are cheap: tasks would cost more than they gain."""

    def setup(self) -> None:
        super().setup()
        self.call = caller(self.node, self.running)
        self.limit = max(1, self.node.number(0))
        self.ordered = bool(self.node.options["ordered"])
        self.in_turn = self.call.is_traced
        self.taken: Element | None = None
        self.queue: deque[Entry] = deque()
        """Elements that wait for a call."""
        self.busy = 0

    async def next(self) -> Element:
        if not self.in_turn:
            return await super().next()
        if self.ended:
            raise EndOfSequence
        taken = self.taken
        if taken is None:
            taken = self.taken = await self.input.pull()
        began = perf_counter()
        try:
            found: Element = await self.call(taken)
        except Exception:
            self.taken = None
            raise
        self.taken = None
        self._measure(perf_counter() - began)
        return found

    def _measure(self, seconds: float) -> None:
        self.calls += 1
        if self.calls > 1:  # the first one compiles
            self.mean += (seconds - self.mean) / min(self.calls - 1, 8)
        if self.calls > 4 and self.mean > CHEAP:
            self.in_turn = False

    calls, mean = 0, 0.0

    def is_full(self) -> bool:
        return len(self.entries) >= 2 * self.limit  # those that run, and as many to go on with at once

    def enter(self, entry: Entry) -> None:
        if entry.error is not None:
            super().enter(entry)
            return
        self.entries.append(entry)
        if self.busy < self.limit:
            self.busy += 1
            self.running.start(self._perform(entry))
        else:
            self.queue.append(entry)

    async def _perform(self, entry: Entry) -> None:
        """Calls the function for an element, and then for others that wait, as one of at most `limit` tasks."""
        while True:
            assert entry.element is not None
            try:
                entry.result = await self.call(entry.element)
            except Exception as error:
                entry.error = error
            entry.ready = True
            self.news.set()
            if not self.queue:
                self.busy -= 1
                return
            entry = self.queue.popleft()

    def first_ready(self) -> int | None:
        if self.ordered:
            return super().first_ready()
        return next((index for index, entry in enumerate(self.entries) if entry.ready), None)

    def own(self) -> Any:
        return [super().own(), None if self.taken is None else pack(self.taken)]

    def set_own(self, state: Any) -> None:
        entries, taken = state
        self.taken = None if taken is None else unpack(taken)
        super().set_own(entries)
        if self.entries or self.ended:
            self.in_turn = False


@stage("filter")
class Filter(Map):
    """The elements of which the function is true."""

    async def next(self) -> Element:
        while True:
            taken = self.taken
            if taken is None:
                taken = self.taken = await self.input.pull()
            try:
                (found,) = await self.call(taken)
            except Exception:
                self.taken = None
                raise
            self.taken = None
            if found:
                return taken


@stage("reduce")
class Reduce(Map):
    """One element: what the function makes of a state and each element in turn."""

    def setup(self) -> None:
        super().setup()
        self.value: Element | None = None
        self.ended = False

    async def next(self) -> Element:
        if self.ended:
            raise EndOfSequence
        if self.value is None:
            self.value = await self.open(1).pull()
        while True:
            if self.taken is None:
                try:
                    self.taken = await self.input.pull()
                except EndOfSequence:
                    self.ended = True
                    return self.value
            self.value = await self.call((*self.value, *self.taken))
            self.taken = None

    def own(self) -> Any:
        return [super().own(), None if self.value is None else pack(self.value), self.ended]

    def set_own(self, state: Any) -> None:
        taken, value, self.ended = state
        super().set_own(taken)
        self.value = None if value is None else unpack(value)
