"""Messages of Protocol Buffers as light Python classes: fields, the wire format, and the text format.

A class lists its fields; what programs do with generated messages works: fields by name, `HasField`, `WhichOneof`, `add()` and
`extend` of lists, `CopyFrom`, `SerializeToString`, `ParseFromString`, `str()`. Fields that a class does not list are kept as
they came.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from actorflow.records import wire
from actorflow.records.wire import BYTES, FIXED32, FIXED64, VARINT, BrokenMessageError

_WIRE = {"float": FIXED32, "double": FIXED64, "string": BYTES, "bytes": BYTES}
_DEEPEST = 64  # of messages within messages; a node in the body of a loop in the body of a loop is some ten deep
_ZERO: dict[str, Any] = {"float": 0.0, "double": 0.0, "string": "", "bytes": b"", "bool": False}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    Args:
        number: its number on the wire.
        kind: `int`, `enum`, `bool`, `float`, `double`, `string`, `bytes`, or the class of a message.
        repeated: a list of them.
        key: a map from keys of this kind.
        oneof: the name of the group of which one field is set at a time.
        names: the names of an enumeration's numbers.
    """

    number: int
    kind: Any
    repeated: bool = False
    key: str = ""
    oneof: str = ""
    names: tuple[tuple[int, str], ...] = ()

    @property
    def is_message(self) -> bool:
        return isinstance(self.kind, type)


