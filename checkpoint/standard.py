"""What the core asks of a checkpoint format: the object behind the entry point `standard` of `actorflow.checkpoint`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.errors import InvalidArgumentError, NotFoundError

from . import writing
from .compare import RestoreRequest, compare
from .format.manifest import SUFFIX
from .reading import Reader, leftovers
from .stores.store import locate, open_store, read_all

_MAX_TEXT = 1 << 24


class Standard:
    """Checkpoints as shards and a manifest. See `actorflow.train.saving.checkpoints.Format`."""

    def open(self, prefix: str) -> Reader:
        return Reader(prefix)

    def exists(self, prefix: str) -> bool:
        try:
            store, name = locate(prefix)
        except InvalidArgumentError:
            return False
        try:
            with store.open(name + SUFFIX):
                return True
        except NotFoundError:
            return False

    def saved_at(self, prefix: str) -> float:
        return Reader(prefix).manifest.saved_at

    def remove(self, prefix: str, extras: Sequence[str] = ()) -> None:
        store, name = locate(prefix)
        writing.remove(store, name, [name + extra for extra in extras])

    def clean(self, folder: str) -> list[str]:
        store = open_store(folder)
        found = leftovers(store)
        for name in found:
            store.remove(name)
        return found

    def check(self, prefix: str, wanted: Sequence[tuple[str, Any, Any, bool]], *, strict: bool, reshape: bool) -> None:
        reader = Reader(prefix)
        asked = [RestoreRequest(name, dtype, shape, sliced) for name, dtype, shape, sliced in wanted]
        compare(prefix, reader.manifest.variables(), asked, reshape=reshape).refuse(strict=strict)

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
