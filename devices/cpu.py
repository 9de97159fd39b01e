"""The CPU device: host memory and one compute thread for heavy kernels."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.base.process import forks, machine
from actorflow.engine.device.base import Allocator, BlockSource, DeviceStatistics
from actorflow.errors import FailedPreconditionError
from actorflow.graph.device_spec import DeviceSpec

from .allocator import PoolAllocator

make_allocator: Callable[..., Allocator] = PoolAllocator
"""The allocator of a device without one of its own; tests put one here that poisons freed memory."""


class CpuDevice:
    """A device that computes with numpy. Kernels run where the dispatcher says: on the loop, or on `submit`'s thread.

    `source` is where its allocator takes memory from, such as an arena that other processes see.
    """

    type = "CPU"

    def __init__(
        self,
        name: str,
        *,
        memory_budget: int | None = None,
        allocator: Allocator | None = None,
        source: BlockSource | None = None,
    ) -> None:
        self.name = name
        self.spec = DeviceSpec.parse(name)
        self.xp: Any = np
        self.cores = machine.cores()
        """How many cores the devices of this host share."""
        self.allocator: Allocator = allocator or make_allocator(memory_budget, owner=name, source=source)
        self._inline = 0
        self._threaded = 0
        self._closed = False
        self.forked()
        forks.register(self)

    def forked(self) -> None:
        """In a child that was forked there is no thread yet."""
        self._work: queue.SimpleQueue[tuple[Callable[[], None], Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Runs `work`, then `done`, on the compute thread. Raises FailedPreconditionError after `close`."""
        self._check_open()
        if self._thread is None:
            self._thread = threading.Thread(target=self._compute, name=f"compute {self.name}", daemon=True)
            self._thread.start()
        self._work.put((work, done))

    def _check_open(self) -> None:
        if self._closed:
            raise FailedPreconditionError(f"The device {self.name} is closed: its session has ended.")

    def _compute(self) -> None:
        while (item := self._work.get()) is not None:
            work, done = item
            work()
            done()
            del item, work, done

    def count(self, inline: int, threaded: int) -> None:
        """Adds to the launches that `statistics` reports."""
        self._inline += inline
        self._threaded += threaded

    def statistics(self) -> DeviceStatistics:
        return DeviceStatistics(
            launches=self._inline + self._threaded,
            inline=self._inline,
            threaded=self._threaded,
            memory=self.allocator.statistics(),
        )

    def close(self) -> None:
        """Lets the thread end after the work that it has. Does not wait for it."""
        self._closed = True
        if self._thread is not None:
            self._work.put(None)
            self._thread = None
