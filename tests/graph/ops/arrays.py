"""Small arrays, and rows of ops that move elements of any type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from graph.ops.table import NUMBERS, Case, Literal

from actorflow.errors import InvalidArgumentError

ALL = f"{NUMBERS} bool string"
EITHER = (ValueError, InvalidArgumentError)
WORDS = np.array([[b"a", b"bc"], [b"", b"\0d"]], object)


def i32(*values: Any) -> Any:
    return np.array(values, np.int32)


def i64(*values: Any) -> Any:
    return np.array(values, np.int64)


def n32(value: int) -> Any:
    return np.array(value, np.int32)


def n64(value: int) -> Any:
    return np.array(value, np.int64)


def built(shape: Sequence[int], like: Any, element: Callable[..., Any]) -> Any:
    """The array whose element at each index is `element(*index)`."""
    result = np.empty(tuple(shape), np.asarray(like).dtype)
    for index in np.ndindex(*result.shape):
        result[index] = element(*index)
    return result


def moving(ops: str, build: Any, reference: Any, args: Any, literal: Literal, **more: Any) -> Case:
    """A row of an op that moves elements of any type."""
    return Case(ops, build, reference, args, literal, **{"dtypes": ALL, "exact": True, **more})
