"""Sorted orders along a dimension: sort, argsort, top_k, and searchsorted in what is sorted already."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INDEX, REAL, DTypeLike, as_dtype, float32, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, normalize_axis, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, rank, reshape, shape, size, transpose
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.shape_rules import at_least_rank, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- sort


@public("af")
def sort(values: TensorLike, axis: TensorLike = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """`values` sorted along `axis` (`tf.sort`), of the same shape.

    Example:
        >>> af.sort([3, 1, 2], direction="DESCENDING")
        [3 2 1]

    Args:
        values: of a real type and of rank 1 or more. The place of a NaN is not defined.
        axis: the dimension to sort along, an int or a scalar; the last by default.
        direction: ASCENDING or DESCENDING.

    Raises:
        TypeError: another type.
        ValueError: a scalar, an axis outside the rank, another direction. InvalidArgumentError where only the run knows.
    """
    with composite(name, "sort", values, axis) as scope:
        return _along(convert_to_tensor(values), axis, direction, scope, indices=False)


@public("af")
def argsort(
    values: TensorLike,
    axis: TensorLike = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The int32 indices along `axis` that sort `values` (`tf.argsort`). Errors are those of `sort`.

    Example:
        >>> af.argsort([3.0, 1.0, 2.0])
        [1 2 0]

    Args:
        values: of a real type and of rank 1 or more. The place of a NaN is not defined.
        axis: the dimension to sort along, an int or a scalar; the last by default.
        direction: ASCENDING or DESCENDING.
        stable: taken, and not used: equal elements always stay in their order.
    """
    with composite(name, "argsort", values, axis) as scope:
        return _along(convert_to_tensor(values), axis, direction, scope, indices=True)


def _along(values: Tensor, axis: Any, direction: str, name: str, indices: bool) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"The direction of a sort is ASCENDING or DESCENDING, not {direction!r}.")
    constant = known_value(convert_to_tensor(axis, preferred_dtype=int32, graph=values.graph))
    static_axis = None if constant is None else int(constant)
    dimensions = None if values.static_shape is None else len(values.static_shape)
    if dimensions == 0:
        raise ValueError("A scalar can't be sorted; sort takes tensors of rank 1 or more.")
    if static_axis is not None and dimensions is not None:
        static_axis = normalize_axis(static_axis, dimensions) - dimensions
    if static_axis == -1:
        return _last(values, direction, indices, name)
    # The dimension is brought to the end and back; swapping two is its own inverse.
    swap = _swap(values, axis if static_axis is None else static_axis, dimensions)
    return transpose(_last(transpose(values, swap), direction, indices, None), swap, name=name)


def _swap(values: Tensor, axis: Any, dimensions: int | None) -> Any:
    """The permutation that swaps `axis` and the last dimension."""
    if dimensions is not None and isinstance(axis, int):
        order = np.arange(dimensions, dtype=np.int32)
        order[[axis, -1]] = order[[-1, axis]]
        return order
    from actorflow.graph.ops.array.gather import gather
    from actorflow.graph.ops.math.cast import cast
    from actorflow.graph.ops.math.cumulative import range_
    from actorflow.graph.ops.math.logic import equal, less, where_v2

    count = rank(values)
    last = count - 1
    place = reshape(cast(axis, int32), [])
    position = range_(count)
    at = gather(position, where_v2(less(place, 0), place + count, place))  # which refuses what is outside
    return where_v2(equal(position, at), last, where_v2(equal(position, last), at, position))


def _last(values: Tensor, direction: str, indices: bool, name: str | None) -> Tensor:
    """Sorts along the last dimension: all its elements are its largest, in falling order."""
    width = shape(values)[-1]
    if direction == "DESCENDING":
        best = top_k(values, width)
        return _named(best.indices if indices else best.values, name)
    flipped = top_k(_flip(values), width)
    return _named(flipped.indices if indices else _flip(flipped.values), name)


def _flip(values: Tensor) -> Tensor:
    """Something of the same type that falls where `values` rise, and undoes itself."""
    from actorflow.graph.ops.math.elementwise import negative
    from actorflow.graph.ops.math.logic import invert

    # Inverted bits also turn the smallest integer round, which has no negative.
    return invert(values) if values.dtype.is_integer else negative(values)


def _named(tensor: Tensor, name: str | None) -> Tensor:
    from actorflow.graph.ops.flow.control import identity

    return tensor if name is None else identity(tensor, name=name)


# ---- search


def _places(c: Inference) -> Shape:
    rows, values = require_rank(c, 0, 2), require_rank(c, 1, 2)
    if rows is not None and values is not None and not compatible(rows[:1], values[:1]):
        raise ValueError(f"searchsorted: {show(rows)} has other rows than the values {show(values)}.")
    return values


_SEARCH: dict[str, Any] = {"shape": _places, "dtypes": REAL, "result": "out_type", "gradient": None, "work": 20}


@op("LowerBound", **_SEARCH)
def lower_bound_op(
    sorted_inputs: TensorLike, values: TensorLike, *, out_type: DTypeLike = int32, name: str | None = None
) -> Tensor:
    """For each value of a row, how many elements of that row of `sorted_inputs` are less. See `searchsorted`."""


@op("UpperBound", **_SEARCH)
def upper_bound_op(
    sorted_inputs: TensorLike, values: TensorLike, *, out_type: DTypeLike = int32, name: str | None = None
) -> Tensor:
    """For each value of a row, how many elements of that row of `sorted_inputs` are less or equal. See `searchsorted`."""


