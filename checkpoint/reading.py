"""Reads a checkpoint, and believes nothing that its checksums don't say."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.dtypes import string
from actorflow.base.process import machine
from actorflow.base.shapes import show
from actorflow.engine.formats import base
from actorflow.engine.formats.base import ReadRequest
from actorflow.engine.formats.regions import TensorRegion
from actorflow.errors import CancelledError, DataLossError, InvalidArgumentError, NotFoundError, OpError, with_topic

from .format import layout
from .format.checksum import Checksum, fastest
from .format.manifest import MAX_SIZE, SUFFIX, Manifest, ManifestVariable, Shard, TensorEntry, decode
from .stores.store import FileStore, StoredFile, locate, read_all

_THREADS = 2  # one computes a checksum while the other's bytes are copied
_JOB = 1 << 24  # bytes
_CHUNK = 1 << 21
"""Bytes that are read and summed at once: as many as a processor's own cache holds."""
_SHORT_CHUNK = 1 << 16
"""The same beside others who want the processor: about a tenth of a millisecond."""

_LEFT = re.compile(r".+-[0-9a-f]{12}-\d{3,}-[A-Za-z0-9.]*\.safetensors(\.[0-9a-f]{12}\.tmp)?|\..+\.[0-9a-f]{12}\.tmp")

Make = Callable[[TensorEntry], Any]
Check = Callable[[], None]


def _fresh(entry: TensorEntry) -> Any:
    return np.empty(entry.shape, entry.element_type.numpy_dtype)


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Damage:
    """A fault of a file or of a tensor in it."""

    where: str
    what: str


