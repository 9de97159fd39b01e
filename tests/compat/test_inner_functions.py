"""Functions and classes of TensorFlow's inner modules: sizes of windows, Estimators of version 2, and hooks that log."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import actorflow.compat.v1 as tf
from actorflow.compat.door import finder, open_door
from actorflow.compat.v1 import behavior


@pytest.fixture(autouse=True)
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An open door, which is shut again behind each test."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "meta_path", [each for each in sys.meta_path if not isinstance(each, finder.Finder)])
    monkeypatch.setattr(behavior, "_assumed", False)
    open_door()
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("tensorflow", "tensorflow_estimator"):
            del sys.modules[name]


LENGTHS = [
    ("conv_output_length", (4, 2, "same", 1, 1), 4),
    ("conv_output_length", (4, 2, "same", 2, 1), 2),
    ("conv_output_length", (4, 2, "valid", 1, 1), 3),
    ("conv_output_length", (4, 2, "valid", 2), 2),
    ("conv_output_length", (4, 2, "full", 1, 1), 5),
    ("conv_output_length", (4, 2, "full", 2, 1), 3),
    ("conv_output_length", (5, 2, "valid", 2, 2), 2),
    ("conv_output_length", (None, 2, "valid", 2, 2), None),
    ("conv_input_length", (4, 2, "same", 1), 3),
    ("conv_input_length", (2, 2, "same", 2), 2),
    ("conv_input_length", (3, 2, "valid", 1), 4),
    ("conv_input_length", (2, 2, "valid", 2), 4),
    ("conv_input_length", (4, 2, "full", 1), 3),
    ("conv_input_length", (3, 2, "full", 2), 4),
    ("conv_input_length", (None, 2, "full", 2), None),
    ("deconv_output_length", (4, 2, "same", 1), 4),
    ("deconv_output_length", (4, 2, "same", 2), 8),
    ("deconv_output_length", (4, 2, "valid", 1), 5),
    ("deconv_output_length", (4, 2, "valid", 2), 8),
    ("deconv_output_length", (4, 2, "full", 1), 3),
    ("deconv_output_length", (4, 2, "full", 2), 6),
    ("deconv_output_length", (None, 2, "full", 2), None),
    ("convert_data_format", ("channels_last", 4), "NHWC"),
    ("convert_data_format", ("channels_first", 3), "NCW"),
    ("convert_data_format", ("channels_last", 5), "NDHWC"),
    ("convert_data_format", ("channels_last", 2), ValueError),
    ("convert_data_format", ("invalid", 4), ValueError),
    ("normalize_tuple", (2, 3, "strides"), (2, 2, 2)),
    ("normalize_tuple", ([2, 1], 2, "strides"), (2, 1)),
    ("normalize_tuple", ((2, 1), 3, "strides"), ValueError),
    ("normalize_tuple", (None, 3, "strides"), ValueError),
    ("normalize_data_format", ("Channels_Last",), "channels_last"),
    ("normalize_data_format", ("invalid",), ValueError),
    ("normalize_padding", ("SAME",), "same"),
    ("normalize_padding", ("invalid",), ValueError),
]
"""Functions of `tensorflow.python.layers.utils`, arguments, and TensorFlow 1.15's values."""


@pytest.mark.parametrize(("name", "arguments", "expected"), LENGTHS)
def test_the_windows_of_layers_have_tensorflows_sizes(
    name: str, arguments: tuple[object, ...], expected: object
) -> None:
    function = getattr(importlib.import_module("tensorflow.python.layers.utils"), name)
    if expected is ValueError:
        with pytest.raises(ValueError):
            function(*arguments)
    else:
        assert function(*arguments) == expected


def test_structures_of_data_have_the_functions_of_nest() -> None:
    nest = importlib.import_module("tensorflow.python.data.util.nest")
    assert nest.is_sequence({"a": 1}) and nest.flatten_up_to({"a": 0}, {"a": (1, 2)}) == [(1, 2)]
    assert nest.flatten is tf.nest.flatten


SECOND = {
    "baseline": "BaselineClassifier BaselineRegressor",
    "dnn": "DNNClassifier DNNRegressor",
    "dnn_linear_combined": "DNNLinearCombinedClassifier DNNLinearCombinedRegressor",
    "linear": "LinearClassifier LinearRegressor",
}
COLUMNS = [tf.feature_column.numeric_column("a")]
OPTIONS: dict[str, dict[str, object]] = {
    "baseline": {},
    "dnn": {"feature_columns": COLUMNS, "hidden_units": [2]},
    "dnn_linear_combined": {
        "linear_feature_columns": COLUMNS,
        "dnn_feature_columns": COLUMNS,
        "dnn_hidden_units": [2],
    },
    "linear": {"feature_columns": COLUMNS},
}


