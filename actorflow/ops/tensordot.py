"""`tensordot`: sums of products over any axes, as one product of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.graph.convert import convert_to_tensor, graph_of, symbolic_dtype
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.building import composite
from actorflow.ops.logic import less, where_v2
from actorflow.ops.matmul import matmul_op
from actorflow.ops.reduction import reduce_prod
from actorflow.public import public
from actorflow.shapes import is_static, normalize_axis


@public("af", "af.linalg")
def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over pairs of axes, one of `a` and one of `b` each (`tf.tensordot`).

    Args:
        a: a tensor; b is one of the same type.
        axes: a number n for the last n axes of `a` and the first n of `b`; else a list of axes of `a` and one of `b`.

    Returns:
        A tensor whose shape is that of `a` and then `b` without these axes.

    Raises:
        ValueError: the lists differ in length, there is no such axis, or paired axes differ in size.
    """
    with composite(name, "Tensordot", a, b) as scope:
        graph, wanted = graph_of([a, b]), symbolic_dtype(a) or symbolic_dtype(b)
        left = convert_to_tensor(a, wanted, graph=graph)
        right = convert_to_tensor(b, left.dtype.base_dtype, graph=graph)
        if left.static_shape is None or right.static_shape is None:
            return _of_any_rank(left, right, axes, scope)
        over_left, over_right = _paired_axes(axes, len(left.static_shape), len(right.static_shape))
        rows, free_left = _as_matrix(left, over_left, contracted_last=True)
        columns, free_right = _as_matrix(right, over_right, contracted_last=False)
        return _reshaped(matmul_op(rows, columns), [*free_left, *free_right], scope)


def _lists(axes: Any) -> tuple[list[int], list[int]]:
    first, second = ([int(i) for i in np.atleast_1d(part)] for part in axes)
    if len(first) != len(second):
        raise ValueError(f"tensordot sums over pairs of axes, but {first} and {second} differ in length.")
    return first, second


# ---- of known rank: the graph holds the order of axes, and the sizes that are known


def _paired_axes(axes: Any, left: int, right: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(left, right):
            raise ValueError(f"axes={axes} is not between 0 and the smaller rank, {min(left, right)}.")
        return list(range(left - int(axes), left)), list(range(int(axes)))
    first, second = _lists(axes)
    return [normalize_axis(i, left) for i in first], [normalize_axis(i, right) for i in second]


def _as_matrix(tensor: Tensor, over: list[int], contracted_last: bool) -> tuple[Tensor, list[Any]]:
    """`tensor` as a matrix with the axes `over` as its columns (or rows), and the sizes of the other axes."""
    from actorflow.ops.shaping import shape, transpose

    static: Any = tensor.static_shape
    free = [i for i in range(len(static)) if i not in over]
    dynamic = None if is_static(static) else shape(tensor)
    sizes = [static[i] if static[i] is not None else dynamic[i] for i in range(len(static))]  # type: ignore[index]
    order = free + over if contracted_last else over + free
    turned = tensor if order == list(range(len(static))) else transpose(tensor, order)
    parts = [_product([sizes[i] for i in free]), _product([sizes[i] for i in over])]
    return _reshaped(turned, parts if contracted_last else parts[::-1], None), [sizes[i] for i in free]


def _product(sizes: list[Any]) -> Any:
    known, rest = 1, None
    for size in sizes:
        if isinstance(size, int):
            known *= size
        else:
            rest = size if rest is None else rest * size
    return known if rest is None else rest if known == 1 else rest * known


def _reshaped(tensor: Tensor, sizes: list[Any], name: str | None) -> Tensor:
    from actorflow.ops.joining import stack
    from actorflow.ops.shaping import reshape

    if all(isinstance(size, int) for size in sizes):
        return reshape(tensor, np.asarray(sizes, np.int32), name=name)
    result = reshape(tensor, stack(sizes), name=name)
    result.set_shape([size if isinstance(size, int) else None for size in sizes])
    return result


# ---- of unknown rank: all of that is computed in the run


def _of_any_rank(left: Tensor, right: Tensor, axes: Any, name: str) -> Tensor:
    from actorflow.ops.filling import range_
    from actorflow.ops.joining import concat
    from actorflow.ops.shaping import rank, reshape

    if isinstance(axes, (int, np.integer)):
        over_left, over_right = range_(rank(left) - int(axes), rank(left)), range_(int(axes))
    else:
        first, second = (convert_to_tensor(np.asarray(part, np.int32), graph=left.graph) for part in _lists(axes))
        over_left = where_v2(less(first, 0), first + rank(left), first)
        over_right = where_v2(less(second, 0), second + rank(right), second)
    rows, free_left = _turned(left, over_left, contracted_last=True)
    columns, free_right = _turned(right, over_right, contracted_last=False)
    return reshape(matmul_op(rows, columns), concat([free_left, free_right], 0), name=name)


def _turned(tensor: Tensor, over: Tensor, contracted_last: bool) -> tuple[Tensor, Tensor]:
    """`tensor` as a matrix with the axes `over` as its columns (or rows), and the sizes of the other axes."""
    from actorflow.ops.filling import range_
    from actorflow.ops.gathering import gather
    from actorflow.ops.joining import concat, stack
    from actorflow.ops.ordering import setdiff1d
    from actorflow.ops.shaping import rank, reshape, shape, transpose

    sizes = shape(tensor)
    free, _ = setdiff1d(range_(rank(tensor)), over)
    free_sizes, over_sizes = gather(sizes, free), gather(sizes, over)
    parts, order = [reduce_prod(free_sizes), reduce_prod(over_sizes)], [free, over]
    if not contracted_last:
        parts, order = parts[::-1], order[::-1]
    return reshape(transpose(tensor, concat(order, 0)), stack(parts)), free_sizes
