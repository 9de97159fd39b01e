"""`add_metrics`: an Estimator whose evaluations have further metrics (`tf.estimator.add_metrics`)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from actorflow.public import public
from actorflow.training.estimator.core import Core
from actorflow.training.estimator.inputs.source import arguments
from actorflow.training.estimator.programs.graphs import call_model_fn
from actorflow.training.estimator.run_config import RunConfig
from actorflow.training.estimator.spec import EstimatorSpec, ModeKeys

_Model = TypeVar("_Model", bound=Core)
_ARGUMENTS = {"features", "labels", "predictions", "config"}


@public("af.estimator")
def add_metrics(estimator: _Model, metric_fn: Callable[..., Mapping[str, Any]]) -> _Model:
    """An Estimator of the same class, folder and configuration, whose evaluations have further metrics.

    Example:
        >>> def worst(labels, predictions):
        ...     error = af.abs(labels - af.squeeze(predictions["predictions"], 1))
        ...     return {"error": af.metrics.mean(error)}
        >>> estimator = af.estimator.add_metrics(af.estimator.BaselineRegressor(), worst)
        >>> batch = {"x": np.zeros([2, 1])}, np.array([2.0, 4.0], np.float32)
        >>> _ = await estimator.train([batch] * 100)
        >>> sorted(await estimator.evaluate([batch]))
        ['average_loss', 'error', 'global_step', 'label/mean', 'loss', 'prediction/mean']

    Args:
        estimator: the Estimator; it stays as it is.
        metric_fn: gives a dict of pairs (value, update_op), as `af.metrics` makes them. It takes what it needs of `features`,
            `labels`, `predictions` and `config`. Its metrics replace those of the same names.

    Raises:
        ValueError: `metric_fn` takes something else.
    """
    taken = arguments(metric_fn)
    if unknown := sorted(set(taken) - _ARGUMENTS):
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")
    inner = estimator.model_fn

    def model_fn(features: Any, labels: Any, mode: str, params: Mapping[str, Any], config: RunConfig) -> EstimatorSpec:
        spec = call_model_fn(inner, features, labels, mode, params, config)
        if mode != ModeKeys.EVAL:
            return spec
        choices = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        added = metric_fn(**{name: choices[name] for name in taken})
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **added})

    extended = copy.copy(estimator)
    Core.__init__(extended, model_fn, None, estimator.config, estimator.params, estimator.warm_start_settings)
    return extended
