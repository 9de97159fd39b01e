"""Tensors of a GPU for other processes of the host, by CUDA's handles: no byte of them goes through the host.

A handle stands for what one call of cudaMalloc gave, so a tensor is a handle and an offset. The sender records an event
behind what computes the tensor, and the receiver's stream waits for that event, on the GPU; neither host waits. Until
the copy has run the sender's channel holds the tensor, and its event is recorded for no other. So one event serves many tokens
in turn: CUDA has few events that other processes may see. A handle is opened once for each channel and closed at its end, and
the sender gives no memory back to the driver that a peer may have open, for that is undefined.
"""

from __future__ import annotations

import struct
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorflow.base.reports.logs import get_logger
from actorflow.engine.device.sharing import PeerMemory, PeerTensor, SharedTensor
from actorflow.errors import InvalidArgumentError, OpError, UnavailableError

from .errors import CudaErrors
from .memory import CudaAllocator
from .streams import CudaStream
from .transfers import Transfers

_LOG = get_logger("devices")
_MAGIC = b"cudaipc1"
_DESCRIPTION = struct.Struct("<8s64s64sQ")
"""The handle of an allocation, that of an event, and the bytes of the allocation."""
_MOST_EVENTS = 256


@dataclass(frozen=True, slots=True)
class _Event:
    """An event that other processes may wait for."""

    raw: Any
    handle: bytes


class _Export:
    """The export that a peer reads: the array, and the event, which is free for another token when this object is gone."""

    __slots__ = ("_event", "_free", "array")

    def __init__(self, array: Any, event: _Event, free: deque[_Event]) -> None:
        self.array = array
        self._event = event
        self._free = free

    def __del__(self) -> None:
        self._free.append(self._event)


@dataclass(frozen=True, slots=True)
class _PeerAllocation:
    """An allocation of the peer's as this process sees it, or (with no bytes) an event. `ptr` is what CuPy asks for."""

    ptr: int
    size: int = 0


@dataclass(slots=True)
class _Peer:
    """The open handles of one peer. `users` are the copies under way."""

    memory: dict[bytes, _PeerAllocation] = field(default_factory=dict)
    events: dict[bytes, _PeerAllocation] = field(default_factory=dict)
    users: int = 0
    ended: bool = False


class _Copied:
    """Called when a copy has run: then the tensor is the peer's again."""

    def __init__(self, sharing: Sharing, peer: _Peer, foreign: PeerTensor) -> None:
        self._sharing, self._peer = sharing, peer
        self._foreign: PeerTensor | None = foreign

    def __call__(self, error: BaseException | None) -> None:
        self._sharing.leave(self._peer)  # before it is given back, after which the sender may end
        self._foreign = None


