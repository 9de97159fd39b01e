"""Estimators as saved models: receivers, outputs, signatures, exporters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.estimator.estimator_lines import X, Y, batches, line, quiet

import actorflow as af
import actorflow.compat.v1 as tf


def receiver() -> Any:
    x = af.placeholder(af.float32, [None, X.shape[1]], name="x")
    return af.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


async def test_a_trained_model_is_exported_and_loaded(tmp_path: Path) -> None:
    made = await af.estimator.Estimator(line, str(tmp_path / "model"), quiet(), {"rate": 0.1}).train(batches)
    (tmp_path / "note").write_text("of the export")
    folder = await made.export_saved_model(tmp_path / "out", receiver, {"notes/a": str(tmp_path / "note")})
    assert Path(folder).parent == tmp_path / "out" and Path(folder).name.isdigit()
    assert (Path(folder) / "assets.extra" / "notes" / "a").read_text() == "of the export"
    other = await made.export_saved_model(tmp_path / "out", receiver, format="standard")
    assert int(Path(other).name) > int(Path(folder).name)
    wanted = [answer["y"] async for answer in made.predict([{"x": X[:4]}])]
    for path in (folder, other):
        async with af.Session(graph=af.Graph()) as session:
            signature = (await af.saved_model.load(session, ["serve"], path)).signature_def["serving_default"]
            fed = {signature.inputs["x"].name: X[:4]}
            np.testing.assert_allclose(await session.run(signature.outputs["y"].name, fed), wanted, rtol=1e-6)


def test_exports_need_a_checkpoint_and_a_receiver(tmp_path: Path) -> None:
    made = af.blocking.Estimator(line, str(tmp_path / "model"), quiet(), {"rate": 0.1})
    with pytest.raises(ValueError, match="Couldn't find trained model at"):
        made.export_saved_model(tmp_path / "out", receiver)
    made.train(batches)
    with pytest.raises(ValueError, match="input_receiver_fn must be defined"):
        made.export_saved_model(tmp_path / "out", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="receiver_tensors must be defined"):
        made.export_saved_model(
            tmp_path / "out", lambda: af.estimator.export.ServingInputReceiver({"x": af.constant(1.0)}, None)
        )
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_canned_classifier_has_tensorflows_signatures(tmp_path: Path) -> None:
    columns = [af.feature_column.numeric_column("x", shape=(2,))]
    made = af.blocking.LinearClassifier(columns, str(tmp_path / "model"), config=quiet())
    rows = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    made.train([({"x": rows}, np.array([[0], [1]]))] * 2)
    spec = af.feature_column.make_parse_example_spec(columns)
    folder = made.export_saved_model(
        tmp_path / "out", tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    )
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.load(session, ["serve"], folder).signature_def
        names = {key: s.method_name.rpartition("/")[2] for key, s in found.items() if key[0] != "_"}
        assert names == {
            "serving_default": "classify",
            "classification": "classify",
            "regression": "regress",
            "predict": "predict",
        }
        default = found["serving_default"]
        examples = []
        for row in rows:
            example = tf.train.Example()
            example.features.feature["x"].float_list.value.extend(row.tolist())
            examples.append(example.SerializeToString())
        fed = {default.inputs["inputs"].name: examples}
        scores, classes = session.run([default.outputs[key].name for key in ("scores", "classes")], fed)
        assert classes.tolist() == [[b"0", b"1"]] * 2
        wanted = [answer["probabilities"] for answer in made.predict([{"x": rows}])]
        np.testing.assert_allclose(scores, wanted, rtol=1e-5)


async def test_savers_are_no_collection_of_an_export(tmp_path: Path) -> None:
    """TensorFlow's loader takes the savers of that collection by names of nodes, which ours do not have."""
    made = await af.estimator.Estimator(line, str(tmp_path / "model"), quiet(), {"rate": 0.1}).train(batches)
    folder = await made.export_saved_model(tmp_path / "out", receiver)
    async with af.Session(graph=af.Graph()) as session:
        message = await af.saved_model.load(session, ["serve"], folder)
    assert "savers" not in message.collection_def and message.saver_def.save_tensor_name


