"""Mistakes with Estimators, which TensorFlow and actorflow refuse alike: `refused(tf, name)` says by what error.

    python tests/training/estimator/estimator_refusals.py OUTPUT.json      # by TensorFlow 2.15 with tensorflow-estimator 2.15

writes TensorFlow's classes and texts.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = X[:, :1].copy()
Mistake = Callable[[Any, str], Any]
"""A function of the library and of an empty folder."""


def line(tf: Any, **changes: Any) -> Callable[..., Any]:
    """A linear model; `changes` are functions of the library that make fields of its EstimatorSpec."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        w = tf.get_variable("w", [2, 1])
        y = tf.matmul(features["x"], w)
        fields: dict[str, Any] = {"mode": mode, "predictions": {"y": y}}
        if mode != "infer":
            loss = tf.reduce_mean(tf.square(y - labels))
            step = tf.train.get_or_create_global_step()
            fields |= {
                "loss": loss,
                "train_op": tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step),
            }
        fields |= {key: make() if callable(make) else make for key, make in changes.items()}
        return tf.estimator.EstimatorSpec(**fields)

    return model


def inputs(tf: Any, **options: Any) -> Any:
    """The input of the linear model."""
    return tf.estimator.inputs.numpy_input_fn({"x": X}, Y, 3, **{"shuffle": False, **options})


def made(tf: Any, folder: str, **changes: Any) -> Any:
    """An Estimator of the linear model."""
    return tf.estimator.Estimator(line(tf, **changes), folder)


def spec(**fields: Any) -> Mistake:
    """An EstimatorSpec; functions of the library make its fields."""

    def make(tf: Any, folder: str) -> Any:
        with tf.Graph().as_default():
            return tf.estimator.EstimatorSpec(**{k: v(tf) if callable(v) else v for k, v in fields.items()})

    return make


def scalar(tf: Any) -> Any:
    return tf.constant(1.0)


def elsewhere(tf: Any) -> Any:
    with tf.Graph().as_default():
        return tf.constant(1.0, name="stranger")


def config(**options: Any) -> Mistake:
    """A RunConfig."""
    return lambda tf, folder: tf.estimator.RunConfig(**options)


@contextmanager
def environment(**given: Any) -> Iterator[None]:
    """`TF_CONFIG` while the block runs."""
    os.environ["TF_CONFIG"] = json.dumps(given)
    try:
        yield
    finally:
        del os.environ["TF_CONFIG"]


def tf_config(**given: Any) -> Mistake:
    """A RunConfig with this `TF_CONFIG`."""

    def make(tf: Any, folder: str) -> Any:
        with environment(**given):
            return tf.estimator.RunConfig()

    return make


def train(**options: Any) -> Mistake:
    """A training of the linear model."""
    return lambda tf, folder: made(tf, folder).train(inputs(tf), **options)


def predictions(predicted: Callable[[Any, Any], Any], **options: Any) -> Mistake:
    """The predictions of a model, a function of the library and the features."""

    def make(tf: Any, folder: str) -> Any:
        def model(features: Any, mode: str) -> Any:
            return tf.estimator.EstimatorSpec(mode, predicted(tf, features["x"]))

        source = tf.estimator.inputs.numpy_input_fn({"x": X}, shuffle=False)
        return list(tf.estimator.Estimator(model, folder).predict(source, **options))

    return make


def arrays(*args: Any, **options: Any) -> Mistake:
    """Batches of arrays."""
    return lambda tf, folder: tf.estimator.inputs.numpy_input_fn(*args, **options)()


def eval_spec(**options: Any) -> Mistake:
    return lambda tf, folder: tf.estimator.EvalSpec(**{"input_fn": lambda: X, **options})


def train_spec(**options: Any) -> Mistake:
    return lambda tf, folder: tf.estimator.TrainSpec(**{"input_fn": lambda: X, **options})