class Sharing:
    """The memory that the GPU `place` shows to other processes, and sees of theirs."""

    def __init__(
        self,
        cupy: Any,
        place: Any,
        name: str,
        compute: CudaStream,
        allocator: CudaAllocator,
        errors: CudaErrors,
        transfers: Transfers,
    ) -> None:
        self.sent = self.received = 0
        """Tokens that went and came without the host."""
        self.refusals: dict[str, str] = {}
        """Devices of peers, or this device, with the reason why tokens go by the host."""
        self._xp = cupy
        self._runtime = cupy.cuda.runtime
        self._place = place
        self._name = name
        self._compute = compute
        self._allocator = allocator
        self._errors = errors
        self._transfers = transfers
        self._events: deque[_Event] = deque()
        self._events_made = 0
        self._probe: Any = None
        self._peers: dict[PeerMemory, _Peer] = {}
        self._lock = threading.Lock()

    # ---- what is shown

    def offer(self) -> bytes | None:
        """See `actorflow.engine.device.sharing.SharingDevice`."""
        if self._name in self.refusals or self._errors.closed or self._errors.lost:
            return None
        try:
            if self._probe is None:
                self._probe = self._allocator.allocate((512,), np.dtype(np.uint8))
            described = self._described(self._probe)
        except OpError as error:  # it must not keep the two processes from talking; steps will say what it is
            self.refused(self._name, error.message)
            return None
        if described is None:
            return None
        self._events.append(described[3])  # the peer only looks whether it opens
        return described[0]

    def refused(self, peer: str, reason: str) -> None:
        """Tokens for `peer` go by the host. Says so once."""
        if peer not in self.refusals:
            self.refusals[peer] = reason
            _LOG.warning("tokens of a GPU go by the host", device=self._name, peer=peer, reason=reason)

    def share(self, array: Any, peer_memory: PeerMemory) -> SharedTensor | None:
        """`array`, which is in order, for a peer; None if it has to go by the host."""
        if self._name in self.refusals or not array.size:
            return None
        described = self._described(array)
        if described is None:
            return None
        description, offset, chunk, event = described
        peer_memory.kept[chunk] = chunk
        self.sent += 1
        return SharedTensor(
            array.shape, array.dtype, array.nbytes, description, offset, _Export(array, event, self._events)
        )

    def _described(self, array: Any) -> tuple[bytes, int, Any, _Event] | None:
        """The address of an array, described for a peer, behind all that has been launched. None, with a reason, if CUDA shows
        it to no process."""
        chunk = self._allocator.chunk_of(array.data.ptr, array.nbytes)
        if chunk is None:
            return None  # it is none of ours, so no one knows what it belongs to
        try:
            with self._place:
                if not chunk.handle:
                    chunk.handle = self._runtime.ipcGetMemHandle(chunk.ptr)
                event = self._free_event()
                if event is None:
                    return None
                event.raw.record(self._compute.raw)
        except self._errors.kinds as error:
            self._errors.check_sticky(error)
            self.refused(self._name, f"CUDA shows its memory to no other process: {error}")
            return None
        return (
            _DESCRIPTION.pack(_MAGIC, chunk.handle, event.handle, chunk.size),
            array.data.ptr - chunk.ptr,
            chunk,
            event,
        )

    def _free_event(self) -> _Event | None:
        """An event that no peer waits for. None where too many tokens are under way."""
        try:
            return self._events.popleft()
        except IndexError:
            pass
        if self._events_made == _MOST_EVENTS:
            return None
        raw = self._xp.cuda.Event(disable_timing=True, interprocess=True)
        event = _Event(raw, self._runtime.ipcGetEventHandle(raw.ptr))
        self._events_made += 1
        return event

    # ---- what is seen

    def opens(self, description: bytes) -> str:
        """See `actorflow.engine.device.sharing.SharingDevice`."""
        try:
            memory, event, _ = _read(description)
            self._errors.check_usable()
            with self._place:
                opened = self._runtime.ipcOpenMemHandle(memory)
                try:
                    self._runtime.eventDestroy(self._runtime.ipcOpenEventHandle(event))
                finally:
                    self._runtime.ipcCloseMemHandle(opened)
        except self._errors.kinds as error:
            self._errors.check_sticky(error)
            return f"{self._name} can't open its memory: {error}"
        except OpError as error:
            return error.message
        return ""

    def copy(self, foreign: PeerTensor) -> Any:
        """A copy of a peer's tensor, on its way. The tensor is given back when it has run.

        Raises:
            InvalidArgumentError: the peer describes what can't be.
            UnavailableError: CUDA does not open the memory.
        """
        self._errors.check_usable()
        memory, event, size = _read(foreign.description)
        end = foreign.offset + foreign.nbytes
        if foreign.offset < 0 or end > size or foreign.offset % foreign.dtype.itemsize:
            raise InvalidArgumentError(
                f"A tensor at {foreign.offset} to {end} lies in no allocation of {size:,} bytes."
            )
        peer = self._enter(foreign.peer_memory)
        try:
            opened, ready = self._open(peer, memory, event, size)
            mapped = self._xp.cuda.UnownedMemory(opened.ptr, opened.size, opened, self._place.id)
            source = self._xp.cuda.MemoryPointer(mapped, foreign.offset)
            copied = self._transfers.copied(foreign.shape, foreign.dtype, source, ready, _Copied(self, peer, foreign))
        except BaseException:
            self.leave(peer)
            raise
        self.received += 1
        return copied

    def _enter(self, peer_memory: PeerMemory) -> _Peer:
        with self._lock:
            peer_entry = self._peers.get(peer_memory)
            peer = peer_entry or self._peers.setdefault(peer_memory, _Peer())
            peer.users += 1
        if peer_entry is None:
            peer_memory.on_end(lambda: self._ended(peer_memory))
        return peer

    def _open(self, peer: _Peer, memory: bytes, event: bytes, size: int) -> tuple[_PeerAllocation, _PeerAllocation]:
        """The peer's allocation and event, opened at their first use."""
        try:
            with self._place:
                if memory not in peer.memory:
                    peer.memory[memory] = _PeerAllocation(self._runtime.ipcOpenMemHandle(memory), size)
                if event not in peer.events:
                    peer.events[event] = _PeerAllocation(self._runtime.ipcOpenEventHandle(event))
        except self._errors.kinds as error:
            self._errors.check_sticky(error)
            raise UnavailableError(
                f"{self._name} can't open memory of another process: {error}.",
                device=self._name,
                hint="CUDA opened other memory of it before. transport='zmq' sends all tokens by the host.",
            ) from error
        opened = peer.memory[memory]
        if opened.size != size:
            raise InvalidArgumentError(f"An allocation of {opened.size:,} bytes is said to have {size:,}.")
        return opened, peer.events[event]

    def leave(self, peer: _Peer) -> None:
        """A copy has run, or never began. Called on any thread."""
        with self._lock:
            peer.users -= 1
        self._close(peer)

    def _ended(self, peer_memory: PeerMemory) -> None:
        with self._lock:
            peer = self._peers.pop(peer_memory, None)
        if peer is not None:
            peer.ended = True
            self._close(peer)

    def _close(self, peer: _Peer) -> None:
        """Closes what is open of a peer that has ended, when no copy reads it."""
        with self._lock:
            if not peer.ended or peer.users:
                return
            memory, events = list(peer.memory.values()), list(peer.events.values())
            peer.memory.clear()
            peer.events.clear()
        try:
            with self._place:
                for event in events:
                    self._runtime.eventDestroy(event.ptr)
                for opened in memory:
                    self._runtime.ipcCloseMemHandle(opened.ptr)
        except self._errors.kinds as error:  # it is over with this GPU, or the peer has ended in a bad way
            _LOG.warning("memory of another process could not be closed", device=self._name, error=str(error))

    def close(self) -> None:
        """Closes what is open of all peers, as soon as no copy reads it."""
        for peer_memory in list(self._peers):
            self._ended(peer_memory)
        self._probe = None


def _read(description: bytes) -> tuple[bytes, bytes, int]:
    """The handle of an allocation and of an event, and the bytes of the allocation. Raises InvalidArgumentError."""
    if len(description) != _DESCRIPTION.size or not description.startswith(_MAGIC):
        raise InvalidArgumentError(
            "A peer describes memory that is none of CUDA's, or of another release of actorflow."
        )
    _, memory, event, size = _DESCRIPTION.unpack(description)
    return memory, event, size
