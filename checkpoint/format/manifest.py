"""The manifest of a checkpoint: which tensors it has, where their bytes are, and their checksums.

A checkpoint is there when its manifest is: the shards are written before under names that nothing else has, so that
the one rename of the manifest commits all of it. The file is one line with the format, the checksum and the length of
the rest, and then JSON. Any flipped byte is seen.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from actorflow.base.dtypes import DType, as_dtype
from actorflow.engine.formats import merging
from actorflow.engine.formats.merging import LEFT, is_whole
from actorflow.engine.formats.regions import TensorRegion
from actorflow.errors import DataLossError

SUFFIX = ".manifest"
MAX_SIZE = 1 << 26
"""Bytes of the largest manifest that is read: some 300,000 tensors."""
_FORMAT = "actorflow-checkpoint 1"
_FILE_NAME = re.compile(r"[^/\\\x00-\x1f]+")
_LARGEST = 2**62
KINDS = ("variable", "node", "resource")
_LATER = ("whole", "begin")  # fields that only slices have


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of tensors, in the manifest's folder. `header` is how many bytes come before the tensors."""

    file: str
    size: int
    header: int
    crc32: int


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor: `size` bytes from `offset` on, counted from the beginning of the file of shard number `shard`.

    `kind` is "variable", "node" (what a kernel keeps between runs) or "resource" (where a reader is). A slice of a variable
    says the shape of all of it, and where the slice begins."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    crc32: int
    whole: tuple[int, ...] | None = None
    begin: tuple[int, ...] | None = None

    @property
    def element_type(self) -> DType:
        return as_dtype(self.dtype)

    @property
    def region(self) -> TensorRegion:
        """The part of the variable that is here."""
        if self.whole is None or self.begin is None:
            return TensorRegion.all_of(self.shape)
        return TensorRegion(self.whole, self.begin, self.shape)


@dataclass(frozen=True, slots=True)
class ManifestVariable:
    """A variable in a checkpoint: all of it in one entry, or its slices."""

    name: str
    parts: tuple[TensorEntry, ...]

    @property
    def dtype(self) -> str:
        return self.parts[0].dtype

    @property
    def element_type(self) -> DType:
        return self.parts[0].element_type

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the variable."""
        return self.parts[0].region.whole


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a checkpoint. `global_step` is None for a checkpoint without a step; `saved_at` is in seconds since 1970.
    `state` says whether it has what nodes and resources kept, beside variables."""

    shards: tuple[Shard, ...]
    entries: tuple[TensorEntry, ...]
    global_step: int | None = None
    saved_at: float = 0.0
    state: bool = False

    def variables(self) -> dict[str, ManifestVariable]:
        """The variables, by name."""
        return {name: ManifestVariable(name, tuple(parts)) for name, parts in merging.variables(self.entries).items()}


def merged(parts: Sequence[Manifest]) -> Manifest:
    """One manifest of what several tasks have written. Raises InvalidArgumentError where two have a variable of
    one name."""
    shards: list[Shard] = []
    entries: list[TensorEntry] = []
    for part in parts:
        entries.extend(replace(entry, shard=entry.shard + len(shards)) for entry in part.entries)
        shards.extend(part.shards)
    joined = merging.merged(entries, lambda entry, kind: replace(entry, kind=kind))
    steps = [part.global_step for part in parts if part.global_step is not None]
    return Manifest(
        tuple(shards),
        tuple(joined),
        steps[0] if steps else None,
        max((p.saved_at for p in parts), default=0.0),
        any(p.state for p in parts),
    )


def encode(manifest: Manifest) -> bytes:
    """The manifest as the bytes of a file."""
    tree = _plain(manifest)
    tree["shards"] = [_plain(shard) for shard in manifest.shards]
    tree["entries"] = [_plain(entry) for entry in manifest.entries]
    body = json.dumps(tree, separators=(",", ":")).encode()
    return _first_line(body) + body


def _plain(record: Shard | TensorEntry | Manifest) -> dict[str, Any]:
    return {
        name: value for name in record.__slots__ if (value := getattr(record, name)) is not None or name not in _LATER
    }


