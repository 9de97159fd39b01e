"""Sorted tables of LevelDB, as pure functions between keys with values and bytes.

A table is blocks of entries, an index block that says where each block is, and a footer that says where the index is. An entry
leaves out what its key has in common with the key before it; every sixteenth key is whole. Each block ends in one byte for its
compression (none) and a masked CRC-32C.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from actorflow.base.records.crc32c import masked_crc32c
from actorflow.base.records.wire import BrokenMessageError, varint, write_varint
from actorflow.errors import DataLossError, UnimplementedError

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = 5
_BLOCK = 4096  # bytes
_WHOLE = 16  # keys from a whole key to the next whole key


def write_table(entries: Mapping[bytes, bytes]) -> bytes:
    """The bytes of a table."""
    out = bytearray()
    index: list[tuple[bytes, bytes]] = []
    block: list[tuple[bytes, bytes]] = []
    size = 0
    for key in sorted(entries):
        block.append((key, entries[key]))
        size += len(key) + len(entries[key])
        if size >= _BLOCK:
            index.append((key, _append(out, block)))
            block, size = [], 0
    if block or not index:
        index.append((block[-1][0] if block else b"", _append(out, block)))
    meta = _append(out, [])
    footer = meta + _append(out, index)
    return bytes(out + footer.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC))


def _append(out: bytearray, block: list[tuple[bytes, bytes]]) -> bytes:
    """Adds a block, and gives its handle: its place and its length."""
    start, before = len(out), b""
    places: list[int] = []
    for number, (key, value) in enumerate(block):
        shared = 0
        if number % _WHOLE == 0:
            places.append(len(out) - start)
        else:
            most = min(len(key), len(before))
            while shared < most and key[shared] == before[shared]:
                shared += 1
        out += write_varint(shared) + write_varint(len(key) - shared) + write_varint(len(value)) + key[shared:] + value
        before = key
    places = places or [0]
    out += struct.pack(f"<{len(places) + 1}I", *places, len(places))
    size = len(out) - start
    out += b"\0"
    out += struct.pack("<I", masked_crc32c(bytes(out[start:])))
    return write_varint(start) + write_varint(size)


def read_table(data: bytes) -> dict[bytes, bytes]:
    """The entries of a table.

    Raises:
        DataLossError: it is damaged, or no table.
        UnimplementedError: its blocks are compressed.
    """
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise DataLossError("it is cut off, or no table")
    try:
        footer = data[-_FOOTER:]
        _, position = varint(footer, 0)
        _, position = varint(footer, position)
        entries: dict[bytes, bytes] = {}
        for _, handle in _entries(_block(data, footer[position:])):
            entries.update(_entries(_block(data, handle)))
        return entries
    except (BrokenMessageError, IndexError, struct.error) as error:
        raise DataLossError(f"its blocks are damaged: {error}") from None


def _block(data: bytes, handle: bytes) -> bytes:
    start, position = varint(handle, 0)
    size, _ = varint(handle, position)
    end = start + size
    if end + _TRAILER > len(data):
        raise DataLossError("it is cut off")
    if struct.unpack("<I", data[end + 1 : end + _TRAILER])[0] != masked_crc32c(data[start : end + 1]):
        raise DataLossError(f"the checksum of its block at byte {start} is another")
    if data[end]:
        raise UnimplementedError("its blocks are compressed, which is not read; save it with a TensorFlow since 2017")
    return data[start:end]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    (count,) = struct.unpack("<I", block[-4:])
    end = len(block) - 4 * (count + 1)
    if end < 0:
        raise DataLossError("a block is damaged")
    position, key = 0, b""
    while position < end:
        shared, position = varint(block, position)
        own, position = varint(block, position)
        size, position = varint(block, position)
        if position + own + size > end or shared > len(key):
            raise DataLossError("a block is damaged")
        key = key[:shared] + block[position : position + own]
        position += own
        yield key, block[position : position + size]
        position += size
