"""Kernels of hash buckets, and the hashes: FarmHash's Fingerprint64, SipHash-2-4, and TensorFlow's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from struct import unpack_from
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

from . import packed_hash
from .objects import mapped

_MASK = 2**64 - 1
_K0, _K1, _K2 = packed_hash.K0, packed_hash.K1, packed_hash.K2


def _buckets(xp: Any, hash_one: Callable[[bytes], int], many: Callable[[Any], Any], x: Any, count: int) -> Any:
    """The bucket of each string, whose hash `hash_one` gives of one string and `many` of some that are packed."""
    if np.size(x) < packed_hash.FEWEST:
        return mapped(lambda s: hash_one(s) % count, x, xp.int64)
    hashes = packed_hash.hashes(x.reshape(-1).tolist(), hash_one, many)
    return (hashes % np.uint64(count)).astype(np.int64).reshape(x.shape)


@kernel("StringToHashBucket")
def string_to_hash_bucket(xp: Any, x: Any, *, num_buckets: int) -> Any:
    return _buckets(xp, hash64, packed_hash.murmurs, x, num_buckets)


@kernel("StringToHashBucketFast")
def string_to_hash_bucket_fast(xp: Any, x: Any, *, num_buckets: int) -> Any:
    return _buckets(xp, fingerprint64, packed_hash.fingerprints, x, num_buckets)


@kernel("StringToHashBucketStrong")
def string_to_hash_bucket_strong(xp: Any, x: Any, *, num_buckets: int, key: Sequence[int]) -> Any:
    if len(key) != 2:
        raise ValueError(f"Key must have 2 elements, but {list(key)} was given.")
    k0, k1 = (int(k) & _MASK for k in key)
    return _buckets(xp, partial(siphash, k0=k0, k1=k1), partial(packed_hash.siphashes, k0=k0, k1=k1), x, num_buckets)


def hash64(data: bytes) -> int:
    """TensorFlow's own hash: MurmurHash2 for 64 bits with a seed of its own."""
    m, n = 0xC6A4A7935BD1E995, len(data)
    h = 0xDECAFCAFFE ^ (n * m & _MASK)
    whole = n & ~7
    for (k,) in (unpack_from("<Q", data, i) for i in range(0, whole, 8)):
        k = k * m & _MASK
        k = (k ^ k >> 47) * m & _MASK
        h = (h ^ k) * m & _MASK
    if n > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & _MASK
    h = (h ^ h >> 47) * m & _MASK
    return h ^ h >> 47


# ---- FarmHash: namespace farmhashna of github.com/google/farmhash


def _at(data: bytes, i: int) -> int:
    return int.from_bytes(data[i : i + 8], "little")


