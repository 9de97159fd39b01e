"""The common parts of losses: the graph's collection of them, weights and reductions (`tf.losses`)."""

from __future__ import annotations

from actorflow.base.dtypes import float32
from actorflow.base.shapes import is_static, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant, ones_like, zeros_like
from actorflow.graph.ops.array.shape import expand_dims, rank, shape, size
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.flow.control import Assert
from actorflow.graph.ops.math.arithmetic import add_n, div_no_nan, multiply
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.logic import equal, logical_and, logical_not, logical_or, where
from actorflow.graph.ops.math.reduction import reduce_all, reduce_sum
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.collections import GraphKeys, add_to_collection, get_collection
from actorflow.public import public


@public("af.losses")
class Reduction:
    """Ways to reduce weighted losses to one number (`tf.losses.Reduction`).

    NONE keeps them as they are; SUM adds them; MEAN divides the sum by that of the weights; SUM_OVER_BATCH_SIZE by the
    number of losses; SUM_BY_NONZERO_WEIGHTS by the number of losses whose weight is not 0. A sum that is divided by 0
    is 0.

    Example:
        >>> how = af.losses.Reduction.SUM
        >>> loss = af.losses.absolute_difference([1.0, 2.0], [1.0, 5.0], weights=[1.0, 10.0], reduction=how)
        >>> await session.run(loss)
        30.0
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Each of them.

        Example:
            >>> af.losses.Reduction.all()
            ('none', 'weighted_sum', 'weighted_mean', 'weighted_sum_over_batch_size', 'weighted_sum_by_nonzero_weights')
        """
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError where `key` is none of them.

        Example:
            >>> af.losses.Reduction.validate(af.losses.Reduction.MEAN)
            >>> af.losses.Reduction.validate("best")
            Traceback (most recent call last):
                ...
            ValueError: A reduction is one of 'none', 'weighted_sum', 'weighted_mean', ...
        """
        if key not in cls.all():
            raise ValueError(f"A reduction is one of {', '.join(map(repr, cls.all()))}, not {key!r:.60}.")


# ---- the collection


@public("af.losses")
def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds `loss` to a collection of the default graph; None adds it nowhere.

    Example:
        >>> af.losses.add_loss(0.5 * af.square(af.constant(4.0)))
        >>> await session.run(af.losses.get_total_loss())
        8.0
    """
    if loss_collection:
        add_to_collection(loss_collection, loss)


@public("af.losses")
def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses collected so far; with `scope`, those whose names match it as a prefix pattern.

    Example:
        >>> loss = af.losses.mean_squared_error(labels=[1.0], predictions=[3.0])
        >>> af.losses.get_losses() == [loss], await session.run(loss)
        (True, 4.0)
    """
    return get_collection(loss_collection, scope)


@public("af.losses")
def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """The losses of regularizers that were collected so far.

    Example:
        >>> y = af.layers.dense(af.placeholder(af.float32, [None, 3]), 2, kernel_regularizer=af.nn.l2_loss)
        >>> len(af.losses.get_regularization_losses())
        1
    """
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@public("af.losses")
def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the losses of regularizers; 0.0 if there are none.

    Example:
        >>> w = af.get_variable("w", initializer=[1.0, 2.0], regularizer=af.nn.l2_loss)
        >>> await session.run(w.initializer)
        >>> await session.run(af.losses.get_regularization_loss())
        2.5
    """
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


