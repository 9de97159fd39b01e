"""Scattering: zeros, or a copy of a tensor, with some elements or slices replaced or combined: `scatter_nd`,
`tensor_scatter_nd_*`."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import INDEX, NUMERIC, REAL
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, is_static, show
from actorflow.graph.ops.array.gather import gather_nd
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import at_least_rank, from_value
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def check_updates(updates: Shape, indices: Shape, target: Shape, what: str = "output") -> None:
    """Raises ValueError where updates of points don't fit: `[*indices[:-1], *target[indices[-1]:]]` is their shape.

    Sizes that are not known fit. `what` is the name of the target in the sentence.
    """
    if updates is None or indices is None or target is None or not indices or indices[-1] is None:
        return
    depth, outer = indices[-1], len(indices) - 1
    if depth > len(target):
        raise ValueError(f"Indices of {depth} numbers are too many for {show(target)}.")
    if not compatible(updates[:outer], indices[:-1]):
        raise ValueError(
            f"The outer {outer} dimensions of indices.shape={show(indices)} must match the outer {outer} dimensions of "
            f"updates.shape={show(updates)}: Dimensions must be equal."
        )
    if not compatible(updates[outer:], target[depth:]):
        raise ValueError(
            f"The inner {len(target) - depth} dimensions of {what}.shape={show(target)} must match the inner "
            f"{len(updates) - outer} dimensions of updates.shape={show(updates)}: Dimensions must be equal."
        )
    if 0 in target and is_static(updates) and 0 not in updates:
        raise ValueError(f"Indices and updates specified for empty output shape {show(target)}.")


def _same_tensor(c: Inference) -> Shape:
    tensor, indices, updates = at_least_rank(c, 0, 1), at_least_rank(c, 1, 1), c.shapes[2]
    check_updates(updates, indices, tensor)
    return tensor


_INDICES: dict[str, Any] = {"indices": INDEX}


@public("af", "af:tensor_scatter_nd_update")
@op("TensorScatterUpdate", shape=_same_tensor, types=_INDICES)
def tensor_scatter_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None
) -> Tensor:
    """A copy of `tensor` with `updates` at the points `indices[..., :]` (`tf.tensor_scatter_nd_update`).

    Example:
        >>> af.tensor_scatter_nd_update([1, 2, 3], [[0], [2]], [10, 30])
        [10  2 30]

    Args:
        tensor: of rank 1 or more, of any type.
        indices: [..., d], int32 or int64: each point names an element, or a slice where d is less than the rank.
        updates: [..., the shape of such a slice]. Of equal points the last one wins.

    Raises:
        ValueError: the shapes don't fit. InvalidArgumentError in the run, also for a point outside.
    """


@public("af", "af:tensor_scatter_nd_add")
@op("TensorScatterAdd", shape=_same_tensor, dtypes=NUMERIC, types=_INDICES)
def tensor_scatter_add(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None
) -> Tensor:
    """A copy of `tensor` with `updates` added at the points `indices[..., :]`; updates at equal points add up
    (`tf.tensor_scatter_nd_add`).

    Example:
        >>> af.tensor_scatter_nd_add([1, 1, 1], [[0], [2], [0]], [10, 20, 30])
        [41  1 21]

    Args:
        tensor: of rank 1 or more, of a type of numbers.
        indices: [..., d], int32 or int64: each point names an element, or a slice where d is less than the rank.
        updates: [..., the shape of such a slice].

    Raises:
        ValueError: the shapes don't fit. InvalidArgumentError in the run, also for a point outside.
    """


@public("af", "af:tensor_scatter_nd_sub")
@op("TensorScatterSub", shape=_same_tensor, dtypes=NUMERIC, types=_INDICES)
def tensor_scatter_sub(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None
) -> Tensor:
    """A copy of `tensor` with `updates` subtracted at the points `indices[..., :]`; updates at equal points add up
    (`tf.tensor_scatter_nd_sub`).

    Example:
        >>> af.tensor_scatter_nd_sub([9, 9, 9], [[0], [2]], [1, 2])
        [8 9 7]

    Args:
        tensor: of rank 1 or more, of a type of numbers.
        indices: [..., d], int32 or int64: each point names an element, or a slice where d is less than the rank.
        updates: [..., the shape of such a slice].

    Raises:
        ValueError: the shapes don't fit. InvalidArgumentError in the run, also for a point outside.
    """


@public("af")
@op("TensorScatterMin", shape=_same_tensor, dtypes=REAL, types=_INDICES)
def tensor_scatter_nd_min(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None
) -> Tensor:
    """A copy of `tensor` with the lesser of its element and the update at the points `indices[..., :]`
    (`tf.tensor_scatter_nd_min`).

    Example:
        >>> af.tensor_scatter_nd_min([5, 5, 5], [[0], [2]], [9, 1])
        [5 5 1]

    Args:
        tensor: of rank 1 or more, of a real type.
        indices: [..., d], int32 or int64: each point names an element, or a slice where d is less than the rank.
        updates: [..., the shape of such a slice].

    Raises:
        ValueError: the shapes don't fit. InvalidArgumentError in the run, also for a point outside.
    """


@public("af")
@op("TensorScatterMax", shape=_same_tensor, dtypes=REAL, types=_INDICES)
def tensor_scatter_nd_max(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None
) -> Tensor:
    """A copy of `tensor` with the greater of its element and the update at the points `indices[..., :]`
    (`tf.tensor_scatter_nd_max`).

    Example:
        >>> af.tensor_scatter_nd_max([5, 5, 5], [[0], [2]], [9, 1])
        [9 5 5]

    Args:
        tensor: of rank 1 or more, of a real type.
        indices: [..., d], int32 or int64: each point names an element, or a slice where d is less than the rank.
        updates: [..., the shape of such a slice].

    Raises:
        ValueError: the shapes don't fit. InvalidArgumentError in the run, also for a point outside.
    """


# TensorFlow's later names of the same functions.
@tensor_scatter_update.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.constant import zeros_like

    _, indices, updates = node.inputs
    return [tensor_scatter_update(dy, indices, zeros_like(updates)), None, gather_nd(dy, indices)]


@tensor_scatter_add.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, None, gather_nd(dy, node.inputs[1])]


@tensor_scatter_sub.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, None, -gather_nd(dy, node.inputs[1])]


@tensor_scatter_nd_min.gradient
@tensor_scatter_nd_max.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """An element and the updates that share its extreme share the gradient."""
    from actorflow.graph.ops.math.cast import cast
    from actorflow.graph.ops.math.logic import equal

    tensor, indices, updates = node.inputs
    result = node.outputs[0]
    kept = cast(equal(tensor, result), dy.dtype)
    chosen = cast(equal(updates, gather_nd(result, indices)), dy.dtype)
    count = kept + scatter_nd(indices, chosen, shape(tensor, out_type=indices.dtype))
    share = dy / count
    return [share * kept, None, gather_nd(share, indices) * chosen]


def _scattered(c: Inference) -> Shape:
    target, indices, updates = from_value(2)(c), at_least_rank(c, 0, 1), c.shapes[1]
    check_updates(updates, indices, target)
    return target


@public("af", "tf.manip")
@op("ScatterNd", shape=_scattered, types={"indices": INDEX, "shape": INDEX})
def scatter_nd(indices: TensorLike, updates: TensorLike, shape: TensorLike, *, name: str | None = None) -> Tensor:
    """Zeros of `shape` with `updates` added at the points `indices[..., :]` (`tf.scatter_nd`); equal points add up.

    Truth values add up by "or", strings by appending.

    Example:
        >>> af.scatter_nd([[1], [3], [1]], [10, 20, 5], [5])
        [ 0 15  0 20  0]

    Args:
        indices: [..., d], int32 or int64: each point names an element, or a slice where d is less than the rank.
        updates: [..., the shape of such a slice], of any type.
        shape: a vector of the type of `indices`: the shape of the result.

    Raises:
        ValueError: the shapes don't fit.
        InvalidArgumentError: a point is outside, in the run.
    """


@scatter_nd.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [None, gather_nd(dy, node.inputs[0]), None]
