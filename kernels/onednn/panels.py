"""Products of rows with weights that are constants, by the kernel in C (`native/src/panels.c`).

A library's product of a few rows waits for the weights: it reads them in an order in which the processor does not expect them, or
by columns. Here they are copied in panels of 64 columns, which lie in memory in the order in which they are read. A program is
called and divided as the library's own are, and several calls may run it at a time.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..native.library import function
from ..native.library import loaded as native
from ..nn import fused
from .constants import kept_copy
from .program import AFTER, aligned, contiguous

MOST_ROWS = 16
"""With more rows the weights are used so often that the library is as fast."""
_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class Matrix:
    """Weights [k, n] of a product, perhaps `turned`: [n, k] in memory, whatever the shape of the constant."""

    k: int
    n: int
    turned: bool

    def of(self, constant: Any) -> Any:
        """The constant as an array [k, n]."""
        return constant.reshape(self.n, self.k).T if self.turned else constant.reshape(self.k, self.n)


class Panels:
    """The program of a product of `rows` rows with the columns of a constant from `begin` to `end`.

    Args:
        constant: the weights, which never change.
        matrix: how they are meant.
        bias: a constant, or None if there is none, or if it comes with each call.
        given: the names of the arrays of a call: x, perhaps bias, perhaps added, and y.
        activation: a name in `AFTER`.
    """

    __slots__ = ("_activation", "_bias", "_given", "_kept", "_matrix", "recipe")

    def __init__(
        self,
        rows: int,
        begin: int,
        end: int,
        constant: Any,
        matrix: Matrix,
        bias: Any,
        inputs: Sequence[str],
        activation: str,
    ) -> None:
        n, k, line = end - begin, matrix.k, matrix.n
        part = matrix.of(contiguous(constant))[:, begin:end]
        weights = kept_copy(constant, (matrix, begin, end), lambda: _in_panels(part))
        own = None if bias is None else contiguous(bias[begin:end])
        places = {name: at for at, name in enumerate(inputs)}
        numbers = [rows, k, n, line, places.get("added", -1), places.get("bias", -1)]
        numbers += [0 if own is None else own.ctypes.data, weights.ctypes.data]
        product = np.array(numbers, np.int64)
        self._kept, self._given, self._activation = (weights, product), tuple(inputs), activation
        self._matrix, self._bias = part, own
        size = (rows - 1) * line + n
        width, step = (size, size) if n == line else (n, line)
        sizes: Mapping[str, int] = {"x": rows * k, "bias": n, "added": size, "y": size}
        header = [0, 0, 0, 0, 1, AFTER.index(activation), width, step, len(inputs), 1]
        arrays = [number for name in inputs for number in (0, sizes[name])]
        self.recipe = struct.pack(f"={len(header) + len(arrays) + 4}q", *header, *arrays, 0, product.ctypes.data, 0, 0)

    def take(self) -> Panels:
        """The program itself: a call needs nothing of its own."""
        return self

    def give(self, taken: Any) -> None:
        """The end of such a call."""

    def check(self, status: int) -> None:
        """Nothing fails there."""

    def __call__(self, *arrays: Any) -> None:
        """Computes all columns."""
        if _run(self.recipe, *arrays) is None:  # the arrays are not such as C reads, so numpy does it
            named = dict(zip(self._given, arrays))
            x, y = named["x"].reshape(-1, self._matrix.shape[0]), arrays[-1].reshape(-1, self._matrix.shape[1])
            terms = [self._bias, named.get("bias"), named.get("added")]
            total = x @ self._matrix
            for term in terms:
                if term is not None:
                    total += term.reshape(-1, y.shape[1])
            y[...] = total
            fused.activated(np, y, self._activation)


def suits(rows: int, activation: str) -> bool:
    """Whether such a product is computed here."""
    return rows <= MOST_ROWS and activation in AFTER and native() is not None


def _in_panels(matrix: Any) -> Any:
    k, n = matrix.shape
    panels = -(-n // _COLUMNS)
    blocks = aligned(4 * panels * _COLUMNS * k).view(np.float32).reshape(panels, k, _COLUMNS)
    whole = n // _COLUMNS
    blocks[:whole] = matrix[:, : whole * _COLUMNS].reshape(k, whole, _COLUMNS).transpose(1, 0, 2)
    if whole < panels:
        blocks[whole] = 0.0
        blocks[whole, :, : n - whole * _COLUMNS] = matrix[:, whole * _COLUMNS :]
    return blocks


_run = function("primitives")
