"""Random models of feature columns give what TensorFlow 2.15 gives: variables, values, specs for parsing, and refusals.

`tests/models/layers/dump_columns.py` has written TensorFlow's answers.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.layers.column_programs import run, run_of_sequences

import actorflow.compat.v1 as tf

PROGRAMS = json.loads(gzip.decompress(Path(__file__).with_name("columns_tf215.json.gz").read_bytes()))
KINDS = sorted({one["kind"] for program in PROGRAMS for one in program["columns"]})
PART = 20
SEQUENCES = json.loads(gzip.decompress(Path(__file__).with_name("sequences_tf215.json.gz").read_bytes()))


@pytest.mark.parametrize("start", range(0, len(PROGRAMS), PART))
def test_a_model_of_columns_gives_what_tensorflow_gives(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent.parent.parent)  # programs name a file of words by a relative path
    _compare(PROGRAMS[start : start + PART], run)


@pytest.mark.parametrize("start", range(0, len(SEQUENCES), PART))
def test_columns_of_sequences_give_what_tensorflow_gives(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent.parent.parent)
    _compare(SEQUENCES[start : start + PART], run_of_sequences)


def _compare(programs: list[dict[str, Any]], answer: Callable[[Any, dict[str, Any]], dict[str, Any]]) -> None:
    different = {}
    for program in programs:
        theirs, ours = program["answer"], json.loads(json.dumps(answer(tf, program)))
        if found := {key: (theirs.get(key), ours.get(key)) for key in theirs | ours if not _same(key, theirs, ours)}:
            different[json.dumps({key: value for key, value in program.items() if key != "answer"})] = found
    assert not different, "\n".join(f"{program}: {found}" for program, found in different.items())


def _same(key: str, theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    left, right = theirs.get(key), ours.get(key)
    if key == "values" and left is not None and right is not None:
        return bool(np.allclose(left, right, rtol=1e-5, atol=1e-5))
    return bool(left == right)


def test_the_programs_are_of_all_kinds() -> None:
    assert len(PROGRAMS) >= 150 and sum("error" in program["answer"] for program in PROGRAMS) >= 35
    text = json.dumps([program["columns"] for program in PROGRAMS if "error" not in program["answer"]])
    text += json.dumps([program["columns"] for program in SEQUENCES if "error" not in program["answer"]])
    models = {
        "input_layer",
        "linear_model",
        "make_parse_example_spec",
        "sequence_input_layer",
        "concatenate_context_input",
    }
    made = set(tf.feature_column.__all__) - models
    assert len(SEQUENCES) >= 70
    assert all(f'"{kind}"' in text for kind in made), [kind for kind in made if f'"{kind}"' not in text]


def test_a_difference_is_found() -> None:
    assert not _same("values", {"values": [1.0]}, {"values": [1.1]})
    assert not _same("variables", {"variables": [["a", [1]]]}, {"variables": []})
