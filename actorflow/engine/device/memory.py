"""Buffers whose last use can be told: the arrays made over a buffer are the bases of all their views."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np


def owned_buffer(array: np.ndarray[Any, Any]) -> memoryview:
    """The bytes of a contiguous `array`, as a buffer whose owner is no array. It keeps the array's memory alive.

    The base of a view is not the array that it was cut from, but the last array of its type in the chain of bases. Over
    the buffer of an array that would be this very array, and no one could tell when a snapshot or a lease over it has
    ended. Over this buffer each array made by `np.ndarray(shape, dtype, buffer)` is the base of all its views, so a weak
    reference to it is dead exactly when the last of them is gone.
    """
    flat = array.reshape(-1).view(np.uint8)  # not every element type has a buffer format
    return memoryview(_bytes_type(array.nbytes).from_buffer(flat))


@functools.lru_cache(maxsize=1024)
def _bytes_type(size: int) -> Any:
    return ctypes.c_char * size  # a new class, unless a class for the size is alive
