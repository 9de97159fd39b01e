"""Sparse tensors as strings, and back: three `TensorProto` messages each, of indices, values and dense shape."""

from __future__ import annotations

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DTypeLike, as_dtype, int64, string
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.ops.sparse.tensor import sparse_of
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

_INPUTS = {"sparse_indices": int64, "sparse_shape": int64}


def _one(c: Inference) -> Shape:
    require_rank(c, 0, 2), require_rank(c, 1, 1), require_rank(c, 2, 1)
    return (3,)


def _many(c: Inference) -> Shape:
    _one(c)
    sizes = c.shape_value(2)
    return (sizes[0] if sizes else None, 3)


def _restored(c: Inference) -> list[Shape]:
    merge(require_rank(c, 0, 2), (None, 3))
    return [(None, None), (None,), (None,)]


def _types(c: Inference) -> tuple[dt.DType, dt.DType, dt.DType]:
    return int64, c.attrs["dtype"], int64


@op("SerializeSparse", shape=_one, types=_INPUTS, result=string, gradient=None, work=1000)
def _serialize_sparse(
    sparse_indices: TensorLike, sparse_values: TensorLike, sparse_shape: TensorLike, *, name: str | None = None
) -> Tensor:
    """See `serialize_sparse`."""


@op("SerializeManySparse", shape=_many, types=_INPUTS, result=string, gradient=None, work=1000)
def _serialize_many_sparse(
    sparse_indices: TensorLike, sparse_values: TensorLike, sparse_shape: TensorLike, *, name: str | None = None
) -> Tensor:
    """See `serialize_many_sparse`."""


@op(
    "DeserializeManySparse",
    shape=_restored,
    types={"serialized_sparse": string},
    result=_types,
    gradient=None,
    work=1000,
)
def _deserialize_many_sparse(
    serialized_sparse: TensorLike, *, dtype: DTypeLike, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """See `deserialize_many_sparse`."""


def _check_type(out_type: DTypeLike) -> None:
    if as_dtype(out_type) is not string:
        raise ValueError(f"Sparse tensors are serialized to strings, not to {as_dtype(out_type)}.")


@public("af", "af.io")
def serialize_sparse(sp_input: SparseTensor, name: str | None = None, out_type: DTypeLike = string) -> Tensor:
    """A sparse tensor as three strings (`tf.serialize_sparse`).

    Example:
        >>> af.serialize_sparse(af.SparseTensor([[1]], [7.0], [3])).shape
        TensorShape([3])

    Args:
        sp_input: a sparse tensor of any type and rank.
        out_type: string; variants are not supported.

    Returns:
        Strings `[3]`: the indices, the values and the dense shape, each as a `TensorProto` message.

    Raises:
        TypeError: it is no sparse tensor. ValueError: another `out_type`.
    """
    _check_type(out_type)
    source = sparse_of(sp_input)
    return _serialize_sparse(source.indices, source.values, source.dense_shape, name=name)


@public("af", "af.io")
def serialize_many_sparse(sp_input: SparseTensor, name: str | None = None, out_type: DTypeLike = string) -> Tensor:
    """Each slice of a sparse tensor along its first dimension as three strings (`tf.serialize_many_sparse`).

    Example:
        >>> x = af.SparseTensor([[0, 1], [1, 0]], [7, 8], [2, 3])
        >>> af.serialize_many_sparse(x).shape
        TensorShape([2, 3])

    Args:
        sp_input: a sparse tensor of rank two or more, its elements in order.
        out_type: string; variants are not supported.

    Returns:
        Strings `[n, 3]`, a row for each slice, as `serialize_sparse` gives for it.

    Raises:
        TypeError: it is no sparse tensor. ValueError: another `out_type`.
        InvalidArgumentError: the rank is less than two, in the run.
    """
    _check_type(out_type)
    source = sparse_of(sp_input)
    return _serialize_many_sparse(source.indices, source.values, source.dense_shape, name=name)


@public("af", "af.io")
def deserialize_many_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """A minibatch of sparse tensors from their strings, one along the first dimension (`tf.deserialize_many_sparse`).

    Example:
        >>> x = af.SparseTensor([[0, 1], [1, 0]], [7, 8], [2, 3])
        >>> rows = af.serialize_many_sparse(x)
        >>> af.deserialize_many_sparse(rows, af.int32)
        SparseTensor(indices=[[0 1]
                              [1 0]], values=[7 8], dense_shape=[2 3])

    Args:
        serialized_sparse: strings `[n, 3]`, as `serialize_many_sparse` gives them or a batch of those of
            `serialize_sparse`.
        dtype: the element type of the values.
        rank: the rank of each sparse tensor, if known.

    Returns:
        A sparse tensor whose rank is one more: `[n, ...]`, each further size the largest of them.

    Raises:
        InvalidArgumentError: the strings are nothing of the kind, or of another type or rank, in the run.
    """
    indices, values, dense = _deserialize_many_sparse(serialized_sparse, dtype=as_dtype(dtype), name=name)
    if rank is not None:
        indices.set_shape((None, rank + 1))
        dense.set_shape((rank + 1,))
    return SparseTensor(indices, values, dense)
