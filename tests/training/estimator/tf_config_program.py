"""A program of TensorFlow's kind for the tasks of `TF_CONFIG`: each process runs it, and `train_and_evaluate` finds its part.

Called as `tf_config_program.py FOLDER MAX_STEPS`. A chief stops after each checkpoint, and a worker after its first step, until a
line comes by stdin. Prints what was done: `saved 5`, `step 3`, `evaluated 5`, and at the end `done`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import actorflow.compat.v1 as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from training.estimator.estimator_lines import X, Y


def told(*words: Any) -> None:
    print(*words, flush=True)


class Saves(tf.train.CheckpointSaverListener):
    def after_save(self, session: Any, global_step_value: int) -> None:
        told("saved", int(global_step_value))
        sys.stdin.readline()


class Steps(tf.train.SessionRunHook):
    """Tells the global step after each step of this task. A worker stops after the first one."""

    def __init__(self, is_worker: bool) -> None:
        self.holds = is_worker

    def begin(self) -> None:
        self.step = tf.train.get_global_step()

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self.step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        told("step", int(run_values.results))
        if self.holds:
            self.holds = False
            sys.stdin.readline()


class Told(tf.estimator.Exporter):
    name = "told"

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> None:
        told("evaluated", int(eval_result["global_step"]), "final" if is_the_final_export else "")


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    prediction = tf.matmul(features["x"], w) + b
    loss = tf.reduce_mean(tf.square(prediction - labels))
    error = tf.metrics.mean_absolute_error(labels, prediction)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops={"error": error})


def batches() -> Any:
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(10)


def main(folder: str, max_steps: str) -> None:
    config = tf.estimator.RunConfig(folder, save_checkpoints_steps=5)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    train = tf.estimator.TrainSpec(
        lambda: batches().repeat(),
        int(max_steps),
        [Steps(config.task_type == "worker")],
        [Saves()],
    )
    test = tf.estimator.EvalSpec(batches, None, exporters=Told(), start_delay_secs=0, throttle_secs=0)
    tf.estimator.train_and_evaluate(estimator, train, test)
    told("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
