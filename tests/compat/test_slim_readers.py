"""The readers of `tf.contrib.slim`: values as TensorFlow 1.15 has them, and the sentences of what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compat.answers_tf115 import differs
from compat.slim_reader_programs import PROGRAMS, data_set

import actorflow.compat.v1 as tf

slim = tf.contrib.slim
ANSWERS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "slim_readers_tf115.json").read_text())


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_values_are_tensorflows(name: str) -> None:
    with tf.Graph().as_default():
        values = PROGRAMS[name](tf)
    assert values.keys() == ANSWERS[name].keys()
    faults = {key: fault for key, value in values.items() if (fault := differs(value, ANSWERS[name][key]))}
    assert not faults, faults


def test_each_program_has_its_answers() -> None:
    assert PROGRAMS.keys() == ANSWERS.keys()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: slim.tfexample_decoder.BoundingBox(["a", "b"]), ValueError, "expects 4 keys but got 2"),
        (lambda: slim.tfexample_decoder.Tensor("a", shape_keys="b", shape=[1]), ValueError, "Cannot specify both"),
        (lambda: slim.tfexample_decoder.BackupHandler("a", "b"), ValueError, "Primary handler is of type"),
        (lambda: slim.parallel_reader.get_data_files("/nowhere/file-*"), ValueError, "No data files found in"),
        (lambda: slim.parallel_reader.get_data_files([]), ValueError, "No data files found in"),
        (
            lambda: slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(1, [tf.string, tf.int64])),
            TypeError,
            "common_queue.dtypes must be",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=words):
        call()


def test_a_provider_names_the_items_that_it_has(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        provider = slim.dataset_data_provider.DatasetDataProvider(data_set(tf, str(tmp_path)))
        with pytest.raises(ValueError, match=r"Item \[y\] is invalid\. Valid entries include: .*label"):
            provider.get(["y"])
        with pytest.raises(ValueError, match="must be a list or tuple"):
            provider.get("x")
        with pytest.raises(ValueError, match="cannot also be used for a dataset item: label"):
            slim.dataset_data_provider.DatasetDataProvider(data_set(tf, str(tmp_path)), record_key="label")


def test_blocks_of_queue_runners_are_not_nested() -> None:
    with tf.Graph().as_default(), tf.Session() as session, slim.queues.QueueRunners(session):
        with (
            pytest.raises(slim.queues.NestedQueueRunnerError, match="cannot be nested"),
            slim.queues.QueueRunners(session),
        ):
            pass
    with tf.Graph().as_default(), tf.Session() as session, slim.queues.QueueRunners(session):
        pass
