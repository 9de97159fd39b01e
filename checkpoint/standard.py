"""The format `standard`, and the small files of folders: the objects behind entry points of `actorflow.checkpoint` and
`actorflow.files`."""

from __future__ import annotations

from collections.abc import Sequence

from actorflow.engine.formats.base import Check, Groups
from actorflow.errors import InvalidArgumentError, NotFoundError

from . import writing
from .format.layout import piece
from .format.manifest import SUFFIX, Manifest, check_slices, decode, encode, merged
from .reading import Reader, leftovers
from .stores.store import FileStore, locate, open_store, read_all, remove_quietly

_MAX_TEXT = 1 << 24


class Standard:
    """Checkpoints as shards and a manifest. See `actorflow.engine.formats.base.Format`."""

    def write(self, prefix: str, groups: Groups, *, global_step: int | None, state: bool, check: Check) -> bytes:
        store, name = locate(prefix)
        pieces = {device: [piece(*row) for row in several] for device, several in groups.items()}
        return encode(writing.write_shards(store, name, pieces, global_step=global_step, state=state, check=check))

    def commit(self, prefix: str, parts: Sequence[bytes], check: Check) -> None:
        store, name = locate(prefix)
        written = [decode(part, "a part of a save", complete=False) for part in parts]
        check()
        try:
            manifest = merged(written)
            check_slices(manifest)
        except (InvalidArgumentError, ValueError) as error:
            _remove(store, written)
            why = error.message if isinstance(error, InvalidArgumentError) else f"{error}."
            raise InvalidArgumentError(f"The checkpoint {store.where(name)!r} was not saved: {why}") from None
        writing.commit(store, name, manifest)

    def discard(self, prefix: str, part: bytes) -> None:
        _remove(locate(prefix)[0], [decode(part, "a part of a save", complete=False)])

    def open(self, prefix: str) -> Reader:
        return Reader(prefix)

    def exists(self, prefix: str) -> bool:
        store, name = locate(prefix)
        try:
            with store.open(name + SUFFIX):
                return True
        except NotFoundError:
            return False

    def remove(self, prefix: str, extras: Sequence[str] = ()) -> None:
        store, name = locate(prefix)
        writing.remove(store, name, [name + extra for extra in extras])

    def clean(self, folder: str) -> list[str]:
        store = open_store(folder)
        names = leftovers(store)
        for name in names:
            store.remove(name)
        return names


def _remove(store: FileStore, written: Sequence[Manifest]) -> None:
    """Removes the shards of a save that is not committed."""
    remove_quietly(store, [shard.file for manifest in written for shard in manifest.shards])


class Files:
    """See `actorflow.engine.formats.base.SmallFiles`."""

    def read_text(self, folder: str, name: str) -> str | None:
        try:
            return read_all(open_store(folder), name, _MAX_TEXT).decode()
        except NotFoundError:
            return None

    def write(self, folder: str, name: str, content: bytes) -> None:
        open_store(folder).write(name, [content])

    def remove_file(self, folder: str, name: str) -> None:
        open_store(folder).remove(name)


STANDARD = Standard()
FILES = Files()
