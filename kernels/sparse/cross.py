"""Kernel of hashed crosses. It computes on the host."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

from ..strings.hash import fingerprint64

_MASK = 2**64 - 1
_MULTIPLIER = 0xC6A4A7935BD1E995


def _mixed(value: int) -> int:
    return value ^ (value >> 47)


def joined(first: int, second: int) -> int:
    """One fingerprint of two, as FarmHash's users in TensorFlow join them."""
    mixed = first ^ _MULTIPLIER ^ (_mixed(second * _MULTIPLIER & _MASK) * _MULTIPLIER & _MASK)
    mixed = mixed * _MULTIPLIER & _MASK
    return _mixed(_mixed(mixed) * _MULTIPLIER & _MASK)


@kernel("CrossHashed")
def cross_hashed(xp: Any, inputs: Any, *, num_buckets: int, hash_key: int) -> Any:
    count = len(inputs) // 3
    rows = {int(shape[0]) for shape in inputs[2 * count :]}
    if len(rows) > 1:
        raise InvalidArgumentError(f"The inputs of a cross have different numbers of rows: {sorted(rows)}.")
    batch = rows.pop()
    columns = [_hashes(*parts, batch) for parts in zip(inputs[:count], inputs[count : 2 * count])]
    places, values = [], []
    for row in range(batch):
        for number, combination in enumerate(itertools.product(*(column[row] for column in columns))):
            fingerprint = hash_key & _MASK
            for part in combination:
                fingerprint = joined(fingerprint, part)
            places.append((row, number))
            values.append(fingerprint % (num_buckets or 2**63 - 1))
    most = max((number + 1 for _, number in places), default=0)
    indices = np.array(places, np.int64).reshape(-1, 2)
    return indices, np.array(values, np.int64), np.array([batch, most], np.int64)


def _hashes(indices: Any, values: Any, batch: int) -> list[list[int]]:
    """For each row, the fingerprints of its elements: integers are their own."""
    rows: list[list[int]] = [[] for _ in range(batch)]
    for row, value in zip(indices[:, 0].tolist(), values.tolist()):
        rows[row].append(fingerprint64(value) if isinstance(value, bytes) else value & _MASK)
    return rows
