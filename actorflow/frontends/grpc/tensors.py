"""Tensors in typed lists, as a message has them beside raw bytes: a field for each group of element types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from actorflow.base.records import wire
from actorflow.base.records.wire import BYTES, FIXED32, FIXED64, VARINT
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.serving.protocols.kserve import TYPES
from actorflow.frontends.serving.protocols.pieces import Work

_FIELDS = {1: "bool", 2: "int", 3: "int64", 4: "uint", 5: "uint64", 6: "fp32", 7: "fp64", 8: "bytes"}
"""The fields of `InferTensorContents`; each name ends with `_contents`."""
_PLACES = {
    "BOOL": 1, "INT8": 2, "INT16": 2, "INT32": 2, "INT64": 3, "UINT8": 4, "UINT16": 4, "UINT32": 4, "UINT64": 5,
    "FP32": 6, "FP64": 7, "BYTES": 8,
}  # fmt: skip
_FLOATS = {6: (FIXED32, "<f4"), 7: (FIXED64, "<f8")}
_CHECKS = 4096
"""Values between two looks at whether the work has still a use."""


def has_list(kind: str) -> bool:
    """Whether values of a type have a typed list: those of 16-bit floats have none."""
    return kind in _PLACES


def of_contents(what: str, kind: str, shape: list[int], count: int, data: bytes, work: Work) -> Any:
    """The array of a tensor that was sent as a typed list.

    Args:
        what: the tensor, for errors.
        kind: its type, such as `FP32`.
        shape: its shape.
        count: how many elements that has.
        data: the message with the lists.
        work: the bounds of the work.

    Raises:
        InvalidArgumentError: the values are in another list, of another number or out of range.
        TooLargeError: it has more single values than allowed.
    """
    place = _PLACES.get(kind)
    if place is None:
        raise InvalidArgumentError(f"{what}: {kind} has no typed list; send it in raw_input_contents.")
    filling = _Texts() if place == 8 else _Numbers(what, kind, min(count, len(data)))
    next_check = 0
    for index, (number, wire_type, value) in enumerate(wire.fields(memoryview(data))):
        if number != place:
            other = _FIELDS.get(number, "unknown")
            raise InvalidArgumentError(
                f"{what} is {kind}: its values belong in {_FIELDS[place]}_contents, not {other}_contents."
            )
        work.check_others(index)
        for values in _values(what, place, wire_type, value):
            filling.add(values)
            if filling.size >= next_check:
                work.check()
                next_check = filling.size + _CHECKS
    if filling.size != count:
        raise InvalidArgumentError(f"{what} has {filling.size} elements, but the shape {shape} has {count}.")
    return filling.array().reshape(shape)


class _Texts:
    """The elements of a tensor of texts."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []

    @property
    def size(self) -> int:
        return len(self._texts)

    def add(self, texts: list[bytes]) -> None:
        self._texts += texts

    def array(self) -> Any:
        array = np.empty(len(self._texts), object)
        array[:] = self._texts
        return array


class _Numbers:
    """The elements of a tensor of numbers, in its type: numbers of 64 bits are there for a piece at a time.

    Args:
        what: the tensor, for errors.
        kind: its type.
        most: the most elements that are kept; further elements are counted.
    """

    def __init__(self, what: str, kind: str, most: int) -> None:
        self._what, self._kind, self.size = what, kind, 0
        self._array = np.empty(most, np.dtype(TYPES[kind].numpy_dtype))

    def add(self, values: Any) -> None:
        typed = _typed(self._what, self._kind, values)
        places = self._array[self.size : self.size + len(values)]
        places[:] = typed[: len(places)]
        self.size += len(values)

    def array(self) -> Any:
        return self._array[: self.size]


def _values(what: str, place: int, wire_type: int, value: Any) -> Iterable[Any]:
    """The values of a field, in pieces: of a packed list, or a single value."""
    if place == 8 and wire_type == BYTES:
        return ([bytes(value)],)
    if place in _FLOATS and wire_type in (BYTES, _FLOATS[place][0]):
        dtype = np.dtype(_FLOATS[place][1])
        if not len(value) % dtype.itemsize:
            return (np.frombuffer(value, dtype),)
    elif wire_type == BYTES and place < 6:
        return wire.varint_pieces(value)
    elif wire_type == VARINT and place < 6:
        return (np.array([value], np.uint64).view(np.int64),)
    raise InvalidArgumentError(f"{what} has {_FIELDS[place]}_contents that can't be read.")


def _typed(what: str, kind: str, values: Any) -> Any:
    target = np.dtype(TYPES[kind].numpy_dtype)
    if kind == "BOOL":
        return values != 0
    if kind == "UINT64":
        return values.view(np.uint64)
    if target.kind in "iu" and values.size:
        limits = np.iinfo(target)
        if int(values.min()) < limits.min or int(values.max()) > limits.max:
            raise InvalidArgumentError(f"{what} has numbers that are no {kind}.")
    return values.astype(target, copy=False)


def to_contents(array: Any, kind: str) -> bytes:
    """A tensor as the message with its typed list; the type has to have such a list."""
    place = _PLACES[kind]
    if place == 8:
        texts = [item if isinstance(item, bytes) else str(item).encode() for item in array.ravel().tolist()]
        return b"".join([wire.write_field(place, text) for text in texts])
    if not array.size:
        return b""
    if place in _FLOATS:
        return wire.write_field(place, np.ascontiguousarray(array, _FLOATS[place][1]).tobytes())
    return wire.write_field(place, wire.write_varints(array))
