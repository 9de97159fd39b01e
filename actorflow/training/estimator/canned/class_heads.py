"""Heads of classifiers: two classes, several exclusive classes, several independent classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.losses.weighted import Reduction
from actorflow.graph.tensor import Tensor
from actorflow.public import public
from actorflow.training.estimator.canned.head import DEFAULT, Head, LossFn, Metrics, columns
from actorflow.training.estimator.export.outputs import (
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)


class _ClassHead(Head):
    """A head of classes, of which an example has a single class.

    Args:
        n_classes: how many there are.
        label_vocabulary: the labels, if they are strings.
        logits_dimension, weight_column, loss_reduction: see `Head`.
        loss_fn, name: see `Head`.

    Raises:
        ValueError: the vocabulary has another number of labels.
    """

    def __init__(
        self,
        n_classes: int,
        logits_dimension: int,
        weight_column: str | None,
        label_vocabulary: Sequence[str] | None,
        loss_reduction: str,
        loss_fn: LossFn | None,
        name: str | None,
    ) -> None:
        super().__init__(logits_dimension, weight_column, loss_reduction, name, loss_fn)
        self._vocabulary = None if label_vocabulary is None else list(label_vocabulary)
        if self._vocabulary is not None and len(self._vocabulary) != n_classes:
            raise ValueError(
                f"label_vocabulary should have {n_classes} items, one for each class. Given: {self._vocabulary}"
            )

    def _ids(self, labels: Any, classes: int) -> Tensor:
        """Labels as numbers of classes, [batch, 1]. Those out of range are an error of the step."""
        labels = af.convert_to_tensor(labels)
        if self._vocabulary is not None:
            if labels.dtype != af.string:
                raise ValueError(
                    f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype.name}."
                )
            labels = af.lookup.index_table_from_tensor(self._vocabulary).lookup(labels)
        elif not labels.dtype.is_integer and not (
            classes == 2 and (labels.dtype.is_floating or labels.dtype == af.bool)
        ):
            raise ValueError(
                f"Labels dtype should be integer. Instead got {labels.dtype.name}. Give a label_vocabulary for strings."
            )
        ids = columns(labels, af.int64, 1)
        below = af.assert_less(ids, af.constant(classes, af.int64), message=f"Labels must be < n_classes={classes}")
        above = af.assert_greater_equal(ids, af.constant(0, af.int64), message="Labels must be >= 0")
        with af.control_dependencies([below, above]):
            return af.identity(ids)

    def _classes(self, ids: Tensor, count: int) -> dict[str, Tensor]:
        """The classes that are predicted, by number and by name, and those that there are."""
        names = _names(self._vocabulary or range(count))
        numbers = af.constant(list(range(count)), af.int32)
        return {
            "class_ids": ids,
            "classes": af.gather(names, ids),
            "all_class_ids": _for_each(ids, numbers),
            "all_classes": _for_each(ids, names),
        }

    def exports(self, predictions: Mapping[Any, Tensor]) -> dict[str, ExportOutput]:
        """Those of a classification."""
        return _classification(predictions, predictions["all_classes"])


def _names(words: Iterable[Any]) -> Tensor:
    return af.constant([str(word).encode() for word in words])


def _for_each(batch: Tensor, row: Tensor) -> Tensor:
    """The same row for each example of a batch."""
    return af.tile(af.expand_dims(row, 0), af.concat([af.shape(batch)[:1], [1]], 0))


def _classification(predictions: Mapping[Any, Tensor], names: Tensor) -> dict[str, ExportOutput]:
    classes = ClassificationOutput(predictions["probabilities"], names)
    return {DEFAULT: classes, "classification": classes, "predict": PredictOutput(predictions)}


@public("af.estimator")
class BinaryClassHead(_ClassHead):
    """Two classes: one logit, sigmoid and cross entropy. Labels are 0 and 1, or one of the two in the vocabulary.

    Example:
        >>> head = af.estimator.BinaryClassHead()
        >>> loss = head.loss(af.constant([[1]]), af.constant([[0.0]]), {}, af.estimator.ModeKeys.EVAL)
        >>> await session.run(loss)
        0.6931

    Args:
        weight_column: the key of a feature that weighs examples.
        thresholds: shares from which on an example counts as positive, for metrics beside those of 0.5.
        label_vocabulary: the two labels, if they are strings.
        loss_reduction: how the losses of a batch become one loss.
        loss_fn: a function of `labels` and `logits`, instead of the cross entropy; it gives [batch, 1].
        name: stands at the end of the names of metrics.
    """

    def __init__(
        self,
        weight_column: str | None = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: LossFn | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(2, 1, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self._thresholds = _shares(thresholds)

    def _labels(self, labels: Any) -> Tensor:
        return af.cast(self._ids(labels, 2), af.float32)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def predictions(self, logits: Tensor) -> dict[Any, Tensor]:
        """See `Head.predictions`."""
        both = af.concat([af.zeros_like(logits), logits], 1)
        ids = af.expand_dims(af.argmax(both, 1), 1)
        return {
            "logits": logits,
            "logistic": af.sigmoid(logits),
            "probabilities": af.nn.softmax(both),
            **self._classes(ids, 2),
        }

    def exports(self, predictions: Mapping[Any, Tensor]) -> dict[str, ExportOutput]:
        """Those of a classification, and the probability of the second class as a regression.

        Example:
            >>> head = af.estimator.BinaryClassHead()
            >>> with af.Graph().as_default():
            ...     print(sorted(head.exports(head.predictions(af.placeholder(af.float32, [None, 1])))))
            ['classification', 'predict', 'regression', 'serving_default']
        """
        return {**super().exports(predictions), "regression": RegressionOutput(predictions["logistic"])}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        weighting = weights if self._weight_column else None
        predictions = self.predictions(logits)
        logistic, ids = predictions["logistic"], predictions["class_ids"]
        label_mean = af.metrics.mean(labels, weighting, name="label/mean")
        baseline, update = af.metrics.mean(labels, weighting, name="accuracy_baseline")
        return {
            "accuracy": af.metrics.accuracy(labels, ids, weighting, name="accuracy"),
            "precision": af.metrics.precision(labels, ids, weighting, name="precision"),
            "recall": af.metrics.recall(labels, ids, weighting, name="recall"),
            "prediction/mean": af.metrics.mean(logistic, weighting, name="prediction/mean"),
            "label/mean": label_mean,
            "accuracy_baseline": (
                af.maximum(baseline, 1 - baseline),
                af.maximum(update, 1 - update),
            ),
            "auc": af.metrics.auc(labels, logistic, weighting, name="auc"),
            "auc_precision_recall": af.metrics.auc(
                labels, logistic, weighting, curve="PR", name="auc_precision_recall"
            ),
            **_at_thresholds(labels, logistic, weighting, self._thresholds),
        }


@public("af.estimator")
class MultiClassHead(_ClassHead):
    """Several classes, a single class for each example: softmax and cross entropy. Labels are numbers, or in the vocabulary.

    Example:
        >>> head = af.estimator.MultiClassHead(3)
        >>> answers = head.predictions(af.constant([[0.0, 2.0, 0.0]]))
        >>> await session.run(answers["class_ids"])
        [[1]]

    Args:
        n_classes: how many classes there are, more than two.
        weight_column: the key of a feature that weighs examples.
        label_vocabulary: the labels, if they are strings.
        loss_reduction: how the losses of a batch become one loss.
        loss_fn: a function of `labels` and `logits`, instead of the cross entropy; it gives [batch, 1].
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
        loss_fn: LossFn | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)

    def _labels(self, labels: Any) -> Tensor:
        return self._ids(labels, self.logits_dimension)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=af.squeeze(labels, [1]), logits=logits)
        return af.expand_dims(losses, 1)

    def predictions(self, logits: Tensor) -> dict[Any, Tensor]:
        """See `Head.predictions`."""
        ids = af.expand_dims(af.argmax(logits, 1), 1)
        probabilities = af.nn.softmax(logits)
        return {"logits": logits, "probabilities": probabilities, **self._classes(ids, self.logits_dimension)}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        ids = af.expand_dims(af.argmax(logits, 1), 1)
        weighting = weights if self._weight_column else None
        return {"accuracy": af.metrics.accuracy(labels, ids, weighting, name="accuracy")}


