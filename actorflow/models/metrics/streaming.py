"""The common parts of streaming metrics: local variables that add sums up, the value of these sums, and their reset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from actorflow.base.dtypes import DType, DTypeLike, float32
from actorflow.base.shapes import Shape, ShapeLike, compatible, show
from actorflow.graph.control_flow.cond import cond
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.losses.weighted import broadcast_weights
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.array.shape import expand_dims, rank, squeeze
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.math.arithmetic import div_no_nan, maximum
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import equal
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.collections import GraphKeys, add_to_collections, get_collection
from actorflow.graph.variables.scope import variable_scope
from actorflow.graph.variables.variable import Variable
from actorflow.public import public

Collections: TypeAlias = "Sequence[str] | str | None"
Metric: TypeAlias = "tuple[Tensor, Tensor]"
Formula: TypeAlias = "Callable[..., Tensor]"


def metric_variable(shape: ShapeLike, dtype: DTypeLike, name: str) -> Variable:
    """A sum that starts at 0: a local variable, which no checkpoint holds and no optimizer changes."""
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return Variable(lambda: zeros(shape, dtype), trainable=False, collections=keys, name=name)


def streamed(
    sums: Mapping[str, Tensor],
    value: Formula,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    update: Formula | None = None,
) -> Metric:
    """A metric: for each name a variable that adds up what the batches give; and the value, a formula of these variables.

    Args:
        sums: what a batch adds to each variable, by the variable's name.
        value: the formula.
        metrics_collections, updates_collections: where the value and the update are listed.
        update: the formula of the update's result; `value` unless given.

    Returns:
        The value, which reads the variables; and the update, which adds a batch and gives the value after it.
    """
    variables = {name: metric_variable(added.static_shape, added.dtype, name) for name, added in sums.items()}
    after = [variables[name].assign_add(added) for name, added in sums.items()]
    metric = (value(*map(convert_to_tensor, variables.values())), (update or value)(*after))
    return collected(metric, metrics_collections, updates_collections)


def collected(metric: Metric, metrics_collections: Collections, updates_collections: Collections) -> Metric:
    """The metric, listed in these collections."""
    for names, tensor in zip((metrics_collections, updates_collections), metric):
        if names:
            add_to_collections(names, tensor)
    return metric


def ratio(total: Tensor, count: Tensor) -> Tensor:
    """total / count, and 0 while nothing is counted."""
    return div_no_nan(total, maximum(count, zeros([], count.dtype)), name="value")


@public("af.metrics")
def reset(scope: str | None = None, name: str = "reset_metrics") -> Operation:
    """An operation that sets the sums of metrics of the default graph back to 0.

    Example:
        >>> value, update = af.metrics.accuracy([1, 2], [1, 3])
        >>> reset = af.metrics.reset()
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.5
        >>> await session.run(reset)
        >>> await session.run(value)
        0.0

    Args:
        scope: only of those whose names match it as a prefix pattern, such as the name of a metric.
        name: the name of the operation.
    """
    return group(*[variable.initializer for variable in get_collection(GraphKeys.METRIC_VARIABLES, scope)], name=name)


# ---- labels, predictions and weights


def same_rank(
    predictions: TensorLike, labels: TensorLike | None, weights: TensorLike | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Predictions, labels and weights. A last dimension of size 1 that only some of them have is taken out, or put in at the
    weights. Without labels the second is the predictions.

    Raises:
        ValueError: the shapes of predictions and labels differ.
    """
    predicted = convert_to_tensor(predictions)
    truth = predicted if labels is None else convert_to_tensor(labels)
    if labels is not None:
        truth, predicted = _squeezed(truth, predicted), _squeezed(predicted, truth)
        if not compatible(predicted.static_shape, truth.static_shape):
            raise ValueError(
                f"The shapes of predictions and labels differ: {show(predicted.static_shape)} and {show(truth.static_shape)}."
            )
    if weights is None:
        return predicted, truth, None
    return predicted, truth, _fitted(convert_to_tensor(weights), predicted)


def _ranks(*tensors: Tensor) -> tuple[int | None, ...]:
    return tuple(None if t.static_shape is None else len(t.static_shape) for t in tensors)


def _squeezed(tensor: Tensor, other: Tensor) -> Tensor:
    """`tensor` without its last dimension, if that is of size 1 and `other` has a dimension fewer."""
    mine, theirs = _ranks(tensor, other)
    last = _last(tensor.static_shape)
    if mine is not None and theirs is not None:
        return squeeze(tensor, [-1]) if mine - theirs == 1 and last in (1, None) else tensor
    if last not in (1, None):
        return tensor
    return cond(equal(rank(tensor), rank(other) + 1), lambda: squeeze(tensor, [-1]), lambda: tensor)


def _last(shape: Shape) -> int | None:
    return shape[-1] if shape else None


def _fitted(weights: Tensor, values: Tensor) -> Tensor:
    """Weights with as many dimensions as the values, if they differ by a last dimension."""
    mine, theirs = _ranks(weights, values)
    if mine == 0:
        return weights
    if mine is not None and theirs is not None:
        if mine - theirs == 1:
            return squeeze(weights, [-1])
        return expand_dims(weights, -1) if theirs - mine == 1 else weights
    more = _squeezed(weights, values)
    fewer = equal(rank(more) + 1, rank(values))
    return cond(fewer, lambda: expand_dims(more, -1), lambda: more)


def spread(weights: Tensor, values: Tensor, dtype: DType = float32) -> Tensor:
    """The weights as numbers, a number for each value. Raises ValueError for weights that can't be broadcast."""
    return broadcast_weights(cast(weights, dtype), values)


def in_scope(name: str | None, default: str, *values: Any) -> Any:
    """The variable scope of a metric, in which its variables and operations are."""
    return variable_scope(name, default, [value for value in values if value is not None] or None)


def on(*tensors: Tensor | Operation | None) -> Any:
    """Ops that are built inside wait for these."""
    return get_default_graph().control_dependencies([tensor for tensor in tensors if tensor is not None])