def _first_line(body: bytes) -> bytes:
    return f"{_FORMAT} {zlib.crc32(body):08x} {len(body)}\n".encode()


def decode(data: bytes, what: str, *, complete: bool = True) -> Manifest:
    """The manifest in the bytes of the file `what`. The manifest of one task of several need not be `complete`: it may
    lack slices of variables.

    Raises:
        DataLossError: they are damaged, cut off, or of something else.
    """
    line, _, body = data.partition(b"\n")
    if not data.startswith(_FORMAT.encode() + b" "):
        raise DataLossError(f"{what} is no manifest of a checkpoint, or it is damaged.")
    if line + b"\n" != _first_line(body):
        raise DataLossError(f"The manifest {what} is damaged or cut off: its checksum is another.")
    try:
        manifest = _parsed(json.loads(body))
        if complete:
            check_slices(manifest)
            if unresolved := [e.name for e in manifest.entries if e.kind in LEFT]:
                raise ValueError(f"{unresolved[0]!r} is of a kind that only parts of a save have")
        return manifest
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataLossError(f"The manifest {what} can't be what a save has written: {error}.") from None


def _parsed(tree: Any) -> Manifest:
    shards = tuple(Shard(**item) for item in tree["shards"])
    entries = tuple(
        TensorEntry(**{**item, **{key: tuple(item[key]) for key in ("shape", *_LATER) if key in item}})
        for item in tree["entries"]
    )
    step, saved_at, state = tree["global_step"], tree["saved_at"], tree["state"]
    if step is not None and not _is_number(step, -_LARGEST) or not isinstance(saved_at, (int, float)):
        raise ValueError("its step or time is no number")
    manifest = Manifest(shards, entries, step, float(saved_at), bool(state))
    _check(manifest)
    return manifest


def _is_number(value: Any, least: int = 0) -> bool:
    return type(value) is int and least <= value < _LARGEST


def _check(manifest: Manifest) -> None:
    """Raises ValueError where a field can't be."""
    for shard in manifest.shards:
        if not isinstance(shard.file, str) or not _FILE_NAME.fullmatch(shard.file) or shard.file in (".", ".."):
            raise ValueError(f"{shard.file!r} is no name of a file")
        if not all(map(_is_number, (shard.size, shard.header, shard.crc32))) or not 8 <= shard.header <= shard.size:
            raise ValueError(f"the sizes of {shard.file!r} can't be")
    names: set[tuple[str, str, tuple[int, ...] | None]] = set()
    for e in manifest.entries:
        key = (e.kind, e.name, e.begin)
        if not isinstance(e.name, str) or e.kind not in (*KINDS, *LEFT) or key in names:
            raise ValueError(f"the {e.kind} {e.name!r} is there twice, or is none")
        names.add(key)
        numbers = (e.shard, e.offset, e.size, e.crc32, *e.shape, *(e.whole or ()), *(e.begin or ()))
        if not all(map(_is_number, numbers)) or (e.whole is None) != (e.begin is None):
            raise ValueError(f"the numbers of {e.name!r} can't be")
        if e.shard >= len(manifest.shards):
            raise ValueError(f"{e.name!r} is in a shard that is not there")
        shard = manifest.shards[e.shard]
        if e.offset < shard.header or e.offset + e.size > shard.size:
            raise ValueError(f"{e.name!r} lies outside of its shard")
        dtype = e.element_type
        elements = 1
        for size in e.shape:
            elements *= size
        if (
            dtype.is_ref
            or (dtype.kind != "S" and elements * dtype.size != e.size)
            or (dtype.kind == "S" and elements * 8 > e.size)
        ):
            raise ValueError(f"{e.name!r} of {e.dtype} and shape {e.shape} does not take {e.size} bytes")


def check_slices(manifest: Manifest) -> None:
    """Raises ValueError where slices of a variable are not all of it."""
    for stored in manifest.variables().values():
        regions = [None if entry.whole is None else entry.region for entry in stored.parts]
        if len({entry.dtype for entry in stored.parts}) > 1 or not is_whole(regions):
            raise ValueError(f"the slices of {stored.name!r} are not all of it")