class Message:
    """The base of all messages; a class gives `FIELDS`."""

    FIELDS: ClassVar[dict[str, Field]] = {}
    _values: dict[str, Any]
    _unknown: bytes
    _present: bool

    def __init__(self, **values: Any) -> None:
        """Takes fields by name. Raises AttributeError for a field that there is not."""
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_unknown", b"")
        object.__setattr__(self, "_present", False)
        for name, value in values.items():
            field = self._field(name)
            if field.repeated:
                getattr(self, name).extend(value)
            elif field.key:
                for key, entry in value.items():
                    getattr(self, name)._set(key, entry)
            elif field.is_message:
                getattr(self, name).CopyFrom(value)
            else:
                setattr(self, name, value)

    @classmethod
    def _field(cls, name: str) -> Field:
        field = cls.FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{cls.__name__} has no field {name!r}; it has: {', '.join(cls.FIELDS)}.")
        return field

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        field = self._field(name)
        found = self._values.get(name)
        if found is None:
            if field.key:
                found = self._values[name] = MapOf(field)
            elif field.repeated:
                found = self._values[name] = ListOf(field)
            elif field.is_message:
                found = self._values[name] = field.kind()
            else:
                return _ZERO.get(field.kind, 0)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._field(name)
        if field.repeated or field.key or field.is_message:
            raise AttributeError(f"Field {name!r} of {type(self).__name__} is changed in place, by extend or CopyFrom.")
        self._clear_others(name, field)
        self._values[name] = _checked(field, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A field is cleared with ClearField({name!r}).")

    def _clear_others(self, name: str, field: Field) -> None:
        if field.oneof:
            for other, entry in self.FIELDS.items():
                if entry.oneof == field.oneof and other != name:
                    self._values.pop(other, None)

    def _is_set(self, name: str) -> bool:
        field, value = self.FIELDS[name], self._values.get(name)
        if value is None:
            return False
        if isinstance(value, Message):
            return value._present or any(map(value._is_set, value.FIELDS)) or bool(value._unknown)
        if isinstance(value, (ListOf, MapOf)):
            return len(value) > 0
        return bool(field.oneof) or value != _ZERO.get(field.kind, 0)

    # As programs use generated messages

    def HasField(self, name: str) -> bool:
        """Whether a single field is set. Raises ValueError for lists and maps."""
        field = self._field(name)
        if field.repeated or field.key:
            raise ValueError(f"Field {name!r} of {type(self).__name__} is a list or map: look at its length.")
        return self._is_set(name)

    def WhichOneof(self, group: str) -> str | None:
        """The field of a group that is set, or None."""
        return next((n for n, f in self.FIELDS.items() if f.oneof == group and self._is_set(n)), None)

    def ClearField(self, name: str) -> None:
        """Unsets a field."""
        self._field(name)
        self._values.pop(name, None)

    def Clear(self) -> None:
        """Unsets all fields."""
        self._values.clear()
        object.__setattr__(self, "_unknown", b"")

    def SetInParent(self) -> None:
        """Makes an empty message count as set."""
        object.__setattr__(self, "_present", True)

    def CopyFrom(self, other: Self) -> None:
        """Takes all fields of another message, in place of its own."""
        if type(other) is not type(self):
            raise TypeError(f"A {type(self).__name__} is copied from one, not from a {type(other).__name__}.")
        if other is not self:
            self.ParseFromString(other.SerializeToString())
            self.SetInParent()

    def MergeFrom(self, other: Self) -> None:
        """Adds the fields of another message: single ones are replaced, lists are continued."""
        self.MergeFromString(other.SerializeToString())

    def ListFields(self) -> list[tuple[str, Any]]:
        """The fields that are set, as (name, value)."""
        return [(name, getattr(self, name)) for name in self.FIELDS if self._is_set(name)]

    def ByteSize(self) -> int:
        """The length on the wire, in bytes."""
        return len(self.SerializeToString())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.SerializeToString() == other.SerializeToString()

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: Any) -> Self:
        return type(self).FromString(self.SerializeToString())

    def __copy__(self) -> Self:
        return self.__deepcopy__(None)

    def __reduce__(self) -> Any:
        return type(self).FromString, (self.SerializeToString(),)

    # The wire format

    @classmethod
    def FromString(cls, data: bytes) -> Self:
        """The message that `data` is. Raises BrokenMessageError (an InvalidArgumentError) where it is none."""
        made = cls()
        made._merge(memoryview(data), 0)
        return made

    def ParseFromString(self, data: bytes) -> int:
        """Takes the fields of `data` in place of its own; gives the number of bytes. Raises BrokenMessageError."""
        self.Clear()
        return self.MergeFromString(data)

    def MergeFromString(self, data: bytes) -> int:
        """Adds the fields of `data`. Raises BrokenMessageError, which names the field, where it is no message."""
        self._merge(memoryview(data), 0)
        return len(data)

    def _merge(self, data: Any, depth: int) -> None:
        """Adds the fields of a view of bytes. Nothing is copied but what fields of bytes and strings keep."""
        if depth > _DEEPEST:
            raise BrokenMessageError(f"The message holds messages within each other, more than {_DEEPEST} deep.")
        numbers = {field.number: (name, field) for name, field in self.FIELDS.items()}
        object.__setattr__(self, "_present", True)
        unknown = []
        for number, kind, value in wire.fields(data):
            name, field = numbers.get(number, ("", None))
            try:
                if field is None or not self._take(name, field, kind, value, depth):
                    unknown.append(_raw(number, kind, value))
            except BrokenMessageError as error:
                error.add_note(f"  in the field {name!r} of {type(self).__name__}")
                raise
        if unknown:
            object.__setattr__(self, "_unknown", b"".join((self._unknown, *unknown)))

    def _take(self, name: str, field: Field, kind: int, value: Any, depth: int) -> bool:
        """Takes one field from the wire; False where its wire type is none of the field's."""
        if field.key or field.is_message:
            if kind != BYTES:
                return False
            self._clear_others(name, field)
            place = getattr(self, name)
            if field.key:
                place._parse(value)
            elif field.repeated:
                made = field.kind()
                made._merge(value, depth + 1)
                place.append(made)
            else:
                place._merge(value, depth + 1)
            return True
        width = _WIRE.get(field.kind, VARINT)
        if field.repeated:
            if kind == BYTES and width != BYTES:
                getattr(self, name).extend(_packed(field, value))
            elif kind == width:
                getattr(self, name).append(_read(field, value))
            else:
                return False
        elif kind == width:
            self._clear_others(name, field)
            self._values[name] = _read(field, value)
        else:
            return False
        return True

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message in the wire format, the same bytes for the same fields."""
        return self._serialized()

    def _serialized(self, without: str = "") -> bytes:
        """The message in the wire format, without the field of that name."""
        out = []
        for name, field in sorted(self.FIELDS.items(), key=lambda item: item[1].number):
            if name != without and self._is_set(name):
                out.append(_written(field, self._values[name]))
        return b"".join(out) + self._unknown

    def apart(self, name: str) -> tuple[bytes, Any]:
        """The message without a field, in the wire format, and that field, of which no copy is made."""
        return self._serialized(name), getattr(self, name)

    def __str__(self) -> str:
        from actorflow.graphdef.text import write_text

        return write_text(self)

    __repr__ = __str__


class ListOf(list[Any]):
    """A list field."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field

    def add(self, **values: Any) -> Any:
        """Appends a new message with these fields, and gives it."""
        made = self._field.kind(**values)
        super().append(made)
        return made

    def append(self, value: Any) -> None:
        super().append(value if self._field.is_message else _checked(self._field, value))

    def extend(self, values: Iterable[Any]) -> None:
        for value in values:
            self.append(type(value).FromString(value.SerializeToString()) if isinstance(value, Message) else value)

    def MergeFrom(self, values: Iterable[Any]) -> None:
        self.extend(values)


