"""Values of Python as columns, in types that hold them: none changes in silence, but that floats are rounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, string
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.errors import InvalidArgumentError


def array_of(place: str, values: Sequence[Any], dtype: DType) -> Any:
    """Values as an array.

    Args:
        place: says in errors where the values stand, as the subject of a sentence.
        values: numbers, booleans or texts; equal lists of numbers are rows.
        dtype: the element type.

    Raises:
        InvalidArgumentError: a value is none of that type; the message has it.
    """
    if dtype is string:
        texts = np.empty(len(values), object)
        for row, value in enumerate(values):
            if not isinstance(value, (str, bytes)):
                raise InvalidArgumentError(f"{place} has {value!r:.40}, which is no text.")
            texts[row] = value.encode() if isinstance(value, str) else value
        return texts
    try:
        return _numbers(values, dtype)
    except (TypeError, ValueError, OverflowError):
        culprit = next((value for value in values if not _fits(value, dtype)), values[0])
        raise InvalidArgumentError(f"{place} has values that are no {dtype.name}, such as {culprit!r:.40}.") from None


def fills_of(fill: Mapping[str, Any] | None, specs: Mapping[str, TensorSpec]) -> dict[str, Any]:
    """The values that stand in the place of nulls, in the types of their columns.

    Args:
        fill: values by the names of columns.
        specs: the columns.

    Raises:
        InvalidArgumentError: the column's type or the shape of its rows does not hold the value.
    """
    values: dict[str, Any] = {}
    for name in fill or ():
        if name not in specs:
            continue
        spec = specs[name]
        value = array_of(f"The fill of the column {name!r}", [(fill or {})[name]], spec.dtype)[0]
        if np.shape(value) not in ((), (spec.static_shape or ())[1:]):
            raise InvalidArgumentError(
                f"The fill of the column {name!r} has the shape {np.shape(value)}, but its rows have {spec.shape[1:]}."
            )
        values[name] = value
    return values


def _fits(value: Any, dtype: DType) -> bool:
    try:
        _numbers([value], dtype)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _numbers(values: Sequence[Any], dtype: DType) -> Any:
    """Numbers as an array. Raises TypeError, ValueError or OverflowError where the type does not hold a value."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError
    if array.dtype.kind == "f" and dtype.is_integer:
        # Integers beside floats have become floats, which hold few of the large integers: each is taken as it was.
        numbers = np.array(values, object)
        return np.array(_integers(numbers.flat), dtype.numpy_dtype).reshape(numbers.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        typed = array.astype(dtype.numpy_dtype)
    if dtype.is_integer or dtype.is_bool:
        if not np.array_equal(typed, array):
            raise TypeError
    elif np.any(np.isfinite(array) & ~np.isfinite(typed)):
        raise OverflowError
    return typed


def _integers(numbers: Iterable[Any]) -> list[int]:
    integers = []
    for number in numbers:
        integers.append(int(number))
        if integers[-1] != number:
            raise TypeError
    return integers
