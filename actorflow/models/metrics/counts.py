"""Counts of right and wrong answers to yes-or-no questions, and the precision and recall that they make."""

from __future__ import annotations

from typing import Any, Protocol

from actorflow.base import dtypes
from actorflow.base.dtypes import float32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.losses.weighted import weight_checks
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math.arithmetic import div_no_nan, multiply
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import logical_and, logical_not
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.models.metrics.streaming import Collections, Metric, collected, in_scope, on, same_rank, streamed
from actorflow.public import public

RIGHT_WRONG = {
    "true_positives": (True, True),
    "true_negatives": (False, False),
    "false_positives": (False, True),
    "false_negatives": (True, False),
}
"""For each count, the label and the prediction that it counts."""

_EXAMPLES = {
    "true_positives": """
        >>> value, update = af.metrics.true_positives(labels=[1, 1, 1, 0], predictions=[1, 1, 0, 1])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        2.0""",
    "true_negatives": """
        >>> value, update = af.metrics.true_negatives(labels=[0, 0, 1], predictions=[0, 0, 1])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        2.0""",
    "false_positives": """
        >>> value, update = af.metrics.false_positives(labels=[1, 1, 1, 0], predictions=[1, 1, 0, 1])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        1.0""",
    "false_negatives": """
        >>> value, update = af.metrics.false_negatives(labels=[1, 1, 1, 0], predictions=[1, 1, 0, 1])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        1.0""",
    "precision": """
        >>> value, update = af.metrics.precision(labels=[1, 1, 1, 0], predictions=[1, 1, 0, 1])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.6667""",
    "recall": """
        >>> value, update = af.metrics.recall(labels=[1, 1, 1, 0], predictions=[1, 1, 0, 1])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.6667""",
}


class OfAnswers(Protocol):
    """A metric of yes-or-no questions, as its callers see it."""

    def __call__(
        self,
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric: ...


def _counting(kind: str) -> OfAnswers:
    """The function that counts one kind of answers."""

    def function(
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric:
        with in_scope(name, kind, predictions, labels, weights):
            return streamed(
                {"count": _counted(kind, labels, predictions, weights)},
                identity,
                metrics_collections,
                updates_collections,
            )

    label, prediction = RIGHT_WRONG[kind]
    function.__name__ = function.__qualname__ = kind
    function.__doc__ = f"""The sum of the weights where the label is {label} and the prediction {prediction}
    (`tf.metrics.{kind}`).

    Example:{_EXAMPLES[kind]}

    Args:
        labels, predictions: of one shape; they are cast to bools.
        weights: numbers that broadcast to the labels; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sum `count`.

    Returns:
        The value, a float32 scalar; and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
    """
    return function


def _counted(kind: str, labels: Any, predictions: Any, weights: Any) -> Tensor:
    """The numbers that a batch adds to a count."""
    label, prediction = RIGHT_WRONG[kind]
    predicted, truth, weighting = same_rank(as_bools(predictions), as_bools(labels), weights)
    here = logical_and(truth if label else logical_not(truth), predicted if prediction else logical_not(predicted))
    counted = cast(here, float32)
    if weighting is not None:
        with on(*weight_checks(weighting, counted)):
            counted = multiply(counted, cast(weighting, float32))
    return reduce_sum(counted)


def as_bools(values: TensorLike) -> Tensor:
    """True for what is not 0."""
    return cast(convert_to_tensor(values), dtypes.bool)


true_positives = _counting("true_positives")
true_negatives = _counting("true_negatives")
false_positives = _counting("false_positives")
false_negatives = _counting("false_negatives")
public("af.metrics", of="true_positives true_negatives false_positives false_negatives")


def _of_positives(kind: str, wrong: str, what: str) -> OfAnswers:
    """The function that gives the part of true positives among positives of a kind."""
    other = globals()[wrong]

    def function(
        labels: TensorLike,
        predictions: TensorLike,
        weights: TensorLike | None = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> Metric:
        with in_scope(name, kind, predictions, labels, weights):
            (right, right_after), (missed, missed_after) = (
                count(labels, predictions, weights) for count in (true_positives, other)
            )
            value = div_no_nan(right, right + missed, name="value")
            update = div_no_nan(right_after, right_after + missed_after, name="update_op")
            return collected((value, update), metrics_collections, updates_collections)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = f"""The part of {what} (`tf.metrics.{kind}`).

    Example:{_EXAMPLES[kind]}

    Args:
        labels, predictions: of one shape; they are cast to bools.
        weights: numbers that broadcast to the labels; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the counts `true_positives` and `{wrong}`.

    Returns:
        The value, a float32 scalar, 0 if there is nothing to divide by; and the update, which adds a batch and gives the value
        after it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
    """
    return function


precision = _of_positives("precision", "false_positives", "what was found that is labelled so")
recall = _of_positives("recall", "false_negatives", "what is labelled that was found")
public("af.metrics", of="precision recall")
