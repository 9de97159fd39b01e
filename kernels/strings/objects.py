"""Byte strings in kernels that only move data.

A tensor of strings is an array of objects, but numpy hands out a single object in place of a scalar, and bytes have neither a
shape nor a type. For strings such a kernel therefore works between two adapters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from actorflow.base.dtypes import STRING
from actorflow.base.packed_strings import PackedStrings, shaped, together, unpacked
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Gpu

F = TypeVar("F", bound=Callable[..., Any])


def moving_kernel(*ops: str, gpu: Gpu | None = None, computes: bool = False) -> Callable[[F], F]:
    """`kernel(*ops, gpu=gpu)` for a function that moves elements of any type and never looks at them. With `computes`, it also
    makes new elements, such as sums of those that come to one place: it takes no packed strings, as it would add their places."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def of_strings(xp: Any, *inputs: Any, **keywords: Any) -> Any:
            if not computes and any(_is_packed(value) for value in inputs):
                return _packed_moved(function, xp, inputs, keywords)
            return as_arrays(function(xp, *(as_arrays(value) for value in inputs), **keywords))

        kernel(*ops, dtypes=STRING, packed="" if computes else "moved")(of_strings)
        return kernel(*ops, gpu=gpu)(function)

    return decorate


def _is_packed(value: Any) -> bool:
    return isinstance(value, PackedStrings) or isinstance(value, list) and any(map(_is_packed, value))


def _is_string(value: Any) -> bool:
    return isinstance(value, (PackedStrings, bytes)) or isinstance(value, np.ndarray) and value.dtype.hasobject


def _packed_moved(function: Callable[..., Any], xp: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The result of the function for packed strings. It moves an element of 16 bytes for each string, the place of its bytes."""
    parts: list[Any] = []

    def take_out(value: Any) -> None:
        if isinstance(value, list):
            for part in value:
                take_out(part)
        elif _is_string(value):
            parts.append(value if isinstance(value, PackedStrings) else as_arrays(value))

    take_out(list(inputs))
    moving, data = together(parts)
    left = iter(moving)

    def put_in(value: Any) -> Any:
        if isinstance(value, list):
            return [put_in(part) for part in value]
        return next(left) if _is_string(value) else value

    def as_strings(value: Any) -> Any:
        return PackedStrings.of_elements(value, data) if value.dtype == np.complex128 else value

    moved = function(xp, *[put_in(value) for value in inputs], **keywords)
    return type(moved)([as_strings(part) for part in moved]) if isinstance(moved, (list, tuple)) else as_strings(moved)


def as_arrays(value: Any) -> Any:
    """`value`, or each part of a list or tuple: single strings as arrays of rank 0, and packed strings as arrays of objects."""
    return shaped(unpacked(value))


def mapped(function: Callable[[Any], Any], values: Any, dtype: Any = object) -> Any:
    """`function` of each element, as an array of `dtype` and of the shape of `values`."""
    values = as_arrays(values)
    result = np.empty(values.size, dtype)
    result[:] = [function(value) for value in values.reshape(-1).tolist()]
    return result.reshape(values.shape)


def single(value: Any) -> bytes:
    """The element of a scalar. Raises ValueError where `value` is none."""
    if value.ndim:
        raise ValueError(f"A scalar is needed, but its shape is {value.shape}.")
    element: bytes = value.item()
    return element
