"""The head of independent classes, of which an example has any number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.losses.weighted import Reduction
from actorflow.graph.sparse_tensor import SparseTensor
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
from actorflow.training.estimator.canned.heads.shapes import NO_LABELS, fitted_labels, in_range, in_vocabulary
from actorflow.training.estimator.export.outputs import ExportOutput


@public("af.estimator")
class MultiLabelHead(Head):
    """Several classes, of which each example has any: a sigmoid for each.

    Labels are [batch, n_classes] of 0 and 1, or a sparse tensor whose values are numbers of classes, or their names.

    Example:
        >>> head = af.estimator.MultiLabelHead(2)
        >>> answers = head.predictions(af.constant([[3.0, -3.0]]))
        >>> await session.run(answers["probabilities"])
        [[0.9526 0.0474]]

    Args:
        n_classes: how many classes there are.
        weight_column: the key of a feature that weighs examples.
        thresholds: shares from which on an example counts as positive, for metrics beside those of 0.5.
        label_vocabulary: the names of the classes, for sparse labels that are strings.
        loss_reduction: how the losses of a batch become one loss.
        loss_fn: a function of `labels` and `logits`, instead of the cross entropy; it gives [batch, 1].
        classes_for_class_based_metrics: numbers of classes, or their names, that get metrics of their own.
        name: stands at the end of the names of metrics.

    Raises:
        ValueError: there are fewer than two classes, there is no class of such a number or name, or the vocabulary has another
            size.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: str | None = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: LossFn | None = None,
        classes_for_class_based_metrics: Sequence[int] | Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        if label_vocabulary is not None and not isinstance(label_vocabulary, list | tuple):
            raise ValueError(f"label_vocabulary must be a list or tuple. Given type: {type(label_vocabulary)}")
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                f"Length of label_vocabulary must be n_classes ({n_classes}). Given: {len(label_vocabulary)}"
            )
        super().__init__(n_classes, weight_column, loss_reduction, name, loss_fn)
        self._thresholds = checked_thresholds(thresholds)
        self._vocabulary = None if label_vocabulary is None else list(label_vocabulary)
        self._own_metrics = {
            name if isinstance(name, str) else f"class{name}": self._number(name)
            for name in classes_for_class_based_metrics or ()
        }
        if wrong := [number for number in self._own_metrics.values() if number not in range(n_classes)]:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in range [0, {n_classes - 1}]. Given: {wrong[0]!r}"
            )

    def _number(self, label: Any) -> int:
        if not isinstance(label, str):
            return int(label)
        if self._vocabulary is None:
            raise ValueError("label_vocabulary must be provided when classes_for_class_based_metrics are strings.")
        if label not in self._vocabulary:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in the label_vocabulary {self._vocabulary!r:.300}. Given: {label!r}"
            )
        return self._vocabulary.index(label)

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        if labels is None:
            raise ValueError(NO_LABELS)
        if isinstance(labels, SparseTensor):
            dense = self._indicators(labels)
        else:
            rule = "labels must be an integer indicator Tensor with values in [0, 1]"
            dense = in_range(af.convert_to_tensor(labels), 2, rule)
        return af.cast(fitted_labels(dense, logits, self.logits_dimension), af.float32)

    def _indicators(self, labels: SparseTensor) -> Tensor:
        """For each example and class whether the example has it."""
        values, count = labels.values, self.logits_dimension
        if values.dtype == af.string:
            if self._vocabulary is None:
                raise ValueError("label_vocabulary must be provided when labels are strings.")
            values = in_vocabulary(values, self._vocabulary)
        elif not values.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {values.dtype.name}.")
        else:
            rule = f"labels must be an integer SparseTensor with values in [0, {count})"
            values = in_range(values, count, rule)
        return af.sparse_to_indicator(SparseTensor(labels.indices, values, labels.dense_shape), count)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        losses = af.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return af.reduce_mean(losses, axis=-1, keepdims=True)

    def _predictions(self, logits: Tensor) -> dict[Any, Tensor]:
        classes = for_each(logits, names(self._vocabulary or range(self.logits_dimension)))
        return {"logits": logits, "probabilities": af.sigmoid(logits), "classes": classes}

    def exports(self, predictions: Mapping[Any, Tensor]) -> dict[str, ExportOutput]:
        """Those of a classification. The names of the classes are their numbers.

        Example:
            >>> head = af.estimator.MultiLabelHead(3)
            >>> with af.Graph().as_default():
            ...     print(sorted(head.exports(head.predictions(af.placeholder(af.float32, [None, 3])))))
            ['classification', 'predict', 'serving_default']
        """
        return classification(
            predictions, for_each(predictions["logits"], names(self._vocabulary or range(self.logits_dimension)))
        )

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
            **at_thresholds(labels, shares, weighting, self._thresholds),
            **_of_classes(labels, shares, weighting, self._own_metrics),
        }


def _of_classes(labels: Tensor, shares: Tensor, weights: Any, numbers: Mapping[str, int]) -> Metrics:
    """The metrics of single classes."""
    metrics: Metrics = {}
    for name, number in numbers.items():
        share, label = shares[..., number : number + 1], labels[..., number : number + 1]
        mean, area, rank = (f"{kind}/{name}" for kind in ("probability_mean", "auc", "auc_precision_recall"))
        metrics[mean] = af.metrics.mean(share, weights, name=mean)
        metrics[area] = af.metrics.auc(label, share, weights, name=area)
        metrics[rank] = af.metrics.auc(
            label, share, weights, curve="PR", name=rank, summation_method="careful_interpolation"
        )
    return metrics
