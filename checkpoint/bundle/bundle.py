"""`BUNDLE`: checkpoints as TensorFlow has them.

A save of several tasks hands all bytes to the task that commits. That one writes them to a file whose name no checkpoint of this
prefix uses, and then the table, whose rename is the commit. If that is not TensorFlow's name, it does so once more. State of
nodes and resources is kept under names that begin with `_actorflow/`, of which TensorFlow knows nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype, string
from actorflow.base.process import machine
from actorflow.base.records.crc32c import crc32c, joined, mask
from actorflow.engine.formats.base import Check, Groups, ReadRequest, StoredVariable
from actorflow.engine.formats.base import FormatReader as BaseReader
from actorflow.engine.formats.merging import is_whole, merged, variables
from actorflow.engine.formats.regions import TensorRegion
from actorflow.errors import DataLossError, InvalidArgumentError, NotFoundError

from ..format.layout import chunks
from ..stores.store import FileStore, LocalStore, StoredFile, locate, read_all, remove_quietly
from .entries import Entry, decode, header, numbers, pack, shards_of, slice_key, unpack
from .table import read_table, write_table

INDEX = ".index"
_OWN = "_actorflow/"
_INFO = f"{_OWN}info"
_LARGEST = 1 << 30  # bytes of a table
_PIECE = 1 << 17
"""Bytes that are read and summed at once: a checksum holds up all other threads, for a quarter of a millisecond at most."""


@dataclass(frozen=True, slots=True)
class _WrittenTensor:
    """A tensor on its way into a checkpoint."""

    name: str
    kind: str
    value: Any
    region: TensorRegion | None = None

    @property
    def begin(self) -> tuple[int, ...] | None:
        return None if self.region is None else self.region.begin


class Bundle:
    """Checkpoints of TensorFlow. See `actorflow.engine.formats.base.Format`."""

    def write(self, prefix: str, groups: Groups, *, global_step: int | None, state: bool, check: Check) -> bytes:
        locate(prefix)  # raises for a prefix that can't be a checkpoint's
        out: dict[bytes, bytes] = {b"state": json.dumps(state).encode()}
        number = 0
        for several in groups.values():
            for name, kind, value, region in several:
                check()
                array = np.asarray(value)
                data, checksum = pack(array, as_dtype(array.dtype))
                entry = Entry(as_dtype(array.dtype), array.shape, 0, 0, len(data), checksum)
                about = {"name": name, "kind": kind, "region": None if region is None else [region.whole, region.begin]}
                out[b"%08d" % number] = write_table({b"about": json.dumps(about).encode(), b"entry": entry.encode()})
                out[b"%08d/data" % number] = data
                number += 1
        return write_table(out)

    def commit(self, prefix: str, parts: Sequence[bytes], check: Check) -> None:
        store, name = locate(prefix)
        tensors: list[_WrittenTensor] = []
        has_state = False
        for part in parts:
            table = read_table(part)
            has_state |= json.loads(table.pop(b"state"))
            for key in table:
                if not key.endswith(b"/data"):
                    check()
                    tensors.append(_handed_over(table[key], table[key + b"/data"]))
        tensors = merged(tensors, lambda tensor, kind: replace(tensor, kind=kind))
        whole = _whole(tensors)
        info = json.dumps({"saved_at": machine.wall_time(), "has_state": has_state})
        whole[_INFO] = np.array(info.encode(), object)
        for record in tensors:
            if record.kind != "variable":
                whole[f"{_OWN}{record.kind}/{record.name}"] = record.value
        self._store(store, name, whole, check)

    def _store(self, store: FileStore, name: str, values: Mapping[str, Any], check: Check) -> None:
        old = _files(store, name)
        if (first := f"{name}.data-00000-of-00001") in old:  # the old file stays until a new file is committed
            self._put(store, name, 2, values, check)
            remove_quietly(store, [first])
        kept = self._put(store, name, 1, values, check)
        remove_quietly(store, [other for other in _files(store, name) if other != kept])

    def _put(self, store: FileStore, name: str, count: int, values: Mapping[str, Any], check: Check) -> str:
        """Writes the file of bytes as the first of `count`, and then the table. Gives the file's name."""
        file = f"{name}.data-00000-of-{count:05d}"
        table = {b"": header(count)}
        offset = 0

        def bytes_of() -> Iterator[memoryview]:
            nonlocal offset
            for key in sorted(values, key=str.encode):
                check()
                array = np.asarray(values[key])
                dtype = as_dtype(array.dtype)
                data, checksum = pack(array, dtype)
                table[key.encode()] = Entry(dtype, array.shape, 0, offset, len(data), checksum).encode()
                offset += len(data)
                yield from chunks(memoryview(data))

        store.write(file, bytes_of())
        store.write(name + INDEX, [write_table(table)])
        return file

    def discard(self, prefix: str, part: bytes) -> None:
        """A part is nowhere but in memory."""

    def open(self, prefix: str) -> BundleReader:
        return BundleReader(prefix)

    def exists(self, prefix: str) -> bool:
        store, name = locate(prefix)
        try:
            with store.open(name + INDEX):
                return True
        except NotFoundError:
            return False

    def remove(self, prefix: str, extras: Sequence[str] = ()) -> None:
        store, name = locate(prefix)
        files = _files(store, name)
        store.remove(name + INDEX, flush=True)
        for error in remove_quietly(store, [*files, *(name + extra for extra in extras)]):
            raise error

    def clean(self, folder: str) -> list[str]:
        return []  # the standard format cleans up the store's temporary files


