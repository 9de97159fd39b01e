"""`EpochStore`: the last epoch that the chief has given, in the checkpoint folder, so that none is given twice."""

from __future__ import annotations

import json

from actorflow.base.process import machine
from actorflow.engine.formats.installed import small_files
from actorflow.errors import DataLossError

FILE = "supervisor.json"


class EpochStore:
    """The store of the number of the present epoch. Without a folder it is kept by the tasks alone."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    async def read(self) -> int:
        """The last epoch that was given, 0 where none was. Raises DataLossError where the file can't be read."""
        if self._folder is None:
            return 0
        text = await machine.on_thread(small_files().read_text, self._folder, FILE)
        if text is None:
            return 0
        try:
            epoch = json.loads(text)["epoch"]
            if type(epoch) is not int or epoch < 0:
                raise ValueError(f"{epoch!r} is no epoch")
            return epoch
        except (ValueError, KeyError, TypeError) as error:
            raise DataLossError(
                f"The file {FILE} in {self._folder} can't be read: {error}.",
                hint="Write a number above all former epochs into it: " + json.dumps({"epoch": 1000}),
            ) from None

    async def write(self, epoch: int) -> None:
        """Keeps an epoch. It is to be given only when this has returned."""
        if self._folder is not None:
            content = (json.dumps({"epoch": epoch}) + "\n").encode()
            await machine.on_thread(small_files().write, self._folder, FILE, content)
