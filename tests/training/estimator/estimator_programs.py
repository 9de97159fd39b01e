"""Configurations of Estimators that TensorFlow and actorflow run alike: `observe(tf, seed, folder)` says what happened.

    python tests/training/estimator/estimator_programs.py OUTPUT.json      # by TensorFlow 2.15 with tensorflow-estimator 2.15

writes TensorFlow's answers, which `test_estimator_twins.py` compares with ours. The variables begin with numbers
that no generator draws, so both begin with the same checkpoint.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

COUNT = 40
ROWS, INPUTS = 24, 3


def configuration(seed: int) -> dict[str, Any]:
    """The configuration of one seed."""
    draw = random.Random(seed)
    return {
        "model": draw.choice(["line", "net", "classes"]),
        "optimizer": draw.choice(["sgd", "momentum", "adagrad", "adam"]),
        "batch": draw.choice([4, 6, 7]),
        "epochs": draw.choice([None, 1, 3]),
        "max_steps": draw.choice([5, 12, 20]),
        "save": draw.choice([3, 5, 10, 100]),
        "keep": draw.choice([2, 5]),
        "throttle": draw.choice([0, 600]),
        "eval_steps": draw.choice([None, 2]),
        "stop_at": draw.choice([None, None, 7]),
        "way": draw.choice(["together", "together", "apart"]),
        "name": draw.choice([None, "twice"]),
    }


def data() -> tuple[Any, Any, Any]:
    """Features, numbers and classes."""
    grid = np.arange(ROWS * INPUTS, dtype=np.float64).reshape(ROWS, INPUTS)
    features = np.sin(1.7 * grid).astype(np.float32)
    numbers = (features @ np.array([[1.0], [-2.0], [0.5]]) + 0.3).astype(np.float32)
    return features, numbers, (np.arange(ROWS) * 7 % 4).astype(np.int64)


def values(shape: list[int]) -> Any:
    """Initial values of a variable."""
    return (0.3 * np.cos(np.arange(int(np.prod(shape))) * 2.3 + 1.0)).astype(np.float32).reshape(shape)


def model(tf: Any, config: dict[str, Any]) -> Any:
    """The model function of a configuration."""

    def dense(x: Any, units: int, name: str) -> Any:
        shape = [int(x.shape[-1]), units]
        w = tf.get_variable(f"{name}/w", initializer=values(shape))
        b = tf.get_variable(f"{name}/b", initializer=np.zeros(units, np.float32))
        return tf.matmul(x, w) + b

    def mean(terms: Any, name: str) -> Any:
        local = [tf.GraphKeys.LOCAL_VARIABLES]
        total = tf.get_variable(f"{name}/total", initializer=0.0, trainable=False, collections=local)
        count = tf.get_variable(f"{name}/count", initializer=0.0, trainable=False, collections=local)
        with tf.control_dependencies(
            [tf.assign_add(total, tf.reduce_sum(terms)), tf.assign_add(count, tf.cast(tf.size(terms), tf.float32))]
        ):
            update = tf.identity(0.0)
        return total / tf.maximum(count, 1.0), update

    def build(features: Any, labels: Any, mode: str) -> Any:
        x = features["x"]
        if config["model"] != "line":
            x = tf.nn.tanh(dense(x, 5, "hidden"))
        classes = config["model"] == "classes"
        out = dense(x, 4 if classes else 1, "out")
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, {"out": out, "first": out[:, 0]})
        if classes:
            terms = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=out)
            metric = mean(tf.cast(tf.equal(tf.argmax(out, 1), labels), tf.float32), "hits")
        else:
            terms, metric = tf.square(out - labels), mean(tf.abs(out - labels), "mae")
        loss = tf.reduce_mean(terms)
        if mode == tf.estimator.ModeKeys.EVAL:
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"metric": metric})
        optimizer = {
            "sgd": lambda: tf.train.GradientDescentOptimizer(0.05),
            "momentum": lambda: tf.train.MomentumOptimizer(0.02, 0.8),
            "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
            "adam": lambda: tf.train.AdamOptimizer(0.02),
        }[config["optimizer"]]()
        train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    return build


def observe(tf: Any, seed: int, folder: str) -> dict[str, Any]:
    """The observations of an Estimator with a configuration: the order of calls, the checkpoints, metrics and predictions."""
    config = configuration(seed)
    features, numbers, classes = data()
    labels = classes if config["model"] == "classes" else numbers
    calls: list[str] = []
    evaluations: list[dict[str, float]] = []

    class Hook(tf.train.SessionRunHook):  # type: ignore[misc]
        def begin(self) -> None:
            calls.append("begin")

        def after_create_session(self, session: Any, coord: Any) -> None:
            calls.append("created")

        def before_run(self, run_context: Any) -> None:
            calls.append("before")

        def after_run(self, run_context: Any, run_values: Any) -> None:
            calls.append("after")

        def end(self, session: Any) -> None:
            calls.append(f"end {int(session.run('global_step:0'))}")

    class Listener(tf.train.CheckpointSaverListener):  # type: ignore[misc]
        def begin(self) -> None:
            calls.append("listener")

        def before_save(self, session: Any, global_step_value: int) -> None:
            calls.append(f"save {int(global_step_value)}")

        def after_save(self, session: Any, global_step_value: int) -> Any:
            calls.append(f"saved {int(global_step_value)}")
            return True if config["stop_at"] is not None and global_step_value >= config["stop_at"] else None

        def end(self, session: Any, global_step_value: int) -> None:
            calls.append(f"over {int(global_step_value)}")

    def inputs(epochs: int | None, size: int) -> Any:
        return tf.estimator.inputs.numpy_input_fn(
            {"x": features}, labels, batch_size=size, num_epochs=epochs, shuffle=False
        )

    run_config = tf.estimator.RunConfig(
        save_checkpoints_steps=config["save"],
        keep_checkpoint_max=config["keep"],
        save_summary_steps=0,
        log_step_count_steps=None,
    )
    made = tf.estimator.Estimator(model(tf, config), folder, run_config)
    evaluate = made.evaluate

    def noted(*arguments: Any, **options: Any) -> Any:
        result = evaluate(*arguments, **options)
        calls.append(f"evaluated {int(result['global_step'])}")
        evaluations.append({key: float(value) for key, value in result.items()})
        return result

    object.__setattr__(made, "evaluate", noted)
    if config["way"] == "together":
        train = tf.estimator.TrainSpec(
            inputs(config["epochs"], config["batch"]), config["max_steps"], [Hook()], [Listener()]
        )
        spec = tf.estimator.EvalSpec(
            inputs(1, 5), config["eval_steps"], config["name"], throttle_secs=config["throttle"], start_delay_secs=0
        )
        tf.estimator.train_and_evaluate(made, train, spec)
    else:
        made.train(inputs(config["epochs"], config["batch"]), [Hook()], config["max_steps"], None, [Listener()])
        noted(inputs(1, 5), config["eval_steps"], name=config["name"])
        made.train(inputs(config["epochs"], config["batch"]), [Hook()], None, config["max_steps"] + 4, [Listener()])
        noted(inputs(1, 5), config["eval_steps"], name=config["name"])
    predicted = list(made.predict(tf.estimator.inputs.numpy_input_fn({"x": features[:5]}, batch_size=2, shuffle=False)))
    return {
        "calls": calls,
        "evaluations": evaluations,
        "checkpoints": sorted(int(p.name.split("-")[1].split(".")[0]) for p in Path(folder).glob("model.ckpt-*.meta")),
        "global_step": int(made.get_variable_value("global_step")),
        "predicted": [[float(v) for v in answer["out"]] + [float(answer["first"])] for answer in predicted],
    }


def main() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity("ERROR")
    answers = []
    for seed in range(COUNT):
        with tempfile.TemporaryDirectory() as folder:
            answers.append(observe(tf, seed, folder))
    text = json.dumps(answers, separators=(",", ":"), default=float)
    Path(sys.argv[1]).write_text(text.replace("],[", "],\n["), encoding="utf-8")


if __name__ == "__main__":
    main()
