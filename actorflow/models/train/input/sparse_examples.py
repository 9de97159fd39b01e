"""Sparse tensors of examples in queues, which hold dense tensors: a sparse tensor goes through a queue as three strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.sparse.serialize import deserialize_many_sparse, serialize_many_sparse, serialize_sparse
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor


def sparse_places(sources: Sequence[Sequence[Any]]) -> dict[int, DType]:
    """The places of sparse tensors in an example, with their types. Raises TypeError where sources differ in them."""
    places = [{at: t.dtype for at, t in enumerate(each) if isinstance(t, SparseTensor)} for each in sources]
    if any(each != places[0] for each in places):
        raise TypeError(f"Expected types to be consistent, but the sparse tensors of the sources are {places}.")
    return places[0]


def as_dense(tensor: Any, many: bool) -> Tensor:
    """A tensor as it is; a sparse tensor, or with `many` each of its rows, as three strings."""
    if not isinstance(tensor, SparseTensor):
        return convert_to_tensor(tensor)
    return serialize_many_sparse(tensor) if many else serialize_sparse(tensor)


def as_sparse(batch: list[Any], sources: Sequence[Sequence[Any]], many: bool) -> list[Any]:
    """A batch with its sparse tensors, from their strings."""
    for at, dtype in sparse_places(sources).items():
        shapes = [each[at].static_shape for each in sources]
        ranks = {None if sizes is None else len(sizes) - many for sizes in shapes}
        batch[at] = deserialize_many_sparse(batch[at], dtype, ranks.pop() if len(ranks) == 1 else None)
    return batch
