"""Crosses of categories: each combination of an example's features as a number (`tf.sparse.cross_hashed`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones_like
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import where
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor
from actorflow.public import public

HASH_KEY = 0xDECAFCAFFE


def _crossed(c: Inference) -> list[Shape]:
    count = len(c.shapes) // 3
    for i in range(count):
        require_rank(c, i, 2)
        require_rank(c, count + i, 1)
        require_rank(c, 2 * count + i, 1)
    return [(None, 2), (None,), (2,)]


@op("CrossHashed", shape=_crossed, result=(dt.int64, dt.int64, dt.int64), gradient=None, work=400)
def _cross_hashed(
    inputs: Sequence[Any], *, num_buckets: int = 0, hash_key: int = HASH_KEY, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The hashed crosses of sparse tensors of rank 2: `inputs` are all indices, then all values, then all shapes. See
    `sparse_cross_hashed`."""


@public("af.sparse:cross_hashed")
def sparse_cross_hashed(
    inputs: Sequence[Any], num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Each combination of one element of each input in a row, as a hash (`tf.sparse.cross_hashed`).

    The numbers are TensorFlow's.

    Example:
        >>> crossed = af.sparse.cross_hashed([[["red"], ["red"]], [["small"], ["large"]]], num_buckets=100)
        >>> crossed.values
        [88 45]

    Args:
        inputs: tensors of rank 2, sparse or not, of strings or integers, with equally many rows.
        num_buckets: the hash is taken modulo this; 0 leaves it a number of 63 bits.
        hash_key: what the hash begins with.

    Returns:
        A sparse int64 tensor [rows, the most combinations of a row]. Dense inputs come after sparse inputs in a combination.

    Raises:
        ValueError: there is no input, or an input of another type or rank.
        InvalidArgumentError: the numbers of rows differ, in the run.
    """
    if not inputs:
        raise ValueError("sparse_cross_hashed: there is nothing to cross.")
    with composite(name, "SparseCrossHashed") as scope:
        tensors = [column if isinstance(column, SparseTensor) else convert_to_tensor(column) for column in inputs]
        tensors.sort(key=lambda column: not isinstance(column, SparseTensor))
        parts = [
            _strings_or_int64(column if isinstance(column, SparseTensor) else _whole(column)) for column in tensors
        ]
        flat = [*(p.indices for p in parts), *(p.values for p in parts), *(p.dense_shape for p in parts)]
        key = HASH_KEY if hash_key is None else hash_key
        return SparseTensor(*_cross_hashed(flat, num_buckets=num_buckets, hash_key=key, name=scope))


def _whole(tensor: Tensor) -> SparseTensor:
    """All elements of a tensor."""
    everywhere = where(ones_like(tensor, dtype=dt.bool))
    return SparseTensor(everywhere, reshape(tensor, [-1]), shape_of(tensor, out_type=dt.int64))


def _strings_or_int64(tensor: SparseTensor) -> SparseTensor:
    if tensor.dtype.kind == "S":
        return tensor
    if not tensor.dtype.is_integer:
        raise ValueError(f"sparse_cross_hashed crosses strings and integers, not {tensor.dtype}.")
    return SparseTensor(tensor.indices, cast(tensor.values, dt.int64), tensor.dense_shape)
