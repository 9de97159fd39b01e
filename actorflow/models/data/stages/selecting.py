"""Stages that let some elements pass, or number them."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from actorflow.base.reports.logs import get_logger
from actorflow.errors import FailedPreconditionError, InvalidArgumentError, OpError
from actorflow.models.data.node import DatasetNode
from actorflow.models.data.spec import Element
from actorflow.models.data.stage import BLOCK, EndOfSequence, OneInput, stage

_LOG = get_logger("data")


class Counted(OneInput):
    """A stage that counts what it has pulled."""

    def setup(self) -> None:
        super().setup()
        self.index = 0

    def own(self) -> Any:
        return self.index

    def set_own(self, state: Any) -> None:
        self.index = state


@stage("take")
class TakeStage(Counted):
    """The first elements; all where the number is negative."""

    async def next(self, most: int) -> list[Element]:
        count = self.node.number(0)
        if 0 <= count <= self.index:
            raise EndOfSequence
        elements = await self.input.block(most if count < 0 else min(most, count - self.index))
        self.index += len(elements)
        return elements


@stage("skip")
class Skip(Counted):
    """All but the first elements; none where the number is negative."""

    async def next(self, most: int) -> list[Element]:
        count = self.node.number(0)
        if count < 0:
            raise EndOfSequence
        while self.index < count:
            self.index += len(await self.input.block(min(count - self.index, BLOCK)))
        return await self.input.block(most)


@stage("shard")
class ShardStage(Counted):
    """Each n-th element, from one of the first n on."""

    @classmethod
    def check(cls, node: DatasetNode) -> None:
        shards, index = node.number(0), node.number(1)
        if shards < 1:
            raise InvalidArgumentError(f"Number of shards must be greater than zero (currently num_shards = {shards}).")
        if not 0 <= index < shards:
            raise InvalidArgumentError(
                f"Index must be between 0 and {shards - 1} (currently index = {index}, num_shards = {shards})."
            )

    async def next(self, most: int) -> list[Element]:
        shards, index = self.node.number(0), self.node.number(1)
        while True:
            first = (index - self.index) % shards  # how many are before the next element of this part
            elements = await self.input.block(min(first + 1 + (most - 1) * shards, BLOCK))
            self.index += len(elements)
            if own := elements[first::shards]:
                return own


@stage("ignore_errors")
class IgnoreErrors(OneInput):
    """The elements that have no errors."""

    async def next(self, most: int) -> list[Element]:
        while True:
            try:
                return await self.input.block(most)
            except OpError as error:
                if self.node.options["log"]:
                    _LOG.warning("an element is left out", stage=str(self.node), error=str(error))
                await asyncio.sleep(0)  # a source that fails again and again does not hold the event loop


@stage("counted")
class AsMany(Counted):
    """All elements, of which there is the number that was stated."""

    async def next(self, most: int) -> list[Element]:
        count = self.node.options["count"]
        try:
            elements = await self.input.block(most)
        except EndOfSequence:
            if self.index < count or count == -1:
                raise FailedPreconditionError(
                    f"Input dataset was expected to contain {count} elements but contained only {self.index} elements."
                ) from None
            raise
        self.index += len(elements)
        if self.index > count >= 0:
            raise FailedPreconditionError(f"Input dataset was expected to contain {count} elements but contained more.")
        return elements


@stage("enumerate")
class Enumerate(Counted):
    """Each element after its number."""

    async def next(self, most: int) -> list[Element]:
        elements = await self.input.block(most)
        first = self.node.number(0) + self.index
        self.index += len(elements)
        return [(np.int64(number), *element) for number, element in enumerate(elements, first)]
