"""The records of files: lines, TFRecord, records of a fixed length. The files' names come from its input."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import numpy as np

from actorflow.base.records.formats import FixedLength, Lines, RecordFormat, TFRecords
from actorflow.base.records.reading.reader import ReaderState
from actorflow.errors import InvalidArgumentError, OpError
from actorflow.models.data.node import array
from actorflow.models.data.spec import Element
from actorflow.models.data.stage import OneInput, stage

PACKINGS = ("", "ZLIB", "GZIP")


@stage("records")
class RecordsStage(OneInput):
    """The records of one file after another, read in chunks on a thread."""

    def setup(self) -> None:
        super().setup()
        packing = array(self.node.tensors[0]).item().decode()
        if packing not in PACKINGS:
            raise InvalidArgumentError(f"A file's compression is '', ZLIB or GZIP, but {packing!r} was given.")
        self.reader = ReaderState("the dataset", self._format(), packing)

    def _format(self) -> RecordFormat:
        kind = self.node.options["format"]
        if kind == "lines":
            return Lines()
        if kind == "tfrecord":
            return TFRecords()
        return FixedLength(*self._sizes(), whole=True)

    def _sizes(self) -> tuple[int, int, int]:
        record, header, footer = (int(tensor) for tensor in self.node.tensors[1:])
        return record, header, footer

    async def next(self, most: int) -> list[Element]:
        if self.running.turn_is_over(most):
            await asyncio.sleep(0)
        records = self.reader.take_ready(most)
        if not records:
            try:
                _, records = await self.reader.read(1, self._next_file, self.running.roots)
            except OpError:
                self.reader.leave_damaged()
                raise
            records += self.reader.take_ready(most - 1)
        return list(zip(records))

    async def _next_file(self) -> str:
        (name,) = await self.input.pull()
        names = np.asarray(name, object)
        if names.ndim:
            raise InvalidArgumentError(f"The names of files are scalars, but one has the shape {names.shape}.")
        return os.fsdecode(names.item())

    def own(self) -> Any:
        return self.reader.state()

    def set_own(self, state: Any) -> None:
        self.reader.restore(state)
