"""Mutations of files that keep what is around them whole: the lengths and checksums of the outer parts fit what has become of the
inner ones, so that a parser gets to all of them."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import msgpack

from actorflow.base.records import tfrecord
from actorflow.base.records.crc32c import masked_crc32c
from actorflow.base.records.wire import BYTES, VARINT, BrokenMessageError, fields, write_field, write_varint

Mutate = Callable[[bytes, Random], bytes]

NUMBERS = (0, 1, 2, 3, 127, 128, 255, 2**15, 2**24, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
TEXTS = (b"", b"\xff\xfe\x00", b"a" * 3000, b"../../x", b"99999999999999999999", b"-1", b"nan", b"\x00", b":0", b"^x")
_DEEP = 200


def binary(data: bytes, random: Random) -> bytes:
    """Cuts, changes, copies and inserts bytes, and puts numbers at the ends of the ranges where others were."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(out) + 1)
        match random.randrange(6):
            case 0:
                del out[at:]
            case 1 if at < len(out):
                out[at] ^= 1 << random.randrange(8)
            case 2:
                width = random.choice((1, 2, 4, 8))
                number = random.choice(NUMBERS) & (1 << 8 * width) - 1
                out[at : at + width] = number.to_bytes(width, random.choice(("little", "big")))
            case 3:
                del out[at : at + random.choice((1, 2, 4, 8, 100))]
            case 4:
                start = random.randrange(len(out) + 1)
                out[at:at] = out[start : start + random.choice((1, 8, 64))]
            case _:
                out[at:at] = random.randbytes(random.choice((1, 4, 40)))
    return bytes(out)


# ---- Protocol Buffers


def protobuf(data: bytes, random: Random) -> bytes:
    """Changes fields of a message, at any depth."""
    if random.random() < 0.15:
        return binary(data, random)
    tree = _tree(data)
    if tree is None:
        return binary(data, random)
    for _ in range(random.choice((1, 1, 2, 4))):
        places: list[tuple[list[Any], int]] = []
        _places(tree, places)
        if not places:
            break
        _change(*random.choice(places), places, random)
    return _bytes(tree)


def _tree(data: bytes, depth: int = 0) -> list[Any] | None:
    """Fields as `[number, kind, value]`; those of a message within are in a list. None for what looks like no message."""
    try:
        tree: list[Any] = [list(field) for field in fields(data)]
    except BrokenMessageError:
        return None
    if depth and (not tree or any(number > 2000 for number, _, _ in tree)):
        return None
    for field in tree:
        if field[1] == BYTES and depth < 12:
            field[2] = _tree(field[2], depth + 1) or field[2]
    return tree


def _places(tree: list[Any], places: list[tuple[list[Any], int]]) -> None:
    for index, field in enumerate(tree):
        places.append((tree, index))
        if isinstance(field[2], list):
            _places(field[2], places)


def _change(siblings: list[Any], index: int, places: list[tuple[list[Any], int]], random: Random) -> None:
    if index >= len(siblings):
        return
    field = siblings[index]
    match random.randrange(9):
        case 0:
            del siblings[index]
        case 1:
            siblings[index:index] = [list(field) for _ in range(random.choice((1, 1, 3, 50)))]
        case 2:
            other, place = random.choice(places)
            if place < len(other):
                kind, value = other[place][1:]
                field[1:] = kind, _bytes(value) if isinstance(value, list) else value
        case 3:
            field[0] = random.choice((1, 2, 3, 4, 5, 7, 8, 15, 16, 100, 2**29 - 1))
        case 4 if isinstance(field[2], list):
            inner = _bytes(field[2])
            for _ in range(random.choice((3, _DEEP))):
                inner = write_field(field[0], inner)
            field[2] = inner
        case 5:
            field[1:] = [VARINT, random.choice(NUMBERS)] if field[1] == BYTES else [BYTES, random.choice(TEXTS)]
        case _:
            if field[1] == VARINT:
                field[2] = random.choice((*NUMBERS, random.randrange(1 << 20)))
            elif field[1] != BYTES:
                field[2] = random.choice((b"\xff", b"\x00", b"\x7f")) * len(field[2])
            elif isinstance(field[2], list):
                field[2] = []
            else:
                field[2] = random.choice((*TEXTS, binary(bytes(field[2]), random)))


def _bytes(tree: list[Any]) -> bytes:
    out = []
    for number, kind, value in tree:
        if kind == BYTES:
            out.append(write_field(number, _bytes(value) if isinstance(value, list) else bytes(value)))
        else:
            out.append(write_varint(number << 3 | kind) + (write_varint(value) if kind == VARINT else bytes(value)))
    return b"".join(out)


# ---- trees of JSON and msgpack


