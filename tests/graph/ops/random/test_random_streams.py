"""The streams behind random ops, against the definition written out in plain Python; and what is drawn from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.graph.ops.random import gamma_poisson as random_distributions
from actorflow.kernels.random import philox

stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")

MASK = 2**64 - 1


def philox_block(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x64-10 of one counter, after Salmon et al. 2011."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = (second >> 64) ^ b ^ k, second & MASK, (first >> 64) ^ d ^ m, first & MASK
        k, m = (k + 0x9E3779B97F4A7C15) & MASK, (m + 0xBB67AE8584CAA73B) & MASK
    return [a, b, c, d]


def words64(key: tuple[int, int], run: int = 0, kind: int = 0) -> Iterator[int]:
    block = 0
    while True:
        block += 1
        yield from philox_block([block, 0, run, kind], list(key))


def words32(key: tuple[int, int], run: int = 0, kind: int = 0) -> Iterator[int]:
    for word in words64(key, run, kind):
        yield word & 0xFFFFFFFF
        yield word >> 32


def take(words: Iterator[int], count: int) -> list[int]:
    return [next(words) for _ in range(count)]


def drawn(build: Any, runs: int = 1) -> list[Any]:
    graph = af.Graph()
    with graph.as_default():
        tensor = build()
    with af.blocking.Session(graph=graph) as session:
        return [session.run(tensor) for _ in range(runs)]


def with_seeds(build: Any) -> Any:
    def seeded() -> Any:
        af.set_random_seed(21)
        return build()

    return seeded


KEY = (21, 4)


def test_f34_uniform_numbers_are_the_words_of_the_stream() -> None:
    runs = drawn(with_seeds(lambda: af.random_uniform([5], seed=4)), 2)
    for run, values in enumerate(runs):
        assert values.tolist() == [(w >> 8) / 2**24 for w in take(words32(KEY, run), 5)]
    (wide,) = drawn(with_seeds(lambda: af.random_uniform([5], dtype="float64", seed=4)))
    assert wide.tolist() == [(w >> 11) / 2**53 for w in take(words64(KEY), 5)]
    for dtype, shift in (("float16", 21), ("bfloat16", 24)):
        (half,) = drawn(with_seeds(lambda d=dtype: af.random_uniform([5], dtype=d, seed=4)))
        assert half.astype(float).tolist() == [(w >> shift) / 2 ** (32 - shift) for w in take(words32(KEY), 5)]
    for dtype, low, high in (("int32", -5, 1000), ("int64", -(2**62), 2**62 + 12345)):
        (whole,) = drawn(with_seeds(lambda d=dtype, a=low, b=high: af.random_uniform([5], a, b, d, seed=4)))
        assert whole.tolist() == [low + w % (high - low) for w in take(words64(KEY), 5)]


def normals(pairs: list[int], dtype: Any) -> list[float]:
    """Box and Muller's, with the arguments of the functions rounded as `dtype` has them."""
    single = dtype == np.float32
    found: list[float] = []
    for a, b in zip(pairs[::2], pairs[1::2], strict=True):
        u = ((a >> 8) + 1) / 2**24 if single else ((a >> 11) + 1) / 2**53
        half = 2**31 if single else 2**63
        signed = b - 2 * half if b >= half else b
        angle = float(dtype(signed) * dtype(math.pi / half))
        radius = math.sqrt(-2 * math.log(u))
        found += [radius * math.cos(angle), radius * math.sin(angle)]
    return found


@pytest.mark.parametrize(("dtype", "words", "ulps"), [(np.float32, words32, 4), (np.float64, words64, 4)])
def test_f34_normal_numbers_are_within_four_ulps_of_the_definition(dtype: Any, words: Any, ulps: int) -> None:
    (values,) = drawn(with_seeds(lambda: af.random_normal([70_001], dtype=dtype, seed=4)))
    expected = np.array(normals(take(words(KEY), 4000), dtype)[:4000])
    np.testing.assert_array_less(np.abs(values[:4000] - expected), ulps * np.spacing(np.abs(expected).astype(dtype)))
    again = drawn(with_seeds(lambda: af.random_normal([4001], dtype=dtype, seed=4)))[0]
    np.testing.assert_array_equal(again[:4000], values[:4000])  # the number of elements changes none of them


