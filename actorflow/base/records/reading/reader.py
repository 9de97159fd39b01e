"""A reader: it takes the names of files from a queue, and gives their records in order.

A file is read in chunks, each on a thread that opens it, reads, cuts the chunk into records, checks them, and closes it again.
Between chunks a reader holds records and a position, no descriptor. All changes of its state happen on the event loop when a
chunk has arrived, so that a read that is cancelled takes nothing away.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from actorflow.base.records import wire
from actorflow.base.records.formats import FixedLength, Position, RecordFormat, RecordPiece
from actorflow.base.records.reading.fair_lock import FairLock
from actorflow.base.records.reading.opening import on_thread, opened, read_fully
from actorflow.base.records.roots import FileRoots
from actorflow.base.records.unpacking import Unpacker, check_unpacked, most_unpacked
from actorflow.errors import DataLossError, InvalidArgumentError, OpError

CHUNK = 1 << 20
NextFile = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class PackedStream:
    """An open end of a file: where a packed one goes on, and what is unpacked of it from `offset` on."""

    path: str
    identity: tuple[int, int] | None = None
    offset: int = 0
    unpacked: bytes = b""
    packed_offset: int = 0
    unpacker: Unpacker | None = None
    ended: bool = False


def _load(
    stream: PackedStream, packing: str, at: Position, want: int, how: RecordFormat, roots: FileRoots
) -> tuple[PackedStream, RecordPiece]:
    """The next `want` bytes from `at` on (fewer at the end of the file), cut into records. Runs on a thread."""
    with opened(stream.path, roots) as fd:
        status = os.fstat(fd)
        identity = status.st_dev, status.st_ino
        if stream.identity not in (None, identity):
            raise DataLossError(f"The file {stream.path!r} was replaced by another while it was read.")
        stream = replace(stream, identity=identity)
        if not packing:
            if at.offset > status.st_size:
                raise DataLossError(
                    f"The place in the file {stream.path!r} is byte {at.offset}, but the file has {status.st_size} bytes.",
                    hint="It is another file, or was cut off, since the checkpoint. Begin with a new iterator or model_dir.",
                )
            if isinstance(how, FixedLength) and (misfit := how.misfit(status.st_size, stream.path)) is not None:
                raise InvalidArgumentError(misfit)
            os.lseek(fd, at.offset, os.SEEK_SET)
            data = read_fully(fd, want)
            return stream, how.split(data, at, len(data) < want)
        bound = (
            sys.maxsize if isinstance(how, FixedLength) else most_unpacked()
        )  # a length that the program says is believed
        stream = _unpack(stream, fd, packing, at.offset, min(want, bound))
        if len(stream.unpacked) > bound:
            check_unpacked(len(stream.unpacked), f"The record at byte {at.offset} of {stream.path!r}")
    damage = stream.unpacker.damage if stream.unpacker is not None else None
    piece = how.split(stream.unpacked, at, stream.ended and damage is None)
    used = min(piece.next.offset - at.offset, len(stream.unpacked))
    stream = replace(stream, offset=at.offset + used, unpacked=stream.unpacked[used:])
    return stream, piece if damage is None else replace(piece, damage=piece.damage or damage)


def _unpack(stream: PackedStream, fd: int, packing: str, start: int, want: int) -> PackedStream:
    """`stream` from `start` on, with at least `want` bytes unpacked, if there are that many."""
    unpacker = Unpacker(packing) if stream.unpacker is None else stream.unpacker.copy()  # the old one may be used again
    offset, parts = stream.offset, [stream.unpacked]
    os.lseek(fd, stream.packed_offset, os.SEEK_SET)
    size = len(stream.unpacked)
    while not unpacker.has_ended and offset + size < start + want:
        parts.append(unpacker.take_from(partial(os.read, fd), min(CHUNK, start + want - offset - size)))
        size += len(parts[-1])
        if offset + size <= start:  # on the way to where reading was restored
            offset, size, parts = offset + size, 0, []
    return replace(
        stream,
        offset=start,
        unpacked=b"".join(parts)[start - offset :],
        packed_offset=os.lseek(fd, 0, os.SEEK_CUR),
        unpacker=unpacker,
        ended=unpacker.has_ended,
    )


class ReaderState:
    """One reader's state; `read` is called by its kernels on an event loop."""

    def __init__(self, name: str, how: RecordFormat | None, packing: str = "") -> None:
        self.name = name
        self.how = how
        """None for the reader that gives the names of files as its records."""
        self.packing = packing
        self._turns = FairLock()
        self.reset()

    def reset(self) -> None:
        """Forgets the file and all counts."""
        self.produced = self.started = self.completed = 0
        self._leave()

    def _leave(self) -> None:
        self._stream: PackedStream | None = None
        self._taken = self._read_to = Position(0, 0)
        self._want = CHUNK
        self._finished = False
        self._damage: str | None = None
        self._pieces: deque[RecordPiece] = deque()
        """Those whose records are not all taken."""
        self._at = 0
        """How many records of the first piece were taken."""
        self._ready = 0
        """How many records were read, and not taken yet."""
        self._version = object()  # a chunk that was asked for before is of no use any more

    def at_work(self) -> str:
        """The actions of its reads now, or their waits."""
        what = "a file's name" if self._stream is None else f"the file {self._stream.path!r}"
        return f"reads with {self.name!r}, one read at a time: it is at {what}"

    async def read(self, count: int, next_file: NextFile, roots: FileRoots) -> tuple[list[bytes], list[bytes]]:
        """Keys and values of 1 to `count` records of one file: fewer if the file ends or a damaged record follows.

        Raises:
            DataLossError: the next record is damaged; the message has its file and offset.
            OpError: a file can't be read, or the queue has no more names.
        """
        async with self._turns:
            while True:
                if self._stream is None:
                    path = await next_file()
                    self._stream = PackedStream(path)
                    self.started += 1
                    if self.how is None:
                        self._stream, name = None, os.fsencode(path)
                        self.completed += 1
                        self.produced += 1
                        return [name], [name]
                await self._fill(count, roots)
                if self._ready:
                    return self._take(count)
                if self._stream is None:  # it was reset meanwhile
                    continue
                if self._damage is not None:
                    raise DataLossError(
                        f"The record at byte {self._read_to.offset} of {self._stream.path!r} is damaged: {self._damage}.",
                        hint="The records before it were delivered. Run the reader's reset() to leave the file.",
                    )
                self.completed += 1
                self._leave()

    def take_ready(self, most: int) -> list[bytes]:
        """Up to `most` records, as far as they were read already."""
        return self._taken_off(most) if self._ready else []

    def leave_damaged(self) -> None:
        """Goes on with the next file, if the next record of this file is damaged."""
        if self._damage is not None and not self._ready:
            self.completed += 1
            self._leave()

    async def _fill(self, count: int, roots: FileRoots) -> None:
        """Reads until there are `count` records, or no more of the file."""
        while self._ready < count and not self._finished and self._damage is None:
            version, stream = self._version, self._stream
            assert stream is not None and self.how is not None
            try:
                loaded = await on_thread(_load, stream, self.packing, self._read_to, self._want, self.how, roots)
            except OpError:
                if self._version is version and stream.identity is None:  # it never was open: on to the next file
                    self.started -= 1
                    self._leave()
                raise
            if self._version is not version:
                if self._stream is None:
                    return
                continue
            self._stream, piece = loaded
            if piece.values:
                self._pieces.append(piece)
                self._ready += len(piece.values)
            self._read_to = piece.next
            self._want = max(CHUNK, piece.wanted)
            self._finished, self._damage = piece.finished, piece.damage

    def _take(self, count: int) -> tuple[list[bytes], list[bytes]]:
        stream = self._stream
        assert stream is not None
        path = os.fsencode(stream.path)
        labels: list[bytes] = []
        values = self._taken_off(count, labels)
        return [path + label for label in labels], values

    def _taken_off(self, most: int, labels: list[bytes] | None = None) -> list[bytes]:
        """The values of the next records, `most` if there are as many. `labels` gets theirs."""
        values: list[bytes] = []
        while self._pieces and len(values) < most:
            piece, begin = self._pieces[0], self._at
            end = min(len(piece.values), begin + most - len(values))
            values += piece.values[begin:end]
            if labels is not None:
                labels += (
                    [b""] * (end - begin) if piece.labels is None else [b":%d" % n for n in piece.labels[begin:end]]
                )
            self._taken = Position(piece.ends[end - 1], piece.next.number - len(piece.values) + end)
            self._at = end
            if end == len(piece.values):
                self._pieces.popleft()
                self._at = 0
        self._ready -= len(values)
        self.produced += len(values)
        if self._finished and not self._ready:
            self.completed += 1
            self._leave()
        return values

    def state(self) -> bytes:
        """The reader's place: TensorFlow's ReaderBaseState, and in fields 5 and 6 the place in the file."""
        path = b"" if self._stream is None else os.fsencode(self._stream.path)
        numbers = {1: self.started, 2: self.completed, 3: self.produced, 5: self._taken.offset, 6: self._taken.number}
        parts = [wire.write_varint(key << 3) + wire.write_varint(value) for key, value in numbers.items() if value]
        return b"".join(parts) + (wire.write_field(4, path) if path else b"")

    def restore(self, state: bytes) -> None:
        """Goes to where the reader was that gave `state`.

        Raises:
            InvalidArgumentError: it is no such state.
        """
        kinds = {number: wire.BYTES if number == 4 else wire.VARINT for number in range(1, 7)}
        fields: dict[int, Any] = dict(wire.typed(state, kinds))
        counts = [fields.get(number, 0) for number in (1, 2, 3, 5, 6)]
        path = fields.get(4, b"")
        if not all(0 <= n < 2**63 for n in counts):
            raise InvalidArgumentError(f"The state of {len(state)} bytes is none of a reader.")
        started, completed, produced, offset, number = counts
        if started != completed + bool(path):
            raise InvalidArgumentError(
                f"The state is none of a reader: {started} files were started, {completed} completed, and the file in "
                f"work is {os.fsdecode(path)!r}."
            )
        self._leave()
        self.started, self.completed, self.produced = started, completed, produced
        if path:
            self._stream = PackedStream(os.fsdecode(path))
            self._taken = self._read_to = Position(offset, number)
