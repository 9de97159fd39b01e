"""`tf.estimator.Estimator`: the blocking Estimator, with `ConfigProto` and TensorFlow's order of work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.compat.distribute.context import Moment, ReplicaContext, entered
from actorflow.compat.distribute.inputs import batches_of_replicas
from actorflow.compat.distribute.strategies import Strategy
from actorflow.compat.v1.options import SESSION, ConfigProto, session_options
from actorflow.engine.formats import installed
from actorflow.models.train.replicas.replicas import Replicas
from actorflow.public import public
from actorflow.training.estimator import blocking as _blocking
from actorflow.training.estimator import run_config
from actorflow.training.estimator.inputs.source import arguments
from actorflow.training.estimator.programs.graphs import call_model_fn


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
        keep_checkpoint_max, keep_checkpoint_every_n_hours, log_step_count_steps: see there.
        train_distribute: a strategy of `tf.distribute`, whose replicas each take a batch in a step.
        eval_distribute: a strategy of a single replica: more change no metric.
        experimental_distribute: must be None.
        device_fn, protocol, experimental_max_worker_delay_secs: see there.
        session_creation_timeout_secs, checkpoint_save_graph_def, master, progress, replicas: see there.
    """

    @property
    def master(self) -> Any:
        """The target of the training: `grpc://` and an address, or "" for this process."""
        master = self.__dict__["master"]
        if isinstance(master, str) and master.startswith("tcp://"):
            return "grpc://" + master.removeprefix("tcp://")
        return "" if master is None else master

    def _check_strategies(self) -> None:
        strategies = {name: getattr(self, name) for name in ("train_distribute", "eval_distribute")}
        for name, strategy in strategies.items():
            if strategy is not None and not isinstance(strategy, Strategy):
                raise ValueError(f"{name} is a strategy of tf.distribute, not {strategy!r:.80}.")
        if self.experimental_distribute is not None:
            raise ValueError("experimental_distribute must be None: name the strategy by train_distribute.")
        evaluating, training = strategies["eval_distribute"], strategies["train_distribute"]
        if evaluating is not None and evaluating.num_replicas_in_sync > 1:
            raise ValueError("eval_distribute has a single replica here: more replicas change no metric. Leave it out.")
        if training is not None and training.num_replicas_in_sync > 1:
            self.__dict__["replicas"] = Replicas(training.num_replicas_in_sync)

    def _check(self) -> None:
        super()._check()
        if self.device_fn is not None and list(arguments(self.device_fn)) != ["op"]:
            raise ValueError(
                f'device_fn must be callable with exactly one argument "op". Given: {self.device_fn!r:.80}, whose arguments are '
                f"{list(arguments(self.device_fn))}."
            )
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

    def __init__(
        self, model_fn: Any, model_dir: Any = None, config: Any = None, params: Any = None, warm_start_from: Any = None
    ) -> None:
        overridden = [
            name for name in vars(type(self)) if not name.startswith("_") and callable(getattr(Estimator, name, None))
        ]
        if overridden and not type(self).__module__.startswith("actorflow."):
            raise ValueError(
                "Subclasses of Estimator cannot override members of Estimator. "
                f"{type(self)} does override {overridden}: give it another model_fn, or hooks."
            )
        super().__init__(model_fn, model_dir, config, params, warm_start_from)

    @property
    def model_fn(self) -> Any:
        """The model function with its `params`, which takes `features`, `labels`, `mode` and `config` by these names."""

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return call_model_fn(self._model_fn, features, labels, mode, self.params, config)

        return model_fn

    def train(self, input_fn: Any, *args: Any, **kwargs: Any) -> Any:
        """See `blocking.Estimator.train`. With a strategy each replica takes a batch of `input_fn`'s data set in a step.

        Args:
            input_fn: gives a data set, or batches; with several replicas a data set whose batches are of one size.
            args, kwargs: its other arguments.
        """
        strategy = self._config.train_distribute
        if strategy is None:
            return super().train(input_fn, *args, **kwargs)
        with entered(Moment(strategy, ReplicaContext(strategy, 0), means=True)):
            return super().train(batches_of_replicas(input_fn, strategy.num_replicas_in_sync), *args, **kwargs)

    def export_saved_model(self, *args: Any, **kwargs: Any) -> Any:
        """See `blocking.Estimator.export_saved_model`. The folder's name is bytes, as in TensorFlow.

        Args:
            args, kwargs: its arguments.
        """
        return super().export_saved_model(*args, **kwargs).encode()

    def export_savedmodel(  # type: ignore[override]  # the sixth argument is another
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Any,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: Any = None,
        strip_default_attrs: bool = False,
    ) -> Any:
        """The older form of `export_saved_model`.

        Args:
            export_dir_base, serving_input_receiver_fn, assets_extra: see `export_saved_model`.
            as_text, checkpoint_path: see there.
            strip_default_attrs: without effect, for readers take a default that is written as they take it unwritten.
        """
        return self.export_saved_model(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path
        )

    @property
    def session_options(self) -> Mapping[str, Any]:
        """Options of sessions, out of a `ConfigProto`."""
        config = self._config.session_config
        if config is None or isinstance(config, ConfigProto):
            if config is None:
                config = ConfigProto(allow_soft_placement=True)  # as an Estimator's sessions are in TensorFlow
            return {**SESSION, **session_options(config)[0]}
        return super().session_options
