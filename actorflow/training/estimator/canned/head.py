"""`Head`: from logits to a loss, predictions and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.losses.weighted import Reduction
from actorflow.graph.tensor import Tensor
from actorflow.public import public
from actorflow.training.estimator.export.outputs import ExportOutput, PredictOutput
from actorflow.training.estimator.inputs.source import arguments
from actorflow.training.estimator.spec import EstimatorSpec, ModeKeys

DEFAULT = "serving_default"
"""The signature of a served model that is asked without a name."""
Metrics = dict[str, Any]
TrainOp = Callable[[Tensor], Any]
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
        weight_column: the key of a feature that weighs examples.
        loss_reduction: how the losses of a batch become one loss.
        name: stands at the end of the names of metrics.
        loss_fn: gives the losses of the examples instead of the head's own.

    Raises:
        ValueError: there is no such `loss_reduction`, or `loss_fn` takes other arguments.
    """

    def __init__(
        self,
        logits_dimension: int,
        weight_column: str | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
        loss_fn: LossFn | None = None,
    ) -> None:
        if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}. See `tf.losses.Reduction` for valid options.")
        self.logits_dimension, self.name, self.loss_reduction = logits_dimension, name, loss_reduction
        self._weight_column, self._loss_fn = weight_column, loss_fn
        if loss_fn is not None:
            self._loss_arguments = _loss_arguments(loss_fn)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        """The loss of each example, [batch, 1]."""
        raise NotImplementedError

    def predictions(self, logits: Tensor) -> dict[Any, Tensor]:
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
            logits: [batch, logits_dimension].
        """
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

    def _labels(self, labels: Any) -> Tensor:
        """The labels as the losses take them, [batch, n]."""
        return columns(labels, af.float32, self.logits_dimension)

    def loss(self, labels: Any, logits: Any, features: Any = None, mode: str | None = None) -> Tensor:
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

        Raises:
            ValueError: the labels do not fit.
        """
        return self._measured(features, logits, labels, False)[0]

    def _measured(self, features: Any, logits: Tensor, labels: Any, evaluates: bool) -> tuple[Tensor, Metrics]:
        """The loss, and for an evaluation the metrics."""
        self._check(logits)
        converted = self._labels(labels)
        losses = (
            self._losses(converted, logits) if self._loss_fn is None else self._by_function(converted, logits, features)
        )
        weights = self._weights(features)
        loss = af.losses.compute_weighted_loss(losses, weights, reduction=self.loss_reduction, loss_collection=None)
        if not evaluates:
            return loss, {}
        mean = af.metrics.mean(losses, weights if self._weight_column else None, name="average_loss")
        metrics = {"average_loss": mean, **self._metrics(converted, logits, losses, weights)}
        ending = f"/{self.name}" if self.name else ""
        return loss, {f"{key}{ending}": pair for key, pair in metrics.items()}

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
        self._check(logits)
        predictions = self.predictions(logits)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs=self.exports(predictions))
        if labels is None:
            raise ValueError(
                "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data "
                "contain your label feature. Check that your input_fn properly parses and returns labels."
            )
        loss, metrics = self._measured(features, logits, labels, mode == ModeKeys.EVAL)
        if regularization_losses:
            loss = af.add_n([loss, *regularization_losses])
        if mode == ModeKeys.EVAL:
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops=metrics)
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
        return columns(self._loss_fn(**{name: choices[name] for name in self._loss_arguments}), af.float32)

    def _check(self, logits: Any) -> None:
        """Raises ValueError where logits are known to be of another width."""
        shape = getattr(logits, "static_shape", None)
        if shape is not None and (len(shape) < 2 or shape[-1] not in (None, self.logits_dimension)):
            raise ValueError(
                f"logits shape must be [D0, D1, ... DN, logits_dimension], got {logits.shape}, where the "
                f"logits_dimension is {self.logits_dimension}."
            )

    def _weights(self, features: Any) -> Any:
        if self._weight_column is None:
            return 1.0
        if not isinstance(features, Mapping) or self._weight_column not in features:
            raise ValueError(f"Feature {self._weight_column} is not in features dictionary.")
        return columns(features[self._weight_column], af.float32)


def _loss_arguments(loss_fn: LossFn) -> set[str]:
    taken = set(arguments(loss_fn))
    for name in ("labels", "logits"):
        if name not in taken:
            raise ValueError(f"loss_fn must contain argument: {name}. Given arguments: {tuple(sorted(taken))}")
    if unknown := sorted(taken - {"labels", "logits", "features", "loss_reduction"}):
        raise ValueError(f"loss_fn has unexpected args: {unknown}")
    return taken


def columns(values: Any, dtype: Any, width: int | None = None) -> Tensor:
    """Values of examples as a matrix of this type.

    Raises:
        ValueError: it is known to be of another width.
    """
    tensor = af.convert_to_tensor(values)
    tensor = tensor if tensor.dtype == dtype else af.cast(tensor, dtype)
    tensor = af.expand_dims(tensor, 1) if tensor.shape.ndims == 1 else tensor
    size = None if tensor.static_shape is None else tensor.static_shape[-1]
    if None not in (width, size) and width != size:
        raise ValueError(
            f"Mismatched label shape. Expected labels dimension={width}.  Received {size}. If the classifier expects "
            "one-hot labels, look at its n_classes; otherwise at the shape of the labels."
        )
    return tensor