def test_truncated_numbers_are_the_inverse_of_the_distribution() -> None:
    x32 = np.array([((w >> 8) + 0.5) / 2**24 for w in take(words32(KEY), 4000)])
    x64 = np.array([((w >> 12) + 0.5) / 2**52 for w in take(words64(KEY), 4000)])
    for dtype, v, tolerance in ((np.float32, x32, 1e-6), (np.float64, x64, 1e-14)):
        (values,) = drawn(with_seeds(lambda d=dtype: af.truncated_normal([4000], dtype=d, seed=4)))
        expected = math.sqrt(2) * special.erfinv(math.erf(math.sqrt(2)) * 2 * (v - 0.5))
        np.testing.assert_allclose(values, expected, rtol=tolerance)
        assert np.abs(values).max() < 2


def test_a_shuffle_sorts_by_the_words() -> None:
    (values,) = drawn(with_seeds(lambda: af.random_shuffle(np.arange(9), seed=4)))
    keys = take(words64(KEY), 9)
    assert values.tolist() == sorted(range(9), key=keys.__getitem__)


def test_a_few_uniform_numbers_are_those_that_many_begin_with() -> None:
    many = philox.fill(philox.PhiloxStream(KEY), philox.uniform(24), (50_000,), af.float32)
    for sizes in ((1,), (7,), (10, 10), (3, 0), (2048,)):
        few = philox.few_uniform(KEY, 0, sizes)
        assert few is not None and few.shape == sizes and few.tobytes() == many[: few.size].tobytes()
    assert philox.few_uniform(KEY, 0, ()) is philox.few_uniform(KEY, 0, (2049,)) is None


def test_blocks_join_without_a_seam() -> None:
    for how, words in ((philox.uniform(24), words32), (philox.normal, words32)):
        whole = philox.fill(philox.PhiloxStream(KEY), how, (100_003,), af.float32)
        start = philox.fill(philox.PhiloxStream(KEY), how, (1001,), af.float32)
        np.testing.assert_array_equal(whole[:1000], start[:1000])
        assert words is words32
    out = np.empty((3, 40_000), np.float32)
    assert philox.fill(philox.PhiloxStream(KEY), philox.normal, (3, 40_000), af.float32, out) is out
    np.testing.assert_array_equal(
        out.reshape(-1), philox.fill(philox.PhiloxStream(KEY), philox.normal, (120_000,), af.float32)
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("build", "distribution"),
    [
        (lambda d: af.random_uniform([50_000], dtype=d, seed=1), stats.uniform()),
        (lambda d: af.random_normal([50_000], dtype=d, seed=1), stats.norm()),
        (lambda d: af.truncated_normal([50_000], dtype=d, seed=1), stats.truncnorm(-2, 2)),
        (lambda d: af.random_gamma([50_000], 0.3, dtype=d, seed=1), stats.gamma(0.3)),
        (lambda d: af.random_gamma([50_000], 1.0, 2.0, dtype=d, seed=1), stats.gamma(1.0, scale=0.5)),
        (lambda d: af.random_gamma([50_000], 7.5, dtype=d, seed=1), stats.gamma(7.5)),
        (lambda d: af.stateless_random_uniform([50_000], [1, 2], dtype=d), stats.uniform()),
        (lambda d: af.stateless_random_normal([50_000], [1, 2], dtype=d), stats.norm()),
        (lambda d: af.stateless_truncated_normal([50_000], [1, 2], dtype=d), stats.truncnorm(-2, 2)),
    ],
)
def test_kolmogorov_and_smirnov_agree(build: Any, distribution: Any, dtype: str) -> None:
    (values,) = drawn(lambda: build(dtype))
    assert values.dtype == dtype
    assert stats.kstest(values.astype(np.float64), distribution.cdf).pvalue > 1e-3
    mean, variance = distribution.stats()
    assert abs(values.mean() - mean) < 5 * math.sqrt(variance / 50_000)


# ---- gamma and Poisson


def test_gamma_numbers_have_a_shape_for_each_parameter() -> None:
    (values,) = drawn(lambda: af.random_gamma([30_000, 2], [[0.5, 4.0]], [[1.0], [2.0]], seed=3))
    assert values.shape == (30_000, 2, 2, 2) and (values > 0).all()
    np.testing.assert_allclose(values.mean((0, 1)), [[0.5, 4.0], [0.25, 2.0]], rtol=0.02)
    (half,) = drawn(lambda: af.random_gamma([1000], 1e-3, dtype="float16", seed=3))
    assert (half > 0).all()
    (wrong,) = drawn(lambda: af.random_gamma([2], [-1.0, 1.0], seed=3))
    assert np.isnan(wrong[:, 0]).all() and (wrong[:, 1] > 0).all()
    assert drawn(lambda: af.random_gamma([0], 1.0, seed=3))[0].shape == (0,)


