"""Bodies of requests: their bounds, their compression, and JSON."""

from __future__ import annotations

import contextlib
import importlib
import json
import zlib
from collections.abc import Callable
from typing import Any

from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.frontends.http.answers import TooLargeError


def _quicker() -> Any:
    try:
        return importlib.import_module("orjson")
    except ImportError:
        return None


orjson: Any = _quicker()
"""Another reader and writer of JSON, several times as fast, or None."""


_NOTHING = object()
_PACKED_PIECE, _UNPACKED_PIECE = 16 << 10, 256 << 10
_MOST_WITHOUT_RATIO, _MOST_RATIO = 1 << 20, 100
"""Bytes that any body may have when it is unpacked, and by how many times it may grow beyond them."""
_MOST_MEMBERS = 1000


Check = Callable[[], None]
"""Is called between the pieces of long work. It raises the error with which the work ends."""


def unpacked(body: bytes, encoding: str, most: int, check: Check = lambda: None) -> bytes:
    """A body without its compression.

    Args:
        body: the body.
        encoding: `gzip` or `deflate`; "" and `identity` mean none.
        most: the most bytes that it may have.
        check: is called between pieces.

    Raises:
        TooLargeError: it has more, or many times its own size.
        InvalidArgumentError: it is damaged.
        UnimplementedError: another encoding.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UnimplementedError(f"The content encoding {encoding[:60]!r} is not known; gzip and deflate are.")
    most_by_ratio = max(_MOST_WITHOUT_RATIO, _MOST_RATIO * len(body))
    parts: list[bytes] = []
    size = at = members = 0
    while at < len(body) or not members:
        members += 1
        if members > 1 and (encoding == "deflate" or members > _MOST_MEMBERS or body[at : at + 2] != b"\x1f\x8b"):
            raise InvalidArgumentError(f"The body is no {encoding}: {len(body) - at} bytes follow its end.")
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
        while not unpack.eof:
            check()
            data = unpack.unconsumed_tail
            if not data:
                data = body[at : at + _PACKED_PIECE]
                at += len(data)
            try:
                part = unpack.decompress(data, _UNPACKED_PIECE)
            except zlib.error as error:
                raise InvalidArgumentError(f"The body is no {encoding}: {error}.") from None
            if not part and not data and not unpack.eof:
                raise InvalidArgumentError(f"The body is no {encoding}: it is cut off.")
            size += len(part)
            if size > most:
                raise TooLargeError(f"The body has more than {most} bytes when it is unpacked.")
            if size > most_by_ratio:
                raise TooLargeError(
                    f"The body has more than {_MOST_RATIO} times its {len(body)} bytes when it is unpacked."
                )
            parts.append(part)
        at -= len(unpack.unused_data)
    return b"".join(parts)


def parsed(text: bytes, at: int = 0) -> Any:
    """The value that JSON is. NaN, Infinity and -Infinity are numbers.

    Args:
        text: the JSON.
        at: its place in a body, for the error.

    Raises:
        InvalidArgumentError: it is no JSON, or an object has a key twice.
    """
    value: Any = _NOTHING
    if orjson is not None:
        with contextlib.suppress(ValueError):  # perhaps NaN, which it does not know
            value = orjson.loads(text)
    try:
        if value is _NOTHING or (colons := text.count(b":")) > 1 and _keys(value) != colons:
            known_text = text.decode("utf-8-sig")
            value = json.loads(known_text, object_pairs_hook=_without_doubles)
            if "\\u" in known_text:  # half of a surrogate pair is no text that can be sent back
                json.dumps(value, ensure_ascii=False).encode()
    except InvalidArgumentError:
        raise
    except (ValueError, RecursionError) as error:
        where = f", behind byte {at}" if at else ""
        raise InvalidArgumentError(f"JSON Parse error: {error or 'the value is empty or too deep'}{where}.") from None
    return value


def _keys(value: Any) -> int:
    """The keys of all objects in a value: as many as it has colons, unless texts have some, or an object has a key twice."""
    if isinstance(value, dict):
        return len(value) + sum(_keys(item) for item in value.values() if isinstance(item, (dict, list)))
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        return sum(map(_keys, value))
    return 0


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in members if keys.count(key) > 1)
        raise InvalidArgumentError(f"JSON Parse error: the key {double[:60]!r} is there twice in an object.")
    return members


def load_json(body: bytes) -> dict[str, Any]:
    """The object that a body is. NaN, Infinity and -Infinity are numbers.

    Raises:
        InvalidArgumentError: it is no JSON, or no object.
    """
    content = parsed(body)
    if not isinstance(content, dict):
        raise InvalidArgumentError(f"JSON Value: the body has to be an object, but it is a {type(content).__name__}.")
    return content
