"""Hashes of many strings at once: numpy computes a step of all strings of a length class, where `hash` takes string by string.

The formulas are those of `hash`, in numbers of 64 bits that wrap around by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
"""FarmHash's constants."""

Words: TypeAlias = Any
"""An array of uint64."""

FEWEST = 24
"""From this number of strings on this is quicker than string by string."""

LONGEST = 64
"""Bytes of the longest string that is hashed here."""

_k0, _k1, _k2 = (np.uint64(k) for k in (K0, K1, K2))


class Packed:
    """Strings behind each other in one array of bytes."""

    def __init__(self, strings: Sequence[bytes]) -> None:
        self._bytes = np.frombuffer(b"".join(strings) + bytes(8), np.uint8)
        self.lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        self._starts = np.cumsum(self.lengths) - self.lengths

    def of(self, chosen: Any) -> Packed:
        """Some of the strings."""
        packed = object.__new__(Packed)
        packed._bytes, packed.lengths, packed._starts = self._bytes, self.lengths[chosen], self._starts[chosen]
        return packed

    def word(self, at: Any, size: int = 8) -> Words:
        """`size` bytes of each string from `at` on, from its end where `at` is negative, as a number."""
        begin = self._starts + (at if np.ndim(at) or at >= 0 else self.lengths + at)
        read = self._bytes[begin[:, None] + np.arange(size)]
        if size == 8:
            return read.view("<u8")[:, 0]
        return read.view(f"<u{size}")[:, 0].astype(np.uint64) if size > 1 else read[:, 0].astype(np.uint64)

    def tail(self, at: Any) -> Words:
        """The bytes from `at` to the end, of which there are fewer than eight, as a number."""
        left = (self.lengths - at).astype(np.uint64)
        return self.word(at) & ((np.uint64(1) << (left << np.uint64(3))) - np.uint64(1))


def hashes(
    strings: Sequence[bytes], one: Callable[[bytes], int], many: Callable[[Packed], Words], longest: int = LONGEST
) -> Words:
    """The hash of each string.

    Args:
        strings: the strings.
        one: hashes one string, which is longer than `longest`.
        many: hashes all others.
        longest: the most bytes that `many` takes.
    """
    packed = Packed(strings)
    short = packed.lengths <= longest
    words = np.empty(len(strings), np.uint64)
    words[short] = many(packed.of(short))
    words[~short] = [one(strings[index]) for index in np.flatnonzero(~short).tolist()]
    return words


def _right(value: Words, by: int) -> Words:
    return value >> np.uint64(by) | value << np.uint64(64 - by)


def _mix(value: Words) -> Words:
    return value ^ value >> np.uint64(47)


def _len16(u: Words, v: Words, mul: Words) -> Words:
    a = _mix((u ^ v) * mul)
    return _mix((v ^ a) * mul) * mul


def _factor(s: Packed) -> Words:
    return _k2 + s.lengths.astype(np.uint64) * np.uint64(2)


def _up_to_3(s: Packed) -> Words:
    n = s.lengths.astype(np.uint64)
    y = s.word(0, 1) + (s.word(s.lengths >> 1, 1) << np.uint64(8))
    return _mix(y * _k2 ^ (n + (s.word(-1, 1) << np.uint64(2))) * _k0) * _k2


def _up_to_7(s: Packed) -> Words:
    return _len16(s.lengths.astype(np.uint64) + (s.word(0, 4) << np.uint64(3)), s.word(-4, 4), _factor(s))


def _up_to_16(s: Packed) -> Words:
    mul = _factor(s)
    a, b = s.word(0) + _k2, s.word(-8)
    return _len16(_right(b, 37) * mul + a, (_right(a, 25) + b) * mul, mul)


def _up_to_32(s: Packed) -> Words:
    mul = _factor(s)
    a, b, c, d = s.word(0) * _k1, s.word(8), s.word(-8) * mul, s.word(-16) * _k2
    return _len16(_right(a + b, 43) + _right(c, 30) + d, a + _right(b + _k2, 18) + c, mul)


def _up_to_64(s: Packed) -> Words:
    mul = _factor(s)
    a, b, c, d = s.word(0) * _k2, s.word(8), s.word(-8) * mul, s.word(-16) * _k2
    y = _right(a + b, 43) + _right(c, 30) + d
    z = _len16(y, a + _right(b + _k2, 18) + c, mul)
    e, f = s.word(16) * mul, s.word(24)
    g, h = (y + s.word(-32)) * mul, (z + s.word(-24)) * mul
    return _len16(_right(e + f, 43) + _right(g, 30) + h, e + _right(f + a, 18) + g, mul)


_CLASSES = ((1, 3, _up_to_3), (4, 7, _up_to_7), (8, 16, _up_to_16), (17, 32, _up_to_32), (33, 64, _up_to_64))


def fingerprints(strings: Packed) -> Words:
    """FarmHash's Fingerprint64 of strings of at most 64 bytes."""
    words = np.full(len(strings.lengths), _k2)
    for least, most, formula in _CLASSES:
        chosen = np.flatnonzero((strings.lengths >= least) & (strings.lengths <= most))
        if len(chosen):
            words[chosen] = formula(strings.of(chosen))
    return words


def murmurs(strings: Packed) -> Words:
    """TensorFlow's own hash, `hash64`."""
    m, words = np.uint64(0xC6A4A7935BD1E995), strings.lengths.astype(np.uint64)
    words = np.uint64(0xDECAFCAFFE) ^ words * m
    for at in range(0, int(strings.lengths.max(initial=0)) & ~7, 8):
        chosen = np.flatnonzero(strings.lengths >= at + 8)
        words[chosen] = (words[chosen] ^ _mix(strings.of(chosen).word(at) * m) * m) * m
    chosen = np.flatnonzero(strings.lengths & 7)
    rest = strings.of(chosen)
    words[chosen] = (words[chosen] ^ rest.tail(rest.lengths & ~7)) * m
    return _mix(_mix(words) * m)


def siphashes(strings: Packed, k0: int, k1: int) -> Words:
    """SipHash-2-4 under a key of two numbers of 64 bits."""
    start = (k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573)
    state = np.array(start, np.uint64)[:, None].repeat(len(strings.lengths), 1)
    for at in range(0, int(strings.lengths.max(initial=0)) & ~7, 8):
        chosen = np.flatnonzero(strings.lengths >= at + 8)
        state[:, chosen] = _absorb(state[:, chosen], strings.of(chosen).word(at))
    tail = strings.tail(strings.lengths & ~7) | (strings.lengths & 0xFF).astype(np.uint64) << np.uint64(56)
    a, b, c, d = _absorb(state, tail)
    a, b, c, d = _rounds(a, b, c ^ np.uint64(0xFF), d, 4)
    return a ^ b ^ c ^ d


def _absorb(state: Words, word: Words) -> Words:
    a, b, c, d = state
    a, b, c, d = _rounds(a, b, c, d ^ word, 2)
    return np.array((a ^ word, b, c, d))


def _rounds(a: Words, b: Words, c: Words, d: Words, count: int) -> tuple[Words, Words, Words, Words]:
    for _ in range(count):
        a = a + b
        b = _right(b, 51) ^ a
        a = _right(a, 32)
        c = c + d
        d = _right(d, 48) ^ c
        a = a + d
        d = _right(d, 43) ^ a
        c = c + b
        b = _right(b, 47) ^ c
        c = _right(c, 32)
    return a, b, c, d
