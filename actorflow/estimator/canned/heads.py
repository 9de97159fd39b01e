"""Heads: from logits to a loss, predictions and metrics (`tf.estimator.BinaryClassHead` and the like)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.estimator.export.outputs import ClassificationOutput, ExportOutput, PredictOutput, RegressionOutput
from actorflow.estimator.spec import EstimatorSpec, ModeKeys
from actorflow.graph.tensor import Tensor
from actorflow.losses.weighted import Reduction
from actorflow.public import public

_DEFAULT = "serving_default"

Metrics = dict[str, Any]
TrainOp = Callable[[Tensor], Any]


class Head:
    """The prediction of a canned model. Subclasses say how labels, losses, predictions and metrics follow from the
    logits.

    Args:
        logits_dimension: how many logits there are for an example.
        weight_column: the key of a feature that weighs examples.
        label_vocabulary: the labels, where they are strings.
        loss_reduction: how the losses of a batch become one: "weighted_sum" unless given.
        name: stands at the end of the names of metrics.
    """

    def __init__(
        self,
        logits_dimension: int,
        weight_column: str | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM,
        name: str | None = None,
    ) -> None:
        self.logits_dimension, self.name = logits_dimension, name
        self._weight_column, self._reduction = weight_column, loss_reduction
        self._vocabulary = None if label_vocabulary is None else list(label_vocabulary)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        """The loss of each example, [batch, 1]."""
        raise NotImplementedError

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        """The predictions by name."""
        raise NotImplementedError

    def _exports(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        """The outputs of a served model by signature: of a classification unless a subclass says otherwise."""
        classes = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {_DEFAULT: classes, "classification": classes, "predict": PredictOutput(predictions)}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        """The metrics by name, beside `average_loss`."""
        raise NotImplementedError

    def _labels(self, labels: Any) -> Tensor:
        """The labels as the losses take them, [batch, n]."""
        return _columns(labels, af.float32)

    def create_estimator_spec(
        self, features: Any, mode: str, logits: Tensor, labels: Any = None, train_op_fn: TrainOp | None = None
    ) -> EstimatorSpec:
        """The spec of a model.

        Args:
            features: the features, of which one may be weights.
            mode: one of `ModeKeys`.
            logits: [batch, logits_dimension].
            labels: the labels; needed for training and evaluation.
            train_op_fn: makes the train op of a loss.

        Raises:
            ValueError: there are no labels, or they do not fit.
        """
        predictions = self._predictions(logits)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs=self._exports(predictions))
        if labels is None:
            raise ValueError(
                "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data "
                "contain your label feature. Check that your input_fn properly parses and returns labels."
            )
        found = self._labels(labels)
        losses = self._losses(found, logits)
        weights = self._weights(features)
        loss = af.losses.compute_weighted_loss(losses, weights, reduction=self._reduction, loss_collection=None)
        if mode == ModeKeys.EVAL:
            mean = af.metrics.mean(losses, weights if self._weight_column else None, name="average_loss")
            metrics = {"average_loss": mean, **self._metrics(found, logits, losses, weights)}
            ending = f"/{self.name}" if self.name else ""
            return EstimatorSpec(
                mode, predictions, loss, eval_metric_ops={f"{key}{ending}": pair for key, pair in metrics.items()}
            )
        if train_op_fn is None:
            raise ValueError("train_op_fn and optimizer cannot both be None.")
        return EstimatorSpec(mode, predictions, loss, train_op_fn(loss))

    def _weights(self, features: Any) -> Any:
        if self._weight_column is None:
            return 1.0
        if not isinstance(features, Mapping) or self._weight_column not in features:
            raise ValueError(f"There is no feature {self._weight_column!r}, which is to weigh the examples.")
        return _columns(features[self._weight_column], af.float32)

    def _ids(self, labels: Any, classes: int) -> Tensor:
        """Labels as numbers of classes, [batch, 1]. Those out of range are an error of the step."""
        labels = af.convert_to_tensor(labels)
        if self._vocabulary is not None:
            if labels.dtype != af.string:
                raise ValueError(f"Labels dtype should be string. Instead got {labels.dtype.name}.")
            labels = af.lookup.index_table_from_tensor(self._vocabulary).lookup(labels)
        elif not labels.dtype.is_integer and not (classes == 2 and labels.dtype.is_floating):
            raise ValueError(
                f"Labels dtype should be integer. Instead got {labels.dtype.name}. Give a label_vocabulary for strings."
            )
        ids = _columns(labels, af.int64)
        below = af.assert_less(ids, af.constant(classes, af.int64), message=f"Labels must be < n_classes={classes}")
        above = af.assert_greater_equal(ids, af.constant(0, af.int64), message="Labels must be >= 0")
        with af.control_dependencies([below, above]):
            return af.identity(ids)

    def _classes(self, ids: Tensor, count: int) -> dict[str, Tensor]:
        """The classes that are predicted, by number and by name, and those that there are."""
        names = self._names(count)
        numbers = af.constant(list(range(count)), af.int32)
        return {
            "class_ids": ids,
            "classes": af.gather(names, ids),
            "all_class_ids": _for_each(ids, numbers),
            "all_classes": _for_each(ids, names),
        }

    def _names(self, count: int) -> Tensor:
        """The names of the classes."""
        return af.constant([name.encode() for name in self._vocabulary or [str(number) for number in range(count)]])


def _for_each(batch: Tensor, row: Tensor) -> Tensor:
    """The same row for each example of a batch."""
    return af.tile(af.expand_dims(row, 0), af.concat([af.shape(batch)[:1], [1]], 0))


def _columns(values: Any, dtype: Any) -> Tensor:
    """Values of examples as a matrix of this type."""
    tensor = af.convert_to_tensor(values)
    tensor = tensor if tensor.dtype == dtype else af.cast(tensor, dtype)
    return af.expand_dims(tensor, 1) if tensor.shape.ndims == 1 else tensor


@public("af.estimator")
class BinaryClassHead(Head):
    """Two classes: one logit, sigmoid and cross entropy. Labels are 0 and 1, or one of the two in the vocabulary.

    Args:
        weight_column: the key of a feature that weighs examples.
        label_vocabulary: the two labels, where they are strings.
        loss_reduction: how the losses of a batch become one.
        name: stands at the end of the names of metrics.
    """

    def __init__(
        self,
        weight_column: str | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        super().__init__(1, weight_column, label_vocabulary, loss_reduction, name)

    def _labels(self, labels: Any) -> Tensor:
        return af.cast(self._ids(labels, 2), af.float32)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        both = af.concat([af.zeros_like(logits), logits], 1)
        ids = af.expand_dims(af.argmax(both, 1), 1)
        return {
            "logits": logits,
            "logistic": af.sigmoid(logits),
            "probabilities": af.nn.softmax(both),
            **self._classes(ids, 2),
        }

    def _exports(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        """Those of a classification, and the probability of the second class as a regression."""
        return {**super()._exports(predictions), "regression": RegressionOutput(predictions["logistic"])}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        given = weights if self._weight_column else None
        found = self._predictions(logits)
        logistic, ids = found["logistic"], found["class_ids"]
        label_mean = af.metrics.mean(labels, given, name="label/mean")
        baseline, update = af.metrics.mean(labels, given, name="accuracy_baseline")
        return {
            "accuracy": af.metrics.accuracy(labels, ids, given, name="accuracy"),
            "precision": af.metrics.precision(labels, ids, given, name="precision"),
            "recall": af.metrics.recall(labels, ids, given, name="recall"),
            "prediction/mean": af.metrics.mean(logistic, given, name="prediction/mean"),
            "label/mean": label_mean,
            "accuracy_baseline": (
                af.maximum(baseline, 1 - baseline),
                af.maximum(update, 1 - update),
            ),
            "auc": af.metrics.auc(labels, logistic, given, name="auc"),
            "auc_precision_recall": af.metrics.auc(labels, logistic, given, curve="PR", name="auc_precision_recall"),
        }


@public("af.estimator")
class MultiClassHead(Head):
    """Several classes, of which each example has one: softmax and cross entropy. Labels are numbers, or in the vocabulary.

    Args:
        n_classes: how many classes there are, more than two.
        weight_column: the key of a feature that weighs examples.
        label_vocabulary: the labels, where they are strings.
        loss_reduction: how the losses of a batch become one.
        name: stands at the end of the names of metrics.

    Raises:
        ValueError: there are two classes or fewer.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: str | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, name)

    def _labels(self, labels: Any) -> Tensor:
        return self._ids(labels, self.logits_dimension)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        found = af.nn.sparse_softmax_cross_entropy_with_logits(labels=af.squeeze(labels, [1]), logits=logits)
        return af.expand_dims(found, 1)

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        ids = af.expand_dims(af.argmax(logits, 1), 1)
        probabilities = af.nn.softmax(logits)
        return {"logits": logits, "probabilities": probabilities, **self._classes(ids, self.logits_dimension)}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        ids = af.expand_dims(af.argmax(logits, 1), 1)
        given = weights if self._weight_column else None
        return {"accuracy": af.metrics.accuracy(labels, ids, given, name="accuracy")}


