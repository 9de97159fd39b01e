"""`tf.contrib`: values as TensorFlow 1.15 has them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compat.answers_tf115 import differs
from compat.contrib_programs import PROGRAMS

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.aliases import ALIASES

ANSWERS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "contrib_tf115.json").read_text())


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_values_are_tensorflows(name: str) -> None:
    with tf.Graph().as_default():
        values = PROGRAMS[name](tf)
    assert values.keys() == ANSWERS[name].keys()
    faults = {key: fault for key, value in values.items() if (fault := differs(value, ANSWERS[name][key]))}
    assert not faults, faults


def test_each_program_has_its_answers() -> None:
    assert PROGRAMS.keys() == ANSWERS.keys()


@pytest.mark.parametrize("part", dir(tf.contrib))
def test_each_name_of_a_part_is_there(part: str) -> None:
    module = getattr(tf.contrib, part)
    for name in dir(module):
        assert getattr(module, name) is not None


@pytest.mark.parametrize("space", ["layers", "nn", "contrib", *(f"contrib.{part}" for part in dir(tf.contrib))])
def test_a_program_goes_through_all_names_of_a_namespace(space: str) -> None:
    module: Any = tf
    for name in space.split("."):
        module = getattr(module, name)
    if "__all__" in vars(module):
        assert {name: getattr(module, name) for name in module.__all__}.items() <= vars(module).items()


def test_a_program_finds_the_cells_of_contrib() -> None:
    cells = [
        each
        for each in tf.contrib.rnn.__dict__.values()
        if isinstance(each, type) and issubclass(each, tf.nn.rnn_cell.RNNCell)
    ]
    assert {tf.nn.rnn_cell.GRUCell, tf.contrib.rnn.UGRNNCell, tf.contrib.rnn.AttentionCellWrapper} <= set(cells)


@pytest.mark.parametrize("part", sorted(ALIASES))
def test_parts_without_code_are_public_names(part: str) -> None:
    assert getattr(tf.contrib, part).__doc__ == f"TensorFlow 1.15's `tf.contrib.{part}`."


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("boosted_trees", "XGBoost"),
        ("gan", "tensorflow-gan"),
        ("layres", r"Did you mean tf\.contrib\.layers"),
        ("layers.fully_conected", r"Did you mean tf\.contrib\.layers\.fully_connected"),
        ("rnn.GridLSTMCell", "derive it from tf.nn.rnn_cell.RNNCell"),
        ("learn.DNNClassifier", "it moved to tf.estimator.DNNClassifier"),
        ("training.stratified_sample", "rejection_resample"),
        ("lookup.MutableDenseHashTable", "MutableHashTable"),
        ("staging.StagingArea", r"tf\.FIFOQueue"),
    ],
)
def test_what_is_not_there_is_refused_by_name(path: str, message: str) -> None:
    thing: Any = tf.contrib
    *parents, last = path.split(".")
    for name in parents:
        thing = getattr(thing, name)
    with pytest.raises(AttributeError, match=message):
        getattr(thing, last)
