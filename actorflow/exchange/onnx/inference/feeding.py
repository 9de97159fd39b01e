"""The values of a feed as arrays that fit, and results in onnxruntime's form.

An array has to have the input's own element type, as in onnxruntime: a conversion would hide a mistake, and cost a copy. Lists
and numbers have no type of their own, and take that of the input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.backend import told
from actorflow.exchange.onnx.inference.arguments import NodeArg
from actorflow.exchange.onnx.types import ValueType
from actorflow.graph.convert import host_array

_WIDER = {"b": "biufcV", "i": "iufcV", "u": "iufcV", "f": "fcV", "c": "c"}
"""For the kind of a list's numbers, the kinds of types that take them."""


def fed(argument: NodeArg, kind: ValueType, value: Any) -> Any:
    """The value of an input in the form that its graph takes.

    Args:
        argument: the input, for errors.
        kind: its type.
        value: what a program feeds.

    Raises:
        InvalidArgumentError: it does not fit; the message names the input, its type and shape, and what to do.
    """
    if kind.kind == "tensor":
        return _array(argument, kind, value)
    if kind.kind == "optional":
        if value is None:
            return None
        inner = ValueType(kind.inside, kind.dtype, kind.shape, key=kind.key)
        return fed(argument, inner, value)
    if kind.kind == "map":
        if not isinstance(value, Mapping):
            raise _refusal(argument, value, "Feed a dict.")
        return dict(value)
    if not isinstance(value, (list, tuple)):
        raise _refusal(argument, value, "Feed a list of arrays.")
    element = ValueType("tensor", kind.dtype, kind.shape)
    return [_array(argument, element, item) for item in value]


def _array(argument: NodeArg, kind: ValueType, value: Any) -> Any:
    dtype = kind.dtype
    assert dtype is not None
    array = value if type(value) is np.ndarray else _converted(argument, dtype, value)
    if array.dtype != dtype.numpy_dtype or dtype is dtypes.string:
        array = _typed(argument, dtype, array)
    shape = kind.shape
    if shape is not None and array.shape != shape:
        if len(shape) != array.ndim:
            hint = f"It has {array.ndim} sizes, and the model takes {len(shape)}."
            if array.ndim + 1 == len(shape) and shape[0] in (None, 1):
                hint += " Feed a batch: x[np.newaxis]."
            raise _refusal(argument, array, hint)
        for at, (size, actual) in enumerate(zip(shape, array.shape)):
            if size is not None and size != actual:
                raise _refusal(argument, array, f"Its size {at} is {actual}, and the model takes {size} there.")
    return array


def _converted(argument: NodeArg, dtype: DType, value: Any) -> Any:
    """An array of the input's type for numbers and lists; any other object as the array that it says it is."""
    if value is None or isinstance(value, (str, bytes, Mapping)) and dtype is not dtypes.string:
        raise _refusal(argument, value, f"Feed {_example(dtype)}.")
    try:
        array = host_array(value)
    except TypeError as error:
        raise _refusal(argument, value, f"The value is no array here: {error}") from None
    except ValueError:
        raise _refusal(argument, value, "The lists in it have different lengths, so they are no array.") from None
    is_plain = isinstance(value, (list, tuple, bool, int, float, complex)) and array.dtype.kind in "biufc"
    if not is_plain or array.dtype == dtype.numpy_dtype:
        return array
    if not array.size or dtype.numpy_dtype.kind in _WIDER[array.dtype.kind]:
        if dtype.is_integer and array.size:
            limits = np.iinfo(dtype.numpy_dtype)
            if int(array.min()) < limits.min or int(array.max()) > limits.max:
                raise _refusal(argument, value, f"Feed numbers from {limits.min} to {limits.max}.")
        with np.errstate(over="ignore"):  # numbers beyond the type are infinite, as in a request
            return array.astype(dtype.numpy_dtype)
    return array


def _typed(argument: NodeArg, dtype: DType, array: Any) -> Any:
    """The array with the input's type, where only the order of bytes or the form of text is another."""
    if dtype is dtypes.string:
        if array.dtype.kind in "SUOT" and all(not isinstance(item, np.ndarray) for item in array.flat):
            words = np.empty(array.size, object)
            words[:] = [item if isinstance(item, bytes) else str(item).encode() for item in array.flat]
            return words.reshape(array.shape)
    elif array.dtype.newbyteorder("=") == dtype.numpy_dtype:
        return array.astype(dtype.numpy_dtype)
    elif array.dtype.kind == "O":
        raise _refusal(argument, array, f"It is an array of objects: write x.astype(np.{dtype.numpy_dtype}).")
    raise _refusal(argument, array, f"Convert it first: {_conversion(dtype)}.")


def _conversion(dtype: DType) -> str:
    if dtype is dtypes.string:
        return "x.astype(str)"
    name = dtype.numpy_dtype.name
    return f"x.astype(np.{name})" if hasattr(np, name) else f"x.astype(ml_dtypes.{name})"


def _example(dtype: DType) -> str:
    return "an array of strings" if dtype is dtypes.string else f"an array of np.{dtype.numpy_dtype}"


def _refusal(argument: NodeArg, value: Any, hint: str) -> InvalidArgumentError:
    if isinstance(value, np.ndarray):
        actual = f"an array of {'text' if value.dtype.kind in 'SU' else value.dtype} and the shape {value.shape}"
    else:
        actual = f"{value!r:.40}" if value is None else f"{value!r:.40} (of type {type(value).__name__})"
    return InvalidArgumentError(
        f"The input {argument.name!r} takes {argument.type} of the shape {shown(argument.shape)}, but it was fed {actual}.",
        hint=hint,
    )


def shown(shape: Sequence[Any]) -> str:
    """A shape as text: open sizes by their names, or as a question mark."""
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def result(value: Any) -> Any:
    """A result in onnxruntime's form: arrays of any rank, text as `str`, lists, dicts, or None."""
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, list):
        return [result(item) for item in value]
    if type(value) is np.ndarray and value.dtype != object:
        return value
    return np.asarray(told(value))
