"""Model functions out of logits, a head and optimizers; and the constructors that canned Estimators of all kinds share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import actorflow as af
from actorflow.estimator.canned import logits as _logits
from actorflow.estimator.canned.columns import checked
from actorflow.estimator.canned.heads import BinaryClassHead, Head, MultiClassHead, RegressionHead
from actorflow.estimator.spec import EstimatorSpec
from actorflow.losses.weighted import Reduction

_OPTIMIZERS: dict[str, Callable[[float], Any]] = {
    "Adagrad": lambda rate: af.train.AdagradOptimizer(rate),
    "Adam": lambda rate: af.train.AdamOptimizer(rate),
    "Ftrl": lambda rate: af.train.FtrlOptimizer(rate),
    "RMSProp": lambda rate: af.train.RMSPropOptimizer(rate),
    "SGD": lambda rate: af.train.GradientDescentOptimizer(rate),
}
_DEEP_RATE, _BASELINE_RATE, _LINEAR_RATE = 0.05, 0.3, 0.2
_COMBINED_DEEP_RATE, _COMBINED_LINEAR_RATE = 0.001, 0.005


def optimizer(given: Any, rate: float) -> Any:
    """An optimizer, out of one, its name, or a function that makes it.

    Raises:
        ValueError: there is none of this name.
        TypeError: it is none of these.
    """
    if isinstance(given, str):
        if given not in _OPTIMIZERS:
            raise ValueError(f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(_OPTIMIZERS))}")
        return _OPTIMIZERS[given](rate)
    found = given() if isinstance(given, type) or not hasattr(given, "minimize") and callable(given) else given
    if not hasattr(found, "minimize"):
        raise TypeError(f"The given object is not an Optimizer instance. Given: {found}")
    return found


Part = tuple[_logits.Logits, Any, float, str]
"""Logits, their optimizer (or its name), its learning rate, and the scope of their variables."""


def model_fn(head: Head, parts: Sequence[Part]) -> Callable[..., EstimatorSpec]:
    """A model function whose logits are the sum of all parts, each of which is trained by its own optimizer."""

    def model(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        terms = [make(features, mode, head.logits_dimension) for make, _, _, _ in parts]
        total = terms[0] if len(terms) == 1 else af.add_n(terms)

        def train(loss: Any) -> Any:
            step = af.train.get_or_create_global_step()
            if len(parts) == 1:
                return optimizer(parts[0][1], parts[0][2]).minimize(loss, global_step=step)
            ops = []
            for _, given, rate, scope in parts:
                variables = af.get_collection(af.GraphKeys.TRAINABLE_VARIABLES, scope=scope)
                ops.append(optimizer(given, rate).minimize(loss, var_list=variables))
            with af.control_dependencies(ops):
                return step.assign_add(1).op

        return head.create_estimator_spec(features, mode, total, labels, train)

    return model


def _class_head(n_classes: int, weight_column: Any, vocabulary: Any, reduction: str) -> Head:
    if n_classes == 2:
        return BinaryClassHead(weight_column, vocabulary, reduction)
    return MultiClassHead(n_classes, weight_column, vocabulary, reduction)


def _linear_rate(columns: Sequence[Any], most: float) -> float:
    return min(most, 1.0 / math.sqrt(len(columns)))


class DNN:
    """The constructor of deep models."""

    def _deep(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Any,
        given: Any,
        activation_fn: Any,
        dropout: float | None,
        batch_norm: bool,
        **options: Any,
    ) -> None:
        make = _logits.deep(
            list(hidden_units),
            checked(feature_columns, "feature_columns"),
            activation_fn or af.nn.relu,
            dropout,
            batch_norm,
        )
        super().__init__(model_fn(head, [(make, given, _DEEP_RATE, "dnn")]), **options)  # type: ignore[call-arg]


class DNNClassifierModel(DNN):
    """A deep classifier (`tf.estimator.DNNClassifier`).

    Args:
        hidden_units: how many units each hidden layer has.
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, where they are strings.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        activation_fn: the activation of hidden layers; relu unless given.
        dropout: the share of hidden units that are dropped in training.
        loss_reduction: how the losses of a batch become one.
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
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = _class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        options = {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from}
        self._deep(head, hidden_units, feature_columns, optimizer, activation_fn, dropout, batch_norm, **options)