class Reader(base.FormatReader):
    """A checkpoint that was opened for reading (TensorFlow's `CheckpointReader`). The manifest is read at once, tensors when
    they are asked for."""

    def __init__(self, prefix: str) -> None:
        """Raises NotFoundError if no checkpoint has that name, DataLossError if its manifest is damaged."""
        self.prefix = prefix
        self._store: FileStore
        self._store, name = locate(prefix)
        self.manifest: Manifest = read_manifest(self._store, name)
        self._variables = self.manifest.variables()

    @property
    def saved_at(self) -> float:  # type: ignore[override]
        return self.manifest.saved_at

    @property
    def has_state(self) -> bool:  # type: ignore[override]
        return self.manifest.state

    def variables(self) -> Mapping[str, ManifestVariable]:
        return self._variables

    def load(self, parts: Sequence[ReadRequest], check: Check = _nothing) -> list[Any]:
        """As formats' readers do. A slice that is stored as it is wanted is read into its buffer at once; slices that
        are cut otherwise are read and copied."""
        stored = self.stored([part.name for part in parts])
        values: list[Any] = []
        direct: dict[int, Any] = {}
        users: dict[int, list[tuple[TensorRegion, Any]]] = {}
        entries: dict[int, TensorEntry] = {}
        for part, variable in zip(parts, stored):
            region = part.region or TensorRegion.all_of(variable.shape)
            if region.whole != variable.shape:
                raise InvalidArgumentError(
                    f"The part {region} of {part.name!r} is one of shape {show(region.whole)}, but the checkpoint "
                    f"{self.prefix!r} has {show(variable.shape)}."
                )
            value = part.make(variable, region.shape)
            values.append(value)
            for entry in variable.parts:
                if entry.region == region and id(entry) not in direct:
                    entries[id(entry)], direct[id(entry)] = entry, value
                elif entry.region.meets(region):
                    entries[id(entry)] = entry
                    users.setdefault(id(entry), []).append((region, value))
        read = self.read(
            entries.values(), lambda entry: direct[id(entry)] if id(entry) in direct else _fresh(entry), check
        )
        for (key, entry), source in zip(entries.items(), read):
            for region, value in users.get(key, ()):
                entry.region.copy(source, region, value)
        return values

    def read(self, entries: Iterable[TensorEntry], make: Make = _fresh, check: Check = _nothing) -> list[Any]:
        """The values of entries, in their order, each in a buffer that `make(entry)` gives. `check` may raise to give up.

        Raises:
            DataLossError: a file is missing, cut off or damaged; the message names it and the tensor.
        """
        entries = list(entries)
        values: list[Any] = [None] * len(entries)
        stop = threading.Event()
        crc32 = fastest()
        shares = machine.takes_share()
        chunk = _SHORT_CHUNK if shares else _CHUNK

        def still_wanted() -> None:
            check()
            if stop.is_set():
                raise CancelledError("Another part of the checkpoint could not be read.")

        def work(job: tuple[int, list[int]]) -> None:
            shard = self.manifest.shards[job[0]]
            try:
                with self._opened(shard) as source:
                    self._check_header(shard, source)
                    for index in job[1]:
                        values[index] = self._value(source, shard, entries[index], make, still_wanted, crc32, chunk)
            except BaseException:
                stop.set()
                raise

        jobs = _jobs(entries)
        if len(jobs) < 2 or shares or not machine.current().is_real:
            for job in jobs:
                work(job)
            return values
        with ThreadPoolExecutor(_THREADS, "actorflow checkpoint") as threads:
            ended = [threads.submit(work, job) for job in jobs]
        errors = [error for future in ended if (error := future.exception()) is not None]
        for error in sorted(
            errors, key=lambda e: isinstance(e, CancelledError)
        ):  # what came of the first one comes last
            raise error
        return values

    def kept(self) -> Iterator[tuple[str, str, Any]]:
        entries = [e for e in self.manifest.entries if e.kind != "variable"]
        for entry, value in zip(entries, self.read(entries)):
            yield entry.kind, entry.name, value

    def damage(self) -> list[str]:
        return [f"{fault.where}: {fault.what}" for fault in self.verify()]

    def verify(self) -> list[Damage]:
        """Reads everything, and lists all that is damaged."""
        faults: list[Damage] = []
        crc32 = fastest()
        for number, shard in enumerate(self.manifest.shards):
            entries = [e for e in self.manifest.entries if e.shard == number]
            where = self._store.where(shard.file)
            try:
                with self._opened(shard) as source:
                    self._check_header(shard, source)
                    for entry in entries:
                        try:
                            self._value(source, shard, entry, _fresh, _nothing, crc32)
                        except DataLossError as error:
                            faults.append(Damage(f"{where}: {entry.name}", error.message))
            except OpError as error:
                faults.append(Damage(where, error.message))
            covered = shard.header
            for entry in sorted(entries, key=lambda e: (e.offset, e.size)):
                if entry.offset != covered:
                    faults.append(Damage(f"{where}: {entry.name}", "Its bytes don't begin where those before it end."))
                covered = entry.offset + entry.size
            if covered != shard.size:
                faults.append(Damage(where, f"The manifest tells of {covered} bytes, but the file has {shard.size}."))
        return faults

    def _opened(self, shard: Shard) -> Any:
        return _OpenShard(self._store, shard)

    def _check_header(self, shard: Shard, source: StoredFile) -> None:
        where = self._store.where(shard.file)
        if source.size != shard.size:
            raise DataLossError(f"The file {where!r} has {source.size} bytes, but {shard.size} were saved.")
        head = bytearray(shard.header)
        if source.read_into(memoryview(head), 0) < len(head) or zlib.crc32(head) != shard.crc32:
            raise DataLossError(f"The header of the file {where!r} is damaged: its checksum is another.")
        try:
            if layout.header_size(head, source.size) != shard.header:
                raise DataLossError("its length is another")
        except DataLossError as error:
            raise DataLossError(f"The header of the file {where!r} is damaged: {error.message}.") from None

    def _value(
        self,
        source: StoredFile,
        shard: Shard,
        entry: TensorEntry,
        make: Make,
        check: Check,
        crc32: Checksum,
        chunk: int = _CHUNK,
    ) -> Any:
        where = self._store.where(shard.file)
        text = entry.element_type is string
        array = np.empty(entry.size, np.uint8) if text else make(entry)
        if chunk < _CHUNK <= entry.size:  # smaller arrays hold no large page of their own
            machine.in_small_pages(array.ctypes.data, array.nbytes)
        view = array.reshape(-1).view(np.uint8).data
        crc = 0
        for start in range(0, entry.size, chunk):
            check()
            part = view[start : min(start + chunk, entry.size)]
            if source.read_into(part, entry.offset + start) < part.nbytes:
                raise DataLossError(f"The tensor {entry.name!r} in the file {where!r} is cut off.")
            crc = crc32(part, crc)
        if crc != entry.crc32:
            raise DataLossError(f"The tensor {entry.name!r} in the file {where!r} is damaged: its checksum is another.")
        if not text:
            return array
        try:
            strings = layout.unpacked_strings(array.data, entry.shape)
        except ValueError as error:
            raise DataLossError(f"The tensor {entry.name!r} in the file {where!r} is damaged: {error}.") from None
        result = make(entry)
        result[...] = strings
        return result