def canned(kind: str, *args: Any, **options: Any) -> Mistake:
    """A canned Estimator with one column "x" and this step of training."""

    def make(tf: Any, folder: str) -> Any:
        options_ = {k: v(tf) if callable(v) else v for k, v in options.items()}
        features = options_.pop("features", {"x": X[:, 0]})
        labels = options_.pop("labels", np.array([0, 1, 0, 1, 0, 1]))
        found = getattr(tf.estimator, kind)(*[a(tf) if callable(a) else a for a in args], model_dir=folder, **options_)
        found.train(tf.estimator.inputs.numpy_input_fn(features, labels, 3, shuffle=False), steps=1)

    return make


def columns(tf: Any) -> Any:
    return [tf.feature_column.numeric_column("x")]


def words(lines: int, **options: Any) -> Mistake:
    """A model over a vocabulary from a file with some lines; None for a file that is missing."""

    def make(tf: Any, folder: str) -> Any:
        path = Path(folder) / "words.txt"
        if lines is not None:
            path.write_text("".join(f"word{n}\n" for n in range(lines)), encoding="utf-8")
        column = tf.feature_column.categorical_column_with_vocabulary_file("x", str(path), **options)
        found = tf.estimator.LinearClassifier([column], f"{folder}/model")
        features = {"x": np.array(["word0", "word1"] * 3)}
        found.train(tf.estimator.inputs.numpy_input_fn(features, np.array([0, 1] * 3), 3, shuffle=False), steps=1)

    return make


def misfit(tf: Any, folder: str) -> Any:
    """A checkpoint of another model."""
    made(tf, folder).train(inputs(tf), steps=1)

    def other(features: Any, labels: Any, mode: str) -> Any:
        w, extra = tf.get_variable("w", [3, 1]), tf.get_variable("extra", [1])
        loss = tf.reduce_sum(w) + tf.reduce_sum(extra)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.no_op())

    tf.estimator.Estimator(other, folder).train(inputs(tf), steps=1)


def shape_misfit(tf: Any, folder: str) -> Any:
    """A checkpoint of the same names with other shapes."""
    made(tf, folder).train(inputs(tf), steps=1)

    def other(features: Any, labels: Any, mode: str) -> Any:
        w = tf.get_variable("w", [3, 1])
        step = tf.train.get_or_create_global_step()
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(w), train_op=tf.assign_add(step, 1))

    tf.estimator.Estimator(other, folder).train(inputs(tf), steps=1)


