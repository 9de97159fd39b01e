"""The host allocator: counted buffers, a budget, and reuse of large blocks.

A buffer is one array over a block of memory. That array is the base of each view (see `owned_buffer`), so a weak reference
to it ends with the last view, and the block goes back to the pool. Such callbacks come on any thread and inside the garbage
collector; they append to a queue, which the next allocation drains, or for huge blocks they themselves where no one else does.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.process import forks
from actorflow.engine.device.base import AllocatorStatistics, BlockSource
from actorflow.engine.device.memory import owned_buffer
from actorflow.errors import ResourceExhaustedError, with_topic

THRESHOLD = 64 * 1024


_ALIGNMENT = 64


_HUGE = 1 << 26


"""Bytes that don't wait for the next allocation to be freed."""


class _BlockLease(weakref.ref[Any]):
    """A weak reference to a buffer that remembers its block, and its share of the budget."""

    __slots__ = ("block", "nbytes")
    block: memoryview | None
    nbytes: int


class PoolAllocator:
    """Host memory for one device.

    Arrays below `threshold` bytes come from numpy and are not counted. `budget` bounds live bytes; `pool_limit` bounds
    the freed blocks that are kept for reuse (a fresh large block costs page faults, up to three times the work on it).
    Blocks come from `source` as long as it has any (an arena that peers see, so that they need no copy), else from numpy.
    """

    def __init__(
        self,
        budget: int | None = None,
        *,
        threshold: int = THRESHOLD,
        pool_limit: int = 1 << 28,
        owner: str = "device",
        source: BlockSource | None = None,
    ) -> None:
        self.threshold = threshold
        self.budget = budget
        self._owner = owner
        self._pool_limit = pool_limit
        self._source = source
        self._pool: dict[int, list[memoryview]] = {}
        self._leases: dict[int, _BlockLease] = {}  # a weak reference has the hash of its array, and arrays have none
        self._freed: deque[_BlockLease] = deque()
        self.forked()
        forks.register(self)
        self._live = self._peak = self._pooled = 0
        self._allocations = self._frees = self._reuses = 0

    def forked(self) -> None:
        """In a child that was forked no other thread has the lock."""
        self._lock = threading.Lock()

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """A fresh array of undefined contents (None where Python objects). Raises ResourceExhaustedError over budget."""
        nbytes = dtype.itemsize
        for size in shape:
            nbytes *= size
        if nbytes < self.threshold or dtype.hasobject:
            return np.empty(shape, dtype)
        size = _size_class(nbytes)
        with self._lock:
            self._drain()
            self._check(nbytes, shape, dtype)
            blocks = self._pool.get(size)
            if blocks:
                block = blocks.pop()
                self._pooled -= size
                self._reuses += 1
            else:
                block = self._fresh(size)
            array: np.ndarray[Any, Any] = np.ndarray(shape, dtype, block)
            self._count(array, block, nbytes)
        return array

    def _fresh(self, size: int) -> memoryview:
        if self._source is not None and (block := self._source.take(size)) is not None:
            return block
        raw = np.empty(size + _ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % _ALIGNMENT
        return owned_buffer(raw[start : start + size])

    def adopt(self, array: Any) -> Any:
        """Counts an array that a kernel allocated itself, until its last view is gone."""
        if array.nbytes >= self.threshold and array.base is None and not array.dtype.hasobject:
            with self._lock:
                self._drain()
                self._count(array, None, array.nbytes)
        return array

    def check(self, nbytes: int) -> None:
        """Raises ResourceExhaustedError where `nbytes` more would exceed the budget."""
        if self.budget is not None and nbytes >= self.threshold:
            with self._lock:
                self._drain()
                self._check(nbytes, None, None)

    def statistics(self) -> AllocatorStatistics:
        with self._lock:
            self._drain()
            return AllocatorStatistics(
                live_bytes=self._live,
                peak_bytes=self._peak,
                pooled_bytes=self._pooled,
                allocations=self._allocations,
                frees=self._frees,
                reuses=self._reuses,
                budget=self.budget,
                threshold=self.threshold,
            )

    def reset_peak(self) -> None:
        """Starts the peak again from what is live."""
        with self._lock:
            self._drain()
            self._peak = self._live

    def _check(self, nbytes: int, shape: tuple[int, ...] | None, dtype: np.dtype[Any] | None) -> None:
        if self.budget is None or self._live + nbytes <= self.budget:
            return
        request = f"{nbytes:,} bytes" + (f" for {dtype}{list(shape)}" if shape is not None else "")
        raise ResourceExhaustedError(
            f"{self._owner} has a memory budget of {self.budget:,} bytes, of which {self._live:,} are in use; "
            f"{request} more would exceed it.",
            hint=with_topic(
                "Use smaller batches, drop results that are kept, use af.recompute for layers, or raise the device's budget.",
                "memory-budget",
            ),
        )

    def _count(self, array: np.ndarray[Any, Any], block: memoryview | None, nbytes: int) -> None:
        lease = _BlockLease(array, self._freed.append if nbytes < _HUGE else self._free_now)
        lease.block = block
        lease.nbytes = nbytes
        self._leases[id(lease)] = lease
        self._allocations += 1
        self._live += nbytes
        self._peak = max(self._peak, self._live)

    def _free_now(self, lease: _BlockLease) -> None:
        """Frees what is too large to wait for the next allocation. If an allocation is under way, that allocation frees it."""
        self._freed.append(lease)
        if self._lock.acquire(blocking=False):
            try:
                self._drain()
            finally:
                self._lock.release()

    def _drain(self) -> None:
        while self._freed:
            lease = self._freed.popleft()
            del self._leases[id(lease)]
            self._live -= lease.nbytes
            self._frees += 1
            if lease.block is not None:
                self._recycle(lease.block)

    def _recycle(self, block: memoryview) -> None:
        """Takes back a block that nothing refers to any more."""
        if self._pooled + block.nbytes <= self._pool_limit:
            self._pool.setdefault(block.nbytes, []).append(block)
            self._pooled += block.nbytes
        elif self._source is not None and self._source.owns(block):
            self._source.give(block)


def _size_class(nbytes: int) -> int:
    """`nbytes` rounded up to an eighth of its power of two, so that nearly equal sizes share blocks."""
    step = max(1 << max(nbytes.bit_length() - 4, 0), _ALIGNMENT)
    return -(-nbytes // step) * step


# ---- The order of an array's axes in memory: copies to another memory and back keep it, since some kernels compute by it.


def axes_in_memory(strides: Sequence[int]) -> tuple[int, ...]:
    """The axes of an array with these strides from the outermost in memory to the innermost. A transposition by them makes a
    dense array contiguous."""
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


def inverse(axes: Sequence[int]) -> tuple[int, ...]:
    """The transposition that undoes a transposition by `axes`."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))
