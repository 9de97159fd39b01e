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
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Gpu

F = TypeVar("F", bound=Callable[..., Any])


def moving_kernel(*ops: str, gpu: Gpu | None = None) -> Callable[[F], F]:
    """`kernel(*ops, gpu=gpu)` for a function that moves elements of any type and never looks at them."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def of_strings(xp: Any, *inputs: Any, **keywords: Any) -> Any:
            return as_arrays(function(xp, *(as_arrays(value) for value in inputs), **keywords))

        kernel(*ops, dtypes=STRING)(of_strings)
        return kernel(*ops, gpu=gpu)(function)

    return decorate


def as_arrays(value: Any) -> Any:
    """`value`, or each part of a list or tuple, with single strings made arrays of rank 0."""
    if isinstance(value, (list, tuple)):
        return type(value)(as_arrays(part) for part in value)
    if isinstance(value, bytes):
        array = np.empty((), object)
        array[()] = value
        return array
    return value


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
