"""Programs of tapes and functions, and refusals, give what TensorFlow 2.15 gave (`dump_eager.py` wrote that)."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from engine.eager.eager_programs import PROGRAMS, outcome

import actorflow as af

ANSWERS = json.loads((Path(__file__).parent / "tensorflow_eager.json").read_text())
DIFFERENT = {
    "a_target_of_python": "TypeError",  # an AttributeError there, that a float has no dtype
    "types_that_do_not_fit": "TypeError",  # that of a graph, which is one check for both
    "a_variable_from_an_argument": "ValueError",  # made in each call there, until its function is called again
}
"""The programs that end with other errors here, and why."""


def near(value: Any, answer: Any) -> bool:
    """Whether two values are equal, numbers up to the last digits of float32."""
    if isinstance(value, list) and isinstance(answer, list):
        return len(value) == len(answer) and all(map(near, value, answer))
    if isinstance(value, dict) and isinstance(answer, dict):
        return value.keys() == answer.keys() and all(near(value[key], answer[key]) for key in value)
    if isinstance(value, float) and isinstance(answer, float):
        return value == pytest.approx(answer, rel=1e-5, abs=2e-4)
    return type(value) is type(answer) and bool(value == answer)


def run(group: str, name: str) -> Any:
    with af.eager(), warnings.catch_warnings():
        warnings.simplefilter("ignore", af.RetracingWarning)
        return outcome(PROGRAMS[group][name], af)


@pytest.mark.parametrize("name", PROGRAMS["tape"])
def test_tapes(name: str) -> None:
    assert near(run("tape", name), ANSWERS["tape"][name])


@pytest.mark.parametrize("name", PROGRAMS["function"])
def test_functions(name: str) -> None:
    """Values, effects in their order, and how often the function of Python is called."""
    assert near(run("function", name), ANSWERS["function"][name])


@pytest.mark.parametrize("name", PROGRAMS["refusal"])
def test_refusals(name: str) -> None:
    """The class is TensorFlow's, or a kind of it."""
    found, answer = run("refusal", name), ANSWERS["refusal"][name]
    assert "error" in found, found
    if name in DIFFERENT:
        assert DIFFERENT[name] in found["error"] and not set(answer.get("error", ())[:1]) & set(found["error"])
    else:
        assert answer["error"][0] in found["error"] or set(answer["error"][1:2]) & set(found["error"]) - {"Exception"}


def test_answers_are_of_these_programs() -> None:
    assert ANSWERS["tensorflow"].startswith("2.15") and {g: list(p) for g, p in PROGRAMS.items()} == {
        g: list(ANSWERS[g]) for g in PROGRAMS
    }
