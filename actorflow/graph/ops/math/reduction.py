"""Reductions over axes: sums, means, extremes, and the indices of extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import BOOLEAN, INDEX, NUMERIC, REAL
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, is_static, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.arguments import is_empty
from actorflow.graph.ops.building import known_value, small_constant
from actorflow.graph.ops.declare import Op, op
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import equal, where_v2
from actorflow.graph.ops.shape_rules import axes_of, from_value, reduction
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _reduced(c: Inference) -> Shape:
    """`reduction` of distinct axes."""
    shape, listed = c.shapes[:2]
    if listed is not None and len(listed) > 1:
        raise ValueError(
            f"Shape must be at most rank 1 but is rank {len(listed)}: the axes have the shape {show(listed)}."
        )
    axes = None if shape is None else axes_of(c, 1, len(shape))
    if axes is not None and len(set(axes)) < len(axes):
        raise ValueError(f"The axes {list(axes)} name a dimension twice.")
    return reduction(c)


def input_size(c: Inference) -> float:
    """One operation for each element of the input."""
    shape = c.shapes[0]
    return float(np.prod(shape)) if is_static(shape) else 1.0  # type: ignore[arg-type]


@op("Sum", shape=_reduced, dtypes=NUMERIC, types={"axis": INDEX}, work=input_size)
def sum_op(input: TensorLike, axis: TensorLike, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """The sum over the dimensions `axis`, a scalar or a vector, which are left out, or kept with size 1.

    Raises ValueError, or InvalidArgumentError in the run, for an axis that does not exist or is named twice."""


@op("Mean", shape=_reduced, dtypes=NUMERIC, types={"axis": INDEX}, work=input_size)
def mean_op(input: TensorLike, axis: TensorLike, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """`Sum` divided by the number of elements that entered each sum; NaN of none. Integers are truncated."""


@op("Prod", shape=_reduced, dtypes=NUMERIC, types={"axis": INDEX}, work=input_size)
def prod_op(input: TensorLike, axis: TensorLike, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """The product over the dimensions `axis`; see `Sum`."""


@op("Max", shape=_reduced, dtypes=REAL, types={"axis": INDEX}, work=input_size)
def max_op(input: TensorLike, axis: TensorLike, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """The largest element over the dimensions `axis`, the type's smallest value without elements; see `Sum`."""