@public("af")
def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """The place of each of `values` in `sorted_sequence`, so that it stays sorted (`tf.searchsorted`).

    Example:
        >>> af.searchsorted([1, 3, 3, 5], [3, 4])
        [1 3]
        >>> af.searchsorted([1, 3, 3, 5], [3, 4], side="right")
        [3 3]

    Args:
        sorted_sequence: [..., n] of a real type, rising along the last dimension.
        values: [..., m] of the same type, with the same leading dimensions.
        side: "left" gives the place before equal elements, "right" the place after them.
        out_type: int32 or int64.

    Returns:
        Numbers in [0, n], of the shape of `values`.

    Raises:
        ValueError: a scalar, another side. InvalidArgumentError in the run where the leading dimensions differ.
    """
    if side not in ("left", "right"):
        raise ValueError(f"The side of searchsorted is 'left' or 'right', not {side!r}.")
    if as_dtype(out_type) not in INDEX:
        raise TypeError(f"searchsorted gives int32 or int64, not {as_dtype(out_type)}.")
    with composite(name, "searchsorted", sorted_sequence, values) as scope:
        sequence = convert_to_tensor(sorted_sequence)
        queries = convert_to_tensor(values, sequence.dtype)
        for tensor in (sequence, queries):
            if tensor.static_shape == ():
                raise ValueError("searchsorted takes tensors of rank 1 or more, not scalars.")
        search = lower_bound_op if side == "left" else upper_bound_op
        positions = search(_rows(sequence), _rows(queries), out_type=out_type)
        return reshape(positions, shape(queries), name=scope)


def _rows(tensor: Tensor) -> Tensor:
    """`tensor` as a matrix of its last dimensions."""
    if tensor.static_shape is not None and len(tensor.static_shape) == 2:
        return tensor
    from actorflow.graph.ops.math.reduction import reduce_prod

    full = shape(tensor)
    return reshape(tensor, concat([reshape(reduce_prod(full[:-1]), [1]), full[-1:]], 0))


# ---- the largest


class TopK(NamedTuple):
    """The largest values along the last dimension, and their places."""

    values: Tensor
    indices: Tensor


def _top_k(c: Inference) -> list[Shape]:
    source, k = at_least_rank(c, 0, 1), c.value(1)
    require_rank(c, 1, 0)
    if k is not None and k < 0:
        raise ValueError(f"Need k >= 0, got {int(k)}: it must be non-negative.")
    if source is None:
        return [None, None]
    if k is not None and source[-1] is not None and source[-1] < k:
        raise ValueError(
            f"input must have last dimension >= k = {int(k)} but is {source[-1]}: input must have at least k columns."
        )
    return [(*source[:-1], None if k is None else int(k))] * 2


@op("TopKV2", shape=_top_k, dtypes=REAL, types={"k": INDEX}, result=(T, int32), work=20)
def top_k_op(
    input: TensorLike, k: TensorLike, *, sorted: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The `k` largest elements of each last dimension, and their indices. See `nn.top_k`."""


@top_k_op.gradient
def _(node: Operation, dy: Tensor, _: Any) -> list[Any]:
    """Each value's gradient goes back to the place of the value; the tensor is seen as a matrix of rows."""
    from actorflow.graph.ops.array.scatter import scatter_nd
    from actorflow.graph.ops.math.cumulative import range_

    source, indices = node.inputs[0], node.outputs[1]
    width = shape(source)[-1]
    columns = reshape(indices, [-1, shape(indices)[-1]])
    starts = expand_dims(range_(shape(columns)[0]) * width, -1)
    places = reshape(columns + starts, [-1, 1])
    flat = scatter_nd(places, reshape(dy, [-1]), reshape(size(source), [1]))
    return [reshape(flat, shape(source)), None]


@public("af.math", "af.nn")
def top_k(input: TensorLike, k: TensorLike = 1, sorted: bool = True, name: str | None = None) -> TopK:
    """The `k` largest elements along the last dimension, and their int32 indices (`tf.nn.top_k`).

    Of equal elements that with the lower index comes first.

    Example:
        >>> af.nn.top_k([[1, 5, 3], [9, 7, 8]], 2)
        TopK(values=[[5 3]
                     [9 8]], indices=[[1 2]
                                      [0 2]])

    Args:
        input: of a real type and of rank 1 or more.
        k: how many, an int32 scalar.
        sorted: False lets the elements come in any order; by default the largest is first.

    Raises:
        ValueError: there are fewer than k; InvalidArgumentError where only the run knows.
    """
    return TopK(*top_k_op(input, k, sorted=sorted, name=name))


def _in_top_k(c: Inference) -> Shape:
    predictions, targets = require_rank(c, 0, 2), require_rank(c, 1, 1)
    if predictions is not None and targets is not None and not compatible(predictions[:1], targets):
        raise ValueError(
            f"in_top_k: {show(predictions)} has another number of rows than there are targets {show(targets)}."
        )
    return targets or (None if predictions is None else predictions[0],)


@public("af.math", "af.nn")
@op(
    "InTopKV2",
    shape=_in_top_k,
    types={"predictions": float32, "targets": INDEX, "k": INDEX},
    result=dt.bool,
    gradient=None,
)
def in_top_k(predictions: TensorLike, targets: TensorLike, k: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether the target class of each row of `predictions` is among its `k` best (`tf.nn.in_top_k`).

    Classes that tie at the border all count as in. A row with a prediction that is not finite, or a target that is not a
    class, is false.

    Example:
        >>> af.nn.in_top_k([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]], [2, 1], 2)
        [ True False]

    Args:
        predictions: float32 [batch, classes].
        targets: [batch], int32 or int64.
        k: how many predictions of a row count as its best, a scalar of int32 or int64.

    Returns:
        bool [batch].
    """
