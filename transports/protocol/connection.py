"""`ProtocolConnection`: the protocol between two processes, without a socket, a clock or a wait (see docs/reference/protocol.md).

A shell feeds it what has arrived and sends what it has ready. Two lanes keep their order, each for itself: control, which
carries frames of records, and bulk, which carries chunks of large tensors. The shell says when either breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.engine.transport.base import Allocate, PeerLimits
from actorflow.engine.transport.errors import FrameTooLarge, HandshakeRejected, PeerLost, ProtocolError
from actorflow.errors import ResourceExhaustedError

from .clocks import ClockBeats
from .contents import (
    AbortContent,
    BeatContent,
    CloseContent,
    CreditContent,
    HandleContent,
    ReleaseContent,
    abort_meta,
    close_meta,
    content_of,
    leases_of,
)
from .credit import Credit
from .events import (
    ArenaAnnounced,
    ConnectionEnded,
    ConnectionOpened,
    ConnectionState,
    Event,
    KeyReceived,
    MessageReceived,
)
from .frames import (
    MOST_HANDLES,
    FrameRecord,
    MessageRecord,
    RecordFlag,
    RecordKind,
    TensorRecord,
    pack,
    parse,
    records,
    unpack,
)
from .handshake import CloseReason, PeerFacts, chosen_version, hello_record, judge
from .outbox import Outbox
from .receiver import CHUNK_LIMIT, MapHandle, Receiver
from .sender import Sender
from .tensors import EncodedTensor

_HALF = 1 << 31
_CLOSING, _FOLLOWS = ConnectionState.CLOSING, RecordFlag.FOLLOWS  # an enumeration takes its time for each record


class ProtocolConnection:
    """One side of a connection. Not for several threads."""

    def __init__(
        self,
        mine: PeerFacts,
        limits: PeerLimits,
        clock: Callable[[], tuple[int, int]],
        *,
        allocate: Allocate | None = None,
        map_handle: MapHandle | None = None,
        chunk: int = CHUNK_LIMIT,
    ) -> None:
        self.mine = mine
        self.peer: PeerFacts | None = None
        self.state = ConnectionState.OPENING
        self.epoch = mine.epoch
        self.limits = limits
        self.receiver = Receiver(limits.tensor, allocate, map_handle, self._tell_abort, self.release)
        self._extension = self.receiver.enclosed if mine.takes_enclosed else None
        self.inbox = self.receiver.inbox
        self.inbox.epoch = self.epoch
        self.outbox = Outbox(mine.identity.incarnation, chunk)
        self.sender = Sender(self.outbox, mine.identity.incarnation)
        self.credit = Credit(limits)
        self.beats = ClockBeats(clock)
        self.error: BaseException | None = None
        self.dropped_twice = 0
        self._expected = [0, 0]  # the next sequence numbers of the control and the bulk lane
        self._chunk: FrameRecord | None = None
        self._closing: CloseContent | None = None
        self._greeted = False

    # ---- what this side does

    def hello(self) -> None:
        """Says who this side is. The side that connects does so at once; the other answers by itself."""
        self._greeted = True
        self.outbox.put_urgent(hello_record(self.mine))

    def send(self, edge: int, step: int, tag: bytes, encoded: EncodedTensor) -> None:
        """Queues a token. Nothing happens where its step has ended."""
        if not self.inbox.ended(self.epoch, step):
            self.sender.send(self.epoch, edge, step, tag, encoded)

    def take_token(self, epoch: int, edge: int, step: int, tag: bytes, token: Any) -> None:
        """A token came from the peer by another way than the wire."""
        record = FrameRecord(RecordKind.TENSOR, epoch=epoch, step=step, edge=edge, tag=tag)
        if self.state is ConnectionState.OPEN and not self.receiver.late(record):
            self.receiver.deliver(record, token)

    def post(self, message: Any) -> None:
        """Queues a message. Raises ResourceExhaustedError when too much is queued."""
        first = self.sender.next_lease
        try:
            data = pack(message, self.sender.enclose)
            if self.sender.next_lease - first > MOST_HANDLES:
                raise ValueError(f"A message has more than {MOST_HANDLES:,} tensors in it.")
            if len(data) > self.limits.message:
                raise FrameTooLarge(f"A message has {len(data):,} bytes; {self.limits.message:,} are the most.")
            if self.outbox.message_bytes + len(data) > self.limits.queued_messages:
                raise ResourceExhaustedError(
                    f"{self.outbox.message_bytes:,} bytes of messages wait for {self._peer_name()} to take them; "
                    f"{self.limits.queued_messages:,} are the most."
                )
        except BaseException:
            self.sender.take_back(first)
            raise
        self.outbox.put_message(data)

    def taken(self, size: int) -> None:
        """The application took a message of `size` bytes; the peer may send more."""
        self.credit.unread -= size
        if self.credit.is_due:
            self._grant()

    def abort(self, step: int, error: BaseException) -> None:
        """Ends a step on both sides."""
        if not self.inbox.ended(self.epoch, step) and self.state is ConnectionState.OPEN:
            self._urgent(RecordKind.ABORT, abort_meta(error), step=step)
        self.outbox.drop(self.epoch, step)
        self.inbox.abort(step, error)

    def set_epoch(self, epoch: int) -> None:
        """A new epoch: what belongs to former epochs is dropped."""
        if epoch < self.epoch:
            raise ValueError(f"Epoch {epoch} cannot follow epoch {self.epoch}.")
        self.epoch = epoch
        self.outbox.drop(epoch, None)
        self.inbox.set_epoch(epoch)

    def release(self, leases: list[int]) -> None:
        """Gives handles back to the peer."""
        if self.state is ConnectionState.OPEN:
            self.outbox.put_leases(leases)

    def announce_arena(self, number: int, size: int) -> None:
        """Names a shared arena, whose descriptor the shell sends with the frame."""
        self._urgent(RecordKind.ARENA, pack([number, size]))

    def hand_key(self, generation: int, key: bytes = b"") -> None:
        """Hands over a key for the bulk lane, or says that the peer's has been taken (see `KeyReceived`)."""
        self._urgent(RecordKind.KEY, pack([generation, key]))

    def beat(self) -> None:
        """Queues a beat with this side's clocks."""
        if self.state is ConnectionState.OPEN:
            self._urgent(RecordKind.BEAT, self.beats.make().meta())

    def close(self, code: CloseReason, text: str) -> None:
        """Drops what is queued and says why. In good order (NORMAL) this side then waits for the peer's answer."""
        if self.state in (ConnectionState.CLOSING, ConnectionState.CLOSED):
            return
        self._say_close(code, text)
        self.state = (
            ConnectionState.CLOSING if code is CloseReason.NORMAL and self.peer is not None else ConnectionState.CLOSED
        )

    # ---- what arrives

    def receive(self, frame: memoryview) -> list[Event]:
        """A frame of the control lane. It may be used again afterwards."""
        events: list[Event] = []
        try:
            for record in records(frame):
                if self.state is ConnectionState.CLOSED:
                    break
                self._control(record, events)
        except ProtocolError as error:
            self._fail(error, events)
        return events

    def receive_chunk(self, first: memoryview, *, lends: bool = False) -> tuple[memoryview, list[Event]]:
        """The head of a chunk of the bulk lane. Its body is to be put into the view; then call `chunk_received`. A shell that
        `lends` gives that the body itself where `receiver.borrows`, in memory which no one writes again."""
        events: list[Event] = []
        try:
            record, end = parse(first)
            if end != len(first) or record.kind != RecordKind.TENSOR or not record.flags & RecordFlag.FOLLOWS:
                raise ProtocolError("The bulk lane carried something that is no chunk of a tensor.")
            if not 0 < record.body_size <= CHUNK_LIMIT:
                raise FrameTooLarge(f"A chunk has {record.body_size:,} bytes; 1 to {CHUNK_LIMIT:,} are allowed.")
            if self.peer is None:
                raise ProtocolError("A chunk has arrived before the handshake.")
            if self.state is ConnectionState.OPEN and self._in_order(record, 1, events):
                self.credit.token(record.cost)
                self._chunk = record
                return self.receiver.place(record, lends=lends), events
            return (
                self.receiver.discarded(record.body_size) if self.state is ConnectionState.OPEN else memoryview(b"")
            ), events
        except ProtocolError as error:
            self._fail(error, events)
            return memoryview(b""), events

    def chunk_received(self, lent: memoryview | None = None) -> list[Event]:
        """The body of the last chunk is in its place, or in the memory that is lent for good."""
        events: list[Event] = []
        record, self._chunk = self._chunk, None
        if record is None or self.state is not ConnectionState.OPEN:
            return events
        self.credit.landed(record.cost)
        try:
            if lent is None:
                self.receiver.landed(record)
            else:
                self.receiver.lent(record, lent)
        except ProtocolError as error:
            self._fail(error, events)
            return events
        self._grant()
        if self._closing is not None:
            self._closed_by_peer(self._closing, events)
        return events

    def refuse(self, error: ProtocolError) -> list[Event]:
        """The shell has found that the peer breaks a rule of the wire: the connection ends, and the peer is told why."""
        events: list[Event] = []
        self._fail(error, events)
        return events

    def last_word(self, text: str) -> None:
        """Queues a CLOSE for a peer that may still hear it, before the shell calls `broken`."""
        if self.state is ConnectionState.OPEN:
            self._say_close(CloseReason.GONE, text)

    def broken(self, error: BaseException) -> list[Event]:
        """The wire is broken, or the peer dead."""
        if self.state is ConnectionState.CLOSED:
            return []
        was, self.state = self.state, ConnectionState.CLOSED
        self.outbox.clear()
        events: list[Event] = []
        self._end(None if was is ConnectionState.CLOSING else error, events)
        return events

    # ---- records of the control lane

    def _control(self, record: FrameRecord, events: list[Event]) -> None:
        if record.flags & _FOLLOWS:
            raise ProtocolError("A chunk has arrived on the control lane.")
        if self.peer is None:
            self._greet(record, events)
            return
        if not self._in_order(record, 0, events):
            return
        if self.state is _CLOSING and record.kind != RecordKind.CLOSE:
            return
        match content_of(record):
            case MessageRecord() as piece:
                credit = self.credit
                if piece.meta:
                    if not self.mine.takes_enclosed:
                        raise ProtocolError(
                            "Leases have come within a message, but this side has said that it takes none."
                        )
                    self.sender.released(leases_of(piece))
                message = credit.piece(piece)
                if message is not None:
                    self.receiver.enclosed_count = 0
                    events.append(MessageReceived(unpack(message, self._extension), piece.total))
                if credit.is_due:
                    self._grant()
            case TensorRecord() as token:
                self._take_credit(token)
                self.receiver.inline(token)
                if self.credit.is_due:
                    self._grant()
            case HandleContent() as handle:
                self._take_credit(record)
                self.receiver.handle(handle)
                if self.credit.is_due:
                    self._grant()
            case CreditContent() as granted:
                self._granted(granted)
            case ReleaseContent(leases):
                self.sender.released(leases)
            case AbortContent() as aborted:
                self._aborted(aborted)
            case BeatContent() as beat:
                self.beats.take(beat)
            case ArenaAnnounced() | KeyReceived() as text:
                events.append(text)
            case CloseContent() as close:
                self._closed_by_peer(close, events)
            case PeerFacts():
                raise ProtocolError("A second HELLO has arrived.")

    def _take_credit(self, record: FrameRecord) -> None:
        """A token that is whole has arrived."""
        self.credit.token(record.cost)
        self.credit.landed(record.cost)

    def _aborted(self, aborted: AbortContent) -> None:
        """The peer ends a step."""
        if aborted.epoch < self.epoch:
            self.receiver.dropped_old += 1
        else:
            self.outbox.drop(aborted.epoch, aborted.step)
            self.inbox.abort(aborted.step, aborted.error_from(self._peer_name()), aborted.epoch)

    def _greet(self, record: FrameRecord, events: list[Event]) -> None:
        if record.kind != RecordKind.CLOSE and (record.kind != RecordKind.HELLO or record.sequence != 0):
            raise ProtocolError("The first record is no HELLO.")
        theirs = content_of(record)
        if isinstance(theirs, CloseContent):
            self.state = ConnectionState.CLOSED
            self.outbox.clear()
            is_lost = theirs.code in (CloseReason.GONE, CloseReason.NORMAL)  # it ends, whoever asks
            self._end(PeerLost(theirs.text or "it has ended.") if is_lost else HandshakeRejected(theirs.text), events)
            return
        assert isinstance(theirs, PeerFacts)
        verdict = judge(self.mine, theirs)
        if verdict is not None:
            self._say_close(*verdict)
            self.state = ConnectionState.CLOSED
            self._end(HandshakeRejected(verdict[1]), events)
            return
        self.peer = theirs
        self.beats.one_clock = theirs.clock == self.mine.clock != ""
        if not self._greeted:
            self.hello()
        self._expected[0] = 1
        self.outbox.version = chosen_version(self.mine, theirs)
        self.outbox.data_credit = theirs.data_window
        self.outbox.control_credit = theirs.control_window
        self.outbox.takes_leases = self.sender.encloses = theirs.takes_enclosed
        self.outbox.chunk = self.outbox.whole = min(self.outbox.chunk, theirs.data_window // 2)
        self.state = ConnectionState.OPEN
        events.append(ConnectionOpened(theirs))

    # ---- order, credit, ends

    def _in_order(self, record: FrameRecord, lane: int, events: list[Event]) -> bool:
        """Whether `record` is the next of its lane. A record that was there already is dropped; a gap breaks the
        connection."""
        assert self.peer is not None
        if record.incarnation != self.peer.identity.incarnation:
            self.receiver.dropped_old += 1
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

    def _granted(self, credit: CreditContent) -> None:
        """The peer gives credit back."""
        assert self.peer is not None
        outbox = self.outbox
        outbox.data_credit += credit.tokens
        outbox.control_credit += credit.messages
        if outbox.data_credit > self.peer.data_window or outbox.control_credit > self.peer.control_window:
            raise ProtocolError(f"{self._peer_name()} gives back more credit than was used.")

    def _grant(self) -> None:
        """Gives credit back where enough of it is due."""
        if self.state is ConnectionState.OPEN and (due := self.credit.due()) is not None:
            tokens, messages = due
            self.outbox.put_urgent(
                FrameRecord(
                    RecordKind.CREDIT, incarnation=self.mine.identity.incarnation, offset=tokens, total=messages
                )
            )

    def _urgent(self, kind: RecordKind, meta: bytes, *, step: int = 0, epoch: int | None = None) -> None:
        epoch = self.epoch if epoch is None else epoch
        self.outbox.put_urgent(
            FrameRecord(kind, epoch=epoch, incarnation=self.mine.identity.incarnation, step=step, meta=meta)
        )

    def _tell_abort(self, epoch: int, step: int, error: BaseException) -> None:
        self._urgent(RecordKind.ABORT, abort_meta(error), step=step, epoch=epoch)

    def _say_close(self, code: CloseReason, text: str) -> None:
        self.outbox.end(
            FrameRecord(
                RecordKind.CLOSE,
                incarnation=self.mine.identity.incarnation,
                meta=close_meta(code, text),
                offset=self.outbox.bulk_sent,
            )
        )

    def _closed_by_peer(self, close: CloseContent, events: list[Event]) -> None:
        if (
            close.code == CloseReason.NORMAL
            and self.state is ConnectionState.OPEN
            and self._expected[1] < close.bulk_sent
        ):
            self._closing = close  # chunks that left before it are still under way on the other lane
            return
        if self.state is ConnectionState.OPEN and close.code == CloseReason.NORMAL:
            self._say_close(CloseReason.NORMAL, "")
        elif self.state is ConnectionState.OPEN:
            self.outbox.clear()
        was, self.state = self.state, ConnectionState.CLOSED
        if close.code == CloseReason.NORMAL or was is ConnectionState.CLOSING:
            self._end(None, events)
        else:
            kind = ProtocolError if close.code == CloseReason.PROTOCOL else PeerLost
            self._end(kind(f"{self._peer_name()} ended the channel: {close.text.rstrip('.')}."), events)

    def _fail(self, error: ProtocolError, events: list[Event]) -> None:
        if self.state is not ConnectionState.CLOSED:
            self._say_close(CloseReason.PROTOCOL, error.message)
            self.state = ConnectionState.CLOSED
            self._end(error, events)

    def _end(self, error: BaseException | None, events: list[Event]) -> None:
        self.error = error
        self._chunk = self._closing = self.credit.partial = None
        closed = error or PeerLost(f"{self._peer_name()} has closed the channel.")
        self.receiver.close(closed)
        events.append(ConnectionEnded(error))

    def _peer_name(self) -> str:
        return self.peer.identity.task if self.peer is not None else "the peer"