@public("af.estimator")
class RegressionHead(Head):
    """Numbers, with the squared error. Labels are [batch] or [batch, label_dimension].

    Args:
        weight_column: the key of a feature that weighs examples.
        label_dimension: how many numbers an example has.
        loss_reduction: how the losses of a batch become one.
        name: stands at the end of the names of metrics.
    """

    def __init__(
        self,
        weight_column: str | None = None,
        label_dimension: int = 1,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, None, loss_reduction, name)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.square(self._means(logits) - labels)

    def _means(self, logits: Tensor) -> Tensor:
        """The prediction for these logits."""
        return logits

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        return {"predictions": self._means(logits)}

    def _exports(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        """Those of a regression."""
        value = RegressionOutput(predictions["predictions"])
        return {_DEFAULT: value, "regression": value, "predict": PredictOutput(predictions)}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        given = weights if self._weight_column else None
        return {
            "prediction/mean": af.metrics.mean(self._means(logits), given, name="prediction/mean"),
            "label/mean": af.metrics.mean(labels, given, name="label/mean"),
        }


@public("af.estimator")
class PoissonRegressionHead(RegressionHead):
    """Counts: the logits are logarithms of means, with Poisson's loss.

    Args:
        weight_column: the key of a feature that weighs examples.
        label_dimension: how many numbers an example has.
        loss_reduction: how the losses of a batch become one.
        name: stands at the end of the names of metrics.
    """

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.nn.log_poisson_loss(labels, logits, compute_full_loss=True)

    def _means(self, logits: Tensor) -> Tensor:
        return af.exp(logits)


@public("af.estimator")
class LogisticRegressionHead(RegressionHead):
    """Shares between 0 and 1: the logits go through a sigmoid, with cross entropy.

    Args:
        weight_column: the key of a feature that weighs examples.
        label_dimension: how many numbers an example has.
        loss_reduction: how the losses of a batch become one.
        name: stands at the end of the names of metrics.
    """

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _means(self, logits: Tensor) -> Tensor:
        return af.sigmoid(logits)


@public("af.estimator")
class MultiLabelHead(Head):
    """Several classes, of which each example has any: a sigmoid for each. Labels are [batch, n_classes] of 0 and 1.

    Args:
        n_classes: how many classes there are.
        weight_column: the key of a feature that weighs examples.
        loss_reduction: how the losses of a batch become one.
        name: stands at the end of the names of metrics.

    Raises:
        ValueError: there are fewer than two classes.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: str | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        super().__init__(n_classes, weight_column, None, loss_reduction, name)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        found = af.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return af.reduce_mean(found, axis=1, keepdims=True)

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        return {"logits": logits, "probabilities": af.sigmoid(logits)}

    def _exports(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        """Those of a classification. The names of the classes are their numbers."""
        names = _for_each(predictions["logits"], self._names(self.logits_dimension))
        return {**super()._exports({**predictions, "all_classes": names}), "predict": PredictOutput(predictions)}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        given = weights if self._weight_column else None
        shares = af.sigmoid(logits)
        return {
            "auc": af.metrics.auc(labels, shares, given, name="auc"),
            "auc_precision_recall": af.metrics.auc(labels, shares, given, curve="PR", name="auc_precision_recall"),
        }
