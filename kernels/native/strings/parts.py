"""Parts, joints, letters and lengths of strings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.packed_strings import unpacked
from actorflow.base.registry.kernel import kernel

from ...strings import elementwise
from ...strings import split as splitting
from ...strings.objects import single
from ...strings.regex import class_of
from ..library import function

Packs: TypeAlias = "Collection[int]"
_WHITE = b" \t\n\v\f\r"
_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native", "packed": "read"}


# ---- parts

_split, _stripped, _cut = (function(name) for name in ("split", "stripped", "cut"))


@kernel("StringSplit", **_OPTIONS)
def string_split(xp: Any, x: Any, delimiter: Any, *, skip_empty: bool, packs: Packs = ()) -> Any:
    parts = _split(x, single(delimiter), False, skip_empty, False, -1, 1 in packs)
    return splitting.string_split(xp, x, delimiter, skip_empty=skip_empty) if parts is None else parts


@kernel("StringSplitV2", **_OPTIONS)
def string_split_v2(xp: Any, x: Any, sep: Any, *, maxsplit: int, packs: Packs = ()) -> Any:
    between = single(sep)
    parts = None
    if between or maxsplit:  # without a separator and a split a string stays as it is
        parts = _split(x, between or _WHITE, bool(between), not between, bool(between), maxsplit, 1 in packs)
    return splitting.string_split_v2(xp, x, sep, maxsplit=maxsplit) if parts is None else parts


@kernel("StringStrip", **_OPTIONS)
def strip(xp: Any, x: Any, *, packs: Packs = ()) -> Any:
    stripped = _stripped(x, 0 in packs)
    return elementwise.strip(xp, x) if stripped is None else stripped


def _of_bytes(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return bool(attrs["unit"] == "BYTE")


@kernel("Substr", can=_of_bytes, **_OPTIONS)
def substr(xp: Any, x: Any, pos: Any, size: Any, *, unit: str, packs: Packs = ()) -> Any:
    parts = _cut(x, np.asarray(pos), np.asarray(size), 0 in packs)
    return elementwise.substr(xp, unpacked(x), pos, size, unit=unit) if parts is None else parts


# ---- joints

_glued, _along, _segments = (function(name) for name in ("glued", "joined_along", "segments_joined"))


@kernel("StringJoin", **_OPTIONS)
def string_join(xp: Any, inputs: Any, *, separator: str, packs: Packs = ()) -> Any:
    shape = next((value.shape for value in inputs if value.ndim), ())
    whole = [value if value.ndim else np.broadcast_to(value, shape).copy() for value in inputs] if shape else inputs
    joined = _glued(separator.encode(), 0 in packs, *whole)
    return elementwise.string_join(xp, unpacked(inputs), separator=separator) if joined is None else joined


@kernel("ReduceJoin", **_OPTIONS)
def reduce_join(xp: Any, x: Any, axes: Any, *, keep_dims: bool, separator: str, packs: Packs = ()) -> Any:
    axis = int(np.reshape(axes, ())) if np.size(axes) == 1 else x.ndim
    joined = _along(x, axis % x.ndim, separator.encode(), 0 in packs) if -x.ndim <= axis < x.ndim else None
    if joined is None:
        return splitting.reduce_join(xp, unpacked(x), axes, keep_dims=keep_dims, separator=separator)
    if not keep_dims:
        return joined
    at = axis % x.ndim
    return joined.reshape(*x.shape[:at], 1, *x.shape[at + 1 :])


@kernel("UnsortedSegmentJoin", **_OPTIONS)
def unsorted_segment_join(xp: Any, x: Any, ids: Any, count: Any, *, separator: str, packs: Packs = ()) -> Any:
    joined = _segments(x, ids, int(count), separator.encode(), 0 in packs)
    return (
        splitting.unsorted_segment_join(xp, unpacked(x), ids, count, separator=separator) if joined is None else joined
    )


# ---- other characters

_replaced = function("classes_replaced")


@kernel("RegexReplace", **_OPTIONS)
def regex_replace(xp: Any, x: Any, pattern: Any, rewrite: Any, *, replace_global: bool, packs: Packs = ()) -> Any:
    characters = class_of(single(pattern))
    text = single(rewrite)
    replaced = None
    if characters is not None and b"\\" not in text:
        replaced = _replaced(x, characters.members, characters.runs, text, not replace_global, 0 in packs)
    return (
        elementwise.regex_replace(xp, x, pattern, rewrite, replace_global=replace_global)
        if replaced is None
        else replaced
    )


# ---- letters and lengths

_lowered, _lengths, _letters = (function(name) for name in ("lowered", "lengths", "letter_counts"))


def _of_ascii(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return not attrs["encoding"]


@kernel("StringLower", can=_of_ascii, **_OPTIONS)
def lower(xp: Any, x: Any, *, encoding: str, packs: Packs = ()) -> Any:
    letters = _lowered(x, False, 0 in packs)
    return elementwise.lower(xp, x, encoding=encoding) if letters is None else letters


@kernel("StringUpper", can=_of_ascii, **_OPTIONS)
def upper(xp: Any, x: Any, *, encoding: str, packs: Packs = ()) -> Any:
    letters = _lowered(x, True, 0 in packs)
    return elementwise.upper(xp, x, encoding=encoding) if letters is None else letters


@kernel("StringLength", **_OPTIONS)
def length(xp: Any, x: Any, *, unit: str) -> Any:
    counts = _lengths(x) if unit == "BYTE" else _letters(x)
    return elementwise.length(xp, x, unit=unit) if counts is None else counts
