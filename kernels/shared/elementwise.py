"""Elementwise functions of large arrays for which numpy has faster loops than the obvious loops."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .threads import WORTH_DIVIDING, in_pieces

_WORTH_BLENDING = 400
_PIECE = 1 << 17
"""Elements of large arrays that fit into a core's cache together."""
_ROW = 8192
_WORTH_A_ROW = 4096
_WHOLE = {1: "i1", 2: "i2", 4: "i4", 8: "i8"}  # as whole numbers, elements of any type are added without rounding


@functools.lru_cache(1024)
def scalar(xp: Any, dtype: Any, value: Any) -> Any:
    """A number as an array of rank 0: as an operand it costs a small ufunc half of what a Python number costs."""
    return xp.array(value, dtype) if xp is np else np.dtype(dtype).type(value)  # a kept array is memory of one device


def mapped(xp: Any, function: Any, x: Any, out: Any) -> Any:
    """`function(x, out=out)`, which makes each element of `out` from the element of `x` at the same place. On the host two
    threads may share a large array; a transposed matrix is read in strips, of which a cache holds the lines."""
    if xp is not np or x.size < WORTH_DIVIDING or x.shape != out.shape or not out.flags.c_contiguous:
        return function(x, out=out)
    if x.flags.c_contiguous:
        flat_input, flat_output, size = x.reshape(-1), out.reshape(-1), _PIECE
    elif x.ndim == 2 and x.flags.f_contiguous:
        flat_input, flat_output, size = x.T, out.T, _STRIP
    else:
        return function(x, out=out)

    def some(number: int) -> None:
        piece = slice(number * size, (number + 1) * size)
        function(flat_input[piece], out=flat_output[piece])

    in_pieces(some, -(-len(flat_output) // size), (getattr(function, "func", function), x.dtype, flat_output.shape))
    return out


_STRIP = 64
_FEW_NUMBERS = 1 << 12


def numbered(xp: Any, count: int, step: int = 1) -> Any:
    """`count` numbers 0, `step`, 2 `step`, ... as an array, which is not to be changed: on the host short arrays are kept."""
    if xp is np and count <= _FEW_NUMBERS:
        return _numbered(count, step)
    return xp.arange(count) * step if step != 1 else xp.arange(count)


@functools.lru_cache(64)
def _numbered(count: int, step: int) -> Any:
    return np.arange(count) * step


def chosen(xp: Any, condition: Any, x: Any, y: Any, out: Any = None) -> Any:
    """`x` where the condition holds, else `y`; all are broadcast. `x` or `y` may be `out`.

    numpy's choice is a branch for each element, and a condition without a pattern makes the processor guess wrong every
    second time. The sum y + condition (x - y), computed in the bits of the elements modulo 2^n, takes no branch, and a tenth of
    the time.
    """
    kind = _WHOLE.get(x.dtype.itemsize)
    if kind is None or xp is not np or x.dtype.hasobject or (out is None and condition.size < _WORTH_BLENDING):
        if out is None:
            return xp.where(condition, x, y)
        if y is not out:
            xp.copyto(out, y, where=~condition)
        if x is not out:
            xp.copyto(out, x, where=condition)
        return out
    if out is None:
        out = xp.empty(xp.broadcast_shapes(condition.shape, x.shape, y.shape), x.dtype)
    if y is out:
        condition, x, y = ~condition, y, x  # the array that is added last has to be there still
    whole = condition, x.view(kind), y.view(kind), out.view(kind)
    if out.size < WORTH_DIVIDING or not all(array.flags.c_contiguous and array.shape == out.shape for array in whole):
        _blend(*whole)
        return out
    flat = [array.reshape(-1) for array in whole]

    def some(number: int) -> None:
        piece = slice(number * _PIECE, (number + 1) * _PIECE)
        _blend(*(array[piece] for array in flat))

    in_pieces(some, -(-out.size // _PIECE), ("blend", out.size))
    return out


def _blend(condition: Any, x: Any, y: Any, out: Any) -> None:
    np.subtract(x, y, out=out)
    np.multiply(out, condition, out=out)
    np.add(out, y, out=out)


def at_least(xp: Any, x: Any, bound: Any, out: Any) -> Any:
    """The maximum of `x` and a number, into `out`."""
    return with_number(xp, xp.maximum, x, bound, out)


def at_most(xp: Any, x: Any, bound: Any, out: Any) -> Any:
    """The minimum of `x` and a number, into `out`."""
    return with_number(xp, xp.minimum, x, bound, out)


def with_number(xp: Any, ufunc: Any, x: Any, bound: Any, out: Any) -> Any:
    """`ufunc(x, bound)`. The loops of numpy's extremes are fast for two arrays only, so the number becomes a row of them."""
    if xp is not np or x.dtype.char not in "fd" or not (x.flags.c_contiguous and out.flags.c_contiguous):
        return ufunc(x, bound, out=out)
    number = float(bound)
    if x.size < _WORTH_A_ROW:
        return ufunc(x, scalar(xp, x.dtype, number) if number or type(bound) is int else bound, out=out)
    return _with_row(ufunc, x, _row(xp, x.dtype, number, math.copysign(1.0, number)), out)


@functools.lru_cache(32)
def _row(xp: Any, dtype: Any, value: float, sign: float) -> Any:
    """`sign` tells -0 from 0, which are equal as keys of the cache."""
    return xp.full(_ROW, value, dtype)


def with_vector(xp: Any, ufunc: Any, x: Any, vector: Any, out: Any) -> Any:
    """`ufunc(x, vector)` for a vector as long as the last dimension of `x`. `out` may be `x`.

    numpy's inner loop is as long as the vector, so a short vector is repeated."""
    length = vector.size
    if not 0 < length <= _ROW // 8 or x.size < _ROW or not (x.flags.c_contiguous and out.flags.c_contiguous):
        return ufunc(x, vector, out=out)
    row = xp.empty((_ROW // length, length), vector.dtype)
    row[...] = vector
    return _with_row(ufunc, x, row.reshape(-1), out)


def _with_row(ufunc: Any, x: Any, row: Any, out: Any) -> Any:
    """`ufunc` of the elements of `x` in order and those of a row, over and over."""
    length = row.size
    whole = x.size // length * length
    flat, target = x.reshape(-1), out.reshape(-1)
    if whole:
        ufunc(flat[:whole].reshape(-1, length), row, out=target[:whole].reshape(-1, length))
    if whole < flat.size:
        ufunc(flat[whole:], row[: flat.size - whole], out=target[whole:])
    return out
