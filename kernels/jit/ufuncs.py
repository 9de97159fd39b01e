"""numpy's own inner loops: where the machine code of a universal function lies, so that a generated loop can call it.

numpy computes exponentials and the like in vectors, better than LLVM's calls of the C library, and the results are to be its
own, bit for bit. A universal function's work is a C function over addresses, counts and steps; the object that holds
it is part of numpy's binary interface (`numpy/ufuncobject.h`). Whether it is what it should be is tried once.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import numpy as np

_HEADER = object.__basicsize__


class _Fields(ctypes.Structure):
    """The first fields of a universal function after an object's header."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_void_p),
    )


@functools.cache
def inner_loop(name: str, dtype: str) -> tuple[int, int] | None:
    """The addresses of the function that computes `name` for elements of `dtype`, and of its data; None if they can't be
    found."""
    ufunc, kind = getattr(np, name), np.dtype(dtype)
    if sys.implementation.name != "cpython" or type(ufunc) is not np.ufunc:
        return None
    fields = _Fields.from_address(id(ufunc) + _HEADER)
    if (fields.nin, fields.nout, fields.nargs, fields.ntypes) != (1, 1, 2, len(ufunc.types)):
        return None
    if fields.name != name.encode() or not fields.functions:
        return None
    numbers = (ctypes.c_char * (2 * fields.ntypes)).from_address(fields.types).raw
    first = next((i for i in range(fields.ntypes) if numbers[2 * i : 2 * i + 2] == bytes((kind.num, kind.num))), None)
    if first is None:
        return None
    address = ctypes.c_void_p.from_address(fields.functions + 8 * first).value
    data = ctypes.c_void_p.from_address(fields.data + 8 * first).value if fields.data else None
    if not address or not is_it(ufunc, kind, address, data or 0):
        return None
    return address, data or 0


def is_it(ufunc: Any, kind: np.dtype[Any], address: int, data: int) -> bool:
    """Whether the function gives what numpy gives, for ordinary and for special numbers."""
    samples = np.concatenate([np.linspace(-20, 120, 997), np.geomspace(1e-30, 1e30, 211), [0.0, -0.0, np.inf, -np.inf]])
    x = samples.astype(kind)
    with np.errstate(all="ignore"):
        expected = ufunc(x)
    outputs = np.empty_like(x)
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, outputs.ctypes.data)
    count, steps = ctypes.c_ssize_t(x.size), (ctypes.c_ssize_t * 2)(x.itemsize, x.itemsize)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)
    call(ctypes.addressof(pointers), ctypes.addressof(count), ctypes.addressof(steps), data)
    return bool(np.array_equal(outputs, expected, equal_nan=True))
