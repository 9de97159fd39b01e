"""`Credit`: what the peer may still send, and what it gets back of that: how the memory of a receiver is bounded.

Tokens have one window and messages another, so that neither holds up the other. A window is given back a quarter at a time,
because a record for each record would double their number. Nothing here sends: `due` says what a CREDIT has to say.
"""

from __future__ import annotations

from typing import Any

from actorflow.engine.transport.base import PeerLimits
from actorflow.engine.transport.errors import FrameTooLarge, ProtocolError

from .frames import FrameRecord


class Credit:
    """Both windows of the peer, and the message that is under way in pieces.

    Credit is owed for all that has arrived: tokens when they lie in their allocated memory, messages at once. But nothing is
    given back for messages while more than a window of them waits for the application.
    """

    def __init__(self, limits: PeerLimits) -> None:
        self.limits = limits
        self.unread = 0
        """The bytes of messages, and of pieces of a message, that the application has not taken."""
        self.partial: bytearray | None = None
        """The pieces of a message that is not whole."""
        self.is_due = False
        """Whether there may be something to give back. Looked at for each record, where `due` would take its time."""
        self._tokens_open = limits.data_window
        self._messages_open = limits.control_window
        self._tokens_owed = self._messages_owed = 0

    def token(self, cost: int) -> None:
        """A record of a token arrives. Raises ProtocolError where the peer had no credit for it."""
        self._tokens_open -= cost
        if self._tokens_open < 0:
            raise ProtocolError("The peer sent more tensors than it had credit for.")

    def landed(self, cost: int) -> None:
        """The bytes of that record are in their place."""
        self._tokens_owed += cost
        if self._tokens_owed * 4 >= self.limits.data_window:
            self.is_due = True

    def piece(self, record: FrameRecord) -> Any:
        """A MESSAGE arrives: the bytes of the message, or None where pieces of it are missing. Raises ProtocolError."""
        cost = record.cost
        self._messages_open -= cost
        if self._messages_open < 0:
            raise ProtocolError("The peer sent more messages than it had credit for.")
        if record.total > self.limits.message:
            raise FrameTooLarge(f"A message of {record.total:,} bytes has begun; {self.limits.message:,} are the most.")
        self.unread += record.body_size
        self._messages_owed += cost
        if self._messages_owed * 4 >= self.limits.control_window:
            self.is_due = True
        if self.partial is None:
            if record.offset:
                raise ProtocolError("A piece of a message is out of place.")
            if record.body_size == record.total:
                return record.body
            self.partial = bytearray()
        partial = self.partial
        if record.offset != len(partial) or record.offset + record.body_size > record.total:
            raise ProtocolError("A piece of a message is out of place.")
        if not record.body_size:
            raise ProtocolError("A piece of a message is empty.")
        partial += record.body
        if len(partial) < record.total:
            return None
        self.partial = None
        return partial

    def due(self) -> tuple[int, int] | None:
        """The credit that is given back to tokens and to messages now: a quarter of a window or more. None stands for nothing."""
        tokens = self._tokens_owed if self._tokens_owed * 4 >= self.limits.data_window else 0
        messages = self._messages_owed if self._messages_owed * 4 >= self.limits.control_window else 0
        if messages and self.unread > self.limits.control_window + (0 if self.partial is None else len(self.partial)):
            messages = 0  # until some are taken
        else:
            self.is_due = False
        if not tokens and not messages:
            return None
        self._tokens_owed -= tokens
        self._messages_owed -= messages
        self._tokens_open += tokens
        self._messages_open += messages
        return tokens, messages
