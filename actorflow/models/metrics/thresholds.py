"""Metrics of probabilities: counts, precision and recall at thresholds, and areas under curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from actorflow.base.dtypes import float32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant, ones_like
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.flow.asserts import assert_greater_equal, assert_less_equal
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math import elementwise
from actorflow.graph.ops.math.argmax import argmax, argmin
from actorflow.graph.ops.math.arithmetic import div_no_nan, divide, maximum, minimum
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import cumsum
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.math.logic import equal, greater, logical_and, logical_not, where
from actorflow.graph.ops.math.reduction import reduce_min, reduce_sum
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.models.metrics.counts import RIGHT_WRONG, as_bools
from actorflow.models.metrics.streaming import Collections, Formula, Metric, in_scope, on, same_rank, spread, streamed
from actorflow.public import public

_EPSILON = 1e-7  # thresholds reach so far beyond 0 and 1, so that rounding loses none
_KINDS = ("true_positives", "false_negatives", "true_negatives", "false_positives")


def counts_at(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, kinds: Sequence[str] = _KINDS
) -> dict[str, Tensor]:
    """The numbers that a batch adds to the counts of these kinds at each threshold: a prediction above it counts as positive.

    Raises:
        ValueError: the shapes of labels and predictions differ, or the weights can't be broadcast.
        InvalidArgumentError: in the run: a prediction is not within [0, 1].
    """
    tensor = convert_to_tensor(predictions)
    message = "predictions must be in [0, 1]"
    low, high = constant(0, tensor.dtype), constant(1, tensor.dtype)
    with on(assert_greater_equal(tensor, low, message=message), assert_less_equal(tensor, high, message=message)):
        predicted, truth, weighed = same_rank(cast(tensor, float32), as_bools(labels), weights)
        flat = reshape(predicted, [1, -1])
    above = greater(flat, constant([[threshold] for threshold in thresholds], float32))
    real = reshape(truth, [1, -1])
    each = None if weighed is None else reshape(spread(weighed, predicted), [1, -1])
    counts = {}
    for kind in kinds:
        label, prediction = RIGHT_WRONG[kind]
        here = logical_and(real if label else logical_not(real), above if prediction else logical_not(above))
        counted = cast(here, float32)
        counts[kind] = reduce_sum(counted if each is None else counted * each, 1)
        counts[kind].set_shape([len(thresholds)])
    return counts


def evenly(count: int, beyond: float = _EPSILON) -> list[float]:
    """`count` thresholds from 0 to 1, the first and the last a little outside."""
    return [-_EPSILON, *((i + 1) / (count - 1) for i in range(count - 2)), 1.0 + beyond]


# ---- at given thresholds

_EXAMPLES = {
    "true_positives_at_thresholds": """
        >>> labels, found = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> value, update = af.metrics.true_positives_at_thresholds(labels, found, thresholds=[0.2, 0.5])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        [2. 1.]""",
    "true_negatives_at_thresholds": """
        >>> labels, found = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> value, update = af.metrics.true_negatives_at_thresholds(labels, found, thresholds=[0.2, 0.5])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        [1. 2.]""",
    "false_positives_at_thresholds": """
        >>> labels, found = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> value, update = af.metrics.false_positives_at_thresholds(labels, found, thresholds=[0.2, 0.5])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        [1. 0.]""",
    "false_negatives_at_thresholds": """
        >>> labels, found = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> value, update = af.metrics.false_negatives_at_thresholds(labels, found, thresholds=[0.2, 0.5])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        [0. 1.]""",
    "precision_at_thresholds": """
        >>> labels, found = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> value, update = af.metrics.precision_at_thresholds(labels, found, thresholds=[0.2, 0.5])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        [0.6667 1.    ]""",
    "recall_at_thresholds": """
        >>> labels, found = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
        >>> value, update = af.metrics.recall_at_thresholds(labels, found, thresholds=[0.2, 0.5])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        [1.  0.5]""",
}

_DESCRIBED = """

    Args:
        labels: the truth, cast to bools.
        predictions: probabilities in [0, 1], of the same shape.
        thresholds: numbers in [0, 1]; a prediction above one counts as positive.
        weights: numbers that broadcast to the labels; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the counts.

    Returns:
        The value, a float32 vector with a number for each threshold; and the update, which adds a batch and gives the value after
        it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
        InvalidArgumentError: in the run: a prediction is not within [0, 1].
    """


class AtThresholds(Protocol):
    """A metric at given thresholds, as its callers see it."""

    def __call__(
        self,
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric: ...


def _at_thresholds(
    function_name: str, scope: str, summary: str, kinds: Sequence[str], formula: Formula
) -> AtThresholds:
    """The function of a formula of the counts at given thresholds."""

    def function(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric:
        with in_scope(name, scope, predictions, labels, weights):
            counts = counts_at(labels, predictions, list(thresholds), weights, kinds)
            return streamed(counts, formula, metrics_collections, updates_collections)

    function.__name__ = function.__qualname__ = function_name
    function.__doc__ = (
        f"{summary} (`tf.metrics.{function_name}`).\n\n    Example:{_EXAMPLES[function_name]}{_DESCRIBED}"
    )
    return function


def _count_at(kind: str) -> AtThresholds:
    label, prediction = RIGHT_WRONG[kind]
    what = f"The sum of the weights where the label is {label} and the prediction above each threshold is {prediction}"
    return _at_thresholds(f"{kind}_at_thresholds", kind, what, [kind], identity)


def _part(right: Tensor, wrong: Tensor) -> Tensor:
    return divide(right, _EPSILON + right + wrong)


true_positives_at_thresholds = _count_at("true_positives")
true_negatives_at_thresholds = _count_at("true_negatives")
false_positives_at_thresholds = _count_at("false_positives")
false_negatives_at_thresholds = _count_at("false_negatives")
precision_at_thresholds = _at_thresholds(
    "precision_at_thresholds",
    "precision_at_thresholds",
    "The part of what lies above each threshold that is labelled so",
    ["true_positives", "false_positives"],
    _part,
)
recall_at_thresholds = _at_thresholds(
    "recall_at_thresholds",
    "recall_at_thresholds",
    "The part of what is labelled that lies above each threshold",
    ["true_positives", "false_negatives"],
    _part,
)
public("af.metrics", of="true_positives_at_thresholds true_negatives_at_thresholds false_positives_at_thresholds")
public("af.metrics", of="false_negatives_at_thresholds precision_at_thresholds recall_at_thresholds")


# ---- areas under curves


@public("af.metrics")
def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Metric:
    """The area under a curve over thresholds, approximated by a sum (`tf.metrics.auc`).

    Example:
        >>> value, update = af.metrics.auc(labels=[0, 0, 1, 1], predictions=[0.1, 0.4, 0.35, 0.8])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.75

    Args:
        labels: the truth, cast to bools.
        predictions: probabilities in [0, 1], of the same shape.
        weights: numbers that broadcast to the labels; 1 unless given.
        num_thresholds: how many thresholds from 0 to 1 there are.
        metrics_collections, updates_collections: where the value and the update are listed.
        curve: "ROC" (recall over the rate of false positives) or "PR" (precision over recall).
        name: the variable scope of the counts.
        summation_method: "trapezoidal", "minoring", "majoring", or for "PR" "careful_interpolation" (Davis and Goadrich 2006).
        thresholds: the thresholds between 0 and 1, in place of `num_thresholds`.

    Returns:
        The value, a float32 scalar; and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: an unknown curve or method, the shapes differ, or the weights can't be broadcast.
        InvalidArgumentError: in the run: a prediction is not within [0, 1].
    """
    with in_scope(name, "auc", labels, predictions, weights):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"auc: the argument `curve` must be either ROC or PR, {curve!r:.60} is unknown.")
        if summation_method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
            raise ValueError(
                f"auc: invalid summation_method: {summation_method!r:.60}. It should be 'trapezoidal', 'careful_interpolation', "
                "'minoring' or 'majoring'."
            )
        chosen = evenly(num_thresholds) if thresholds is None else [-_EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
        return streamed(
            counts_at(labels, predictions, chosen, weights),
            lambda tp, fn, tn, fp: _area(tp, fn, tn, fp, curve, summation_method),
            metrics_collections,
            updates_collections,
        )


def _area(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, curve: str, method: str) -> Tensor:
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp, fp, fn)
    epsilon = 1e-6
    recall = divide(tp + epsilon, tp + fn + epsilon)
    if curve == "ROC":
        x, y = divide(fp, fp + tn + epsilon), recall
    else:
        x, y = recall, divide(tp + epsilon, tp + fp + epsilon)
    left, right = y[:-1], y[1:]
    height = {
        "minoring": lambda: minimum(left, right),
        "majoring": lambda: maximum(left, right),
    }.get(method, lambda: (left + right) / 2.0)()
    return reduce_sum((x[:-1] - x[1:]) * height, name="value")


def _interpolated(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
    """The area under precision over recall, with true and false positives interpolated between thresholds."""
    step = tp[:-1] - tp[1:]
    positive = tp + fp
    slope = div_no_nan(step, maximum(positive[:-1] - positive[1:], 0.0), name="prec_slope")
    intercept = tp[1:] - slope * positive[1:]
    both = logical_and(positive[:-1] > 0.0, positive[1:] > 0.0)
    ratio = where(both, div_no_nan(positive[:-1], maximum(positive[1:], 0.0)), ones_like(positive[1:]))
    areas = div_no_nan(slope * (step + intercept * log(ratio)), maximum(tp[1:] + fn[1:], 0.0))
    return reduce_sum(areas, name="interpolate_pr_auc")


@public("af.metrics")
def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The recall at the threshold whose specificity, the part of negatives found as such, is nearest to a given one
    (`tf.metrics.sensitivity_at_specificity`).

    Example:
        >>> value, update = af.metrics.sensitivity_at_specificity([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], specificity=0.9)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.5

    Args:
        labels: the truth, cast to bools.
        predictions: probabilities in [0, 1], of the same shape.
        specificity: the specificity, in [0, 1].
        weights: numbers that broadcast to the labels; 1 unless given.
        num_thresholds: how many thresholds from 0 to 1 there are.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the counts.

    Returns:
        The value, a float32 scalar; and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: `specificity` is not within [0, 1], the shapes differ, or the weights can't be broadcast.
        InvalidArgumentError: in the run: a prediction is not within [0, 1].
    """
    if not 0 <= specificity <= 1:
        raise ValueError(
            f"sensitivity_at_specificity: `specificity` must be in the range [0, 1]. Received: {specificity}"
        )

    def formula(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor) -> Tensor:
        nearest = argmin(elementwise.abs(divide(tn, tn + fp + _EPSILON) - specificity), 0)
        return _part_at(tp, fn, nearest)

    with in_scope(name, "sensitivity_at_specificity", predictions, labels, weights):
        counts = counts_at(labels, predictions, evenly(num_thresholds), weights)
        return streamed(counts, formula, metrics_collections, updates_collections)


