"""Hashes of many strings at once are those of each string by itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from actorflow.kernels.strings import packed_hash
from actorflow.kernels.strings.hash import fingerprint64, hash64, siphash

KEY = {"k0": 0x0706050403020100, "k1": 2**64 - 1}
HASHES: dict[str, tuple[Callable[[bytes], int], Callable[[Any], Any]]] = {
    "fingerprint64": (fingerprint64, packed_hash.fingerprints),
    "hash64": (hash64, packed_hash.murmurs),
    "siphash": (partial(siphash, **KEY), partial(packed_hash.siphashes, **KEY)),
}


@pytest.mark.parametrize("name", HASHES)
def test_each_length_gives_the_hash_of_one_string(name: str, seed: int) -> None:
    one, many = HASHES[name]
    rng = random.Random(seed)
    strings = [rng.randbytes(length) for length in (*range(140), *range(140), 1000)]
    rng.shuffle(strings)
    assert packed_hash.hashes(strings, one, many).tolist() == [one(string) for string in strings]


@pytest.mark.parametrize("name", HASHES)
@pytest.mark.parametrize("strings", [[b""], [b"", b""], [b"a" * 500], [b"12345678", b""]], ids=str)
def test_batches_without_some_lengths(name: str, strings: list[bytes]) -> None:
    one, many = HASHES[name]
    assert packed_hash.hashes(strings, one, many).tolist() == [one(string) for string in strings]
