"""The memory and the facts of a recording of launches, and the hooks by which a GPU's device tells it.

While a region is recorded (`cuda_graph`), one thread's launches go into a stream that captures. All else that would tie
them to something that may move comes by here: variables that are read or written, values that the host would wait for.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .memory import CudaAllocator, Lease

_UNIT = 512
"""Blocks are of whole units of bytes."""


class NotRecordable(Exception):
    """Why a region can't be recorded."""


class PrivateMemory:
    """Memory that is a recording's alone. Memory that is freed while it is recorded is used again by later launches of
    the recording."""

    def __init__(self, cupy: Any, take: Callable[[int], Any], device_id: int) -> None:
        """`take` gives an array of that many bytes."""
        self._cupy = cupy
        self._take = take
        self._device_id = device_id
        self._free: dict[int, list[Any]] = {}
        self._addresses: set[int] = set()
        self._watches: dict[int, weakref.ref[Lease]] = {}

    def malloc(self, nbytes: int) -> Any:
        """A pointer to a block, which is free again when the last array in it is gone."""
        size = max(-(-nbytes // _UNIT), 1) * _UNIT
        free = self._free.setdefault(size, [])
        block = free.pop() if free else self._take(size)
        self._addresses.add(block.data.ptr)
        lease = Lease(block)
        key = id(lease)

        def back(_: Any) -> None:
            del self._watches[key]
            free.append(block)

        self._watches[key] = weakref.ref(lease, back)
        memory = self._cupy.cuda.UnownedMemory(block.data.ptr, nbytes, lease, self._device_id)
        return self._cupy.cuda.MemoryPointer(memory, 0)

    def array(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of undefined contents."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return self._cupy.ndarray(shape, dtype, memptr=self.malloc(nbytes))

    def owns(self, array: Any) -> bool:
        return array.data.mem.ptr in self._addresses


@dataclass(slots=True)
class RegionRecording:
    """The facts that are found out while a region is recorded."""

    memory: PrivateMemory
    kept: list[Any] = field(default_factory=list)
    """Arrays that the graph reads, and no one else has."""
    variables: dict[int, list[Any]] = field(default_factory=dict)
    """The variables that are used: each with its buffer, and whether it is written."""

    def use(self, variable: Any, buffer: Any, written: bool) -> None:
        entry = self.variables.setdefault(id(variable), [variable, buffer, False])
        entry[2] = entry[2] or written


class Hooks:
    """Which thread records what, at present."""

    def __init__(self, allocator: CudaAllocator) -> None:
        self._allocator = allocator
        self._recording: RegionRecording | None = None
        self._thread = 0

    @contextmanager
    def recording(self, recording: RegionRecording) -> Iterator[None]:
        """A block in which launches of this thread are recorded, in whatever stream it has entered."""
        self._recording, self._thread = recording, threading.get_ident()
        self._allocator.diverted = threading.get_ident(), recording.memory.malloc
        try:
            yield
        finally:
            self._recording, self._thread, self._allocator.diverted = None, 0, None

    @property
    def here(self) -> RegionRecording | None:
        """The recording of this thread. Others, such as those that write checkpoints, go on meanwhile."""
        return self._recording if self._thread == threading.get_ident() else None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A block of the thread that records, whose launches no one notes."""
        recording, self._recording = self._recording, None
        try:
            yield
        finally:
            self._recording = recording

    def uses(self, variable: Any, buffer: Any, written: bool) -> None:
        """A variable is read or written in place."""
        recording = self.here
        if recording is not None:
            recording.use(variable, buffer, written)

    def moves(self, variable: Any) -> None:
        """A variable is about to get another buffer. Raises NotRecordable where that would be recorded."""
        if self.here is not None:
            raise NotRecordable(f"the variable {variable.name!r} gets another buffer in each run")
