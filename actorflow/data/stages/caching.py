"""`cache`: the elements of the first round are kept, in memory or in a file, and later rounds take them from there."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import partial
from typing import Any

import msgpack

from actorflow import machine
from actorflow.data.node import array
from actorflow.data.spec import Element
from actorflow.data.stage import EndOfSequence, OneInput, Source, Stage, pack, stage, unpack
from actorflow.records import roots, tfrecord
from actorflow.records.formats import TFRecords
from actorflow.records.reading.opening import on_thread, os_errors
from actorflow.records.reading.reader import ReaderState

_WRITTEN_AT_ONCE = 1 << 20


@stage("cache")
class Cache(Stage):
    """Goes to the class for memory or for a file, by the name."""

    def __new__(cls, node: Any, running: Any) -> Any:
        return object.__new__(CachedInFile if array(node.tensors[0]).item() else CachedInMemory)


class CachedInMemory(OneInput, Cache):
    """The elements in a list that all iterators of the node share, once one of them has come to the end."""

    def setup(self) -> None:
        super().setup()
        self.index = 0
        self.collected: list[Element] = []

    async def next(self, most: int) -> list[Element]:
        whole: list[Element] | None = self.node.shared.get("elements")
        if whole is not None:
            if self.index >= len(whole):
                raise EndOfSequence
            found = whole[self.index : self.index + most]
        else:
            try:
                found = await self.input.block(most)
            except EndOfSequence:
                self.node.shared.setdefault("elements", self.collected)
                raise
            self.collected.extend(found)
        self.index += len(found)
        return found

    def own(self) -> Any:
        whole = self.node.shared.get("elements")
        kept = self.collected if whole is None else whole
        return [self.index, whole is not None, [pack(element) for element in kept]]

    def set_own(self, state: Any) -> None:
        self.index, whole, elements = state
        kept = [unpack(element) for element in elements]
        if whole:
            self.node.shared["elements"] = kept
        else:
            self.collected = kept


class CachedInFile(Source, Cache):
    """The elements in a file of TFRecords, which appears when the first round has come to its end.

    A round that writes is not in a checkpoint: one that goes on there begins to write again, and drops what was given before."""

    def setup(self) -> None:
        super().setup()
        self.path = os.fsdecode(array(self.node.tensors[0]).item())
        self.reader: ReaderState | None = None
        self.drop = 0
        self.inputs = []
        self.partial: str | None = None
        self.unwritten: list[bytes] = []
        self.taken: Element | None = None
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        if self.ended:
            raise EndOfSequence
        if self.reader is None and not self.inputs:
            if await on_thread(os.path.exists, roots.check(self.path, self.running.roots)):
                self.reader = ReaderState("the cache", TFRecords())
            else:
                self.inputs = [self.open()]
        while True:
            if self.running.turn_is_over(most):
                await asyncio.sleep(0)
            elements = await self._read(most) if self.reader is not None else [await self._pass_on()]
            dropped = min(self.drop, len(elements))
            self.drop -= dropped
            if found := elements[dropped:]:
                self.index += len(found)
                return found

    async def _read(self, most: int) -> list[Element]:
        assert self.reader is not None
        records = self.reader.take_ready(most)
        if not records:
            _, records = await self.reader.read(1, self._file, self.running.roots)
        return [unpack(msgpack.unpackb(record, raw=False)) for record in records]

    async def _file(self) -> str:
        assert self.reader is not None
        if self.reader.started:
            self.ended = True
            raise EndOfSequence
        return self.path

    async def _pass_on(self) -> Element:
        if self.taken is None:
            try:
                self.taken = await self.inputs[0].pull()
            except EndOfSequence:
                await self._write(end=True)
                self.ended = True
                raise
            self.unwritten.append(msgpack.packb(pack(self.taken), use_bin_type=True))
        if sum(map(len, self.unwritten)) > _WRITTEN_AT_ONCE:
            await self._write(end=False)
        element, self.taken = self.taken, None
        return element

    async def _write(self, end: bool) -> None:
        """Appends what there is to the file that is being written, which gets its name in the end."""
        if self.partial is None:
            self.partial = f"{self.path}.{machine.fresh_hex(8)}.partial"
            self.running.at_end.append(partial(_remove, self.partial))
        records, self.unwritten = self.unwritten, []
        await machine.on_thread(_append, self.partial, tfrecord.join(records), self.path if end else None)

    def own(self) -> Any:
        return self.index

    def set_own(self, state: Any) -> None:
        self.index = self.drop = state

    def state(self) -> Any:
        return [self.own(), []]


def _append(partial: str, data: bytes, name: str | None) -> None:
    with os_errors(partial, "Writing the cache"):
        with open(partial, "ab") as file:
            file.write(data)
            file.flush()
            if name is not None:
                os.fsync(file.fileno())
        if name is not None:
            os.replace(partial, name)


def _remove(path: str) -> None:
    """Removes what a round has written that did not come to its end."""
    with suppress(OSError):
        os.unlink(path)
