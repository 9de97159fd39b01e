"""Checks of `tf.estimator` as in TensorFlow: configurations, specs, receivers, outputs, exporters, folders."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import actorflow.compat.v1 as tf

est = tf.estimator
CLUSTER = {"chief": ["host0:0"], "ps": ["host1:1"], "worker": ["host2:2", "host3:3"]}
MASTER = {"master": ["host0:0"], "worker": ["host2:2"]}


def configured(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], **options: Any) -> Any:
    monkeypatch.setenv("TF_CONFIG", json.dumps(settings))
    return est.RunConfig(**options)


REFUSED_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"model_dir": ""}, "model_dir in TF_CONFIG should be non-empty"),
    ({"model_dir": "/tmp/other"}, "must have the same value as the model_dir in TF_CONFIG"),
    ({"task": {"type": "ps", "index": 0}}, 'If "cluster" is not set in TF_CONFIG, task type must be WORKER.'),
    ({"task": {"type": "worker", "index": 1}}, 'If "cluster" is not set in TF_CONFIG, task index must be 0.'),
    ({"cluster": {"chief": ["a:1", "b:2:3"]}}, 'must have only one "chief" node'),
    ({"cluster": {"master": ["a:1", "b:2:3"]}}, 'must have only one "master" node'),
    ({"cluster": {**MASTER, "chief": ["c:1"]}}, "If `master` node exists in `cluster`, job `chief` is not supported."),
    (
        {"cluster": MASTER, "task": {"type": "evaluator", "index": 0}},
        "If `master` node exists in `cluster`, task_type `evaluator` is not supported.",
    ),
    ({"cluster": CLUSTER, "task": {"type": "ps", "index": 4}}, "is not a valid task_id"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED_SETTINGS, ids=[message for _, message in REFUSED_SETTINGS])
def test_settings_that_contradict_are_refused(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        configured(monkeypatch, settings, model_dir="/tmp/run")
    assert message in str(refusal.value)


def test_targets_are_written_as_in_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert est.RunConfig().master == ""
    config = configured(monkeypatch, {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}})
    assert (config.master, config.target) == ("grpc://host3:3", "tcp://host3:3")
    assert configured(monkeypatch, {"eval_session_master": "grpc://e:1"}).evaluation_master == "grpc://e:1"
    with pytest.raises(ValueError, match="session_config must be instance of ConfigProto"):
        est.RunConfig(session_config={})


@pytest.mark.parametrize("wrong", [lambda x: "/cpu:0", lambda op, other: "/cpu:0", lambda: "/cpu:0"])
def test_a_device_function_takes_an_op(wrong: Any) -> None:
    assert est.RunConfig(device_fn=lambda op: "/cpu:0").device_fn is not None
    for refused in (lambda: est.RunConfig(device_fn=wrong), lambda: est.RunConfig().replace(device_fn=wrong)):
        with pytest.raises(ValueError, match='device_fn must be callable with exactly one argument "op"'):
            refused()


def test_a_configuration_is_checked_first_and_an_empty_folder_is_none() -> None:
    with pytest.raises(ValueError, match="config must be an instance of `RunConfig`"):
        est.Estimator(model_fn=None, config="no config")
    assert os.path.isdir(est.Estimator(model_fn=lambda features: None, model_dir="").model_dir)


@pytest.mark.parametrize("params", [None, {"rate": 3.0}])
def test_the_model_function_takes_the_same_arguments_whatever_the_program_wrote(params: Any) -> None:
    def model_fn(features: Any, params: Any) -> Any:
        return est.EstimatorSpec("infer", predictions=features * params.get("rate", 1.0))

    whole = est.Estimator(model_fn, params=params).model_fn
    assert list(inspect.signature(whole).parameters) == ["features", "labels", "mode", "config"]
    with tf.Graph().as_default(), tf.Session() as session:
        spec = whole(features=tf.constant(2.0), labels=None, mode="infer", config=est.RunConfig())
        assert session.run(spec.predictions) == 2.0 * (params or {}).get("rate", 1.0)


def _starts_at(number: float) -> Callable[..., Any]:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        x = tf.get_variable("x", initializer=number)
        step = tf.train.get_global_step()
        metrics = {"mean": tf.metrics.mean(x), "rows": tf.metrics.mean_tensor([x, 2.0 * x])}
        return est.EstimatorSpec(
            mode, {"y": tf.reshape(x, [1])}, tf.identity(x), tf.assign_add(step, 1), eval_metric_ops=metrics
        )

    return model_fn


def _numbers() -> Any:
    return {"a": tf.constant([[1.0]])}, tf.constant([[1.0]])


def _receiver() -> Any:
    numbers = tf.placeholder(tf.float32, [None, 1])
    return est.export.ServingInputReceiver({"a": numbers}, numbers)


@pytest.mark.parametrize("source", ["folder", "saved model", "bytes"])
def test_a_warm_start_takes_a_saved_model_and_is_exported_without_a_training(source: str, tmp_path: Path) -> None:
    first = est.Estimator(_starts_at(3.0), str(tmp_path / "first")).train(_numbers, steps=1)
    exported = first.export_saved_model(str(tmp_path / "exports"), _receiver)
    begin: Any = {"folder": first.model_dir, "saved model": exported.decode(), "bytes": exported}[source]
    second = est.Estimator(_starts_at(30.0), str(tmp_path / "second"), warm_start_from=begin)
    assert next(iter(second.predict(_numbers)))["y"] == 3.0
    folder = second.export_saved_model(str(tmp_path / "exports"), _receiver).decode()
    assert tf.train.load_variable(f"{folder}/variables/variables", "x") == 3.0
    with pytest.raises(ValueError, match="Couldn't find trained model"):
        est.Estimator(_starts_at(1.0), str(tmp_path / "third")).export_saved_model(str(tmp_path), _receiver)


def test_the_older_export_takes_a_word_more(tmp_path: Path) -> None:
    trained = est.Estimator(_starts_at(3.0), str(tmp_path / "run")).train(_numbers, steps=1)
    assert os.path.exists(trained.export_savedmodel(str(tmp_path / "a"), _receiver, strip_default_attrs=True))
    assert os.path.exists(trained.export_savedmodel(str(tmp_path / "b"), _receiver, None, False, None, True))


def test_the_summaries_of_an_evaluation_name_the_checkpoint_and_have_arrays(tmp_path: Path) -> None:
    trained = est.Estimator(_starts_at(3.0), str(tmp_path / "run")).train(_numbers, steps=2)
    trained.evaluate(_numbers, steps=1)
    values: dict[str, Any] = {}
    for path in sorted(Path(trained.eval_dir()).iterdir()):
        for event in tf.train.summary_iterator(str(path)):
            for value in event.summary.value:
                values[value.tag] = tf.make_ndarray(value.tensor) if value.HasField("tensor") else value.simple_value
    assert values["checkpoint_path"].item() == trained.latest_checkpoint().encode()
    assert values["rows"].tolist() == [3.0, 6.0]
    assert values["mean"] == 3.0 and "global_step" not in values


def test_a_model_that_does_not_fit_its_checkpoint_is_refused_in_tensorflows_words(tmp_path: Path) -> None:
    est.Estimator(_starts_at(3.0), str(tmp_path)).train(_numbers, steps=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Restoring from checkpoint failed.*a mismatch between"):
        est.Estimator(_starts_at([3.0]), str(tmp_path)).train(_numbers, steps=1)


def test_a_derived_configuration_may_have_properties_of_its_own(tmp_path: Path) -> None:
    class Fixed(est.RunConfig):  # type: ignore[misc]
        @property
        def model_dir(self) -> str:
            return str(tmp_path)

        @property
        def is_chief(self) -> bool:
            return False

    config = Fixed()
    assert config.model_dir == str(tmp_path) and not config.is_chief
    assert est.Estimator(lambda features: None, config=config).model_dir == str(tmp_path)
    assert isinstance(est.Estimator(lambda features: None).config, est.RunConfig)


@pytest.mark.parametrize("spec", [est.TrainSpec, est.EvalSpec])
@pytest.mark.parametrize("wrong", [None, 3, "input", b"input", np.float32(1)])
def test_a_spec_refuses_what_is_no_input(spec: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match="`input_fn` must be callable"):
        spec(wrong)
    for right in (lambda: 1, [({}, 1)], tf.data.Dataset.range(1)):
        assert spec(right).input_fn is right


def test_an_exporter_has_a_text_as_its_name() -> None:
    for name, message in ((3, "must have a string name"), ("", "None` or empty")):
        exporter = est.LatestExporter(name, lambda: None)
        with pytest.raises(ValueError, match=message):
            est.EvalSpec(lambda: 1, exporters=exporter)


# ---- what is exported


def x() -> Any:
    return tf.placeholder(tf.float32, [None])


Receiver, One = est.export.ServingInputReceiver, est.export.TensorServingInputReceiver
WRONG_PARTS: list[tuple[str, Callable[[], Any]]] = [
    ("features must be defined", lambda: Receiver(None, x())),
    ("feature keys must be strings", lambda: Receiver({2.5: x()}, x())),
    ("feature a must be a Tensor", lambda: Receiver({"a": [1.0]}, x())),
    ("feature feature must be a Tensor", lambda: Receiver("a", x())),
    ("receiver_tensors must be defined", lambda: Receiver(x(), None)),
    ("receiver_tensors must be defined", lambda: Receiver(x(), {})),
    ("receiver_tensor keys must be strings", lambda: Receiver(x(), {1: x()})),
    ("receiver_tensor a must be a Tensor", lambda: Receiver(x(), {"a": [1]})),
    ("features must be defined", lambda: One(None, x())),
    ("feature must be a Tensor", lambda: One({"a": x()}, x())),
    ("receiver_tensors must be defined", lambda: One(x(), None)),
    ("receiver_tensor a must be a Tensor", lambda: One(x(), {"a": [1]})),
    ("output key must be a string", lambda: est.export.PredictOutput({1: x()})),
    ("output value must be a Tensor", lambda: est.export.PredictOutput({"a": [1]})),
]


@pytest.mark.parametrize(("message", "make"), WRONG_PARTS)
def test_parts_of_an_export_are_checked_when_they_are_made(message: str, make: Callable[[], Any]) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        make()


def test_a_spec_for_predictions_has_a_default_output_and_a_scaffold() -> None:
    with tf.Graph().as_default():
        key, number, label = "serving_default", est.export.RegressionOutput(x()), est.export.PredictOutput(x())

        def spec(**options: Any) -> Any:
            return est.EstimatorSpec("infer", predictions={"a": x()}, **options)

        assert list(spec().export_outputs[key].outputs) == ["a"]
        assert spec(export_outputs={"head": number}).export_outputs == {"head": number, key: number}
        assert isinstance(spec().scaffold, tf.train.Scaffold)
        with pytest.raises(ValueError, match="Multiple export_outputs were provided"):
            spec(export_outputs={"one": number, "other": label})
        with pytest.raises(TypeError, match="Values in export_outputs must be ExportOutput objects"):
            spec(export_outputs={"head": x()})


def test_exporters_name_the_arguments_of_an_export(tmp_path: Path) -> None:
    estimator = mock.Mock(spec=est.Estimator)
    estimator.export_saved_model.return_value = "exported"
    receiver = mock.Mock()
    exporter = est.LatestExporter("latest", receiver, assets_extra={"a": "b"})
    assert exporter.export(estimator, str(tmp_path), "run-1", {}, False) == "exported"
    options = {"assets_extra": {"a": "b"}, "as_text": False, "checkpoint_path": "run-1"}
    estimator.export_saved_model.assert_called_with(str(tmp_path), receiver, **options)


def test_a_folder_may_be_there_when_it_is_made(tmp_path: Path) -> None:
    tf.gfile.MkDir(str(tmp_path))
    tf.io.gfile.mkdir(os.fsencode(tmp_path))
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.MkDir(str(tmp_path / "absent" / "inner"))


# ---- metrics


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    image = tf.summary.image("image", tf.zeros([2, 3, 3, 1]))
    values = ((tf.constant(2.0), tf.constant(1)), tf.constant(3.0, tf.float64))
    metrics = {"nested": (values, tf.no_op()), "picture": (image, tf.no_op())}
    train_op = tf.train.get_global_step().assign_add(1)
    predictions = {"y": tf.identity(features["x"])}
    return est.EstimatorSpec(mode, predictions, tf.constant(1.0), train_op, metrics if mode == "eval" else None)


def input_fn() -> Any:
    return {"x": tf.constant([[1.0]])}, tf.constant([[1.0]])


def test_a_metric_may_be_a_tuple_or_a_summary_and_folders_may_be_bytes(tmp_path: Path) -> None:
    estimator = est.Estimator(model_fn, str(tmp_path / "model")).train(input_fn, steps=1)
    result = estimator.evaluate(input_fn, steps=1)
    assert result["nested"] == ((2.0, 1), 3.0)
    events = list((tmp_path / "model" / "eval").iterdir())
    tags = {value.tag for event in tf.train.summary_iterator(str(events[0])) for value in event.summary.value}
    assert {"picture/0", "picture/1"} <= tags
    features = {"x": tf.FixedLenFeature([1], tf.float32)}
    receiver = est.export.build_parsing_serving_input_receiver_fn(features)
    folder = estimator.export_saved_model(os.fsencode(tmp_path / "export"), receiver)
    assert isinstance(folder, bytes) and tf.saved_model.contains_saved_model(folder)
    with tf.Session(graph=tf.Graph()) as session:
        assert "serving_default" in tf.saved_model.load(session, ["serve"], folder).signature_def


def test_a_receiver_is_unpacked() -> None:
    with tf.Graph().as_default():
        features, receivers, alternatives = Receiver(x(), x())
        assert list(features) == ["feature"]
        assert list(receivers) == ["input"]
        assert alternatives is None


@pytest.mark.parametrize("name", ["train", "evaluate", "predict", "export_savedmodel"])
def test_a_subclass_of_an_estimator_overrides_no_method(name: str) -> None:
    class Mine(est.Estimator):  # type: ignore[misc, valid-type]
        pass

    setattr(Mine, name, lambda self, input_fn: None)
    with pytest.raises(ValueError, match=f"cannot override members of Estimator.*{name}"):
        Mine(lambda features: None)
