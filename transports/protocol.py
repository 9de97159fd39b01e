"""`Connection`: the protocol between two processes, without a socket, a clock or a wait (see docs/protocol.md).

A shell feeds it what has arrived and sends what it has ready. Two lanes keep their order, each for itself: control, which
carries frames of records, and bulk, which carries chunks of large tensors. The shell says when either breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from actorflow.errors import ResourceExhaustedError
from actorflow.transport.base import Allocate, EdgeCount, Limits
from actorflow.transport.errors import FrameTooLarge, HandshakeRejected, PeerLost, ProtocolError

from .beats import Beats
from .frames import TAG_LIMIT, Flag, Kind, Record, pack, parse, records, unpack, unpack_fields
from .handshake import Close, Hello, chosen_version, hello_record, judge, read_hello
from .intake import CHUNK_LIMIT, Intake, MapHandle
from .outbox import Outbox
from .reports import error_of, report_of
from .tensors import Encoded

INLINE = 16 * 1024
"""Tokens of at most so many bytes travel with the records of the control lane."""
_HALF = 1 << 31
_TEXT = 4096


class State(Enum):
    """Where a connection is in its life."""

    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Opened:
    """The handshake is done."""

    peer: Hello


class Received(NamedTuple):
    """A message. When the application has taken it, call `taken(size)`."""

    message: Any
    size: int


@dataclass(frozen=True, slots=True)
class Arena:
    """The peer names a shared arena; its descriptor came with the frame."""

    number: int
    size: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The connection is over. `error` is None where the peer closed it in good order."""

    error: BaseException | None


Event = Opened | Received | Arena | Ended


