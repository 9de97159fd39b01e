"""TFRecord's framing: length, masked checksum of the length, data, masked checksum of the data.

All numbers are little-endian; the length has eight bytes, a checksum four.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from actorflow.base.records.crc32c import crc32c_each, mask, masked_crc32c

HEADER = 12
FOOTER = 4
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_DAMAGES = (None, "the checksum of its length is wrong", "the checksum of its data is wrong")
Cut: TypeAlias = Callable[[bytes], "tuple[list[bytes], list[int], int, int]"]
_provided: list[Cut] = []


def frame(record: bytes) -> bytes:
    """`record` as it stands in a file."""
    length = _LENGTH.pack(len(record))
    return b"".join(
        (length, _CRC.pack(masked_crc32c(length)), record, _CRC.pack(masked_crc32c(record))),
    )


def join(records: Sequence[bytes]) -> bytes:
    """Several records as they stand in a file, in order."""
    if len(records) < 32:  # below, setting up lanes for their checksums takes longer
        return b"".join([frame(record) for record in records])
    lengths = [_LENGTH.pack(len(record)) for record in records]
    parts = zip(lengths, crc32c_each(lengths), records, crc32c_each(records))
    return b"".join(
        [part for length, a, record, b in parts for part in (length, _CRC.pack(mask(a)), record, _CRC.pack(mask(b)))]
    )


@dataclass(frozen=True, slots=True)
class RecordFrames:
    """The whole records of some bytes.

    `starts` has the offset of each record's header, `end` the offset after the last. `wanted` is how many bytes from
    `end` on would hold the next record. `damage` says what is wrong with the record at `end`, else it is None.
    """

    records: list[bytes]
    starts: list[int]
    end: int
    wanted: int
    damage: str | None


def split(data: bytes, at_end: bool) -> RecordFrames:
    """The records that `data` starts with; `at_end` tells that nothing comes after it.

    A damaged or cut record ends them: those before it are given, and `damage` describes it.
    """
    records, starts, position, code = _provided[0](data) if _provided else cut(data)
    damage, need, left = _DAMAGES[code], HEADER, len(data) - position
    if damage is None and left >= HEADER:
        need += _LENGTH.unpack_from(data, position)[0] + FOOTER
        if _stored(data, position + 8) != masked_crc32c(data[position : position + 8]):
            damage = _DAMAGES[1]
    if damage is None and at_end and left:
        damage = f"it is cut off: {left} bytes are left of {need if need > HEADER else 'its header'}"
    return RecordFrames(records, starts, position, need, damage)


def provide(function: Cut) -> None:
    """Declares a function that does what `cut` does.

    Args:
        function: takes the bytes.
    """
    _provided[:] = [function]


def cut(data: bytes) -> tuple[list[bytes], list[int], int, int]:
    """The whole records that `data` starts with, where each starts, where the last record ends, and the fault of the record
    there. The fault is 0 for none, 1 for the checksum of its length, 2 for that of its data."""
    starts: list[int] = []
    records: list[bytes] = []
    position = 0
    while position + HEADER <= len(data):
        end = position + HEADER + _LENGTH.unpack_from(data, position)[0] + FOOTER
        if end > len(data):
            break
        starts.append(position)
        records.append(data[position + HEADER : end - FOOTER])
        position = end
    lengths = crc32c_each([data[start : start + 8] for start in starts])
    bodies = crc32c_each(records)
    for index, (start, length, body) in enumerate(zip(starts, lengths, bodies)):
        code = 1 if _stored(data, start + 8) != mask(length) else 0
        if not code and _stored(data, start + HEADER + len(records[index])) != mask(body):
            code = 2
        if code:
            return records[:index], starts[:index], start, code
    return records, starts, position, 0


def _stored(data: bytes, position: int) -> int:
    crc: int = _CRC.unpack_from(data, position)[0]
    return crc
