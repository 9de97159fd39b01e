"""Tables as ops: their handles, how they are filled, and what is looked up in them."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import ANY, INTEGER, STRING, DType, DTypeLike, int64, resource, string
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike, merge
from actorflow.graph.ops.declare import RefLike, op
from actorflow.graph.ops.shape_rules import no_output, require_rank, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike

KEYS = INTEGER | STRING
_HANDLE = {"table_handle": resource}
_PAIRS: dict[str, Any] = {**_HANDLE, "keys": KEYS, "values": ANY}


def _handle(c: Inference) -> Shape:
    if c.attrs["key_dtype"] not in KEYS:
        raise TypeError(f"The keys of a table are integers or strings, not {c.attrs['key_dtype']}.")
    return ()


def _rows(c: Inference) -> list[Shape]:
    """Nothing; but keys and values have to be vectors of one length."""
    merge(require_rank(c, 1, 1), require_rank(c, 2, 1))
    return []


def _pairs(c: Inference) -> list[Shape]:
    """Nothing; but the values begin with the shape of the keys."""
    keys, values = c.shapes[1:]
    if keys is not None and values is not None:
        merge(keys, values[: len(keys)])
    return []


def _found(c: Inference) -> Shape:
    """The shape of the keys if values are scalars; else the classes know it."""
    return c.shapes[1] if c.shapes[2] == () else None


def _types(c: Inference) -> tuple[DType, DType]:
    return c.attrs["Tkeys"], c.attrs["Tvalues"]


@op("HashTableV2", shape=_handle, result=resource, gradient=None, stateful=True, work=0)
def hash_table(
    *,
    key_dtype: DTypeLike,
    value_dtype: DTypeLike,
    container: str = "",
    shared_name: str = "",
    use_node_name_sharing: bool = False,
    name: str | None = None,
) -> Tensor:
    """The handle of a table that is filled once, in `container` under `shared_name` (else the node's name).

    Raises InvalidArgumentError in the run where a table of that name has other types."""


@op("MutableHashTableV2", shape=_handle, result=resource, gradient=None, stateful=True, work=0)
def mutable_hash_table(
    *,
    key_dtype: DTypeLike,
    value_dtype: DTypeLike,
    value_shape: ShapeLike = (),
    checkpoint: bool = True,
    container: str = "",
    shared_name: str = "",
    use_node_name_sharing: bool = False,
    name: str | None = None,
) -> Tensor:
    """The handle of a table that changes. With `checkpoint` its content is in the checkpoints of its session."""


@op("InitializeTableV2", shape=_rows, types=_PAIRS, result=None, gradient=None, stateful=True)
def initialize_table(
    table_handle: RefLike, keys: TensorLike, values: TensorLike, *, name: str | None = None
) -> Operation:
    """Fills a table. A second time it has to be with the same content, else FailedPreconditionError is raised."""


@op(
    "InitializeTableFromTextFileV2",
    shape=no_output,
    types={**_HANDLE, "filename": string},
    result=None,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def initialize_table_from_text_file(
    table_handle: RefLike,
    filename: TensorLike,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int = -1,
    delimiter: str = "\t",
    offset: int = 0,
    name: str | None = None,
) -> Operation:
    """Fills a table from the lines of a file, which is read on a thread."""


@op(
    "LookupTableFindV2",
    shape=_found,
    types={**_HANDLE, "keys": KEYS, "default_value": ANY},
    result=lambda c: (c.dtypes[2],),
    gradient=None,
    stateful=True,
    work=20,
)
def find(table_handle: RefLike, keys: TensorLike, default_value: TensorLike, *, name: str | None = None) -> Tensor:
    """The value of each key; a missing key gets the default, which is one value or a value for each key."""


@op("LookupTableSizeV2", shape=scalar, types=_HANDLE, result=int64, gradient=None, stateful=True, work=1)
def size(table_handle: RefLike, *, name: str | None = None) -> Tensor:
    """How many keys there are."""


@op("LookupTableInsertV2", shape=_pairs, types=_PAIRS, result=None, gradient=None, stateful=True)
def insert(table_handle: RefLike, keys: TensorLike, values: TensorLike, *, name: str | None = None) -> Operation:
    """Puts values under keys; of equal keys the last counts."""


@op("LookupTableImportV2", shape=_pairs, types=_PAIRS, result=None, gradient=None, stateful=True)
def import_all(table_handle: RefLike, keys: TensorLike, values: TensorLike, *, name: str | None = None) -> Operation:
    """Puts values under keys in place of all that there was. A table that is filled once is filled."""


@op(
    "LookupTableRemoveV2",
    shape=no_output,
    types={**_HANDLE, "keys": KEYS},
    result=None,
    gradient=None,
    stateful=True,
)
def remove(table_handle: RefLike, keys: TensorLike, *, name: str | None = None) -> Operation:
    """Takes keys out; those that are not there are ignored."""


@op(
    "LookupTableExportV2",
    shape=lambda c: [(None,), None],
    types=_HANDLE,
    result=_types,
    gradient=None,
    stateful=True,
)
def export(
    table_handle: RefLike, *, Tkeys: DTypeLike, Tvalues: DTypeLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """All keys and their values."""
