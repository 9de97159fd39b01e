"""Deep models (`tf.estimator.DNNClassifier` and the like), as constructors that Estimators of all kinds share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow as af
from actorflow.graph.losses.weighted import Reduction
from actorflow.training.estimator.canned import logits as _logits
from actorflow.training.estimator.canned.columns import checked
from actorflow.training.estimator.canned.heads.head import Head
from actorflow.training.estimator.canned.heads.number_heads import RegressionHead
from actorflow.training.estimator.canned.model_fn import Classifier, model_fn

_RATE = 0.05


class DNN:
    """The constructor of deep models."""

    def _deep(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Any,
        optimizer: Any,
        activation_fn: Any,
        dropout: float | None,
        partitioner: Any,
        batch_norm: bool,
        **options: Any,
    ) -> None:
        make = _logits.deep(
            list(hidden_units),
            checked(feature_columns, "feature_columns"),
            activation_fn or af.nn.relu,
            dropout,
            batch_norm,
            partitioner,
        )
        super().__init__(model_fn(head, [(make, optimizer, _RATE, "dnn")]), **options)  # type: ignore[call-arg]


class DNNClassifierModel(DNN, Classifier):
    """A deep classifier (`tf.estimator.DNNClassifier`).

    Example:
        >>> estimator = af.estimator.DNNClassifier([8], [af.feature_column.numeric_column("x")], n_classes=3)
        >>> batch = {"x": np.array([[-1.0], [1.0]])}, np.array([0, 2])
        >>> async with estimator:
        ...     _ = await estimator.train([batch] * 2)
        ...     print([answer["probabilities"].shape async for answer in estimator.predict([batch[0]])])
        [(3,), (3,)]

    Args:
        hidden_units: how many units each hidden layer has.
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, if they are strings.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        activation_fn: the activation of hidden layers; relu unless given.
        dropout: the share of hidden units that are dropped in training.
        input_layer_partitioner: cuts the variables of feature columns into slices; see `af.variable_scope`.
        loss_reduction: how the losses of a batch become one loss.
        batch_norm: whether hidden layers are normalized.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = None,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = self._class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        options = {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from}
        self._deep(
            head,
            hidden_units,
            feature_columns,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            batch_norm,
            **options,
        )


class DNNRegressorModel(DNN):
    """A deep regression (`tf.estimator.DNNRegressor`).

    Example:
        >>> estimator = af.estimator.DNNRegressor([8], [af.feature_column.numeric_column("x")])
        >>> batch = {"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0])
        >>> async with estimator:
        ...     _ = await estimator.train([batch] * 5)
        ...     print(sorted(await estimator.evaluate([batch])))
        ['average_loss', 'global_step', 'label/mean', 'loss', 'prediction/mean']

    Args:
        hidden_units: how many units each hidden layer has.
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        label_dimension: how many numbers are predicted for an example.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        activation_fn: the activation of hidden layers; relu unless given.
        dropout: the share of hidden units that are dropped in training.
        input_layer_partitioner: cuts the variables of feature columns into slices; see `af.variable_scope`.
        loss_reduction: how the losses of a batch become one loss.
        batch_norm: whether hidden layers are normalized.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = None,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        options = {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from}
        self._deep(
            head,
            hidden_units,
            feature_columns,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            batch_norm,
            **options,
        )


class DNNEstimatorModel(DNN):
    """A deep model with a head of one's own (`tf.estimator.DNNEstimator`).

    Example:
        >>> head = af.estimator.PoissonRegressionHead()  # counts
        >>> estimator = af.estimator.DNNEstimator(head, [8], [af.feature_column.numeric_column("x")])
        >>> _ = await estimator.train([({"x": np.array([[1.0], [2.0]])}, np.array([[3.0], [5.0]]))] * 2)
        >>> estimator.latest_checkpoint().endswith("model.ckpt-2")
        True

    Args:
        head: a head, such as `af.estimator.MultiLabelHead`.
        hidden_units: how many units each hidden layer has.
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        optimizer: an optimizer, its name, or a function that makes it.
        activation_fn: the activation of hidden layers; relu unless given.
        dropout: the share of hidden units that are dropped in training.
        input_layer_partitioner: cuts the variables of feature columns into slices; see `af.variable_scope`.
        batch_norm: whether hidden layers are normalized.
    """

    def __init__(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = None,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        options = {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from}
        self._deep(
            head,
            hidden_units,
            feature_columns,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            batch_norm,
            **options,
        )
