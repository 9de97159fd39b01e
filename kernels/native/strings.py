"""Hash buckets of strings, their parts, letters, joints, lengths, and the numbers that they spell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import pack
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel

from ..strings import elementwise, numbers
from ..strings import hash as hashing
from ..strings import split as splitting
from ..strings.objects import single
from .library import function

_WHITE = b" \t\n\v\f\r"


_buckets = function("buckets", lambda x, count: hashing.string_to_hash_bucket_fast(np, x, num_buckets=count))
_split = function("split")
_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native"}


@kernel("StringToHashBucketFast", **_OPTIONS)
def string_to_hash_bucket_fast(xp: Any, x: Any, *, num_buckets: int) -> Any:
    return _buckets(x, num_buckets)


@kernel("StringSplit", **_OPTIONS)
def string_split(xp: Any, x: Any, delimiter: Any, *, skip_empty: bool) -> Any:
    parts = _split(x, single(delimiter), skip_empty, False)
    return splitting.string_split(xp, x, delimiter, skip_empty=skip_empty) if parts is None else parts


@kernel("StringSplitV2", **_OPTIONS)
def string_split_v2(xp: Any, x: Any, sep: Any, *, maxsplit: int) -> Any:
    between = single(sep)
    parts = _split(x, between or _WHITE, not between, bool(between)) if maxsplit < 0 and len(between) < 2 else None
    return splitting.string_split_v2(xp, x, sep, maxsplit=maxsplit) if parts is None else parts


_strong, _numbers, _lowered, _glued, _lengths = (
    function(name) for name in ("strong_buckets", "numbers_of", "lowered", "glued", "lengths")
)
_WORD = 2**64 - 1


@kernel("StringToHashBucketStrong", **_OPTIONS)
def string_to_hash_bucket_strong(xp: Any, x: Any, *, num_buckets: int, key: Sequence[int]) -> Any:
    buckets = _strong(x, num_buckets, pack("<2Q", *[k & _WORD for k in key])) if len(key) == 2 else None
    if buckets is not None:
        return buckets
    return hashing.string_to_hash_bucket_strong(xp, x, num_buckets=num_buckets, key=key)


@kernel("StringToNumber", **_OPTIONS)
def string_to_number(xp: Any, x: Any, *, out_type: DType) -> Any:
    read = _numbers(x, np.dtype(out_type.numpy_dtype).char)
    return numbers.string_to_number(xp, x, out_type=out_type) if read is None else read


def _of_ascii(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return not attrs["encoding"]


@kernel("StringLower", can=_of_ascii, **_OPTIONS)
def lower(xp: Any, x: Any, *, encoding: str) -> Any:
    letters = _lowered(x, False)
    return elementwise.lower(xp, x, encoding=encoding) if letters is None else letters


@kernel("StringUpper", can=_of_ascii, **_OPTIONS)
def upper(xp: Any, x: Any, *, encoding: str) -> Any:
    letters = _lowered(x, True)
    return elementwise.upper(xp, x, encoding=encoding) if letters is None else letters


def _of_bytes(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return bool(attrs["unit"] == "BYTE")


@kernel("StringLength", can=_of_bytes, **_OPTIONS)
def length(xp: Any, x: Any, *, unit: str) -> Any:
    counts = _lengths(x)
    return elementwise.length(xp, x, unit=unit) if counts is None else counts


@kernel("StringJoin", **_OPTIONS)
def string_join(xp: Any, inputs: Any, *, separator: str) -> Any:
    shape = next((value.shape for value in inputs if value.ndim), ())
    whole = [value if value.ndim else np.broadcast_to(value, shape).copy() for value in inputs] if shape else inputs
    joined = _glued(separator.encode(), *whole)
    return elementwise.string_join(xp, inputs, separator=separator) if joined is None else joined
