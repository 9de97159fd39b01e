"""Sizes of tensors: numbers where a trace knows them, tensors where only a run tells them."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import actorflow as af
from keras_actorflow.src import core


def sizes_of(x: Any) -> list[Any]:
    """Sizes as numbers, and tensors where only a run tells them."""
    sizes = list(x.shape)
    if None in sizes:
        now = af.shape(x)
        sizes = [now[number] if size is None else size for number, size in enumerate(sizes)]
    return sizes


def size_of(x: Any, axis: int) -> Any:
    """The size of an axis, as a number or as a tensor."""
    size = x.shape[axis]
    return af.shape(x)[axis] if size is None else size


def vector(sizes: Any) -> Any:
    """Sizes or indices as a tensor; some may be tensors."""
    if isinstance(sizes, (list, tuple)) and builtins.all(isinstance(size, int) for size in sizes):
        return af.constant(list(sizes), af.int32, shape=[len(sizes)])
    return core.convert_to_tensor(sizes, "int32")


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two sizes."""
    return builtins.min(a, b) if isinstance(a, int) and isinstance(b, int) else af.minimum(a, b)


def larger(a: Any, b: Any) -> Any:
    """The larger of two sizes."""
    return builtins.max(a, b) if isinstance(a, int) and isinstance(b, int) else af.maximum(a, b)


def joint_sizes(*shapes: Sequence[Any]) -> list[Any]:
    """The sizes to which tensors of some sizes are broadcast together.

    Raises:
        ValueError: two sizes are known, and don't fit.
    """
    rank = builtins.max(len(sizes) for sizes in shapes)
    joint: list[Any] = [1] * rank
    for sizes in shapes:
        for place, size in enumerate(sizes, rank - len(sizes)):
            joint[place] = _joint(joint[place], size, shapes)
    return joint


def _joint(a: Any, b: Any, shapes: Sequence[Sequence[Any]]) -> Any:
    numbers = [size for size in (a, b) if isinstance(size, int)]
    if 1 in numbers:
        return b if isinstance(a, int) and a == 1 else a
    if len(numbers) == 2 and a != b:
        names = ", ".join(str(tuple(size if isinstance(size, int) else None for size in sizes)) for sizes in shapes)
        raise ValueError(f"Shapes can't be broadcast together: {names}. Sizes of an axis are equal, or 1.")
    return numbers[0] if numbers else af.where_v2(af.equal(a, 1), b, a)


def static(sizes: Sequence[Any]) -> list[int | None]:
    """The sizes of a trace: None in the place of each tensor."""
    return [size if isinstance(size, int) else None for size in sizes]
