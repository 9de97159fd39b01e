"""TensorFlow's random numbers as its datasets draw them: Philox 4x32 with 10 rounds, one number of 32 bits after another."""

from __future__ import annotations

from typing import Any

import numpy as np

_FEWEST, _MOST = 64, 1024
"""The blocks of four numbers that are computed at once: more of them cost less each, and a short shuffle draws few."""
_M = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W = 0x9E3779B9, 0xBB67AE85
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)


class Numbers:
    """A stream of numbers, known by two seeds of 64 bits. `drawn` counts those that it gave."""

    __slots__ = ("_at", "_block", "_key", "_rest", "_words", "drawn")

    def __init__(self, seed: int, seed2: int) -> None:
        self._key = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
        self._rest = seed2 & 0xFFFFFFFF, seed2 >> 32 & 0xFFFFFFFF
        self._words: list[int] = []
        self._block = self._at = self.drawn = 0

    def next(self) -> int:
        """The next number, of 32 bits."""
        if self._at == len(self._words):
            self._words, self._at = self._blocks(), 0
        self._at += 1
        self.drawn += 1
        return self._words[self._at - 1]

    def several(self, count: int) -> list[int]:
        """The next numbers."""
        numbers: list[int] = []
        while len(numbers) < count:
            if self._at == len(self._words):
                self._words, self._at = self._blocks(), 0
            part = self._words[self._at : self._at + count - len(numbers)]
            self._at += len(part)
            numbers += part
        self.drawn += count
        return numbers

    def skip(self, count: int) -> None:
        """Goes on as if `count` numbers had been drawn from the beginning."""
        self.drawn = count
        self._block = count // 4
        self._words, self._at = self._blocks(), count % 4

    def _blocks(self) -> list[int]:
        count = _MOST if self._words else _FEWEST
        counter = np.arange(self._block, self._block + count, dtype=np.uint64)
        self._block += count
        words: list[Any] = [counter & _LOW, counter >> _SHIFT]
        words += [np.full(count, value, np.uint64) for value in self._rest]
        key = self._key
        for _ in range(10):
            first, second = words[0] * _M[0], words[2] * _M[1]
            words = [
                second >> _SHIFT ^ words[1] ^ np.uint64(key[0]),
                second & _LOW,
                first >> _SHIFT ^ words[3] ^ np.uint64(key[1]),
                first & _LOW,
            ]
            key = (key[0] + _W[0]) & 0xFFFFFFFF, (key[1] + _W[1]) & 0xFFFFFFFF
        numbers: list[int] = np.stack(words, axis=1).reshape(-1).tolist()
        return numbers
