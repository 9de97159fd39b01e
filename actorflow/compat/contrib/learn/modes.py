"""`ModeKeys` and `MetricSpec` of `tf.contrib.learn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ModeKeys:
    """The modes of a model: to train, to evaluate, to predict."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError for another mode."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


class MetricSpec:
    """A metric, and the keys of what it compares.

    Args:
        metric_fn: a function of predictions, labels and weights.
        prediction_key, label_key, weight_key: the keys.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self.metric_fn = metric_fn
        self.prediction_key, self.label_key, self.weight_key = prediction_key, label_key, weight_key

    def create_metric_ops(self, inputs: dict[str, Any], labels: Any, predictions: Any) -> Any:
        """The metric of these tensors."""

        def chosen(source: Any, key: str | None) -> Any:
            return (
                source[key] if key is not None else next(iter(source.values())) if isinstance(source, dict) else source
            )

        named = {"weights": inputs[self.weight_key]} if self.weight_key else {}
        return self.metric_fn(chosen(predictions, self.prediction_key), chosen(labels, self.label_key), **named)
