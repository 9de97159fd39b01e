"""Hooks under the names that they have in `tf.estimator` as well. Those that log use `tf.logging`, with TensorFlow's lines."""

from __future__ import annotations

from actorflow.compat.v1 import logs
from actorflow.public import public
from actorflow.training.monitored import hook
from actorflow.training.monitored.hooks import feeding, logged, saving, stopping, summaries, timer

public(
    "tf.estimator",
    of="CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook "
    "GlobalStepWaiterHook NanLossDuringTrainingError NanTensorHook "
    "ProfilerHook SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook "
    "SessionRunValues StopAtStepHook SummarySaverHook",
)

CheckpointSaverHook = saving.CheckpointSaverHook
CheckpointSaverListener = saving.CheckpointSaverListener
FeedFnHook = feeding.FeedFnHook
FinalOpsHook = feeding.FinalOpsHook
GlobalStepWaiterHook = stopping.GlobalStepWaiterHook
NanLossDuringTrainingError = stopping.NanLossDuringTrainingError
NanTensorHook = stopping.NanTensorHook
ProfilerHook = summaries.ProfilerHook
SecondOrStepTimer = timer.SecondOrStepTimer
SessionRunArgs = hook.SessionRunArgs
SessionRunContext = hook.SessionRunContext
SessionRunHook = hook.SessionRunHook
SessionRunValues = hook.SessionRunValues
StopAtStepHook = stopping.StopAtStepHook
SummarySaverHook = summaries.SummarySaverHook


@public("tf.train", "tf.estimator")
class LoggingTensorHook(logged.LoggingTensorHook):
    """`tf.train.LoggingTensorHook`: writes tensors to `tf.logging`, such as "loss = 0.25 (1.200 sec)".

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     loss = tf.constant(0.25)
        ...     hook = tf.train.LoggingTensorHook({"loss": loss}, 10, formatter=lambda values: print(values) or "")
        ...     with tf.train.MonitoredSession(hooks=[hook]) as blocking:
        ...         _ = blocking.run(loss)
        {'loss': np.float32(0.25)}

    Args:
        tensors, every_n_iter, every_n_secs, at_end: see `actorflow.train.LoggingTensorHook`.
        formatter: a function from a dict of values by tag to the line.
    """

    def _log(self, shown: str, seconds: float | None) -> None:
        if seconds is None or self._formatter is not None:
            logs.info(shown)
        else:
            logs.info("%s (%.3f sec)", shown, seconds)


@public("tf.train", "tf.estimator")
class StepCounterHook(logged.StepCounterHook):
    """`tf.train.StepCounterHook`: counts steps a second, in summaries and in `tf.logging`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.summary.FileWriter("run") as writer:
        ...     step = tf.assign_add(tf.train.create_global_step(), 1)
        ...     hook = tf.train.StepCounterHook(every_n_steps=2, summary_writer=writer)
        ...     with tf.train.MonitoredSession(hooks=[hook]) as blocking:
        ...         for _ in range(5):
        ...             _ = blocking.run(step)
        >>> tags = [value.tag for event in af.summary.read_events("run") for value in event.summary.value]
        >>> tags.count("global_step/sec")
        2

    Args:
        every_n_steps, every_n_secs, output_dir, summary_writer, told: see `actorflow.train.StepCounterHook`.
    """

    def _warn(self, step: int) -> None:
        logs.warning(
            "The global step (tf.train.get_global_step) has not been increased: it is %d. Pass it to minimize or to "
            "apply_gradients.",
            step,
        )

    def _log(self, rate: float) -> None:
        logs.info("%s: %g", self._tag, rate)
