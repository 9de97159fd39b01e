"""`ContentTable`: keys and values on a device. Each operation is atomic."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.packed_strings import PackedStrings, pack
from actorflow.base.process import forks
from actorflow.base.records import wire
from actorflow.base.records.proto_tensor import read_tensor, write_tensor
from actorflow.errors import FailedPreconditionError, InvalidArgumentError

from ..native.library import function
from ..strings.objects import as_arrays

_indexed, _looked_up = function("indexed"), function("looked_up")


class ContentTable:
    """A table in memory. Keys and scalar values are Python's own; other values are arrays of `shape`.

    `once`: it is filled once, and then does not change.
    """

    def __init__(self, name: str, key: DType, value: DType, shape: tuple[int, ...] = (), *, once: bool = True) -> None:
        self.name, self.key, self.value, self.shape, self.once = name, key, value, shape, once
        self._items: dict[Any, Any] = {}
        self._index: tuple[Any, ...] | None = None  # of a table that does not change: for the library in C
        self._packed: tuple[bytes, PackedStrings] | None = (
            None  # a default, and its strings with that default behind them
        )
        self._filled = not once
        self._lock = forks.new_lock()

    def fits(self, key: DType, value: DType, shape: tuple[int, ...], once: bool) -> bool:
        """Whether it is such a table."""
        return (self.key, self.value, self.shape, self.once) == (key, value, shape, once)

    def find(self, keys: Any, default: Any, *, packs: bool = False) -> Any:
        """The values of `keys`, which may be packed; with `packs`, strings may be so too.

        Raises FailedPreconditionError before the table is filled."""
        keys, default = self._keys(keys, packed=True), np.asarray(as_arrays(default))
        shape = (*keys.shape, *self.shape)
        if default.shape not in (self.shape, shape):
            raise InvalidArgumentError(
                f"A default of the table {self.name!r} has the shape {self.shape}, or {shape} for each key one, not "
                f"{default.shape}."
            )
        index = self._index
        values = None
        if index is not None and packs and not default.ndim and default.dtype == object:
            values = self._find_packed(index, keys, default)
        elif index is not None:
            values = _looked_up(*index, keys, default)
        if values is not None:
            return values
        keys = as_arrays(keys)
        if self.shape:
            others: Any = np.broadcast_to(default, shape).reshape(-1, *self.shape)
        else:
            others = default.reshape(-1).tolist() if default.ndim else itertools.repeat(default.item())
        flat = keys.reshape(-1).tolist()
        with self._lock:
            self._check_filled()
            entries = list(map(self._items.get, flat, others))
        return self._values(entries).reshape(shape)

    def _find_packed(self, index: tuple[Any, ...], keys: Any, default: Any) -> Any:
        """Packed strings of the table; None where the keys are left to Python."""
        table, stored, values = index
        packed = self._packed
        if packed is None or packed[0] != default.item():
            packed = self._packed = default.item(), pack(np.append(values, default))
        elements = packed[1].elements()
        moved = _looked_up(table, stored, elements[:-1], keys, elements[-1:].reshape(()))
        return None if moved is None else PackedStrings.of_elements(moved, packed[1].data)

    def fill(self, keys: list[Any], values: list[Any]) -> None:
        """Takes its content, once. Raises FailedPreconditionError if the table has other content, or a key two values."""
        entries = dict(zip(keys, values))
        if len(entries) < len(keys):
            for key, value in zip(keys, values):
                if not _same(entries[key], value):
                    raise FailedPreconditionError(
                        f"The table {self.name!r} has different value for same key. Key {_shown(key)} has {_shown(value)} and "
                        f"{_shown(entries[key])}."
                    )
        with self._lock:
            if self._filled and not (
                entries.keys() == self._items.keys() and all(_same(self._items[k], v) for k, v in entries.items())
            ):
                raise FailedPreconditionError(f"The table {self.name!r} was already initialized with different data.")
            self._items, self._filled, self._packed = entries, True, None
        self._index = self._content_indexed()

    def insert(self, keys: list[Any], values: list[Any], *, clear: bool = False) -> None:
        """Puts values under keys, with `clear` in place of all that there was."""
        self._check_changes()
        with self._lock:
            if clear:
                self._items = {}
            self._items.update(zip(keys, values))

    def remove(self, keys: list[Any]) -> None:
        """Takes keys out."""
        self._check_changes()
        with self._lock:
            for key in keys:
                self._items.pop(key, None)

    def __len__(self) -> int:
        """How many keys there are. (An attribute `size` would make it an array to the runtime, which measures its inputs.)"""
        return len(self._items)

    def content(self) -> tuple[Any, Any]:
        """All keys and values as arrays."""
        with self._lock:
            self._check_filled()
            keys, values = list(self._items), list(self._items.values())
        key_array = np.empty(len(keys), self.key.numpy_dtype)
        key_array[:] = keys
        return key_array, self._values(values).reshape(-1, *self.shape)

    def pairs(self, keys: Any, values: Any) -> tuple[list[Any], list[Any]]:
        """Arrays as lists of keys and values. Raises InvalidArgumentError for other types or shapes."""
        keys, values = self._keys(keys), as_arrays(values)
        if values.shape != (*keys.shape, *self.shape):
            raise InvalidArgumentError(
                f"Values of the table {self.name!r} for keys of shape {keys.shape} have the shape "
                f"{(*keys.shape, *self.shape)}, not {values.shape}."
            )
        if values.dtype != self.value.numpy_dtype:
            raise InvalidArgumentError(f"The values of the table {self.name!r} are {self.value}, not {values.dtype}.")
        flat = keys.reshape(-1).tolist()
        if not self.shape:
            return flat, values.reshape(-1).tolist()
        return flat, [np.array(row) for row in values.reshape(-1, *self.shape)]

    def _keys(self, keys: Any, *, packed: bool = False) -> Any:
        keys = keys if packed and isinstance(keys, PackedStrings) else as_arrays(keys)
        if keys.dtype != self.key.numpy_dtype:
            raise InvalidArgumentError(f"The keys of the table {self.name!r} are {self.key}, not {keys.dtype}.")
        return keys

    def _values(self, entries: list[Any]) -> Any:
        if self.shape:
            return np.array(entries, self.value.numpy_dtype)
        array = np.empty(len(entries), self.value.numpy_dtype)
        array[:] = entries
        return array

    def _content_indexed(self) -> tuple[Any, ...] | None:
        """A table of addresses, the keys and the values, as the library in C looks keys up. None for keys of other types."""
        if self.shape:
            return None
        keys, values = self.content()
        if keys.dtype == object:
            keys = pack(keys)
        table = _indexed(keys)
        return None if table is None else (table, keys, values)

    def _check_filled(self) -> None:
        if not self._filled:
            raise FailedPreconditionError(
                f"Table not initialized: {self.name!r} has no content yet.",
                hint="Run its initializer, or af.tables_initializer() for all tables.",
            )

    def _check_changes(self) -> None:
        if self.once:
            raise FailedPreconditionError(f"The table {self.name!r} is filled once, and does not change.")


class SavedTable(ContentTable):
    """A table whose content a checkpoint keeps."""

    def state(self) -> bytes:
        """Its keys and values."""
        keys, values = self.content()
        return wire.write_field(1, write_tensor(keys, self.key)) + wire.write_field(2, write_tensor(values, self.value))

    def restore(self, state: bytes) -> None:
        """Takes these keys and values; the empty state is an empty table."""
        if not state:
            self.insert([], [], clear=True)
            return
        arrays = [read_tensor(value)[1] for _, value in wire.typed(state, {1: wire.BYTES, 2: wire.BYTES})]
        self.insert(*self.pairs(*arrays), clear=True)


def _same(left: Any, other: Any) -> bool:
    return bool(np.all(left == other))


def _shown(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
