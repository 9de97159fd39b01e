"""`cache`: the elements of the first round are kept, in memory or in a file, and later rounds take them from there."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Any

import msgpack

from actorflow.base.process import machine
from actorflow.base.records import roots, tfrecord
from actorflow.base.records.formats import TFRecords
from actorflow.base.records.reading.opening import on_thread, os_errors
from actorflow.base.records.reading.reader import ReaderState
from actorflow.errors import DataLossError
from actorflow.models.data.node import array
from actorflow.models.data.spec import Element
from actorflow.models.data.stage import EndOfSequence, OneInput, SourceStage, Stage, pack, stage, unpack

_WRITTEN_AT_ONCE = 1 << 20


@stage("cache")
class CacheStage(Stage):
    """Goes to the class for memory or for a file, by the name."""

    def __new__(cls, node: Any, running: Any) -> Any:
        return object.__new__(CachedInFile if array(node.tensors[0]).item() else CachedInMemory)


class CachedInMemory(OneInput, CacheStage):
    """The elements in a list that all iterators of the node share, once an iterator has come to the end."""

    def setup(self) -> None:
        super().setup()
        self.index = 0
        self.collected: list[Element] = []

    async def next(self, most: int) -> list[Element]:
        whole: list[Element] | None = self.node.shared.get("elements")
        if whole is not None:
            if self.index >= len(whole):
                raise EndOfSequence
            elements = whole[self.index : self.index + most]
        else:
            try:
                elements = await self.input.block(most)
            except EndOfSequence:
                self.node.shared.setdefault("elements", self.collected)
                raise
            self.collected.extend(elements)
        self.index += len(elements)
        return elements

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


class CachedInFile(SourceStage, CacheStage):
    """The elements in a file of TFRecords, which appears when the first round has come to its end.

    A round that writes is not in a checkpoint: a run that goes on there writes again, and drops what was given before."""

    def setup(self) -> None:
        super().setup()
        self.path = os.fsdecode(array(self.node.tensors[0]).item())
        self.reader: ReaderState | None = None
        self.drop = 0
        self.inputs = []
        self.unwritten: list[bytes] = []
        self.taken: Element | None = None
        self.is_whole = False
        """Whether the input has come to its end."""
        self.partial: PartialFile | None = None
        self.writing: asyncio.Task[Exception | None] | None = None
        """The write under way, for which the next pull waits if this pull is cancelled."""
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
            if rest := elements[dropped:]:
                self.index += len(rest)
                return rest

    async def _read(self, most: int) -> list[Element]:
        assert self.reader is not None
        records = self.reader.take_ready(most)
        if not records:
            _, records = await self.reader.read(1, self._file, self.running.roots)
        try:
            elements = [unpack(msgpack.unpackb(record, raw=False)) for record in records]
            misfit = next((e for e in elements if len(e) != len(self.node.spec.leaves)), None)
            if misfit is not None:
                raise ValueError(f"it has {len(misfit)} parts, not {len(self.node.spec.leaves)}")
            return elements
        except Exception as error:  # of msgpack, of numpy, of the functions that make datasets
            raise DataLossError(
                f"A record of the cache {self.path!r} is no element of a dataset: {error}.",
                hint="Another program has written the file, or another version of this one. Remove it, and it is made anew.",
            ) from error

    async def _file(self) -> str:
        assert self.reader is not None
        if self.reader.started:
            self.ended = True
            raise EndOfSequence
        return self.path

    async def _pass_on(self) -> Element:
        if self.taken is None and not self.is_whole:
            try:
                self.taken = await self.inputs[0].pull()
                self.unwritten.append(msgpack.packb(pack(self.taken), use_bin_type=True))
            except EndOfSequence:
                self.is_whole = True
        if self.is_whole or self.writing is not None or sum(map(len, self.unwritten)) > _WRITTEN_AT_ONCE:
            await self._write()
        if self.is_whole:
            self.ended = True
            raise EndOfSequence
        assert self.taken is not None
        element, self.taken = self.taken, None
        return element

    async def _write(self) -> None:
        """Appends what there is to the file that is being written, or waits for the write under way. Raises its error, after
        which nothing more is written."""
        if self.partial is None:
            self.partial = PartialFile(self.path)
            self.running.at_end.append(self.partial.drop)
        if self.writing is None:
            records, self.unwritten = self.unwritten, []
            if self.partial.dropped:
                return
            self.writing = self.running.start(_written(self.partial, tfrecord.join(records), self.is_whole))
        writing = self.writing
        if writing is not None:
            await asyncio.wait([writing])
        self.writing = None
        if writing is None or writing.cancelled():  # the iterator was closed
            raise EndOfSequence
        if (error := writing.result()) is not None:
            raise error

    def own(self) -> Any:
        return self.index

    def set_own(self, state: Any) -> None:
        self.index = self.drop = state

    def state(self) -> Any:
        return [self.own(), []]


class PartialFile:
    """The file of a round, under a name of its own until it is whole.

    A thread may still write when it is dropped. So the thread looks behind each write whether it is, and removes the file
    then."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = f"{path}.{machine.fresh_hex(8)}.partial"
        self.dropped = False

    def append(self, data: bytes, is_last: bool) -> None:
        """Writes some data, and gives the file its name behind the last. A failure drops it: there would be a gap."""
        if self.dropped:
            return
        try:
            with os_errors(self.name, "Writing the cache"):
                with open(self.name, "ab") as file:
                    file.write(data)
                    file.flush()
                    if is_last:
                        os.fsync(file.fileno())
                if is_last:
                    os.replace(self.name, self.path)
        except BaseException:
            self.dropped = True
            raise
        finally:
            if self.dropped:
                self.drop()

    def drop(self) -> None:
        """Removes what a round has written that did not come to its end."""
        self.dropped = True
        with suppress(OSError):
            os.unlink(self.name)


async def _written(partial: PartialFile, data: bytes, is_last: bool) -> Exception | None:
    """Appends data on a thread. Gives the error for the pull that waits."""
    try:
        await machine.on_thread(partial.append, data, is_last)
    except Exception as error:
        return error
    return None
