"""The types of operands and results, by the rules of Keras."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor, has_value


def kind(x: Any) -> str:
    """The name of a tensor's type."""
    return standardize_dtype(x.dtype)


def joint(*values: Any, also: Sequence[Any] = ()) -> str:
    """The type in which values of several types meet."""
    return result_type(*[getattr(value, "dtype", type(value)) for value in values], *also)


def common(*values: Any, also: Sequence[Any] = ()) -> list[Any]:
    """Tensors of values in their common type."""
    plain = (bool, int, float, complex)
    typed = [
        value if hasattr(value, "dtype") or isinstance(value, plain) else convert_to_tensor(value) for value in values
    ]
    dtype = joint(*typed, also=also)
    return [convert_to_tensor(value, dtype) for value in typed]


def floating(x: Any) -> Any:
    """A tensor of floating point or complex numbers."""
    x = convert_to_tensor(x)
    name = kind(x)
    dtype = result_type(name, float)
    return x if dtype == name else af.cast(x, dtype)


def counted(x: Any) -> Any:
    """A tensor in the type in which its sums are taken: truth values and small integers become integers of 32 bits."""
    x = convert_to_tensor(x)
    name = kind(x)
    if name in ("bool", "int8", "int16"):
        return af.cast(x, "int32")
    return af.cast(x, "uint32") if name in ("uint8", "uint16") else x


def ordered(x: Any) -> tuple[Any, str]:
    """A tensor that has an order, truth values as integers; and its own type."""
    x = convert_to_tensor(x)
    name = kind(x)
    return (af.cast(x, "int32") if name == "bool" else x), name


def axes_of(axis: Any, rank: int) -> list[int]:
    """Axes as numbers from 0 on; None stands for all."""
    if axis is None:
        return list(range(rank))
    numbers = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    return [int(number) % rank if rank else 0 for number in numbers]


def place_of(axis: int, rank: int) -> int:
    """An axis as a number from 0 on.

    Raises:
        ValueError: there is no such axis.
    """
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


def on_host(function: Callable[..., Any], inputs: Sequence[Any], dtype: Any, shape: Sequence[int | None]) -> Any:
    """The result of a function of numpy, for what has no gradient and no op."""
    if all(has_value(x) for x in inputs):
        return convert_to_tensor(function(*(x.numpy() for x in inputs)), dtype)

    def run(*arrays: Any) -> Any:
        return convert_to_tensor(function(*arrays), dtype).numpy()

    result = af.numpy_function(run, list(inputs), dtype)
    result.set_shape(shape)
    return result
