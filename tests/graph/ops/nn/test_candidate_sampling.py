"""Candidate samplers: their definitions, expected counts as TensorFlow's, and distributions at fixed seeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import nn
from actorflow.errors import InvalidArgumentError

TRUE = np.array([[0, 4], [2, 1]])
WEIGHTS = np.sqrt([1.0, 2.0, 3.0, 4.0, 5.0])
LOG = np.log((np.arange(5) + 2.0) / (np.arange(5) + 1.0)) / np.log(6.0)
# How to build each, and the probabilities of its five classes.
SAMPLERS: dict[str, tuple[Callable[..., Any], Any]] = {
    "UniformCandidateSampler": (nn.uniform_candidate_sampler, np.full(5, 0.2)),
    "LogUniformCandidateSampler": (nn.log_uniform_candidate_sampler, LOG),
    "LearnedUnigramCandidateSampler": (nn.learned_unigram_candidate_sampler, np.full(5, 0.2)),
    "FixedUnigramCandidateSampler": (
        lambda *a, **k: nn.fixed_unigram_candidate_sampler(*a, unigrams=[1, 2, 3, 4, 5], distortion=0.5, **k),
        WEIGHTS / WEIGHTS.sum(),
    ),
}


def run(build: Callable[[], Any], runs: int = 1) -> list[Any]:
    graph = af.Graph()
    with graph.as_default():
        tensors = build()
    with af.blocking.Session(graph=graph) as session:
        return [session.run(list(tensors)) for _ in range(runs)]


@pytest.mark.parametrize("name", SAMPLERS)
def test_samples_and_their_expected_counts(name: str) -> None:
    build, p = SAMPLERS[name]
    ((found, true, sampled),) = run(lambda: build(TRUE, 2, 4000, False, 5, seed=1))
    assert (found.dtype, true.dtype, sampled.dtype) == (np.int64, np.float32, np.float32)
    np.testing.assert_allclose(true, 4000 * p[TRUE], rtol=1e-5)
    np.testing.assert_allclose(sampled, 4000 * p[found], rtol=1e-5)
    counts = np.bincount(found, minlength=5)
    assert (((counts - 4000 * p) ** 2 / (4000 * p)).sum()) < 20


@pytest.mark.parametrize("name", SAMPLERS)
def test_unique_samples(name: str) -> None:
    build, p = SAMPLERS[name]
    firsts = np.zeros(5)
    tries = set()
    for found, true, sampled in run(
        lambda: build(TRUE if "Learned" not in name else TRUE[:0], 2, 4, True, 5, seed=1), 400
    ):
        assert len(set(found.tolist())) == 4
        firsts[found[0]] += 1
        # The number of draws is told by any expected count, and it makes all the others.
        draws = next(
            n
            for n in range(4, 400)
            if np.allclose(sampled, 4 * p[found] if n == 4 else 1 - (1 - p[found]) ** n, rtol=1e-5)
        )
        tries.add(draws)
        if true.size:
            np.testing.assert_allclose(true, 4 * p[TRUE] if draws == 4 else 1 - (1 - p[TRUE]) ** draws, rtol=1e-5)
    assert len(tries) > 3 and (((firsts - 400 * p) ** 2 / (400 * p)).sum()) < 20


@pytest.mark.parametrize("name", SAMPLERS)
def test_equal_seeds_draw_equal_samples(name: str) -> None:
    build, _ = SAMPLERS[name]
    first, second = (run(lambda: build(TRUE, 2, 20, False, 5, seed=7), 2) for _ in range(2))
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one[0], two[0])
    assert not np.array_equal(first[0][0], first[1][0])


def test_unigrams_are_learned() -> None:
    true = np.full((500, 1), 3)
    before, after = run(lambda: nn.learned_unigram_candidate_sampler(true, 1, 1000, False, 5, seed=1), 2)
    assert (before[0] == 3).mean() < 0.3 and (after[0] == 3).mean() > 0.95
    np.testing.assert_allclose(after[1], 1000 * 501 / 505, rtol=1e-6)


def test_weights_of_a_file(tmp_path: Path) -> None:
    vocabulary = tmp_path / "words.csv"
    vocabulary.write_text('the,9\n"a, b",3\nrare,1\n', encoding="utf-8")

    def build() -> Any:
        return nn.fixed_unigram_candidate_sampler(
            [[2]], 1, 3000, False, 5, vocab_file=str(vocabulary), num_reserved_ids=2, seed=1
        )

    ((found, true, _),) = run(build)
    np.testing.assert_allclose(true, [[3000 * 9 / 13]], rtol=1e-6)
    counts = np.bincount(found, minlength=5)
    assert counts[:2].tolist() == [0, 0] and abs(counts[3] / 3000 - 3 / 13) < 0.04
    ((shard, expected, _),) = run(
        lambda: nn.fixed_unigram_candidate_sampler(
            [[0, 1]], 2, 100, False, 2, unigrams=[1, 2, 3, 4, 5], num_shards=2, shard=1, seed=1
        )
    )
    assert set(shard.tolist()) == {0, 1}
    np.testing.assert_allclose(expected, [[100 * 2 / 6, 100 * 4 / 6]], rtol=1e-6)


def test_all_classes() -> None:
    ((found, true, sampled),) = run(lambda: nn.all_candidate_sampler(TRUE, 2, 5, True, seed=1))
    assert found.tolist() == [0, 1, 2, 3, 4]
    assert true.tolist() == [[1, 1], [1, 1]] and sampled.tolist() == [1] * 5


def test_accidental_hits() -> None:
    true, sampled = np.array([[1, 2], [3, 1], [5, 2]]), np.array([2, 1, 7, 2])
    ((rows, places, weights),) = run(lambda: nn.compute_accidental_hits(true, sampled, 2))
    assert rows.dtype == np.int32 and rows.tolist() == [0, 0, 1, 2]  # TensorFlow's answer
    assert places.dtype == np.int64 and places.tolist() == [1, 3, 1, 3]
    assert weights.dtype == np.float32 and set(weights.tolist()) == {-3.4028234663852886e38}
    ((rows, places, weights),) = run(lambda: nn.compute_accidental_hits(true, np.array([8, 9]), 2))
    assert rows.shape == places.shape == weights.shape == (0,)


def test_mistakes() -> None:
    with af.Graph().as_default():
        with pytest.raises(ValueError, match="num_true is 3"):
            nn.compute_accidental_hits(TRUE, [1], 3)
        with pytest.raises(ValueError, match="exactly one"):
            nn.fixed_unigram_candidate_sampler(TRUE, 2, 2, True, 5)
        with pytest.raises(ValueError, match="gives 1 sample or more"):
            nn.uniform_candidate_sampler(TRUE, 2, 0, True, 5)
    for build, message in (
        (lambda: nn.uniform_candidate_sampler(TRUE, 2, 6, True, 5), "6 different classes can't be drawn of 5"),
        (lambda: nn.uniform_candidate_sampler(TRUE, 3, 2, True, 5), "num_true is 3"),
        (lambda: nn.uniform_candidate_sampler(TRUE + 3, 2, 2, True, 5), r"not in \[0, 5\)"),
        (lambda: nn.fixed_unigram_candidate_sampler(TRUE, 2, 2, True, 5, unigrams=[1, 2]), "weights of 2 classes"),
        (lambda: nn.fixed_unigram_candidate_sampler(TRUE, 2, 2, True, 5, vocab_file="/no/such"), "can't be read"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            run(build)