def test_the_derivative_of_a_gamma_sample() -> None:
    """A sample's rank stays: it is that of the quantile function, whose differences are the reference."""
    alpha = np.array([0.1, 0.5, 1.0, 2.5, 30.0, 1000.0])
    ranks = np.array([[0.01], [0.3], [0.5], [0.7], [0.99]])
    samples = special.gammaincinv(alpha, ranks)
    h = 1e-5 * alpha
    expected = (special.gammaincinv(alpha + h, ranks) - special.gammaincinv(alpha - h, ranks)) / (2 * h)
    (found,) = drawn(lambda: random_distributions.random_gamma_grad(np.broadcast_to(alpha, samples.shape), samples))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_gradient_of_the_mean_of_gamma_numbers() -> None:
    graph = af.Graph()
    with graph.as_default():
        alpha, beta = af.constant([0.7, 3.0], af.float64), af.constant(2.0, af.float64)
        mean = af.reduce_mean(af.random_gamma([20_000], alpha, beta, dtype="float64", seed=9), axis=0)
        slopes = af.gradients(mean, [alpha, beta])
    with af.blocking.Session(graph=graph) as session:
        by_alpha, by_beta = session.run(slopes)
    np.testing.assert_allclose(by_alpha, [0.5, 0.5], rtol=0.03)
    np.testing.assert_allclose(by_beta, -3.7 / 4, rtol=0.03)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float32", "float64"])
def test_poisson_numbers(dtype: str) -> None:
    (values,) = drawn(lambda: af.random_poisson([0.5, 12.0], [40_000], dtype, seed=1))
    assert values.dtype == dtype and values.shape == (40_000, 2)
    for column, rate in enumerate((0.5, 12.0)):
        found = values[:, column].astype(np.int64)
        most = int(stats.poisson(rate).ppf(0.999))
        counts = np.bincount(np.minimum(found, most), minlength=most + 1)
        chances = stats.poisson(rate).pmf(np.arange(most + 1))
        chances[-1] = 1 - chances[:-1].sum()
        kept = chances > 1e-3
        assert stats.chisquare(counts[kept], chances[kept] / chances[kept].sum() * counts[kept].sum()).pvalue > 1e-3
    if dtype == "float32":
        (odd,) = drawn(lambda: af.random_poisson(np.array([-1.0, np.nan, 0.0], "f"), [2], seed=1))
        assert np.isnan(odd[:, :2]).all() and not odd[:, 2].any()


# ---- without state


def test_stateless_numbers_hang_on_the_seed_alone() -> None:
    graph = af.Graph()
    with graph.as_default():
        seed = af.placeholder(af.int64, [2])
        tensors = [
            af.stateless_random_uniform([6], seed),
            af.stateless_random_uniform([6], seed, -3, 9, "int32"),
            af.stateless_random_normal([6], seed, 1.0, 2.0),
            af.stateless_truncated_normal([6], seed),
            af.stateless_multinomial([[0.0, 1.0, 0.5]], 6, seed),
        ]
        doubled = af.stateless_random_normal([6], seed)
    with af.blocking.Session(graph=graph) as session:
        first, again, other = (session.run([*tensors, doubled], {seed: s}) for s in ([5, -6], [5, -6], [5, -7]))
    for one, two, three in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, three)
    key = (5, -6 & MASK)
    assert first[0].tolist() == [(w >> 8) / 2**24 for w in take(words32(key, kind=1), 6)]
    assert first[1].tolist() == [-3 + w % 12 for w in take(words64(key, kind=1), 6)]
    np.testing.assert_allclose(first[2], 2 * first[5] + 1, rtol=1e-6)


def test_what_is_refused() -> None:
    with af.Graph().as_default():
        for build in (
            lambda: af.stateless_random_uniform([2], [1, 2, 3]),
            lambda: af.stateless_random_uniform([2], [1, 2], dtype="int32"),
            lambda: af.stateless_random_uniform([2], [1, 2], 5, 5, dtype="int32"),
            lambda: af.stateless_random_uniform([2], [1, 2], dtype="uint8"),
            lambda: af.stateless_random_normal([-2], [1, 2]),
            lambda: af.stateless_multinomial([[1.0]], -1, [1, 2]),
        ):
            with pytest.raises(ValueError):
                build()
    graph = af.Graph()
    with graph.as_default():
        seed = af.placeholder(af.int32)
        values = af.stateless_random_normal([2], seed)
    with (
        af.blocking.Session(graph=graph) as session,
        pytest.raises(af.errors.InvalidArgumentError, match="vector of two"),
    ):
        session.run(values, {seed: [1]})