def supervised() -> Any:
    x, y = af.placeholder(af.float32, [None, 2]), af.placeholder(af.float32, [None, 1])
    return af.estimator.export.build_raw_supervised_input_receiver_fn({"x": x}, y)()


def measured(features: Any, labels: Any, mode: str) -> Any:
    y = af.matmul(features["x"], af.get_variable("w", [2, 1], initializer=af.zeros_initializer()))
    loss = af.reduce_mean(af.square(y - labels))
    train = af.train.AdamOptimizer(0.1).minimize(loss, global_step=af.train.get_global_step())
    metrics = {"mae": af.metrics.mean_absolute_error(labels, y)}
    return af.estimator.EstimatorSpec(mode, {"y": y}, loss, train, metrics)


@pytest.mark.parametrize(("mode", "method"), [("train", "training"), ("eval", "eval")])
def test_a_training_and_an_evaluation_are_exported_as_by_tensorflow(mode: str, method: str, tmp_path: Path) -> None:
    made = tf.estimator.Estimator(measured, str(tmp_path / "model"), quiet()).train(batches, steps=3)
    folder = made.export_saved_model(tmp_path / "out", supervised, experimental_mode=mode)
    weights = made.get_variable_value("w")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        signature = tf.saved_model.load(session, [mode], folder).signature_def[mode]
        assert signature.method_name == f"tensorflow/supervised/{method}"
        assert set(signature.inputs) == {"x", "label"}
        outputs = {key: signature.outputs[key].name for key in signature.outputs}
        assert set(outputs) == {"loss", "predictions/y", "metrics/mae/value", "metrics/mae/update_op"}
        feeds = {signature.inputs["x"].name: X[:4], signature.inputs["label"].name: Y[:4]}
        loss, y = session.run([outputs["loss"], outputs["predictions/y"]], feeds)
        np.testing.assert_allclose(y, X[:4] @ weights, rtol=1e-5)
        assert loss == pytest.approx(np.square(y - Y[:4]).mean(), rel=1e-5)
        session.run(outputs["metrics/mae/update_op"], feeds)
        assert session.run(outputs["metrics/mae/value"]) == pytest.approx(np.abs(y - Y[:4]).mean(), rel=1e-5)
        if mode == "train":
            (step,) = graph.get_collection("saved_model_train_op")
            for _ in range(5):
                session.run(step, feeds)
            assert session.run(outputs["loss"], feeds) < loss


def test_outputs_of_an_evaluation_have_tensorflows_names(tmp_path: Path) -> None:
    made = af.blocking.LinearRegressor([af.feature_column.numeric_column("x", 2)], str(tmp_path / "a"), config=quiet())
    made.train(batches)
    folder = made.export_saved_model(tmp_path / "out", supervised, experimental_mode="eval")
    with tf.Graph().as_default(), tf.Session() as session:
        outputs = set(tf.saved_model.load(session, ["eval"], folder).signature_def["eval"].outputs)
    metrics = ("average_loss", "label/mean", "prediction/mean")
    wanted = {f"metrics/{name}/{part}" for name in metrics for part in ("value", "update_op")}
    assert outputs == {"loss", "predictions", *wanted}


@pytest.mark.parametrize(("features", "labels"), [({"x": X}, {"x": Y}), (X, {"input": Y})])
def test_a_feature_and_a_label_of_one_name_are_refused(features: Any, labels: Any) -> None:
    with pytest.raises(ValueError, match="Features and labels must have distinct keys"):
        af.estimator.export.build_raw_supervised_input_receiver_fn(features, labels)


def test_an_unknown_mode_is_refused(tmp_path: Path) -> None:
    made = af.blocking.Estimator(line, str(tmp_path / "model"), quiet(), {"rate": 0.1})
    with pytest.raises(ValueError, match="experimental_mode is 'serve'"):
        made.export_saved_model(tmp_path / "out", receiver, experimental_mode="serve")
