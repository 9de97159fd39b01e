"""`ProductSum`: a matrix to which a loop adds a product of each iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MOST_ROWS = 128
"""Rows of a product: those of more are computed by themselves."""
MOST_KEPT = 1024
"""Rows that are kept for one product."""


class ProductSum:
    """A matrix to which a loop adds a product of each iteration: aᵀ b with a few rows. The rows of many iterations, one below the
    other, are one product, which a library computes faster than each by itself.

    Args:
        start: what the matrix begins with; it is copied.
        allocate: makes an array, of a shape and a type.
        compute: `compute(c, a, b, out=c)` adds a product.
    """

    __slots__ = ("_compute", "_left", "_matrix", "_right", "_rows")

    def __init__(self, start: Any, allocate: Callable[..., Any], compute: Callable[..., Any]) -> None:
        self._matrix = copied(start, allocate)
        self._compute = compute
        self._left: list[Any] = []
        self._right: list[Any] = []
        self._rows = 0

    def add(self, left: Any, right: Any) -> None:
        """Adds leftᵀ · right, now or later."""
        self._left.append(left)
        self._right.append(right)
        self._rows += len(left)
        if self._rows >= MOST_KEPT:
            self.total()

    def total(self) -> Any:
        """The matrix with all that was added."""
        if self._left:
            matrix = self._matrix
            self._matrix = self._compute(matrix, np.concatenate(self._left), np.concatenate(self._right), out=matrix)
            self._left, self._right, self._rows = [], [], 0
        return self._matrix


def copied(array: Any, allocate: Callable[..., Any]) -> Any:
    """A copy of an array in fresh memory."""
    copy = allocate(array.shape, array.dtype)
    copy[...] = array
    return copy