@public("af.estimator")
class MultiLabelHead(Head):
    """Several classes, of which each example has any: a sigmoid for each. Labels are [batch, n_classes] of 0 and 1.

    Example:
        >>> head = af.estimator.MultiLabelHead(2)
        >>> answers = head.predictions(af.constant([[3.0, -3.0]]))
        >>> await session.run(answers["probabilities"])
        [[0.9526 0.0474]]

    Args:
        n_classes: how many classes there are.
        weight_column: the key of a feature that weighs examples.
        thresholds: shares from which on an example counts as positive, for metrics beside those of 0.5.
        label_vocabulary: has to be None: labels are 0 and 1.
        loss_reduction: how the losses of a batch become one loss.
        loss_fn: a function of `labels` and `logits`, instead of the cross entropy; it gives [batch, 1].
        classes_for_class_based_metrics: numbers of classes that get metrics of their own.
        name: stands at the end of the names of metrics.

    Raises:
        ValueError: there are fewer than two classes, or there is no class of such a number.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: str | None = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: LossFn | None = None,
        classes_for_class_based_metrics: Sequence[int] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        if label_vocabulary is not None:
            raise ValueError(
                "A MultiLabelHead takes labels of 0 and 1, a column for each class; it has no label_vocabulary."
            )
        super().__init__(n_classes, weight_column, loss_reduction, name, loss_fn)
        self._thresholds = _shares(thresholds)
        self._own_metrics = tuple(classes_for_class_based_metrics or ())
        if wrong := [number for number in self._own_metrics if number not in range(n_classes)]:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in range [0, {n_classes - 1}]. Given: {wrong[0]!r}"
            )

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        losses = af.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return af.reduce_mean(losses, axis=1, keepdims=True)

    def predictions(self, logits: Tensor) -> dict[Any, Tensor]:
        """See `Head.predictions`."""
        return {"logits": logits, "probabilities": af.sigmoid(logits)}

    def exports(self, predictions: Mapping[Any, Tensor]) -> dict[str, ExportOutput]:
        """Those of a classification. The names of the classes are their numbers.

        Example:
            >>> head = af.estimator.MultiLabelHead(3)
            >>> with af.Graph().as_default():
            ...     print(sorted(head.exports(head.predictions(af.placeholder(af.float32, [None, 3])))))
            ['classification', 'predict', 'serving_default']
        """
        return _classification(predictions, _for_each(predictions["logits"], _names(range(self.logits_dimension))))

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        weighting = weights if self._weight_column else None
        shares = af.sigmoid(logits)
        return {
            "auc": af.metrics.auc(labels, shares, weighting, name="auc"),
            "auc_precision_recall": af.metrics.auc(
                labels,
                shares,
                weighting,
                curve="PR",
                name="auc_precision_recall",
                summation_method="careful_interpolation",
            ),
            **_at_thresholds(labels, shares, weighting, self._thresholds),
            **_of_classes(labels, shares, weighting, self._own_metrics),
        }


def _of_classes(labels: Tensor, shares: Tensor, weights: Any, numbers: Sequence[int]) -> Metrics:
    """The metrics of single classes."""
    metrics: Metrics = {}
    for number in numbers:
        share, label = shares[:, number : number + 1], labels[:, number : number + 1]
        mean, area, rank = (f"{kind}/class{number}" for kind in ("probability_mean", "auc", "auc_precision_recall"))
        metrics[mean] = af.metrics.mean(share, weights, name=mean)
        metrics[area] = af.metrics.auc(label, share, weights, name=area)
        metrics[rank] = af.metrics.auc(
            label, share, weights, curve="PR", name=rank, summation_method="careful_interpolation"
        )
    return metrics


def _shares(thresholds: Sequence[float] | None) -> tuple[float, ...]:
    """Thresholds. Raises ValueError if a threshold is not between 0 and 1."""
    for share in thresholds or ():
        if not 0 < share < 1:
            raise ValueError(f"thresholds must be in (0, 1) range, but got {share}")
    return tuple(thresholds or ())


def _at_thresholds(labels: Tensor, shares: Tensor, weights: Any, thresholds: Sequence[float]) -> Metrics:
    """The metrics of what is positive from these shares on."""
    metrics: Metrics = {}
    for share in thresholds:
        positive = af.cast(af.greater(shares, share), af.float32)
        for kind in ("accuracy", "precision", "recall"):
            name = f"{kind}/positive_threshold_{share:g}"
            metrics[name] = getattr(af.metrics, kind)(labels, positive, weights, name=name)
    return metrics
