"""The kernel that chooses tokens by their logits.

A row's random number is one round of SplitMix64 (Steele et al. 2014) over its seed, and another round over its place. So all rows
are drawn at once, and none depends on another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

_STEP, _FIRST, _SECOND = (np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def _mixed(words: Any) -> Any:
    words = words + _STEP
    words = (words ^ words >> np.uint64(30)) * _FIRST
    words = (words ^ words >> np.uint64(27)) * _SECOND
    return words ^ words >> np.uint64(31)


def uniform(seed: Any, place: Any) -> Any:
    """A float64 in [0, 1) for each seed and place."""
    seed, place = (np.asarray(words, np.int64).view(np.uint64) for words in (seed, place))
    return (_mixed(_mixed(seed) ^ place) >> np.uint64(11)) * 2.0**-53


@kernel("SampleTokens")
def sample_tokens(xp: Any, logits: Any, temperature: Any, top_k: Any, top_p: Any, seed: Any, place: Any) -> Any:
    if logits.shape[1] == 0:
        return np.full(len(logits), -1, np.int32)
    is_fit = np.isfinite(logits.max(-1))
    chosen = np.where(is_fit, logits.argmax(-1), -1).astype(np.int32)
    rows = np.flatnonzero(is_fit & (temperature > 0))
    if rows.size:
        scaled = (logits[rows] - logits[rows, chosen[rows], None]) / temperature[rows, None].astype(np.float64)
        shares = _limited(np.exp(scaled), top_k[rows], top_p[rows])
        sums = np.cumsum(shares, 1)
        is_behind = sums > (uniform(seed[rows], place[rows]) * sums[:, -1])[:, None]
        chosen[rows] = np.where(is_behind[:, -1], is_behind.argmax(1), chosen[rows])
    return chosen


def _limited(shares: Any, top_k: Any, top_p: Any) -> Any:
    """The shares, with zeros for tokens that do not count. Equals of the last that counts do so too."""
    tokens = shares.shape[1]
    limited = np.flatnonzero((top_k > 0) & (top_k < tokens) | (top_p < 1))
    if not limited.size:
        return shares
    rows = np.arange(limited.size)
    some, top_k, top_p = shares[limited], top_k[limited], top_p[limited].astype(np.float64)
    ordered = -np.sort(-some, 1)
    least = ordered[rows, np.where(top_k > 0, np.minimum(top_k, tokens), tokens) - 1]
    sums = np.cumsum(np.where(ordered >= least[:, None], ordered, 0), 1)
    counts = (sums < (top_p * sums[:, -1])[:, None]).sum(1)
    least = np.maximum(least, ordered[rows, np.where(top_p < 1, np.minimum(counts, tokens - 1), tokens - 1)])
    shares[limited] = np.where(some >= least[:, None], some, 0)
    return shares
