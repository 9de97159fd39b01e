"""Names of classes, signatures of classifiers, and metrics from thresholds on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.tensor import Tensor
from actorflow.training.estimator.canned.heads.head import DEFAULT, Metrics
from actorflow.training.estimator.export.outputs import ClassificationOutput, ExportOutput, PredictOutput


def names(words: Iterable[Any]) -> Tensor:
    return af.constant([str(word).encode() for word in words])


def for_each(batch: Tensor, row: Tensor) -> Tensor:
    """The same row for each example of a batch."""
    return af.tile(af.expand_dims(row, 0), af.concat([af.shape(batch)[:1], [1]], 0))


def classification(predictions: Mapping[Any, Tensor], names: Tensor) -> dict[str, ExportOutput]:
    classes = ClassificationOutput(predictions["probabilities"], names)
    return {DEFAULT: classes, "classification": classes, "predict": PredictOutput(predictions)}


def checked_thresholds(thresholds: Sequence[float] | None) -> tuple[float, ...]:
    """Thresholds. Raises ValueError if a threshold is not between 0 and 1."""
    for share in thresholds or ():
        if not 0 < share < 1:
            raise ValueError(f"thresholds not in (0, 1): thresholds must be in (0, 1) range. Given: {share}")
    return tuple(thresholds or ())


def at_thresholds(labels: Tensor, shares: Tensor, weights: Any, thresholds: Sequence[float]) -> Metrics:
    """The metrics of what is positive from these shares on."""
    metrics: Metrics = {}
    for share in thresholds:
        positive = af.cast(af.greater(shares, share), af.float32)
        for kind in ("accuracy", "precision", "recall"):
            name = f"{kind}/positive_threshold_{share:g}"
            metrics[name] = getattr(af.metrics, kind)(labels, positive, weights, name=name)
    return metrics
