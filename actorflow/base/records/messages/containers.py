"""Lists and maps of messages: what is added to them is checked, and messages are copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from actorflow.base.records import wire
from actorflow.base.records.messages.values import WIRE, ZERO, Field, checked, checked_array, read, write
from actorflow.base.records.wire import BYTES, VARINT

if TYPE_CHECKING:
    from actorflow.base.records.messages.message import Message


class ListOf(list[Any]):
    """A list field. The message `owner` learns of changes if the list belongs to a group in which a single field may be set."""

    __slots__ = ("_field", "_owner")

    def __init__(self, field: Field, owner: Message | None = None) -> None:
        super().__init__()
        self._field, self._owner = field, owner

    def add(self, **values: Any) -> Any:
        """Appends a new message with these fields, and gives it."""
        entry = self._field.kind(**values)
        self.adopt([entry])
        return entry

    def append(self, value: Any) -> None:
        self.adopt([entry_of(self._field, value)])

    def extend(self, values: Iterable[Any]) -> None:
        entries = checked_array(self._field, values)
        self.adopt([entry_of(self._field, value) for value in values] if entries is None else entries)

    def insert(self, index: Any, value: Any) -> None:
        self[index:index] = [value]

    def __setitem__(self, index: Any, value: Any) -> None:
        field = self._field
        entries = [entry_of(field, part) for part in value] if isinstance(index, slice) else entry_of(field, value)
        super().__setitem__(index, entries)
        self.adopt(())

    def __iadd__(self, values: Iterable[Any]) -> ListOf:  # type: ignore[misc]
        self.extend(values)
        return self

    def adopt(self, entries: Iterable[Any]) -> None:
        """Appends entries that are checked already and no one else's."""
        super().extend(entries)
        if self._owner is not None:
            self._owner._touched()

    def MergeFrom(self, values: Iterable[Any]) -> None:
        self.extend(values)

    def __reduce__(self) -> Any:
        return list, (list(self),)


class MapOf(dict[Any, Any]):
    """A map field; a message that is asked for and not there is made, as generated messages do."""

    __slots__ = ("_field", "_key", "_owner")

    def __init__(self, field: Field, owner: Message | None = None) -> None:
        super().__init__()
        self._field, self._key, self._owner = field, Field(1, field.key), owner

    def __missing__(self, key: Any) -> Any:
        name = checked(self._key, key)
        if name in self:
            return self[name]
        if not self._field.is_message:
            raise KeyError(key)
        return self._keep(name, self._field.kind())

    def __setitem__(self, key: Any, value: Any) -> None:
        self._keep(checked(self._key, key), entry_of(self._field, value))

    def _keep(self, key: Any, entry: Any) -> Any:
        super().__setitem__(key, entry)
        if self._owner is not None:
            self._owner._touched()
        return entry

    def update(self, *others: Any, **values: Any) -> None:
        for key, value in dict(*others, **values).items():
            self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def __ior__(self, other: Any) -> MapOf:  # type: ignore[misc]
        self.update(other)
        return self

    def get_or_create(self, key: Any) -> Any:
        """The message of a key, which is made at its first use."""
        return self[key]

    def MergeFrom(self, other: Mapping[Any, Any]) -> None:
        self.update(other)

    def parse(self, entry: Any, depth: int) -> None:
        """Takes an entry from the wire, of a message that lies so deep within others."""
        field = self._field
        key: Any = ZERO.get(field.key, 0)
        value: Any = field.kind() if field.is_message else ZERO.get(field.kind, 0)
        kinds = {1: WIRE.get(field.key, VARINT), 2: BYTES if field.is_message else WIRE.get(field.kind, VARINT)}
        for number, content in wire.typed(entry, kinds):
            if number == 1:
                key = read(self._key, content)
            elif field.is_message:
                value._merge(content, depth)
            else:
                value = read(field, content)
        self._keep(key, value)

    def entries(self) -> Iterator[bytes]:
        """The entries for the wire, in the order of their keys."""
        for key in sorted(self):
            yield write(self._key, key) + write(self._field, self[key], number=2)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def entry_of(field: Field, value: Any) -> Any:
    """The thing that a list or map keeps of a value: a message is copied. Raises TypeError for another type of value."""
    if not field.is_message:
        return checked(field, value)
    if type(value) is not field.kind and not isinstance(value, Mapping):
        raise TypeError(f"A {field.kind.__name__} belongs here, not {value!r:.60}, which is a {type(value).__name__}.")
    entry = field.kind(**value) if isinstance(value, Mapping) else field.kind()
    if not isinstance(value, Mapping):
        entry.CopyFrom(value)
    return entry
