"""Examples from their JSON form, as the parser of Protocol Buffers in TensorFlow reads it.

That parser takes more than the specification of the form: a single value for a list, lists in lists, hexadecimal numbers in
quotes. Programs were written against it, so such texts give the same values here, and its refusals are refusals here.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from typing import Any

from actorflow.base.dtypes import DType, float32, int64, string
from actorflow.base.records.features import write_feature
from actorflow.base.records.wire import write_field

_LISTS = {"bytesList": string, "floatList": float32, "int64List": int64}
_LISTS |= {"bytes_list": string, "float_list": float32, "int64_list": int64}
_DEEPEST = 95  # lists in lists: 100 levels are the most of a text, and five of them are around the values
_EXACT = 2.0**53  # up to which every whole number is a float of 64 bits
_BEYOND = 2.0**128 - 2.0**103  # the least number that is rounded to infinity in 32 bits
_DIGITS = 19  # of the largest integer of 64 bits

# No two neighbours of these patterns take the same characters: a long text that does not fit is refused in one pass.
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?")
_WORD = re.compile(r"([+-]?(?:inf(?:inity)?|nan))(?:(?<=nan)\([a-z0-9_]*\))?", re.ASCII | re.IGNORECASE)


class _Number(str):
    """A number without quotes, as the text has it: `-0` and digits beyond a float of 64 bits are kept."""

    __slots__ = ()


def example_from_json(text: bytes) -> bytes:
    """An Example message from the JSON form of one (byte strings in base64).

    Raises:
        ValueError: the text is no such JSON; the error is a sentence that says where and why.
    """
    try:  # an object becomes a tuple of its pairs, since some keys may come twice; an array becomes a list
        content = json.loads(
            text.decode(),
            object_pairs_hook=tuple,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_no_number,
            strict=False,
        )
    except RecursionError:
        raise ValueError("The text is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(f"The text is no JSON: {error}.") from None
    return b"".join([write_field(1, _features(value)) for _, value in _fields(content, "The text", "features")])


def _no_number(text: str) -> Any:
    """Raises ValueError: JSON has no NaN and no infinities, but Python would read them."""
    raise ValueError(f"{text} needs quotes")


def _fields(value: Any, place: str, *keys: str) -> list[tuple[str, Any]]:
    """The pairs of an object that has no other keys; null stands for a field that is not there."""
    if not isinstance(value, tuple):
        raise ValueError(f"{place} is {_shown(value)}, but must be an object.")
    for key, _ in value:
        if key not in keys:
            raise ValueError(f"{place} has the key {_shown(key)}; its keys are {', '.join(keys)}.")
    return [pair for pair in value if pair[1] is not None]


def _features(value: Any) -> bytes:
    entries: list[bytes] = []
    for _, features in _fields(value, "features", "feature"):
        if not isinstance(features, tuple):
            raise ValueError(f"features.feature is {_shown(features)}, but must be an object with features by name.")
        names: set[str] = set()
        for name, feature in features:
            place = f"The feature {_shown(name)}"
            if name in names:
                raise ValueError(f"{place} is there twice.")
            names.add(name)
            try:
                entry = write_field(1, name.encode())
            except UnicodeEncodeError:
                raise ValueError(f"{place} has half a surrogate pair in its name, which is no text.") from None
            if feature is not None:
                entry += write_field(2, _feature(feature, place))
            entries.append(write_field(1, entry))
    return b"".join(entries)


def _feature(value: Any, place: str) -> bytes:
    lists = _fields(value, place, *_LISTS)
    if not lists:
        return b""
    if len(lists) > 1:
        raise ValueError(f"{place} has {lists[0][0]} and {lists[1][0]}, but a feature has one list.")
    key, content = lists[0]
    dtype, place = _LISTS[key], f"{place} ({key})"
    values: list[Any] = []
    for _, part in _fields(content, place, "value"):
        try:
            _add(values, dtype, part)
        except ValueError as error:
            raise ValueError(f"{place} can't be read: {error}.") from None
    return write_feature(dtype, values)


def _add(values: list[Any], dtype: DType, part: Any, depth: int = 0) -> None:
    """Adds the values of an array, of arrays in it, or a single value."""
    if isinstance(part, list):
        if depth == _DEEPEST:
            raise ValueError("its arrays are nested too deeply")
        for item in part:
            _add(values, dtype, item, depth + 1)
    elif part is None:
        values.append(b"" if dtype is string else 0)
    else:
        values.append(_READERS[dtype](part))


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str) or isinstance(value, _Number):
        raise ValueError(f"{_shown(value)} is no string of base64")
    text = value.replace("-", "+").replace("_", "/").rstrip("=")
    padding = "=" * (-len(text) % 4)
    if len(value) not in (len(text), len(text) + len(padding)):
        raise ValueError(f"{_shown(value)} is no base64: it needs {len(padding)} signs = at its end, or none")
    try:
        return base64.b64decode(text + padding, validate=True)
    except ValueError:
        raise ValueError(f"{_shown(value)} is no base64") from None


def _float(value: Any) -> float:
    number = _double(value.strip(" \t\n\v\f\r")) if isinstance(value, str) else None
    if number is None:
        raise ValueError(f"{_shown(value)} is no number")
    if abs(number) >= _BEYOND and (math.isfinite(number) or isinstance(value, _Number)):
        raise ValueError(f"{_shown(value)} is beyond the numbers of float32")
    return number


def _integer(value: Any) -> int:
    if isinstance(value, str):
        if _WHOLE.fullmatch(value):
            digits = value.lstrip("+-0") or "0"  # Python reads no more than 4300 digits, be they zeros
            whole = int(digits) if len(digits) <= _DIGITS else 2**64
            whole = -whole if value[0] == "-" else whole
            if -(2**63) <= whole < 2**63:
                return whole
        else:
            number = _double(value)
            if number is not None and abs(number) <= _EXACT and number.is_integer():
                return int(number)
    raise ValueError(f"{_shown(value)} is no integer of 64 bits (with a fraction or an exponent: of 53 bits)")


def _double(text: str) -> float | None:
    """A number of 64 bits from its text; None for another text."""
    if _DECIMAL.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return -math.inf if text[0] == "-" else math.inf
    word = _WORD.fullmatch(text)
    return float(word[1]) if word else None


_READERS: dict[DType, Callable[[Any], Any]] = {string: _bytes, float32: _float, int64: _integer}


def _shown(value: Any) -> str:
    """A part of the text for an error, in JSON as well."""
    if isinstance(value, (tuple, list)):
        return "an object" if isinstance(value, tuple) else "an array"
    text = str(value) if isinstance(value, _Number) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
