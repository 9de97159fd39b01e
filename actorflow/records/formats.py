"""How files fall into records: whole, lines, fixed lengths, TFRecord.

A `Format` is a pure function of some bytes and where they stand: it gives the records that are whole and says from where it
wants to go on, and with how many bytes. It does not know the reader of the bytes, nor their source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from actorflow.records import tfrecord


class Position(NamedTuple):
    """A place in a file: a byte offset, and how many records (or lines) are before it."""

    offset: int
    number: int


class Record(NamedTuple):
    """`label` makes the record's key, with the file's name; `next` is the place after it."""

    label: str
    value: bytes
    next: Position


@dataclass(frozen=True, slots=True)
class Piece:
    """The contents of some bytes. `wanted` bytes from `next` on may hold the next record; `finished`: there are no
    more. `damage` says what is wrong with the data at `next`."""

    records: list[Record]
    next: Position
    wanted: int = 0
    finished: bool = False
    damage: str | None = None


class Format(Protocol):
    def split(self, data: bytes, at: Position, at_end: bool) -> Piece:
        """The records in `data`, which stands at `at` of the file; `at_end` says that nothing follows."""


@dataclass(frozen=True, slots=True)
class WholeFile:
    """One record, labelled with nothing."""

    def split(self, data: bytes, at: Position, at_end: bool) -> Piece:
        if at.number:
            return Piece([], at, finished=True)
        if not at_end:
            return Piece([], at, wanted=2 * len(data) + 1)
        end = Position(at.offset + len(data), 1)
        return Piece([Record("", data, end)], end, finished=True)


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines without their ends (`\\n` or `\\r\\n`), labelled with their number from 1; the first `skip` are left out."""

    skip: int = 0

    def split(self, data: bytes, at: Position, at_end: bool) -> Piece:
        lines = data.split(b"\n")
        rest = lines.pop()
        if at_end and rest:
            lines.append(rest)
        records: list[Record] = []
        offset, number = at
        for line in lines:
            offset = min(offset + len(line) + 1, at.offset + len(data))
            number += 1
            if number > self.skip:
                value = line[:-1] if line.endswith(b"\r") else line
                records.append(Record(f":{number}", value, Position(offset, number)))
        return Piece(records, Position(offset, number), wanted=2 * len(rest) + 1, finished=at_end)


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Records of `record_bytes`, each `hop_bytes` (by default as many) after the last, labelled with their number from 0.

    The file has `header_bytes` before and `footer_bytes` after them; a rest that is no whole record is left out.
    """

    record_bytes: int
    header_bytes: int = 0
    footer_bytes: int = 0
    hop_bytes: int = 0
    hop: int = field(init=False)

    def __post_init__(self) -> None:
        if self.record_bytes <= 0:
            raise ValueError(f"record_bytes is at least 1, but it is {self.record_bytes}.")
        for name in ("header_bytes", "footer_bytes", "hop_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is at least 0, but it is {getattr(self, name)}.")
        object.__setattr__(self, "hop", self.hop_bytes or self.record_bytes)

    def split(self, data: bytes, at: Position, at_end: bool) -> Piece:
        records: list[Record] = []
        number = at.number
        while True:
            begin = self.header_bytes + number * self.hop - at.offset
            end = begin + self.record_bytes
            if end + self.footer_bytes > len(data):
                break
            number += 1
            after = Position(self.header_bytes + number * self.hop, number)
            records.append(Record(f":{number - 1}", data[begin:end], after))
        start = Position(self.header_bytes + number * self.hop, number)
        return Piece(records, start, self.record_bytes + self.footer_bytes, finished=at_end)


@dataclass(frozen=True, slots=True)
class TFRecords:
    """TensorFlow's record files, labelled with the offset at which a record starts."""

    def split(self, data: bytes, at: Position, at_end: bool) -> Piece:
        frames = tfrecord.split(data, at_end)
        ends = [*frames.starts[1:], frames.end]
        records = [
            Record(f":{at.offset + start}", value, Position(at.offset + end, at.number + i + 1))
            for i, (start, end, value) in enumerate(zip(frames.starts, ends, frames.records))
        ]
        place = Position(at.offset + frames.end, at.number + len(records))
        return Piece(records, place, frames.wanted, at_end and frames.damage is None, frames.damage)
