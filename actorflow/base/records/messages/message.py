"""`Message`: what programs do with generated messages works with it.

That is: fields by name, `HasField`, `WhichOneof`, `add()` and `extend` of lists, `CopyFrom`, `SerializeToString`,
`ParseFromString`, `str()`. Values that a field can't hold are refused. Fields that a class does not list are kept as they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from actorflow.base.records import wire
from actorflow.base.records.messages.containers import ListOf, MapOf
from actorflow.base.records.messages.values import (
    WIRE,
    ZERO,
    Field,
    checked,
    read,
    read_packed,
    write,
    write_list,
    write_unknown,
)
from actorflow.base.records.wire import BYTES, VARINT, BrokenMessageError

_DEEPEST = 64  # of messages within messages; a node in the body of a loop in the body of a loop is some ten deep


class Message:
    """The base of all messages; a class gives `FIELDS`."""

    FIELDS: ClassVar[dict[str, Field]] = {}
    _values: dict[str, Any]
    _unknown: bytes
    _present: bool

    _parent: Message | None

    def __init__(self, **values: Any) -> None:
        """Takes fields by name.

        Raises:
            AttributeError: there is no such field.
            TypeError: a field can't hold a value of that type.
            ValueError: a value is out of range, or there are two fields of a group of which a single field can be set.
        """
        for name, start in (("_values", {}), ("_unknown", b""), ("_present", False), ("_parent", None)):
            object.__setattr__(self, name, start)
        groups: dict[str, str] = {}
        for name, value in values.items():
            field = self._field(name)
            if value is None:
                continue
            if field.oneof and (other := groups.setdefault(field.oneof, name)) != name:
                raise ValueError(f"A {type(self).__name__} has one list or value, {other!r} or {name!r}, not both.")
            self._take_argument(name, field, value)

    def _take_argument(self, name: str, field: Field, value: Any) -> None:
        try:
            if field.key:
                getattr(self, name).update(value)
            elif field.repeated:
                getattr(self, name).extend(value)
            elif not field.is_message:
                setattr(self, name, value)
            elif isinstance(value, Mapping):
                getattr(self, name).CopyFrom(field.kind(**value))
            else:
                getattr(self, name).CopyFrom(value)
        except (TypeError, ValueError) as error:
            error.add_note(f"  in the field {name!r} of {type(self).__name__}")
            raise

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
        content = self._values.get(name)
        if content is None:
            owner = self if field.oneof or self._parent is not None else None
            if field.key:
                content = MapOf(field, owner)
            elif field.repeated:
                content = ListOf(field, owner)
            elif field.is_message:
                content = field.kind()
                object.__setattr__(content, "_parent", owner)
            else:
                return ZERO.get(field.kind, 0)
            self._values[name] = content
        return content

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._field(name)
        if field.repeated or field.key or field.is_message:
            if value is self._values.get(name):  # after +=
                return
            raise AttributeError(f"Field {name!r} of {type(self).__name__} is changed in place, by extend or CopyFrom.")
        self._clear_others(name, field)
        self._values[name] = checked(field, value)
        self._touched()

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A field is cleared with ClearField({name!r}).")

    def _clear_others(self, name: str, field: Field) -> None:
        if field.oneof:
            for other, entry in self.FIELDS.items():
                if entry.oneof == field.oneof and other != name:
                    self._drop(other)

    def _drop(self, name: str) -> None:
        content = self._values.pop(name, None)
        if isinstance(content, Message):
            object.__setattr__(content, "_parent", None)  # what holds it on may change it: that is no change here

    def _touched(self) -> None:
        """Makes this the field that is set, of the fields of a group around it."""
        parent = self._parent
        if parent is None:
            return
        object.__setattr__(self, "_present", True)
        name = next((name for name, content in parent._values.items() if content is self), "")
        if name:
            parent._clear_others(name, parent.FIELDS[name])
            parent._touched()

    def _is_set(self, name: str) -> bool:
        field, value = self.FIELDS[name], self._values.get(name)
        if value is None:
            return False
        if isinstance(value, Message):
            return value._present or any(map(value._is_set, value.FIELDS)) or bool(value._unknown)
        if isinstance(value, (ListOf, MapOf)):
            return len(value) > 0
        return bool(field.oneof) or value != ZERO.get(field.kind, 0)

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
        self._drop(name)

    def Clear(self) -> None:
        """Unsets all fields."""
        for name in list(self._values):
            self._drop(name)
        object.__setattr__(self, "_unknown", b"")

    def SetInParent(self) -> None:
        """Makes an empty message count as set."""
        object.__setattr__(self, "_present", True)
        self._touched()

    def IsInitialized(self) -> bool:
        """Whether all required fields are set: there are none here."""
        return True

    def FindInitializationErrors(self) -> list[str]:
        """The names of required fields that are not set: there are none."""
        return []

    def UnknownFields(self) -> list[tuple[int, int, Any]]:
        """The fields that came and that the class does not list, as (number, type on the wire, value)."""
        return [(number, kind, value) for number, kind, value in wire.fields(memoryview(self._unknown))]

    def DiscardUnknownFields(self) -> None:
        """Forgets the fields that the class does not list, those of messages in this message included."""
        object.__setattr__(self, "_unknown", b"")
        for content in self._values.values():
            parts = (
                content.values()
                if isinstance(content, MapOf)
                else content
                if isinstance(content, ListOf)
                else [content]
            )
            for part in parts:
                if isinstance(part, Message):
                    part.DiscardUnknownFields()

    def HasExtension(self, extension: Any) -> bool:
        """Raises KeyError: messages have no extensions."""
        raise KeyError(f"{type(self).__name__} is not extendable: {extension!r:.60}.")

    ClearExtension = HasExtension

    @staticmethod
    def RegisterExtension(extension: Any) -> None:
        """Raises TypeError: messages have no extensions."""
        raise TypeError(f"Messages are not extendable: {extension!r:.60}.")

    def CopyFrom(self, other: Self) -> None:
        """Takes all fields of another message, in place of its own."""
        self._refuse_other(other)
        if other is not self:
            self.Clear()
            self.MergeFrom(other)

    def MergeFrom(self, other: Self) -> None:
        """Adds the fields of another message: single fields are replaced, lists are continued."""
        self._refuse_other(other)
        for name, content in other._values.items():
            if not other._is_set(name):
                continue
            field = self.FIELDS[name]
            self._clear_others(name, field)
            if field.key or field.repeated or field.is_message:
                getattr(self, name).MergeFrom(content)
            else:
                self._values[name] = content
        object.__setattr__(self, "_unknown", self._unknown + other._unknown)
        self.SetInParent()

    def _refuse_other(self, other: object) -> None:
        if type(other) is not type(self):
            raise TypeError(f"A {type(self).__name__} is copied from one, not from a {type(other).__name__}.")

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
        """The message that `data` is. Raises BrokenMessageError (an InvalidArgumentError) if `data` is no message."""
        message = cls()
        message._merge(memoryview(data), 0)
        return message

    def ParseFromString(self, data: bytes) -> int:
        """Takes the fields of `data` in place of its own; gives the number of bytes. Raises BrokenMessageError."""
        self.Clear()
        return self.MergeFromString(data)

    def MergeFromString(self, data: bytes) -> int:
        """Adds the fields of `data`. Raises BrokenMessageError, which names the field, if `data` is no message."""
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
                    unknown.append(write_unknown(number, kind, value))
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
                place.parse(value, depth + 1)
            elif field.repeated:
                message = field.kind()
                message._merge(value, depth + 1)
                place.adopt([message])
            else:
                place._merge(value, depth + 1)
            return True
        width = WIRE.get(field.kind, VARINT)
        if field.repeated:
            if kind == BYTES and width != BYTES:
                getattr(self, name).adopt(read_packed(field, value))
            elif kind == width:
                getattr(self, name).adopt([read(field, value)])
            else:
                return False
        elif kind == width:
            self._clear_others(name, field)
            self._values[name] = read(field, value)
        else:
            return False
        return True

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message in the wire format, the same bytes for the same fields."""
        return self._serialized()

    SerializePartialToString = SerializeToString

    def _serialized(self, without: str = "") -> bytes:
        """The message in the wire format, without the field of that name."""
        out = []
        for name, field in sorted(self.FIELDS.items(), key=lambda item: item[1].number):
            if name != without and self._is_set(name):
                out.append(self._written(field, self._values[name]))
        return b"".join(out) + self._unknown

    def apart(self, name: str) -> tuple[bytes, Any]:
        """The message without a field, in the wire format, and that field, of which no copy is made."""
        return self._serialized(name), getattr(self, name)

    def __str__(self) -> str:
        from actorflow.base.records.messages.text import write_text

        return write_text(self)

    __repr__ = __str__

    @staticmethod
    def _written(field: Field, value: Any) -> bytes:
        if field.key:
            return b"".join([wire.write_field(field.number, entry) for entry in value.entries()])
        return write_list(field, value) if field.repeated else write(field, value)
