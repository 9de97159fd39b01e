"""Bodies of requests and answers: their bounds, their compression, and JSON."""

from __future__ import annotations

import importlib
import json
import math
import zlib
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError, UnimplementedError


def _quicker() -> Any:
    try:
        return importlib.import_module("orjson")
    except ImportError:
        return None


orjson: Any = _quicker()
"""Another reader and writer of JSON, several times as fast, or None."""


class TooLargeError(InvalidArgumentError):
    """A body is larger than the server takes."""


def unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """A body without its compression.

    Args:
        body: the body.
        encoding: `gzip` or `deflate`; "" and `identity` mean none.
        most: the most bytes that it may have.

    Raises:
        TooLargeError: it has more.
        InvalidArgumentError: it is damaged.
        UnimplementedError: another encoding.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise UnimplementedError(f"The content encoding {encoding[:60]!r} is not known; gzip and deflate are.")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        found = unpack.decompress(body, most + 1)
    except zlib.error as error:
        raise InvalidArgumentError(f"The body is no {encoding}: {error}.") from None
    if len(found) > most:
        raise TooLargeError(f"The body has more than {most} bytes when it is unpacked.")
    if not unpack.eof:
        raise InvalidArgumentError(f"The body is no {encoding}: it is cut off.")
    return found


def load_json(body: bytes) -> dict[str, Any]:
    """The object that a body is. NaN, Infinity and -Infinity are numbers.

    Raises:
        InvalidArgumentError: it is no JSON, or no object.
    """
    found: Any = None
    if orjson is not None:
        try:
            found = orjson.loads(body)
        except ValueError:
            found = None  # perhaps NaN, which it does not know
    if found is None:
        try:
            text = body.decode("utf-8-sig")
            found = json.loads(text)
            if "\\u" in text:  # half of a surrogate pair is no text that can be sent back
                json.dumps(found, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise InvalidArgumentError(f"JSON Parse error: {error or 'the value is empty or too deep'}.") from None
    if not isinstance(found, dict):
        raise InvalidArgumentError(f"JSON Value: the body has to be an object, but it is a {type(found).__name__}.")
    return found


def dump_json(value: Any, *, plain: bool = False) -> bytes:
    """A value with arrays in it as JSON. NaN and infinities are written as `NaN`, `Infinity` and `-Infinity`.

    Args:
        value: the value.
        plain: whether it is known to hold no floats, so none is looked for.
    """
    if orjson is not None and (plain or _finite(value)):
        written: bytes = orjson.dumps(value, _default, option=orjson.OPT_SERIALIZE_NUMPY)
        return written
    return json.dumps(value, default=_default, separators=(",", ":")).encode()


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
