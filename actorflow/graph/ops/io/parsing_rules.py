"""The ops that parse Example messages. `parsing` has the functions that programs use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DType, float32, int64, string
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import TensorLike

FEATURE_TYPES = frozenset((float32, int64, string))
Keys = tuple[str, ...]
Types = tuple[DType, ...]
Shapes = tuple[Any, ...]


def _sparse_types(types: Types) -> Types:
    return (int64,) * len(types) + types + (int64,) * len(types)


def _sparse_shapes(count: int, rank: int) -> list[Shape]:
    return [(None, rank)] * count + [(None,)] * count + [(rank,)] * count


def _types(c: Inference) -> Types:
    first = len(c.dtypes) - len(c.attrs["dense_keys"])
    return _sparse_types(c.attrs["sparse_types"]) + tuple(d.base_dtype for d in c.dtypes[first:])


def _batch_shapes(c: Inference) -> list[Shape]:
    serialized, names = require_rank(c, 0, 1), require_rank(c, 1, 1)
    count = None if serialized is None else serialized[0]
    if names is not None and count is not None and names[0] not in (None, 0, count):
        raise ValueError(f"There are {count} examples, but names of shape {show(names)}.")
    dense: list[Shape] = [(count, *shape) for shape in c.attrs["dense_shapes"]]
    return _sparse_shapes(len(c.attrs["sparse_keys"]), 2) + dense


def _single_shapes(c: Inference) -> list[Shape]:
    require_rank(c, 0, 0)
    return _sparse_shapes(len(c.attrs["sparse_keys"]), 1) + list(c.attrs["dense_shapes"])


@op(
    "ParseExample",
    shape=_batch_shapes,
    types={"serialized": string, "names": string},
    dtypes=FEATURE_TYPES,
    result=_types,
    gradient=None,
    work=2000,
)
def parse_example_op(
    serialized: TensorLike,
    names: TensorLike,
    dense_defaults: Sequence[Any],
    *,
    sparse_keys: Keys,
    sparse_types: Types,
    dense_keys: Keys,
    dense_shapes: Shapes,
    name: str | None = None,
) -> Any:
    """Features of a vector of Example messages: indices, values and shapes of the sparse features, then the dense features.

    A dense feature whose default is an empty vector must be there; a feature whose first size is unknown is padded.
    """


@op(
    "ParseSingleExample",
    shape=_single_shapes,
    types={"serialized": string},
    dtypes=FEATURE_TYPES,
    result=_types,
    gradient=None,
    work=2000,
)
def parse_single_example_op(
    serialized: TensorLike,
    dense_defaults: Sequence[Any],
    *,
    sparse_keys: Keys,
    sparse_types: Types,
    dense_keys: Keys,
    dense_shapes: Shapes,
    name: str | None = None,
) -> Any:
    """`ParseExample` for one message, without the dimension of the batch."""


def _sequence_types(c: Inference) -> Types:
    defaults = tuple(d.base_dtype for d in c.dtypes[2:])
    a = c.attrs
    context = _sparse_types(a["context_sparse_types"]) + defaults
    return context + _sparse_types(a["feature_list_sparse_types"]) + tuple(a["feature_list_dense_types"])


def _sequence_shapes(c: Inference) -> list[Shape]:
    require_rank(c, 0, 0)
    require_rank(c, 1, 0)
    a = c.attrs
    context = _sparse_shapes(len(a["context_sparse_keys"]), 1) + list(a["context_dense_shapes"])
    dense: list[Shape] = [(None, *shape) for shape in a["feature_list_dense_shapes"]]
    return context + _sparse_shapes(len(a["feature_list_sparse_keys"]), 2) + dense


@op(
    "ParseSingleSequenceExample",
    shape=_sequence_shapes,
    types={"serialized": string, "debug_name": string},
    dtypes=FEATURE_TYPES,
    result=_sequence_types,
    gradient=None,
    work=2000,
)
def parse_single_sequence_example_op(
    serialized: TensorLike,
    debug_name: TensorLike,
    context_dense_defaults: Sequence[Any],
    *,
    context_sparse_keys: Keys,
    context_sparse_types: Types,
    context_dense_keys: Keys,
    context_dense_shapes: Shapes,
    feature_list_sparse_keys: Keys,
    feature_list_sparse_types: Types,
    feature_list_dense_keys: Keys,
    feature_list_dense_types: Types,
    feature_list_dense_shapes: Shapes,
    feature_list_dense_missing_assumed_empty: Keys,
    name: str | None = None,
) -> Any:
    """A SequenceExample message: its context as by `ParseSingleExample`, then its lists, with a row for each feature."""


__all__ = ["FEATURE_TYPES", "parse_example_op", "parse_single_example_op", "parse_single_sequence_example_op"]