def _files(store: FileStore, name: str) -> list[str]:
    """The files of bytes of a checkpoint's name, whether a table names them or not."""
    return [file for file in store.list() if file.startswith(f"{name}.data-")]


def _handed_over(packed: bytes, data: bytes) -> _WrittenTensor:
    table = read_table(packed)
    about, entry = json.loads(table[b"about"]), decode(table[b"entry"])
    region = None
    if about["region"] is not None:
        whole, begin = map(tuple, about["region"])
        region = TensorRegion(whole, begin, entry.shape)
    return _WrittenTensor(about["name"], about["kind"], unpack(data, entry.dtype, entry.shape, entry.checksum), region)


def _whole(tensors: Sequence[_WrittenTensor]) -> dict[str, Any]:
    """The variables, their slices put together."""
    whole: dict[str, Any] = {}
    for name, several in variables(tensors).items():
        if name.startswith(_OWN) or not name:
            raise InvalidArgumentError(f"A variable of the name {name!r} can't be saved in this format.")
        if not is_whole(tensor.region for tensor in several):
            raise InvalidArgumentError(f"The slices of {name!r} are not all of it.")
        first = several[0]
        if first.region is None:
            whole[name] = first.value
            continue
        value = np.empty(first.region.whole, first.value.dtype)
        for part in several:
            assert part.region is not None
            part.region.copy(part.value, TensorRegion.all_of(value.shape), value)
        whole[name] = value
    return whole


