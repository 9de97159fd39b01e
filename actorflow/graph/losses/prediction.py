"""Losses of predictions and of classifiers, weighted and collected (`tf.losses`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actorflow.base.dtypes import float32, int32
from actorflow.base.shapes import compatible, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.losses.weighted import Reduction, add_loss, compute_weighted_loss, present, weight_checks
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.array.shape import rank, reshape, shape, squeeze
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import stop_gradient
from actorflow.graph.ops.math.arithmetic import div_no_nan, maximum, minimum, multiply, subtract
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.elementwise import abs, log, square
from actorflow.graph.ops.math.logic import equal, logical_and, where
from actorflow.graph.ops.math.reduction import reduce_all, reduce_sum
from actorflow.graph.ops.nn.activation import relu
from actorflow.graph.ops.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.graph.variables.collections import GraphKeys
from actorflow.public import public

# ---- losses of predictions


@contextmanager
def _floats(scope: str | None, default: str, predictions: Any, labels: Any, weights: Any) -> Iterator[Any]:
    """A name scope, and predictions and labels as float32 of one shape."""
    if labels is None or predictions is None:
        raise ValueError("A loss needs both labels and predictions, and None was given.")
    with composite(scope, default, predictions, labels, weights) as name:
        x = cast(convert_to_tensor(predictions, preferred_dtype=float32), float32)
        t = cast(convert_to_tensor(labels, preferred_dtype=float32), float32)
        if not compatible(x.static_shape, t.static_shape):
            raise ValueError(f"Predictions {show(x.static_shape)} and labels {show(t.static_shape)} differ in shape.")
        yield name, x, t


@public("af.losses")
def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """|predictions - labels| as a weighted loss.

    Example:
        >>> loss = af.losses.absolute_difference(labels=[1.0, 2.0], predictions=[1.0, 5.0])
        >>> await session.run(loss)
        1.5

    Args:
        labels: the true values.
        predictions: the outputs of the model, in the shape of `labels`.
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes of labels and predictions differ.
    """
    with _floats(scope, "absolute_difference", predictions, labels, weights) as (name, x, t):
        return compute_weighted_loss(abs(subtract(x, t)), weights, name, loss_collection, reduction)


@public("af.losses")
def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """(predictions - labels)² as a weighted loss.

    Example:
        >>> y, found = af.placeholder(af.float32, [None]), af.placeholder(af.float32, [None])
        >>> loss = af.losses.mean_squared_error(labels=y, predictions=found)
        >>> await session.run(loss, {y: [1.0, 2.0], found: [1.0, 6.0]})
        8.0

    Args:
        labels: the true values.
        predictions: the outputs of the model, in the shape of `labels`.
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes of labels and predictions differ.
    """
    with _floats(scope, "mean_squared_error", predictions, labels, weights) as (name, x, t):
        return compute_weighted_loss(square(subtract(x, t)), weights, name, loss_collection, reduction)


@public("af.losses")
def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """1 - sum(predictions · labels) along `axis`, which keeps size 1, as a weighted loss.

    Example:
        >>> loss = af.losses.cosine_distance([[1.0, 0.0]], [[0.6, 0.8]], axis=1)
        >>> await session.run(loss)
        0.4

    Args:
        labels: the true vectors, of length 1.
        predictions: the outputs of the model, vectors of length 1, in the shape of `labels`.
        axis: the dimension of the vectors.
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        dim: the older name of `axis`.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes differ, there is no axis, or both `axis` and `dim` are given.
    """
    along = dim if axis is None else axis
    if along is None or axis is not None and dim is not None:
        raise ValueError("cosine_distance needs `axis` (`dim` is its older name), and only one of them.")
    with _floats(scope, "cosine_distance_loss", predictions, labels, weights) as (name, x, t):
        losses = 1 - reduce_sum(multiply(x, t), [along], keepdims=True)
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


@public("af.losses")
def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """max(0, 1 - (2 · labels - 1) · logits) as a weighted loss.

    Example:
        >>> loss = af.losses.hinge_loss(labels=[1.0, 0.0], logits=[0.2, -3.0])
        >>> await session.run(loss)
        0.4

    Args:
        labels: the classes, 0 or 1.
        logits: the outputs of the model, in the shape of `labels`.
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes of labels and logits differ.
    """
    with _floats(scope, "hinge_loss", logits, labels, weights) as (name, x, t):
        losses = relu(1 - multiply(2 * t - 1, x))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


@public("af.losses")
def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """error² / 2 where the absolute error is at most `delta`, else delta · |error| - delta² / 2, as a weighted loss.

    Example:
        >>> loss = af.losses.huber_loss([0.0, 0.0], [1.0, 10.0], delta=1.0, reduction=af.losses.Reduction.NONE)
        >>> await session.run(loss)
        [0.5 9.5]

    Args:
        labels: the true values.
        predictions: the outputs of the model, in the shape of `labels`.
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        delta: the absolute error from which the loss grows linearly.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes of labels and predictions differ.
    """
    with _floats(scope, "huber_loss", predictions, labels, weights) as (name, x, t):
        error = abs(subtract(x, t))
        quadratic = minimum(error, delta)
        losses = 0.5 * multiply(quadratic, quadratic) + delta * (error - quadratic)
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


@public("af.losses")
def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """-labels · log(predictions + epsilon) - (1 - labels) · log(1 - predictions + epsilon) as a weighted loss.

    Example:
        >>> loss = af.losses.log_loss(labels=[1.0, 0.0], predictions=[0.9, 0.5], reduction=af.losses.Reduction.NONE)
        >>> await session.run(loss)
        [0.1054 0.6931]

    Args:
        labels: the true probabilities, between 0 and 1.
        predictions: the probabilities of the model, in the shape of `labels`.
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        epsilon: a small positive number that keeps the logarithms finite.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes of labels and predictions differ.
    """
    with _floats(scope, "log_loss", predictions, labels, weights) as (name, x, t):
        losses = -multiply(t, log(x + epsilon)) - multiply(1 - t, log(1 - x + epsilon))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


@public("af.losses")
def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """How far differences within each example's predictions are from those within its labels, squared and averaged over
    the pairs (`tf.losses.mean_pairwise_squared_error`).

    The sum over examples, each times its weight, is collected as a float32 scalar; 0 where all weights are 0.

    Example:
        >>> loss = af.losses.mean_pairwise_squared_error(labels=[[1.0, 2.0]], predictions=[[11.0, 13.0]])
        >>> await session.run(loss)
        1.0

    Args:
        labels: the true values; the first dimension counts examples.
        predictions: the outputs of the model, in the shape of `labels`.
        weights: a number, or a tensor with one weight for each example.
        scope, loss_collection: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes differ, or weights can't be broadcast.
    """
    with _floats(scope, "mean_pairwise_squared_error", predictions, labels, weights) as (_, x, t):
        w = cast(convert_to_tensor(weights, preferred_dtype=float32), float32)
        with x.graph.control_dependencies(weight_checks(w, t)):
            differences = subtract(x, t)
            axes: Any = range_(1, rank(differences))
            count = present(differences, w, each_example=True)
            squares = reduce_sum(square(differences), axes, keepdims=True)
            of_squares = 2.0 * div_no_nan(squares, maximum(count - 1, 0.0))
            total = reduce_sum(differences, axes, keepdims=True)
            of_total = 2.0 * div_no_nan(square(total), maximum(multiply(count, count - 1), 0.0))
            summed = reduce_sum(multiply(of_squares - of_total, w))
            loss = where(reduce_sum(count) > 0.0, summed, zeros_like(summed))
            add_loss(loss, loss_collection)
            return loss


# ---- losses of classifiers


@public("af.losses")
def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """`tf.nn.sigmoid_cross_entropy_with_logits` as a weighted loss.

    Example:
        >>> loss = af.losses.sigmoid_cross_entropy([1.0, 0.0], logits=[0.0, -5.0], reduction=af.losses.Reduction.NONE)
        >>> await session.run(loss)
        [0.6931 0.0067]

    Args:
        multi_class_labels: the true probability of each class, between 0 and 1.
        logits: the outputs of the model, in the shape of the labels.
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        label_smoothing: moves labels towards 1/2: labels · (1 - label_smoothing) + label_smoothing / 2.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes of labels and logits differ.
    """
    with composite(scope, "sigmoid_cross_entropy_loss", logits, multi_class_labels, weights) as name:
        x = convert_to_tensor(logits)
        t = cast(convert_to_tensor(multi_class_labels, preferred_dtype=x.dtype), x.dtype)
        if label_smoothing > 0:
            t = t * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=t, logits=x, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


@public("af.losses")
def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """`tf.nn.softmax_cross_entropy_with_logits` as a weighted loss; no gradient goes into the labels.

    Example:
        >>> loss = af.losses.softmax_cross_entropy([[0.0, 1.0], [1.0, 0.0]], logits=[[0.0, 0.0], [5.0, 0.0]], weights=[1.0, 0.0])
        >>> await session.run(loss)
        0.6931

    Args:
        onehot_labels: the true probability of each class, of shape [batch, classes].
        logits: the outputs of the model, in the shape of the labels.
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        label_smoothing: moves labels towards equal shares: labels · (1 - label_smoothing) + label_smoothing / classes.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes of labels and logits differ.
    """
    with composite(scope, "softmax_cross_entropy_loss", logits, onehot_labels, weights) as name:
        x = convert_to_tensor(logits)
        t = cast(convert_to_tensor(onehot_labels, preferred_dtype=x.dtype), x.dtype)
        if not compatible(x.static_shape, t.static_shape):
            raise ValueError(f"Logits {show(x.static_shape)} and labels {show(t.static_shape)} differ in shape.")
        if label_smoothing > 0:
            t = t * (1 - label_smoothing) + label_smoothing / cast(shape(t)[-1], x.dtype)
        losses = softmax_cross_entropy_with_logits_v2(labels=stop_gradient(t), logits=x, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


@public("af.losses")
def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits` as a weighted loss.

    Labels (and weights) of shape [batch, 1] count as [batch].

    Example:
        >>> loss = af.losses.sparse_softmax_cross_entropy(labels=[1, 0], logits=[[0.0, 0.0], [5.0, 0.0]])
        >>> await session.run(loss)
        0.3499

    Args:
        labels: the number of the true class, an integer tensor of shape [batch, ...].
        logits: the outputs of the model, of shape [batch, ..., classes].
        weights: a number, or a tensor that can be broadcast to the losses; 0 leaves an example out.
        scope, loss_collection, reduction: see `compute_weighted_loss`.

    Raises:
        ValueError: the shapes do not fit together.
    """
    with composite(scope, "sparse_softmax_cross_entropy_loss", logits, labels, weights) as name:
        x, t = convert_to_tensor(logits), convert_to_tensor(labels)
        w = convert_to_tensor(weights, preferred_dtype=float32)
        t = _squeezed(t, x, 0)
        w = _squeezed(w, t, 1)
        losses = sparse_softmax_cross_entropy_with_logits(labels=t, logits=x, name="xentropy")
        return compute_weighted_loss(losses, w, name, loss_collection, reduction)


def _squeezed(tensor: Tensor, other: Tensor, more: int) -> Tensor:
    """`tensor` without its last dimension, where that has size 1 and the rank is `more` above that of `other`."""
    mine, theirs = tensor.static_shape, other.static_shape
    if mine is not None and theirs is not None:
        extra = len(mine) - len(theirs) == more and len(mine) > 0 and mine[-1] in (1, None)
        return squeeze(tensor, [-1]) if extra else tensor
    sizes = shape(tensor)
    one_more = logical_and(equal(rank(tensor) - rank(other), more), reduce_all(equal(sizes[-1:], 1)))
    return reshape(tensor, sizes[: rank(tensor) - cast(one_more, int32)])
