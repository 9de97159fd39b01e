"""`tf.contrib.tpu` as far as programs use it without a TPU: `TPUEstimator(use_tpu=False)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import actorflow.compat.v1 as tf


class InputPipelineConfig:
    """How a TPU is fed; without effect."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class TPUConfig(NamedTuple):
    """Settings of a TPU, which are kept and have no effect."""

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1


class RunConfig(tf.estimator.RunConfig):
    """`tf.estimator.RunConfig` with the settings of a TPU.

    Args:
        tpu_config: a `TPUConfig`.
        master, evaluation_master, cluster: without effect.
        kwargs: see `tf.estimator.RunConfig`.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        object.__setattr__(self, "tpu_config", tpu_config or TPUConfig())


class TPUEstimatorSpec(NamedTuple):
    """The result of a model function; `as_estimator_spec` is that of an estimator without a TPU."""

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Any = None
    scaffold_fn: Callable[[], Any] | None = None
    host_call: Any = None
    training_hooks: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None

    def as_estimator_spec(self) -> Any:
        """The same for `tf.estimator.Estimator`."""
        metrics = None
        if self.eval_metrics is not None:
            function, tensors = self.eval_metrics
            metrics = function(**tensors) if isinstance(tensors, dict) else function(*tensors)
        return tf.estimator.EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=self.training_hooks,
            evaluation_hooks=self.evaluation_hooks,
            prediction_hooks=self.prediction_hooks,
        )


class TPUEstimator(tf.estimator.Estimator):
    """An estimator whose model function and inputs are those for a TPU, run without a TPU.

    Args:
        model_fn, model_dir, config, params, warm_start_from: see `tf.estimator.Estimator`.
        use_tpu: has to be False.
        train_batch_size, eval_batch_size, predict_batch_size: given to the functions as `params["batch_size"]`.
        batch_axis, eval_on_tpu, export_to_tpu, export_to_cpu, embedding_config_spec: without effect.

    Raises:
        NotImplementedError: `use_tpu` is True.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if use_tpu:
            raise NotImplementedError("There are no TPUs here: TPUEstimator(use_tpu=False) runs on what there is.")
        import inspect

        assert model_fn is not None
        function: Any = model_fn
        self._sizes = {
            tf.estimator.ModeKeys.TRAIN: train_batch_size,
            tf.estimator.ModeKeys.EVAL: eval_batch_size,
            tf.estimator.ModeKeys.PREDICT: predict_batch_size,
        }
        self._given = dict(params or {})
        names = inspect.signature(function).parameters

        def call(features: Any, labels: Any, mode: str, params: Any = None, config: Any = None) -> Any:
            arguments = {"labels": labels, "mode": mode, "params": self._settings(mode), "config": config}
            spec = function(features, **{name: value for name, value in arguments.items() if name in names})
            return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec

        super().__init__(
            model_fn=call, model_dir=model_dir, config=config, params=self._given, warm_start_from=warm_start_from
        )

    def _settings(self, mode: str) -> dict[str, Any]:
        size = self._sizes.get(mode)
        base = {**self._given, "use_tpu": False}
        return base if size is None else {**base, "batch_size": size}

    def _inputs(self, input_fn: Callable[..., Any], mode: str) -> Callable[..., Any]:
        import inspect

        names = inspect.signature(input_fn).parameters

        def call() -> Any:
            return input_fn(self._settings(mode)) if "params" in names or len(names) == 1 else input_fn()

        return call

    def train(
        self,
        input_fn: Any,
        hooks: Any = None,
        steps: Any = None,
        max_steps: Any = None,
        saving_listeners: Any = None,
        *,
        epochs: int | None = None,
    ) -> Any:
        """See `tf.estimator.Estimator.train`."""
        inputs = self._inputs(input_fn, tf.estimator.ModeKeys.TRAIN)
        return super().train(
            inputs, hooks=hooks, steps=steps, max_steps=max_steps, saving_listeners=saving_listeners, epochs=epochs
        )

    def evaluate(
        self, input_fn: Any, steps: Any = None, hooks: Any = None, checkpoint_path: Any = None, name: Any = None
    ) -> Any:
        """See `tf.estimator.Estimator.evaluate`."""
        inputs = self._inputs(input_fn, tf.estimator.ModeKeys.EVAL)
        return super().evaluate(inputs, steps=steps, hooks=hooks, checkpoint_path=checkpoint_path, name=name)

    def predict(self, input_fn: Any, *args: Any, **kwargs: Any) -> Any:
        """See `tf.estimator.Estimator.predict`."""
        return super().predict(self._inputs(input_fn, tf.estimator.ModeKeys.PREDICT), *args, **kwargs)


class CrossShardOptimizer:
    """The optimizer itself: there is one shard.

    Args:
        opt: the optimizer.
    """

    def __new__(
        cls, opt: Any, reduction: Any = None, name: str = "CrossShardOptimizer", group_assignment: Any = None
    ) -> Any:
        return opt


def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Any:
    """The tensor itself: there is one replica."""
    return tf.identity(x, name=name)


def bfloat16_scope() -> Any:
    """A variable scope that changes nothing."""
    return tf.variable_scope(tf.get_variable_scope())
