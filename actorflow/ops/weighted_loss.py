"""What losses share: the graph's collection of them, weights and reductions (`tf.losses`)."""

from __future__ import annotations

from actorflow.dtypes import float32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.arithmetic import add_n, div_no_nan, multiply
from actorflow.ops.building import composite, known_value
from actorflow.ops.cast import cast
from actorflow.ops.filling import ones_like, range_, zeros_like
from actorflow.ops.logic import equal, where
from actorflow.ops.reduction import reduce_sum
from actorflow.ops.shaping import rank, size
from actorflow.ops.source import constant
from actorflow.ops.weights import assert_broadcastable, broadcast_weights
from actorflow.public import public
from actorflow.variables.collections import GraphKeys, add_to_collection, get_collection


@public("af.losses")
class Reduction:
    """Ways to reduce weighted losses to one number (`tf.losses.Reduction`).

    NONE keeps them as they are; SUM adds them; MEAN divides the sum by that of the weights; SUM_OVER_BATCH_SIZE by the
    number of losses; SUM_BY_NONZERO_WEIGHTS by the number of losses whose weight is not 0. What is divided by 0 is 0.
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Each of them."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError where `key` is none of them."""
        if key not in cls.all():
            raise ValueError(f"A reduction is one of {', '.join(map(repr, cls.all()))}, not {key!r:.60}.")


# ---- the collection


@public("af.losses")
def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds `loss` to a collection of the default graph; None adds it nowhere."""
    if loss_collection:
        add_to_collection(loss_collection, loss)


@public("af.losses")
def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses collected so far; with `scope`, those whose names match it as a prefix pattern."""
    return get_collection(loss_collection, scope)


@public("af.losses")
def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """The losses of regularizers that were collected so far."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@public("af.losses")
def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the losses of regularizers; 0.0 where there are none."""
    found = get_regularization_losses(scope)
    return add_n(found, name=name) if found else constant(0.0)


@public("af.losses")
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all losses collected so far, with those of regularizers unless told otherwise.

    Raises ValueError where there are none.
    """
    found = get_losses(scope) + (get_regularization_losses(scope) if add_regularization_losses else [])
    if not found:
        raise ValueError("There is no loss to sum: the collection of losses is empty.")
    return add_n(found, name=name)


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

    Args:
        losses: of any shape and type; computed in float32.
        weights: a scalar, or of the rank of the losses with sizes of theirs or 1.
        scope: the name scope of the operations.
        loss_collection: where the result is collected; None for nowhere.
        reduction: one of `Reduction`.

    Returns:
        A tensor of the type of the losses: a scalar, or of their shape with Reduction.NONE.

    Raises:
        ValueError: the weights can't be broadcast to the losses, or another reduction.
        InvalidArgumentError: the weights can't be broadcast, in the run, where shapes are not known before.
    """
    Reduction.validate(reduction)
    with composite(scope, "weighted_loss", losses, weights):
        given = convert_to_tensor(losses)
        x, w = cast(given, float32), cast(convert_to_tensor(weights, preferred_dtype=float32), float32)
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
            loss = cast(loss, given.dtype)
            add_loss(loss, loss_collection)
            return loss


def weight_checks(weights: Tensor, values: Tensor) -> list[Operation]:
    check = assert_broadcastable(weights, values)
    return [] if check is None else [check]
