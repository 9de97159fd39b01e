"""The order of an array's axes in memory: copies to another memory and back keep it, since some kernels compute by it."""

from __future__ import annotations

from collections.abc import Sequence


def axes_in_memory(strides: Sequence[int]) -> tuple[int, ...]:
    """The axes of an array with these strides from the outermost in memory to the innermost. A transposition by them makes a
    dense array contiguous."""
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


def inverse(axes: Sequence[int]) -> tuple[int, ...]:
    """The transposition that undoes one by `axes`."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))