def nan(tf: Any, folder: str) -> Any:
    """A loss that is NaN."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        w = tf.get_variable("w", [])
        loss = tf.log(-1.0 - tf.square(w))
        step = tf.train.get_or_create_global_step()
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.assign_add(step, 1))

    tf.estimator.Estimator(model, folder).train(inputs(tf), steps=2)


def export(**options: Any) -> Mistake:
    return lambda tf, folder: tf.estimator.BestExporter(**{"serving_input_receiver_fn": lambda: None, **options})


def stop(kind: str, *args: Any, **options: Any) -> Mistake:
    """An early stopping hook."""
    return lambda tf, folder: getattr(tf.estimator.experimental, kind)(made(tf, folder), *args, **options)


def warm(settings: Callable[[Any, str], Any]) -> Mistake:
    """A training with a warm start."""

    def make(tf: Any, folder: str) -> Any:
        made(tf, f"{folder}/old").train(inputs(tf), steps=1)
        found = tf.estimator.Estimator(line(tf), f"{folder}/new", warm_start_from=settings(tf, f"{folder}/old"))
        found.train(inputs(tf), steps=1)

    return make


def head(make: Callable[[Any], Any], logits: int = 1, labels: Any = Y) -> Mistake:
    """A model with this head and a number of logits."""

    def run(tf: Any, folder: str) -> Any:
        def model(features: Any, labels: Any, mode: str) -> Any:
            found = tf.get_variable("w", [2, logits])
            return make(tf).create_estimator_spec(
                features, mode, tf.matmul(features["x"], found), labels, train_op_fn=lambda loss: tf.no_op()
            )

        source = tf.estimator.inputs.numpy_input_fn({"x": X}, labels, 3, shuffle=False)
        tf.estimator.Estimator(model, folder).train(source, steps=1)

    return run


WORKER = {"cluster": {"chief": ["a:1"], "worker": ["b:1"]}}
MISTAKES: dict[str, Mistake] = {
    # model functions
    "no model": lambda tf, folder: tf.estimator.Estimator(None),
    "no features": lambda tf, folder: tf.estimator.Estimator(lambda labels: 1),
    "no params": lambda tf, folder: tf.estimator.Estimator(lambda features: 1, params={"a": 1}),
    "unknown arguments": lambda tf, folder: tf.estimator.Estimator(lambda features, x: 1),
    "config of another type": lambda tf, folder: tf.estimator.Estimator(line(tf), config=1),
    "two folders": lambda tf, folder: tf.estimator.Estimator(line(tf), "a", tf.estimator.RunConfig("b")),
    "no labels taken": lambda tf, folder: tf.estimator.Estimator(
        lambda features, mode: tf.estimator.EstimatorSpec(mode, loss=scalar(tf), train_op=tf.no_op()), folder
    ).train(inputs(tf)),
    "no spec": lambda tf, folder: tf.estimator.Estimator(lambda features, labels: 3, folder).train(inputs(tf)),
    "metric called loss": lambda tf, folder: made(
        tf, folder, eval_metric_ops=lambda: {"loss": tf.metrics.mean(tf.constant(1.0))}
    ).evaluate(inputs(tf)),
    # specs
    "missing train_op": spec(mode="train", loss=scalar),
    "missing loss": spec(mode="train", train_op=lambda tf: tf.no_op()),
    "missing loss of eval": spec(mode="eval"),
    "missing predictions": spec(mode="infer"),
    "loss of two": spec(mode="eval", loss=lambda tf: tf.constant([1.0, 2.0])),
    "loss no tensor": spec(mode="eval", loss=3.0),
    "loss of another graph": spec(mode="eval", loss=elsewhere),
    "prediction no tensor": spec(mode="infer", predictions={"a": 1}),
    "train_op no operation": spec(mode="train", loss=scalar, train_op=1),
    "metrics no dict": spec(mode="eval", loss=scalar, eval_metric_ops=[1]),
    "metric no pair": spec(mode="eval", loss=scalar, eval_metric_ops={"a": 1}),
    "metric of numbers": spec(mode="eval", loss=scalar, eval_metric_ops={"a": (1.0, 2.0)}),
    "hook of spec": spec(mode="eval", loss=scalar, evaluation_hooks=[1]),
    "scaffold": spec(mode="eval", loss=scalar, scaffold=1),
    # train, evaluate, predict
    "steps and max_steps": train(steps=1, max_steps=1),
    "steps of 0": train(steps=0),
    "max_steps below 0": train(max_steps=-1),
    "hook": train(hooks=[1]),
    "listener": train(saving_listeners=[1]),
    "eval steps of 0": lambda tf, folder: made(tf, folder).evaluate(inputs(tf), steps=0),
    "no checkpoint": lambda tf, folder: made(tf, folder).get_variable_names(),
    "no checkpoint of this path": lambda tf, folder: made(tf, folder).evaluate(
        inputs(tf), checkpoint_path=f"{folder}/none"
    ),
    "unequal sizes": predictions(lambda tf, x: {"a": x, "b": x[:1]}),
    "unknown keys": predictions(lambda tf, x: {"a": x}, predict_keys=["c"]),
    "keys of a tensor": predictions(lambda tf, x: x, predict_keys=["c"]),
    "misfit": misfit,
    "misfit of shapes": shape_misfit,
    "nan": nan,
    # inputs
    "no shuffle": arrays({"x": X}, Y),
    "list": arrays([1], shuffle=False),
    "empty dict": arrays({}, shuffle=False),
    "empty labels": arrays(X, {}, shuffle=False),
    "other length": arrays({"x": X}, Y[1:], shuffle=False),
    "same keys": arrays({"a": X}, {"a": Y}, shuffle=False),
    # configurations
    "saves by steps and secs": config(save_checkpoints_steps=1, save_checkpoints_secs=1),
    "save steps below 0": config(save_checkpoints_steps=-1),
    "summary steps below 0": config(save_summary_steps=-1),
    "empty folder": config(model_dir=""),
    "seed": config(tf_random_seed=1.5),
    "keep below 0": config(keep_checkpoint_max=-1),
    "keep hours of 0": config(keep_checkpoint_every_n_hours=0),
    "log steps of 0": config(log_step_count_steps=0),
    "device_fn": config(device_fn=1),
    "replace master": lambda tf, folder: tf.estimator.RunConfig().replace(master="x"),
    "no chief": tf_config(cluster={"worker": ["a:1"]}, task={}),
    "two chiefs": tf_config(cluster={"chief": ["a:1", "b:1"]}, task={}),
    "no task type": tf_config(cluster={"chief": ["a:1"]}),
    "no task index": tf_config(cluster={"chief": ["a:1"]}, task={"type": "chief"}),
    "task type": tf_config(cluster={"chief": ["a:1"]}, task={"type": "ps", "index": 0}),
    "task id": tf_config(cluster={"chief": ["a:1"]}, task={"type": "chief", "index": 1}),
    "task id below 0": tf_config(cluster={"chief": ["a:1"]}, task={"type": "chief", "index": -1}),
    "task alone": tf_config(task={"type": "ps", "index": 0}),
    "service": tf_config(service=1),
    # train_and_evaluate
    "TrainSpec max_steps": train_spec(max_steps=0),
    "TrainSpec hooks": train_spec(hooks=[1]),
    "TrainSpec listeners": train_spec(saving_listeners=[1]),
    "EvalSpec steps": eval_spec(steps=0),
    "EvalSpec name": eval_spec(name=1),
    "EvalSpec delay": eval_spec(start_delay_secs=-1),
    "EvalSpec throttle": eval_spec(throttle_secs=-1),
    "EvalSpec exporters": eval_spec(exporters=[1]),
    "train_and_evaluate estimator": lambda tf, folder: tf.estimator.train_and_evaluate(
        1, tf.estimator.TrainSpec(lambda: X), tf.estimator.EvalSpec(lambda: X)
    ),
    "train_and_evaluate train_spec": lambda tf, folder: tf.estimator.train_and_evaluate(
        made(tf, folder), 1, tf.estimator.EvalSpec(lambda: X)
    ),
    "train_and_evaluate eval_spec": lambda tf, folder: tf.estimator.train_and_evaluate(
        made(tf, folder), tf.estimator.TrainSpec(lambda: X), 1
    ),
    "keep exports": lambda tf, folder: tf.estimator.LatestExporter("a", lambda: None, exports_to_keep=0),
    "no compare_fn": export(compare_fn=None),
    "compare_fn": export(compare_fn=lambda best_eval_result: True),
    "compare_fn of more": export(compare_fn=lambda best_eval_result, current_eval_result, more: True),
    "stop estimator": lambda tf, folder: tf.estimator.experimental.stop_if_lower_hook(1, "loss", 1),
    "stop runs": stop("stop_if_no_decrease_hook", "loss", 1, run_every_secs=1, run_every_steps=1),
    # warm starts
    "warm start from a number": lambda tf, folder: tf.estimator.Estimator(line(tf), folder, warm_start_from=3),
    "warm start from nothing": lambda tf, folder: tf.estimator.WarmStartSettings(""),
    "warm start of an unknown": warm(lambda tf, old: tf.estimator.WarmStartSettings(old, ["strange"])),
    "warm start from an unknown": warm(
        lambda tf, old: tf.estimator.WarmStartSettings(old, var_name_to_prev_var_name={"w": "strange"})
    ),
    # canned models, their heads, and columns
    "no columns": canned("DNNClassifier", [3], []),
    "no columns of a linear model": canned("LinearClassifier", []),
    "neither columns": canned("DNNLinearCombinedClassifier"),
    "no hidden units": canned("DNNLinearCombinedRegressor", dnn_feature_columns=columns),
    "a column no column": canned("LinearClassifier", [1]),
    "a dense model of words": canned(
        "DNNClassifier", [3], lambda tf: [tf.feature_column.categorical_column_with_vocabulary_list("x", ["a", "b"])]
    ),
    "optimizer": canned("LinearClassifier", columns, optimizer="Best"),
    "optimizer of another type": canned("LinearClassifier", columns, optimizer=3),
    "labels above": canned("LinearClassifier", columns, labels=np.array([0, 1, 2, 0, 1, 2])),
    "labels below": canned("LinearClassifier", columns, n_classes=3, labels=np.array([0, 1, -1, 0, 1, 2])),
    "labels of words": canned("LinearClassifier", columns, labels=np.array(["a", "b"] * 3)),
    "labels no words": canned("LinearClassifier", columns, label_vocabulary=["a", "b"]),
    "labels of two columns": canned("LinearClassifier", columns, labels=np.zeros((6, 2), np.int64)),
    "labels missing": canned("LinearClassifier", columns, labels=None),
    "numbers of another width": canned("LinearRegressor", columns, label_dimension=2, labels=Y),
    "features missing": canned("LinearClassifier", columns, features={"y": X[:, 0]}),
    "weights missing": canned("LinearClassifier", columns, weight_column="w"),
    "weights of words": canned(
        "LinearClassifier", columns, weight_column="w", features={"x": X[:, 0], "w": np.array(["a"] * 6)}
    ),
    "loss_reduction": canned("LinearClassifier", columns, loss_reduction="most"),
    "classes": canned("LinearClassifier", columns, n_classes=1),
    "label dimension": canned("LinearRegressor", columns, label_dimension=0),
    "vocabulary of two": canned("LinearClassifier", columns, n_classes=3, label_vocabulary=["a", "b"]),
    "MultiClassHead of two": lambda tf, folder: tf.estimator.MultiClassHead(2),
    "MultiLabelHead of one": lambda tf, folder: tf.estimator.MultiLabelHead(1),
    "RegressionHead of none": lambda tf, folder: tf.estimator.RegressionHead(label_dimension=0),
    "logits of another width": head(lambda tf: tf.estimator.RegressionHead(label_dimension=2)),
    "MultiHead of none": lambda tf, folder: tf.estimator.MultiHead([]),
    "MultiHead without names": lambda tf, folder: tf.estimator.MultiHead([tf.estimator.RegressionHead()]),
    "MultiHead of one name": lambda tf, folder: tf.estimator.MultiHead([tf.estimator.RegressionHead(name="a")] * 2),
    "MultiHead weights": lambda tf, folder: tf.estimator.MultiHead(
        [tf.estimator.RegressionHead(name="a"), tf.estimator.RegressionHead(name="b")], head_weights=[1.0]
    ),
    "vocabulary missing": words(None),  # type: ignore[arg-type]
    "vocabulary empty": words(0),
    "vocabulary too small": words(2, vocabulary_size=5),
    "vocabulary size of 0": words(2, vocabulary_size=0),
    "vocabulary buckets and default": words(2, num_oov_buckets=1, default_value=0),
}
_CHANGES = (
    (r"0x[0-9a-f]+", "0x"),
    (r"(?<=File \")[^\"]+", "PATH"),
    (r"/tmp/[\w./-]+", "PATH"),
    (r"<function [^>]*>|<[\w.]+ object at [^>]*>|<class '[^']*'>", "OBJECT"),
)


def refused(tf: Any, name: str) -> list[str]:
    """The class and the text of the error; two empty strings where there is none."""
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        try:
            MISTAKES[name](tf, folder)
        except Exception as error:
            text = str(error).replace(folder, "PATH")
            for pattern, word in _CHANGES:
                text = re.sub(pattern, word, text)
            return [type(error).__name__, text[:1000]]
    return ["", ""]


def main() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity("FATAL")
    tf.estimator.inputs = tf.compat.v1.estimator.inputs
    found = {name: [kind, text[:100]] for name in MISTAKES for kind, text in [refused(tf, name)]}
    Path(sys.argv[1]).write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
