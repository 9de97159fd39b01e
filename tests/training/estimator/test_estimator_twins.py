"""Forty configurations of Estimators do what TensorFlow's do: saves, evaluations, order of calls, metrics, predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.estimator.estimator_programs import COUNT, configuration, observe

import actorflow.compat.v1 as tf

ANSWERS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "estimators.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", range(COUNT))
def test_f118_an_estimator_does_what_tensorflows_does(seed: int, tmp_path: Path) -> None:
    expected = ANSWERS[seed]
    found = observe(tf, seed, str(tmp_path))
    assert found["calls"] == expected["calls"], configuration(seed)
    assert found["global_step"] == expected["global_step"]
    assert found["checkpoints"] == expected["checkpoints"]
    assert [set(e) for e in found["evaluations"]] == [set(e) for e in expected["evaluations"]]
    for ours, theirs in zip(found["evaluations"], expected["evaluations"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(found["predicted"], expected["predicted"], rtol=1e-5, atol=1e-6)