def _other(value: Any, random: Random) -> Any:
    simple = (None, True, -1, 0, 1, 3, 2**31, 2**53, 2**62, -(2**63), 0.5, 1e300, "", "x", "\x00", "../x", [], {}, [[]])
    if isinstance(value, list) and random.random() < 0.5:
        return random.choice((value[1:], value * 2, [value], value[::-1]))
    if isinstance(value, dict) and value and random.random() < 0.5:
        kept = dict(value)
        gone = random.choice(list(kept))
        rest = kept.pop(gone)
        return random.choice((kept, {**kept, "other": rest}))
    return random.choice(simple)


def _changed(value: Any, random: Random) -> Any:
    """`value` with a part that is another one."""
    if isinstance(value, (list, tuple)) and value and random.random() < 0.85:
        at = random.randrange(len(value))
        return [*value[:at], _changed(value[at], random), *value[at + 1 :]]
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = random.choice(list(value))
        return {**value, key: _changed(value[key], random)}
    return _other(value, random)


def json_text(data: bytes, random: Random) -> bytes:
    """Changes values of a text of JSON."""
    match random.randrange(8):
        case 0:
            return binary(data, random)
        case 1:
            return b"[" * 100_000 + data
    return json.dumps(_changed(json.loads(data), random)).encode()


def packed(data: bytes, random: Random) -> bytes:
    """Changes values of msgpack."""
    if random.random() < 0.25:
        return binary(data, random)
    value = msgpack.unpackb(data, raw=False, strict_map_key=False, unicode_errors="surrogateescape")
    changed: bytes = msgpack.packb(_changed(value, random), default=str, unicode_errors="surrogateescape")
    return changed


def text(data: bytes, random: Random) -> bytes:
    """Moves, drops and changes words and lines."""
    if random.random() < 0.2:
        return binary(data, random)
    separator = random.choice((b"\n", b" ", b",", b'"'))
    parts = data.split(separator)
    at = random.randrange(len(parts))
    match random.randrange(5):
        case 0:
            del parts[at]
        case 1:
            parts[at:at] = [parts[at]] * random.choice((1, 30))
        case 2:
            parts[at] = random.choice((*TEXTS, b"{", b"}", b"{" * 500, b'"', b"\\", b"\\777", b"1e999"))
        case 3:
            parts[at] = binary(parts[at], random)
        case _:
            parts[at] = parts[random.randrange(len(parts))]
    return separator.join(parts)


# ---- containers with checksums


def records(inner: Mutate) -> Mutate:
    """Changes records of a TFRecord file by `inner`, or the framing, with checksums of lengths that fit."""

    def mutate(data: bytes, random: Random) -> bytes:
        content = list(tfrecord.split(data, True).records)
        at = random.randrange(len(content))
        match random.randrange(4):
            case 0:
                return binary(data, random)
            case 1:
                length = struct.pack("<Q", random.choice(NUMBERS))
                return tfrecord.join(content[:at]) + length + struct.pack("<I", masked_crc32c(length)) + content[at]
        content[at] = inner(content[at], random)
        return tfrecord.join(content)

    return mutate


def safetensors(data: bytes, random: Random) -> bytes:
    """Changes the header of a file of safetensors."""
    (size,) = struct.unpack("<Q", data[:8])
    match random.randrange(5):
        case 0:
            return binary(data, random)
        case 1:
            return struct.pack("<Q", random.choice(NUMBERS) & 2**64 - 1) + data[8:]
    header = json_text(data[8 : 8 + size], random)
    return struct.pack("<Q", len(header)) + header + data[8 + size :]


def manifest(data: bytes, random: Random) -> bytes:
    """Changes the JSON of a checkpoint's manifest, behind a first line whose checksum fits."""
    from actorflow.checkpoint.format.manifest import _first_line

    if random.random() < 0.2:
        return binary(data, random)
    body = json_text(data.partition(b"\n")[2], random)
    return _first_line(body) + body


def table(data: bytes, random: Random) -> bytes:
    """Changes the entries of the index of a bundle, with checksums that fit."""
    from actorflow.checkpoint.bundle.table import read_table, write_table

    if random.random() < 0.2:
        return binary(data, random)
    entries = read_table(data)
    key = random.choice(list(entries))
    match random.randrange(5):
        case 0:
            value = entries.pop(key)
            entries[random.choice((b"\xff\xfe", b"other", b"\0slice", key + b"x"))] = value
        case 1:
            del entries[key]
        case _:
            entries[key] = protobuf(entries[key], random)
    return write_table(dict(sorted(entries.items())))


def png(data: bytes, random: Random) -> bytes:
    """Changes a chunk of a PNG, whose checksum fits."""
    if random.random() < 0.2:
        return binary(data, random)
    chunks, at = [], 8
    while at + 12 <= len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + size]))
        at += 12 + size
    index = random.randrange(len(chunks))
    kind, content = chunks[index]
    chunks[index] = random.choice((kind, b"IDAT", b"PLTE", b"tRNS", b"zTXt")), binary(content, random)
    return data[:8] + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
