"""The contents of records: each is decoded and checked once, into a class of its kind, and then a connection branches on the
classes.

A message and a small tensor say all in their records (`MessageRecord`, `TensorRecord`). The others have metadata in msgpack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from actorflow import errors
from actorflow.engine.transport.errors import ProtocolError
from actorflow.errors import OpError, UnknownError

from .events import ArenaAnnounced, KeyReceived
from .frames import FrameRecord, MessageRecord, RecordKind, TensorRecord, pack, unpack, unpack_fields
from .handshake import CloseReason, PeerFacts, read_hello

_CLOSE_TEXT = 4096
_ERROR_TEXT = 8 * 1024
_CLASSES: dict[int, type[OpError]] = {
    error_class.code: error_class
    for error_class in (
        errors.CancelledError,
        errors.UnknownError,
        errors.InvalidArgumentError,
        errors.DeadlineExceededError,
        errors.NotFoundError,
        errors.AlreadyExistsError,
        errors.PermissionDeniedError,
        errors.ResourceExhaustedError,
        errors.FailedPreconditionError,
        errors.AbortedError,
        errors.OutOfRangeError,
        errors.UnimplementedError,
        errors.InternalError,
        errors.UnavailableError,
        errors.DataLossError,
        errors.UnauthenticatedError,
    )
}


@dataclass(frozen=True, slots=True)
class HandleContent:
    """A tensor of type `name` and shape `sizes` lies at `offset` of an arena, or in a device's memory that `arena` tells of."""

    record: FrameRecord
    name: str
    sizes: list[int]
    arena: int | bytes
    offset: int
    lease: int


@dataclass(frozen=True, slots=True)
class CreditContent:
    """This number of bytes of tokens and of messages may be sent again."""

    tokens: int
    messages: int


@dataclass(frozen=True, slots=True)
class ReleaseContent:
    """The handles with these leases are used no more."""

    leases: list[int]


@dataclass(frozen=True, slots=True)
class AbortContent:
    """A step ends on both sides: the code and the text of its error."""

    epoch: int
    step: int
    code: int
    text: str

    def error_from(self, peer: str) -> OpError:
        """The error, of the class that it has on the side that reports it."""
        return _CLASSES.get(self.code, UnknownError)(
            self.text[:_ERROR_TEXT], details=[f"step {self.step} was aborted by {peer}"]
        )


@dataclass(frozen=True, slots=True)
class BeatContent:
    """The sender's monotonic and wall clocks, the monotonic clock of the last beat that it got, and how long ago that was."""

    clock: int
    wall: int
    echo: int
    held: int

    def meta(self) -> bytes:
        """The metadata of a BEAT."""
        return pack([self.clock, self.wall, self.echo, self.held])


@dataclass(frozen=True, slots=True)
class CloseContent:
    """Why the connection ends, and how many chunks left on the bulk lane before."""

    code: int
    text: str
    bulk_sent: int


Content = (
    MessageRecord
    | TensorRecord
    | HandleContent
    | CreditContent
    | ReleaseContent
    | AbortContent
    | BeatContent
    | ArenaAnnounced
    | KeyReceived
    | CloseContent
    | PeerFacts
)


def content_of(record: FrameRecord) -> Content:
    """The contents of `record`. Raises ProtocolError for contents that its kind can't have."""
    read = _READERS.get(record.kind)
    return record if read is None else read(record)  # type: ignore[return-value]  # the record's class is that of its kind


def abort_meta(error: BaseException) -> bytes:
    """The metadata of an ABORT for `error`."""
    code = error.code if isinstance(error, OpError) else UnknownError.code
    text = str(error) if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
    return pack([code, text[:_ERROR_TEXT]])


def close_meta(code: CloseReason, text: str) -> bytes:
    """The metadata of a CLOSE."""
    return pack([int(code), text[:_CLOSE_TEXT]])


def _close(record: FrameRecord) -> CloseContent:
    code, text = unpack_fields(record, int, str)
    return CloseContent(code, text[:_CLOSE_TEXT], record.offset)


def leases_of(record: FrameRecord) -> list[int]:
    """The leases that a RELEASE or a MESSAGE gives back. Raises ProtocolError."""
    leases = unpack(record.meta)
    if type(leases) is not list or not all(type(lease) is int for lease in leases):
        raise ProtocolError(f"The metadata of a {RecordKind(record.kind).name} is no list of leases.")
    return leases


_READERS: dict[int, Callable[[FrameRecord], Content]] = {
    RecordKind.HELLO: read_hello,
    RecordKind.CLOSE: _close,
    RecordKind.HANDLE: lambda record: HandleContent(record, *unpack_fields(record, str, list, (int, bytes), int, int)),
    RecordKind.CREDIT: lambda record: CreditContent(record.offset, record.total),
    RecordKind.RELEASE: lambda record: ReleaseContent(leases_of(record)),
    RecordKind.ABORT: lambda record: AbortContent(record.epoch, record.step, *unpack_fields(record, int, str)),
    RecordKind.BEAT: lambda record: BeatContent(*unpack_fields(record, int, int, int, int)),
    RecordKind.ARENA: lambda record: ArenaAnnounced(*unpack_fields(record, int, int)),
    RecordKind.KEY: lambda record: KeyReceived(*unpack_fields(record, int, bytes)),
}
