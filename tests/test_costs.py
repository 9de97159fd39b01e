"""Measured costs: what decides where a kernel runs."""

from __future__ import annotations

import numpy as np
import pytest

from actorflow.runtime.costs import Cost, Costs


def test_a_first_measurement_replaces_the_guess() -> None:
    cost = Cost(100.0)
    cost.add(5_000_000.0)
    assert cost.nanoseconds == 5_000_000.0


def test_an_accident_at_the_first_run_is_corrected_by_the_second() -> None:
    cost = Cost(100.0)
    for measured in (5_000_000.0, 900.0, 1_000.0):
        cost.add(measured)
    assert cost.nanoseconds == 900.0


def test_a_later_accident_counts_for_little() -> None:
    cost = Cost(100.0)
    for _ in range(10):
        cost.add(1_000.0)
    assert cost.settled
    cost.add(1e9)
    assert cost.nanoseconds <= 1_600.0


def test_a_change_that_stays_is_learnt() -> None:
    cost = Cost(100.0)
    for measured in [1_000.0] * 10 + [50_000.0] * 40:
        cost.add(measured)
    assert cost.nanoseconds == pytest.approx(50_000.0, rel=0.05)


def test_costs_of_open_shapes_go_by_size() -> None:
    costs = Costs(1_000.0, 10)
    small, large = costs.of([np.zeros(10)]), costs.of([np.zeros(10_000)])
    assert small is costs.of([np.ones(10)]) and small is not large
    assert (small.nanoseconds, large.nanoseconds) == (1_000.0, 1_000_000.0)
    for size in range(200):
        costs.of([np.zeros(size)])
    assert costs.of([np.zeros(10)]).nanoseconds == 1_000.0, "the table stays small"
