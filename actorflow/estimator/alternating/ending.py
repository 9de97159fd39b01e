"""`Ending`: the chief's word in the folder of checkpoints that the training is over, for tasks that are not told otherwise.

The evaluator is no task of the cluster, and a parameter server knows no steps. Both reach the folder.
"""

from __future__ import annotations

import json

from actorflow import machine
from actorflow.formats.installed import small_files

FILE = "training_ended.json"


class Ending:
    """The end of a training, told after this object was made: the word of an earlier training in the folder does not count.

    Args:
        folder: the folder of checkpoints.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._earlier = self._read()

    def _read(self) -> str | None:
        return small_files().read_text(self._folder, FILE)

    async def tell(self, step: int) -> None:
        """Tells it.

        Args:
            step: the global step of the last checkpoint.
        """
        told = {"step": step, "time": machine.wall_time(), "incarnation": machine.fresh_incarnation()}
        await machine.on_thread(small_files().write, self._folder, FILE, (json.dumps(told) + "\n").encode())

    async def step(self) -> int | None:
        """The global step at which the training has ended; None where it goes on."""
        text = await machine.on_thread(self._read)
        return None if text is None or text == self._earlier else int(json.loads(text)["step"])
