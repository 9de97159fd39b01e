"""`map` and `filter`: a function of each element, traced or a coroutine function."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import takewhile
from time import perf_counter
from typing import Any

from actorflow.models.data.functions.callers import caller
from actorflow.models.data.spec import Element
from actorflow.models.data.stage import (
    BLOCK,
    TURN,
    EndOfSequence,
    Entry,
    OneInput,
    pack,
    pack_entries,
    stage,
    taken_from,
    unpack,
    unpack_entries,
)
from actorflow.models.data.stages.ahead import Ahead, AheadSlot

CHEAP = 3e-4
"""Seconds below which a call is not worth a task of its own."""


class Calls:
    """Calls of a function in sequence, for the elements of a block. Coroutine functions get one element at a time."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.taken: deque[Element] = deque()
        """Elements that were pulled, and whose calls have not ended."""
        self.ready: deque[Entry] = deque()
        """Results and errors that are not given yet."""
        self.seconds = 0.0
        """How long a call takes, as the mean of the latest calls."""
        self._made = 0
        self.joined = False
        """Whether the latest block was given to one call."""

    async def next(self, below: Any, most: int) -> list[Element]:
        """At least one result, at most `most`: calls end with the block, or with the first error, or when the turn is over."""
        ready, taken = self.ready, self.taken
        if not ready:
            if not taken:
                taken.extend(await below.block(most if self.call.is_traced else 1))
            began = perf_counter()
            while taken and len(ready) < most:
                await self.some()
                if isinstance(ready[-1], Exception) or perf_counter() - began > TURN:
                    break
            self._measure((perf_counter() - began) / len(ready), len(ready))
        return taken_from(ready, most)

    async def some(self) -> None:
        """One call: of the first element, or of several at once."""
        if len(self.taken) > 1:
            rows = await self.call.rows(self.taken)
            self.joined = rows is not None
            if rows is not None:
                for _ in rows:
                    self.taken.popleft()
                self.ready.extend(rows)
                return
        try:
            entry: Entry = await self.call(self.taken[0])
        except Exception as error:
            entry = error
        self.taken.popleft()
        self.ready.append(entry)

    def _measure(self, seconds: float, count: int) -> None:
        if self._made:  # the first one compiles
            self.seconds += (seconds - self.seconds) * min(1.0, count / 8)
        self._made += count

    def state(self) -> Any:
        """In terms of msgpack."""
        return [[pack(element) for element in self.taken], pack_entries(self.ready)]

    def restore(self, state: Any) -> None:
        """Goes to where those were that gave `state`."""
        taken, ready = state
        self.taken.extend([unpack(element) for element in taken])
        self.ready.extend(unpack_entries(ready))


@stage("map")
class Map(OneInput):
    """The function of each element, in sequence."""

    def setup(self) -> None:
        super().setup()
        self.calls = Calls(caller(self.node, self.running))

    async def next(self, most: int) -> list[Element]:
        return await self.calls.next(self.input, most)

    def own(self) -> Any:
        return self.calls.state()

    def set_own(self, state: Any) -> None:
        self.calls.restore(state)


@stage("filter")
class Filter(Map):
    """The elements of which the function is true."""

    def setup(self) -> None:
        super().setup()
        self.calls.call = KeptCall(self.calls.call)

    async def next(self, most: int) -> list[Element]:
        while True:
            if kept := [element for element in await super().next(most) if element]:
                return kept


@stage("take_while")
class TakeWhile(Map):
    """The elements before the first element of which the function is false."""

    def setup(self) -> None:
        super().setup()
        self.calls.call = KeptCall(self.calls.call)
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        elements = [] if self.ended else await super().next(most)
        kept = list(takewhile(bool, elements))
        self.ended = len(kept) < len(elements) or not elements
        if not kept:
            raise EndOfSequence
        return kept

    def own(self) -> Any:
        return [super().own(), self.ended]

    def set_own(self, state: Any) -> None:
        calls, self.ended = state
        super().set_own(calls)


