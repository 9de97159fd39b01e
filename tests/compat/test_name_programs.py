"""Names of TensorFlow 1.15: programs give the values that TensorFlow 1.15 gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compat import flag_programs, name_programs
from compat.answers_tf115 import differs

import actorflow.compat.v1 as tf

MODULES = (name_programs, flag_programs)
PROGRAMS = {name: program for module in MODULES for name, program in module.PROGRAMS.items()}
ANSWERS: dict[str, dict[str, Any]] = {
    name: answer
    for module in MODULES
    for name, answer in json.loads(
        Path(str(module.__file__)).with_name(f"{module.__name__.rpartition('.')[2]}_tf115.json").read_text()
    ).items()
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_values_are_tensorflows(name: str) -> None:
    with tf.Graph().as_default():
        values = PROGRAMS[name](tf)
    assert values.keys() == ANSWERS[name].keys()
    faults = {key: fault for key, value in values.items() if (fault := differs(value, ANSWERS[name][key]))}
    assert not faults, faults


def test_each_program_has_its_answers() -> None:
    assert PROGRAMS.keys() == ANSWERS.keys()
