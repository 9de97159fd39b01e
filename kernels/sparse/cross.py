"""Kernel of hashed crosses. It computes on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

from ..strings import packed_hash
from ..strings.hash import fingerprint64

_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)


def _mixed(words: Any) -> Any:
    return words ^ (words >> _SHIFT)


def joined(first: Any, second: Any) -> Any:
    """Fingerprints of pairs of them, as FarmHash's users in TensorFlow join two: arrays of 64-bit words."""
    mixed = (first ^ _MULTIPLIER ^ (_mixed(second * _MULTIPLIER) * _MULTIPLIER)) * _MULTIPLIER
    return _mixed(_mixed(mixed) * _MULTIPLIER)


@kernel("CrossHashed")
def cross_hashed(xp: Any, inputs: Any, *, num_buckets: int, hash_key: int) -> Any:
    count = len(inputs) // 3
    rows = {int(shape[0]) for shape in inputs[2 * count :]}
    if len(rows) > 1:
        raise InvalidArgumentError(f"The inputs of a cross have different numbers of rows: {sorted(rows)}.")
    batch = rows.pop()
    columns = [_hashes(*parts, batch) for parts in zip(inputs[:count], inputs[count : 2 * count])]
    crosses = np.prod([counts for _, _, counts in columns], axis=0, dtype=np.int64)
    rows_of = np.repeat(np.arange(batch), crosses)
    numbers = np.arange(len(rows_of)) - np.repeat(np.cumsum(crosses) - crosses, crosses)
    parts, left = [], numbers
    for words, starts, counts in reversed(columns):
        left, place = np.divmod(left, counts[rows_of])  # the last column's elements follow each other
        parts.append(words[starts[rows_of] + place])
    fingerprints = np.full(len(rows_of), hash_key % 2**64, np.uint64)
    for part in reversed(parts):
        fingerprints = joined(fingerprints, part)
    values = (fingerprints % np.uint64(num_buckets or 2**63 - 1)).astype(np.int64)
    most = int(crosses.max()) if batch else 0
    return np.stack([rows_of, numbers], axis=1), values, np.array([batch, most], np.int64)


def _hashes(indices: Any, values: Any, batch: int) -> tuple[Any, Any, Any]:
    """The fingerprints of a column's elements by rows, with the place of each row's first element and the number of its
    elements. Integers are their own fingerprints."""
    order = np.argsort(indices[:, 0], kind="stable")
    counts = np.bincount(indices[:, 0], minlength=batch)
    words: Any
    if values.dtype.kind != "O":
        words = values.astype(np.int64).view(np.uint64)
    elif len(values) < packed_hash.FEWEST:
        words = np.array([fingerprint64(value) for value in values.tolist()], np.uint64)
    else:
        words = packed_hash.hashes(values.tolist(), fingerprint64, packed_hash.fingerprints)
    return words[order], np.cumsum(counts) - counts, counts