class KeptCall:
    """A call that gives its element where the function is true, else the empty tuple."""

    def __init__(self, call: Any) -> None:
        self.call, self.is_traced = call, call.is_traced

    async def __call__(self, element: Element) -> Element:
        (holds,) = await self.call(element)
        return element if holds else ()

    async def rows(self, elements: Sequence[Element]) -> list[Element] | None:
        """The same for the first elements, computed at once, or None."""
        flags = await self.call.rows(elements)
        return flags and [element if holds else () for element, (holds,) in zip(elements, flags)]


@stage("parallel_map")
class ParallelMap(Ahead):
    """The function of several elements at once, their results in the order of the elements unless it is not `ordered`.

    A traced function is called in turn while its calls are cheap: tasks would cost more than they gain."""

    def setup(self) -> None:
        super().setup()
        self.call = caller(self.node, self.running)
        self.limit = max(1, self.node.number(0))
        self.ordered = bool(self.node.options["ordered"])
        self.calls: Calls | None = Calls(self.call) if self.call.is_traced else None
        """The calls of a traced function in turn; None once tasks call it beside each other."""
        self.queue: deque[AheadSlot] = deque()
        """Elements that wait for a call."""
        self.busy = 0

    async def next(self, most: int) -> list[Element]:
        calls = self.calls
        if calls is None:
            return await super().next(most)
        block = await calls.next(self.input, most)
        if calls.seconds > CHEAP and not calls.joined:
            self._use_tasks(calls)
        return block

    def _use_tasks(self, calls: Calls) -> None:
        self.calls = None
        for entry in calls.ready:
            slot = AheadSlot(None, entry) if isinstance(entry, Exception) else AheadSlot(entry)
            slot.result, slot.ready = slot.element, True
            super().enter(slot)
        for element in calls.taken:
            self.enter(AheadSlot(element))

    def room(self) -> int:
        return 2 * self.limit - len(self.slots)  # those that run, and as many to go on with at once

    def enter(self, slot: AheadSlot) -> None:
        if slot.error is not None:
            super().enter(slot)
            return
        self.slots.append(slot)
        if self.busy < self.limit:
            self.busy += 1
            self.running.start(self._perform(slot))
        else:
            self.queue.append(slot)

    async def _perform(self, slot: AheadSlot) -> None:
        """Calls the function for an element, and then for others that wait, as a single task of at most `limit`."""
        while True:
            assert slot.element is not None
            try:
                slot.result = await self.call(slot.element)
            except Exception as error:
                slot.error = error
            slot.ready = True
            self.news.set()
            if not self.queue:
                self.busy -= 1
                return
            slot = self.queue.popleft()

    def first_ready(self) -> int | None:
        if self.ordered:
            return super().first_ready()
        return next((index for index, slot in enumerate(self.slots) if slot.ready), None)

    def own(self) -> Any:
        return [super().own(), None if self.calls is None else self.calls.state()]

    def set_own(self, state: Any) -> None:
        slots, calls = state
        if calls is None:
            self.calls = None
        elif self.calls is not None:
            self.calls.restore(calls)
        super().set_own(slots)


@stage("reduce")
class Reduce(OneInput):
    """One element: what the function makes of a state and each element in turn."""

    def setup(self) -> None:
        super().setup()
        self.call = caller(self.node, self.running)
        self.taken: deque[Element] = deque()
        self.value: Element | None = None
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        if self.ended:
            raise EndOfSequence
        if self.value is None:
            self.value = await self.open(1).pull()
        while True:
            if not self.taken:
                try:
                    self.taken.extend(await self.input.block(BLOCK))
                except EndOfSequence:
                    self.ended = True
                    return [self.value]
            self.value = await self.call((*self.value, *self.taken[0]))
            self.taken.popleft()

    def own(self) -> Any:
        return [[pack(element) for element in self.taken], None if self.value is None else pack(self.value), self.ended]

    def set_own(self, state: Any) -> None:
        taken, value, self.ended = state
        self.taken.extend([unpack(element) for element in taken])
        self.value = None if value is None else unpack(value)
