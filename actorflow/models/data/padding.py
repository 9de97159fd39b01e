"""The padded shapes and padding values of `padded_batch`, checked against what the elements look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import int64, string
from actorflow.base.shapes import Shape, as_shape
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.tensor import Tensor
from actorflow.models.data.node import parameter, spec_of
from actorflow.models.data.spec import Spec, parse, tensor_leaves


def padded_shapes(spec: Spec, requested: Any) -> list[Any]:
    """The padded shape of each leaf, a vector or a tensor, with -1 for the longest of the batch.

    Raises:
        ValueError: a shape has another rank, or a smaller size, than the component.
        TypeError: it is no vector of integers.
    """
    shapes = shapes_of_leaves(spec, requested)
    return [_sizes(leaf.static_shape, shape) for leaf, shape in zip(tensor_leaves(spec), shapes)]


def shapes_of_leaves(spec: Spec, requested: Any) -> list[Any]:
    """The shape of each leaf in a structure of shapes. Raises TypeError for another structure."""
    if requested is None:
        return [None] * len(spec.leaves)
    return [requested] if isinstance(spec.structure, TensorSpec) else _like(spec.structure, requested)


def _sizes(static_shape: Shape, shape: Any) -> Any:
    """A padded shape as a vector, with -1 for the longest of the batch."""
    if shape is None:
        if static_shape is None:
            raise ValueError("You must provide `padded_shapes` where the rank of a component is not known.")
        return parameter([-1 if size is None else size for size in static_shape], int64)
    if isinstance(shape, (Tensor, np.ndarray)):
        sizes = parameter(shape)
    elif isinstance(shape, (list, tuple)) and any(isinstance(size, Tensor) for size in shape):
        sizes = parameter([cast(-1 if size is None else size, int64) for size in shape], int64)
    else:
        static = as_shape(
            [None if size == -1 else size for size in shape] if isinstance(shape, (list, tuple)) else shape
        )
        if static is None:
            raise ValueError(
                "A padded shape has a known rank: state each size, None or -1 for the longest of the batch."
            )
        sizes = parameter([-1 if size is None else size for size in static], int64)
    form = spec_of(sizes)
    if not form.dtype.is_integer or form.static_shape is not None and len(form.static_shape) != 1:
        raise TypeError(f"A padded shape is a vector of integers, but {shape!r:.60} is none.")
    if isinstance(sizes, Tensor):
        return cast(sizes, int64)
    if static_shape is not None and len(static_shape) != len(sizes):
        raise ValueError(
            f"The padded shape {_text(sizes)} is not compatible with the shape {static_shape} of the component."
        )
    if static_shape is not None and any(-1 < a < (b or 0) for a, b in zip(sizes, static_shape)):
        raise ValueError(f"The padded shape {_text(sizes)} is smaller than the shape {static_shape} of the component.")
    return sizes.astype(np.int64)


def padded_spec(leaf: TensorSpec, sizes: Any, count: int | None) -> TensorSpec:
    """The type and shape of a leaf in a batch of `count` rows that are padded to these sizes."""
    if isinstance(sizes, Tensor):
        rank = sizes.static_shape[0] if sizes.static_shape else None
        static_shape = leaf.static_shape
        rank = len(static_shape) if rank is None and static_shape is not None else rank
        return TensorSpec(None if rank is None else (count, *[None] * rank), leaf.dtype)
    return TensorSpec((count, *[None if size < 0 else int(size) for size in sizes]), leaf.dtype)


def _text(sizes: Any) -> str:
    return str(tuple([None if size < 0 else int(size) for size in sizes]))


def _like(structure: Any, parts: Any) -> list[Any]:
    if isinstance(structure, dict):
        if not isinstance(parts, dict) or parts.keys() != structure.keys():
            raise TypeError(f"{parts!r} has another structure than the elements, whose keys are {sorted(structure)}.")
        return [leaf_shape for key in sorted(structure) for leaf_shape in _like(structure[key], parts[key])]
    if isinstance(structure, tuple):
        if not isinstance(parts, (tuple, list)) or len(parts) != len(structure):
            raise TypeError(f"{parts!r} has another structure than the elements.")
        return [leaf_shape for part, its in zip(structure, parts) for leaf_shape in _like(part, its)]
    return [parts]


def paddings(spec: Spec, fillers: Any) -> list[Any]:
    """The padding value of each leaf. Raises TypeError for values of other types."""
    leaves = spec.leaves
    if fillers is None:
        values: Sequence[Any] = [None] * len(leaves)
    elif isinstance(fillers, (tuple, dict)):
        values = parse(fillers)[0]
        if len(values) != len(leaves):
            raise TypeError(f"padding_values has {len(values)} values, but the elements have {len(leaves)} components.")
    else:
        values = [fillers] * len(leaves)
    padded = []
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
        padded.append(value)
    return padded
