"""`tf.estimator`'s canned Estimators, without `await`."""

from __future__ import annotations

from actorflow.compat.training.estimator import Estimator
from actorflow.estimator.canned import models
from actorflow.public import public


@public("tf.estimator")
class DNNClassifier(models.DNNClassifierModel, Estimator):
    """A deep classifier (`actorflow.estimator.DNNClassifier` without `await`).

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


@public("tf.estimator")
class DNNRegressor(models.DNNRegressorModel, Estimator):
    """A deep regression (`actorflow.estimator.DNNRegressor` without `await`).

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


@public("tf.estimator")
class LinearClassifier(models.LinearClassifierModel, Estimator):
    """A linear classifier (`actorflow.estimator.LinearClassifier` without `await`).

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


@public("tf.estimator")
class LinearRegressor(models.LinearRegressorModel, Estimator):
    """A linear regression (`actorflow.estimator.LinearRegressor` without `await`).

    Args:
        feature_columns: feature columns, or the names of numeric features.
        model_dir, config: see `Estimator`.
        warm_start_from: see `Estimator`.
        label_dimension: how many numbers are predicted for an example.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one.
    """


@public("tf.estimator")
class DNNLinearCombinedClassifier(models.DNNLinearCombinedClassifierModel, Estimator):
    """A classifier that is linear and deep ("wide and deep") (`actorflow.estimator.DNNLinearCombinedClassifier` without `await`).

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


@public("tf.estimator")
class DNNLinearCombinedRegressor(models.DNNLinearCombinedRegressorModel, Estimator):
    """A regression that is linear and deep ("wide and deep") (`actorflow.estimator.DNNLinearCombinedRegressor` without `await`).

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


@public("tf.estimator")
class BaselineClassifier(models.BaselineClassifierModel, Estimator):
    """A classifier that knows the shares of the classes alone (`actorflow.estimator.BaselineClassifier` without `await`).

    Args:
        model_dir, config: see `Estimator`.
        n_classes: how many classes there are.
        label_vocabulary: the labels, where they are strings.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one.
    """


@public("tf.estimator")
class BaselineRegressor(models.BaselineRegressorModel, Estimator):
    """A regression that knows the mean of the labels alone (`actorflow.estimator.BaselineRegressor` without `await`).

    Args:
        model_dir, config: see `Estimator`.
        label_dimension: how many numbers are predicted for an example.
        weight_column: the key of a feature that weighs examples.
        optimizer: an optimizer, its name, or a function that makes it.
        loss_reduction: how the losses of a batch become one.
    """
