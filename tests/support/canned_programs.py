"""Canned Estimators that TensorFlow and actorflow run alike: `observe(tf, name, columns, folder, begin)` says what happened.

    python tests/support/canned_programs.py OUTPUT.json      # by TensorFlow 2.15 with tensorflow-estimator 2.15

writes TensorFlow's answers, with the values that its variables began with.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 20
MODELS: dict[str, dict[str, Any]] = {
    "DNNClassifier": {"hidden_units": [4, 3]},
    "DNNClassifier of three": {"hidden_units": [4], "n_classes": 3, "optimizer": "Adam"},
    "DNNClassifier with weights": {"hidden_units": [3], "weight_column": "weight"},
    "DNNRegressor": {"hidden_units": [4], "label_dimension": 2},
    "LinearClassifier": {},
    "LinearClassifier of words": {"n_classes": 3, "label_vocabulary": ["low", "middle", "high"]},
    "LinearRegressor": {"optimizer": "SGD"},
    "DNNLinearCombinedClassifier": {"dnn_hidden_units": [3]},
    "DNNLinearCombinedRegressor": {"dnn_hidden_units": [3, 2]},
    "BaselineClassifier": {"n_classes": 3},
    "BaselineClassifier of two": {},
    "BaselineRegressor": {},
}


def data(name: str) -> tuple[dict[str, Any], Any]:
    """Features and labels for a model."""
    options = MODELS[name]
    rows = np.arange(24)
    features = {
        "x": np.sin(1.3 * np.arange(72)).astype(np.float32).reshape(24, 3),
        "a": np.cos(rows).astype(np.float32),
    }
    if "weight_column" in options:
        features["weight"] = (rows % 3).astype(np.float32)
    if "Regressor" in name:
        size = options.get("label_dimension", 1)
        return features, (features["x"][:, :size] * 2 + features["a"][:, None]).astype(np.float32)
    labels = (rows * 5 % 7 % options.get("n_classes", 2)).astype(np.int64)
    if "label_vocabulary" in options:
        labels = np.array(options["label_vocabulary"])[labels]
    return features, labels


def observe(tf: Any, name: str, columns: Any, folder: str, begin: str | None) -> dict[str, Any]:
    """The losses of each step, the metrics, and the predictions of a canned Estimator."""
    features, labels = data(name)
    kind = name.split(" ")[0]
    if kind.startswith("DNNLinear"):
        given = {"linear_feature_columns": columns[:1], "dnn_feature_columns": columns}
    else:
        given = {} if kind.startswith("Baseline") else {"feature_columns": columns}
    if begin is not None and not kind.startswith("Baseline"):
        given["warm_start_from"] = begin
    config = tf.estimator.RunConfig(save_checkpoints_steps=STEPS, save_summary_steps=0, log_step_count_steps=None)
    made = getattr(tf.estimator, kind)(model_dir=folder, config=config, **MODELS[name], **given)
    losses: list[float] = []

    class Losses(tf.train.SessionRunHook):  # type: ignore[misc]
        def before_run(self, run_context: Any) -> Any:
            return tf.train.SessionRunArgs(run_context.original_args.fetches[1])

        def after_run(self, run_context: Any, run_values: Any) -> None:
            losses.append(float(run_values.results))

    inputs = tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=8, num_epochs=None, shuffle=False)
    made.train(inputs, [Losses()], STEPS)
    metrics = made.evaluate(tf.estimator.inputs.numpy_input_fn(features, labels, batch_size=9, shuffle=False))
    asked = {key: value[:3] for key, value in features.items()}
    answers = made.predict(tf.estimator.inputs.numpy_input_fn(asked, batch_size=2, shuffle=False))
    return {
        "losses": losses,
        "metrics": {key: float(value) for key, value in metrics.items()},
        "answers": [
            {key: [v.decode() if isinstance(v, bytes) else float(v) for v in value] for key, value in answer.items()}
            for answer in answers
        ],
    }


def main() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity("ERROR")
    found = {}
    for name in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            columns = [tf.feature_column.numeric_column("a"), tf.feature_column.numeric_column("x", shape=(3,))]
            found[name] = observe(tf, name, columns, folder, None)
            reader = tf.train.load_checkpoint(f"{folder}/model.ckpt-0")
            begin = {}
            for key in reader.get_variable_to_shape_map():
                last = key.rsplit("/", 1)[-1]
                if last in ("kernel", "bias", "weights", "bias_weights"):
                    begin[key] = reader.get_tensor(key).tolist()
            found[name]["begin"] = begin
    Path(sys.argv[1]).write_text(json.dumps(found, separators=(",", ":")).replace("},{", "},\n{"), encoding="utf-8")


if __name__ == "__main__":
    main()
