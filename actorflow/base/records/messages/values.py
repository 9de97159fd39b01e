"""`Field`, and the values of fields that are no messages: what a field takes, and how the wire has it."""

from __future__ import annotations

import math
import operator
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.records import wire
from actorflow.base.records.wire import BYTES, FIXED32, FIXED64, VARINT, BrokenMessageError

WIRE = {"float": FIXED32, "double": FIXED64, "string": BYTES, "bytes": BYTES}
ZERO: dict[str, Any] = {"float": 0.0, "double": 0.0, "string": "", "bytes": b"", "bool": False}
_RANGE = {"uint": (0, 2**64), "bool": (0, 2)}
_SIGNED = (-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    Args:
        number: its number on the wire.
        kind: `int` (of 64 bits), `uint`, `enum`, `bool`, `float`, `double`, `string`, `bytes`, or the class of a message.
        repeated: a list of them.
        key: a map from keys of this kind.
        oneof: the name of the group of which one field is set at a time.
        names: the names of an enumeration's numbers.
        encodes: whether a field of bytes takes text, as UTF-8.
    """

    number: int
    kind: Any
    repeated: bool = False
    key: str = ""
    oneof: str = ""
    names: tuple[tuple[int, str], ...] = ()
    encodes: bool = True

    @property
    def is_message(self) -> bool:
        return isinstance(self.kind, type)


def checked(field: Field, value: Any) -> Any:
    """A value as the field keeps it: the same value, or none at all.

    Raises:
        TypeError: the value is of another type, such as a float for a field of integers.
        ValueError: it is out of the field's range.
    """
    kind = field.kind
    if kind == "bytes":
        if isinstance(value, bytes):
            return bytes(value)
        if isinstance(value, str):
            if field.encodes:
                return value.encode()
            raise TypeError(f"A field of bytes can't be the text {value!r:.60}: encode it, as with .encode('utf-8').")
    elif kind == "string":
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, str):
            return str(value)
    elif kind in ("float", "double"):
        if _is_real(value):
            return _number(kind, value)
    else:
        value = getattr(value, "as_datatype_enum", value)
        if hasattr(value, "__index__") and getattr(value, "ndim", 0) == 0 or isinstance(value, np.bool_):
            return _whole(kind, value)
    raise TypeError(f"A field of type {kind} can't be {value!r:.60}, which is a {type(value).__name__}.")


def checked_array(field: Field, values: Any) -> list[Any] | None:
    """The values of a vector of numpy, checked at once; None if each value has to be looked at by itself."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or field.is_message:
        return None
    if field.kind in ("float", "double") and values.dtype.kind in "fiu":
        with np.errstate(over="ignore"):
            plain: list[Any] = values.astype("<f4" if field.kind == "float" else "<f8").tolist()
        return plain
    if field.kind == "int" and values.dtype.kind in "ib":
        whole: list[Any] = values.astype(np.int64).tolist()
        return whole
    return None


def _is_real(value: Any) -> bool:
    if isinstance(value, (str, bytes, bytearray, complex, np.complexfloating)) or np.ndim(value):
        return False
    return hasattr(value, "__float__") or hasattr(value, "__index__")


def _number(kind: str, value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"A field of type {kind} can't be {value!r:.60}, which no float holds.") from None
    if kind == "double" or not math.isfinite(number):
        return number
    try:
        narrow: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:  # beyond 32 bits
        return math.copysign(math.inf, number)
    return narrow


def _whole(kind: str, value: Any) -> Any:
    number = int(value) if isinstance(value, np.bool_) else operator.index(value)
    first, end = _RANGE.get(kind, _SIGNED)
    if not first <= number < end:
        raise ValueError(f"A field of type {kind} can't be {number}: it holds numbers from {first} to {end - 1}.")
    return bool(number) if kind == "bool" else number


def read(field: Field, value: Any) -> Any:
    """A value from the wire."""
    kind = field.kind
    if kind in ("float", "double"):
        return struct.unpack("<f" if kind == "float" else "<d", value)[0]
    if kind == "string":
        return str(value, "utf-8", "surrogateescape")
    if kind == "bytes":
        return bytes(value)
    if kind == "bool":
        return bool(value)
    return value - 2**64 if value >= 2**63 and kind != "uint" else value


def read_packed(field: Field, data: bytes) -> list[Any]:
    """The values of a list that is one field on the wire."""
    if field.kind in ("float", "double"):
        form, width = ("<f4", 4) if field.kind == "float" else ("<f8", 8)
        if len(data) % width:
            raise BrokenMessageError("A list of numbers is cut off.")
        plain: list[Any] = np.frombuffer(data, form).tolist()
        return plain
    numbers = wire.varints(data)
    whole: list[Any] = (numbers.view(np.uint64) if field.kind == "uint" else numbers).tolist()
    return [bool(n) for n in whole] if field.kind == "bool" else whole


def write(field: Field, value: Any, number: int = 0) -> bytes:
    """One value with its number, the field's unless another is said."""
    number = number or field.number
    if field.is_message:
        return wire.write_field(number, value.SerializeToString())
    if field.kind in ("string", "bytes"):
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        return wire.write_field(number, data)
    return wire.write_varint(number << 3 | WIRE.get(field.kind, VARINT)) + _scalar(field.kind, value)


def write_list(field: Field, values: Any) -> bytes:
    """A list: numbers in one field, the rest in one each."""
    if field.is_message or field.kind in ("string", "bytes"):
        return b"".join([write(field, entry) for entry in values])
    if field.kind in ("float", "double"):
        body = np.array(values, "<f4" if field.kind == "float" else "<f8").tobytes()
    else:
        body = b"".join([wire.write_varint(int(entry)) for entry in values])
    return wire.write_field(field.number, body)


def write_unknown(number: int, kind: int, value: Any) -> bytes:
    """A field that no class lists, as it came."""
    if kind == BYTES:
        return wire.write_field(number, value)
    return wire.write_varint(number << 3 | kind) + (wire.write_varint(value) if kind == VARINT else value)


def _scalar(kind: str, value: Any) -> bytes:
    if kind in ("float", "double"):
        return struct.pack("<f" if kind == "float" else "<d", value)
    return wire.write_varint(int(value))
