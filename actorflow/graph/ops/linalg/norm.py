"""Norms of vectors and matrices, and tensors scaled to a norm of 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.math.arithmetic import pow, realdiv
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import abs as abs_
from actorflow.graph.ops.math.reduction import reduce_max, reduce_sum
from actorflow.graph.ops.math.statistics import _one_of, reduce_euclidean_norm
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af", "af.linalg")
def norm(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors, or the Frobenius norm of matrices (`tf.norm`).

    Example:
        >>> af.norm([3.0, 4.0]), af.norm([3.0, 4.0], ord=1)
        (5.0, 7.0)
        >>> af.norm([[3.0, 4.0], [6.0, 8.0]], axis=1)
        [ 5. 10.]

    Args:
        tensor: a floating tensor.
        ord: "euclidean" (as "fro" and 2), 1, inf, or another positive number p for the p-norm.
        axis: the dimension of the vectors; a pair for matrices, for which "euclidean", "fro", 1 and inf are known. By
            default all elements are one vector.
        keepdims: whether the dimensions stay, with size 1.
        keep_dims: the older name of `keepdims`.

    Raises:
        ValueError: `ord` is not a norm of this kind.
    """
    keep = bool(_one_of(keepdims, keep_dims))
    with composite(name, "norm", tensor, axis):
        values = convert_to_tensor(tensor)
        matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
        if isinstance(axis, (list, tuple)) and not (
            len(axis) in (1, 2) and len(set(map(str, axis))) == len(axis) and all(_is_whole(number) for number in axis)
        ):
            raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
        if ord in ("euclidean", "fro") or ord == 2 and not matrix:
            return reduce_euclidean_norm(values, axis, keep)
        size: Any = abs_(values)
        if matrix and ord in (1, float("inf")):
            rows, columns = axis if ord == 1 else axis[::-1]
            largest = reduce_max(reduce_sum(size, rows, keepdims=True), columns, keepdims=True)
            return largest if keep else reduce_sum(largest, axis)
        if matrix or isinstance(ord, str) or ord <= 0:
            raise ValueError(f"ord={ord!r} is no norm of {'matrices' if matrix else 'vectors'} that norm() knows.")
        if ord == 1:
            return reduce_sum(size, axis, keepdims=keep)
        if ord == float("inf"):
            return reduce_max(size, axis, keepdims=keep)
        return pow(reduce_sum(pow(size, ord), axis, keepdims=keep), 1 / ord)


def _is_whole(number: Any) -> bool:
    return isinstance(number, (int, np.integer)) or is_symbolic(number)


@public("af.linalg")
def normalize(
    tensor: TensorLike, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """A floating tensor over its norm (`tf.linalg.normalize`).

    Example:
        >>> af.linalg.normalize([3.0, 4.0])
        ([0.6 0.8], [5.])

    Args:
        tensor: a floating tensor.
        ord: the norm, as `norm` takes it; "euclidean" by default.
        axis: the dimension of the vectors, or a pair for matrices; by default all elements are one vector.

    Returns:
        The tensor over its norm, and the norm, whose dimensions stay with size 1.
    """
    with composite(name, "normalize", tensor) as scope:
        values = convert_to_tensor(tensor)
        size = cast(norm(values, ord, axis, keepdims=True), values.dtype)
        return realdiv(values, size, name=scope), size
