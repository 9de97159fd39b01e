"""GPU memory: CuPy's pool, counted and with a budget, and pinned buffers of the host for copies.

CuPy's pool keeps freed blocks apart by the stream that was current when they were allocated, and gives them out again to that
stream alone, at once: the stream's order sees to it that the last use of a block runs before the next use. This holds for
blocks that no other stream uses. So what a copy stream reads is kept until the stream has read it (`CudaDevice`). A block that
was allocated for a copy stream goes back to its pool behind an event of the compute stream, which has used the block.
"""

from __future__ import annotations

import bisect
import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.engine.device.base import AllocatorStatistics
from actorflow.errors import ResourceExhaustedError

from .streams import CudaStream

THRESHOLD = 64 * 1024


class Lease:
    """The owner of the memory of an array and of all its views: it is gone when the last of them is."""

    __slots__ = ("__weakref__", "block")

    def __init__(self, block: Any) -> None:
        self.block = block


class _LeaseWatch(weakref.ref[Lease]):
    """A weak reference to a lease that remembers its memory: the block, the bytes and the stream."""

    __slots__ = ("block", "nbytes", "stream")
    block: Any
    nbytes: int
    stream: CudaStream


def array_over(cupy: Any, shape: tuple[int, ...], dtype: Any, block: Any, owner: object, device_id: int) -> Any:
    """An array at the begin of a block of memory. `owner` lives as long as it or a view of it does."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory = cupy.cuda.UnownedMemory(block.ptr, size, owner, device_id)
    return cupy.ndarray(shape, dtype, memptr=cupy.cuda.MemoryPointer(memory, 0))


class CudaAllocator:
    """Memory of one GPU. Blocks of `threshold` bytes and more are counted and checked against `budget`; smaller blocks come
    from the pool uncounted. It grows on demand, by what CuPy's pool asks of the driver."""

    def __init__(
        self, cupy: Any, place: Any, compute: CudaStream, budget: int | None, *, owner: str, threshold: int = THRESHOLD
    ) -> None:
        self.threshold = threshold
        self.budget = budget
        self._cupy = cupy
        self._place = place
        self._compute = compute
        self._owner = owner
        self._chunks = Chunks(cupy, place.id)
        self._pool = cupy.cuda.MemoryPool(self._chunks)
        self._watches: dict[int, _LeaseWatch] = {}
        self._freed: deque[_LeaseWatch] = deque()
        self.diverted: tuple[int, Callable[[int], Any]] | None = None
        """The thread that records launches, and the function that gives it memory meanwhile."""
        self._lock = threading.Lock()
        self._live = self._peak = 0
        self._allocations = self._frees = self._reuses = 0

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: CudaStream | None = None) -> Any:
        """A fresh array of undefined contents, for `stream` to be the first to use (the compute stream unless given).

        Raises:
            ResourceExhaustedError: the budget, or the GPU's memory, would be exceeded.
        """
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        diverted = self.diverted
        if diverted is not None and stream is None and diverted[0] == threading.get_ident():
            return self._cupy.ndarray(shape, dtype, memptr=diverted[1](nbytes))
        stream = stream or self._compute
        with self._place, stream.raw:
            pointer = self._block(nbytes, stream, shape, dtype)
            return self._cupy.ndarray(shape, dtype, memptr=pointer)

    def take_bytes(self, nbytes: int) -> Any:
        """A fresh array of `nbytes` bytes, for a recording."""
        return self.allocate((nbytes,), np.dtype(np.uint8), self._compute)

    def malloc(self, nbytes: int) -> Any:
        """A block for what CuPy itself allocates while kernels are launched (`cupy.cuda.using_allocator`)."""
        return self._block(nbytes, self._compute, None, None)

    def _block(self, nbytes: int, stream: CudaStream, shape: Any, dtype: Any) -> Any:
        """A pointer to a block; large blocks are counted."""
        if nbytes < self.threshold:
            if stream is self._compute:
                return self._take(nbytes)
            watched = 0
        else:
            watched = nbytes
        with self._lock:
            self._drain()
            if watched:
                self._check(nbytes, shape, dtype)
            before = self._pool.total_bytes()
            block = self._take(nbytes)
            lease = Lease(block)
            watch = _LeaseWatch(lease, self._freed.append)
            watch.block, watch.nbytes, watch.stream = (None if stream is self._compute else block), watched, stream
            self._watches[id(watch)] = watch
            if watched:
                self._reuses += self._pool.total_bytes() == before
                self._allocations += 1
                self._live += nbytes
                self._peak = max(self._peak, self._live)
        memory = self._cupy.cuda.UnownedMemory(block.ptr, nbytes, lease, self._place.id)
        return self._cupy.cuda.MemoryPointer(memory, 0)

    def _take(self, nbytes: int) -> Any:
        try:
            return self._pool.malloc(nbytes)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise ResourceExhaustedError(
                f"{self._owner} has no memory left for {nbytes:,} bytes more; {self._live:,} are in use, and "
                f"{self._pool.total_bytes():,} are held.",
                hint="Use smaller batches, drop results that are kept, or give the device a budget below its memory.",
            ) from error

    def chunk_of(self, address: int, nbytes: int) -> Chunk | None:
        """The piece of the driver's memory to which an address belongs; None if it is none of this allocator's."""
        return self._chunks.at(address, nbytes)

    def adopt(self, array: Any) -> Any:
        """Kernels allocate from here already, so there is nothing to count. Returns the array."""
        return array

    def check(self, nbytes: int) -> None:
        """Raises ResourceExhaustedError where `nbytes` more would exceed the budget."""
        if self.budget is not None and nbytes >= self.threshold:
            with self._lock:
                self._drain()
                self._check(nbytes, None, None)

    def _check(self, nbytes: int, shape: tuple[int, ...] | None, dtype: np.dtype[Any] | None) -> None:
        if self.budget is None or self._live + nbytes <= self.budget:
            return
        request = f"{nbytes:,} bytes" + (f" for {dtype}{list(shape)}" if shape is not None else "")
        raise ResourceExhaustedError(
            f"{self._owner} has a memory budget of {self.budget:,} bytes, of which {self._live:,} are in use; "
            f"{request} more would exceed it.",
            hint="Use smaller batches, drop results that are kept, or raise the device's budget.",
        )

    def _drain(self) -> None:
        """Takes back what has been freed, on whatever thread that was."""
        waiting: dict[int, CudaStream] = {}
        blocks = []
        while self._freed:
            watch = self._freed.popleft()
            del self._watches[id(watch)]
            if watch.nbytes:
                self._live -= watch.nbytes
                self._frees += 1
            if watch.block is not None:
                waiting[id(watch.stream)] = watch.stream
                blocks.append(watch.block)
                watch.block = None
        if waiting:
            used = self._compute.mark()
            for stream in waiting.values():
                stream.wait_event(used)  # and only then may it write there again
        blocks.clear()

    def statistics(self) -> AllocatorStatistics:
        with self._lock, self._place:  # CuPy's pool has a part for each GPU, and answers for the current GPU
            self._drain()
            return AllocatorStatistics(
                live_bytes=self._live,
                peak_bytes=self._peak,
                pooled_bytes=self._pool.free_bytes(),
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

    def close(self) -> None:
        """Gives the memory that no one uses back to the driver."""
        with self._lock:
            self._drain()
            with self._place:
                self._pool.free_all_blocks()


def pinned(cupy: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of undefined contents in pinned host memory, which goes back to CuPy's pool with its last view."""
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return np.empty(shape, dtype)
    memory = cupy.cuda.alloc_pinned_memory(count * dtype.itemsize)
    flat: np.ndarray[Any, Any] = np.frombuffer(memory, np.uint8, count * dtype.itemsize)
    return flat.view(dtype).reshape(shape)


def address(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    """The address of a host array's first element."""
    return ctypes.c_void_p(array.ctypes.data)


# ---- What the driver gives a pool, piece by piece: other processes are shown whole pieces, so somebody has to know them.
#
# CuPy's pool divides the memory of one call of cudaMalloc among arrays, and does not tell its address. The pool asks for memory
# by a function that may be replaced; the function here remembers.


class Chunk:
    """The memory of one call of cudaMalloc. It goes back to the driver when no one holds this object any more, neither
    the pool nor who shows it to other processes."""

    __slots__ = ("__weakref__", "_memory", "handle", "ptr", "size")

    def __init__(self, memory: Any, size: int) -> None:
        self.ptr: int = memory.ptr
        self.size = size
        self.handle = b""
        """The handle of the chunk for other processes, once a process has asked."""
        self._memory = memory


class Chunks:
    """The allocator below a pool of the GPU number `device_id`, and a register of what it gave."""

    def __init__(self, cupy: Any, device_id: int) -> None:
        self._cupy = cupy
        self._device_id = device_id
        self._known: weakref.WeakValueDictionary[int, Chunk] = weakref.WeakValueDictionary()
        self._begins: list[int] = []
        self._lock = threading.Lock()

    def __call__(self, size: int) -> Any:
        """A pointer to fresh memory of the current GPU. Raises what CuPy raises."""
        chunk = Chunk(self._cupy.cuda.Memory(size), size)
        with self._lock:
            self._known[chunk.ptr] = chunk
            self._begins = sorted(self._known)
        memory = self._cupy.cuda.UnownedMemory(chunk.ptr, size, chunk, self._device_id)
        return self._cupy.cuda.MemoryPointer(memory, 0)

    def at(self, address: int, nbytes: int) -> Chunk | None:
        """The chunk that `nbytes` at an address belong to; None for bytes of no living chunk."""
        begins = self._begins
        place = bisect.bisect_right(begins, address) - 1
        chunk = self._known.get(begins[place]) if place >= 0 else None
        return chunk if chunk is not None and address + nbytes <= chunk.ptr + chunk.size else None
