"""What a traced run tells of itself, as TensorFlow's messages."""

from __future__ import annotations

import time

import numpy as np
import pytest

import actorflow.compat.v1 as tf
from actorflow.compat.v1.run_metadata import RunMetadata

FULL = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


def test_a_traced_run_tells_which_node_ran_where_and_when() -> None:
    with tf.Graph().as_default(), tf.Session(devices={"CPU": 2}) as session:
        a = tf.placeholder(tf.float32, [64, 64], name="a")
        with tf.device("/cpu:1"):
            b = tf.matmul(a, a, name="b")
        c = tf.add(b, 1.0, name="c")
        before, metadata = time.time(), tf.RunMetadata()
        session.run(c, {a: np.eye(64)}, options=FULL, run_metadata=metadata)
        after = time.time()
    found = RunMetadata()
    found.ParseFromString(metadata.SerializeToString())
    devices = {device.device.rpartition("device:")[2]: device for device in found.step_stats.dev_stats}
    assert set(devices) == {"CPU:0", "CPU:1"}
    nodes = {node.node_name: node for device in devices.values() for node in device.node_stats}
    assert "b" in [node.node_name for node in devices["CPU:1"].node_stats]
    assert nodes["b"].timeline_label == "b = MatMul(a, a)"
    assert nodes["c"].timeline_label.startswith("c = Add(b, ")
    for node in nodes.values():
        assert before * 1e6 - 1e4 <= node.scheduled_micros <= node.all_start_micros
        assert node.all_start_micros + node.all_end_rel_micros <= after * 1e6 + 1e4
        assert node.all_end_rel_nanos == node.op_end_rel_nanos >= node.op_start_rel_nanos == 0
    assert nodes["b"].all_start_nanos + nodes["b"].all_end_rel_nanos <= nodes["c"].all_start_nanos


def test_without_a_level_nothing_is_told() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        c, metadata = tf.constant(1.0) + 1.0, tf.RunMetadata()
        session.run(c, options=FULL, run_metadata=metadata)
        assert metadata.HasField("step_stats")
        session.run(c, run_metadata=metadata)
        assert not metadata.HasField("step_stats"), "of the run before"
        session.run(c, options=tf.RunOptions(), run_metadata=metadata)
        assert not metadata.HasField("step_stats")


def test_a_run_that_fails_tells_how_far_it_came() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, name="x")
        bad, metadata = tf.check_numerics(tf.square(x, name="square"), "no number"), tf.RunMetadata()
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(bad, {x: np.nan}, options=FULL, run_metadata=metadata)
        assert "square" in [node.node_name for node in metadata.step_stats.dev_stats[0].node_stats]
