"""The tokens that arrive: each is checked, put together in memory that was allocated for it, and delivered once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.transport.base import Allocate
from actorflow.engine.transport.errors import ProtocolError
from actorflow.engine.transport.statistics import EdgeCount
from actorflow.errors import OpError, ResourceExhaustedError

from .contents import HandleContent
from .frames import HANDLE_CODE, MOST_HANDLES, FrameRecord, RecordFlag, unpack
from .inbox import Inbox
from .tensors import ReceiveBuffer, TensorForm, handle_form, plain_form, read_form, view_of

CHUNK_LIMIT = 1 << 20
"""The most bytes of a chunk."""
MapHandle = Callable[[TensorForm, int | bytes, int, int], Any]
"""`(form, arena, offset, lease) -> array` in the peer's arena, or a `PeerTensor` in a device's memory that the bytes describe. It
must call `release(lease)` when that is gone."""


@dataclass(slots=True)
class _Assembly:
    """A tensor whose chunks are under way. `landing` is None if they are thrown away."""

    record: FrameRecord
    landing: ReceiveBuffer | None
    landed: int = 0


class Receiver:
    """Tokens on their way from the wire to the inbox. A record that breaks the rules raises ProtocolError.

    `abort(epoch, step, error)` tells the peer that a step failed here; `release(leases)` gives handles back to it.
    """

    def __init__(
        self,
        limit: int,
        allocate: Allocate | None,
        map_handle: MapHandle | None,
        abort: Callable[[int, int, BaseException], None],
        release: Callable[[list[int]], None],
    ) -> None:
        self.inbox = Inbox()
        self.received: dict[int, EdgeCount] = {}
        self.dropped_old = 0
        self.enclosed_count = 0
        """How many handles the message has had that is being read."""
        self._limit = limit
        self._allocate = allocate or _plain
        self._map_handle = map_handle
        self._abort = abort
        self._release = release
        self._assembly: _Assembly | None = None
        self._lent: TensorForm | None = None
        self._scratch: memoryview | None = None

    def inline(self, record: FrameRecord) -> None:
        if record.offset or record.total != record.body_size or not record.flags & RecordFlag.LAST:
            raise ProtocolError("A small tensor is not whole.")
        self.entry(record.edge).bytes += record.body_size
        landing = None
        if not record.flags & (RecordFlag.DEAD | RecordFlag.NOTHING):
            landing = self._prepare(record)
            if landing is not None and record.body_size:
                landing.view[:] = record.body
        elif (
            record.total
            or record.meta
            or record.flags & (RecordFlag.DEAD | RecordFlag.NOTHING) == RecordFlag.DEAD | RecordFlag.NOTHING
        ):
            raise ProtocolError("A token without a value has one.")
        self._land(record, landing)

    def handle(self, handle: HandleContent) -> None:
        record = handle.record
        if self._map_handle is None:
            raise ProtocolError("A handle has arrived over a transport that carries none.")
        form = handle_form(record, handle.name, handle.sizes, self._limit)
        if form.lossy or form.dtype.name == "string":
            raise ProtocolError(f"A handle to a tensor of {handle.name} has arrived; it has no fixed form in memory.")
        if self.late(record):
            self._release([handle.lease])
            return
        self.deliver(record, self._map_handle(form, handle.arena, handle.offset, handle.lease))

    def enclosed(self, code: int, content: bytes) -> Any:
        """The tensor of a handle within a message. Raises ProtocolError."""
        if code != HANDLE_CODE or self._map_handle is None:
            raise ProtocolError(f"A message has an extension of type {code}, which none may have here.")
        self.enclosed_count += 1
        if self.enclosed_count > MOST_HANDLES:
            raise ProtocolError(f"A message has more than {MOST_HANDLES:,} handles.")
        match unpack(content):
            case [str(name), list(sizes), int(arena), int(offset), int(lease)]:
                form = plain_form(name, sizes, self._limit)
            case _:
                raise ProtocolError("A handle within a message is no type, shape, arena, offset and lease.")
        if form.dtype.name == "string":
            raise ProtocolError("A handle to a tensor of string has arrived; it has no fixed form in memory.")
        token = self._map_handle(form, arena, offset, lease)
        return token if token.ndim else token[()]

    def place(self, record: FrameRecord, *, lends: bool = False) -> memoryview:
        """The buffer for the body of a chunk. It is empty, and `borrows` is set, if the chunk is a whole tensor and the shell
        `lends` the memory that it came in: then `lent` is called, not `landed`."""
        assembly = self._assembly
        if record.offset == 0:  # a tensor that is not whole by now was given up, its step aborted
            if record.flags & (RecordFlag.DEAD | RecordFlag.NOTHING):
                raise ProtocolError("A token without a value has one.")
            if lends and record.body_size == record.total and self._allocate is _plain:
                form = read_form(record, self._limit)
                if form.in_place and not self.inbox.ended(record.epoch, record.step):
                    self._assembly, self._lent = None, form
                    return memoryview(b"")
            assembly = self._assembly = _Assembly(record, self._prepare(record))
        elif assembly is None:
            raise ProtocolError("A chunk belongs to no tensor.")
        of = assembly.record
        same = (of.epoch, of.step, of.edge, of.tag, of.total) == (
            record.epoch,
            record.step,
            record.edge,
            record.tag,
            record.total,
        )
        if not same or record.offset != assembly.landed or record.offset + record.body_size > record.total:
            raise ProtocolError("A chunk of a tensor is out of place.")
        if assembly.landing is not None and self.late(record):
            assembly.landing = None
        if assembly.landing is None:
            return self.discarded(record.body_size)
        return assembly.landing.view[record.offset : record.offset + record.body_size]

    def _prepare(self, record: FrameRecord) -> ReceiveBuffer | None:
        """Memory for a tensor that begins to arrive. None where its step has ended, or ends now for want of memory."""
        form = read_form(record, self._limit)
        if self.late(record):
            return None
        try:
            return ReceiveBuffer(form, lambda shape, dtype: self._allocate(record.edge, shape, dtype))
        except (MemoryError, OpError) as error:
            self._fail_step(record, error)
            return None

    def _land(self, record: FrameRecord, landing: ReceiveBuffer | None) -> None:
        if record.flags & RecordFlag.DEAD:
            self.deliver(record, DEAD)
        elif record.flags & RecordFlag.NOTHING:
            self.deliver(record, None)
        elif landing is not None:
            try:
                token = landing.finished(lambda shape, dtype: self._allocate(record.edge, shape, dtype))
            except (MemoryError, OpError) as error:
                if isinstance(error, ProtocolError):
                    raise
                self._fail_step(record, error)
                return
            self.deliver(record, token)

    def deliver(self, record: FrameRecord, token: Any) -> None:
        self.entry(record.edge).tokens += 1
        error = self.inbox.deliver(record.epoch, record.step, (record.edge, record.tag), token)
        if error is not None:
            self._abort(record.epoch, record.step, error)

    def _fail_step(self, record: FrameRecord, error: BaseException) -> None:
        if isinstance(error, MemoryError):
            error = ResourceExhaustedError(f"There is no memory for a tensor of {record.total:,} bytes.")
        self._abort(record.epoch, record.step, error)
        self.inbox.abort(record.step, error, record.epoch)

    def late(self, record: FrameRecord) -> bool:
        """Whether a token belongs to what is over."""
        late = self.inbox.ended(record.epoch, record.step)
        self.dropped_old += late
        return late

    @property
    def borrows(self) -> bool:
        """Whether the body of the last chunk is to be lent."""
        return self._lent is not None

    def lent(self, record: FrameRecord, memory: memoryview) -> None:
        """The body of a whole tensor is in `memory`, which is the token's from now on."""
        form, self._lent = self._lent, None
        assert form is not None
        if len(memory) != record.body_size:
            raise ProtocolError(f"A chunk has {len(memory):,} bytes, but its head said {record.body_size:,}.")
        self.entry(record.edge).bytes += record.body_size
        token = view_of(form, memory)
        if not token.flags.aligned:
            token = token.copy()
        token.flags.writeable = False
        self.deliver(record, token if token.ndim else token[()])

    def landed(self, record: FrameRecord) -> None:
        """The body of a chunk is where `place` said."""
        assembly = self._assembly
        if assembly is None:
            return
        assembly.landed += record.body_size
        self.entry(record.edge).bytes += record.body_size
        if assembly.landed == record.total:
            self._assembly = None
            self._land(assembly.record, assembly.landing)

    def close(self, error: BaseException) -> None:
        """The connection has ended. Tokens that came whole can still be taken."""
        self._assembly = None
        self.inbox.close(error, keep=True)

    def entry(self, edge: int) -> EdgeCount:
        """The counts of an edge."""
        entry = self.received.get(edge)
        if entry is None:
            entry = self.received[edge] = EdgeCount()
        return entry

    def waited(self, edge: int, seconds: float) -> None:
        """A token was wanted so long before it came."""
        entry = self.entry(edge)
        entry.waits += 1
        entry.wait_seconds += seconds

    def discarded(self, size: int) -> memoryview:
        if self._scratch is None:
            self._scratch = memoryview(bytearray(CHUNK_LIMIT))
        return self._scratch[:size]


def _plain(edge: int, shape: tuple[int, ...], dtype: Any) -> Any:
    return np.empty(shape, dtype)
