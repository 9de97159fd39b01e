"""Random layers give what TensorFlow 2.15 gives for them: names, shapes, values with equal weights, updates, and refusals.

`tests/models/layers/dump_layers.py` has written TensorFlow's answers.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.layers.layer_programs import run

import actorflow.compat.v1 as tf

PROGRAMS = json.loads(gzip.decompress(Path(__file__).with_name("layers_tf215.json.gz").read_bytes()))
FUNCTIONS = sorted({program["function"] for program in PROGRAMS})
CHOSEN_OTHERWISE = {
    "dropout": "a composition of ops, which both choose themselves",
    "separable_conv1d": "the bias is added before the row is taken out there",
    "batch_normalization": "a composition of ops, which both choose themselves, where it is not fused",
    "max_pooling1d": "the name of the squeeze",
    "average_pooling1d": "the name of the squeeze",
    "max_pooling3d": "the function gives the operation its own name",
    "average_pooling3d": "the function gives the operation its own name",
}
"""The layers whose output's operation has another name within the layer's scope."""


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_gives_what_tensorflow_gives(function: str) -> None:
    programs = [program for program in PROGRAMS if program["function"] == function]
    different = {
        json.dumps({key: value for key, value in program.items() if key != "answer"}): found
        for program in programs
        if (found := _different(function, program["answer"], run(tf, program)))
    }
    assert not different, "\n".join(f"{program}: {found}" for program, found in different.items())


def _different(function: str, theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """The differences, by their names: TensorFlow's and ours."""
    found = {}
    for key in sorted(theirs.keys() | ours.keys()):
        left, right = theirs.get(key), ours.get(key)
        if key == "ops" and function in CHOSEN_OTHERWISE:
            left, right = ([name.rpartition("/")[0].split("/")[0] for name in names or []] for names in (left, right))
        if key in ("values", "moved"):
            same = type(left) is type(right) and _close(left, right)
        else:
            same = left == right
        if not same:
            found[key] = (left, right)
    return found


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_close(left[key], right[key]) for key in left)
    return len(left) == len(right) and np.allclose(left, right, rtol=2e-5, atol=2e-4)


def test_the_programs_are_of_all_kinds() -> None:
    assert len(PROGRAMS) >= 200
    assert len(FUNCTIONS) == 17
    assert sum("error" in program["answer"] for program in PROGRAMS) >= 40
    assert sum(bool(program["answer"].get("moved")) for program in PROGRAMS) >= 20


def test_a_difference_is_found() -> None:
    answer = {"ops": ["dense/BiasAdd"], "values": [[1.0, 2.0]]}
    assert not _different("dense", answer, answer)
    assert _different("dense", answer, {**answer, "values": [[1.0, 2.1]]})
    assert _different("dense", answer, {**answer, "ops": ["dense/MatMul"]})