def _right(value: int, by: int) -> int:
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _mix(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _len16(u: int, v: int, mul: int) -> int:
    a = _mix((u ^ v) * mul)
    return _mix((v ^ a) * mul) * mul & _MASK


def _up_to_16(s: bytes) -> int:
    n = len(s)
    if n >= 8:
        mul = _K2 + n * 2
        a, b = _at(s, 0) + _K2, _at(s, n - 8)
        c = _right(b, 37) * mul + a
        return _len16(c & _MASK, (_right(a, 25) + b) * mul & _MASK, mul)
    if n >= 4:
        first, last = int.from_bytes(s[:4], "little"), int.from_bytes(s[-4:], "little")
        return _len16(n + (first << 3), last, _K2 + n * 2)
    if n:
        y, z = s[0] + (s[n >> 1] << 8), n + (s[-1] << 2)
        return _mix(y * _K2 ^ z * _K0) * _K2 & _MASK
    return _K2


def _up_to_32(s: bytes) -> int:
    n = len(s)
    mul = _K2 + n * 2
    a, b, c, d = _at(s, 0) * _K1 & _MASK, _at(s, 8), _at(s, n - 8) * mul & _MASK, _at(s, n - 16) * _K2
    u = _right(a + b, 43) + _right(c, 30) + d
    return _len16(u & _MASK, (a + _right(b + _K2, 18) + c) & _MASK, mul)


def _up_to_64(s: bytes) -> int:
    n = len(s)
    mul = _K2 + n * 2
    a, b, c, d = _at(s, 0) * _K2 & _MASK, _at(s, 8), _at(s, n - 8) * mul & _MASK, _at(s, n - 16) * _K2
    y = (_right(a + b, 43) + _right(c, 30) + d) & _MASK
    z = _len16(y, (a + _right(b + _K2, 18) + c) & _MASK, mul)
    e, f = _at(s, 16) * mul & _MASK, _at(s, 24)
    g, h = (y + _at(s, n - 32)) * mul & _MASK, (z + _at(s, n - 24)) * mul
    u = _right(e + f, 43) + _right(g, 30) + h
    return _len16(u & _MASK, (e + _right(f + a, 18) + g) & _MASK, mul)


def _weak(s: bytes, i: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = unpack_from("<4Q", s, i)
    a += w
    b = _right(b + a + z, 21)
    c = a
    a += x + y
    return (a + z) & _MASK, (b + _right(a, 44) + c) & _MASK


def fingerprint64(s: bytes) -> int:
    """FarmHash's Fingerprint64, which is the same on every machine and in every version."""
    n = len(s)
    if n <= 64:
        return _up_to_16(s) if n <= 16 else _up_to_32(s) if n <= 32 else _up_to_64(s)
    x, y = 81, (81 * _K1 + 113) & _MASK
    z = _mix(y * _K2 + 113) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    x = (x * _K2 + _at(s, 0)) & _MASK
    for i in range(0, (n - 1) // 64 * 64, 64):
        x = _right(x + y + v[0] + _at(s, i + 8), 37) * _K1
        y = _right(y + v[1] + _at(s, i + 48), 42) * _K1
        x = (x ^ w[1]) & _MASK
        y = (y + v[0] + _at(s, i + 40)) & _MASK
        z = _right(z + w[0], 33) * _K1 & _MASK
        v = _weak(s, i, v[1] * _K1, x + w[0])
        w = _weak(s, i + 32, z + w[1], y + _at(s, i + 16))
        z, x = x, z
    mul = _K1 + ((z & 0xFF) << 1)
    last = n - 64
    w = ((w[0] + (n - 1 & 63)) & _MASK, w[1])
    v = ((v[0] + w[0]) & _MASK, v[1])
    w = ((w[0] + v[0]) & _MASK, w[1])
    x = _right(x + y + v[0] + _at(s, last + 8), 37) * mul
    y = _right(y + v[1] + _at(s, last + 48), 42) * mul
    x = (x ^ w[1] * 9) & _MASK
    y = (y + v[0] * 9 + _at(s, last + 40)) & _MASK
    z = _right(z + w[0], 33) * mul & _MASK
    v = _weak(s, last, v[1] * mul, x + w[0])
    w = _weak(s, last + 32, z + w[1], y + _at(s, last + 16))
    z, x = x, z
    first = _len16(v[0], w[0], mul) + _mix(y) * _K0 + z
    return _len16(first & _MASK, (_len16(v[1], w[1], mul) + x) & _MASK, mul)


# ---- SipHash-2-4 (Aumasson and Bernstein, 2012)


def siphash(data: bytes, k0: int, k1: int) -> int:
    """SipHash-2-4 of `data` under a key of two 64-bit numbers."""
    state = (k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573)
    whole = len(data) & ~7
    tail = int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56
    for word in (*(_at(data, i) for i in range(0, whole, 8)), tail):
        a, b, c, d = state
        a, b, c, d = _rounds(a, b, c, d ^ word, 2)
        state = (a ^ word, b, c, d)
    a, b, c, d = state
    a, b, c, d = _rounds(a, b, c ^ 0xFF, d, 4)
    return a ^ b ^ c ^ d


def _rounds(a: int, b: int, c: int, d: int, count: int) -> tuple[int, int, int, int]:
    for _ in range(count):
        a = (a + b) & _MASK
        b = (b << 13 | b >> 51) & _MASK ^ a
        a = (a << 32 | a >> 32) & _MASK
        c = (c + d) & _MASK
        d = (d << 16 | d >> 48) & _MASK ^ c
        a = (a + d) & _MASK
        d = (d << 21 | d >> 43) & _MASK ^ a
        c = (c + b) & _MASK
        b = (b << 17 | b >> 47) & _MASK ^ c
        c = (c << 32 | c >> 32) & _MASK
    return a, b, c, d
