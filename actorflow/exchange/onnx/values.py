"""Values of an ONNX graph while it is built: tensors, arrays that are known already, sequences, optionals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import DType, as_dtype
from actorflow.base.shapes import Shape
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.types import ValueType
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.flow import lists
from actorflow.graph.ops.static import get_static_value
from actorflow.graph.tensor import Tensor

Value: TypeAlias = Any
"""A `Tensor`, an array, a `Listed`, or an `Optional_`."""


class NotKnownError(InvalidArgumentError):
    """A value decides what is built, but only a run knows it. `load(values=...)` can say it."""


class Listed:
    """A sequence: its elements where the graph decides how many there are, else a tensor that holds a list."""

    __slots__ = ("_flow", "dtype", "items", "shape")

    def __init__(self, dtype: DType | None, shape: Shape = None, flow: Tensor | None = None, items: Any = None) -> None:
        self.dtype = dtype
        self.shape = shape
        self.items: list[Any] | None = items
        self._flow = flow

    @property
    def flow(self) -> Tensor:
        """The tensor that holds the list. It is made at the place of its use, because that may be within a loop's body."""
        if self._flow is not None:
            return self._flow
        assert self.items is not None
        items = lists.reserve(np.int32(len(self.items)))
        for at, item in enumerate(self.items):
            items = lists.set_item(items, np.int32(at), item)
        return items

    @property
    def element(self) -> dict[str, Any]:
        """The attributes of ops that take an element out."""
        if self.dtype is None:
            raise InvalidArgumentError("An element is taken from a sequence of which nothing says the element type.")
        return {"element_dtype": self.dtype, "element_shape": self.shape}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A map, or a map for each row.

    Args:
        keys: a vector of strings or whole numbers.
        values: a vector, or a matrix with a row for each map.
        rows: whether it is a sequence of maps.
    """

    keys: Value
    values: Value
    rows: bool = False


@dataclass(frozen=True, slots=True)
class Optional_:
    """A value that may be missing: `present` is a truth value, or a tensor of a truth value."""

    present: Any
    value: Value = None


def static(value: Any) -> Any:
    """The array that a value is known to be, or None."""
    if isinstance(value, np.ndarray):
        return value
    return get_static_value(value) if isinstance(value, Tensor) else None


def ints(value: Any) -> list[int] | None:
    """The whole numbers of a vector, or None where only a run knows them."""
    constant = static(value)
    return None if constant is None else [int(number) for number in np.reshape(constant, -1)]


def dtype_of(value: Any) -> DType:
    """The element type of a tensor or an array."""
    return value.dtype if isinstance(value, Tensor) else as_dtype(value.dtype)


def shape_of(value: Any) -> Shape:
    """The static shape of a tensor or an array."""
    return value.static_shape if isinstance(value, Tensor) else tuple(value.shape)


def flatten(value: Value, kind: ValueType | None = None) -> list[Any]:
    """The tensors that a value consists of. `kind` says what an optional without a value would hold."""
    if isinstance(value, Listed):
        return [value.flow]
    if isinstance(value, Optional_):
        inner = value.value
        if inner is None:
            if kind is None:
                raise InvalidArgumentError("Nothing says the type of an optional that has no value.")
            shape = tuple(size or 0 for size in kind.shape or ())
            inner = (
                Listed(kind.dtype, items=[]) if kind.inside == "sequence" else zeros(shape, kind.dtype or np.float32)
            )
        return [convert_to_tensor(value.present), *flatten(inner)]
    return [convert_to_tensor(value)]


def rebuilt(like: Value, tensors: Sequence[Any], kind: ValueType | None = None) -> Value:
    """The value of the form of `like` that consists of `tensors`."""
    if isinstance(like, Listed):
        return Listed(like.dtype or (None if kind is None else kind.dtype), like.shape, flow=tensors[0])
    if isinstance(like, Optional_):
        inner = like.value
        if inner is None and kind is not None and kind.inside == "sequence":
            inner = Listed(kind.dtype)
        return Optional_(tensors[0], rebuilt(inner, tensors[1:], kind))
    return tensors[0]
