"""Random streams through the 33 metrics give what TensorFlow 2.15 gives: variables, values, updates, and refusals.

`tests/models/layers/dump_metrics.py` has written TensorFlow's answers.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.layers.metric_programs import run

import actorflow.compat.v1 as tf

PROGRAMS = json.loads(gzip.decompress(Path(__file__).with_name("metrics_tf215.json.gz").read_bytes()))
FUNCTIONS = sorted({program["function"] for program in PROGRAMS})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_stream_gives_what_tensorflow_gives(function: str) -> None:
    different = {}
    for program in PROGRAMS:
        if program["function"] == function:
            # Names there are unique without regard to case, and an operation is called `Max`.
            theirs = json.loads(json.dumps(program["answer"]).replace("/max_1:0", "/max:0"))
            ours = run(tf, program)
            if found := {
                key: (theirs.get(key), ours.get(key)) for key in theirs | ours if not _same(key, theirs, ours)
            }:
                told = {key: value for key, value in program.items() if key not in ("answer", "batches")}
                different[json.dumps(told)] = found
    assert not different, "\n".join(f"{program}: {found}" for program, found in different.items())


def _same(key: str, theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    left, right = theirs.get(key), ours.get(key)
    if key == "updates" and left is not None and right is not None:
        return len(left) == len(right) and all(map(_close, left, right))
    return _close(left, right) if key in ("start", "value") else bool(left == right)


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, str) or isinstance(right, str) or left is None or right is None:
        return bool(left == right)
    values = [np.array([np.nan if v is None else v for v in side]) for side in (left, right)]
    return values[0].shape == values[1].shape and np.allclose(*values, rtol=1e-5, atol=2e-6, equal_nan=True)


def test_the_programs_are_of_all_functions() -> None:
    assert len(FUNCTIONS) == 33 and set(FUNCTIONS) == set(tf.metrics.__all__) - {"reset"}
    assert len(PROGRAMS) >= 180 and sum("error" in program["answer"] for program in PROGRAMS) >= 15


def test_a_difference_is_found() -> None:
    answer = {"updates": [[0.5], [None]], "value": [0.5]}
    assert all(_same(key, answer, answer) for key in answer)
    assert not _same("value", answer, {"value": [0.51]})
    assert not _same("updates", answer, {"updates": [[0.5], [0.0]]})
