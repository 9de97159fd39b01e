"""`tf.estimator.Estimator`: the blocking Estimator, with `ConfigProto` and TensorFlow's order of work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.compat.v1.options import SESSION, ConfigProto, session_options
from actorflow.engine.formats import installed
from actorflow.public import public
from actorflow.training.estimator import blocking as _blocking
from actorflow.training.estimator import run_config


@public("tf.estimator")
class RunConfig(run_config.RunConfig):
    """`tf.estimator.RunConfig`: as `actorflow.estimator.RunConfig`, with TensorFlow's targets and a `ConfigProto`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> config = tf.estimator.RunConfig("models/line", session_config=tf.ConfigProto(allow_soft_placement=True))
        >>> config.master, config.replace(save_checkpoints_steps=100).save_checkpoints_steps
        ('', 100)

    Args:
        model_dir, tf_random_seed, save_summary_steps: see `actorflow.estimator.RunConfig`.
        save_checkpoints_steps, save_checkpoints_secs: see there.
        session_config: a `ConfigProto`.
        keep_checkpoint_max, keep_checkpoint_every_n_hours, log_step_count_steps, train_distribute: see there.
        device_fn, protocol, eval_distribute, experimental_distribute, experimental_max_worker_delay_secs: see there.
        session_creation_timeout_secs, checkpoint_save_graph_def, master, progress, replicas: see there.
    """

    @property
    def master(self) -> Any:
        """The target of the training: `grpc://` and an address, or "" for this process."""
        master = self.__dict__["master"]
        if isinstance(master, str) and master.startswith("tcp://"):
            return "grpc://" + master.removeprefix("tcp://")
        return "" if master is None else master

    def _check(self) -> None:
        super()._check()
        if self.session_config is not None and not isinstance(self.session_config, ConfigProto):
            raise ValueError(f"session_config must be instance of ConfigProto, given: {self.session_config!r:.80}")


@public("tf.estimator")
class Estimator(_blocking.Estimator):
    """`tf.estimator.Estimator`: without `await`. As in TensorFlow, a training step leaves UPDATE_OPS to the `train_op`, and
    checkpoints have TensorFlow's format.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> def model_fn(features, labels, mode):
        ...     loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features["x"], 1))
        ...     train_op = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        ...     return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
        >>> def input_fn():
        ...     return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([[2.0], [4.0]])
        >>> estimator = tf.estimator.Estimator(model_fn, "models/line").train(input_fn, steps=100)
        >>> estimator.latest_checkpoint().endswith("model.ckpt-100")
        True

    Args:
        model_fn, model_dir, config, params, warm_start_from: see `actorflow.estimator.Estimator`.
    """

    runs_update_ops = False
    checkpoint_format = installed.BUNDLE
    config_type = RunConfig

    def export_saved_model(self, *args: Any, **kwargs: Any) -> Any:
        """See `blocking.Estimator.export_saved_model`. The folder's name is bytes, as in TensorFlow.

        Args:
            args, kwargs: its arguments.
        """
        return super().export_saved_model(*args, **kwargs).encode()

    export_savedmodel = export_saved_model

    @property
    def session_options(self) -> Mapping[str, Any]:
        """Options of sessions, out of a `ConfigProto`."""
        config = self._config.session_config
        if config is None or isinstance(config, ConfigProto):
            if config is None:
                config = ConfigProto(allow_soft_placement=True)  # as an Estimator's sessions are in TensorFlow
            return {**SESSION, **session_options(config)[0]}
        return super().session_options
