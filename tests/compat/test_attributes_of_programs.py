"""Attributes and parameters that TensorFlow 1's programs use: of operations, graphs, scopes and sessions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v0 as tf0
import actorflow.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_operations_tell_what_they_are() -> None:
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    before = tf.no_op()
    with tf.control_dependencies([before]):
        y = tf.matmul(x, x)
    assert (x._op is x.op, y.op.op_def.name, y.op.op_def.is_stateful) == (True, "MatMul", False)
    assert [argument.name for argument in y.op.op_def.input_arg] == ["a", "b"]
    assert y.op.values() == (y,) and y.op.control_inputs == [before] and x.op.control_inputs == []
    file, line, *_ = y.op.traceback[-1]
    assert file == __file__ and line > 0
    assert y.shape.dims == [2, 2] and tf.TensorShape([]).dims == [] and tf.TensorShape(None).dims is None


def test_operators_are_listed() -> None:
    names = tf.Tensor.OVERLOADABLE_OPERATORS
    assert {"__add__", "__radd__", "__getitem__", "__matmul__", "__div__", "__abs__", "__xor__"} <= names
    assert all(callable(getattr(tf.Tensor, name)) for name in names) and "__eq__" not in names


def test_graphs_list_their_collections(fresh: tf.Graph) -> None:
    tf.add_to_collection("mine", 1)
    assert fresh.collections == ["mine"]
    tf.constant(1.0, name="c")
    with tf.Session() as session:
        assert [node.name for node in session.graph_def.node] == ["c"]


def test_scopes_take_defaults_later() -> None:
    with tf.variable_scope("a", use_resource=True) as scope:
        scope.set_caching_device("/cpu:0")
        scope.set_custom_getter(lambda getter, name, **rest: getter(name, **{**rest, "trainable": False}))
        v = tf.get_variable("v", [2], collections=["mine"], synchronization=None, aggregation=None)
        assert (scope.use_resource, scope.caching_device, v.trainable) == (True, "/cpu:0", False)
        assert scope.get_collection("mine") == [v]
        with tf.variable_scope("b") as inner:
            assert inner.use_resource and inner.caching_device == "/cpu:0" and inner.get_collection("mine") == []
        inner.set_use_resource(False)
        assert inner.use_resource is False


@pytest.mark.parametrize("make", [lambda: tf.get_variable("v", [2]), lambda: tf.Variable([1.0, 2.0], name="v")])
def test_creators_make_variables(make: Any) -> None:
    seen = []

    def outer(create: Any, **arguments: Any) -> Any:
        seen.append(("outer", arguments["name"], arguments["trainable"]))
        return create(**arguments)

    def inner(create: Any, **arguments: Any) -> Any:
        seen.append(("inner", arguments["name"], arguments["trainable"]))
        return create(**{**arguments, "trainable": False})

    with tf.variable_creator_scope(outer), tf.variable_creator_scope(inner):
        v = make()
    assert seen == [("inner", "v", True), ("outer", "v", False)]
    assert isinstance(v, tf.Variable) and tf.trainable_variables() == []
    tf.Variable(1.0)
    assert len(seen) == 2


def test_sizes_of_shapes_in_0x_have_values() -> None:
    x = tf0.placeholder(tf0.float32, [None, 3])
    program = (
        "import actorflow.compat.v0 as tf\n"
        "x = tf.placeholder(tf.float32, [None, 3])\n"
        "print(x.get_shape()[0].value, x.get_shape()[1].value)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "None 3", done.stderr
    assert x.get_shape()[1].value == 3


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2**31 - 1, "int32"), (2**31, "int64"), (-(2**31), "int32"), (-(2**31) - 1, "int64"), ([1, 2**40], "int64")],
)
def test_integers_take_the_room_that_they_need(value: Any, dtype: str) -> None:
    for made in (tf.constant(value), tf.convert_to_tensor(value), tf.identity(value)):
        assert made.dtype.name == dtype
    with pytest.raises(TypeError, match="uint64"):
        tf.constant(2**63)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.device(device_name_or_function="/cpu:0").__enter__(),
        lambda: tf.container(container_name="c").__enter__(),
        lambda: tf.colocate_with(op=tf.constant(1.0)).__enter__(),
        lambda: tf.as_dtype(type_value="int32"),
        lambda: tf.count_nonzero(input=[1, 0]),
        lambda: tf.tuple([tf.constant(1.0)], "name", [tf.no_op()]),
        lambda: tf.string_split(["a b"], " ", True, None, "SparseTensor", "name"),
        lambda: tf.nn.weighted_cross_entropy_with_logits(targets=[1.0], logits=[0.0], pos_weight=2.0),
    ],
)
def test_functions_have_tensorflows_parameters(call: Any) -> None:
    call()


def test_weighted_cross_entropy_takes_one_name_of_its_labels() -> None:
    with pytest.raises(ValueError, match="not both"):
        tf.nn.weighted_cross_entropy_with_logits(labels=[1.0], targets=[1.0], logits=[0.0], pos_weight=2.0)
    with pytest.raises(ValueError, match="needs labels"):
        tf.nn.weighted_cross_entropy_with_logits(logits=[0.0], pos_weight=2.0)


@pytest.mark.parametrize(
    "name", ["model[1].ckpt", "acc=97%.ckpt", "modèle-日本", "a b", "-x", "..a", "checkpoint", "weights/", "#1;(2)"]
)
def test_checkpoints_have_any_name(name: str, tmp_path: Path) -> None:
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    saver, path = tf.train.Saver(), os.path.join(tmp_path, name)
    (tmp_path / "weights").mkdir()
    with tf.Session() as session:
        session.run(v.initializer)
        saved = saver.save(session, path, 3 if name == "checkpoint" else None)
        session.run(v.assign([0.0, 0.0]))
        saver.restore(session, saved)
        assert session.run(v).tolist() == [1, 1]
        latest = tf.train.latest_checkpoint(os.path.dirname(path))
        assert os.path.normpath(latest or "") == os.path.normpath(saved)


def test_no_checkpoint_is_told(tmp_path: Path) -> None:
    tf.get_variable("v", [2])
    with tf.Session() as session, pytest.raises(ValueError, match="save_path when it is None"):
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(str(tmp_path)))


def test_a_readers_key_goes_through_a_batch(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{i}.txt") for i in range(4)]
    for path in paths:
        Path(path).write_text("abc")
    names = tf.train.string_input_producer(paths, shuffle=False)
    readers = [tf.WholeFileReader(), tf.TextLineReader(), tf.FixedLengthRecordReader(3), tf.IdentityReader()]
    batches = [tf.train.batch(list(reader.read(names)), batch_size=2) for reader in readers]
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        for batch in batches:
            keys, values = session.run(batch)
            assert len(keys) == len(values) == 2 and all(isinstance(key, bytes) for key in keys)
        coordinator.request_stop()
        coordinator.join(threads)


@pytest.mark.parametrize(
    ("value", "summarize", "shown"),
    [
        ("é", None, "[é]"),
        ([1, 2, 3, 4], None, "[1 2 3...]"),
        (["a", "b c"], None, "[a b c]"),
        ([True, False], None, "[1 0]"),
        ([[1.0, 2.0], [3.0, 4.0]], None, "[[1 2][3...]...]"),
        ([[1.0, 2.0], [3.0, 4.0]], 1, "[[1...]...]"),
        ([[1.0, 2.0], [3.0, 4.0]], -1, "[[1 2][3 4]]"),
        ([1.5, 1e-8, 1e20, 0.1], None, "[1.5 1e-08 1e+20...]"),
        ([[["a"], ["b"]]], None, "[[[a][b]]]"),
        (np.array([1 / 3]), None, "[0.33333333333333331]"),
        (np.array([0.1], np.float16), None, "[0.0999755859]"),
        ([], None, "[]"),
    ],
)
def test_print_shows_values_as_tensorflow(
    value: Any, summarize: int | None, shown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with tf.Session() as session:
        session.run(tf.Print(tf.constant(1), [tf.constant(value)], "m: ", summarize=summarize))
    assert capfd.readouterr().err == f"m: {shown}\n"


@pytest.mark.parametrize(
    ("labels", "predictions", "said"),
    [
        ([0, 255], [0, 1], "`labels` out of bound"),
        ([0, 1], [0, 2], "`predictions` out of bound"),
        ([0, -1], [0, 1], "`labels` out of bound"),
    ],
)
@pytest.mark.parametrize(
    "build",
    [lambda a, b: tf.metrics.mean_iou(a, b, 2)[1], lambda a, b: tf.confusion_matrix(a, b, 2)],
    ids=["mean_iou", "confusion_matrix"],
)
def test_a_class_out_of_range_is_named(labels: Any, predictions: Any, said: str, build: Any) -> None:
    made = build(tf.constant(labels), tf.constant(predictions))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            session.run(made)
