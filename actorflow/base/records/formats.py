"""How files fall into records: whole, lines, fixed lengths, TFRecord.

A `RecordFormat` is a pure function of some bytes and their position: it gives the records that are whole, and says at which
position it wants to go on, and with how many bytes. It does not know the reader of the bytes, nor their source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple, Protocol

from actorflow.base.records import tfrecord


class Position(NamedTuple):
    """A place in a file: a byte offset, and how many records (or lines) are before it."""

    offset: int
    number: int


@dataclass(frozen=True, slots=True)
class RecordPiece:
    """The contents of some bytes: the records' `values`, the offsets at which each of them ends, and the numbers that make their
    keys with the file's name (none where a file is one record).

    `wanted` bytes from `next` on may hold the next record; `finished`: there are no more. `damage` says what is wrong with the
    data at `next`."""

    values: Sequence[bytes]
    ends: Sequence[int]
    labels: Sequence[int] | None
    next: Position
    wanted: int = 0
    finished: bool = False
    damage: str | None = None


class RecordFormat(Protocol):
    def split(self, data: bytes, at: Position, at_end: bool) -> RecordPiece:
        """The records in `data`, which stands at `at` of the file; `at_end` says that nothing follows."""


@dataclass(frozen=True, slots=True)
class WholeFile:
    """One record, labelled with nothing."""

    def split(self, data: bytes, at: Position, at_end: bool) -> RecordPiece:
        if at.number:
            return RecordPiece((), (), None, at, finished=True)
        if not at_end:
            return RecordPiece((), (), None, at, wanted=2 * len(data) + 1)
        end = at.offset + len(data)
        return RecordPiece([data], [end], None, Position(end, 1), finished=True)


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines without their ends (`\\n` or `\\r\\n`), labelled with their number from 1; the first `skip` are left out."""

    skip: int = 0

    def split(self, data: bytes, at: Position, at_end: bool) -> RecordPiece:
        lines = data.split(b"\n")
        rest = lines.pop()
        if at_end and rest:
            lines.append(rest)
        ends = [end + at.offset for end in accumulate([len(line) + 1 for line in lines])]
        if at_end and rest:
            ends[-1] -= 1
        after = Position(ends[-1] if ends else at.offset, at.number + len(lines))
        left_out = min(len(lines), max(0, self.skip - at.number))
        values = [line[:-1] if line.endswith(b"\r") else line for line in lines[left_out:]]
        labels = range(at.number + left_out + 1, after.number + 1)
        return RecordPiece(values, ends[left_out:], labels, after, wanted=2 * len(rest) + 1, finished=at_end)


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Records of `record_bytes`, each `hop_bytes` (by default as many) after the last, labelled with their number from 0.

    The file has `header_bytes` before and `footer_bytes` after them. A rest that is no whole record is left out; with `whole` the
    file is damaged there.
    """

    record_bytes: int
    header_bytes: int = 0
    footer_bytes: int = 0
    hop_bytes: int = 0
    whole: bool = False
    hop: int = field(init=False)

    def __post_init__(self) -> None:
        if self.record_bytes <= 0:
            raise ValueError(f"record_bytes is at least 1, but it is {self.record_bytes}.")
        for name in ("header_bytes", "footer_bytes", "hop_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is at least 0, but it is {getattr(self, name)}.")
        object.__setattr__(self, "hop", self.hop_bytes or self.record_bytes)

    def misfit(self, size: int, path: str | None = None) -> str | None:
        """The fault of a file of this size if its records are to be whole; None without a fault."""
        body = size - self.header_bytes - self.footer_bytes
        if not self.whole or body >= 0 and body % self.record_bytes == 0:
            return None
        file = "the file" if path is None else f'input file "{path}"'
        return (
            f"Excluding the header ({self.header_bytes} bytes) and footer ({self.footer_bytes} bytes), {file} has "
            f"body length {body} bytes, which is not an exact multiple of the record length ({self.record_bytes} bytes)."
        )

    def split(self, data: bytes, at: Position, at_end: bool) -> RecordPiece:
        first = self.header_bytes + at.number * self.hop - at.offset
        last = len(data) - self.footer_bytes - self.record_bytes  # where a record may begin
        begins = range(first, last + 1, self.hop)
        after = at.number + len(begins)
        start = Position(self.header_bytes + after * self.hop, after)
        values = [data[begin : begin + self.record_bytes] for begin in begins]
        ends = [at.offset + begin + self.hop for begin in begins]
        size = self.record_bytes + self.footer_bytes
        damage = self.misfit(at.offset + len(data)) if at_end else None
        return RecordPiece(values, ends, range(at.number, after), start, size, at_end and damage is None, damage)


@dataclass(frozen=True, slots=True)
class TFRecords:
    """TensorFlow's record files, labelled with the offset at which a record starts."""

    def split(self, data: bytes, at: Position, at_end: bool) -> RecordPiece:
        frames = tfrecord.split(data, at_end)
        starts = [at.offset + start for start in frames.starts]
        place = Position(at.offset + frames.end, at.number + len(starts))
        finished = at_end and frames.damage is None
        return RecordPiece(
            frames.records, [*starts[1:], place.offset], starts, place, frames.wanted, finished, frames.damage
        )
