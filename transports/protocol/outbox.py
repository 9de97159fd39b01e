"""The records that a connection has still to send, in the order in which they go, under the windows that the peer has
granted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .frames import FRAME_LIMIT, HEADER, FrameRecord, RecordFlag, RecordKind, encode, head, message_piece, pack

_FRAGMENT = 32 * 1024
_LEASES = 1024


@dataclass(slots=True)
class _ChunkedTensor:
    """A tensor that goes in chunks; `keep` holds the array of which `body` are the bytes."""

    record: FrameRecord
    body: memoryview
    keep: Any
    offset: int = 0


class Outbox:
    """Four queues: urgent records, messages, records of small tokens, and large tensors, which go in chunks.

    Urgent records are exempt from windows. Messages have one window, tokens another; who meets its end waits, and holds
    up no other queue. Sequence numbers are given as records leave, so what is dropped before leaves no gap.
    """

    def __init__(self, incarnation: int, chunk: int) -> None:
        self.chunk = chunk
        self.whole = chunk
        """The bytes up to which a tensor is one chunk."""
        self.data_credit = 0
        self.control_credit = 0
        self.message_bytes = 0
        self.bulk_sent = 0
        self.version = 1
        self.bytes = 0
        self.takes_leases = False
        """Whether the peer takes the leases that go back within a message."""
        self.unsent: Callable[[FrameRecord], object] = lambda record: None
        """Called with each handle that is dropped: the peer will never give it back."""
        self._control_sent = 0
        self._incarnation = incarnation
        self._urgent: deque[FrameRecord] = deque()
        self._leases: list[int] = []
        self._messages: deque[bytes] = deque()
        self._message_sent = 0  # how much of the first of them
        self._tokens: deque[FrameRecord] = deque()
        self._tensors: deque[_ChunkedTensor] = deque()
        self._last: FrameRecord | None = None

    def put_urgent(self, record: FrameRecord) -> None:
        self._urgent.append(record)

    def put_leases(self, leases: list[int]) -> None:
        """Leases that go back to the peer: with the next message if that can leave at once, else in a record of their own."""
        self._leases += leases

    def put_message(self, data: bytes) -> None:
        self._messages.append(data)
        self.message_bytes += len(data)

    def put_token(self, record: FrameRecord) -> None:
        self._tokens.append(record)

    def put_tensor(self, record: FrameRecord, body: memoryview, keep: Any) -> None:
        self._tensors.append(_ChunkedTensor(record, body, keep))

    def end(self, record: FrameRecord) -> None:
        """`record` is the last that leaves; what is queued is dropped."""
        self.clear()
        self._last = record

    def clear(self) -> None:
        """Drops all that is queued."""
        for queue in (self._urgent, self._messages, self._tokens, self._tensors):
            queue.clear()
        self._leases = []
        self.message_bytes = self._message_sent = 0
        self._last = None

    def drop(self, epoch: int, step: int | None) -> None:
        """Drops the tokens of a step, or (without a step) those of epochs before `epoch`."""

        def stays(record: FrameRecord) -> bool:
            return record.epoch >= epoch if step is None else record.epoch != epoch or record.step != step

        for record in self._tokens:
            if record.kind == RecordKind.HANDLE and not stays(record):
                self.unsent(record)
        self._tokens = deque(record for record in self._tokens if stays(record))
        self._tensors = deque(tensor for tensor in self._tensors if stays(tensor.record))

    @property
    def tensors(self) -> int:
        """How many tokens have not left, or not whole."""
        return len(self._tokens) + len(self._tensors)

    @property
    def messages(self) -> int:
        return len(self._messages)

    @property
    def empty(self) -> bool:
        return not (self._urgent or self._leases or self._messages or self._tokens or self._tensors or self._last)

    def next_control(self) -> bytes | None:
        """The next frame of records, or None where nothing may leave now."""
        if not (self._urgent or self._leases or self._messages or self._tokens or self._last):
            return None
        if len(self._messages) == 1 and not (
            self._urgent or self._tokens or self._message_sent
        ):  # as a small step has it
            data = self._messages[0]
            size = len(data)
            meta = self._leases_within() if self._leases else b""
            if (
                meta is not None
                and size <= _FRAGMENT
                and (cost := HEADER.size + len(meta) + size) <= self.control_credit
            ):
                self._leases = []
                self._messages.clear()
                self.message_bytes = 0
                self.control_credit -= cost
                frame = message_piece(data, 0, size, self._control_sent, self._incarnation, self.version, meta)
                self._control_sent += 1
                self.bytes += len(frame)
                return frame
        for first in range(0, len(self._leases), _LEASES):
            meta = pack(self._leases[first : first + _LEASES])
            self._urgent.append(FrameRecord(RecordKind.RELEASE, incarnation=self._incarnation, meta=meta))
        self._leases.clear()
        parts: list[bytes] = []
        space = FRAME_LIMIT
        while self._urgent and (size := self._urgent[0].cost) <= space:
            parts.append(self._stamped(self._urgent.popleft()))
            space -= size
        while not self._urgent and self._messages and space >= HEADER.size + _FRAGMENT:
            data, offset = self._messages[0], self._message_sent
            size = min(len(data) - offset, _FRAGMENT)
            cost = HEADER.size + size
            if cost > self.control_credit:
                break
            self.control_credit -= cost
            space -= cost
            parts.append(message_piece(data, offset, size, self._control_sent, self._incarnation, self.version))
            self._control_sent += 1
            self.message_bytes -= size
            self._message_sent += size
            if self._message_sent == len(data):
                self._messages.popleft()
                self._message_sent = 0
        while not self._urgent and self._tokens and (size := self._tokens[0].cost) <= min(space, self.data_credit):
            self.data_credit -= size
            space -= size
            parts.append(self._stamped(self._tokens.popleft()))
        if not parts and self._last is not None:
            parts.append(self._stamped(self._last))
            self._last = None
        if not parts:
            return None
        frame = parts[0] if len(parts) == 1 else b"".join(parts)
        self.bytes += len(frame)
        return frame

    def _leases_within(self) -> bytes | None:
        """The leases as a message has them; None if they have to go in records of their own."""
        return pack(self._leases) if self.takes_leases and len(self._leases) <= _LEASES else None

    def next_bulk(self) -> tuple[bytes, memoryview] | None:
        """The head of the next chunk and its body, or None where none may leave now. The body is a view, not a copy."""
        if not self._tensors:
            return None
        tensor = self._tensors[0]
        size = len(tensor.body)
        end = size if size <= self.whole else tensor.offset + self.chunk
        body = tensor.body[tensor.offset : end]
        record = tensor.record
        record.body_size = len(body)
        record.offset = tensor.offset
        if record.cost > self.data_credit:
            return None
        self.data_credit -= record.cost
        tensor.offset += len(body)
        record.sequence = self.bulk_sent
        record.version = self.version
        self.bulk_sent += 1
        if tensor.offset == size:
            record.flags |= RecordFlag.LAST
            self._tensors.popleft()
        first = head(record)
        record.meta = b""  # the first chunk alone says what it is
        self.bytes += len(first) + len(body)
        return first, body

    def _stamped(self, record: FrameRecord) -> bytes:
        record.sequence = self._control_sent
        record.version = self.version
        self._control_sent += 1
        return encode(record)
