"""`FilePool`: names of files that several readers share. Each is read once in an epoch, those of a lost reader by others."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgpack

from actorflow.base.process import forks
from actorflow.engine.runtime.context import StepHandle
from actorflow.engine.runtime.diagnostics.waits import Wait
from actorflow.errors import CancelledError, FailedPreconditionError, InvalidArgumentError
from actorflow.models.data.stage import EndOfSequence


class FilePool:
    """A reader takes a file, and reads it; the file counts as read when the reader takes its next file. A reader that for the
    time of a lease neither takes nor renews counts as lost once another reader has nothing else to read, and the other reader
    takes the file.

    An epoch ends when all files are read. Readers of named containers may be on several threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._names: list[bytes] = []
        self._epochs, self._lease, self._seed = 1, 30.0, -1
        self._epoch = 0
        self._free: deque[bytes] = deque()
        self._held: dict[bytes, tuple[bytes, float]] = {}
        """The file of each reader, and until when it is its own."""
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._lock = forks.new_lock()

    def begin(self, names: Sequence[bytes], epochs: int, lease: float, seed: int) -> None:
        """Takes the names of files, unless it has them.

        Raises:
            InvalidArgumentError: there are none, or the pool has begun with others or reads them in another way.
        """
        if not names or len(set(names)) < len(names):
            raise InvalidArgumentError(f"A pool has one or more files, each once; {len(names)} names were given.")
        with self._lock:
            if not self._names:
                self._names, self._epochs, self._lease, self._seed = list(names), epochs, lease, seed
                self._free.extend(self._ordered())
                return
            mine = sorted(self._names), self._epochs, self._lease, self._seed
        settings = sorted(names), epochs, lease, seed
        differ = [what for what, a, b in zip(("names", "epochs", "lease", "seed"), mine, settings) if a != b]
        if differ:
            raise InvalidArgumentError(
                f"The pool of files {self.name!r} has begun with other {' and other '.join(differ)}.",
                hint="Programs that share a pool give the same ones. Another pool or another run needs a shared_name of its own.",
            )

    def _ordered(self) -> list[bytes]:
        """The files in the order of this epoch."""
        names = list(self._names)
        if self._seed != -1:
            random.Random(f"{self._seed}/{self._epoch}").shuffle(names)
        return names

    def take(self, reader: bytes, now: float) -> bytes | None:
        """The next file of a reader, whose last file is read; None if other readers have all that are left.

        Raises:
            FailedPreconditionError: it has no files yet.
            EndOfSequence: all files are read.
        """
        if not self._names:
            raise FailedPreconditionError(f"The pool of files {self.name!r} has none: run its initializer first.")
        self._held.pop(reader, None)
        if not self._free and not self._held:
            if self._epoch + 1 == self._epochs:
                raise EndOfSequence
            self._epoch += 1
            self._free.extend(self._ordered())
        if self._free:
            name = self._free.popleft()
        else:
            lost = next((other for other, (_, until) in self._held.items() if until <= now), None)
            if lost is None:
                return None
            name, _ = self._held.pop(lost)
        self._held[reader] = name, now + self._lease
        return name

    def renew(self, reader: bytes, now: float) -> bool:
        """Says that a reader still reads. False for a reader that has no file any more."""
        with self._lock:
            held = self._held.get(reader)
            if held is not None:
                self._held[reader] = held[0], now + self._lease
            return held is not None

    async def next(self, reader: bytes, step: StepHandle) -> bytes:
        """`take`, which waits until there is a file or all are read."""
        loop = asyncio.get_running_loop()
        while True:
            with self._lock:
                try:
                    name = self.take(reader, loop.time())
                finally:
                    self._wake()
                if name is not None:
                    return name
                waiter: asyncio.Future[None] = loop.create_future()
                self._waiting.append((loop, waiter))
                expires = min(until for _, until in self._held.values())
            await self._wait(waiter, expires, step)

    async def _wait(self, waiter: asyncio.Future[None], expires: float, step: StepHandle) -> None:
        """Until something has changed, or a lease has ended."""
        stopped = False

        def stop() -> None:
            nonlocal stopped
            stopped = True
            _resolve(waiter)

        forget = step.on_cancel(stop, self._reason)
        timer = asyncio.get_running_loop().call_at(expires, _resolve, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            forget()
        if stopped:
            raise CancelledError("The operation was cancelled: the step was stopped while it waited.")

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for loop, waiter in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, waiter)

    def _reason(self) -> Wait:
        held = list(self._held.values())
        return Wait(f"waits for the pool of files {self.name!r}: others read the last {len(held)}, such as {held[:1]}")

    # Checkpoints

    def state(self) -> bytes:
        """The files that are not read yet in this epoch, those of readers first."""
        with self._lock:
            left = [name for name, _ in self._held.values()] + list(self._free)
            packed: bytes = msgpack.packb([self._names, self._epochs, self._lease, self._seed, self._epoch, left])
        return packed

    def restore(self, state: bytes) -> None:
        """Goes to the place of the state. Readers of today have to take again."""
        fields: Any = msgpack.unpackb(state) if state else [[], 1, 30.0, -1, 0, []]
        with self._lock:
            self._names, self._epochs, self._lease, self._seed, self._epoch, left = fields
            self._free, self._held = deque(left), {}
            self._wake()


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
