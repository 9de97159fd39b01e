"""Pools whose windows have random sizes: what they are made of, whatever is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors

POOLS = {"max": (af.nn.fractional_max_pool, np.max), "mean": (af.nn.fractional_avg_pool, np.mean)}


def run(fetches: Any, feeds: Any = None) -> Any:
    with af.blocking.Session() as session:
        return session.run(fetches, feeds)


@pytest.mark.parametrize("pseudo", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("kind", POOLS)
def test_each_window_is_reduced_between_its_borders(seed: int, kind: str, overlapping: bool, pseudo: bool) -> None:
    pool, reduce = POOLS[kind]
    x = np.random.default_rng(seed).normal(size=(2, 23, 17, 3))
    with af.Graph().as_default():
        y, rows, columns = run(pool(x, [1, 2.3, 1.4, 1], pseudo_random=pseudo, overlapping=overlapping))
    assert y.shape == (2, 10, 12, 3) and len(rows) == 11 and len(columns) == 13
    assert rows[0] == columns[0] == 0 and (rows[-1], columns[-1]) == (23, 17)
    assert set(np.diff(rows)) == {2, 3} and set(np.diff(columns)) == {1, 2}
    for i, j in np.ndindex(10, 12):
        window = x[:, rows[i] : rows[i + 1] + overlapping, columns[j] : columns[j + 1] + overlapping]
        np.testing.assert_allclose(y[:, i, j], reduce(window, axis=(1, 2)))


def test_windows_are_drawn_in_each_run_unless_the_pool_is_deterministic() -> None:
    x = np.zeros((1, 300, 300, 1), np.float32)
    ratios = [1, 1.5, 1.5, 1]
    with af.Graph().as_default(), af.blocking.Session() as session:
        fresh = af.nn.fractional_max_pool(x, ratios)[1]
        fixed = af.nn.fractional_max_pool(x, ratios, deterministic=True, seed=3, seed2=4)[1]
        same = af.nn.fractional_avg_pool(x, ratios, deterministic=True, seed=3, seed2=4)[1]
        runs = [session.run([fresh, fixed, same]) for _ in range(2)]
    assert not np.array_equal(runs[0][0], runs[1][0])
    assert all(np.array_equal(found, runs[0][1]) for one in runs for found in one[1:])


@pytest.mark.parametrize("kind", POOLS)
def test_gradients_follow_the_windows_of_the_run(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1, 7, 9, 2))
    with af.Graph().as_default():
        source = af.placeholder(af.float64, x.shape)
        y, rows, columns = POOLS[kind][0](source, [1, 1.5, 2.2, 1], overlapping=True)
        slope = rng.normal(size=(1, 4, 4, 2))
        (dx,) = af.gradients(y, [source], slope)
        found, r, c = run([dx, rows, columns], {source: x})
    expected = np.zeros_like(x)
    for i, j in np.ndindex(4, 4):
        window = np.s_[0, r[i] : r[i + 1] + 1, c[j] : c[j + 1] + 1]
        for channel in range(2):
            part = x[window][..., channel]
            share = part == part.max() if kind == "max" else np.full(part.shape, 1 / part.size)
            expected[window][..., channel] += slope[0, i, j, channel] * share
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("ratios", "options", "match"),
    [
        ([1, 0.5, 1, 1], {}, "one or more"),
        ([1, 1.5, 1.5], {}, "four numbers"),
        ([2, 1, 1, 1], {}, "neither over the batch"),
        ([1, 1, 1, 2], {}, "nor over channels"),
        ([1, 9, 1, 1], {}, "Nothing is left"),
        ([1, 1.5, 1.5, 1], {"seed": 3}, "seed and seed2"),
    ],
)
def test_what_is_refused(ratios: Any, options: Any, match: str) -> None:
    with af.Graph().as_default(), pytest.raises(ValueError, match=match):
        af.nn.fractional_max_pool(np.zeros((1, 8, 8, 1)), ratios, **options)


def test_what_is_refused_in_the_run() -> None:
    with af.Graph().as_default():
        source = af.placeholder(af.float32)
        pooled = af.nn.fractional_avg_pool(source, [1, 9, 1, 1])[0]
        for shape in ((1, 8, 8, 1), (8, 8)):
            with pytest.raises(errors.InvalidArgumentError):
                run(pooled, {source: np.zeros(shape)})
