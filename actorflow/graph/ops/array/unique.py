"""Distinct elements and differences of lists: unique, unique_with_counts, setdiff1d."""

from __future__ import annotations

from typing import NamedTuple

from actorflow.base.dtypes import ANY, COMPLEX, DTypeLike, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

# ---- sets


def _distinct(c: Inference) -> list[Shape]:
    return [(None,), require_rank(c, 0, 1) or (None,)]


@op("Unique", shape=_distinct, dtypes=ANY - COMPLEX, result=(T, "out_idx"), gradient=None, work=20)
def unique_op(x: TensorLike, *, out_idx: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The distinct elements of a vector. See `unique`."""


@op(
    "UniqueWithCounts",
    shape=lambda c: [*_distinct(c), (None,)],
    dtypes=ANY - COMPLEX,
    result=(T, "out_idx", "out_idx"),
    gradient=None,
    work=20,
)
def unique_with_counts_op(
    x: TensorLike, *, out_idx: DTypeLike = int32, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct elements of a vector with their counts. See `unique_with_counts`."""


class Unique(NamedTuple):
    """The distinct elements, and for each element of the input which of them it is."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """As `Unique`, and how often each comes."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # TensorFlow's name, which hides a method of tuples


class ListDiff(NamedTuple):
    """The elements that are left, and their places."""

    out: Tensor
    idx: Tensor


@public("af")
def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Unique:
    """The distinct elements `y` of a vector in the order of their first appearance, and `idx` with y[idx] = x (`tf.unique`).

    Raises ValueError, or InvalidArgumentError in the run, where `x` is not a vector.

    Example:
        >>> af.unique([5, 7, 5, 9])
        Unique(y=[5 7 9], idx=[0 1 0 2])
    """
    return Unique(*unique_op(x, out_idx=out_idx, name=name))


@public("af")
def unique_with_counts(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> UniqueWithCounts:
    """`unique`, and `count`, how often each distinct element comes (`tf.unique_with_counts`).

    Example:
        >>> af.unique_with_counts(["a", "b", "a"])
        UniqueWithCounts(y=[b'a' b'b'], idx=[0 1 0], count=[2 1])
    """
    return UniqueWithCounts(*unique_with_counts_op(x, out_idx=out_idx, name=name))


def _difference(c: Inference) -> list[Shape]:
    require_rank(c, 0, 1)
    require_rank(c, 1, 1)
    return [(None,), (None,)]


@op("ListDiff", shape=_difference, dtypes=ANY - COMPLEX, result=(T, "out_idx"), gradient=None, work=20)
def list_diff_op(
    x: TensorLike, y: TensorLike, *, out_idx: DTypeLike = int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The elements of `x` that are not in `y`. See `setdiff1d`."""


@public("af")
def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = int32, name: str | None = None) -> ListDiff:
    """The elements of the vector `x` that are not in the vector `y`, in order and with repetitions, and their indices
    (`tf.setdiff1d`, formerly `tf.listdiff`).

    Example:
        >>> af.setdiff1d([1, 2, 3, 4, 2], [2, 3])
        ListDiff(out=[1 4], idx=[0 3])

    Args:
        x: a vector of any type except complex types.
        y: a vector of the same type.
        index_dtype: the type of the indices, int32 or int64.
    """
    return ListDiff(*list_diff_op(x, y, out_idx=index_dtype, name=name))
