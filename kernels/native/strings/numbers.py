"""Hash buckets of strings, numbers from strings and strings from numbers, records of CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import pack
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.packed_strings import unpacked
from actorflow.base.registry.kernel import kernel

from ...io import decoding
from ...strings import hash as hashing
from ...strings import numbers
from ...strings.objects import as_arrays
from ..library import function
from .parts import Packs

_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native", "packed": "read"}
_WORD = 2**64 - 1

_buckets = function("buckets", lambda x, count: hashing.string_to_hash_bucket_fast(np, x, num_buckets=count))
_old_buckets = function("old_buckets", lambda x, count: hashing.string_to_hash_bucket(np, x, num_buckets=count))
_strong, _numbers, _spelled, _csv = (function(name) for name in ("strong_buckets", "numbers_of", "spelled", "csv"))


# ---- hashes


@kernel("StringToHashBucket", **_OPTIONS)
def string_to_hash_bucket(xp: Any, x: Any, *, num_buckets: int) -> Any:
    return _old_buckets(x, num_buckets)


@kernel("StringToHashBucketFast", **_OPTIONS)
def string_to_hash_bucket_fast(xp: Any, x: Any, *, num_buckets: int) -> Any:
    return _buckets(x, num_buckets)


@kernel("StringToHashBucketStrong", **_OPTIONS)
def string_to_hash_bucket_strong(xp: Any, x: Any, *, num_buckets: int, key: Sequence[int]) -> Any:
    buckets = _strong(x, num_buckets, pack("<2Q", *[k & _WORD for k in key])) if len(key) == 2 else None
    if buckets is not None:
        return buckets
    return hashing.string_to_hash_bucket_strong(xp, x, num_buckets=num_buckets, key=key)


# ---- numbers


@kernel("StringToNumber", **_OPTIONS)
def string_to_number(xp: Any, x: Any, *, out_type: DType) -> Any:
    read = _numbers(x, np.dtype(out_type.numpy_dtype).char)
    return numbers.string_to_number(xp, x, out_type=out_type) if read is None else read


def _plain(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return attrs["fill"] in ("", "0", "-") and not (attrs["scientific"] and attrs["shortest"])


@kernel("AsString", can=_plain, **_OPTIONS)
def as_string(
    xp: Any, x: Any, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str, packs: Packs = ()
) -> Any:
    letter = b"g" if shortest else b"e" if scientific else b"f"
    of_floats = x.dtype.kind == "f" or not (scientific or shortest or precision >= 0)
    x = unpacked(x)
    spelled = _spelled(x, letter, precision, width, fill.encode(), 0 in packs) if of_floats else None
    if spelled is not None:
        return spelled
    return numbers.as_string(
        xp, x, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill
    )


# ---- records


@kernel("DecodeCSV", **_OPTIONS)
def decode_csv(
    xp: Any,
    records: Any,
    record_defaults: Sequence[Any],
    *,
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: tuple[int, ...],
    packs: Packs = (),
) -> Any:
    picked = np.array(select_cols, np.int64) if select_cols else None
    defaults = tuple(map(as_arrays, record_defaults))
    packed = tuple([port in packs for port in range(len(defaults))])
    columns = _csv(records, field_delim.encode(), use_quote_delim, na_value.encode(), defaults, picked, packed)
    if columns is not None:
        return columns if len(columns) > 1 else columns[0]
    return decoding.decode_csv(
        xp,
        unpacked(records),
        unpacked(record_defaults),
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=select_cols,
    )
