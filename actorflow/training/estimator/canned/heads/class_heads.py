"""Heads of exclusive classes: two, or more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.losses.weighted import Reduction
from actorflow.graph.tensor import Tensor
from actorflow.public import public
from actorflow.training.estimator.canned.heads.classes import (
    at_thresholds,
    checked_thresholds,
    classification,
    for_each,
    names,
)
from actorflow.training.estimator.canned.heads.head import Head, LossFn, Metrics
from actorflow.training.estimator.canned.heads.shapes import fitted_labels, in_range, in_vocabulary
from actorflow.training.estimator.export.outputs import (
    ExportOutput,
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

    def _ids(self, labels: Any, logits: Tensor, classes: int) -> Tensor:
        """Labels as numbers of classes, [batch, 1]. Those out of range are an error of the step."""
        labels = fitted_labels(labels, logits, 1)
        if self._vocabulary is not None:
            if labels.dtype != af.string:
                raise ValueError(
                    f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype.name}."
                )
            labels = in_vocabulary(labels, self._vocabulary)
        elif not labels.dtype.is_integer and not (
            classes == 2 and (labels.dtype.is_floating or labels.dtype == af.bool)
        ):
            raise ValueError(
                f"Labels dtype should be integer. Instead got {labels.dtype.name}. Give a label_vocabulary for strings."
            )
        return in_range(af.cast(labels, af.float32 if classes == 2 else af.int64), classes)

    def _classes(self, ids: Tensor, count: int) -> dict[str, Tensor]:
        """The classes that are predicted, by number and by name, and those that there are."""
        words = names(self._vocabulary or range(count))
        numbers = af.constant(list(range(count)), af.int32)
        return {
            "class_ids": ids,
            "classes": af.gather(words, ids),
            "all_class_ids": for_each(ids, numbers),
            "all_classes": for_each(ids, words),
        }

    def exports(self, predictions: Mapping[Any, Tensor]) -> dict[str, ExportOutput]:
        """Those of a classification."""
        return classification(predictions, predictions["all_classes"])


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

    _precision_recall = "careful_interpolation"
    """How the area under the curve of precision and recall is added up."""

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
        self._thresholds = checked_thresholds(thresholds)

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        return self._ids(labels, logits, 2)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _predictions(self, logits: Tensor) -> dict[Any, Tensor]:
        both = af.concat([af.zeros_like(logits), logits], -1)
        ids = af.expand_dims(af.argmax(both, -1), -1)
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
        predictions = self._predictions(logits)
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
                labels,
                logistic,
                weighting,
                curve="PR",
                name="auc_precision_recall",
                summation_method=self._precision_recall,
            ),
            **at_thresholds(labels, logistic, weighting, self._thresholds),
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
        if n_classes is None:
            raise ValueError("n_classes cannot be None: say how many classes there are.")
        if n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        return self._ids(labels, logits, self.logits_dimension)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=af.squeeze(labels, [-1]), logits=logits)
        return af.expand_dims(losses, -1)

    def _predictions(self, logits: Tensor) -> dict[Any, Tensor]:
        ids = af.expand_dims(af.argmax(logits, -1), -1)
        probabilities = af.nn.softmax(logits)
        return {"logits": logits, "probabilities": probabilities, **self._classes(ids, self.logits_dimension)}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        ids = af.expand_dims(af.argmax(logits, -1), -1)
        weighting = weights if self._weight_column else None
        return {"accuracy": af.metrics.accuracy(labels, ids, weighting, name="accuracy")}