def numbers() -> object:
    return {"a": tf.constant([[1.0]] * 4)}, tf.constant([[1]] * 4)


@pytest.mark.parametrize(("module", "name"), [(m, name) for m, names in SECOND.items() for name in names.split()])
def test_the_loss_of_an_estimator_of_version_2_is_a_mean(module: str, name: str, tmp_path: Path) -> None:
    canned = importlib.import_module(f"tensorflow_estimator.python.estimator.canned.{module}")
    first, second = getattr(tf.estimator, name), getattr(canned, f"{name}V2")
    assert second.__name__ == f"{name}V2" and issubclass(second, first)
    options = {"model_dir": str(tmp_path), **OPTIONS[module]}
    trained = second(**options).train(numbers, steps=1)
    mean = float(trained.evaluate(numbers, steps=1)["loss"])
    assert mean > 0
    for added in (first(**options), second(loss_reduction="weighted_sum", **options)):
        assert float(added.evaluate(numbers, steps=1)["loss"]) == pytest.approx(4 * mean, rel=1e-5)


def test_reductions_of_version_2_have_its_words_and_other_losses_are_refused() -> None:
    second = importlib.import_module("tensorflow.compat.v2")
    reductions = second.losses.Reduction
    assert reductions.all() == ("auto", "none", "sum", "sum_over_batch_size")
    assert tf.estimator.RegressionHead(loss_reduction=reductions.SUM).loss_reduction == "weighted_sum"
    with pytest.raises(ValueError, match="Invalid Reduction Key mean"):
        reductions.validate("mean")
    with pytest.raises(NotImplementedError, match="its losses are those of Keras"):
        second.losses.MeanSquaredError()


# ---- hooks that log


def _lines(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """The lines that a program gets which puts functions of its own into `tf.logging`."""
    lines: list[str] = []
    for name in names:
        monkeypatch.setattr(
            tf.logging, name, lambda message, *values: lines.append(message % values if values else message)
        )
    return lines


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({}, r"loss = 0\.25( \(\d+\.\d{3} sec\))?"),
        ({"formatter": lambda values: f"here {values['loss']}"}, r"here 0\.25"),
    ],
)
def test_tensors_are_logged_in_tensorflows_lines(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, object], pattern: str
) -> None:
    lines = _lines(monkeypatch, "info")
    assert tf.train.LoggingTensorHook is tf.estimator.LoggingTensorHook
    with tf.Graph().as_default():
        loss = tf.constant(0.25)
        with tf.train.MonitoredSession(
            hooks=[tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=2, **options)]
        ) as session:
            for _ in range(3):
                session.run(loss)
    assert len(lines) == 2 and all(re.fullmatch(pattern, line) for line in lines), lines


def test_steps_are_logged_in_tensorflows_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _lines(monkeypatch, "info", "warning")
    with tf.Graph().as_default():
        step = tf.assign_add(tf.train.create_global_step(), 1)
        still = tf.constant(1.0)
        with tf.train.MonitoredSession(hooks=[tf.train.StepCounterHook(every_n_steps=1)]) as session:
            for fetched in (step, step, step, still, still):
                session.run(fetched)
    assert any(re.fullmatch(r"global_step/sec: [\d.e+]+", line) for line in lines), lines
    assert any(re.search(r"global step.*has not been increased", line) for line in lines), lines


# ---- words of layers


@pytest.mark.parametrize(("name", "rank"), [("conv1d", 3), ("conv2d", 4), ("conv3d", 5)])
def test_unknown_channels_are_refused_in_tensorflows_words(name: str, rank: int) -> None:
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [5] * (rank - 1) + [None])
        with pytest.raises(ValueError, match=r"The channel dimension of the inputs should be defined\. Found `None`\."):
            getattr(tf.layers, name)(images, 2, 2)


def test_a_layer_of_another_graph_is_refused_in_tensorflows_words() -> None:
    layer = tf.layers.Dense(1)
    with tf.Graph().as_default():
        layer(tf.ones([1, 1]))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Input graph and Layer graph are not the same"):
        layer(tf.ones([1, 1]))
