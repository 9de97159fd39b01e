"""`Sender`: the tokens that leave. Each becomes a record, or chunks; what the peer sees through handles is held for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgpack
import numpy as np

from actorflow.engine.transport.errors import ProtocolError
from actorflow.engine.transport.statistics import EdgeCount

from .frames import HANDLE_CODE, TAG_LIMIT, FrameRecord, RecordFlag, RecordKind, pack, unpack
from .outbox import Outbox
from .tensors import EncodedTensor, described

INLINE = 16 * 1024
"""Tokens of at most this number of bytes travel with the records of the control lane."""


@dataclass(slots=True, eq=False)
class EnclosedTensor:
    """A tensor at `offset` of an arena, whose handle goes within a message."""

    tensor: np.ndarray[Any, Any]
    arena: int
    offset: int


class Sender:
    """Makes records of tokens, puts them into `outbox`, and counts them by edge."""

    def __init__(self, outbox: Outbox, incarnation: int) -> None:
        self.leases: dict[int, Any] = {}
        """The arrays that the peer sees through handles, until it releases them."""
        self.handles = self.copies = 0
        self.sent: dict[int, EdgeCount] = {}
        self._outbox = outbox
        outbox.unsent = self._unsent
        self._incarnation = incarnation
        self.next_lease = 1
        self.encloses = False
        """Whether the peer takes handles within messages."""

    def send(self, epoch: int, edge: int, step: int, tag: bytes, encoded: EncodedTensor) -> None:
        """Queues a token. Raises ValueError where its key does not fit into a record."""
        size = len(encoded.body)
        self.copies += encoded.copied
        record = self._record(RecordKind.TENSOR, epoch, edge, step, tag, encoded.flags, encoded.meta, size)
        if size <= INLINE:
            record.flags |= RecordFlag.LAST
            record.body, record.body_size = bytes(encoded.body), size
            self._outbox.put_token(record)
        else:
            record.flags |= RecordFlag.FOLLOWS
            self._outbox.put_tensor(record, encoded.body, encoded.keep)
        self.count(edge, size)

    def send_handle(
        self,
        epoch: int,
        edge: int,
        step: int,
        tag: bytes,
        encoded: EncodedTensor,
        keep: Any,
        arena: int | bytes,
        offset: int,
        total: int | None = None,
    ) -> None:
        """Queues a handle to `encoded`, whose bytes lie at `offset` of an arena. `keep` is held until it is released. A
        token in a device's memory has no bytes here: `arena` describes that, and `total` says how many bytes they
        are."""
        lease, self.next_lease = self.next_lease, self.next_lease + 1
        meta = pack([*_described(encoded.meta), arena, offset, lease])
        size = len(encoded.body) if total is None else total
        record = self._record(RecordKind.HANDLE, epoch, edge, step, tag, encoded.flags | RecordFlag.LAST, meta, size)
        self.leases[lease] = keep
        self._outbox.put_token(record)
        self.handles += 1
        self.count(edge, 0)

    def enclose(self, value: Any) -> msgpack.ExtType:
        """The handle of an `EnclosedTensor`, for `pack`. The tensor is held until the peer releases it. Raises TypeError for
        anything else, and where the peer takes none."""
        if type(value) is not EnclosedTensor:
            raise TypeError(f"a {type(value).__name__} has no form in a message")
        if not self.encloses:
            raise TypeError("a tensor has no form in a message to a peer that takes none there")
        lease, self.next_lease = self.next_lease, self.next_lease + 1
        self.leases[lease] = tensor = value.tensor
        self.handles += 1
        return msgpack.ExtType(HANDLE_CODE, pack([*described(tensor), value.arena, value.offset, lease]))

    def take_back(self, first: int) -> None:
        """The handles from lease `first` on never leave: what they were in is not sent."""
        self.handles -= self.next_lease - first
        for lease in range(first, self.next_lease):
            self.leases.pop(lease, None)

    def _unsent(self, record: FrameRecord) -> None:
        """A handle was dropped before it left."""
        *_, lease = unpack(record.meta)
        self.leases.pop(lease, None)

    def released(self, leases: list[int]) -> None:
        """The peer gives handles back. Raises ProtocolError for handles that it does not hold."""
        for lease in leases:
            if self.leases.pop(lease, self) is self:
                raise ProtocolError(f"The peer releases {str(lease)[:40]}, which it does not hold.")

    def count(self, edge: int, size: int) -> None:
        """A token goes to the peer, with `size` bytes on the wire."""
        entry = self.sent.get(edge)
        if entry is None:
            entry = self.sent[edge] = EdgeCount()
        entry.tokens += 1
        entry.bytes += size

    def _record(
        self, kind: RecordKind, epoch: int, edge: int, step: int, tag: bytes, flags: int, meta: bytes, total: int
    ) -> FrameRecord:
        if not 0 <= edge < 1 << 32 or not 0 <= step < 1 << 64 or len(tag) > TAG_LIMIT:
            raise ValueError(f"Edge {edge}, step {step} and a tag of {len(tag)} bytes do not fit into a record.")
        return FrameRecord(
            kind,
            flags=flags,
            epoch=epoch,
            incarnation=self._incarnation,
            step=step,
            edge=edge,
            tag=tag,
            meta=meta,
            total=total,
        )


@lru_cache(4096)
def _described(meta: bytes) -> tuple[str, list[int]]:
    """The type and the shape in a tensor's metadata."""
    name, shape = unpack(meta)
    return name, shape
