"""Models that are linear and deep (`tf.estimator.DNNLinearCombinedClassifier` and the like), as shared constructors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow as af
from actorflow.graph.losses.weighted import Reduction
from actorflow.training.estimator.canned import logits as _logits
from actorflow.training.estimator.canned.columns import checked
from actorflow.training.estimator.canned.heads.head import Head
from actorflow.training.estimator.canned.heads.number_heads import RegressionHead
from actorflow.training.estimator.canned.linear import linear_rate
from actorflow.training.estimator.canned.model_fn import Classifier, Part, model_fn

_DEEP_RATE, _LINEAR_RATE = 0.001, 0.005


class Combined:
    """The constructor of models that are linear and deep."""

    def _combined(
        self,
        head: Head,
        linear_columns: Any,
        linear_optimizer: Any,
        dnn_columns: Any,
        dnn_optimizer: Any,
        hidden_units: Sequence[int] | None,
        activation_fn: Any,
        dropout: float | None,
        partitioner: Any,
        batch_norm: bool,
        sparse_combiner: str,
        **options: Any,
    ) -> None:
        if not linear_columns and not dnn_columns:
            raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
        parts: list[Part] = []
        if dnn_columns:
            if not hidden_units:
                raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
            columns = checked(dnn_columns, "dnn_feature_columns")
            make = _logits.deep(
                list(hidden_units), columns, activation_fn or af.nn.relu, dropout, batch_norm, partitioner
            )
            parts.append((make, dnn_optimizer, _DEEP_RATE, "dnn"))
        if linear_columns:
            columns = checked(linear_columns, "linear_feature_columns")
            rate = linear_rate(columns, _LINEAR_RATE)
            parts.append((_logits.linear(columns, sparse_combiner, partitioner), linear_optimizer, rate, "linear"))
        super().__init__(model_fn(head, parts), **options)  # type: ignore[call-arg]


class DNNLinearCombinedClassifierModel(Combined, Classifier):
    """A classifier that is linear and deep ("wide and deep") (`tf.estimator.DNNLinearCombinedClassifier`).

    Example:
        >>> x = af.feature_column.numeric_column("x")
        >>> estimator = af.estimator.DNNLinearCombinedClassifier(
        ...     linear_feature_columns=[x], dnn_feature_columns=[x], dnn_hidden_units=[8]
        ... )
        >>> _ = await estimator.train([({"x": np.array([[-1.0], [1.0]])}, np.array([0, 1]))] * 2)
        >>> estimator.latest_checkpoint().endswith("model.ckpt-2")
        True

    Args:
        linear_feature_columns, dnn_feature_columns: feature columns, or names of numeric features, of each part.
        linear_optimizer, dnn_optimizer: the optimizer of each part, its name, or a function that makes it.
        dnn_hidden_units: how many units each hidden layer has.
        dnn_activation_fn: the activation of hidden layers; relu unless given.
        dnn_dropout: the share of hidden units that are dropped in training.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, if they are strings.
        weight_column: the key of a feature that weighs examples.
        loss_reduction: how the losses of a batch become one loss.
        batch_norm: whether hidden layers are normalized.
        input_layer_partitioner: cuts the variables of feature columns into slices; see `af.variable_scope`.
        linear_sparse_combiner: how the weights of several categories of an example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        self._combined(
            self._class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            batch_norm,
            linear_sparse_combiner,
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


class DNNLinearCombinedRegressorModel(Combined):
    """A regression that is linear and deep ("wide and deep") (`tf.estimator.DNNLinearCombinedRegressor`).

    Example:
        >>> x = af.feature_column.numeric_column("x")
        >>> estimator = af.estimator.DNNLinearCombinedRegressor(
        ...     linear_feature_columns=[x], dnn_feature_columns=[x], dnn_hidden_units=[8]
        ... )
        >>> _ = await estimator.train([({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))] * 2)
        >>> estimator.latest_checkpoint().endswith("model.ckpt-2")
        True

    Args:
        linear_feature_columns, dnn_feature_columns: feature columns, or names of numeric features, of each part.
        linear_optimizer, dnn_optimizer: the optimizer of each part, its name, or a function that makes it.
        dnn_hidden_units: how many units each hidden layer has.
        dnn_activation_fn: the activation of hidden layers; relu unless given.
        dnn_dropout: the share of hidden units that are dropped in training.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        label_dimension: how many numbers are predicted for an example.
        weight_column: the key of a feature that weighs examples.
        loss_reduction: how the losses of a batch become one loss.
        batch_norm: whether hidden layers are normalized.
        input_layer_partitioner: cuts the variables of feature columns into slices; see `af.variable_scope`.
        linear_sparse_combiner: how the weights of several categories of an example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        self._combined(
            RegressionHead(label_dimension, weight_column, loss_reduction),
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            batch_norm,
            linear_sparse_combiner,
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


class DNNLinearCombinedEstimatorModel(Combined):
    """A model that is linear and deep, with a head of one's own (`tf.estimator.DNNLinearCombinedEstimator`).

    Example:
        >>> x = af.feature_column.numeric_column("x")
        >>> estimator = af.estimator.DNNLinearCombinedEstimator(
        ...     af.estimator.BinaryClassHead(), linear_feature_columns=[x], dnn_feature_columns=[x], dnn_hidden_units=[8]
        ... )
        >>> _ = await estimator.train([({"x": np.array([[-1.0], [1.0]])}, np.array([[0], [1]]))] * 2)
        >>> estimator.latest_checkpoint().endswith("model.ckpt-2")
        True

    Args:
        head: a head, such as `af.estimator.MultiLabelHead`.
        linear_feature_columns, dnn_feature_columns: feature columns, or names of numeric features, of each part.
        linear_optimizer, dnn_optimizer: the optimizer of each part, its name, or a function that makes it.
        dnn_hidden_units: how many units each hidden layer has.
        dnn_activation_fn: the activation of hidden layers; relu unless given.
        dnn_dropout: the share of hidden units that are dropped in training.
        model_dir, config: see `Estimator`.
        batch_norm: whether hidden layers are normalized.
        input_layer_partitioner: cuts the variables of feature columns into slices; see `af.variable_scope`.
        linear_sparse_combiner: how the weights of several categories of an example are combined: "sum", "mean" or "sqrtn".
    """

    def __init__(
        self,
        head: Head,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        linear_sparse_combiner: str = "sum",
        batch_norm: bool = False,
    ) -> None:
        self._combined(
            head,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            batch_norm,
            linear_sparse_combiner,
            model_dir=model_dir,
            config=config,
        )
