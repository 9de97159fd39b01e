"""Canned Estimators that TensorFlow and actorflow run alike: `observe(tf, name, folder, begin)` says what happened.

    python tests/training/estimator/canned_programs.py OUTPUT.json      # by TensorFlow 2.15 with tensorflow-estimator 2.15

writes TensorFlow's answers, with the values that its variables began with.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 50
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

KINDS = (
    "numeric",
    "bucketized",
    "identity",
    "vocabulary list",
    "vocabulary file",
    "hash",
    "crossed",
    "weighted",
    "embedding",
    "shared embedding",
)
for _kind in KINDS:
    MODELS[f"LinearClassifier over {_kind}"] = {"n_classes": 3}
    MODELS[f"DNNLinearCombinedRegressor over {_kind}"] = {"dnn_hidden_units": [3]}
MODELS["MultiHead"] = {}


def data(name: str) -> tuple[dict[str, Any], Any]:
    """Features and labels for a model."""
    options = MODELS[name]
    rows = np.arange(24)
    features = {
        "x": np.sin(1.3 * np.arange(72)).astype(np.float32).reshape(24, 3),
        "a": np.cos(rows).astype(np.float32),
    }
    if " over " in name:
        features |= {
            "id": rows * 7 % 5,
            "other": rows * 11 % 5,
            "word": np.array(["red", "green", "blue", "grey"])[rows * 5 % 7 % 4],
            "much": ((rows % 4 + 1) / 2).astype(np.float32),
        }
    if "weight_column" in options:
        features["weight"] = (rows % 3).astype(np.float32)
    numbers = (features["x"] * 2 + features["a"][:, None]).astype(np.float32)
    if name == "MultiHead":
        return features, {"kind": (rows * 5 % 7 % 3).astype(np.int64), "price": numbers[:, :2]}
    if "Regressor" in name:
        return features, numbers[:, : options.get("label_dimension", 1)]
    labels = (rows * 5 % 7 % options.get("n_classes", 2)).astype(np.int64)
    if "label_vocabulary" in options:
        labels = np.array(options["label_vocabulary"])[labels]
    return features, labels


def columns(tf: Any, name: str, folder: str) -> tuple[list[Any], list[Any]]:
    """The columns of a model: for its linear part, and for its deep part."""
    f = tf.feature_column
    a, x = f.numeric_column("a"), f.numeric_column("x", shape=(3,))
    words = f.categorical_column_with_vocabulary_list("word", ["red", "green"], num_oov_buckets=2)
    ids = f.categorical_column_with_identity("id", 5)
    if " over " not in name:
        return [a] if "Linear" in name and "DNN" in name else [a, x], [a, x]
    kind = name.partition(" over ")[2]
    if kind == "numeric":
        scaled = f.numeric_column("a", normalizer_fn=lambda value: value * 2.0 - 0.5)
        return [scaled, x], [scaled, x]
    if kind == "bucketized":
        return [f.bucketized_column(a, [-0.5, 0.0, 0.5])], [f.bucketized_column(x, [-0.5, 0.0, 0.5])]
    if kind == "vocabulary file":
        path = Path(folder) / "words.txt"
        path.write_text("blue\nred\ngrey\n", encoding="utf-8")
        words = f.categorical_column_with_vocabulary_file("word", str(path), default_value=1)
    wide = {
        "identity": lambda: ids,
        "hash": lambda: f.categorical_column_with_hash_bucket("word", 7),
        "crossed": lambda: f.crossed_column(["word", f.bucketized_column(a, [0.0])], 11),
        "weighted": lambda: f.weighted_categorical_column(words, "much"),
    }.get(kind, lambda: words)()
    if kind == "embedding":
        return [wide], [f.embedding_column(wide, 3, combiner="sqrtn")]
    if kind == "shared embedding":
        return [ids], f.shared_embedding_columns([ids, f.categorical_column_with_identity("other", 5)], 2)
    return [wide], [f.indicator_column(wide)]


def two_heads(tf: Any, **options: Any) -> Any:
    """An Estimator of one layer and two heads."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        heads = [tf.estimator.MultiClassHead(3, name="kind"), tf.estimator.RegressionHead(2, name="price")]
        head = tf.estimator.MultiHead(heads, [1.0, 0.5])
        logits = tf.layers.dense(features["x"], head.logits_dimension, name="dense")

        def train(loss: Any) -> Any:
            return tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=tf.train.get_or_create_global_step())

        return head.create_estimator_spec(features, mode, logits, labels, train_op_fn=train)

    return tf.estimator.Estimator(model, **options)


def observe(tf: Any, name: str, folder: str, begin: str | None) -> dict[str, Any]:
    """The losses of each step, the metrics, and the predictions of a canned Estimator."""
    features, labels = data(name)
    kind = name.split(" ")[0]
    wide, deep = columns(tf, name, folder)
    if kind.startswith("DNNLinear"):
        given = {"linear_feature_columns": wide, "dnn_feature_columns": deep}
    else:
        given = {} if kind[:4] in ("Base", "Mult") else {"feature_columns": wide if kind.startswith("Linear") else deep}
    if begin is not None and not kind.startswith("Baseline"):
        given["warm_start_from"] = begin
    config = tf.estimator.RunConfig(save_checkpoints_steps=STEPS, save_summary_steps=0, log_step_count_steps=None)
    make = partial(two_heads, tf) if kind == "MultiHead" else getattr(tf.estimator, kind)
    made = make(model_dir=f"{folder}/model", config=config, **MODELS[name], **given)
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
            {
                "/".join(key) if isinstance(key, tuple) else key: [
                    v.decode() if isinstance(v, bytes) else float(v) for v in value
                ]
                for key, value in answer.items()
            }
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
            found[name] = observe(tf, name, folder, None)
            reader = tf.train.load_checkpoint(f"{folder}/model/model.ckpt-0")
            begin = {}
            for key in reader.get_variable_to_shape_map():
                last = key.rsplit("/", 1)[-1]
                if last in ("kernel", "bias", "weights", "bias_weights", "embedding_weights"):
                    begin[key] = reader.get_tensor(key).tolist()
            found[name]["begin"] = begin
    text = json.dumps(rounded(found), separators=(",", ":")).replace("},{", "},\n{")
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")


def rounded(value: Any) -> Any:
    """Numbers with as many digits as float32 has."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
