"""Writes a checkpoint: shards first, under names of their own, and then the manifest, which completes the checkpoint."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.errors import DataLossError, InvalidArgumentError, NotFoundError

from .format import layout
from .format.checksum import Checksums
from .format.layout import Buffer, ShardTensor
from .format.manifest import MAX_SIZE, SUFFIX, Manifest, Shard, TensorEntry, decode, encode
from .stores.store import FileStore, fresh_name, read_all, remove_quietly

SHARD_SUFFIX = ".safetensors"
_LARGE = 1 << 26  # bytes
_ENDING = re.compile(rf"(-[0-9a-f]{{12}}-[^/]*{re.escape(SHARD_SUFFIX)}|{re.escape(SUFFIX)})(\.[0-9a-f]{{12}}\.tmp)?")
"""The part behind a checkpoint's name in the names of its files."""
Check = Callable[[], None]


def _nothing() -> None:
    return None


def write_shards(
    store: FileStore,
    name: str,
    groups: Mapping[str, Sequence[ShardTensor]],
    *,
    global_step: int | None = None,
    state: bool = False,
    check: Check = _nothing,
) -> Manifest:
    """Writes each group of pieces (of a device, say) to a shard of its own; returns what the manifest has to say of them.

    `check` is called between chunks, and may raise to give up; what was written is removed then.

    Raises:
        InvalidArgumentError: two pieces have one name.
    """
    names = [_shard_name(piece) for pieces in groups.values() for piece in pieces]
    if len(set(names)) < len(names):
        twice = sorted({n for n in names if names.count(n) > 1})
        raise InvalidArgumentError(f"Two tensors can't be saved under one name: {', '.join(twice)}.")
    token = fresh_name()
    shards: list[Shard] = []
    entries: list[TensorEntry] = []
    try:
        for number, (owner, pieces) in enumerate(groups.items()):
            file = f"{name}-{token}-{number:03d}-{_label(owner)}{SHARD_SUFFIX}"
            shard, shard_entries = _write_shard(store, file, number, pieces, check)
            shards.append(shard)
            entries.extend(shard_entries)
    except BaseException:
        remove_quietly(store, [shard.file for shard in shards])
        raise
    return Manifest(tuple(shards), tuple(entries), global_step, machine.wall_time(), state)


def _label(device: str) -> str:
    """A device's name in that of a file: worker.0.17.CPU.0."""
    return re.sub("[^A-Za-z0-9]+", ".", re.sub("(^|/)(job|replica|task|device):", "/", device)).strip(".")


def _shard_name(piece: ShardTensor) -> str:
    if piece.kind != "variable":
        return f"@{piece.kind}:{piece.name}"
    return piece.name if piece.region is None else f"{piece.name}{piece.region}"


def _write_shard(
    store: FileStore, file: str, number: int, pieces: Sequence[ShardTensor], check: Check
) -> tuple[Shard, list[TensorEntry]]:
    ordered = layout.order(pieces)
    named = [replace(p, name=_shard_name(p)) for p in ordered]
    head = layout.header(named, {"format": "actorflow"})

    def parts(sums: Checksums) -> Iterator[Buffer]:
        yield head
        for p in ordered:
            for chunk in sums.through(p.content):
                check()
                yield chunk

    entries: list[TensorEntry] = []
    offset = len(head)
    with Checksums() as sums:
        store.write(file, parts(sums))
        for p, crc in zip(ordered, sums.results(), strict=True):
            slices = (p.region.whole, p.region.begin) if p.region is not None else ()
            entries.append(TensorEntry(p.name, p.kind, p.dtype.name, p.shape, number, offset, p.size, crc, *slices))
            offset += p.size
    return Shard(file, offset, len(head), zlib.crc32(head)), entries


def commit(store: FileStore, name: str, manifest: Manifest) -> None:
    """Makes the shards the checkpoint `name`. A former checkpoint of that name is replaced, and its shards are removed then."""
    data = encode(manifest)
    if len(data) > MAX_SIZE:
        raise InvalidArgumentError(
            f"The manifest of {len(manifest.entries)} tensors would be too large to be read again."
        )
    old = _shards(store, name)
    store.write(name + SUFFIX, [data])
    mine = {shard.file for shard in manifest.shards}
    remove_quietly(store, [shard.file for shard in old if shard.file not in mine])


def remove(store: FileStore, name: str, extras: Sequence[str] = ()) -> None:
    """Removes the checkpoint `name`: its manifest first, so that no moment shows a part of it. Files of that name that
    killed saves left behind go too. If shards are large, they go in the background: to give up 500 MB takes a file
    system a quarter of a second.

    Raises:
        OpError: a file can't be removed.
    """
    size = sum(shard.size for shard in _shards(store, name))
    store.remove(name + SUFFIX, flush=True)  # before its shards, whatever order a crash leaves them in
    files = [*extras, *(file for file in store.list() if _is_left_of(name, file))]
    if size >= _LARGE:
        machine.behind(lambda: _remove_and_tell(store, files))
    elif errors := remove_quietly(store, files):
        raise errors[0]


def _remove_and_tell(store: FileStore, files: Sequence[str]) -> None:
    for error in remove_quietly(store, files):
        get_logger("checkpoint").warning("a file of a former checkpoint stays", error=str(error))


def _shards(store: FileStore, name: str) -> Sequence[Shard]:
    """The shards of an existing checkpoint; none if its manifest is missing or damaged."""
    try:
        return decode(read_all(store, name + SUFFIX, MAX_SIZE), name).shards
    except (NotFoundError, DataLossError, InvalidArgumentError):
        return ()


def _is_left_of(name: str, file: str) -> bool:
    """Whether `file` is a shard, a manifest, or a temporary file of a save of `name`."""
    return any(file.startswith(start) and _ENDING.fullmatch(file, len(start)) for start in (name, f".{name}"))
