"""Records, the units of the wire: a fixed header, a tag, msgpack metadata and a body (see docs/reference/protocol.md).

A frame holds one record or several behind each other. The body of a chunk on a bulk lane is not in the frame but follows
it, so that it can be received into its place. Nothing here waits, and nothing is allocated for what a header announces.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import msgpack

from actorflow.engine.transport.errors import FrameTooLarge, ProtocolError

MAGIC = b"actf"
VERSIONS = (1, 1)
"""The oldest and the newest version of the protocol that this code speaks."""
HEADER = struct.Struct("<4sBBHIIQQIHHQQII")
_TAG_SIZE, _META_SIZE = struct.Struct("<H"), struct.Struct("<I")
FRAME_LIMIT = 64 * 1024
"""The most bytes of a frame of records."""
TAG_LIMIT = 1024
_META_COUNT = 4096
HANDLE_CODE = 1
"""The extension type of msgpack that a handle within a message has."""
MOST_HANDLES = 4096
"""The most handles of a message."""
_HANDLE_LIMIT = 1024
_OLDEST, _NEWEST = VERSIONS
_U32 = 0xFFFFFFFF

assert HEADER.size == 64


class RecordKind(IntEnum):
    """The kind of a record."""

    HELLO = 1
    CLOSE = 2
    MESSAGE = 3
    TENSOR = 4
    HANDLE = 5
    CREDIT = 6
    RELEASE = 7
    ABORT = 8
    BEAT = 9
    ARENA = 10
    KEY = 11


class RecordFlag:
    """The kind of a token, and where the record's body lies. Plain numbers: each record asks for several, and an
    enumeration takes a microsecond for each."""

    DEAD = 1
    LAST = 2
    LOSSY = 4
    NOTHING = 8
    FOLLOWS = 16


ALL_FLAGS = 31  # all bits below it
_LEAVES = frozenset({int, str, bytes, float, bool, type(None)})
_FOLLOWS = RecordFlag.FOLLOWS
_MESSAGE = int(RecordKind.MESSAGE)


@dataclass(slots=True)
class FrameRecord:
    """One record; a record that arrives is of the class of its kind. `sequence` counts the records of a lane; `offset` and
    `total` place a body in a larger whole."""

    kind: int
    flags: int = 0
    sequence: int = 0
    epoch: int = 0
    incarnation: int = 0
    step: int = 0
    edge: int = 0
    tag: bytes = b""
    meta: bytes = b""
    body: Any = b""
    offset: int = 0
    total: int = 0
    body_size: int = 0
    """The size of the body, which is still to come where FOLLOWS is set."""
    version: int = VERSIONS[1]

    @property
    def cost(self) -> int:
        """The bytes that count against a window."""
        return HEADER.size + len(self.tag) + len(self.meta) + self.body_size


class MessageRecord(FrameRecord):
    """A record of kind MESSAGE: bytes of a message, from `offset` of its `total` on."""

    __slots__ = ()


class TensorRecord(FrameRecord):
    """A record of kind TENSOR: a token, or a chunk of a token."""

    __slots__ = ()


_CLASSES = {int(kind): FrameRecord for kind in RecordKind} | {
    RecordKind.MESSAGE: MessageRecord,
    RecordKind.TENSOR: TensorRecord,
}


def head(record: FrameRecord) -> bytes:
    """The bytes of `record` before its body."""
    return (
        HEADER.pack(
            MAGIC,
            record.version,
            record.kind,
            record.flags,
            record.sequence & _U32,
            record.epoch,
            record.incarnation,
            record.step,
            record.edge,
            len(record.tag),
            0,
            record.offset,
            record.total,
            len(record.meta),
            record.body_size,
        )
        + record.tag
        + record.meta
    )


def encode(record: FrameRecord) -> bytes:
    """All bytes of `record`, its body among them."""
    return head(record) + bytes(record.body)


def message_piece(
    data: bytes, offset: int, size: int, sequence: int, incarnation: int, version: int, meta: bytes = b""
) -> bytes:
    """All bytes of the record of `size` bytes of a message, from `offset` on. `meta` has the leases that go back with it."""
    total = len(data)
    end = offset + size
    flags = RecordFlag.LAST if end == total else 0
    header = HEADER.pack(
        MAGIC, version, _MESSAGE, flags, sequence & _U32, 0, incarnation, 0, 0, 0, 0, offset, total, len(meta), size
    )
    return header + meta + (data if size == total else data[offset:end])


def records(frame: memoryview) -> Iterator[FrameRecord]:
    """The records of a frame; a body is a view of it. Raises ProtocolError at the first that is none."""
    if len(frame) > FRAME_LIMIT:
        raise FrameTooLarge(f"A frame of records has {len(frame):,} bytes; {FRAME_LIMIT:,} are the most.")
    position = 0
    while True:
        record, position = parse(frame, position)
        yield record
        if position == len(frame):
            return


def follows(frame: memoryview) -> bool:
    """Whether a frame is the head of a chunk; looks no closer."""
    return len(frame) >= HEADER.size and bool(frame[6] & RecordFlag.FOLLOWS)


def head_size(frame: memoryview) -> int:
    """How many bytes of a frame that starts with a head come before its body; looks no closer."""
    tag, meta = _TAG_SIZE.unpack_from(frame, 36)[0], _META_SIZE.unpack_from(frame, 56)[0]
    return min(HEADER.size + int(tag) + int(meta), len(frame))


def parse(frame: memoryview, position: int = 0) -> tuple[FrameRecord, int]:
    """The record at `position`, and where the next begins. Raises ProtocolError."""
    if len(frame) - position < HEADER.size:
        raise ProtocolError(f"A record is cut off: {len(frame) - position} of the {HEADER.size} bytes of a header.")
    (
        magic,
        version,
        kind,
        flags,
        sequence,
        epoch,
        incarnation,
        step,
        edge,
        tag_size,
        reserved,
        offset,
        total,
        meta_size,
        body_size,
    ) = HEADER.unpack_from(frame, position)
    if magic != MAGIC:
        raise ProtocolError(f"A record begins with {magic!r}, not {MAGIC!r}: the peer does not speak this protocol.")
    if not _OLDEST <= version <= _NEWEST and kind not in (RecordKind.HELLO, RecordKind.CLOSE):
        raise ProtocolError(
            f"A record is of version {version}; versions {VERSIONS[0]} to {VERSIONS[1]} are known here."
        )
    if kind not in _CLASSES or flags > ALL_FLAGS or reserved or tag_size > TAG_LIMIT:
        raise ProtocolError(
            f"A record has kind {kind}, flags {flags:#x} and a tag of {tag_size} bytes, which none may have."
        )
    position += HEADER.size
    inside = 0 if flags & _FOLLOWS else body_size
    if tag_size + meta_size + inside > len(frame) - position:
        raise ProtocolError(
            f"A record announces {tag_size + meta_size + inside:,} bytes, but {len(frame) - position:,} are left of its frame."
        )
    tag_end = position + tag_size
    meta_end = tag_end + meta_size
    end = meta_end + inside
    record = _CLASSES[kind](
        kind,
        flags,
        sequence,
        epoch,
        incarnation,
        step,
        edge,
        bytes(frame[position:tag_end]) if tag_size else b"",
        bytes(frame[tag_end:meta_end]) if meta_size else b"",
        frame[meta_end:end],
        offset,
        total,
        body_size,
        version,
    )
    return record, end


def pack(value: Any, default: Callable[[Any], msgpack.ExtType] | None = None) -> bytes:
    """`value` in msgpack. Raises TypeError for what has no form there and gets none from `default`, ValueError for what a peer
    would refuse."""
    packed: bytes = msgpack.packb(value, use_bin_type=True, default=default)
    if len(packed) > _META_COUNT:  # each entry takes a byte or more
        _check_counts(value)
    return packed


def unpack(data: bytes | memoryview, extension: Callable[[int, bytes], Any] | None = None) -> Any:
    """The one value in `data`. Raises ProtocolError; counts are limited, because a list is allocated at its count. There are
    extension types only where `extension` makes values of them. It is not asked for msgpack's own, a timestamp, which is read as
    a float, so that no value has a type that others can't have."""
    try:
        if extension is None:
            return msgpack.unpackb(
                data, raw=False, strict_map_key=False, max_array_len=_META_COUNT, max_map_len=_META_COUNT, max_ext_len=0
            )
        return msgpack.unpackb(
            data,
            raw=False,
            strict_map_key=False,
            max_array_len=_META_COUNT,
            max_map_len=_META_COUNT,
            max_ext_len=_HANDLE_LIMIT,
            ext_hook=extension,
            timestamp=1,
        )
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise ProtocolError(f"Metadata is not what msgpack allows here: {error or type(error).__name__}.") from error


def unpack_fields(record: FrameRecord, *types: type | tuple[type, ...]) -> list[Any]:
    """The metadata of `record`, a list with as many entries as `types`, each of its type. Raises ProtocolError."""
    fields = unpack(record.meta)
    if type(fields) is not list or len(fields) != len(types):
        raise ProtocolError(
            f"The metadata of a {RecordKind(record.kind).name} record is no list of {len(types)} entries."
        )
    for field, expected in zip(fields, types):
        if not isinstance(field, expected) or (type(field) is bool and expected is not bool):
            raise ProtocolError(
                f"The metadata of a {RecordKind(record.kind).name} record has a {type(field).__name__} out of place."
            )
    return fields


def _check_counts(value: Any) -> None:
    if isinstance(value, list | tuple | dict):
        if len(value) > _META_COUNT:
            raise ValueError(
                f"A list or map of a message has {len(value):,} entries; {_META_COUNT:,} are the most. Send larger ones as bytes."
            )
        for entry in value.values() if isinstance(value, dict) else value:
            if type(entry) not in _LEAVES:
                _check_counts(entry)
