"""`EstimatorSpec` and `ModeKeys`: what a `model_fn` gives, and for what it is asked (`tf.estimator.EstimatorSpec`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from actorflow.base.nest import flatten
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.variable import Variable
from actorflow.public import public
from actorflow.training.monitored.scaffold import Scaffold

_HOOKS = ("training_chief_hooks", "training_hooks", "evaluation_hooks", "prediction_hooks")
_OTHER_GRAPH = (
    "{0} must be from the default graph, but {1} is of another one. It was made outside of model_fn, or within another "
    '"with graph.as_default()".'
)


@public("af.estimator")
class ModeKeys:
    """The purposes for which a `model_fn` builds a graph.

    Example:
        >>> af.estimator.ModeKeys.TRAIN, af.estimator.ModeKeys.EVAL, af.estimator.ModeKeys.PREDICT
        ('train', 'eval', 'infer')
    """

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


@public("af.estimator")
@dataclass(frozen=True)
class EstimatorSpec:
    """The result of a `model_fn`: the parts of the graph that the Estimator runs.

    Example:
        >>> x = af.placeholder(af.float32, [None, 1])
        >>> spec = af.estimator.EstimatorSpec(af.estimator.ModeKeys.PREDICT, predictions={"y": 2.0 * x})
        >>> await session.run(spec.predictions["y"], {x: [[3.0]]})
        [[6.]]

    Args:
        mode: one of the `ModeKeys`, as the `model_fn` was given it.
        predictions: a tensor or a dict of tensors. Needed for PREDICT.
        loss: a scalar, or of shape [1]. Needed for TRAIN and EVAL.
        train_op: an operation or a tensor, which makes a step. Needed for TRAIN.
        eval_metric_ops: a dict of pairs (value, update_op), as `af.metrics` makes them; a value may be a tuple of tensors.
        export_outputs: a dict of what a served model gives, by signature; the predictions unless given, for PREDICT.
        training_chief_hooks: hooks of the training, where this is the chief.
        training_hooks: hooks of the training.
        scaffold: a `Scaffold`; made unless given.
        evaluation_hooks: hooks of an evaluation.
        prediction_hooks: hooks of a prediction.

    Raises:
        ValueError: what the mode needs is missing, the loss is no scalar, or something is of another graph.
        TypeError: something is of another type.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Mapping[str, Any] | None = None
    export_outputs: Mapping[str, Any] | None = None
    training_chief_hooks: Sequence[Any] | None = None
    training_hooks: Sequence[Any] | None = None
    scaffold: Scaffold | None = None  # made unless given
    evaluation_hooks: Sequence[Any] | None = None
    prediction_hooks: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        checked = {
            "train_op": _checked_train_op(self.train_op, self.mode),
            "loss": _checked_loss(self.loss, self.mode),
            "predictions": _checked_predictions(self.predictions, self.mode),
            "eval_metric_ops": _checked_metrics(self.eval_metric_ops),
            **{name: _checked_hooks(getattr(self, name)) for name in _HOOKS},
        }
        if self.export_outputs is not None and not isinstance(self.export_outputs, Mapping):
            raise TypeError(f"`export_outputs` must be dict, given: {self.export_outputs}")
        if self.scaffold is not None and not isinstance(self.scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {self.scaffold}")
        checked["scaffold"] = self.scaffold or Scaffold()
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.mode == ModeKeys.PREDICT:
            from actorflow.training.estimator.export.outputs import export_outputs_of

            object.__setattr__(self, "export_outputs", export_outputs_of(self))

    def _replace(self, **changes: Any) -> EstimatorSpec:
        """A spec with other fields. Raises ValueError for another mode."""
        if changes.get("mode", self.mode) != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        return replace(self, **changes)

    def _asdict(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _here(what: str, element: Any) -> None:
    if element.graph is not get_default_graph():
        raise ValueError(_OTHER_GRAPH.format(what, element.name))


def _tensor(value: Any, name: str) -> Any:
    if not isinstance(value, (Tensor, Variable)):
        raise TypeError(f"{name} must be Tensor, given: {value}")
    return value


def _checked_train_op(train_op: Any, mode: str) -> Any:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    if not isinstance(train_op, (Tensor, Variable, Operation)):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
    _here("train_op", train_op)
    return train_op.op if isinstance(train_op, Variable) else train_op


def _checked_loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    _tensor(loss, "loss")
    shape = loss.static_shape
    if shape is not None and any(size not in (1, None) for size in shape):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    _here("loss", loss)
    return loss if shape == () else reshape(loss, [])


def _checked_predictions(predictions: Any, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    if isinstance(predictions, Mapping):
        for key, value in predictions.items():
            _here("prediction values", _tensor(value, f"predictions[{key}]"))
        return dict(predictions)
    _here("prediction values", _tensor(predictions, "predictions"))
    return predictions


def _checked_metrics(metrics: Any) -> Mapping[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, value in metrics.items():
        if not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(
                f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {value} for key: {key}"
            )
        for element in flatten(value):
            if not hasattr(element, "graph"):
                raise TypeError(f"eval_metric_ops[{key}] must be tensors or operations, given: {element!r:.80}")
            _here(f"eval_metric_ops[{key}]", element)
    return dict(metrics)


def _checked_hooks(hooks: Any) -> tuple[Any, ...]:
    checked = tuple(hooks or ())
    for hook in checked:
        check_hook(hook, f"All hooks must be SessionRunHook instances, given: {hook}")
    return checked


_METHODS = ("begin", "after_create_session", "before_run", "after_run", "end")


def check_hook(hook: Any, message: str) -> None:
    """Raises TypeError where an object lacks a method of hooks."""
    if isinstance(hook, type) or not all(callable(getattr(hook, name, None)) for name in _METHODS):
        raise TypeError(message)
