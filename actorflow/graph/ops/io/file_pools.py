"""Pools of files as ops. `actorflow.models.data.shared_files` has the class that programs use."""

from __future__ import annotations

from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.dtypes import resource, string
from actorflow.graph.ops.declare import RefLike, op
from actorflow.graph.ops.shape_rules import no_output, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike

_HANDLE = {"pool": resource}


@op("FilePool", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def file_pool(*, container: str = "", shared_name: str = "", name: str | None = None) -> Tensor:
    """The handle of a pool of files, in `container` under `shared_name` (else the node's name)."""


@op("FilePoolBegin", shape=no_output, types={**_HANDLE, "names": string}, result=None, gradient=None, stateful=True)
def file_pool_begin(
    pool: RefLike, names: TensorLike, *, epochs: int = 1, lease: float = 30.0, seed: int = -1, name: str | None = None
) -> Operation:
    """Puts names of files into a pool that has no names yet. Each file is to be read `epochs` times, or without end for -1, in
    an order that a seed other than -1 shuffles. Raises InvalidArgumentError for a pool that has other names."""


@op(
    "FilePoolTake",
    shape=scalar,
    types={**_HANDLE, "reader": string},
    result=string,
    gradient=None,
    stateful=True,
    asynchronous=True,
    work=0,
)
def file_pool_take(pool: RefLike, reader: TensorLike, *, name: str | None = None) -> Tensor:
    """The name of the file that a reader reads next. The file before it counts as read then. The node waits while other readers
    read the last files. Raises OutOfRangeError in the run after all files are read."""


@op("FilePoolRenew", shape=scalar, types={**_HANDLE, "reader": string}, result=bool_dtype, gradient=None, stateful=True)
def file_pool_renew(pool: RefLike, reader: TensorLike, *, name: str | None = None) -> Tensor:
    """Says that a reader still reads its file; false if another reader has got the file meanwhile."""