@public("af.metrics")
def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The specificity, the part of negatives found as such, at the highest threshold whose recall is nearest to a given one
    (`tf.metrics.specificity_at_sensitivity`).

    Example:
        >>> value, update = af.metrics.specificity_at_sensitivity([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], sensitivity=0.9)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.5

    Args:
        labels: the truth, cast to bools.
        predictions: probabilities in [0, 1], of the same shape.
        sensitivity: the recall, in [0, 1].
        weights: numbers that broadcast to the labels; 1 unless given.
        num_thresholds: how many thresholds from 0 to 1 there are.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the counts.

    Returns:
        The value, a float32 scalar; and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: `sensitivity` is not within [0, 1], the shapes differ, or the weights can't be broadcast.
        InvalidArgumentError: in the run: a prediction is not within [0, 1].
    """
    if not 0 <= sensitivity <= 1:
        raise ValueError(
            f"specificity_at_sensitivity: `sensitivity` must be in the range [0, 1]. Received: {sensitivity}"
        )

    def formula(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor) -> Tensor:
        distance = elementwise.abs(divide(tp, tp + fn + _EPSILON) - sensitivity)
        nearest = cumsum(cast(equal(distance, reduce_min(distance)), float32))
        return _part_at(tn, fp, argmax(nearest, 0))

    with in_scope(name, "specificity_at_sensitivity", predictions, labels, weights):
        counts = counts_at(labels, predictions, evenly(num_thresholds, -_EPSILON), weights)
        return streamed(counts, formula, metrics_collections, updates_collections)


def _part_at(right: Tensor, wrong: Tensor, index: Tensor) -> Tensor:
    here, there = gather(right, index), gather(wrong, index)
    return divide(here, here + there + _EPSILON, name="value")