class MapOf(dict[Any, Any]):
    """A map field; a message that is asked for and not there is made, as generated messages do."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field

    def __missing__(self, key: Any) -> Any:
        if not self._field.is_message:
            raise KeyError(key)
        made = self[key] = self._field.kind()
        return made

    def _set(self, key: Any, value: Any) -> None:
        if self._field.is_message:
            self[key].CopyFrom(value)
        else:
            self[key] = value

    def _parse(self, entry: Any) -> None:
        key: Any = _ZERO.get(self._field.key, 0)
        value: Any = self._field.kind() if self._field.is_message else _ZERO.get(self._field.kind, 0)
        for number, _, content in wire.fields(entry):
            if number == 1:
                key = _read(Field(1, self._field.key), content)
            elif number == 2 and self._field.is_message:
                value.MergeFromString(content)
            elif number == 2:
                value = _read(self._field, content)
        self[key] = value

    def _entries(self) -> Iterator[bytes]:
        for key in sorted(self):
            yield _single(Field(1, self._field.key), key) + _single(_at(self._field, 2), self[key])


def _at(field: Field, number: int) -> Field:
    return Field(number, field.kind)


def _checked(field: Field, value: Any) -> Any:
    """A value of a field that is no message. Raises TypeError for another type."""
    kind = field.kind
    if kind == "bytes":
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
    elif kind == "string":
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, str):
            return value
    elif kind in ("float", "double"):
        number = float(value)
        return struct.unpack("<f", struct.pack("<f", number))[0] if kind == "float" else number
    elif kind == "bool":
        return bool(value)
    else:
        value = getattr(value, "as_datatype_enum", value)
        return int(value.__index__())
    raise TypeError(f"A field of type {kind} can't be {value!r:.60}.")


def _read(field: Field, value: Any) -> Any:
    kind = field.kind
    if kind in ("float", "double"):
        return struct.unpack("<f" if kind == "float" else "<d", value)[0]
    if kind == "string":
        return str(value, "utf-8", "surrogateescape")
    if kind == "bytes":
        return bytes(value)
    if kind == "bool":
        return bool(value)
    return value - 2**64 if value >= 2**63 else value


def _packed(field: Field, data: bytes) -> list[Any]:
    if field.kind in ("float", "double"):
        form, width = ("<f", 4) if field.kind == "float" else ("<d", 8)
        if len(data) % width:
            raise BrokenMessageError("A list of numbers is cut off.")
        return [number for (number,) in struct.iter_unpack(form, data)]
    numbers = wire.varints(data).tolist()
    return [bool(n) for n in numbers] if field.kind == "bool" else numbers


def _scalar(kind: str, value: Any) -> bytes:
    if kind in ("float", "double"):
        return struct.pack("<f" if kind == "float" else "<d", value)
    return wire.write_varint(int(value))


def _single(field: Field, value: Any) -> bytes:
    if field.is_message:
        return wire.write_field(field.number, value.SerializeToString())
    if field.kind in ("string", "bytes"):
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        return wire.write_field(field.number, data)
    kind = _WIRE.get(field.kind, VARINT)
    return wire.write_varint(field.number << 3 | kind) + _scalar(field.kind, value)


def _written(field: Field, value: Any) -> bytes:
    if field.key:
        return b"".join([wire.write_field(field.number, entry) for entry in value._entries()])
    if not field.repeated:
        return _single(field, value)
    if field.is_message or field.kind in ("string", "bytes"):
        return b"".join([_single(field, entry) for entry in value])
    return wire.write_field(field.number, b"".join([_scalar(field.kind, entry) for entry in value]))


def _raw(number: int, kind: int, value: Any) -> bytes:
    if kind == BYTES:
        return wire.write_field(number, value)
    return wire.write_varint(number << 3 | kind) + (wire.write_varint(value) if kind == VARINT else value)
