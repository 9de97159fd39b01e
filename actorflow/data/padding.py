"""The padded shapes and padding values of `padded_batch`, checked against what the elements look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.data.node import parameter, spec_of
from actorflow.data.spec import Spec, parse, tensor_leaves
from actorflow.dtypes import string
from actorflow.eager.functions.signature import TensorSpec
from actorflow.graph.tensor import Tensor
from actorflow.shapes import as_shape


def padded_shapes(spec: Spec, given: Any) -> list[tuple[int | None, ...]]:
    """The padded shape of each leaf. Raises ValueError for other ranks."""
    leaves = tensor_leaves(spec)
    if given is None:
        wanted: list[Any] = [None] * len(leaves)
    elif isinstance(spec.structure, TensorSpec):
        wanted = [given]
    else:
        wanted = _like(spec.structure, given)
    made = []
    for leaf, shape in zip(leaves, wanted):
        known = leaf.static_shape
        if shape is None:
            if known is None:
                raise ValueError("You must provide `padded_shapes` where the rank of a component is not known.")
            made.append(tuple([None] * len(known)) if None in known else known)
            continue
        sizes = as_shape([None if size in (-1, None) else int(size) for size in shape])
        assert sizes is not None
        if known is not None and len(known) != len(sizes):
            raise ValueError(f"The padded shape {sizes} is not compatible with the shape {known} of the component.")
        if known is not None and any(a is not None and b is not None and a < b for a, b in zip(sizes, known)):
            raise ValueError(f"The padded shape {sizes} is smaller than the shape {known} of the component.")
        made.append(tuple(sizes))
    return made


def _like(structure: Any, given: Any) -> list[Any]:
    if isinstance(structure, dict):
        return [one for key in sorted(structure) for one in _like(structure[key], given[key])]
    if isinstance(structure, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(structure):
            raise TypeError(f"{given!r} has another structure than the elements.")
        return [one for part, its in zip(structure, given) for one in _like(part, its)]
    return [given]


def paddings(spec: Spec, given: Any) -> list[Any]:
    """The padding value of each leaf. Raises TypeError for values of other types."""
    leaves = spec.leaves
    if given is None:
        values: Sequence[Any] = [None] * len(leaves)
    elif isinstance(given, (tuple, dict)):
        values = parse(given)[0]
        if len(values) != len(leaves):
            raise TypeError(f"padding_values has {len(values)} values, but the elements have {len(leaves)} components.")
    else:
        values = [given] * len(leaves)
    made = []
    for leaf, value in zip(leaves, values):
        if value is None:
            value = parameter("" if leaf.dtype is string else 0, leaf.dtype)
        else:
            value = parameter(value)
        if spec_of(value).dtype is not leaf.dtype:
            if isinstance(value, Tensor) or leaf.dtype is string or spec_of(value).dtype is string:
                raise TypeError(
                    f"Mismatched type between padding value {spec_of(value).dtype} and component {leaf.dtype}."
                )
            value = parameter(value.item(), leaf.dtype)
        made.append(value)
    return made
