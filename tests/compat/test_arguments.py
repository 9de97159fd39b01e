"""Arguments of TensorFlow 1.15 that programs seldom give: each does what TensorFlow does, or is refused in a sentence."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.CriticalSection(critical_section_def=object()), "not built from a message"),
        (lambda: tf.CriticalSection(import_scope="scope"), "not built from a message"),
        (lambda: tf.data.DatasetSpec(tf.TensorSpec([]), [3]), "a single dataset"),
        (lambda: tf.sparse.split(tf.SparseTensor([[0]], [1], [2]), sp_input=None, num_split=2), "by name"),
        (lambda: tf.train.export_meta_graph(save_debug_info=True), "save_debug_info"),
        (lambda: tf.train.update_checkpoint_state("models", "models/a", None, None, [1.0, 2.0]), "do not match"),
        (lambda: tf.train.QueueRunner(), "Must provide queue"),
        (lambda: tf.io.TFRecordOptions(compression_method=7), "compression_method"),
        (lambda: tf.io.TFRecordOptions(mem_level=12), "mem_level"),
        (lambda: tf.estimator.MultiLabelHead(2, classes_for_class_based_metrics=[2]), "in range"),
    ],
)
def test_what_is_not_offered_is_refused(call: Callable[[], Any], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        call()


def test_a_tensor_has_the_type_that_is_said() -> None:
    x = tf.constant(1.0)
    assert tf.Tensor(x.op, 0, tf.float32).name == x.name
    with pytest.raises(TypeError, match="has type"):
        tf.Tensor(x.op, 0, tf.int32)


def test_a_hint_of_a_type_goes_behind_the_type() -> None:
    with tf.Graph().as_default():
        assert tf.convert_to_tensor(1, dtype_hint=tf.float32).dtype == tf.float32
        assert tf.convert_to_tensor(1, tf.int64, None, None, tf.float32).dtype == tf.int64


def test_categories_are_drawn_in_the_type_that_stands_third() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        drawn = tf.random.categorical(tf.log([[0.0, 1.0]]), 4, tf.int32)
        assert drawn.dtype == tf.int32
        assert session.run(drawn).tolist() == [[1, 1, 1, 1]]


def test_a_scope_takes_its_defaults_in_tensorflows_order() -> None:
    partitioner, getter = tf.fixed_size_partitioner(2), lambda real, *args, **kwargs: real(*args, **kwargs)
    scope = tf.VariableScope(None, "a", None, None, None, partitioner, getter, "b/", tf.float64)
    assert (scope.partitioner, scope.custom_getter, scope.original_name_scope) == (partitioner, getter, "b/")
    assert scope.dtype == tf.float64


def test_a_layer_takes_its_type_third() -> None:
    assert tf.layers.Layer(True, "layer", tf.float64).dtype == tf.float64


@pytest.mark.parametrize(
    "options",
    [
        {"compression_type": "ZLIB", "mem_level": 1},
        {"compression_type": "GZIP", "window_bits": 31, "compression_strategy": zlib.Z_HUFFMAN_ONLY},
        {"compression_type": "ZLIB", "flush_mode": zlib.Z_FULL_FLUSH, "input_buffer_size": 9, "output_buffer_size": 9},
        {"compression_type": "", "mem_level": 3},
    ],
)
def test_packed_records_come_back(options: dict[str, Any], tmp_path: Any) -> None:
    packing = tf.io.TFRecordOptions(**options)
    records = [b"one" * 500, b"two", b""]
    with tf.io.TFRecordWriter(str(tmp_path / "file"), packing) as writer:
        for record in records:
            writer.write(record)
    assert list(tf.io.tf_record_iterator(str(tmp_path / "file"), packing)) == records


def test_the_strategy_of_zlib_changes_the_bytes(tmp_path: Any) -> None:
    sizes = []
    for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY):
        path = tmp_path / str(strategy)
        with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions("ZLIB", compression_strategy=strategy)) as writer:
            writer.write(b"abc" * 1000)
        sizes.append(path.stat().st_size)
    assert sizes[0] < sizes[1]


def test_a_jpeg_keeps_its_colours_where_it_is_asked_to() -> None:
    colours = np.zeros([16, 16, 3], np.uint8)
    colours[::2, ::2] = [255, 0, 0]
    with tf.Graph().as_default(), tf.Session() as session:
        half = tf.image.encode_jpeg(colours, "rgb", 95, False, True)
        whole = tf.image.encode_jpeg(colours, chroma_downsampling=False, density_unit="cm", x_density=100, y_density=50)
        far, near = (
            np.abs(session.run(tf.image.decode_jpeg(each)).astype(int) - colours).mean() for each in (half, whole)
        )
        header = session.run(whole)
    assert near < far / 2
    assert header[13:18] == b"\x01" + (254).to_bytes(2, "big") + (127).to_bytes(2, "big")


def test_the_times_of_checkpoints_are_in_their_file(tmp_path: Any) -> None:
    folder = str(tmp_path)
    tf.train.update_checkpoint_state(folder, f"{folder}/b", [f"{folder}/a", f"{folder}/b"], None, [1.5, 2.5], 1.0)
    state = tf.train.get_checkpoint_state(folder)
    assert state.all_model_checkpoint_paths == [f"{folder}/a", f"{folder}/b"]
    assert (state.all_model_checkpoint_timestamps, state.last_preserved_timestamp) == ([1.5, 2.5], 1.0)


def test_a_runner_comes_from_its_message(tmp_path: Any) -> None:
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(4, tf.float32, [[]], name="numbers")
        message = tf.train.QueueRunner(queue, [queue.enqueue(1.0)]).to_proto()
        again = tf.train.QueueRunner(queue_runner_def=message)
        assert [op.name for op in again.enqueue_ops] == ["numbers_enqueue"]
        with pytest.raises(ValueError, match="mutually exclusive"):
            tf.train.QueueRunner(queue, queue_runner_def=message)


def test_names_that_are_drawn_may_count_as_equal() -> None:
    def graph(key: str) -> Any:
        with tf.Graph().as_default() as built:
            tf.constant(f"_temp_{key * 32}/part", name="c")
        return built.as_graph_def()

    tf.test.assert_equal_graph_def(graph("a"), graph("b"), checkpoint_v2=True)
    with pytest.raises(AssertionError):
        tf.test.assert_equal_graph_def(graph("a"), graph("b"))


def test_a_class_has_metrics_of_its_own(tmp_path: Any) -> None:
    head = tf.estimator.MultiLabelHead(3, classes_for_class_based_metrics=[0, 2])
    x = tf.feature_column.numeric_column("x")
    model = tf.estimator.DNNEstimator(head, [4], [x], model_dir=os.fspath(tmp_path))

    def rows() -> Any:
        features, labels = {"x": np.float32([[-1], [1]])}, np.int64([[0, 1, 0], [1, 1, 1]])
        return tf.data.Dataset.from_tensors((features, labels))

    model.train(rows)
    metrics = model.evaluate(rows)
    assert {"auc/class0", "auc_precision_recall/class2", "probability_mean/class2"} <= set(metrics)
    assert "auc/class1" not in metrics


def test_the_flag_values_stand_before_the_case() -> None:
    values = tf.app.flags._FlagValues() if hasattr(tf.app.flags, "_FlagValues") else tf.app.flags.FlagValues()
    tf.app.flags.DEFINE_multi_enum("kind", ["a"], ["a", "b"], "the kind", values, False)
    values(["program", "--kind=B"])
    assert values.kind == ["b"]


@pytest.mark.parametrize("form", [tf.TensorShape, np.array, tuple, list])
@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (lambda x, size: tf.contrib.slim.conv2d(x, 4, size, padding="VALID"), [2, 7, 6, 4]),
        (lambda x, size: tf.contrib.slim.conv2d(x, 4, [3, 3], stride=size), [2, 4, 3, 4]),
        (lambda x, size: tf.contrib.slim.conv2d_transpose(x, 4, size), [2, 8, 8, 4]),
        (lambda x, size: tf.contrib.slim.separable_conv2d(x, 4, size, 1), [2, 8, 8, 4]),
        (lambda x, size: tf.contrib.slim.max_pool2d(x, size, padding="VALID"), [2, 4, 3, 3]),
        (lambda x, size: tf.contrib.slim.pool(x, size, "MAX"), [2, 7, 6, 3]),
        (lambda x, size: tf.layers.conv2d(x, 4, size), [2, 7, 6, 4]),
        (lambda x, size: tf.layers.max_pooling2d(x, size, size), [2, 4, 2, 3]),
        (lambda x, size: tf.nn.avg_pool_v2(x, size, 1, "VALID"), [2, 7, 6, 3]),
        (lambda x, size: tf.nn.max_pool2d(x, size, 1, "VALID"), [2, 7, 6, 3]),
    ],
)
def test_sizes_of_windows_may_be_a_shape_or_an_array(layer: Any, expected: list[int], form: Any) -> None:
    with tf.Graph().as_default():
        assert layer(tf.zeros([2, 8, 8, 3]), form([2, 3])).shape.as_list() == expected


def test_the_helpers_of_layers() -> None:
    utils = tf.contrib.slim.utils
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 8, 6, 3])
        assert utils.last_dimension(x.get_shape(), min_rank=4) == 3
        assert utils.channel_dimension(x.get_shape(), "channels_first") == 8
        assert utils.two_element_tuple(x.get_shape()[1:3]) == (8, 6)
        assert utils.n_positive_integers(3, 2) == (2, 2, 2)
        assert utils.smart_cond(tf.constant(True), lambda: 1, lambda: 2) == 1
        assert utils.constant_value(x) is None
        assert utils.get_variable_collections({"weights": ["w"]}, "weights") == ["w"]
        utils.append_tensor_alias(x, "image")
        assert utils.gather_tensors_aliases([x]) == ["image"]
        for call in (
            lambda: utils.first_dimension(x.get_shape()),
            lambda: utils.last_dimension(x.get_shape(), min_rank=5),
            lambda: utils.two_element_tuple([1, 2, 3]),
            lambda: utils.constant_value(None),
        ):
            with pytest.raises(ValueError, match=r"known|rank|integers|None"):
                call()


def test_a_variable_in_a_collection_of_the_programs_own_comes_back_as_a_tensor(tmp_path: Any) -> None:
    path = os.fspath(tmp_path / "model.meta")
    with tf.Graph().as_default():
        rate = tf.Variable(3.0, name="rate", trainable=False)
        tf.add_to_collection("rates", rate)
        tf.add_to_collection("rates", rate * 2)
        tf.train.export_meta_graph(path)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(path)
        session.run(tf.global_variables_initializer())
        tensors = tf.get_collection("rates")
        assert [tensor.name for tensor in tensors] == ["rate:0", "mul:0"]
        assert session.run([tensors[0] + 1, *tensors]) == [4.0, 3.0, 6.0]
