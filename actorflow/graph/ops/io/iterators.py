"""Iterators of datasets as ops (`tf.data.Iterator`). `actorflow.data` has the classes that programs use.

The handle is a reference of type `resource`. A dataset goes as an attribute, the description that `actorflow.models.data.node`
encodes; its values go as inputs, so that they may be fed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DType, resource, string
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.declare import RefLike, op
from actorflow.graph.ops.shape_rules import no_output, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike

_HANDLE = {"iterator": resource}
Types = tuple[Any, ...]
Shapes = tuple[Any, ...]


def _types(c: Inference) -> tuple[DType, ...]:
    dtypes: tuple[DType, ...] = c.attrs["output_types"]
    return dtypes


def _shapes(c: Inference) -> list[Shape]:
    return list(c.attrs["output_shapes"] or (None,) * len(c.attrs["output_types"]))


@op("IteratorV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def iterator_v2(
    *,
    output_types: Types,
    output_shapes: Shapes = (),
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Tensor:
    """The handle of an iterator, in `container` under `shared_name` (else the node's name). `make_iterator` begins it."""


@op("OneShotIterator", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def one_shot_iterator(
    components: Sequence[Any],
    *,
    description: bytes,
    output_types: Types,
    output_shapes: Shapes = (),
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Tensor:
    """The handle of an iterator that begins by itself, once."""


@op("MakeIterator", shape=no_output, types=_HANDLE, result=None, gradient=None, stateful=True)
def make_iterator(
    iterator: RefLike, components: Sequence[Any], *, description: bytes, name: str | None = None
) -> Operation:
    """Begins an iterator with a dataset: its description, and the values that this has for its tensors."""


@op(
    "IteratorGetNext",
    shape=_shapes,
    types=_HANDLE,
    result=_types,
    gradient=None,
    stateful=True,
    asynchronous=True,
    work=0,
)
def iterator_get_next(
    iterator: RefLike, *, output_types: Types, output_shapes: Shapes = (), name: str | None = None
) -> Any:
    """The components of the next element, which is waited for."""


@op("IteratorToStringHandle", shape=scalar, types=_HANDLE, result=string, gradient=None, stateful=True, work=0)
def iterator_to_string_handle(iterator: RefLike, *, name: str | None = None) -> Tensor:
    """A string that names an iterator of the same device."""


@op(
    "IteratorFromStringHandleV2",
    shape=scalar,
    types={"string_handle": string},
    result=resource,
    gradient=None,
    stateful=True,
)
def iterator_from_string_handle(
    string_handle: TensorLike, *, output_types: Types = (), output_shapes: Shapes = (), name: str | None = None
) -> Tensor:
    """The handle of the iterator that a string names. Raises InvalidArgumentError in the run for an iterator of other types."""


@op(
    "DatasetToSingleElement",
    shape=_shapes,
    result=_types,
    gradient=None,
    stateful=True,
    asynchronous=True,
    work=0,
)
def dataset_to_single_element(
    components: Sequence[Any],
    *,
    description: bytes,
    output_types: Types,
    output_shapes: Shapes = (),
    name: str | None = None,
) -> Any:
    """The components of the one element that a dataset has."""


def check_single(count: int) -> None:
    """Raises InvalidArgumentError unless there is one element."""
    if count != 1:
        raise InvalidArgumentError("Dataset was empty." if not count else "Dataset had more than one element.")
