"""The readers of `tf.contrib.slim`: values as TensorFlow 1.15 has them, and the sentences of what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compat.answers_tf115 import differs
from compat.slim_reader_programs import PROGRAMS, data_set

import actorflow.compat.v1 as tf

slim = tf.contrib.slim
ROOM = "capacity is 1 or more, or below 0 for a queue without a limit, but 0 was given"
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
        (lambda: slim.parallel_reader.get_data_files(b"/nowhere/file-*"), ValueError, "found in /nowhere/file-"),
        (lambda: slim.parallel_reader.get_data_files([]), ValueError, "No data files found in"),
        (lambda: slim.parallel_reader.get_data_files(None), TypeError, "list of these, and not None"),
        (lambda: slim.parallel_reader.get_data_files(["a", None]), TypeError, "list of these, and not None"),
        (lambda: slim.parallel_reader.get_data_files(7), TypeError, "list of these, and not of type int"),
        (lambda: slim.parallel_reader.get_data_files(np.array(["a", "b"])), TypeError, "and not of type ndarray"),
        (lambda: slim.parallel_reader.get_data_files(tf.constant("a")), TypeError, "and not of type Tensor"),
        (lambda: slim.parallel_reader.single_pass_read(None, tf.TFRecordReader), TypeError, "and not None"),
        (lambda: slim.parallel_reader.parallel_read(None, tf.TFRecordReader), TypeError, "and not None"),
        *[
            (
                partial(slim.parallel_reader.parallel_read, "a", tf.TFRecordReader, shuffle=each, capacity=0),
                ValueError,
                ROOM,
            )
            for each in (False, True)
        ],
        *[
            (
                partial(lambda pads: slim.prefetch_queue.prefetch_queue([tf.constant(1)], 0, dynamic_pad=pads), each),
                ValueError,
                ROOM,
            )
            for each in (False, True)
        ],
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


@pytest.mark.parametrize("kind", [str, Path, np.str_, os.fsencode], ids=["str", "Path", "numpy", "bytes"])
def test_sources_are_names_of_any_kind(tmp_path: Path, kind: Callable[[str], Any]) -> None:
    files = [str(tmp_path / name) for name in ("part-0", "part-1")]
    for file in files:
        Path(file).touch()
    names = slim.parallel_reader.get_data_files
    assert names(kind(files[0])) == files[:1]
    assert sorted(names(kind(str(tmp_path / "part-*")))) == files
    assert names([kind(files[1]), (kind(files[0]),)]) == files[::-1]
    assert all(type(name) is str for name in names([kind(files[0])]))


def test_queues_without_a_limit_have_no_summary_of_their_room(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        slim.prefetch_queue.prefetch_queue([tf.constant(1)], capacity=-1)
        slim.parallel_reader.parallel_read(str(tmp_path), tf.TFRecordReader, shuffle=False, capacity=-1)
        tags = [node.name for node in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert tags == ["parallel_read/filenames/fraction_of_32_full:0"]


def test_a_block_of_queue_runners_may_follow_a_block_that_failed() -> None:
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, [tf.float32])
        odd = tf.decode_raw(tf.constant(b"abc"), tf.float32)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(tf.reduce_sum(odd))]))
        value = queue.dequeue()
        for _ in range(2):
            with (
                pytest.raises(tf.errors.InvalidArgumentError, match="not a multiple of 4"),
                tf.Session() as session,
                slim.queues.QueueRunners(session),
            ):
                session.run(value)
    with tf.Graph().as_default(), tf.Session() as session, slim.queues.QueueRunners(session):
        pass
