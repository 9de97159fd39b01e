"""Answers as JSON: `dump_json`. Large answers are written in pieces, so that a thread which writes holds no other thread up."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.frontends.serving.protocols.bodies import orjson

PIECE = 8 << 10
"""Elements that are written at a time, about."""
_LARGE_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """A list whose items are made as they are written.

    count: how many there are.
    width: the elements of each, about.
    part: makes those from one place to another.
    """

    count: int
    width: int
    part: Callable[[int, int], list[Any]]


def is_large(outputs: Any) -> bool:
    """Whether outputs take long to write, so that a thread writes them."""
    elements = size = 0
    for output in outputs:
        array = output if isinstance(output, np.ndarray) else np.asarray(output)
        elements += array.size
        if array.dtype.hasobject and array.size <= PIECE:
            size += sum([len(item) for item in array.flat if isinstance(item, (bytes, str))])
    return elements > PIECE or size > _LARGE_BYTES


def dump_json(value: Any, *, plain: bool = False) -> bytes:
    """A value with arrays in it as JSON. NaN and infinities are written as `NaN`, `Infinity` and `-Infinity`.

    Args:
        value: the value.
        plain: whether it is known to hold no floats, so none is looked for.
    """
    if not plain and isinstance(value, dict) and any(map(_is_long, value.values())):
        return b"".join(_pieces(value))
    if orjson is not None and (plain or _finite(value)):
        written: bytes = orjson.dumps(value, _default, option=orjson.OPT_SERIALIZE_NUMPY)
        return written
    return json.dumps(value, default=_default, separators=(",", ":")).encode()


def _is_long(value: Any) -> bool:
    """Whether a value may have more than a piece."""
    if isinstance(value, np.ndarray):
        return value.size > PIECE
    if isinstance(value, dict):
        return any(map(_is_long, value.values()))
    if isinstance(value, list):
        return len(value) > PIECE or any(map(_is_long, value))
    return isinstance(value, WrittenRows)


def _pieces(value: Any) -> Iterator[bytes]:
    if not _is_long(value):
        yield dump_json(value)
    elif isinstance(value, dict):
        for index, (key, item) in enumerate(value.items()):
            yield b"%b%b:" % (b"," if index else b"{", dump_json(key))
            yield from _pieces(item)
        yield b"}"
    elif isinstance(value, WrittenRows):
        yield from _listed(value.count, value.width, value.part)
    elif isinstance(value, np.ndarray):
        width = value.size // len(value)
        yield from _listed(len(value), width, lambda begin, end: value[begin:end])
    elif any(map(_is_long, value)):
        for index, item in enumerate(value):
            yield b"," if index else b"["
            yield from _pieces(item)
        yield b"]"
    else:
        yield from _listed(len(value), 1, lambda begin, end: value[begin:end])


def _listed(count: int, width: int, part: Callable[[int, int], Any]) -> Iterator[bytes]:
    """A list of `count` items of `width` elements."""
    rows = max(1, PIECE // max(1, width))
    for begin in range(0, count, rows):
        yield b"," if begin else b"["
        items = part(begin, begin + rows)
        if width > PIECE:
            yield from _pieces(items[0])
        else:
            yield dump_json(items)[1:-1]
    yield b"]" if count else b"[]"


def _finite(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _default(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"A {type(value).__name__} has no JSON.")
