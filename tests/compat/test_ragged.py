"""`tf.ragged`, and `tf.strings` with several results for each text: the values are TensorFlow 1.15.5's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compat import ragged_programs

import actorflow.compat.v1 as tf

ANSWERS = json.loads((Path(__file__).parent / "ragged_programs_tf115.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_values_are_tensorflows(name: str) -> None:
    answer, truth = ragged_programs.answer(tf, name), ANSWERS[name]
    assert answer == truth or np.allclose(answer, truth)


def test_each_case_has_an_answer() -> None:
    assert set(ragged_programs.cases(tf)) == set(ANSWERS)


def test_a_ragged_value_is_fed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.ragged.placeholder(tf.float32, 1)
        doubled = (rows * 2.0).to_tensor()
        value = tf.ragged.constant_value([[1.0, 2.0], [3.0]], dtype=np.float32)
        assert session.run(doubled, {rows: value}).tolist() == [[2.0, 4.0], [6.0, 0.0]]
        assert value.shape == (2, None)


def test_what_is_known_of_a_ragged_tensor() -> None:
    with tf.Graph().as_default():
        rows = tf.ragged.constant([[[1.0], [2.0, 3.0]], []])
        assert (rows.ragged_rank, rows.dtype, rows.shape.as_list()) == (2, tf.float32, [2, None, None])
        assert rows.with_row_splits_dtype(tf.int32).row_splits.dtype == tf.int32


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.RaggedTensor([1], [0, 1]), "private"),
        (lambda: tf.ragged.constant([[1], 2]), "several depths"),
        (lambda: tf.ragged.constant([[1, 2]], ragged_rank=2), "needs lists of 3"),
        (lambda: tf.ragged.stack([], axis=0), "at least a value"),
        (lambda: tf.ragged.constant([[1]])[::2], "without a step"),
        (lambda: tf.ragged.constant([[1]]).to_list(), "eager mode"),
        (lambda: tf.strings.unicode_decode("a", "LATIN-1"), "not in 'LATIN-1'"),
        (lambda: tf.strings.unicode_decode("a", "UTF-8", errors="skip"), "'strict'"),
        (lambda: tf.strings.ngrams(["a"], 2, padding_width=1), "needs pad_values"),
        (lambda: tf.RaggedTensor.from_tensor([[1]], ragged_rank=2), "ragged_rank=1"),
    ],
)
def test_what_is_refused(call: Callable[[], Any], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        call()
