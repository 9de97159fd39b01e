"""`Ending`: the chief's word in the folder of checkpoints that the training is over, for tasks that are not told otherwise.

The evaluator is no task of the cluster, and a parameter server knows no steps. Both reach the folder.
"""

from __future__ import annotations

import json

import anyio

from actorflow.base.process import machine
from actorflow.engine.formats.installed import small_files

FILE = "training_ended.json"
_PATIENCE = 300.0
"""Seconds in which a chief that is to start takes back the word of an earlier training."""


class Ending:
    """The end of a training by the word of its chief, who takes back that of an earlier training when it begins.

    A word that is there when this object is made may be of an earlier training, whose next chief is yet to start. If a
    task comes late, it may be of this training. So it counts after five minutes, unless the chief takes it back.

    Args:
        folder: the folder of checkpoints.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._earlier = self._read()
        self._asked: float | None = None

    def _read(self) -> str | None:
        return small_files().read_text(self._folder, FILE)

    async def begin(self) -> None:
        """Tells that the training goes on, whatever was told before."""
        await self._write(None)

    async def tell(self, step: int) -> None:
        """Tells the end.

        Args:
            step: the global step of the last checkpoint.
        """
        await self._write(step)

    async def _write(self, step: int | None) -> None:
        record = {"step": step, "time": machine.wall_time(), "incarnation": machine.fresh_incarnation()}
        await machine.on_thread(small_files().write, self._folder, FILE, (json.dumps(record) + "\n").encode())

    async def step(self) -> int | None:
        """The global step at which the training has ended; None while it goes on."""
        now = anyio.current_time()
        self._asked = now if self._asked is None else self._asked
        text = await machine.on_thread(self._read)
        if text is None or (text == self._earlier and now < self._asked + _PATIENCE):
            return None
        step = json.loads(text)["step"]
        return None if step is None else int(step)
