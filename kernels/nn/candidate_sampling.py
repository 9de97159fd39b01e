"""Kernels of candidate samplers. A draw takes one 64-bit word of the node's stream (see `philox`)."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext
from actorflow.errors import InvalidArgumentError

from ..random import philox
from ..random.distributions import stream
from ..random.philox import PhiloxStream


@dataclass(frozen=True, slots=True)
class _Distribution:
    """How to draw classes, and their probabilities; `classes` is how many have one above zero."""

    classes: int
    draw: Callable[[PhiloxStream, int], Any]
    probability: Callable[[Any], Any]


def _uniform(size: int) -> _Distribution:
    return _Distribution(
        size,
        lambda source, count: philox.integers(source, 0, size, (count,), np.int64),
        lambda classes: np.full(np.shape(classes), 1 / size),
    )


def _log_uniform(size: int) -> _Distribution:
    whole = math.log(size + 1)

    def draw(source: PhiloxStream, count: int) -> Any:
        u = np.empty(count)
        philox.uniform(53)(source, u)
        # Rounding may lead past the last class.
        return np.minimum(np.exp(u * whole).astype(np.int64) - 1, size - 1)

    return _Distribution(size, draw, lambda classes: np.log((classes + 2.0) / (classes + 1.0)) / whole)


def _weighted(weights: Any) -> _Distribution:
    sums = np.cumsum(weights, dtype=np.float64)

    def draw(source: PhiloxStream, count: int) -> Any:
        u = np.empty(count)
        philox.uniform(53)(source, u)
        return np.searchsorted(sums, u * sums[-1], side="right")

    return _Distribution(int(np.count_nonzero(weights)), draw, lambda classes: weights[classes] / sums[-1])


def _sample(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    source: PhiloxStream,
    how: _Distribution,
) -> tuple[Any, Any, Any]:
    _check_true(true_classes, num_true, range_max)
    if not unique:
        sampled, draws = how.draw(source, num_sampled), num_sampled
    elif how.classes < num_sampled:
        raise InvalidArgumentError(f"{num_sampled} different classes can't be drawn of {how.classes}.")
    else:
        sampled, draws = _distinct(source, num_sampled, how)

    def expected(classes: Any) -> Any:
        p = how.probability(classes)
        # As TensorFlow: where no class came twice, that the draws were unique has changed nothing.
        counts = p * draws if draws == num_sampled else -np.expm1(draws * np.log1p(-p))
        return counts.astype(np.float32)

    return sampled, expected(true_classes), expected(sampled)


def _distinct(source: PhiloxStream, count: int, how: _Distribution) -> tuple[Any, int]:
    """The first `count` different classes that are drawn, in that order, and how many draws it took."""
    drawn = np.zeros(0, np.int64)
    while True:
        drawn = np.concatenate([drawn, how.draw(source, max(64, 2 * count))])
        first = np.sort(np.unique(drawn, return_index=True)[1])
        if len(first) >= count:
            return drawn[first[:count]], int(first[count - 1]) + 1


def _check_true(true_classes: Any, num_true: int, range_max: int) -> None:
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise InvalidArgumentError(f"true_classes has shape {true_classes.shape}, but num_true is {num_true}.")
    if true_classes.size and not 0 <= true_classes.min() <= true_classes.max() < range_max:
        raise InvalidArgumentError(
            f"A true class is not in [0, {range_max}): {true_classes.reshape(-1).tolist()[:20]}."
        )


@kernel("UniformCandidateSampler")
def uniform(
    xp: Any,
    true_classes: Any,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
    ctx: KernelContext,
) -> Any:
    how = _uniform(range_max)
    return _sample(true_classes, num_true, num_sampled, unique, range_max, stream(ctx, seed, seed2), how)


@kernel("LogUniformCandidateSampler")
def log_uniform(
    xp: Any,
    true_classes: Any,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
    ctx: KernelContext,
) -> Any:
    how = _log_uniform(range_max)
    return _sample(true_classes, num_true, num_sampled, unique, range_max, stream(ctx, seed, seed2), how)


@kernel("LearnedUnigramCandidateSampler")
def learned_unigram(
    xp: Any,
    true_classes: Any,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
    ctx: KernelContext,
) -> Any:
    source = stream(ctx, seed, seed2)
    weights = ctx.state.get("weights")
    if weights is None:
        weights = np.ones(range_max, np.int64)
    result = _sample(true_classes, num_true, num_sampled, unique, range_max, source, _weighted(weights))
    ctx.state["weights"] = weights + np.bincount(true_classes.reshape(-1), minlength=range_max)
    return result


@kernel("FixedUnigramCandidateSampler")
def fixed_unigram(
    xp: Any,
    true_classes: Any,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str,
    distortion: float,
    num_reserved_ids: int,
    num_shards: int,
    shard: int,
    unigrams: Sequence[float],
    seed: int,
    seed2: int,
    ctx: KernelContext,
) -> Any:
    how = ctx.state.get("distribution")
    if how is None:
        frequencies = np.asarray(_read_weights(vocab_file) if vocab_file else unigrams, np.float64) ** distortion
        weights = np.concatenate([np.zeros(num_reserved_ids), frequencies])[shard::num_shards]
        if len(weights) != range_max:
            raise InvalidArgumentError(f"There are weights of {len(weights)} classes, but range_max is {range_max}.")
        how = ctx.state["distribution"] = _weighted(weights)
    return _sample(true_classes, num_true, num_sampled, unique, range_max, stream(ctx, seed, seed2), how)


def _read_weights(path: str) -> list[float]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return [float(row[-1]) for row in csv.reader(file) if row]
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(f"The vocabulary {path!r} can't be read: {error}") from None


@kernel("AllCandidateSampler")
def everything(
    xp: Any, true_classes: Any, *, num_true: int, num_sampled: int, unique: bool, seed: int, seed2: int
) -> Any:
    _check_true(true_classes, num_true, num_sampled)
    ones = np.ones(num_sampled, np.float32)
    return np.arange(num_sampled, dtype=np.int64), np.ones(true_classes.shape, np.float32), ones


@kernel("ComputeAccidentalHits")
def accidental_hits(xp: Any, true_classes: Any, sampled_candidates: Any, *, num_true: int) -> Any:
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise InvalidArgumentError(f"true_classes has shape {true_classes.shape}, but num_true is {num_true}.")
    places = {int(c): i for i, c in enumerate(sampled_candidates.tolist())}
    hits = [(i, places[c]) for i, row in enumerate(true_classes.tolist()) for c in row if c in places]
    rows, at = np.asarray(hits, np.int64).reshape(-1, 2).T
    return rows.astype(np.int32), at.copy(), np.full(len(hits), np.finfo(np.float32).min, np.float32)
