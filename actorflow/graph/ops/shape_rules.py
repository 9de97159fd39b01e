"""Shape rules that several ops share. A rule maps an `Inference` to the output's shape, or a list for several outputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, broadcast_all, merge, normalize_axis, show

OneShapeRule = Callable[[Inference], Shape]


def elementwise(c: Inference) -> Shape:
    """All inputs broadcast to the output."""
    return broadcast_all(c.shapes)


def unchanged(c: Inference) -> Shape:
    """The first input's shape."""
    return c.shapes[0]


def scalar(c: Inference) -> Shape:
    return ()


def unknown(c: Inference) -> Shape:
    return None


def no_output(c: Inference) -> list[Shape]:
    return []


def merged(c: Inference) -> Shape:
    """All inputs have one shape."""
    shape: Shape = None
    for other in c.shapes:
        shape = merge(shape, other)
    return shape


def from_attr(name: str) -> OneShapeRule:
    """The shape that an attribute holds."""

    def rule(c: Inference) -> Shape:
        shape: Shape = c.attrs[name]
        return shape

    return rule


def from_value(index: int) -> OneShapeRule:
    """The shape that an input's value spells, as far as it is known."""

    def rule(c: Inference) -> Shape:
        require_rank(c, index, 1)
        sizes = c.shape_value(index)
        if sizes is not None and any(size is not None and size < 0 for size in sizes):
            raise ValueError(f"A shape's sizes must be non-negative; got {list(sizes)}.")
        return sizes

    return rule


NO_AXIS = "Invalid reduction dimension {axis} for input with {high} dimensions."


def axes_of(c: Inference, index: int, rank: int, says: str = NO_AXIS) -> tuple[int, ...] | None:
    """The axes that input `index` lists, counted from the front; None where its value is not constant.

    Args:
        c: the op's inputs.
        index: the number of the input.
        rank: how many dimensions there are.
        says: the error of an axis that is none of them, as of `normalize_axis`.
    """
    value = c.value(index)
    if value is None:
        return None
    if value.ndim > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {value.ndim}: input {index} lists axes.")
    return tuple(normalize_axis(int(a), rank, says=says) for a in np.atleast_1d(value))


def reduction(c: Inference) -> Shape:
    """Input 0 without (or with size 1 for) the axes that input 1 lists; attribute `keep_dims`."""
    shape = c.shapes[0]
    if shape is None:
        return None
    axes = axes_of(c, 1, len(shape))
    if axes is None:
        return (None,) * len(shape) if c.attrs["keep_dims"] else None
    if c.attrs["keep_dims"]:
        return tuple(1 if i in axes else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes)


def require_rank(c: Inference, index: int, rank: int) -> Shape:
    """Input `index`'s shape, which has to have `rank` dimensions. Raises ValueError for another number."""
    shape = c.shapes[index]
    if shape is not None and len(shape) != rank:
        raise ValueError(
            f"Shape must be rank {rank} but is rank {len(shape)}: input {index} has the shape {show(shape)}."
        )
    return shape


def at_least_rank(c: Inference, index: int, rank: int) -> Shape:
    """Input `index`'s shape, which has to have `rank` dimensions or more."""
    shape = c.shapes[index]
    if shape is not None and len(shape) < rank:
        raise ValueError(
            f"Shape must be at least rank {rank} but is rank {len(shape)}: input must be at least {rank}-dim, and input "
            f"{index} has the shape {show(shape)}."
        )
    return shape