def _jobs(entries: Sequence[TensorEntry]) -> list[tuple[int, list[int]]]:
    """(shard, indices of entries) of what one thread reads in order. A small shard is one job."""
    by_shard: dict[int, list[int]] = {}
    for index, entry in enumerate(entries):
        by_shard.setdefault(entry.shard, []).append(index)
    jobs: list[tuple[int, list[int]]] = []
    for number, members in by_shard.items():
        job: list[int] = []
        size = 0
        for index in sorted(members, key=lambda i: entries[i].offset):
            job.append(index)
            size += entries[index].size
            if size >= _JOB:
                jobs.append((number, job))
                job, size = [], 0
        if job:
            jobs.append((number, job))
    return jobs


class _OpenShard:
    """A shard that was opened; a missing shard is a damage of the checkpoint."""

    def __init__(self, store: FileStore, shard: Shard) -> None:
        self._opening = store.open(shard.file)
        self._where = store.where(shard.file)

    def __enter__(self) -> StoredFile:
        try:
            return self._opening.__enter__()
        except NotFoundError as error:
            raise DataLossError(f"The file {self._where!r} of the checkpoint is missing.") from error

    def __exit__(self, *exc: Any) -> Any:
        return self._opening.__exit__(*exc)


def read_manifest(store: FileStore, name: str) -> Manifest:
    """The manifest of the checkpoint `name`. Raises NotFoundError if the checkpoint does not exist."""
    where = store.where(name + SUFFIX)
    try:
        data = read_all(store, name + SUFFIX, MAX_SIZE)
    except NotFoundError:
        raise NotFoundError(
            f"There is no checkpoint {store.where(name)!r}.",
            hint=with_topic(f"Its manifest would be the file {where}.", "no-checkpoint"),
        ) from None
    except InvalidArgumentError as error:
        raise DataLossError(f"The manifest {where!r} can't be one: {error.message}") from None
    return decode(data, repr(where))


def checkpoints_in(store: FileStore) -> Mapping[str, Manifest | OpError]:
    """The checkpoints of a folder by name, oldest first; those that can't be read with their error."""
    manifests: dict[str, Manifest | OpError] = {}
    for file in sorted(store.list()):
        if file.endswith(SUFFIX) and not file.startswith("."):
            name = file.removesuffix(SUFFIX)
            try:
                manifests[name] = read_manifest(store, name)
            except OpError as error:
                manifests[name] = error
    return dict(sorted(manifests.items(), key=lambda item: getattr(item[1], "saved_at", 0.0)))


def leftovers(store: FileStore) -> list[str]:
    """The files of saves that were killed: temporary files, and shards that no manifest names. If a save is in progress, its
    files are among them."""
    manifests = checkpoints_in(store)
    named = {
        shard.file for manifest in manifests.values() if isinstance(manifest, Manifest) for shard in manifest.shards
    }
    damaged = tuple(f"{name}-" for name, manifest in manifests.items() if isinstance(manifest, OpError))
    return sorted(
        file
        for file in store.list()
        if _LEFT.fullmatch(file) and file not in named and not file.startswith(damaged)  # those may still be of use
    )
