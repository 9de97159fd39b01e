"""Kernels of the LSTM over all steps, beyond their rows: how many threads take them, and steps that do not count."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from actorflow.kernels.native.library import loaded
from actorflow.kernels.nn import lstm

IN_C = pytest.param(
    lstm.block_lstm_gate_grad_in_c, marks=pytest.mark.skipif(loaded() is None, reason="no library in C")
)


def drawn(steps: int, batch: int, units: int, seed: int) -> tuple[Any, ...]:
    """The inputs of a forward pass, whose inputs are as wide as its outputs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(steps, batch, units)).astype(np.float32)
    w = rng.normal(size=(2 * units, 4 * units)).astype(np.float32)
    state, vector = np.zeros((batch, units), np.float32), np.zeros(units, np.float32)
    return x, state, state, w, vector, vector, vector, np.zeros(4 * units, np.float32)


HOW: dict[str, Any] = {"forget_bias": 1.0, "cell_clip": 0.0, "use_peephole": False}


@pytest.mark.skipif(loaded() is None, reason="no library in C")
def test_each_number_of_steps_is_measured_by_itself(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[Hashable] = []

    def threaded(key: Hashable, work: Any) -> Any:
        keys.append(key)
        return work(1)

    monkeypatch.setattr(lstm, "threaded", threaded)
    for steps in (5, 50):
        given = drawn(steps, 32, 64, seed)
        made = lstm.block_lstm_in_c(np, np.int64(steps), *given, **HOW)
        lstm.block_lstm_gate_grad_in_c(np, np.int64(steps), *given, *made[:6], made[1], made[6], use_peephole=False)
    assert len(keys) == len(set(keys)) == 4


@pytest.mark.parametrize("gradient", [lstm.block_lstm_gate_grad, IN_C])
def test_gradients_behind_the_last_step_are_not_looked_at(gradient: Any, seed: int) -> None:
    given = drawn(5, 3, 4, seed)
    made = lstm.block_lstm(np, np.int64(3), *given, **HOW)
    of_cells, of_outputs = made[1].copy(), made[6].copy()
    wanted = gradient(np, np.int64(3), *given, *made[:6], of_cells, of_outputs, use_peephole=False)
    of_cells[3:], of_outputs[3:] = np.inf, np.nan
    found = gradient(np, np.int64(3), *given, *made[:6], of_cells, of_outputs, use_peephole=False)
    assert not np.any(found[0][3:])
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other)
