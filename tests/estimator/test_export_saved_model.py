"""Estimators as saved models: receivers, outputs, signatures, exporters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_lines import X, batches, line, quiet

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
        made.export_saved_model(tmp_path / "out", lambda: af.estimator.export.ServingInputReceiver({"x": 1}, {}))
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
