"""`load`: the JSON of a large body in pieces, on a thread, so that the event loop goes on beside it.

A parser in C keeps the interpreter's lock until it ends, so other requests would wait for as long, and a thread alone is no
help. Here the text is cut at commas into pieces of some ten thousand bytes. Each is parsed alone, in a millisecond at most, and
its numbers become an array at once: a large body costs little more memory than its numbers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.frontends.http.answers import TooLargeError
from actorflow.frontends.serving.protocols.bodies import Check, load_json, parsed

PIECE = 32 << 10
"""Bytes of a piece, about."""
_DEEPEST = 16
"""Lists and objects within each other that are larger than a piece."""
_NESTED = 128
_LEAST_ARRAY = 64
"""Elements of a list that becomes an array. Shorter lists, such as shapes, stay lists."""
_SPACE = re.compile(rb"[ \t\r\n]*")
_KEY = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:', re.DOTALL)
_QUOTE, _COMMA = ord('"'), ord(",")
_PAIRS = {ord("["): ord("]"), ord("{"): ord("}")}
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Work:
    """The bounds of the work for a body, and what ends it early.

    most_elements: the most elements of all lists of its JSON.
    most_others: the most values that are in no array: texts, objects, lists of them.
    check: is called between pieces.
    """

    most_elements: int = 1 << 24
    most_others: int = 1 << 18
    check: Check = lambda: None

    def check_others(self, values: int) -> None:
        """Raises TooLargeError for more values than may be in no array."""
        if values > self.most_others:
            raise TooLargeError(
                f"The body has more than {self.most_others} values that are no list of numbers. Send fewer at a time, or "
                "numbers as bytes."
            )


USUAL = Work()
"""The bounds unless others are given."""


def load(body: bytes, work: Work) -> dict[str, Any]:
    """The object that a body is. Long lists of numbers in a large body are arrays.

    Args:
        body: the body.
        work: the bounds.

    Raises:
        TooLargeError: it has more elements.
        InvalidArgumentError: it is no JSON, or no object.
    """
    if len(body) <= 2 * PIECE:
        return load_json(body)
    content = _BodyReader(body, work).value(len(_BOM) * body.startswith(_BOM), len(body), 0)
    if not isinstance(content, dict):
        raise InvalidArgumentError(f"JSON Value: the body has to be an object, but it is a {type(content).__name__}.")
    return content


class _BodyReader:
    """Reads one body; it counts values."""

    def __init__(self, body: bytes, work: Work) -> None:
        self._body, self._work, self._check = body, work, work.check
        self._others = 0

    def value(self, begin: int, end: int, level: int) -> Any:
        """The value of a part of the body."""
        begin, end = self._without_blanks(begin, end)
        if end - begin <= 2 * PIECE:
            value = parsed(self._body[begin:end], begin)
            return self._packed(value) if isinstance(value, (list, dict)) else value
        first, last = self._body[begin], self._body[end - 1]
        if first == _QUOTE:
            return parsed(self._body[begin:end], begin)
        if first not in _PAIRS:
            raise InvalidArgumentError(f"JSON Parse error: the value at byte {begin} is too long for a number.")
        if last != _PAIRS[first]:
            raise InvalidArgumentError(f"JSON Parse error: the value that begins at byte {begin} has no end.")
        if level >= _DEEPEST:
            raise InvalidArgumentError("JSON Parse error: large values are nested too deeply.")
        return (self._list if first == ord("[") else self._object)(begin, end, level)

    def _without_blanks(self, begin: int, end: int) -> tuple[int, int]:
        """The part of a part without white space at its ends."""
        while begin < end and (match := _SPACE.match(self._body, begin, min(begin + PIECE, end))):
            if match.end() == begin:
                break
            begin = match.end()
            self._check()
        while begin < end and self._body[end - 1] in _BLANKS:
            least = max(begin, end - PIECE)
            end = least + len(self._body[least:end].rstrip(_BLANKS))
            self._check()
        return begin, end

    def _object(self, begin: int, end: int, level: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for first, last in self._groups(begin, end, level):
            if last - first <= 2 * PIECE:
                several = self._packed(parsed(b"{%b}" % self._body[first:last], first))
            else:
                key = _KEY.match(self._body, first, first + 2 * PIECE)
                if key is None:
                    raise InvalidArgumentError(f"JSON Parse error: a key and a value are expected at byte {first}.")
                several = {parsed(key[1], first): self.value(key.end(), last, level + 1)}
            if not members.keys().isdisjoint(several):
                raise InvalidArgumentError("JSON Parse error: a key is there twice in an object.")
            members.update(several)
        return members

    def _list(self, begin: int, end: int, level: int) -> Any:
        parts: list[Any] = []
        for first, last in self._groups(begin, end, level):
            if last - first <= 2 * PIECE:
                parts.append(self._packed(parsed(b"[%b]" % self._body[first:last], first), 1))
            else:
                item = self.value(first, last, level + 1)
                parts.append(item[None] if isinstance(item, np.ndarray) else [item])
        return self._joined(parts)

    def _joined(self, parts: list[Any]) -> Any:
        """The parts of a list as one array, or as one list."""
        if all(isinstance(part, np.ndarray) for part in parts) and len({part.shape[1:] for part in parts}) == 1:
            return np.concatenate(parts)
        values: list[Any] = []
        for part in parts:
            if isinstance(part, np.ndarray):
                self._count(len(part))
            values.extend(part.tolist() if isinstance(part, np.ndarray) and part.ndim == 1 else part)
        return values

    def _packed(self, value: Any, least: int = _LEAST_ARRAY) -> Any:
        """A value whose lists of numbers are arrays. It counts the other values."""
        if isinstance(value, dict):
            self._count(len(value))
            return {key: self._packed(item) if isinstance(item, (list, dict)) else item for key, item in value.items()}
        if len(value) >= least or value and isinstance(value[0], list):
            array = _numbers(value)
            if array is not None and array.size >= least:
                return array
        self._count(len(value))
        return [self._packed(item) if isinstance(item, (list, dict)) else item for item in value]

    def _count(self, values: int) -> None:
        self._others += values
        self._work.check_others(self._others)

    def _groups(self, begin: int, end: int, level: int) -> Iterator[tuple[int, int]]:
        """The items between the brackets of a list or object: several small items, or a large item, at a time."""
        first = begin + 1
        for comma in [*self._commas(begin, end, level), end - 1]:  # all of it is looked at before any of it is parsed
            if not self._body[first : min(comma, first + PIECE)].strip(_BLANKS) and comma - first <= PIECE:
                raise InvalidArgumentError(f"JSON Parse error: a value is expected at byte {first}.")
            yield first, comma
            first = comma + 1

    def _commas(self, begin: int, end: int, level: int) -> Iterator[int]:
        """Of each piece the first and the last comma that is between two items of the list or object itself."""
        body, at, depth, within, elements = self._body, begin, 0, 0, 0
        while at < end:
            self._check()
            text = body[at : min(at + PIECE, end)]
            if (len(text) - len(text.rstrip(b"\\"))) % 2:  # an escape is not cut
                text += body[at + len(text) : at + len(text) + 1]
            size = len(text)
            if b"\\" in text:
                text = text.replace(b"\\\\", b"__").replace(b'\\"', b"__")
            bytes_ = np.frombuffer(text, np.uint8)
            inside = np.cumsum(bytes_ == _QUOTE, dtype=np.int32) + within
            within = int(inside[-1]) & 1
            outside = inside & 1 == 0
            commas = (bytes_ == _COMMA) & outside
            opens = ((bytes_ == ord("[")) | (bytes_ == ord("{"))) & outside
            closes = ((bytes_ == ord("]")) | (bytes_ == ord("}"))) & outside
            depths = np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32) + depth
            if not level:
                elements += int(np.count_nonzero(commas)) + int(np.count_nonzero(opens))
                if elements > self._work.most_elements:
                    raise TooLargeError(f"The body has more than {self._work.most_elements} elements.")
                if int(depths.max()) > _NESTED:
                    raise InvalidArgumentError("JSON Parse error: values are nested too deeply.")
            places = np.flatnonzero(commas & (depths == 1))
            if len(places):
                yield at + int(places[0])
                if len(places) > 1:
                    yield at + int(places[-1])
            depth, at = int(depths[-1]), at + size
            closed = np.flatnonzero(depths <= 0)
            if len(closed) and at - size + int(closed[0]) != end - 1:
                raise InvalidArgumentError(
                    f"JSON Parse error: the value that begins at byte {begin} ends before byte {end}."
                )
        if depth or within:
            raise InvalidArgumentError(f"JSON Parse error: the value that begins at byte {begin} has no end.")


def _numbers(values: list[Any]) -> Any:
    """A list as an array of numbers; None for any other list."""
    first = values[0]
    while isinstance(first, list) and first:
        first = first[0]
    if not isinstance(first, (int, float)):
        return None
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "biuf" else None


def array_of(values: Any) -> Any:
    """Values as an array, in pieces if there are many rows. Raises what NumPy raises."""
    if not isinstance(values, list) or len(values) <= 1024:
        return np.asarray(values)
    parts = [np.asarray(values[at : at + 1024]) for at in range(0, len(values), 1024)]
    if len({part.shape[1:] for part in parts}) > 1:
        raise ValueError("the rows have different sizes")
    return np.concatenate(parts)