class Connection:
    """One side of a connection. Not for several threads."""

    def __init__(
        self,
        mine: Hello,
        limits: Limits,
        clock: Callable[[], tuple[int, int]],
        *,
        allocate: Allocate | None = None,
        map_handle: MapHandle | None = None,
        chunk: int = CHUNK_LIMIT,
    ) -> None:
        self.mine = mine
        self.peer: Hello | None = None
        self.state = State.OPENING
        self.epoch = mine.epoch
        self.limits = limits
        self.intake = Intake(limits.tensor, allocate, map_handle, self._tell_abort, self.release)
        self.inbox = self.intake.inbox
        self.inbox.epoch = self.epoch
        self.outbox = Outbox(mine.identity.incarnation, chunk)
        self.beats = Beats(clock)
        self.error: BaseException | None = None
        self.leases: dict[int, Any] = {}
        """The arrays that the peer sees through handles, until it releases them."""
        self.handles_sent = self.copies = self.dropped_twice = 0
        self.sent: dict[int, EdgeCount] = {}
        self._expected = [0, 0]  # the next sequence numbers of the control and the bulk lane
        self._data_open = limits.data_window  # what the peer may still send
        self._control_open = limits.control_window
        self._data_owed = self._control_owed = self._unread = 0
        self._message: bytearray | None = None
        self._chunk: Record | None = None
        self._closing: Record | None = None
        self._next_lease = 1
        self._greeted = False

    # ---- what this side does

    def hello(self) -> None:
        """Says who this side is. The side that connects does so at once; the other answers by itself."""
        self._greeted = True
        self.outbox.put_urgent(hello_record(self.mine))

    def send(self, edge: int, step: int, tag: bytes, encoded: Encoded) -> None:
        """Queues a token. Nothing happens where its step has ended."""
        if self.inbox.ended(self.epoch, step):
            return
        size = len(encoded.body)
        self.copies += encoded.copied
        record = self._token(Kind.TENSOR, edge, step, tag, encoded, size)
        if size <= INLINE:
            record.flags |= Flag.LAST
            record.body, record.body_size = bytes(encoded.body), size
            self.outbox.put_token(record)
        else:
            record.flags |= Flag.FOLLOWS
            self.outbox.put_tensor(record, encoded.body, encoded.keep)
        self._count(edge, size)

    def send_handle(
        self, edge: int, step: int, tag: bytes, encoded: Encoded, keep: Any, arena: int, offset: int
    ) -> None:
        """Queues a handle to `encoded`, whose bytes lie at `offset` of an arena. `keep` is held until it is released."""
        lease, self._next_lease = self._next_lease, self._next_lease + 1
        name, shape = unpack(encoded.meta)
        handle = Encoded(encoded.flags, pack([name, shape, arena, offset, lease]), memoryview(b""), False, None)
        record = self._token(Kind.HANDLE, edge, step, tag, handle, len(encoded.body))
        record.flags |= Flag.LAST
        self.leases[lease] = keep
        self.outbox.put_token(record)
        self.handles_sent += 1
        self._count(edge, 0)

    def count_sent(self, edge: int) -> None:
        """A token went to the peer by another way than the wire."""
        self._count(edge, 0)

    def take_token(self, epoch: int, edge: int, step: int, tag: bytes, token: Any) -> None:
        """A token came from the peer by another way than the wire."""
        if self.state is State.OPEN:
            record = Record(Kind.TENSOR, epoch=epoch, step=step, edge=edge, tag=tag)
            if not self.intake.late(record):
                self.intake.deliver(record, token)

    def post(self, message: Any) -> None:
        """Queues a message. Raises ResourceExhaustedError when too much is queued."""
        data = pack(message)
        if len(data) > self.limits.message:
            raise FrameTooLarge(f"A message has {len(data):,} bytes; {self.limits.message:,} are the most.")
        if self.outbox.message_bytes + len(data) > self.limits.queued_messages:
            raise ResourceExhaustedError(
                f"{self.outbox.message_bytes:,} bytes of messages wait for {self._peer_name()} to take them; "
                f"{self.limits.queued_messages:,} are the most."
            )
        self.outbox.put_message(data)

    def taken(self, size: int) -> None:
        """The application took a message of `size` bytes; the peer may send more."""
        self._unread -= size
        self._grant()

    def abort(self, step: int, error: BaseException) -> None:
        """Ends a step on both sides."""
        if not self.inbox.ended(self.epoch, step) and self.state is State.OPEN:
            self._urgent(Kind.ABORT, report_of(error), step=step)
        self.outbox.drop(self.epoch, step)
        self.inbox.abort(step, error)

    def set_epoch(self, epoch: int) -> None:
        """A new epoch: what belongs to former ones is dropped."""
        if epoch < self.epoch:
            raise ValueError(f"Epoch {epoch} cannot follow epoch {self.epoch}.")
        self.epoch = epoch
        self.outbox.drop(epoch, None)
        self.inbox.set_epoch(epoch)

    def release(self, leases: list[int]) -> None:
        """Gives handles back to the peer."""
        if self.state is State.OPEN:
            for start in range(0, len(leases), 1024):
                self._urgent(Kind.RELEASE, pack(leases[start : start + 1024]))

    def announce_arena(self, number: int, size: int) -> None:
        """Names a shared arena, whose descriptor the shell sends with the frame."""
        self._urgent(Kind.ARENA, pack([number, size]))

    def beat(self) -> None:
        """Queues a beat with this side's clocks."""
        if self.state is State.OPEN:
            self._urgent(Kind.BEAT, self.beats.make())

    def close(self, code: Close, text: str) -> None:
        """Drops what is queued and says why. In good order (NORMAL) this side then waits for the peer's answer."""
        if self.state in (State.CLOSING, State.CLOSED):
            return
        self._say_close(code, text)
        self.state = State.CLOSING if code is Close.NORMAL and self.peer is not None else State.CLOSED

    # ---- what arrives

    def receive(self, frame: memoryview) -> list[Event]:
        """A frame of the control lane. It may be used again afterwards."""
        events: list[Event] = []
        try:
            for record in records(frame):
                if self.state is State.CLOSED:
                    break
                self._control(record, events)
        except ProtocolError as error:
            self._fail(error, events)
        return events

    def receive_chunk(self, first: memoryview) -> tuple[memoryview, list[Event]]:
        """The head of a chunk of the bulk lane. Its body is to be put into the view; then call `chunk_received`."""
        events: list[Event] = []
        try:
            record, end = parse(first)
            if end != len(first) or record.kind != Kind.TENSOR or not record.flags & Flag.FOLLOWS:
                raise ProtocolError("The bulk lane carried something that is no chunk of a tensor.")
            if not 0 < record.body_size <= CHUNK_LIMIT:
                raise FrameTooLarge(f"A chunk has {record.body_size:,} bytes; 1 to {CHUNK_LIMIT:,} are allowed.")
            if self.peer is None:
                raise ProtocolError("A chunk has arrived before the handshake.")
            if self.state is State.OPEN and self._in_order(record, 1, events):
                self._spend(record.cost)
                self._chunk = record
                return self.intake.place(record), events
            return (self.intake.discarded(record.body_size) if self.state is State.OPEN else memoryview(b"")), events
        except ProtocolError as error:
            self._fail(error, events)
            return memoryview(b""), events

    def chunk_received(self) -> list[Event]:
        """The body of the last chunk is in its place."""
        events: list[Event] = []
        record, self._chunk = self._chunk, None
        if record is None or self.state is not State.OPEN:
            return events
        self._data_owed += record.cost
        try:
            self.intake.landed(record)
        except ProtocolError as error:
            self._fail(error, events)
            return events
        self._grant()
        if self._closing is not None:
            self._closed_by_peer(self._closing, events)
        return events

    def broken(self, error: BaseException) -> list[Event]:
        """The wire is broken, or the peer dead."""
        if self.state is State.CLOSED:
            return []
        was, self.state = self.state, State.CLOSED
        self.outbox.clear()
        events: list[Event] = []
        self._end(None if was is State.CLOSING else error, events)
        return events

    # ---- records of the control lane

    def _control(self, record: Record, events: list[Event]) -> None:
        if record.flags & Flag.FOLLOWS:
            raise ProtocolError("A chunk has arrived on the control lane.")
        if self.peer is None:
            self._greet(record, events)
            return
        if not self._in_order(record, 0, events):
            return
        kind = record.kind
        if kind == Kind.MESSAGE and self.state is State.OPEN:
            self._piece(record, events)
        elif kind == Kind.CLOSE:
            self._closed_by_peer(record, events)
        elif self.state is State.CLOSING:
            return
        elif kind == Kind.TENSOR or kind == Kind.HANDLE:
            self._spend(record.cost)
            self._data_owed += record.cost
            if kind == Kind.TENSOR:
                self.intake.inline(record)
            else:
                self.intake.handle(record)
            self._grant()
        elif kind == Kind.CREDIT:
            self.outbox.data_credit += record.offset
            self.outbox.control_credit += record.total
        elif kind == Kind.RELEASE:
            leases = unpack(record.meta)
            if type(leases) is not list:
                raise ProtocolError("The metadata of a RELEASE is no list.")
            for lease in leases:
                if type(lease) is not int or self.leases.pop(lease, self) is self:
                    raise ProtocolError(f"The peer releases {str(lease)[:40]}, which it does not hold.")
        elif kind == Kind.ABORT:
            if record.epoch < self.epoch:
                self.intake.dropped_old += 1
            else:
                self.outbox.drop(record.epoch, record.step)
                self.inbox.abort(record.step, error_of(record, self._peer_name()), record.epoch)
        elif kind == Kind.BEAT:
            self.beats.take(record)
        elif kind == Kind.ARENA:
            number, size = unpack_fields(record, int, int)
            events.append(Arena(number, size))
        else:
            raise ProtocolError("A second HELLO has arrived.")

    def _greet(self, record: Record, events: list[Event]) -> None:
        if record.kind == Kind.CLOSE:
            code, text = self._read_close(record)
            self.state = State.CLOSED
            self.outbox.clear()
            is_lost = code in (Close.GONE, Close.NORMAL)  # it ends, whoever asks
            self._end(PeerLost(text or "it has ended.") if is_lost else HandshakeRejected(text), events)
            return
        if record.kind != Kind.HELLO or record.sequence != 0:
            raise ProtocolError("The first record is no HELLO.")
        theirs = read_hello(record)
        verdict = judge(self.mine, theirs)
        if verdict is not None:
            self._say_close(*verdict)
            self.state = State.CLOSED
            self._end(HandshakeRejected(verdict[1]), events)
            return
        self.peer = theirs
        if not self._greeted:
            self.hello()
        self._expected[0] = 1
        self.outbox.version = chosen_version(self.mine, theirs)
        self.outbox.data_credit = theirs.data_window
        self.outbox.control_credit = theirs.control_window
        self.outbox.chunk = min(self.outbox.chunk, theirs.data_window // 2)
        self.state = State.OPEN
        events.append(Opened(theirs))

    def _piece(self, record: Record, events: list[Event]) -> None:
        cost = record.cost
        self._control_open -= cost
        if self._control_open < 0:
            raise ProtocolError("The peer sent more messages than it had credit for.")
        if record.total > self.limits.message:
            raise FrameTooLarge(f"A message of {record.total:,} bytes has begun; {self.limits.message:,} are the most.")
        self._unread += record.body_size
        self._control_owed += cost
        message = record.body
        if self._message is not None or record.body_size != record.total:  # one of several pieces
            if self._message is None:
                self._message = bytearray()
            if record.offset != len(self._message) or record.offset + record.body_size > record.total:
                raise ProtocolError("A piece of a message is out of place.")
            if not record.body_size:
                raise ProtocolError("A piece of a message is empty.")
            self._message += record.body
            if len(self._message) < record.total:
                self._grant()
                return
            message, self._message = memoryview(self._message), None
        elif record.offset:
            raise ProtocolError("A piece of a message is out of place.")
        events.append(Received(unpack(message), record.total))
        self._grant()

    def _token(self, kind: Kind, edge: int, step: int, tag: bytes, encoded: Encoded, total: int) -> Record:
        if not 0 <= edge < 1 << 32 or not 0 <= step < 1 << 64 or len(tag) > TAG_LIMIT:
            raise ValueError(f"Edge {edge}, step {step} and a tag of {len(tag)} bytes do not fit into a record.")
        return Record(
            kind,
            flags=encoded.flags,
            epoch=self.epoch,
            incarnation=self.mine.identity.incarnation,
            step=step,
            edge=edge,
            tag=tag,
            meta=encoded.meta,
            total=total,
        )

    # ---- order, credit, ends

    def _in_order(self, record: Record, lane: int, events: list[Event]) -> bool:
        """Whether `record` is the next of its lane. What was there already is dropped; a gap breaks the connection."""
        assert self.peer is not None
        if record.incarnation != self.peer.identity.incarnation:
            self.intake.dropped_old += 1
            return False
        ahead = (record.sequence - self._expected[lane]) & 0xFFFFFFFF
        if ahead >= _HALF:
            self.dropped_twice += 1
            return False
        if ahead:
            name = "control" if lane == 0 else "bulk"
            raise ProtocolError(f"{ahead} records of {self._peer_name()} were lost on the {name} lane.")
        self._expected[lane] += 1
        return True

    def _spend(self, cost: int) -> None:
        self._data_open -= cost
        if self._data_open < 0:
            raise ProtocolError("The peer sent more tensors than it had credit for.")

    def _grant(self) -> None:
        """Gives credit back, a quarter of a window at a time; for messages only while few wait for the application."""
        data = self._data_owed if self._data_owed * 4 >= self.limits.data_window else 0
        control = self._control_owed if self._control_owed * 4 >= self.limits.control_window else 0
        if self._unread > self.limits.control_window + (len(self._message) if self._message is not None else 0):
            control = 0
        if (data or control) and self.state is State.OPEN:
            self._data_owed -= data
            self._control_owed -= control
            self._data_open += data
            self._control_open += control
            self.outbox.put_urgent(
                Record(Kind.CREDIT, incarnation=self.mine.identity.incarnation, offset=data, total=control)
            )

    def _urgent(self, kind: Kind, meta: bytes, *, step: int = 0, epoch: int | None = None) -> None:
        epoch = self.epoch if epoch is None else epoch
        self.outbox.put_urgent(
            Record(kind, epoch=epoch, incarnation=self.mine.identity.incarnation, step=step, meta=meta)
        )

    def _tell_abort(self, epoch: int, step: int, error: BaseException) -> None:
        self._urgent(Kind.ABORT, report_of(error), step=step, epoch=epoch)

    def _say_close(self, code: Close, text: str) -> None:
        self.outbox.end(
            Record(
                Kind.CLOSE,
                incarnation=self.mine.identity.incarnation,
                meta=pack([int(code), text[:_TEXT]]),
                offset=self.outbox.bulk_sent,
            )
        )

    def _read_close(self, record: Record) -> tuple[int, str]:
        code, text = unpack_fields(record, int, str)
        return code, text[:_TEXT]

    def _closed_by_peer(self, record: Record, events: list[Event]) -> None:
        code, text = self._read_close(record)
        if code == Close.NORMAL and self.state is State.OPEN and self._expected[1] < record.offset:
            self._closing = record  # chunks that left before it are still under way on the other lane
            return
        if self.state is State.OPEN and code == Close.NORMAL:
            self._say_close(Close.NORMAL, "")
        elif self.state is State.OPEN:
            self.outbox.clear()
        was, self.state = self.state, State.CLOSED
        if code == Close.NORMAL or was is State.CLOSING:
            self._end(None, events)
        elif code == Close.PROTOCOL:
            self._end(ProtocolError(f"{self._peer_name()} ended the channel: {_sentence(text)}"), events)
        else:
            self._end(PeerLost(f"{self._peer_name()} ended the channel: {_sentence(text)}"), events)

    def _fail(self, error: ProtocolError, events: list[Event]) -> None:
        if self.state is not State.CLOSED:
            self._say_close(Close.PROTOCOL, error.message)
            self.state = State.CLOSED
            self._end(error, events)

    def _end(self, error: BaseException | None, events: list[Event]) -> None:
        self.error = error
        self._chunk = self._message = self._closing = None
        closed = error or PeerLost(f"{self._peer_name()} has closed the channel.")
        self.intake.close(closed)
        events.append(Ended(error))

    def _peer_name(self) -> str:
        return self.peer.identity.task if self.peer is not None else "the peer"

    # ---- counts

    def _count(self, edge: int, size: int) -> None:
        entry = self.sent.get(edge)
        if entry is None:
            entry = self.sent[edge] = EdgeCount()
        entry.tokens += 1
        entry.bytes += size


def _sentence(text: str) -> str:
    """What a peer says of its end, as the end of a sentence."""
    return text.rstrip(".") + "."