@op("Min", shape=_reduced, dtypes=REAL, types={"axis": INDEX}, work=input_size)
def min_op(input: TensorLike, axis: TensorLike, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """The smallest element over the dimensions `axis`, the type's largest value without elements; see `Sum`."""


@op("Any", shape=_reduced, dtypes=BOOLEAN, types={"axis": INDEX}, gradient=None, work=input_size)
def any_op(input: TensorLike, axis: TensorLike, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """Whether any element is true over the dimensions `axis`; see `Sum`."""


@op("All", shape=_reduced, dtypes=BOOLEAN, types={"axis": INDEX}, gradient=None, work=input_size)
def all_op(input: TensorLike, axis: TensorLike, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """Whether all elements are true over the dimensions `axis`; see `Sum`."""


# ---- gradients


@op("Unreduce", shape=from_value(1), dtypes=NUMERIC, types={"shape": INDEX, "axis": INDEX}, view=True, work=0)
def unreduce(
    input: TensorLike, shape: TensorLike, axis: TensorLike, *, keep_dims: bool = False, name: str | None = None
) -> Tensor:
    """Repeats what a reduction over `axis` gave along these axes, up to the vector `shape`: the adjoint of `Sum`."""


@unreduce.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [sum_op(dy, node.inputs[2], keep_dims=node.get_attr("keep_dims")), None, None]


def _spread(node: Operation, value: Tensor) -> Tensor:
    """`value`, of the shape of the reduction's output, in the shape of its input."""
    from actorflow.graph.ops.array.shape import shape

    source, axis = node.inputs
    return unreduce(value, shape(source), axis, keep_dims=node.get_attr("keep_dims"))


def _count(node: Operation, dtype: dt.DType) -> Tensor:
    """How many elements entered each element of a reduction."""
    from actorflow.graph.ops.array.shape import size

    source, result = node.inputs[0].static_shape, node.outputs[0].static_shape
    if is_static(source) and is_static(result):
        count = int(np.prod(source)) // max(int(np.prod(result)), 1)  # type: ignore[arg-type]
        return small_constant(node.graph, count, dtype, "count")
    whole, parts = size(node.inputs[0]), size(node.outputs[0])
    return cast(whole, dtype) / cast(where_v2(equal(parts, 0), 1, parts), dtype)


@sum_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [_spread(node, dy), None]


@mean_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [_spread(node, dy / _count(node, dy.dtype)), None]


@prod_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.cast import conj
    from actorflow.graph.ops.math.cumulative import cumprod

    source, axis = node.inputs
    axes, rank = known_value(axis), source.shape.ndims
    if axes is None or rank is None:
        return [_spread(node, dy) * _products_of_others(conj(source), axis), None]
    # Axis after axis: along an axis, each factor's derivative is the product of all before and all after it, which
    # holds for zeros too.
    partial, steps = conj(source), []
    for position in dict.fromkeys(int(a) % max(rank, 1) for a in np.atleast_1d(axes)):
        before = cumprod(partial, position, exclusive=True)
        steps.append(before * cumprod(partial, position, exclusive=True, reverse=True))
        partial = prod_op(partial, position, keep_dims=True)
    gradient = _spread(node, dy)
    for others in steps:
        gradient = gradient * others
    return [gradient, None]


def _products_of_others(x: Tensor, axis: Tensor) -> Tensor:
    """For each element the product of the others that a product over `axis` takes, if only the run knows the axes: the axes
    are brought to the front and merged."""
    from actorflow.graph.ops.array.gather import gather
    from actorflow.graph.ops.array.join import concat
    from actorflow.graph.ops.array.reverse import invert_permutation
    from actorflow.graph.ops.array.shape import rank, reshape, shape, transpose
    from actorflow.graph.ops.array.unique import setdiff1d
    from actorflow.graph.ops.math.arithmetic import floormod, maximum
    from actorflow.graph.ops.math.cumulative import cumprod, range_

    count = rank(x)
    kept = setdiff1d(range_(0, count), floormod(cast(reshape(axis, [-1]), dt.int32), maximum(count, 1)))[0]
    taken = setdiff1d(range_(0, count), kept)[0]
    order = concat([taken, kept], 0)
    moved = transpose(x, order)
    rows = reduce_prod(gather(shape(x), taken))
    flat = reshape(moved, [rows, reduce_prod(gather(shape(x), kept))])
    others = cumprod(flat, 0, exclusive=True) * cumprod(flat, 0, exclusive=True, reverse=True)
    return transpose(reshape(others, shape(moved)), invert_permutation(order))


@max_op.gradient
@min_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    source, axis = node.inputs
    # Elements that share the extreme share the gradient.
    chosen = cast(equal(_spread(node, node.outputs[0]), source), dy.dtype)
    shares = chosen / sum_op(chosen, axis, keep_dims=True)
    return [shares * _spread(node, dy), None]


# ---- the public functions


def _all_axes(tensor: Tensor) -> Tensor:
    """The axes 0 ... rank - 1 as a tensor."""
    rank = tensor.shape.ndims
    if rank is not None:
        return small_constant(tensor.graph, np.arange(rank), dt.int32, "axes")
    from actorflow.graph.ops.array.shape import rank as rank_of
    from actorflow.graph.ops.math.cumulative import range_

    return range_(0, rank_of(tensor), name="axes")


def _axis_of(tensor: Tensor, axis: Any, reduction_indices: Any) -> Any:
    if axis is not None and reduction_indices is not None:
        raise ValueError("Give axis or reduction_indices, which is its old name, but not both.")
    chosen = axis if axis is not None else reduction_indices
    if chosen is None:
        return _all_axes(tensor)
    return np.asarray(chosen, np.int32) if isinstance(chosen, (list, tuple)) and not chosen else chosen


def _keep(keepdims: bool | None, keep_dims: bool | None) -> bool:
    if keepdims is not None and keep_dims is not None:
        raise ValueError("Give keepdims or keep_dims, which is its old name, but not both.")
    return bool(keepdims or keep_dims)


def _reduce(
    reducer: Op[Any, Tensor],
    input_tensor: TensorLike,
    axis: Any,
    keepdims: bool | None,
    name: str | None,
    reduction_indices: Any,
    keep_dims: bool | None,
) -> Tensor:
    keep = _keep(keepdims, keep_dims)
    only_bools = reducer in (all_op, any_op) and is_empty(input_tensor)
    source = convert_to_tensor(input_tensor, bool_dtype if only_bools else None)
    result = reducer(source, _axis_of(source, axis, reduction_indices), keep_dims=keep, name=name)
    if axis is None and reduction_indices is None and not keep:
        result.set_shape(())
    return result


@public("af", "af.math")
def reduce_sum(
    input_tensor: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sum over dimensions (`tf.reduce_sum`).

    Example:
        >>> af.reduce_sum([[1, 2], [3, 4]])
        10
        >>> af.reduce_sum([[1, 2], [3, 4]], axis=1, keepdims=True)
        [[3]
         [7]]

    Args:
        input_tensor: a tensor of numbers.
        axis: the dimensions to reduce: an int, a list of them (an empty list reduces nothing), or a tensor of them;
            negative axes count from the end. All by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.

    Returns:
        A tensor of the input's type.

    Raises:
        ValueError: an axis does not exist or is named twice, or an argument is given under both names.
    """
    return _reduce(sum_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@public("af", "af.math")
def reduce_mean(
    input_tensor: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The mean over dimensions, NaN over none; of integers it is truncated (`tf.reduce_mean`). Errors are those of
    `reduce_sum`.

    Example:
        >>> af.reduce_mean([[1.0, 2.0], [3.0, 6.0]])
        3.0
        >>> af.reduce_mean([[1.0, 2.0], [3.0, 6.0]], axis=0)
        [2. 4.]

    Args:
        input_tensor: a tensor of numbers.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.
    """
    return _reduce(mean_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@public("af", "af.math")
def reduce_prod(
    input_tensor: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The product over dimensions (`tf.reduce_prod`). Errors are those of `reduce_sum`.

    Example:
        >>> af.reduce_prod([[1, 5], [3, 2]], axis=0)
        [ 3 10]

    Args:
        input_tensor: a tensor of numbers.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.
    """
    return _reduce(prod_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@public("af", "af.math")
def reduce_max(
    input_tensor: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The maximum over dimensions, -inf (an integer type's smallest) over none (`tf.reduce_max`). Errors are those of
    `reduce_sum`.

    Example:
        >>> af.reduce_max([[1, 5], [3, 2]]), af.reduce_max([[1, 5], [3, 2]], axis=0)
        (5, [3 5])

    Args:
        input_tensor: a tensor of real numbers.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.
    """
    return _reduce(max_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@public("af", "af.math")
def reduce_min(
    input_tensor: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The minimum over dimensions, inf (an integer type's largest) over none (`tf.reduce_min`). Errors are those of
    `reduce_sum`.

    Example:
        >>> af.reduce_min([[1, 5], [3, 2]], axis=1)
        [1 2]

    Args:
        input_tensor: a tensor of real numbers.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.
    """
    return _reduce(min_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@public("af", "af.math")
def reduce_any(
    input_tensor: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Whether any element is true, over dimensions; False over none (`tf.reduce_any`). Errors are those of
    `reduce_sum`.

    Example:
        >>> af.reduce_any([[True, False], [False, False]], axis=1)
        [ True False]

    Args:
        input_tensor: a bool tensor.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.
    """
    return _reduce(any_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


@public("af", "af.math")
def reduce_all(
    input_tensor: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Whether all elements are true, over dimensions; True over none (`tf.reduce_all`). Errors are those of
    `reduce_sum`.

    Example:
        >>> af.reduce_all([[True, True], [True, False]], axis=1)
        [ True False]

    Args:
        input_tensor: a bool tensor.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.
    """
    return _reduce(all_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)
