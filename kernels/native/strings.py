"""Hash buckets of strings, and the parts of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

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
