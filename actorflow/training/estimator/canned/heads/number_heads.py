"""Heads of regressions: numbers, counts, and shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import actorflow as af
from actorflow.graph.losses.weighted import Reduction
from actorflow.graph.tensor import Tensor
from actorflow.public import public
from actorflow.training.estimator.canned.heads.head import DEFAULT, Head, LossFn, Metrics
from actorflow.training.estimator.canned.heads.shapes import in_range
from actorflow.training.estimator.export.outputs import ExportOutput, PredictOutput, RegressionOutput


@public("af.estimator")
class RegressionHead(Head):
    """Numbers, with the squared error. Labels are [batch] or [batch, label_dimension].

    Example:
        >>> head = af.estimator.RegressionHead()
        >>> loss = head.loss(af.constant([[1.0]]), af.constant([[3.0]]), {}, af.estimator.ModeKeys.EVAL)
        >>> await session.run(loss)
        4.0

    Args:
        label_dimension: how many numbers an example has.
        weight_column: the key of a feature that weighs examples.
        loss_reduction: how the losses of a batch become one loss.
        loss_fn: a function of `labels` and `logits`, instead of the squared error; it gives [batch, label_dimension].
        inverse_link_fn: from logits to predictions; the logits themselves unless given.
        name: stands at the end of the names of metrics.

    Raises:
        ValueError: `label_dimension` is not positive.
    """

    _weighs_logits = True

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: str | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: LossFn | None = None,
        inverse_link_fn: Callable[[Tensor], Tensor] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction, name, loss_fn)
        self._loss_width = label_dimension
        self._means = inverse_link_fn or (lambda logits: logits)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.square(logits - labels)

    def _predictions(self, logits: Tensor) -> dict[Any, Tensor]:
        means = self._means(logits)
        return {"predictions": means} if means is logits else {"predictions": means, "logits": logits}

    def exports(self, predictions: Mapping[Any, Tensor]) -> dict[str, ExportOutput]:
        """Those of a regression."""
        value = RegressionOutput(predictions["predictions"])
        return {DEFAULT: value, "regression": value, "predict": PredictOutput(predictions)}

    def _metrics(self, labels: Tensor, logits: Tensor, losses: Tensor, weights: Any) -> Metrics:
        weighting = weights if self._weight_column else None
        return {
            "prediction/mean": af.metrics.mean(self._means(logits), weighting, name="prediction/mean"),
            "label/mean": af.metrics.mean(labels, weighting, name="label/mean"),
        }


@public("af.estimator")
class PoissonRegressionHead(RegressionHead):
    """Counts: the logits are logarithms of means, with Poisson's loss.

    Example:
        >>> answers = af.estimator.PoissonRegressionHead().predictions(af.constant([[0.0], [2.0]]))
        >>> await session.run(answers["predictions"])
        [[1.    ]
         [7.3891]]

    Args:
        label_dimension: how many numbers an example has.
        weight_column: the key of a feature that weighs examples.
        loss_reduction: how the losses of a batch become one loss.
        compute_full_loss: whether the loss has the term that the predictions do not change.
        name: stands at the end of the names of metrics.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: str | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(label_dimension, weight_column, loss_reduction, None, af.exp, name)
        self._is_full = compute_full_loss

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.nn.log_poisson_loss(labels, logits, compute_full_loss=self._is_full)


@public("af.estimator")
class LogisticRegressionHead(RegressionHead):
    """Shares between 0 and 1: the logits go through a sigmoid, with cross entropy.

    Example:
        >>> answers = af.estimator.LogisticRegressionHead().predictions(af.constant([[0.0], [2.0]]))
        >>> await session.run(answers["predictions"])
        [[0.5   ]
         [0.8808]]

    Args:
        weight_column: the key of a feature that weighs examples.
        loss_reduction: how the losses of a batch become one loss.
        name: stands at the end of the names of metrics.
    """

    def __init__(
        self,
        weight_column: str | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        super().__init__(1, weight_column, loss_reduction, None, af.sigmoid, name)

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        return in_range(super()._labels(labels, logits), 2, "Labels must be in range [0, 1]")

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return af.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
