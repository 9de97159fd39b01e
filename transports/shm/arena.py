"""Shared arenas: memory that a process allocates in and its peers on the same host read.

An arena is a sealed memfd. It has no name, so it is gone with its last user, however that one ended; it can't be truncated
under a reader, and readers can't write. It is as large as it may ever become, but takes memory only as it is used. It keeps
what it has taken, for the seal that keeps readers from writing also keeps pages from being given back.
"""

from __future__ import annotations

import array as arrays
import bisect
import fcntl
import itertools
import mmap
import os
import socket
import threading
from collections import deque
from typing import Any

import numpy as np

from actorflow.engine.transport.errors import ProtocolError

DEFAULT_SIZE = 4 << 30
ALIGNMENT = 64
_STEP = 16 << 20
MOST_DESCRIPTORS = 4
"""That a peer may send with its first packet."""
_MOST_ARENAS = 16
_FUTURE_WRITE = 0x10  # F_SEAL_FUTURE_WRITE, which fcntl does not name before Python 3.13
_FIXED = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_numbers = itertools.count(1)


class SharedArena:
    """Memory of this process that peers may read. Blocks are taken from any thread; they may be given back anywhere.

    The lowest free place is taken, so that little memory is ever in use; free neighbours are joined.
    """

    def __init__(self, size: int = DEFAULT_SIZE) -> None:
        self.number = next(_numbers)
        self.size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        self.fd = os.memfd_create("actorflow", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, self.size)
            self._memory = memoryview(mmap.mmap(self.fd, self.size))
            _seal(self.fd)
        except BaseException:
            os.close(self.fd)
            raise
        self._start = _address(self._memory)
        self._committed = 0
        self._offsets = [0]  # of the free ranges, in order, with their sizes
        self._sizes = [self.size]
        self._taken: dict[int, int] = {}
        self._given: deque[int] = deque()
        self._lost: list[Any] = []
        self._lock = threading.Lock()

    def take(self, size: int) -> memoryview | None:
        """A block of at least `size` bytes, aligned to 64; None if no place or no memory is left. Never waits."""
        size = max(-(-size // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
        with self._lock:
            self._collect()
            index = next((index for index, free in enumerate(self._sizes) if free >= size), None)
            if index is None:
                return None
            free = self._sizes[index]
            offset = self._offsets[index]
            if not self._commit(offset + size):
                return None
            if free == size:
                del self._offsets[index], self._sizes[index]
            else:
                self._offsets[index] += size
                self._sizes[index] -= size
            self._taken[offset] = size
            return self._memory[offset : offset + size]

    def give(self, block: memoryview) -> None:
        """Takes a block back that no one looks at any more. Safe in finalizers: it only notes it."""
        self._given.append(_address(block) - self._start)

    def keep(self, lent: Any) -> None:
        """Never uses the memory of `lent` again: a peer may see it still, and no one will hear when it does no more."""
        self._lost.append(lent)

    def offset_of(self, address: int, size: int) -> int | None:
        """The offset in the arena of memory at `address`; None if it lies elsewhere."""
        offset = address - self._start
        return offset if 0 <= offset and offset + size <= self.size else None

    def owns(self, block: memoryview) -> bool:
        """Whether `block` was taken from here."""
        return self.offset_of(_address(block), len(block)) is not None

    @property
    def used(self) -> int:
        """The bytes of blocks that are taken."""
        with self._lock:
            self._collect()
            return sum(self._taken.values())

    @property
    def committed(self) -> int:
        """The bytes of memory that the arena holds."""
        return self._committed

    def close(self) -> None:
        """Closes the descriptor. The memory stays for those who still see it, here and in peers."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _commit(self, end: int) -> bool:
        """Gets memory for the pages up to `end` now: without any left, to touch them would kill the process."""
        if end <= self._committed:
            return True
        if self.fd < 0:
            return False
        goal = min(-(-end // _STEP) * _STEP, self.size)
        try:
            os.posix_fallocate(self.fd, self._committed, goal - self._committed)
        except OSError:
            return False
        self._committed = goal
        return True

    def _collect(self) -> None:
        while self._given:
            offset = self._given.popleft()
            size = self._taken.pop(offset)
            index = bisect.bisect(self._offsets, offset)
            if index < len(self._offsets) and offset + size == self._offsets[index]:
                size += self._sizes[index]
                del self._offsets[index], self._sizes[index]
            if index and self._offsets[index - 1] + self._sizes[index - 1] == offset:
                self._sizes[index - 1] += size
            else:
                self._offsets.insert(index, offset)
                self._sizes.insert(index, size)


class ArenaBlock:
    """A block that goes back to its arena when no one holds this object any more."""

    __slots__ = ("_arena", "memory")

    def __init__(self, arena: SharedArena, memory: memoryview) -> None:
        self._arena = arena
        self.memory = memory

    def __del__(self) -> None:
        self._arena.give(self.memory)


class PeerArenas:
    """The arenas of a peer that are mapped here, and the descriptors that have come for further arenas."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []
        self._maps: dict[int, memoryview] = {}

    def take_descriptors(self, ancillary: list[Any]) -> None:
        """Keeps the descriptors that came with a packet, and closes those that are too many."""
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = arrays.array("i")
                received.frombytes(data[: len(data) - len(data) % received.itemsize])
                self._descriptors.extend(received)
        while len(self._descriptors) > MOST_DESCRIPTORS:
            os.close(self._descriptors.pop())

    def add(self, number: int, size: int) -> None:
        """Maps the arena that the peer names so. Raises ProtocolError if it can't be mapped, or is one too many."""
        if not self._descriptors:
            raise ProtocolError("The peer names an arena, but its descriptor did not come with it.")
        if len(self._maps) == _MOST_ARENAS:
            raise ProtocolError(f"The peer names more than {_MOST_ARENAS} arenas.")
        descriptor = self._descriptors.pop(0)
        try:
            self._maps[number] = map_arena(descriptor, size)
        finally:
            os.close(descriptor)

    def get(self, number: int) -> memoryview | None:
        """The memory of an arena; None if the peer has named no such arena."""
        return self._maps.get(number)

    def close(self) -> None:
        """Lets go of the maps, and closes the descriptors. Arrays that are still in use keep their memory."""
        self._maps.clear()
        while self._descriptors:
            os.close(self._descriptors.pop())


def map_arena(fd: int, size: int) -> memoryview:
    """A peer's arena, to be read only. Raises ProtocolError for a file that is no arena: it must be sealed, and of its size."""
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
        if seals & _FIXED != _FIXED or not 0 < size <= os.fstat(fd).st_size:
            raise ProtocolError("The peer's arena is not sealed, or smaller than it says.")
        return memoryview(mmap.mmap(fd, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ))
    except (OSError, OverflowError, ValueError) as error:
        raise ProtocolError(f"The peer's arena cannot be mapped: {error}.") from error


def _seal(fd: int) -> None:
    try:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _FIXED | _FUTURE_WRITE)
    except OSError:  # a kernel before 5.1: readers could write, if they wanted to
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _FIXED)


def _address(memory: memoryview) -> int:
    address: Any = np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
    return int(address)