class DNNRegressorModel(DNN):
    """A deep regression (`tf.estimator.DNNRegressor`).

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
        loss_reduction: how the losses of a batch become one.
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
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        options = {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from}
        self._deep(head, hidden_units, feature_columns, optimizer, activation_fn, dropout, batch_norm, **options)


class Linear:
    """The constructor of linear models."""

    def _linear(self, head: Head, feature_columns: Any, given: Any, **options: Any) -> None:
        columns = checked(feature_columns, "feature_columns")
        rate = _linear_rate(columns, _LINEAR_RATE)
        part = (_logits.linear(columns), given or "Ftrl", rate, "linear")
        super().__init__(model_fn(head, [part]), **options)  # type: ignore[call-arg]


class LinearClassifierModel(Linear):
    """A linear classifier (`tf.estimator.LinearClassifier`).

    Args:
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, where they are strings.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one.
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
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = _class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        self._linear(
            head, feature_columns, optimizer, model_dir=model_dir, config=config, warm_start_from=warm_start_from
        )


class LinearRegressorModel(Linear):
    """A linear regression (`tf.estimator.LinearRegressor`).

    Args:
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        label_dimension: how many numbers are predicted for an example.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        self._linear(
            head, feature_columns, optimizer, model_dir=model_dir, config=config, warm_start_from=warm_start_from
        )


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
        batch_norm: bool,
        **options: Any,
    ) -> None:
        if not linear_columns and not dnn_columns:
            raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
        parts: list[Part] = []
        if dnn_columns:
            if not hidden_units:
                raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
            columns = checked(dnn_columns, "dnn_feature_columns")
            make = _logits.deep(list(hidden_units), columns, activation_fn or af.nn.relu, dropout, batch_norm)
            parts.append((make, dnn_optimizer, _COMBINED_DEEP_RATE, "dnn"))
        if linear_columns:
            columns = checked(linear_columns, "linear_feature_columns")
            rate = _linear_rate(columns, _COMBINED_LINEAR_RATE)
            parts.append((_logits.linear(columns), linear_optimizer, rate, "linear"))
        super().__init__(model_fn(head, parts), **options)  # type: ignore[call-arg]


class DNNLinearCombinedClassifierModel(Combined):
    """A classifier that is linear and deep ("wide and deep") (`tf.estimator.DNNLinearCombinedClassifier`).

    Args:
        linear_feature_columns, dnn_feature_columns: feature columns, or names of numeric features, of each part.
        linear_optimizer, dnn_optimizer: the optimizer of each part, its name, or a function that makes it.
        dnn_hidden_units: how many units each hidden layer has.
        dnn_activation_fn: the activation of hidden layers; relu unless given.
        dnn_dropout: the share of hidden units that are dropped in training.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, where they are strings.
        weight_column: the key of a feature that weighs examples.
        loss_reduction: how the losses of a batch become one.
        batch_norm: whether hidden layers are normalized.
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
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        self._combined(
            _class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            batch_norm,
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


class DNNLinearCombinedRegressorModel(Combined):
    """A regression that is linear and deep ("wide and deep") (`tf.estimator.DNNLinearCombinedRegressor`).

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
        loss_reduction: how the losses of a batch become one.
        batch_norm: whether hidden layers are normalized.
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
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        self._combined(
            RegressionHead(weight_column, label_dimension, loss_reduction),
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            batch_norm,
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


class BaselineClassifierModel:
    """A classifier that knows the shares of the classes alone (`tf.estimator.BaselineClassifier`).

    Args:
        model_dir, config: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, where they are strings.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one.
    """

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = _class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        part = (_logits.baseline, optimizer, _BASELINE_RATE, "baseline")
        super().__init__(model_fn(head, [part]), model_dir=model_dir, config=config)  # type: ignore[call-arg]


class BaselineRegressorModel:
    """A regression that knows the mean of the labels alone (`tf.estimator.BaselineRegressor`).

    Args:
        model_dir, config: see `Estimator`.
        label_dimension: how many numbers are predicted for an example.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one.
    """

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        part = (_logits.baseline, optimizer, _BASELINE_RATE, "baseline")
        super().__init__(model_fn(head, [part]), model_dir=model_dir, config=config)  # type: ignore[call-arg]
