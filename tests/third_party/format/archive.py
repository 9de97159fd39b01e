"""A format of checkpoints of somebody else's: one zip file for each, which any tool opens.

A member is the bytes of a tensor, and `manifest.json` says what they are. The tasks of a cluster hand their tensors to the task
that commits, as zip files in memory, so no other file is ever there. It is not made for models that don't fit into memory twice.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype, string
from actorflow.base.process import machine
from actorflow.checkpoint.format.layout import piece, unpacked_strings
from actorflow.checkpoint.stores.store import locate, read_all, remove_quietly
from actorflow.engine.formats.base import Check, FormatReader, Groups, ReadRequest, StoredVariable
from actorflow.engine.formats.merging import is_whole, merged, variables
from actorflow.engine.formats.regions import TensorRegion
from actorflow.errors import DataLossError, InvalidArgumentError

SUFFIX = ".zip"
_MANIFEST = "manifest.json"
_LARGEST = 1 << 34
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    ValueError,
    TypeError,
    EOFError,
    NotImplementedError,
    OverflowError,
)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A line of the manifest: the tensor in a member, or the slice of one that begins at `begin` of the shape `whole`."""

    member: str
    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    begin: tuple[int, ...] | None = None
    whole: tuple[int, ...] | None = None

    @property
    def region(self) -> TensorRegion:
        return TensorRegion(self.whole or self.shape, self.begin or (0,) * len(self.shape), self.shape)


class Contents:
    """The contents of a zip file: its manifest, and its members as they are asked for."""

    def __init__(self, data: bytes) -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(data))
        text = self._zip.read(_MANIFEST)
        if int(text[:8], 16) != zlib.crc32(text[8:]):
            raise ValueError("the checksum of its manifest is another")
        found = json.loads(text[8:])
        self.saved_at, self.has_state = float(found["saved_at"]), bool(found["has_state"])
        self.tensors = [Tensor(*(tuple(v) if isinstance(v, list) else v for v in line)) for line in found["tensors"]]

    def content(self, tensor: Tensor) -> bytes:
        return self._zip.read(tensor.member)

    def value(self, tensor: Tensor) -> Any:
        data, dtype = self.content(tensor), as_dtype(tensor.dtype)
        if dtype is string:
            return unpacked_strings(data, tensor.shape)
        return np.frombuffer(bytearray(data), dtype.numpy_dtype).reshape(tensor.shape)


def packed(found: Iterable[tuple[Tensor, Any]], has_state: bool) -> bytes:
    """A zip file with these tensors and their bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        tensors = []
        for number, (tensor, content) in enumerate(found):
            tensors.append(replace(tensor, member=str(number)))
            archive.writestr(zipfile.ZipInfo(str(number)), content)
        lines = [astuple(tensor) for tensor in tensors]
        text = json.dumps({"saved_at": machine.wall_time(), "has_state": has_state, "tensors": lines}).encode()
        archive.writestr(zipfile.ZipInfo(_MANIFEST), f"{zlib.crc32(text):08x}".encode() + text)
    return buffer.getvalue()


class Archive:
    """The format."""

    def write(self, prefix: str, groups: Groups, *, global_step: int | None, state: bool, check: Check) -> bytes:
        locate(prefix)  # raises where it can't be one

        def lines() -> Iterator[tuple[Tensor, Any]]:
            for p in [piece(*tensor) for several in groups.values() for tensor in several]:
                check()
                cut = (p.region.begin, p.region.whole) if p.region is not None else ()
                yield Tensor("", p.name, p.kind, p.dtype.name, p.shape, *cut), p.content

        return packed(lines(), state)

    def commit(self, prefix: str, parts: Sequence[bytes], check: Check) -> None:
        store, name = locate(prefix)
        all_parts = [Contents(part) for part in parts]
        check()
        named = [replace(t, member=f"{k}/{t.member}") for k, part in enumerate(all_parts) for t in part.tensors]
        tensors = merged(named, lambda tensor, kind: replace(tensor, kind=kind))
        for variable, several in variables(tensors).items():
            if not is_whole(None if t.whole is None else t.region for t in several):
                raise InvalidArgumentError(f"The slices of {variable!r} are not all of it.")

        def lines() -> Iterator[tuple[Tensor, Any]]:
            for tensor in tensors:
                check()
                part, member = tensor.member.split("/")
                yield tensor, all_parts[int(part)].content(replace(tensor, member=member))

        store.write(name + SUFFIX, [packed(lines(), any(part.has_state for part in all_parts))])

    def discard(self, prefix: str, part: bytes) -> None:
        """A part is nowhere but in memory."""

    def open(self, prefix: str) -> ArchiveReader:
        return ArchiveReader(prefix)

    def exists(self, prefix: str) -> bool:
        store, name = locate(prefix)
        return name + SUFFIX in store.list()

    def remove(self, prefix: str, extras: Sequence[str] = ()) -> None:
        store, name = locate(prefix)
        store.remove(name + SUFFIX, flush=True)
        for error in remove_quietly(store, [name + extra for extra in extras]):
            raise error

    def clean(self, folder: str) -> list[str]:
        return []  # the store's temporary files are cleaned up by the standard format


class ArchiveReader(FormatReader):
    """A checkpoint that was opened, and is in memory."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        store, name = locate(prefix)
        self._where = store.where(name + SUFFIX)
        with self._naming("its manifest"):
            self._contents = Contents(read_all(store, name + SUFFIX, _LARGEST))
        self.saved_at, self.has_state = self._contents.saved_at, self._contents.has_state
        self._tensors = variables(self._contents.tensors)

    def variables(self) -> Mapping[str, StoredVariable]:
        return {
            name: StoredVariable(name, as_dtype(t[0].dtype), t[0].region.whole) for name, t in self._tensors.items()
        }

    def load(self, parts: Sequence[ReadRequest], check: Check = lambda: None) -> list[Any]:
        values = []
        for part, stored in zip(parts, self.stored([part.name for part in parts])):
            region = part.region or TensorRegion.all_of(stored.shape)
            if region.whole != stored.shape:
                raise InvalidArgumentError(f"{region} is no part of {part.name!r}, whose shape is {stored.shape}.")
            values.append(part.make(stored, region.shape))
            for tensor in self._tensors[part.name]:
                check()
                tensor.region.copy(self._value(tensor), region, values[-1])
        return values

    def kept(self) -> Iterator[tuple[str, str, Any]]:
        return ((t.kind, t.name, self._value(t)) for t in self._contents.tensors if t.kind != "variable")

    def _value(self, tensor: Tensor) -> Any:
        with self._naming(tensor.name):
            return self._contents.value(tensor)

    @contextmanager
    def _naming(self, what: str) -> Iterator[None]:
        """Damage is told with the file and what is damaged in it."""
        try:
            yield
        except _DAMAGE as error:
            raise DataLossError(f"The file {self._where!r} is damaged, in {what}: {error}.") from error


ARCHIVE = Archive()
