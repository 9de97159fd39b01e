"""Small tensors inside of requests and replies: [type, shape, elements]. A token of its own costs more than such a tensor.

A list of them stands for the feeds or the fetches of a step. Where it has nil, or is shorter, the tensor travels as a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.errors import InvalidArgumentError

_LARGEST = 16 * 1024
"""The most bytes of a tensor that is enclosed; and of all together, so that a message seldom needs a second piece."""
_MOST = 1024
_TYPES = {d.name: np.dtype(d.numpy_dtype) for d in dtypes.ALL if d not in (dtypes.string, dtypes.bfloat16)}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


def encode_inline(values: Sequence[Any]) -> list[Any]:
    """The forms of small tensors, in the order of `values`; nil for what has to go as a token."""
    found: list[Any] = []
    space = _LARGEST
    for value in values[:_MOST]:
        form = None
        if isinstance(value, np.ndarray | np.generic) and value.nbytes <= space:
            name = _NAMES.get(value.dtype)
            if name is not None:
                space -= value.nbytes
                form = [name, value.shape, value.tobytes()]
        found.append(form)
    return found


def decode_inline(form: Any) -> Any:
    """The tensor of a form, read-only: an array, or a numpy scalar for a number without dimensions.

    Raises:
        InvalidArgumentError: it is no form of a tensor.
    """
    try:
        name, shape, elements = form
        if type(elements) is not bytes or type(shape) is not list:
            raise TypeError("it is no type, shape and bytes")
        if shape and min(shape) < 0:  # numpy would take -1 for whatever fits
            raise ValueError("it has a size below zero")
        array: Any = np.ndarray(shape, _TYPES[name], elements)
        if array.nbytes != len(elements):
            raise ValueError("it has more bytes than elements")
    except (TypeError, ValueError, KeyError, OverflowError, MemoryError) as error:
        raise InvalidArgumentError(f"What was sent as a small tensor is none: {error}") from error
    return array if array.ndim else array[()]
