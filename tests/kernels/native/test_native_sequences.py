"""The loss of connectionist temporal classification in C against that in numpy, which adds logarithms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from native_cases import outcome

from actorflow.kernels.native.batches import sequences
from actorflow.kernels.native.library import loaded
from actorflow.kernels.nn import ctc

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

SEEDS = range(3)


def sparse(labels: list[list[int]]) -> tuple[Any, Any]:
    """Indices and values of a sparse tensor."""
    indices = [(b, i) for b, row in enumerate(labels) for i in range(len(row))]
    return np.array(indices, "i8").reshape(-1, 2), np.array([v for row in labels for v in row], "i4")


def losses(
    kernel: Any, logits: Any, labels: list[list[int]], lengths: Any, collapse: bool, merge: bool, ignore: bool
) -> Any:
    return outcome(
        lambda *inputs: kernel(
            np,
            *inputs,
            preprocess_collapse_repeated=collapse,
            ctc_merge_repeated=merge,
            ignore_longer_outputs_than_inputs=ignore,
        ),
        (logits, *sparse(labels), lengths),
    )


def agrees(logits: Any, labels: list[list[int]], lengths: Any, *switches: bool, told: object) -> None:
    before = logits.copy()
    result = losses(sequences.ctc_loss, logits, labels, lengths, *switches)
    expected = losses(ctc.ctc_loss, logits, labels, lengths, *switches)
    np.testing.assert_array_equal(logits, before)
    if isinstance(expected, str):
        assert result == expected, told
        return
    for part, wanted in zip(result, expected, strict=True):
        assert part.dtype == wanted.dtype and part.shape == wanted.shape, told
        np.testing.assert_allclose(part, wanted, 2e-6, 2e-6, err_msg=str(told))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("switches", list(itertools.product([False, True], repeat=3)))
@pytest.mark.parametrize("seed", SEEDS)
def test_losses_are_those_of_logarithms(dtype: str, switches: tuple[bool, bool, bool], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for time, batch, classes in ((1, 1, 2), (7, 3, 2), (12, 2, 5), (33, 5, 9), (129, 2, 40), (40, 33, 6)):
        most = int(rng.integers(1, time + 1))
        labels = [rng.integers(0, classes - 1, rng.integers(1, most + 1)).tolist() for _ in range(batch)]
        lengths = rng.integers(min(most, time), time + 1, batch).astype("i4")
        if rng.random() < 0.2:
            lengths[rng.integers(batch)] = 0
        logits = (rng.normal(size=(time, batch, classes)) * rng.choice([0.1, 1, 10])).astype(dtype)
        for form in (logits, np.asfortranarray(logits), np.repeat(logits, 2, 2)[..., ::2]):
            agrees(form, labels, lengths, *switches, told=(seed, time, batch, classes))


@pytest.mark.parametrize("scale", [100.0, 1e3, 1e30])
@pytest.mark.parametrize("seed", SEEDS)
def test_improbable_states_are_not_lost(scale: float, seed: int) -> None:
    """Probabilities that float64 can't hold: alone, and one after the other."""
    rng = np.random.default_rng(seed)
    labels = [rng.integers(0, 4, 5).tolist() for _ in range(3)]
    logits = (rng.normal(size=(40, 3, 5)) * scale).astype("f8")
    agrees(logits, labels, np.full(3, 40, "i4"), False, True, False, told=(seed, scale))
    peaks = np.zeros((400, 3, 5), "f4")
    peaks[:, :, 4] = 15  # a blank, nearly for sure, at all times
    agrees(peaks, labels, np.full(3, 400, "i4"), False, True, False, told=(seed, scale))


def test_a_state_that_underflows_may_be_the_best_later() -> None:
    """At first it is 1e-20 of a state that comes to nothing: the product of both directions does not tell that it was lost."""
    logits = np.array([[-748, -2000, 0, -702], [-345, 0, -1, -345], [-1, 0, -1, -1]], "f8")[:, None]
    agrees(logits, [[0, 1]], np.array([3], "i4"), False, True, False, told="a state that underflows")
    agrees(logits[::-1], [[1, 0]], np.array([3], "i4"), False, True, False, told="from behind")


@pytest.mark.parametrize("seed", SEEDS)
def test_logits_at_the_bounds_of_float64(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(300):
        logits = rng.normal(size=(12, 1, 5)) * rng.uniform(150, 450)
        labels = [rng.integers(0, 4, 4).tolist()]
        agrees(logits, labels, np.array([12], "i4"), False, True, False, told=(seed, number))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0, 0), (3, 1, 4), (5, 0, 2)])
def test_logits_that_are_not_finite_are_left_to_numpy(value: float, place: tuple[int, int, int]) -> None:
    logits = np.random.default_rng(3).normal(size=(6, 2, 5)).astype("f4")
    logits[place] = value
    agrees(logits, [[0, 1], [2, 2]], np.array([6, 5], "i4"), False, True, False, told=(value, place))


def test_a_sequence_without_an_alignment_has_an_infinite_loss() -> None:
    """Equal labels need a blank between them."""
    logits = np.random.default_rng(3).normal(size=(3, 2, 4)).astype("f4")
    agrees(logits, [[1, 1, 1], [0, 1]], np.array([3, 3], "i4"), False, True, False, told="no alignment")


@pytest.mark.parametrize("labels", [[[], [1]], [[3], [1]], [[-1], [1]], [[0, 1, 2, 0, 1], [1]]])
def test_faults_are_said_as_before(labels: list[list[int]]) -> None:
    logits = np.zeros((4, 2, 4), "f4")
    assert isinstance(losses(sequences.ctc_loss, logits, labels, np.array([4, 4], "i4"), False, True, False), str)
    agrees(logits, labels, np.array([4, 4], "i4"), False, True, False, told=labels)


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(8)
    logits = rng.normal(size=(150, 32, 60)).astype("f4")
    labels = rng.integers(0, 59, (32, 20))
    arguments = logits, np.full(32, 150, "i4"), labels.reshape(-1), np.arange(33) * 20, True
    single, several = (loaded().call("ctc", threads, *arguments) for threads in (1, 3))
    for part, wanted in zip(several, single, strict=True):
        np.testing.assert_array_equal(part, wanted)


def test_the_library_computes_the_usual_case_itself() -> None:
    logits = np.zeros((9, 2, 4), "f4")
    labels = np.array([0, 1, 2])
    assert (
        loaded().call("ctc", 1, logits, np.array([9, 9], "i4"), labels, np.array([0, 1, 3]), True) is not NotImplemented
    )
