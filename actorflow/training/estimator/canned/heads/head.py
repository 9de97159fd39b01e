"""`Head`: from logits to a loss, predictions and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.losses.weighted import Reduction
from actorflow.graph.tensor import Tensor
from actorflow.models.feature_column.numeric import NumericColumn
from actorflow.public import public
from actorflow.training.estimator.canned.heads.shapes import (
    NO_LABELS,
    fitted_labels,
    fitted_logits,
    fitted_losses,
    fitted_weights,
)
from actorflow.training.estimator.export.outputs import ExportOutput, PredictOutput
from actorflow.training.estimator.inputs.source import arguments
from actorflow.training.estimator.spec import EstimatorSpec, ModeKeys

DEFAULT = "serving_default"
"""The signature of a served model that is asked without a name."""
Metrics = dict[str, Any]
TrainOp = Callable[[Tensor], Any]
_SHORT = {"sum": Reduction.SUM, "sum_over_batch_size": Reduction.SUM_OVER_BATCH_SIZE}
"""The words of TensorFlow 2 for reductions."""
LossFn = Callable[..., Tensor]
"""A function of `labels` and `logits`, and of `features` if it takes these; it gives the losses of the examples."""


@public("af.estimator")
class Head:
    """The prediction of a model. Subclasses say how labels, losses, predictions and metrics follow from the logits.

    Example:
        >>> head = af.estimator.RegressionHead(label_dimension=2)
        >>> head.logits_dimension, isinstance(head, af.estimator.Head)
        (2, True)

    Args:
        logits_dimension: how many logits there are for an example.
        weight_column: the key of a feature that weighs examples, or a numeric column.
        loss_reduction: how the losses of a batch become one loss.
        name: stands at the end of the names of metrics.
        loss_fn: gives the losses of the examples instead of the head's own.

    Raises:
        ValueError: there is no such `loss_reduction`, or `loss_fn` takes other arguments.
    """

    _loss_width = 1
    """The last size of losses; that of logits for a regression."""
    _weighs_logits = False
    """Whether each logit may have a weight of its own."""

    def __init__(
        self,
        logits_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
        loss_fn: LossFn | None = None,
    ) -> None:
        loss_reduction = _SHORT.get(loss_reduction, loss_reduction)
        if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}. See `tf.losses.Reduction` for valid options.")
        self._logits_dimension, self._name, self._loss_reduction = logits_dimension, name, loss_reduction
        self._weight_column, self._loss_fn = weight_column, loss_fn
        if loss_fn is not None:
            self._loss_arguments = _loss_arguments(loss_fn)

    @property
    def logits_dimension(self) -> int:
        """The last size of the logits."""
        return self._logits_dimension

    @property
    def name(self) -> str | None:
        """The name of the head, which stands at the end of the names of metrics."""
        return self._name

    @property
    def loss_reduction(self) -> str:
        """How the losses of a batch become one loss."""
        return self._loss_reduction

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        """The loss of each example, [batch, 1]."""
        raise NotImplementedError

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[Any, Tensor]:
        """The predictions by name.

        Example:
            >>> head = af.estimator.BinaryClassHead()
            >>> with af.Graph().as_default():
            ...     predictions = head.predictions(af.constant([[2.0], [-1.0]]))
            ...     async with af.Session() as opened:
            ...         await opened.run(af.tables_initializer())
            ...         print(await opened.run(predictions["class_ids"]))
            [[1]
             [0]]

        Args:
            logits: [batch, logits_dimension], or of more dimensions before the last.
            keys: the names of those to give; all of them unless given.

        Raises:
            ValueError: the head has no prediction of such a name.
        """
        predictions = self._predictions(fitted_logits(logits, self.logits_dimension))
        if wrong := [key for key in keys or () if key not in predictions]:
            raise ValueError(
                f"Prediction key must be in PredictionKeys, given: {wrong[0]}.Valid prediction keys include {list(predictions)}."
            )
        return {key: predictions[key] for key in keys or predictions}

    def _predictions(self, logits: Tensor) -> dict[Any, Tensor]:
        """All predictions by name."""
        raise NotImplementedError

    def exports(self, predictions: Mapping[Any, Tensor]) -> dict[str, ExportOutput]:
        """The outputs of a served model by signature.

        Example:
            >>> head = af.estimator.RegressionHead()
            >>> with af.Graph().as_default():
            ...     outputs = head.exports(head.predictions(af.placeholder(af.float32, [None, 1])))
            >>> sorted(outputs)
            ['predict', 'regression', 'serving_default']

        Args:
            predictions: what `predictions` gives.
        """
        return {DEFAULT: PredictOutput(predictions)}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        """The metrics by name, beside `average_loss`."""
        raise NotImplementedError

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        """The labels as the losses take them, [batch, n]."""
        return af.cast(fitted_labels(labels, logits, self.logits_dimension), af.float32)

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Any = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Tensor:
        """The loss of a batch, a scalar.

        Example:
            >>> head = af.estimator.RegressionHead()
            >>> loss = head.loss(labels=af.constant([[1.0], [2.0]]), logits=af.constant([[1.0], [4.0]]))
            >>> await session.run(loss)
            2.0

        Args:
            labels: the labels.
            logits: [batch, logits_dimension].
            features: the features, of which one may be weights.
            mode: one of the `ModeKeys`; without effect.
            regularization_losses: losses that are added.

        Raises:
            ValueError: the labels do not fit.
        """
        loss = self._measured(features, logits, labels, None)[0]
        return af.add_n([loss, *regularization_losses]) if regularization_losses else loss

    def _measured(self, features: Any, logits: Any, labels: Any, mode: str | None) -> tuple[Tensor, Metrics]:
        """The loss, and for an evaluation the metrics. Without a mode it is the loss alone, and no summary is made."""
        logits = fitted_logits(logits, self.logits_dimension)
        converted = self._labels(labels, logits)
        losses = (
            self._losses(converted, logits) if self._loss_fn is None else self._by_function(converted, logits, features)
        )
        weights = self._weights(features, logits)
        loss = af.losses.compute_weighted_loss(losses, weights, reduction=self.loss_reduction, loss_collection=None)
        if mode != ModeKeys.EVAL:
            return loss, {}
        mean = af.metrics.mean(losses, weights if self._weight_column else None, name="average_loss")
        metrics = {"average_loss": mean, **self._metrics(converted, logits, losses, weights)}
        return loss, {self._key(key): pair for key, pair in metrics.items()}

    def _key(self, name: str) -> str:
        return f"{name}/{self.name}" if self.name else name

    def _evaluated(self, losses: Sequence[Any] | None) -> Metrics:
        """The metric of the regularization, if there is any."""
        if not losses:
            return {}
        return {self._key("regularization_loss"): af.metrics.mean(af.add_n([*losses]), name="regularization_loss")}

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: TrainOp | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Tensor] | None = None,
    ) -> EstimatorSpec:
        """The spec of a model.

        Example:
            >>> with af.Graph().as_default():
            ...     features, labels = {"x": af.ones([2, 1])}, af.ones([2, 1])
            ...     logits = af.layers.dense(features["x"], 1)
            ...     step = af.train.create_global_step()
            ...     head, mode = af.estimator.RegressionHead(), af.estimator.ModeKeys.TRAIN
            ...     spec = head.create_estimator_spec(features, mode, logits, labels, af.train.AdamOptimizer())
            >>> spec.loss.shape, spec.mode
            (TensorShape([]), 'train')

        Args:
            features: the features, of which one may be weights.
            mode: one of the `ModeKeys`.
            logits: [batch, logits_dimension].
            labels: the labels; needed for training and evaluation.
            optimizer: trains the model.
            trainable_variables: what the optimizer changes; all trainable variables unless given.
            train_op_fn: makes the train op of a loss, instead of an optimizer.
            update_ops: what a step runs beside; the graph's UPDATE_OPS unless given.
            regularization_losses: losses that are added to that of the labels.

        Raises:
            ValueError: there are no labels, or they do not fit, or there are both or none of an optimizer and `train_op_fn`.
        """
        predictions = self.predictions(logits)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs=self.exports(predictions))
        if labels is None:
            raise ValueError(NO_LABELS)
        loss, metrics = self._measured(features, logits, labels, mode)
        if regularization_losses:
            loss = af.add_n([loss, *regularization_losses])
        if mode == ModeKeys.EVAL:
            metrics |= self._evaluated(regularization_losses)
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops=metrics)
        with af.name_scope(None):
            af.summary.scalar(self._key("loss"), loss)
            if regularization_losses:
                af.summary.scalar(self._key("regularization_loss"), af.add_n([*regularization_losses]))
        if (optimizer is None) == (train_op_fn is None):
            raise ValueError(f"train_op_fn and optimizer cannot both be {'set' if optimizer is not None else 'None'}.")
        if train_op_fn is None:
            train_op = optimizer.minimize(loss, af.train.get_or_create_global_step(), var_list=trainable_variables)
        else:
            train_op = train_op_fn(loss)
        updates = af.get_collection(af.GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
        return EstimatorSpec(mode, predictions, loss, af.group(train_op, *updates) if updates else train_op)

    def _by_function(self, labels: Tensor, logits: Tensor, features: Any) -> Tensor:
        assert self._loss_fn is not None
        choices = {"labels": labels, "logits": logits, "features": features, "loss_reduction": self.loss_reduction}
        losses = af.cast(self._loss_fn(**{name: choices[name] for name in self._loss_arguments}), af.float32)
        return fitted_losses(losses, logits, self._loss_width)

    def _weights(self, features: Any, logits: Tensor) -> Any:
        column = self._weight_column
        if column is None:
            return 1.0
        key = column.key if isinstance(column, NumericColumn) else column
        if not isinstance(features, Mapping) or key not in features:
            raise ValueError(f"Feature {key} is not in features dictionary.")
        normalize = getattr(column, "normalizer_fn", None)
        weights = features[key] if normalize is None else normalize(features[key])
        return fitted_weights(weights, logits, self._weighs_logits)


def _loss_arguments(loss_fn: LossFn) -> set[str]:
    taken = set(arguments(loss_fn))
    for name in ("labels", "logits"):
        if name not in taken:
            raise ValueError(f"loss_fn must contain argument: {name}. Given arguments: {tuple(sorted(taken))}")
    if unknown := sorted(taken - {"labels", "logits", "features", "loss_reduction"}):
        raise ValueError(f"loss_fn has unexpected args: {unknown}")
    return taken
