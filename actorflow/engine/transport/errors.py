"""How channels fail: anyio's meanings under TensorFlow's names, so that either world's `except` finds them."""

from __future__ import annotations

import anyio

from actorflow.errors import DataLossError, FailedPreconditionError, ResourceExhaustedError, UnavailableError


class PeerLost(UnavailableError, anyio.BrokenResourceError):
    """The peer died, hangs, or cannot be reached any more."""


class ProtocolError(DataLossError, anyio.BrokenResourceError):
    """The peer sent what it may not send; the channel is ended."""


class FrameTooLarge(ProtocolError, ResourceExhaustedError):
    """The peer announced more than the limits allow; nothing was allocated for it."""


class HandshakeRejected(FailedPreconditionError, anyio.BrokenResourceError):
    """The two will not talk: wrong key, version, cluster or incarnation. To try again does not help, so it is no
    UnavailableError, after which programs try again."""
