"""Results of functions and generators of Python, as the leaves of an element of the types that were stated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from actorflow.base.dtypes import string
from actorflow.errors import InvalidArgumentError
from actorflow.graph.convert import as_array
from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from actorflow.models.data.spec import Element, SparseTensorSpec, Spec, fits, parse


def converted(value: Any, spec: Spec, who: str) -> Element:
    """The leaves of what Python code gave, of the types that were stated. Raises InvalidArgumentError for others.

    Args:
        value: what it gave.
        spec: what was stated.
        who: gave it, for the error.
    """
    leaves: list[Any] = []
    if not _collect(list_as_tuple(value, spec.structure), spec.structure, leaves):
        raise InvalidArgumentError(
            f"`generator` yielded an element that did not match the expected structure: {who} gave {value!r:.80}, where "
            f"{spec!r} was expected."
            if who.startswith("the generator")
            else f"{who} gave {value!r:.80}, where {spec!r} was expected."
        )
    return tuple([_leaf(part, leaf, who, index) for index, (part, leaf) in enumerate(zip(leaves, spec.leaves))])


def list_as_tuple(value: Any, structure: Any) -> Any:
    """The value, as a tuple if it is a list and a tuple was stated."""
    return tuple(value) if isinstance(value, list) and isinstance(structure, tuple) else value


def _collect(value: Any, structure: Any, leaves: list[Any]) -> bool:
    """Adds the parts of a value at the places of a structure's leaves. False where the value has another structure."""
    if isinstance(structure, Mapping):
        if not isinstance(value, Mapping) or value.keys() != structure.keys():
            return False
        return all([_collect(value[key], structure[key], leaves) for key in sorted(structure)])
    if isinstance(structure, tuple):
        if not isinstance(value, tuple) or len(value) != len(structure):
            return False
        if getattr(value, "_fields", names := getattr(structure, "_fields", None)) != names:
            return False
        return all([_collect(part, its, leaves) for part, its in zip(value, structure)])
    if isinstance(structure, SparseTensorSpec):
        if not isinstance(value, (SparseTensor, SparseTensorValue)):
            return False
        leaves += parse(value)[0]
    else:
        leaves.append(value)
    return True


def _leaf(value: Any, leaf: Any, who: str, index: int) -> Any:
    kind = type(value)
    if leaf.static_shape in ((), None):
        if kind is bytes and leaf.dtype is string or kind is leaf.dtype.numpy_dtype.type and kind is not np.object_:
            return value
    try:
        array = np.array(as_array(value, None if isinstance(value, (np.ndarray, np.generic)) else leaf.dtype))
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{who} gave an element that can't become {leaf.dtype}: component {index} is {value!r:.80} ({error})"
        ) from None
    if array.dtype != leaf.dtype.numpy_dtype and array.dtype.kind in "biufc" and leaf.dtype.kind in "biufc":
        array = (
            array.astype(leaf.dtype.numpy_dtype)
            if np.can_cast(array.dtype, leaf.dtype.numpy_dtype, "same_kind")
            else array
        )
    if not fits(array, leaf.dtype, leaf.static_shape):
        raise InvalidArgumentError(
            f"{who} gave an element of {array.dtype if array.dtype != object else 'string'} and shape {array.shape}, where "
            f"an element of shape {tuple(leaf.shape.as_list()) if leaf.static_shape is not None else None} was expected, of "
            f"{leaf.dtype} (component {index}).",
            hint="State output_types and output_shapes, or output_signature, as the elements are.",
        )
    return array if array.ndim else array[()]
