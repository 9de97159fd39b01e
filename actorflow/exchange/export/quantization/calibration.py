"""`CalibrationHistogram`: the values of a tensor while data goes through, and the range of them that is worth its steps."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Method = Literal["minmax", "percentile", "entropy"]
_BINS = 4096
_CANDIDATES = 96
_EQUAL = 1e-12
"""Losses that differ by less differ by rounding alone."""


class CalibrationHistogram:
    """Counts of values, in bins of equal width around zero. The width doubles where a value lies outside: data is seen once."""

    def __init__(self) -> None:
        self.least = self.most = 0.0
        self._reach = 0.0
        self._counts = np.zeros(_BINS, np.int64)

    @property
    def count(self) -> int:
        """How many values there were, without zeros."""
        return int(self._counts.sum())

    def add(self, values: Any) -> None:
        """Counts values. Those that are not finite are left out, and so are zeros, which every range holds exactly: behind a ReLU
        they would outweigh all others."""
        flat = np.asarray(values, np.float32).reshape(-1)
        flat = flat[np.isfinite(flat) & (flat != 0)]
        if not flat.size:
            return
        self.least, self.most = min(self.least, float(flat.min())), max(self.most, float(flat.max()))
        top = max(-self.least, self.most)
        if not self._reach:
            self._reach = top
        while top > self._reach:
            half, rest = self._counts.reshape(-1, 2).sum(1), _BINS // 4
            self._counts = np.concatenate([np.zeros(rest, np.int64), half, np.zeros(rest, np.int64)])
            self._reach *= 2
        self._counts += np.histogram(flat, _BINS, (-self._reach, self._reach))[0]

    @property
    def is_signed(self) -> bool:
        """Whether there was a negative value."""
        return self.least < 0

    def limit(self, method: Method, percentile: float = 99.99) -> float:
        """The largest magnitude to keep; 0 where all values are 0.

        Args:
            method: `minmax` keeps all. `percentile` keeps this part of the magnitudes. `entropy` keeps as much as loses the least
                information (Kullback-Leibler divergence) when what is left is rounded to 8 bits.
            percentile: in percent, for `percentile`.
        """
        top = max(-self.least, self.most)
        if method == "minmax" or not top:
            return top
        half = _BINS // 2
        sizes = self._counts[half:] + self._counts[:half][::-1]  # of magnitudes, from zero on
        width = self._reach / half
        if method == "percentile":
            last = np.searchsorted(np.cumsum(sizes), percentile / 100 * sizes.sum()) + 1
            return min(top, float(last) * width)
        levels = 128 if self.is_signed else 256
        used = int(np.flatnonzero(sizes)[-1]) + 1
        if used <= levels:
            return top
        candidates = np.unique(np.linspace(levels, used, _CANDIDATES).astype(int))
        losses = np.array([_divergence(sizes[:used].astype(np.float64), int(end), levels) for end in candidates])
        best = candidates[losses <= losses.min() + _EQUAL][
            -1
        ]  # of ranges that lose as much, the range that cuts the least
        return min(top, float(best) * width)


def _divergence(sizes: Any, end: int, levels: int) -> float:
    """How far the values that are cut at `end` bins and rounded to levels are from the values as they were."""
    kept = sizes[:end].copy()
    kept[-1] += sizes[end:].sum()
    level = np.arange(end) * levels // end
    inside = sizes[:end]
    filled = inside > 0
    sums = np.bincount(level, inside, levels)
    places = np.bincount(level, filled, levels)
    means = np.divide(sums, places, out=np.zeros(levels), where=places > 0)
    rounded = np.where(filled, means[level], 0.0)
    p, q = kept / kept.sum(), rounded / max(rounded.sum(), 1.0)
    there = p > 0
    smallest = 1e-9
    return float((p[there] * np.log(p[there] / np.maximum(q[there], smallest))).sum())
