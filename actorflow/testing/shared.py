"""`SharedFiles`: one file system for several machines, as they see it over a network."""

from __future__ import annotations

import random

from actorflow.testing.files import Change, FileFaults, SimulatedFiles, _apply, _File


class SharedFiles(SimulatedFiles):
    """What one machine sees of the files `names`, which others see too.

    Whoever keeps them never stops: names are there for good at once, as is what was flushed. A machine that stops leaves of
    the files that it was writing what chance decides.
    """

    def __init__(
        self, names: dict[str, _File], *, faults: FileFaults | None = None, chance: random.Random | None = None
    ) -> None:
        super().__init__(faults=faults, chance=chance)
        self._names = names
        self._writing: list[_File] = []

    def create(self, path: str) -> int:
        fd = super().create(path)
        self._writing.append(self._file(fd))
        return fd

    def close(self, fd: int) -> None:
        file = self._open.get(fd)
        super().close(fd)
        if bytes(file.content) == file.flushed:  # type: ignore[union-attr]
            self._writing = [other for other in self._writing if other is not file]

    def reboot(self, *, lose: bool = True) -> None:
        writing, self._writing = self._writing, []
        for file in writing:
            if lose and bytes(file.content) != file.flushed:
                file.content = bytearray(self._torn(file))
            file.flushed = bytes(file.content)
        self._open.clear()
        self.crashed, self.fail_at = False, 0

    def sync_folder(self, path: str) -> None:
        self._operation("sync_folder")

    def _change(self, *change: tuple[str, _File | None]) -> None:
        changes: Change = change
        _apply(self._names, changes)