class BundleReader(BaseReader):
    """A checkpoint of TensorFlow that was opened. Its table is read at once, tensors when they are asked for."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._store: FileStore
        self._store, self._name = locate(prefix)
        with self._naming(self._name + INDEX):
            table = read_table(read_all(self._store, self._name + INDEX, _LARGEST))
            self._shards = shards_of(table.pop(b"", b""))
            self._table = {key: decode(value) for key, value in table.items()}
        names = {key.decode(): entry for key, entry in self._table.items() if not key.startswith(b"\0")}
        info = json.loads(self._value(_INFO, names[_INFO]).item()) if _INFO in names else {}
        self.saved_at, self.has_state = float(info.get("saved_at", 0.0)), bool(info.get("has_state", False))
        if not info and isinstance(self._store, LocalStore):  # TensorFlow's do not say it
            self.saved_at = os.path.getmtime(self._store.where(self._name + INDEX))
        self._kept = {name: entry for name, entry in names.items() if name.startswith(_OWN) and name != _INFO}
        self._variables = {name: entry for name, entry in names.items() if not name.startswith(_OWN)}

    def variables(self) -> Mapping[str, StoredVariable]:
        return {name: StoredVariable(name, entry.dtype, entry.shape) for name, entry in self._variables.items()}

    def load(self, parts: Sequence[ReadRequest], check: Check = lambda: None) -> list[Any]:
        values = []
        for part, stored in zip(parts, self.stored([part.name for part in parts])):
            region = part.region or TensorRegion.all_of(stored.shape)
            if region.whole != stored.shape:
                raise InvalidArgumentError(f"{region} is no part of {part.name!r}, whose shape is {stored.shape}.")
            entry = self._variables[part.name]
            self._check_files(part.name, entry)
            values.append(part.make(stored, region.shape))
            check()
            for piece in entry.slices:
                if piece.meets(region):
                    piece.copy(self._value(part.name, self._slice(part.name, piece), check), region, values[-1])
            if not entry.slices:
                TensorRegion.all_of(stored.shape).copy(self._value(part.name, entry, check), region, values[-1])
        return values

    def kept(self) -> Iterator[tuple[str, str, Any]]:
        for name, entry in self._kept.items():
            kind, _, rest = name.removeprefix(_OWN).partition("/")
            yield kind, rest, self._value(name, entry)

    def _slice(self, name: str, piece: TensorRegion) -> Entry:
        keys = [slice_key(name, piece, opened=opened) for opened in (False, True)]
        entry = next((self._table[key] for key in keys if key in self._table), None)
        if entry is None:
            raise DataLossError(f"The checkpoint {self.prefix!r} lacks the slice {piece} of {name!r}.")
        if entry.shape != piece.shape or entry.dtype is not self._variables[name].dtype:
            raise DataLossError(
                f"The slice {piece} of {name!r} in the checkpoint {self.prefix!r} has another shape or type."
            )
        return entry

    def _check_files(self, name: str, entry: Entry) -> None:
        """Raises DataLossError where a variable's bytes are not in its files: no memory is taken for what an index says."""
        for place in [self._slice(name, piece) for piece in entry.slices] or [entry]:
            with self._opened(place, name) as source:
                if place.offset + place.size > source.size:
                    raise DataLossError("it is cut off")

    @contextmanager
    def _opened(self, entry: Entry, name: str) -> Iterator[StoredFile]:
        """The file of an entry's bytes, which errors name."""
        file = f"{self._name}.data-{entry.shard:05d}-of-{self._shards:05d}"
        try:
            with self._store.open(file) as source, self._naming(file, name):
                yield source
        except NotFoundError:
            raise DataLossError(f"The file {self._store.where(file)!r} of the checkpoint is missing.") from None

    def _value(self, name: str, entry: Entry, check: Check = lambda: None) -> Any:
        with self._opened(entry, name) as source:
            data, crc = _bytes(source, entry, check)
            if entry.dtype is string:
                return unpack(data.tobytes(), string, entry.shape, entry.checksum)
            return numbers(data, crc, entry.dtype, entry.shape, entry.checksum)

    @contextmanager
    def _naming(self, file: str, tensor: str = "") -> Iterator[None]:
        """Damage is told with the file and what is damaged in it."""
        where = f"The file {self._store.where(file)!r} is damaged"
        try:
            yield
        except DataLossError as error:
            raise DataLossError(f"{where}{f', in {tensor!r}' if tensor else ''}: {error.message}.") from None
        except (ValueError, KeyError, OverflowError) as error:
            raise DataLossError(f"{where}: {error}.") from None


def _bytes(source: StoredFile, entry: Entry, check: Check) -> tuple[Any, int]:
    """The bytes of a tensor as an array, and their masked checksum."""
    if entry.offset + entry.size > source.size:
        raise DataLossError("it is cut off")
    data = np.empty(entry.size, np.uint8)
    if machine.takes_share():
        machine.in_small_pages(data.ctypes.data, data.nbytes)
    view, crc = data.data, 0
    for start in range(0, entry.size, _PIECE):
        check()
        part = view[start : start + _PIECE]
        if source.read_into(part, entry.offset + start) < part.nbytes:
            raise DataLossError("it is cut off")
        crc = joined(crc, crc32c(part), part.nbytes)
    return data, mask(crc)


BUNDLE = Bundle()
