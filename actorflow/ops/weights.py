"""How weights are broadcast to values: a scalar, or in each dimension the values' size or 1."""

from __future__ import annotations

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.arithmetic import multiply
from actorflow.ops.building import composite
from actorflow.ops.control import Assert
from actorflow.ops.filling import ones_like, range_
from actorflow.ops.logic import equal, logical_and, logical_not, logical_or
from actorflow.ops.reduction import reduce_all
from actorflow.ops.shaping import expand_dims, rank, shape
from actorflow.shapes import is_static, show


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Operation | None:
    """A check in the run that `weights` can be broadcast to `values` (`weights_broadcast_ops.assert_broadcastable`).

    None where it is known already that they can. The check raises InvalidArgumentError.

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
                    f"Weights can't be broadcast to values: their shape {show(mine)} is neither () nor made of the sizes "
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
