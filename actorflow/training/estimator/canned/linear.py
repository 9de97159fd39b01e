"""Linear models (`tf.estimator.LinearClassifier` and the like), as constructors that Estimators of all kinds share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from actorflow.graph.losses.weighted import Reduction
from actorflow.training.estimator.canned import logits as _logits
from actorflow.training.estimator.canned.columns import checked
from actorflow.training.estimator.canned.heads.head import Head
from actorflow.training.estimator.canned.heads.number_heads import RegressionHead
from actorflow.training.estimator.canned.model_fn import Classifier, model_fn

_RATE = 0.2


class LinearModels:
    """The constructor of linear models."""

    def _linear(
        self, head: Head, feature_columns: Any, optimizer: Any, partitioner: Any, sparse_combiner: str, **options: Any
    ) -> None:
        columns = checked(feature_columns, "feature_columns")
        rate = linear_rate(columns, _RATE)
        part = (_logits.linear(columns, sparse_combiner, partitioner), optimizer or "Ftrl", rate, "linear")
        super().__init__(model_fn(head, [part]), **options)  # type: ignore[call-arg]


class LinearClassifierModel(LinearModels, Classifier):
    """A linear classifier (`tf.estimator.LinearClassifier`).

    Example:
        >>> estimator = af.estimator.LinearClassifier([af.feature_column.numeric_column("x")])
        >>> batch = {"x": np.array([[-1.0], [1.0]])}, np.array([0, 1])
        >>> async with estimator:
        ...     _ = await estimator.train([batch] * 20)
        ...     print((await estimator.evaluate([batch]))["accuracy"])
        1.0

    Args:
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, if they are strings.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        partitioner: cuts the variables into slices; see `af.variable_scope`.
        loss_reduction: how the losses of a batch become one loss.
        sparse_combiner: how the weights of several categories of an example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = self._class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        options = {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from}
        self._linear(head, feature_columns, optimizer, partitioner, sparse_combiner, **options)


class LinearRegressorModel(LinearModels):
    """A linear regression (`tf.estimator.LinearRegressor`).

    Example:
        >>> adam = af.train.AdamOptimizer(0.1)
        >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")], optimizer=adam)
        >>> batch = {"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0])
        >>> async with estimator:
        ...     _ = await estimator.train([batch] * 200)
        ...     print((await estimator.evaluate([batch]))["average_loss"] < 0.1)
        True

    Args:
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        label_dimension: how many numbers are predicted for an example.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        partitioner: cuts the variables into slices; see `af.variable_scope`.
        loss_reduction: how the losses of a batch become one loss.
        sparse_combiner: how the weights of several categories of an example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        options = {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from}
        self._linear(head, feature_columns, optimizer, partitioner, sparse_combiner, **options)


class LinearEstimatorModel(LinearModels):
    """A linear model with a head of one's own (`tf.estimator.LinearEstimator`).

    Example:
        >>> head = af.estimator.MultiLabelHead(n_classes=2)
        >>> estimator = af.estimator.LinearEstimator(head, [af.feature_column.numeric_column("x")])
        >>> _ = await estimator.train([({"x": np.array([[1.0], [2.0]])}, np.array([[1, 0], [1, 1]]))] * 2)
        >>> estimator.latest_checkpoint().endswith("model.ckpt-2")
        True

    Args:
        head: a head, such as `af.estimator.MultiLabelHead`.
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        optimizer: an optimizer, its name, or a function that makes it.
        partitioner: cuts the variables into slices; see `af.variable_scope`.
        sparse_combiner: how the weights of several categories of an example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        head: Head,
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        options = {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from}
        self._linear(head, feature_columns, optimizer, partitioner, sparse_combiner, **options)


def linear_rate(columns: Sequence[Any], most: float) -> float:
    """The learning rate of a linear model: the more columns, the smaller."""
    return min(most, 1.0 / math.sqrt(len(columns)))
