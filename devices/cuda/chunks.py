"""What the driver gives a pool, piece by piece: other processes are shown whole pieces, so somebody has to know them.

CuPy's pool divides what one call of cudaMalloc gave among arrays, and does not say where it begins. It asks for memory
by a function that may be replaced; this one remembers.
"""

from __future__ import annotations

import bisect
import threading
import weakref
from typing import Any


class Chunk:
    """What one call of cudaMalloc gave. It goes back to the driver when no one holds this object any more, neither the pool
    nor who shows it to other processes."""

    __slots__ = ("__weakref__", "_memory", "handle", "ptr", "size")

    def __init__(self, memory: Any, size: int) -> None:
        self.ptr: int = memory.ptr
        self.size = size
        self.handle = b""
        """What stands for it in other processes, once somebody has asked."""
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
        """The chunk that `nbytes` at an address belong to; None where they are of no chunk that is alive."""
        begins = self._begins
        place = bisect.bisect_right(begins, address) - 1
        chunk = self._known.get(begins[place]) if place >= 0 else None
        return chunk if chunk is not None and address + nbytes <= chunk.ptr + chunk.size else None
