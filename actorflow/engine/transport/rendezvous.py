"""`Rendezvous`: where the nodes of one step meet, by the edges between them (paper section 3.2.2)."""

from __future__ import annotations

from typing import Any, Protocol

from actorflow.engine.transport.base import Callback


class Rendezvous(Protocol):
    """The meeting point of the Send and Recv nodes of one step, by the key of their edge (paper section 3.2.2) and a
    tag.

    The tag tells the iterations of loops apart, and is empty outside of them. Send never waits, and may come before its
    Recv or after it. Each key and tag carry one token a step.
    """

    @property
    def is_local(self) -> bool:
        """Whether all that may come here is sent by this process."""

    def send(self, key: str, token: Any, tag: bytes = b"", *, lossy: bool = False) -> None:
        """Hands `token` (a value or DEAD) over; after an abort it is dropped. Raises AbortedError for a second token.

        `lossy` brings float32 with its upper 16 bits only, the rest zeros, whatever the transport; other types as they are.
        """

    async def recv(self, key: str, tag: bytes = b"") -> Any:
        """Waits for the token of `key` and `tag`. Raises the error with which the step was aborted."""

    def expect(self, key: str, tag: bytes, callback: Callback) -> object:
        """`recv` without a task: calls `callback(token, None)` or `callback(None, error)` once, maybe before it returns."""

    def abort(self, error: BaseException) -> None:
        """Wakes all that wait, and fails all that come, with `error`."""


class Transport(Protocol):
    """A way for tokens from one device to another of the same process."""

    name: str

    def rendezvous(self, step: int) -> Rendezvous:
        """The meeting place of a step's nodes."""
