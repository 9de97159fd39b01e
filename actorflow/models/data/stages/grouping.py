"""Stages that sort elements by a key, carry a state from element to element, or choose between inputs."""

from __future__ import annotations

from collections import deque
from typing import Any

from actorflow.errors import InvalidArgumentError
from actorflow.models.data.functions.callers import caller
from actorflow.models.data.node import DatasetNode, array
from actorflow.models.data.spec import DatasetSpec, Element
from actorflow.models.data.stage import BLOCK, EndOfSequence, OneInput, Stage, pack, stage, unpack


@stage("group_by_window")
class GroupByWindow(OneInput):
    """Pairs of a key and a dataset, of elements that begin with a key and a size.

    A pair comes when there are as many elements of its key as the size says. The rest comes at the end, by the order of keys."""

    def setup(self) -> None:
        super().setup()
        self.groups: dict[int, list[Element]] = {}
        self.sizes: dict[int, int] = {}
        self.ready: deque[Element] = deque()
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        while not self.ready:
            if self.ended:
                raise EndOfSequence
            try:
                element = await self.input.pull()
            except EndOfSequence:
                self.ended = True
                for key in sorted(self.groups):
                    self._close(key)
                continue
            key, size = int(element[0]), int(element[1])
            group = self.groups.setdefault(key, [])
            if self.sizes.setdefault(key, size) < 1:
                raise InvalidArgumentError(f"Window size must be greater than zero, but got {size}.")
            group.append(element[2:])
            if len(group) >= self.sizes[key]:
                self._close(key)
        return [self.ready.popleft()]

    def _close(self, key: int) -> None:
        leaf = self.node.spec.leaves[1]
        assert isinstance(leaf, DatasetSpec)
        group = self.groups.pop(key)
        del self.sizes[key]
        tensors = tuple([value for element in group for value in element])
        node = DatasetNode("elements", leaf.spec, tensors=tensors, where=self.node.where)
        self.ready.append((self.node.spec.leaves[0].dtype.numpy_dtype.type(key), node))

    def own(self) -> Any:
        groups = [[key, self.sizes[key], [pack(e) for e in group]] for key, group in self.groups.items()]
        return [groups, [pack(element) for element in self.ready], self.ended]

    def set_own(self, state: Any) -> None:
        groups, ready, self.ended = state
        self.groups = {key: [unpack(e) for e in group] for key, _, group in groups}
        self.sizes = {key: size for key, size, _ in groups}
        self.ready = deque([unpack(element) for element in ready])


@stage("scan")
class Scan(OneInput):
    """The function of a state and each element gives the next state and an element of its own."""

    def setup(self) -> None:
        super().setup()
        self.call = caller(self.node, self.running)
        self.taken: deque[Element] = deque()
        self.value: Element | None = None
        self.width = len(self.node.inputs[1].spec.leaves)

    async def next(self, most: int) -> list[Element]:
        if self.value is None:
            self.value = await self.open(1).pull()
        if not self.taken:
            self.taken.extend(await self.input.block(1))
        try:
            result = await self.call((*self.value, *self.taken[0]))
        finally:
            self.taken.popleft()
        self.value = result[: self.width]
        return [result[self.width :]]

    def own(self) -> Any:
        return [[pack(element) for element in self.taken], None if self.value is None else pack(self.value)]

    def set_own(self, state: Any) -> None:
        taken, value = state
        self.taken.extend([unpack(element) for element in taken])
        self.value = None if value is None else unpack(value)


@stage("unique")
class UniqueStage(OneInput):
    """The elements that were not there before."""

    def setup(self) -> None:
        super().setup()
        self.seen: set[Any] = set()

    async def next(self, most: int) -> list[Element]:
        while True:
            fresh: list[Element] = []
            for element in await self.input.block(min(most, BLOCK)):
                key = array(element[0]).item()
                if key not in self.seen:
                    self.seen.add(key)
                    fresh.append(element)
            if fresh:
                return fresh

    def own(self) -> Any:
        return list(self.seen)

    def set_own(self, state: Any) -> None:
        self.seen = set(state)


@stage("choose")
class Choose(Stage):
    """The next element of the input that the first one names, until all inputs have ended or the names have."""

    def setup(self) -> None:
        self.inputs = [self.open(index) for index in range(len(self.node.inputs))]
        self.over = [False] * (len(self.inputs) - 1)
        self.choice: int | None = None
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        while not self.ended:
            if self.choice is None:
                (choice,) = await self.inputs[0].pull()
                if not 0 <= int(choice) < len(self.over):
                    raise InvalidArgumentError(f"Selector index out of range: {int(choice)} >= {len(self.over)}.")
                self.choice = int(choice)
            place = self.choice
            if not self.over[place]:
                try:
                    element = await self.inputs[1 + place].pull()
                    self.choice = None
                    return [element]
                except EndOfSequence:
                    self.over[place] = True
                    self.ended = all(self.over) or bool(self.node.options["stops"])
            self.choice = None
        raise EndOfSequence

    def own(self) -> Any:
        return [self.over, self.choice, self.ended]

    def set_own(self, state: Any) -> None:
        self.over, self.choice, self.ended = state
