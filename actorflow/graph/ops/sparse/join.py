"""Sparse tensors put together and taken apart along a dimension (`tf.sparse`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge, normalize_axis
from actorflow.graph.ops.array.join import concat, stack
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.reduction import reduce_max
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.ops.sparse.shape import rank_in
from actorflow.graph.ops.sparse.tensor import sparse_of
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _joined(c: Inference) -> list[Shape]:
    count = len(c.shapes) // 3
    total: int | None = 0
    ranks: Shape = (None,)
    for i in range(count):
        ranks = merge(ranks, (rank_in(c, i, 2 * count + i),))
        values = require_rank(c, count + i, 1)
        total = None if values is None or values[0] is None or total is None else total + values[0]
    if ranks and ranks[0] is not None:
        normalize_axis(c.attrs["concat_dim"], ranks[0])
    return [(total, ranks[0] if ranks else None), (total,), ranks]


@op(
    "SparseConcat",
    shape=_joined,
    result=lambda c: (dt.int64, c.dtypes[len(c.dtypes) // 3], dt.int64),
    gradient=None,
    work=20,
)
def _sparse_concat(inputs: Sequence[Any], *, concat_dim: int, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """One sparse tensor of several: `inputs` are all indices, then all values, then all shapes. See `sparse_concat`."""


@public("af", "af.sparse:concat")
def sparse_concat(
    axis: int,
    sp_inputs: Sequence[SparseTensor],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Sparse tensors joined along `axis` (`tf.sparse_concat`).

    Example:
        >>> a = af.SparseTensor([[0, 0]], [1], [1, 2])
        >>> b = af.SparseTensor([[0, 1]], [2], [1, 2])
        >>> af.sparse_tensor_to_dense(af.sparse_concat(1, [a, b]))
        [[1 0 0 2]]

    Args:
        axis: the dimension along which they are joined; a negative number counts from the end.
        sp_inputs: a list of sparse tensors of one type and rank.
        expand_nonconcat_dim: whether the other dimensions may differ; the largest counts.
        concat_dim, expand_nonconcat_dims: other names of `axis` and `expand_nonconcat_dim`.

    Raises:
        TypeError: something is not a sparse tensor of the same type.
        ValueError: there is none, or the ranks differ.
        InvalidArgumentError: other dimensions differ, in the run.
    """
    along = axis if concat_dim is None else concat_dim
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    parts = [sparse_of(part, "sp_inputs") for part in sp_inputs]
    if not parts:
        raise ValueError("sparse_concat joins one sparse tensor or more.")
    if len({part.dtype for part in parts}) > 1:
        raise TypeError(f"sparse_concat joins tensors of one type, not {[part.dtype.name for part in parts]}.")
    if len(parts) == 1:
        return parts[0]
    with composite(name, "SparseConcat", *(part.values for part in parts)) as scope:
        shapes = [part.dense_shape for part in parts]
        if expand:
            shapes = _expanded(shapes, along)
        flat = [*(p.indices for p in parts), *(p.values for p in parts), *shapes]
        return SparseTensor(*_sparse_concat(flat, concat_dim=along, name=scope))


def _expanded(shapes: Sequence[Tensor], axis: int) -> list[Tensor]:
    """The shapes with the largest size in each dimension but `axis`."""
    largest = reduce_max(stack(list(shapes)), 0)
    if axis == -1:
        return [concat([largest[:-1], sizes[-1:]], 0) for sizes in shapes]
    after = axis + 1
    return [
        concat([largest[:axis], sizes[axis:after] if after else sizes[axis:], largest[after:]], 0) for sizes in shapes
    ]


def _parted(c: Inference) -> list[Shape]:
    count = c.attrs["num_split"]
    require_rank(c, 0, 0)
    require_rank(c, 2, 1)
    if count < 1:
        raise ValueError(f"sparse_split makes one part or more, not {count}.")
    dims = rank_in(c, 1, 3)
    return [(None, dims)] * count + [(None,)] * count + [(dims,)] * count


@op(
    "SparseSplit",
    shape=_parted,
    types={"split_dim": dt.int64, "indices": dt.int64, "dense_shape": dt.int64},
    result=lambda c: tuple(d for d in (dt.int64, c.dtypes[2], dt.int64) for _ in range(c.attrs["num_split"])),
    gradient=None,
)
def _sparse_split(
    split_dim: TensorLike,
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    *,
    num_split: int,
    name: str | None = None,
) -> list[Tensor]:
    """`num_split` sparse tensors: all indices, then all values, then all shapes. See `sparse_split`."""


@public("af", "af.sparse:split")
def sparse_split(
    keyword_required: None = None,
    *,
    sp_input: SparseTensor,
    num_split: int,
    axis: int | None = None,
    name: str | None = None,
    split_dim: int | None = None,
) -> list[SparseTensor]:
    """`num_split` parts along `axis`; the first parts are a row larger in an uneven division (`tf.sparse_split`).

    Example:
        >>> x = af.SparseTensor([[0, 0], [0, 3]], [1, 2], [1, 4])
        >>> [af.sparse_tensor_to_dense(part) for part in af.sparse_split(sp_input=x, num_split=2, axis=1)]
        [[[1 0]], [[0 2]]]

    Args:
        keyword_required: stands before the others, so that they are given by name; must be None.
        sp_input: a sparse tensor.
        num_split: how many parts to make, 1 or more.
        axis: the dimension to cut.
        split_dim: the older name of `axis`.

    Raises:
        ValueError: no part is wanted, there is no axis, or an argument stands without its name.
        InvalidArgumentError: more parts than rows, or an axis that does not exist, in the run.
    """
    if keyword_required is not None:
        raise ValueError("sparse_split takes its arguments by name: sparse_split(sp_input=x, num_split=2, axis=0).")
    source = sparse_of(sp_input)
    along = axis if split_dim is None else split_dim
    if along is None:
        raise ValueError("sparse_split needs `axis`.")
    parts = _sparse_split(
        np.int64(along), source.indices, source.values, source.dense_shape, num_split=num_split, name=name
    )
    return [SparseTensor(*parts[i::num_split]) for i in range(num_split)]
