"""`Event`: what a connection makes of what has arrived, for the shell that drives it; and the states of its life."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from .handshake import PeerFacts


class ConnectionState(Enum):
    """The state of a connection in its life."""

    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ConnectionOpened:
    """The handshake is done."""

    peer: PeerFacts


class MessageReceived(NamedTuple):
    """A message. When the application has taken it, call `taken(size)`."""

    message: Any
    size: int


@dataclass(frozen=True, slots=True)
class ArenaAnnounced:
    """The peer names a shared arena; its descriptor came with the frame."""

    number: int
    size: int


@dataclass(frozen=True, slots=True)
class KeyReceived:
    """The peer hands over the key with which it seals its bulk lane next; or, where `key` is empty, it has taken ours of that
    number. Number 0 says that there will be no sealed lane."""

    generation: int
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ConnectionEnded:
    """The connection is over. `error` is None where the peer closed it in good order."""

    error: BaseException | None


Event = ConnectionOpened | MessageReceived | ArenaAnnounced | KeyReceived | ConnectionEnded
