"""Metrics of ranked answers: precision, recall and average precision of the best k (`tf.metrics.precision_at_k`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from actorflow.base import dtypes
from actorflow.base.dtypes import float64, int64
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.losses.weighted import weight_checks
from actorflow.graph.ops.array.constant import ones_like, zeros_like
from actorflow.graph.ops.array.shape import expand_dims, shape, size
from actorflow.graph.ops.array.sort import top_k
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.math.arithmetic import divide, minimum, multiply
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import cumsum
from actorflow.graph.ops.math.logic import equal, greater_equal, logical_and, logical_not, where
from actorflow.graph.ops.math.reduction import reduce_any, reduce_sum
from actorflow.graph.ops.sparse.tensor import sparse_to_dense
from actorflow.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.models.metrics.streaming import Collections, Metric, on, ratio, spread, streamed
from actorflow.public import public


@dataclass(frozen=True, slots=True)
class SetMembers:
    """A set for each example, in rows: `values` [..., n], and which of them are there."""

    values: Tensor
    present: Tensor
    sparse: bool = False

    def only(self, class_id: int | None) -> SetMembers:
        """The members that are `class_id`; all members for None."""
        if class_id is None:
            return self
        return replace(self, present=logical_and(self.present, equal(self.values, class_id)))

    def within(self, other: SetMembers) -> Tensor:
        """Which of them are members of `other` too."""
        same = equal(expand_dims(self.values, -1), expand_dims(other.values, -2))
        return logical_and(self.present, reduce_any(logical_and(same, expand_dims(other.present, -2)), -1))

    def distinct(self) -> SetMembers:
        """Each value once."""
        same = equal(expand_dims(self.values, -1), expand_dims(self.values, -2))
        earlier = cumsum(cast(logical_and(same, expand_dims(self.present, -2)), dtypes.int32), axis=-1, exclusive=True)
        # How many equal values lie before each value: the diagonal of `earlier`.
        places = cumsum(ones_like(self.values), axis=-1)
        itself = equal(expand_dims(places, -1), expand_dims(places, -2))
        before = reduce_sum(where(itself, earlier, zeros_like(earlier)), -1)
        return replace(self, present=logical_and(self.present, equal(before, 0)))


def _labels_of(labels: Any, predictions: Tensor) -> SetMembers:
    """Labels as members: a tensor with a dimension for them or without, or a SparseTensor."""
    rank = len(predictions.static_shape or ())
    labels = convert_to_tensor_or_sparse_tensor(labels)
    if isinstance(labels, SparseTensor):
        where_, sizes = labels.indices, labels.dense_shape
        values = sparse_to_dense(where_, sizes, cast(labels.values, int64), -1, validate_indices=False)
        present = sparse_to_dense(where_, sizes, ones_like(labels.values, dtype=int64), 0, validate_indices=False)
        static_shape = labels.static_shape
        if static_shape is not None:
            values.set_shape(static_shape)
            present.set_shape(static_shape)
            if len(static_shape) == rank - 1:
                values, present = expand_dims(values, -1), expand_dims(present, -1)
        return SetMembers(values, equal(present, 1), sparse=True)
    tensor = cast(labels, int64)
    static = tensor.static_shape
    if static is not None and rank:
        if len(static) == rank - 1:
            tensor = expand_dims(tensor, -1)
        elif len(static) != rank:
            raise ValueError(
                f"Unexpected labels shape {tensor.shape} for predictions shape {predictions.shape}. Predictions rank should be "
                "the same rank as labels rank or labels rank plus one."
            )
    return SetMembers(tensor, ones_like(tensor, dtype=dtypes.bool))


def _all(tensor: Tensor) -> SetMembers:
    return SetMembers(tensor, ones_like(tensor, dtype=dtypes.bool))


def _at_k(name: str, k: int | None, class_id: int | None = None) -> str:
    """The name of a metric, with its k and class."""
    base = f"{name}_at_k" if k is None else f"{name}_at_{k}"
    return base if class_id is None else f"{base}_class{class_id}"


def _counted(members: Tensor, weights: TensorLike | None) -> Tensor:
    """The weighted number of those that are true, in all."""
    each = reduce_sum(cast(members, float64), -1)
    if weights is not None:
        weighting = cast(convert_to_tensor(weights), float64)
        with on(*weight_checks(weighting, each)):
            each = multiply(each, weighting)
    return reduce_sum(each)


def _of_the_best(
    what: str,
    labels: Any,
    predictions_idx: TensorLike,
    k: int | None,
    class_id: int | None,
    weights: TensorLike | None,
    collections: tuple[Collections, Collections],
    name: str | None,
) -> Metric:
    """Precision or recall of predictions that are classes already. `collections` are those of the metric and of its update."""
    with composite(name, _at_k(what, k, class_id), predictions_idx, weights):
        best = cast(convert_to_tensor(predictions_idx), int64)
        truth = _labels_of(labels, best).only(class_id).distinct()
        selected = _all(best).only(class_id).distinct()
        right = selected.within(truth)
        if what == "precision":
            wrong, other = logical_and(selected.present, logical_not(right)), "false_positive"
        else:
            wrong, other = logical_and(truth.present, logical_not(truth.within(selected))), "false_negative"
        sums = {
            _at_k("true_positive", k, class_id): _counted(right, weights),
            _at_k(other, k, class_id): _counted(wrong, weights),
        }
        return streamed(sums, lambda tp, rest: divide(tp, tp + rest), *collections)


_EXAMPLES = {
    "precision_at_k": """
        >>> scores = [[0.1, 0.5, 0.4], [0.6, 0.3, 0.1]]
        >>> value, update = af.metrics.precision_at_k(labels=[[2], [2]], predictions=scores, k=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.25""",
    "sparse_precision_at_k": """
        >>> scores = [[0.1, 0.5, 0.4], [0.6, 0.3, 0.1]]
        >>> value, update = af.metrics.sparse_precision_at_k(labels=[[2], [2]], predictions=scores, k=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.25""",
    "recall_at_k": """
        >>> scores = [[0.1, 0.5, 0.4], [0.6, 0.3, 0.1]]
        >>> value, update = af.metrics.recall_at_k(labels=[[2], [2]], predictions=scores, k=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.5""",
    "precision_at_top_k": """
        >>> value, update = af.metrics.precision_at_top_k(labels=[[2], [2]], predictions_idx=[[1, 2], [0, 1]], k=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.25""",
    "recall_at_top_k": """
        >>> value, update = af.metrics.recall_at_top_k(labels=[[2], [2]], predictions_idx=[[1, 2], [0, 1]], k=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.5""",
}

_DESCRIBED = """

    Args:
        labels: the classes of each example: int64 of shape [..., labels], or [...] for one each, or a SparseTensor. Those outside
            of the range of the predictions count as not found.
        {predictions}
        k: how many are looked at{k}.
        class_id: counts this class only; all unless given.
        weights: numbers that broadcast to the examples; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the name scope of the sums.

    Returns:
        The value, a float64 scalar, NaN where nothing was counted; and the update, which adds a batch and gives the value after
        it.

    Raises:
        ValueError: the ranks of labels and predictions do not fit, or the weights can't be broadcast.
    """


class AtTopK(Protocol):
    """A metric of predicted classes, as its callers see it."""

    def __call__(
        self,
        labels: Any,
        predictions_idx: TensorLike,
        k: int | None = None,
        class_id: int | None = None,
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric: ...


class AtBestK(Protocol):
    """A metric of the best of predicted numbers, as its callers see it."""

    def __call__(
        self,
        labels: Any,
        predictions: TensorLike,
        k: int,
        class_id: int | None = None,
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric: ...


def _at_top_k(what: str, summary: str) -> AtTopK:
    def function(
        labels: Any,
        predictions_idx: TensorLike,
        k: int | None = None,
        class_id: int | None = None,
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric:
        collections = metrics_collections, updates_collections
        return _of_the_best(what, labels, predictions_idx, k, class_id, weights, collections, name)

    function.__name__ = function.__qualname__ = f"{what}_at_top_k"
    predictions = "predictions_idx: the predicted classes, integers of shape [..., k]."
    description = _DESCRIBED.format(predictions=predictions, k=", which is a part of the names only")
    function.__doc__ = (
        f"{summary} (`tf.metrics.{what}_at_top_k`).\n\n    Example:{_EXAMPLES[f'{what}_at_top_k']}{description}"
    )
    return function


def _at_best_k(what: str, summary: str, named: str) -> AtBestK:
    def function(
        labels: Any,
        predictions: TensorLike,
        k: int,
        class_id: int | None = None,
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric:
        with composite(name, _at_k(what, k, class_id), predictions, weights) as scope:
            _, best = top_k(predictions, k)
            collections = metrics_collections, updates_collections
            return _of_the_best(what, labels, best, k, class_id, weights, collections, scope)

    function.__name__ = function.__qualname__ = named
    predictions = "predictions: a number for each class, floating, of shape [..., classes]."
    description = _DESCRIBED.format(predictions=predictions, k="")
    function.__doc__ = f"{summary} (`tf.metrics.{named}`).\n\n    Example:{_EXAMPLES[named]}{description}"
    return function


_PRECISION = "The part of the k best predictions that are labels"
_RECALL = "The part of the labels that are among the k best predictions"
precision_at_top_k = _at_top_k("precision", _PRECISION)
recall_at_top_k = _at_top_k("recall", _RECALL)
precision_at_k = _at_best_k("precision", _PRECISION, "precision_at_k")
recall_at_k = _at_best_k("recall", _RECALL, "recall_at_k")
sparse_precision_at_k = _at_best_k("precision", _PRECISION, "sparse_precision_at_k")
public("af.metrics", of="precision_at_top_k recall_at_top_k precision_at_k recall_at_k sparse_precision_at_k")


@public("af.metrics", "af.metrics:sparse_average_precision_at_k")
def average_precision_at_k(
    labels: Any,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean over the examples of the mean precision at the places of the k best predictions that are labels
    (`tf.metrics.average_precision_at_k`).

    Example:
        >>> scores = [[0.1, 0.5, 0.4], [0.6, 0.3, 0.1]]
        >>> value, update = af.metrics.average_precision_at_k(labels=[[2], [0]], predictions=scores, k=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.75

    Args:
        labels: the classes of each example: int64 of shape [..., labels], or [...] for one each, or a SparseTensor.
        predictions: a number for each class, floating, of shape [..., classes].
        k: how many are looked at.
        weights: numbers that broadcast to the examples; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the name scope of the sums `max` and `total`.

    Returns:
        The value, a float64 scalar; and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: `k` is less than 1, the ranks of labels and predictions do not fit, or the weights can't be broadcast.
    """
    if k < 1:
        raise ValueError(f"average_precision_at_k: invalid k={k}. `k` should be >= 1.")
    graph = graph_of([predictions])
    with graph.as_default(), composite(name, _at_k("average_precision", k), predictions, weights):
        scores = convert_to_tensor(predictions)
        best = cast(top_k(scores, k)[1], int64)
        truth = _labels_of(labels, best)
        outside = greater_equal(truth.values, cast(shape(scores)[-1], int64))
        truth = replace(truth, values=where(outside, -ones_like(truth.values), truth.values))
        return _average_precision(best, truth, weights, metrics_collections, updates_collections)


def average_precision_at_top_k(
    predictions_idx: TensorLike,
    labels: Any,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """As `average_precision_at_k`, of the classes that were ranked best.

    Args:
        predictions_idx: the classes, the best first: int64 of shape [..., k].
        labels, weights, metrics_collections, updates_collections, name: see `average_precision_at_k`.

    Raises:
        ValueError: the number of classes is not known, the ranks do not fit, or the weights can't be broadcast.
    """
    graph = graph_of([predictions_idx])
    with graph.as_default():
        best = cast(convert_to_tensor(predictions_idx), int64)
        if best.static_shape is None or not best.static_shape or best.static_shape[-1] is None:
            raise ValueError(f"The last dimension of predictions_idx has to be known: {best.static_shape}.")
        with composite(name, _at_k("average_precision", best.static_shape[-1]), best, weights):
            return _average_precision(best, _labels_of(labels, best), weights, metrics_collections, updates_collections)


def _average_precision(
    best: Tensor, truth: SetMembers, weights: Any, metrics_collections: Collections, updates_collections: Collections
) -> Metric:
    """The metric of the best classes and the labels."""
    right = cast(_all(best).within(truth), float64)
    precision = divide(cumsum(right, axis=-1), cumsum(ones_like(right), axis=-1))
    relevant = truth.distinct().present if truth.sparse else greater_equal(truth.values, 0)
    number = minimum(reduce_sum(cast(relevant, float64), -1), cast(shape(best)[-1], float64))
    average = divide(reduce_sum(multiply(precision, right), -1), number)
    if weights is None:
        counted = cast(size(average), float64)
    else:
        each = spread(convert_to_tensor(weights), average, float64)
        average, counted = multiply(average, each), reduce_sum(each)
    return streamed(
        {"max": counted, "total": reduce_sum(average)},
        lambda most, total: ratio(total, most),
        metrics_collections,
        updates_collections,
    )