@public("af.losses")
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all losses collected so far, with those of regularizers unless told otherwise.

    Raises ValueError if there are none.

    Example:
        >>> loss = af.losses.mean_squared_error(labels=[1.0], predictions=[3.0])
        >>> af.losses.add_loss(af.constant(0.5))
        >>> await session.run(af.losses.get_total_loss())
        4.5
    """
    losses = get_losses(scope) + (get_regularization_losses(scope) if add_regularization_losses else [])
    if not losses:
        raise ValueError("There is no loss to sum: the collection of losses is empty.")
    return add_n(losses, name=name)


# ---- weights


def _safe_mean(total: Tensor, count: Tensor) -> Tensor:
    return div_no_nan(total, count, name="value")


def present(losses: Tensor, weights: Tensor, each_example: bool = False) -> Tensor:
    """How many losses have a weight that is not 0, in all or for each example (with dimensions of size 1)."""
    scalar = known_value(weights) if weights.static_shape == () else None
    if scalar is not None and scalar != 0 and not each_example:
        return cast(size(losses), losses.dtype)
    nonzero = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
    present = broadcast_weights(nonzero, losses)
    if each_example:
        return reduce_sum(present, range_(1, rank(losses)), keepdims=True)
    return reduce_sum(present)


@public("af.losses")
def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """`losses` times `weights`, reduced and collected (`tf.losses.compute_weighted_loss`).

    Example:
        >>> loss = af.losses.compute_weighted_loss([1.0, 2.0, 9.0], weights=[1.0, 1.0, 0.0])
        >>> await session.run(loss)
        1.5

    Args:
        losses: of any shape and type; computed in float32.
        weights: a scalar, or of the rank of the losses with sizes of theirs or 1.
        scope: the name scope of the operations.
        loss_collection: where the result is collected; None for nowhere.
        reduction: a value of `Reduction`.

    Returns:
        A tensor of the type of the losses: a scalar, or of their shape with Reduction.NONE.

    Raises:
        ValueError: the weights can't be broadcast to the losses, or another reduction.
        InvalidArgumentError: the weights can't be broadcast, in the run, where shapes are not known before.
    """
    Reduction.validate(reduction)
    with composite(scope, "weighted_loss", losses, weights):
        tensor = convert_to_tensor(losses)
        x, w = cast(tensor, float32), cast(convert_to_tensor(weights, preferred_dtype=float32), float32)
        with x.graph.control_dependencies(weight_checks(w, x)):
            loss = multiply(x, w)
            if reduction != Reduction.NONE:
                total = reduce_sum(loss)
                if reduction == Reduction.MEAN:
                    total = _safe_mean(total, reduce_sum(multiply(ones_like(loss), w)))
                elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
                    total = _safe_mean(total, present(x, w))
                elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                    total = _safe_mean(total, cast(size(x), float32))
                loss = total
            loss = cast(loss, tensor.dtype)
            add_loss(loss, loss_collection)
            return loss


def weight_checks(weights: Tensor, values: Tensor) -> list[Operation]:
    check = assert_broadcastable(weights, values)
    return [] if check is None else [check]


# ---- How weights are broadcast to values: a scalar, or in each dimension the values' size or 1.


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Operation | None:
    """A check in the run that `weights` can be broadcast to `values` (`weights_broadcast_ops.assert_broadcastable`).

    None if it is known already that they can. The check raises InvalidArgumentError.

    Raises:
        ValueError: it is known already that they can't.
    """
    with composite(None, "assert_broadcastable", weights, values):
        w, v = convert_to_tensor(weights), convert_to_tensor(values)
        mine, theirs = w.static_shape, v.static_shape
        if mine == ():
            return None
        if mine is not None and theirs is not None:
            if len(mine) != len(theirs) or any(
                m is not None and t is not None and m not in (1, t) for m, t in zip(mine, theirs)
            ):
                raise ValueError(
                    f"weights can not be broadcast to values: their shape {show(mine)} is neither () nor made of the sizes "
                    f"of {show(theirs)} and 1."
                )
            if is_static(mine) and is_static(theirs):
                return None
        # Each size of the weights beside each of the values; those at equal places count.
        of_w, of_v = shape(w), shape(v)
        elsewhere = logical_not(equal(expand_dims(range_(rank(w)), 1), expand_dims(range_(rank(v)), 0)))
        fits = logical_or(equal(expand_dims(of_w, 1), 1), equal(expand_dims(of_w, 1), expand_dims(of_v, 0)))
        same_rank = logical_and(equal(rank(w), rank(v)), reduce_all(logical_or(elsewhere, fits)))
        valid = logical_or(equal(rank(w), 0), same_rank)
        return Assert(valid, ["weights can not be broadcast to values. weights.shape=", of_w, "values.shape=", of_v])


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """`weights` in the shape of `values`. Raises as `assert_broadcastable`."""
    with composite(None, "broadcast_weights", weights, values) as scope:
        w, v = convert_to_tensor(weights), convert_to_tensor(values)
        if is_static(w.static_shape) and w.static_shape == v.static_shape:
            return w
        check = assert_broadcastable(w, v)
        with w.graph.control_dependencies([] if check is None else [check]):
            return multiply(w, ones_like(v, dtype=w.dtype), name=scope)
